import assert from "node:assert/strict";
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from "node:http2";
import test, { after, afterEach, before, describe } from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { CertificateFiles, TestAuthority } from "../../../tests/support/certificates.ts";
import {
  dataOf,
  get,
  makeFront,
  RawClient,
  request,
  type Front,
  type RawAnswer,
} from "../../../tests/support/http-front.ts";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { until } from "../../../tests/support/until.ts";
import type { Outcome } from "../../core/incoming.ts";
import type { ListenerSettings } from "../listener-settings.ts";

// A stream that stands still is a failure, and not the end of the run.
const BOUND = { timeout: 300_000 };

describe("HTTP/2", () => {
  let authority: TestAuthority;
  let files: CertificateFiles;
  let front: Front;
  let session: ClientHttp2Session;

  before(async () => {
    authority = await TestAuthority.make();
    files = new CertificateFiles();
    files.write(await authority.issue("server"));
  });
  after(() => files.remove());
  afterEach(async () => {
    session?.destroy();
    await front.close();
  });

  async function start(settings: Partial<ListenerSettings> = {}): Promise<void> {
    const { certFile, keyFile } = files;
    front = await makeFront({ tls: { certFile, keyFile }, http2: true, ...settings });
    await open();
  }

  function open(): Promise<void> {
    session = connect(`https://127.0.0.1:${front.port}`, { ca: authority.pem });
    session.on("error", () => {});
    return new Promise((resolve, reject) => {
      session.once("remoteSettings", () => resolve());
      session.once("error", reject);
    });
  }

  interface Request extends RawAnswer {
    readonly reset: number;
  }

  function ask(headers: OutgoingHttpHeaders, body?: string | null): Promise<Request> {
    const stream = session.request(
      { ":path": "/v1/sys/a", ...headers },
      { endStream: body === undefined },
    );
    const { promise, resolve } = Promise.withResolvers<Request>();
    let status = 0;
    let text = "";
    const found = new Map<string, string>();
    stream.setEncoding("utf8");
    stream.on("response", (received) => {
      status = received[":status"] ?? 0;
      for (const [name, value] of Object.entries(received)) found.set(name, String(value));
    });
    stream.on("data", (chunk: string) => {
      text += chunk;
    });
    stream.on("error", () => {});
    stream.on("close", () =>
      resolve({ status, headers: found, body: text, reset: stream.rstCode }),
    );
    if (typeof body === "string") stream.end(body);
    return promise;
  }

  test("LIST and every other verb arrive over HTTP/2 as they were sent", async () => {
    await start();
    for (const verb of ["GET", "LIST", "DELETE"]) {
      const answer = await ask({ ":method": verb });
      assert.equal(answer.status, 200);
      assert.deepEqual([dataOf(answer).verb, dataOf(answer).target], [verb, "/sys/a"]);
    }
    const posted = await ask({ ":method": "POST", "x-vault-token": "t" }, '{"a":1}');
    assert.deepEqual([dataOf(posted).body, dataOf(posted).credential], ['{"a":1}', "t"]);
  });

  test("LIST as Node's own client sends it, which leaves open whether a body comes", async () => {
    await start();
    const stream = session.request({ ":path": "/v1/sys/a", ":method": "LIST" });
    const { promise, resolve } = Promise.withResolvers<number>();
    stream.on("response", (headers) => resolve(headers[":status"] ?? 0));
    stream.end();
    stream.resume();
    assert.equal(await promise, 200);
    for (const verb of ["GET", "LIST"]) {
      assert.equal((await ask({ ":method": verb }, "{}")).status, 400, `${verb} with a body`);
    }
    assert.equal(front.seen.length, 1);
  });

  test("T-N04: a bodiless request that never says whether it ends is given up after 10 s", async () => {
    await start();
    const stream = session.request({ ":path": "/v1/sys/a", ":method": "LIST" });
    stream.on("error", () => {});
    const closed = new Promise((resolve) => stream.on("close", resolve));
    assert.equal((await ask({})).status, 200); // the one before has arrived
    await front.world.timers.advance(11n * SECOND);
    await closed;
    assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL);
    assert.equal(front.seen.length, 1);
  });

  test("T-N04: a head of more than 16 KiB is refused, also before the client knows of the limit", async () => {
    await start();
    const long = (count: number, size: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-h${i}`, "a".repeat(size)]));
    assert.equal((await ask(long(1, 15_000))).status, 200);
    const heads = [
      long(1, 17_000),
      long(40, 1_000),
      long(60, 2_000),
      { ":path": `/v1/sys/${"a".repeat(17_000)}` },
    ];
    // Once the limit is agreed on, Node resets the stream by itself.
    for (const head of heads) {
      assert.ok([0, 431].includes((await ask(head)).status));
    }
    for (const head of heads) {
      session.destroy();
      session = connect(`https://127.0.0.1:${front.port}`, { ca: authority.pem });
      session.on("error", () => {});
      assert.ok([0, 431].includes((await ask(head)).status));
    }
    assert.equal(front.seen.length, 1);
  });

  test("T-A18: verbs that are no operations are 405 over HTTP/2, LINK among them", async () => {
    await start();
    for (const verb of ["LINK", "REVOKE", "RENEW", "ROLLBACK", "HELP", "list", "TRACE"]) {
      assert.equal((await ask({ ":method": verb })).status, 405, verb);
    }
    assert.equal(front.seen.length, 0);
  });

  test("the same port speaks HTTP/1.1 to those who ask for it, with LIST", async () => {
    await start();
    const client = await RawClient.connectTls(front.port, {
      ca: authority.pem,
      ALPNProtocols: ["http/1.1"],
    });
    assert.equal(dataOf(await client.ask(request("LIST", "/v1/sys/a"))).verb, "LIST");
    assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
    client.destroy();
  });

  test("T-N04: HTTP/2 is off unless it is switched on", async () => {
    const { certFile, keyFile } = files;
    front = await makeFront({ tls: { certFile, keyFile } });
    await assert.rejects(open());
  });

  test("answers carry the headers that every answer carries", async () => {
    await start();
    const answer = await ask({ "x-nomad-token": "t" });
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    assert.equal(answer.headers.get("strict-transport-security"), "max-age=31536000");
    assert.equal(
      answer.headers.get("x-nomad-request-id"),
      answer.headers.get("x-service-request-id"),
    );
    assert.equal(answer.headers.get("connection"), undefined);
  });

  test("HEAD has a length and no body, and no data is 204", async () => {
    await start();
    const head = await ask({ ":method": "HEAD" });
    assert.deepEqual([head.status, head.body], [200, ""]);
    assert.ok(Number(head.headers.get("content-length")) > 0);
    front.script = () => ({});
    const nothing = await ask({});
    assert.deepEqual([nothing.status, nothing.body], [204, ""]);
  });

  test("host and authority must agree, and name us", async () => {
    await start();
    assert.equal((await ask({ ":authority": "evil.example" })).status, 421);
    assert.equal((await ask({ ":authority": "localhost", host: "localhost" })).status, 200);
    assert.equal((await ask({ ":authority": "localhost", host: "127.0.0.1" })).status, 400);
  });

  test("T-N01: over HTTP/2 a body over the limit is 413 as well, declared or not", async () => {
    await start({ maxRequestSize: 100_000 });
    assert.equal((await ask({ ":method": "POST" }, "x".repeat(100_000))).status, 200);
    assert.equal((await ask({ ":method": "POST" }, "x".repeat(100_001))).status, 413);
    const declared = { ":method": "POST", "content-length": "100001" };
    assert.equal((await ask(declared, null)).status, 413);
    assert.equal((await ask({ ":method": "GET" }, "{}")).status, 400);
    assert.equal((await ask({})).status, 200, "and the connection goes on");
  });

  test("a large answer arrives whole", async () => {
    await start();
    const text = "ä".repeat(500_000);
    front.script = () => ({ result: new Reply({ text }) });
    assert.equal(dataOf(await ask({})).text, text);
  });

  test("T-N04: streams are limited, and so are headers in number and size", async () => {
    await start({ limits: { streamsPerConnection: 5 } });
    assert.equal(session.remoteSettings.maxConcurrentStreams, 5);
    assert.equal(session.remoteSettings.maxHeaderListSize, 16_384);
    const headers = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "1"]));
    assert.equal((await ask(headers(63))).status, 200);
    assert.equal((await ask(headers(64))).status, 431);
    const many = await ask(headers(200));
    assert.ok(many.status === 0 || many.status === 431);
    const long = await ask({ "x-long": "a".repeat(20_000) });
    assert.ok(long.status === 0 || long.status === 431);
    assert.ok(front.seen.length <= 1);
  });

  test("T-N03: of many streams that come at once few are begun in one turn of the event loop", async () => {
    await start();
    let thisTurn = 0;
    let atOnce = 0;
    front.script = () => {
      if (thisTurn++ === 0) void nextTurn().then(() => (thisTurn = 0));
      atOnce = Math.max(atOnce, thisTurn);
      front.world.clock.pass(16n * MILLISECOND);
      return {};
    };
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask({})));
    assert.ok(answers.every(({ status }) => status === 204));
    assert.ok(atOnce <= 3, `${atOnce} at once`);
  });

  test("T-N03: a stream that was reset before it was begun is no request", async () => {
    await start();
    const first = Promise.withResolvers<Partial<Outcome>>();
    front.script = () => {
      front.world.clock.pass(16n * MILLISECOND);
      return first.promise;
    };
    const begun = ask({ ":path": "/v1/sys/first" });
    const streams = Array.from({ length: 5 }, () => session.request({ ":path": "/v1/sys/later" }));
    for (const stream of streams) {
      stream.on("error", () => {});
      resetAtOnce(stream, constants.NGHTTP2_CANCEL);
    }
    first.resolve({});
    assert.equal((await begun).status, 204);
    while (front.server.inFlight > 0) await front.settled();
    assert.equal((await ask({})).status, 204);
    assert.equal(front.server.inFlight, 0);
  });

  test("T-N04: whoever opens streams only to reset them is stopped, and the server lives", async () => {
    await start();
    front.script = () => new Promise(() => {});
    for (let round = 0; round < 50 && !session.destroyed; round++) {
      for (let i = 0; i < 20 && !session.destroyed; i++) {
        const stream = session.request({ ":path": "/v1/sys/a" });
        stream.on("error", () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      await front.settled();
    }
    while (!session.destroyed) await front.settled();
    assert.ok(front.seen.length < 1000, `${front.seen.length} requests got through`);
    while (front.server.inFlight > 0) await front.settled();
    await open();
    front.script = () => ({});
    assert.equal((await ask({})).status, 204);
  });

  for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_NO_ERROR]) {
    for (const what of ["nothing", "a part"]) {
      test(`T-N05: a body of which ${what} had come when its stream was reset (code ${code}) is not whole`, async () => {
        await start();
        const bodies: string[] = [];
        front.script = async (incoming) => {
          const tell = (found: unknown) => void bodies.push(String(found));
          await incoming.body(1 << 24).then(({ length }) => tell(`a whole of ${length}`), tell);
          return {};
        };
        const stream = session.request({ ":path": "/v1/sys/a", ":method": "POST" });
        stream.on("error", () => {});
        stream.write("x".repeat(1 << 23)); // more than the client may send at once
        while (what !== "nothing" && front.seen.length === 0) await front.settled();
        resetAtOnce(stream, code);
        while (bodies.length === 0) await front.settled();
        assert.match(bodies[0] ?? "", /the connection ended before the body did/);
      });
    }

    test(`T-N05: a request without a body whose stream was reset (code ${code}) is none`, async () => {
      await start();
      const stream = session.request({ ":path": "/v1/sys/a" }, { endStream: false });
      stream.on("error", () => {});
      const closed = new Promise((resolve) => stream.on("close", resolve));
      await ask({ ":path": "/v1/sys/b" }); // by then it has come
      resetAtOnce(stream, code);
      await closed;
      assert.equal((await ask({ ":path": "/v1/sys/b" })).status, 200); // behind it, on the same connection
      assert.deepEqual(
        front.seen.map(({ target }) => target),
        ["/sys/b", "/sys/b"],
      );
    });
  }

  test("T-N05: what announces no body is whole with the end of its stream, and not before", async () => {
    await start();
    const bodies: string[] = [];
    front.script = async (incoming) => {
      const tell = (found: unknown) => void bodies.push(String(found));
      await incoming.body(1000).then(({ length }) => tell(`a whole of ${length}`), tell);
      return {};
    };
    const head = { ":path": "/v1/sys/a", ":method": "DELETE", "content-length": "0" };
    const stream = session.request(head, { endStream: false });
    stream.on("error", () => {});
    while (front.seen.length === 0) await front.settled();
    assert.deepEqual(bodies, []);
    resetAtOnce(stream, constants.NGHTTP2_NO_ERROR);
    while (bodies.length === 0) await front.settled();
    assert.match(bodies[0] ?? "", /the connection ended before the body did/);
    session.request(head, { endStream: false }).end();
    while (bodies.length === 1) await front.settled();
    assert.equal(bodies[1], "a whole of 0");
  });

  test("T-N04: who begins work and goes has no more of it done at once than one who stays", async () => {
    await start({ limits: { abandonedPerAddress: 3 } });
    const { promise, resolve } = Promise.withResolvers<Partial<Outcome>>();
    front.script = () => promise;
    for (let sent = 1; sent <= 3; sent++) {
      const stream = session.request({ ":path": "/v1/sys/a" });
      stream.on("error", () => {});
      while (front.seen.length < sent) await front.settled();
      resetAtOnce(stream, constants.NGHTTP2_CANCEL);
      while (front.seen[sent - 1]?.signal.aborted !== true) await front.settled();
    }
    assert.equal((await ask({})).status, 429);
    assert.equal(front.seen.length, 3, "it was not begun");
    resolve({});
    await front.settled();
    assert.equal((await ask({})).status, 204);
  });

  test("T-N03: idle sessions are closed, and those that never ask sooner", async () => {
    await start();
    await front.world.timers.advance(11n * SECOND);
    while (!session.destroyed) await front.settled();
    await open();
    assert.equal((await ask({})).status, 200);
    await front.world.timers.advance(20n * SECOND);
    assert.equal((await ask({})).status, 200);
    await front.world.timers.advance(31n * SECOND);
    while (!session.destroyed) await front.settled();
  });

  test("T-N03: a body that does not come, and a handler that does not end, have the same limits here", async () => {
    await start();
    const body = ask({ ":method": "POST" }, null);
    while (front.seen.length === 0) await front.settled();
    await front.world.timers.advance(31n * SECOND);
    assert.equal((await body).status, 408);
    assert.equal(front.seen[0]?.signal.aborted, true);

    front.script = () => new Promise(() => {});
    const slow = ask({});
    while (front.seen.length === 1) await front.settled();
    await front.world.timers.advance(91n * SECOND);
    assert.equal((await slow).status, 503);
    assert.equal(front.server.inFlight, 0);
  });

  test(
    "T-N03: a body that is handed on while it comes, and drips, is 408 and never whole",
    BOUND,
    async () => {
      await start();
      front.streamed = 1 << 24;
      const seen = Promise.withResolvers<unknown>();
      const rules = { contentTypes: ["application/gzip"], maxBytes: 1 << 24, description: "bytes" };
      let chunks = 0;
      front.script = async (incoming) => {
        const body = incoming.stream(rules);
        incoming.allow(24n * 3600n * SECOND);
        try {
          for await (const _ of body) chunks++;
          seen.resolve("whole");
        } catch (error) {
          seen.resolve(error);
        }
        return { result: new Reply(undefined) };
      };
      const stream = session.request({
        ":path": "/v1/sys/a",
        ":method": "POST",
        "content-type": "application/gzip",
      });
      const { promise, resolve } = Promise.withResolvers<number>();
      stream.on("response", (headers) => resolve(headers[":status"] ?? 0));
      stream.on("error", () => {});
      stream.resume();
      for (let i = 1; i <= 6; i++) {
        stream.write("x");
        await until(() => chunks === i);
        await front.world.timers.advance(5n * SECOND);
      }
      await front.world.timers.advance(SECOND);
      assert.equal(await promise, 408);
      const error = await seen.promise;
      assert.ok(error instanceof Failure, String(error));
      assert.equal(error.code, "client-too-slow");
      assert.equal(front.server.inFlight, 0);
    },
  );

  test("T-N03: an answer that nobody reads is given up", async () => {
    await start();
    front.script = () => ({ result: new Reply({ text: "x".repeat(1_000_000) }) });
    const stream = session.request({ ":path": "/v1/sys/a" });
    stream.on("error", () => {});
    await new Promise((resolve) => stream.once("response", resolve));
    stream.pause();
    const closed = new Promise((resolve) => stream.once("close", resolve));
    await front.settled();
    await front.world.timers.advance(59n * SECOND);
    assert.equal(stream.closed, false);
    // What goes out after that moves the limit on.
    for (let i = 0; i < 20 && !stream.closed; i++) {
      await front.world.timers.advance(11n * SECOND);
      await front.settled();
    }
    stream.resume();
    await closed;
    assert.notEqual(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });

  test("after the last request that a connection may make, the client is sent away", async () => {
    await start({ limits: { requestsPerConnection: 3 } });
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    for (let i = 0; i < 3; i++) assert.equal((await ask({})).status, 200);
    await goaway;
  });

  test("a request of HTTP/2 that is under way is finished before the server stops", async () => {
    await start();
    const { promise, resolve } = Promise.withResolvers<void>();
    front.script = async () => {
      await promise;
      return {};
    };
    const answering = ask({});
    while (front.seen.length === 0) await front.settled();
    const closed = front.server.close(30n * SECOND);
    await front.settled();
    resolve();
    assert.equal((await answering).status, 204);
    await closed;
  });

  test("a streamed answer may tell something behind its last byte", async () => {
    await start();
    async function* pieces() {
      yield Buffer.from("one ");
      yield Buffer.from("two");
    }
    const trailers = { names: ["X-Sum"], values: () => ({ "X-Sum": "12" }) };
    front.script = async () => ({
      family: "bare",
      result: new Reply(new StreamBody("application/gzip", pieces(), { trailers })),
    });
    const stream = session.request({ ":path": "/v1/sys/a" });
    let found: Record<string, unknown> = {};
    let text = "";
    stream.setEncoding("utf8");
    stream.on("data", (piece: string) => (text += piece));
    stream.on("trailers", (headers) => (found = headers));
    await new Promise((resolve) => stream.on("close", resolve));
    assert.equal(text, "one two");
    assert.equal(found["x-sum"], "12");
  });
});

/** Without the end of the stream before it, which close() would send where it can. */
function resetAtOnce(stream: ClientHttp2Stream, code: number): void {
  const handle = Reflect.ownKeys(stream).find((key) => String(key) === "Symbol(kHandle)");
  assert.ok(handle !== undefined);
  (Reflect.get(stream, handle) as { rstStream(code: number): void }).rstStream(code);
}
