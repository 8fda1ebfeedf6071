import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  dataOf,
  errorsOf,
  get,
  makeFront,
  post,
  type RawClient,
  request,
  type Front,
} from "../../tests/support/http-front.ts";
import { until } from "../../tests/support/until.ts";
import { ConnectionBook } from "../base/connection-book.ts";
import { DEFAULT_LIMITS, withDefaults } from "./listener-settings.ts";

describe("limits", () => {
  let front: Front;
  afterEach(() => front.close());

  const LIMIT = 1024 * 1024;

  function chunked(body: string, size: number): string {
    const chunks: string[] = [];
    for (let at = 0; at < body.length; at += size) {
      const part = body.slice(at, at + size);
      chunks.push(`${part.length.toString(16)}\r\n${part}\r\n`);
    }
    return `${chunks.join("")}0\r\n\r\n`;
  }

  describe("sizes, at the limit and one beyond", () => {
    test("T-N01: a body of 1 MiB is read, with length and in chunks; one byte more is 413", async () => {
      front = await makeFront();
      const head = request("POST", "/v1/sys/a", "Transfer-Encoding: chunked");
      for (const [extra, status] of [
        [0, 200],
        [1, 413],
      ] as const) {
        const body = "x".repeat(LIMIT + extra);
        const one = await front.client();
        const declared = await one.ask(post("/v1/sys/a", body));
        assert.equal(declared.status, status, "with length");
        const other = await front.client();
        const inChunks = await other.ask(head + chunked(body, 50_000));
        assert.equal(inChunks.status, status, "in chunks");
        if (status === 200) assert.equal(dataOf(inChunks).body, body);
        one.destroy();
        other.destroy();
      }
    });

    test("T-N01: a length over the limit is refused before anything of the body is read or run", async () => {
      front = await makeFront();
      const client = await front.client();
      const answer = await client.ask(request("POST", "/v1/sys/a", `Content-Length: ${LIMIT + 1}`));
      assert.deepEqual([answer.status, answer.headers.get("connection")], [413, "close"]);
      assert.equal(answer.headers.get("x-service-error"), "body_too_large");
      assert.equal(front.seen.length, 0);
    });

    test("T-N01: a handler's own limit counts where it is lower, and the client sees the refusal", async () => {
      front = await makeFront();
      front.script = async (incoming) => ({
        result: new Reply({ length: (await incoming.body(100)).length }),
      });
      const client = await front.client();
      assert.equal(dataOf(await client.ask(post("/v1/sys/a", "x".repeat(100)))).length, 100);
      const answer = await client.ask(
        request("POST", "/v1/sys/a", "Transfer-Encoding: chunked") + chunked("x".repeat(101), 10),
      );
      assert.equal(answer.status, 413);
    });

    test("T-N01: of a body that nobody reads, no more than a buffer's worth is taken in before the answer", async () => {
      front = await makeFront({ maxRequestSize: 32 * LIMIT });
      const { promise, resolve } = Promise.withResolvers<void>();
      front.script = async () => {
        await promise;
        return {};
      };
      const client = await front.client();
      await client.send(request("POST", "/v1/sys/a", `Content-Length: ${30 * LIMIT}`));
      const sent = client.send(Buffer.alloc(30 * LIMIT));
      await front.settled();
      const stream = client.socket.writableLength;
      assert.ok(stream > 15 * LIMIT, `${stream} bytes should still be waiting on our side`);
      resolve();
      assert.equal((await client.answer()).status, 204);
      await client.closed();
      client.destroy();
      await sent.catch(() => {});
    });

    test("two thousand chunks of one byte are a body like any other", async () => {
      front = await makeFront();
      const client = await front.client();
      const body = "y".repeat(2000);
      const head = request("POST", "/v1/sys/a", "Transfer-Encoding: chunked");
      assert.equal(dataOf(await client.ask(head + chunked(body, 1))).body, body);
      const large = "y".repeat(1_000_000);
      assert.equal(dataOf(await client.ask(head + chunked(large, 100))).body, large);
      client.destroy();
    });

    test("T-N06: thousands of tiny chunks in one segment are 413, and not parsed", async () => {
      front = await makeFront();
      const head = request("POST", "/v1/sys/a", "Transfer-Encoding: chunked");
      const tiny = chunked("y".repeat(100_000), 1);
      for (const body of [tiny, tiny.replaceAll("1\r\n", "1;a=bcdefghijklmnop\r\n")]) {
        for (const cut of [head.length + tiny.length, head.length, head.length - 2]) {
          const client = await front.client();
          await client.send((head + body).slice(0, cut));
          await front.settled();
          const answer = await client.ask((head + body).slice(cut));
          assert.equal(answer.status, 413);
          assert.equal(answer.headers.get("x-service-error"), "chunks_too_small");
          await client.closed();
        }
      }
      const other = await front.client();
      // The same bytes as text with lines, and with a length, are a body like any other.
      const lines = "y\r\n".repeat(20_000);
      const whole = request("POST", "/v1/sys/a", `Content-Length: ${lines.length}`) + lines;
      assert.equal(dataOf(await other.ask(whole)).body, lines);
      other.destroy();
    });

    test("64 headers pass, 65 are 431; none is cut off in silence", async () => {
      front = await makeFront();
      const client = await front.client();
      const headers = Array.from({ length: 63 }, (_, i) => `X-Header-${i}: ${i}`);
      assert.equal((await client.ask(get("/v1/sys/a", ...headers))).status, 200);
      assert.equal(front.seen[0]?.header("x-header-62"), "62");
      assert.equal((await client.ask(get("/v1/sys/a", ...headers, "X-More: 1"))).status, 431);
      client.destroy();
    });

    test("a head of 16 KiB passes, a longer one is 431 and the end of the connection", async () => {
      front = await makeFront();
      const client = await front.client();
      assert.equal((await client.ask(get("/v1/sys/a", `X-A: ${"a".repeat(16_000)}`))).status, 200);
      const answer = await client.ask(get("/v1/sys/a", `X-A: ${"a".repeat(17_000)}`));
      assert.deepEqual([answer.status, answer.headers.get("connection")], [431, "close"]);
      assert.equal(answer.headers.get("x-service-error"), "headers_too_large");
    });

    test("T-B24: a token of 8,192 bytes passes, 8,193 are 431, under every name", async () => {
      front = await makeFront();
      const client = await front.client();
      for (const name of ["X-Service-Token: ", "X-Vault-Token: ", "Authorization: Bearer "]) {
        const at = await client.ask(get("/v1/sys/a", name + "t".repeat(8192)));
        assert.equal(dataOf(at).credential, "t".repeat(8192));
        const beyond = await client.ask(get("/v1/sys/a", name + "t".repeat(8193)));
        assert.equal(beyond.status, 431);
      }
      assert.equal(front.seen.length, 3);
      client.destroy();
    });

    test("the thousandth request on a connection is its last", async () => {
      front = await makeFront({ limits: { requestsPerConnection: 5 } });
      const client = await front.client();
      for (let i = 1; i <= 5; i++) {
        const answer = await client.ask(get("/v1/sys/a"));
        assert.equal(answer.headers.get("connection"), i < 5 ? "keep-alive" : "close");
      }
      await client.closed();
      assert.equal(DEFAULT_LIMITS.requestsPerConnection, 1000);
    });

    test("max_request_size goes up to 32 MiB", () => {
      const plain = { kind: "tcp", host: "127.0.0.1", port: 0, tls: null } as const;
      assert.equal(
        withDefaults({ ...plain, maxRequestSize: 32 * LIMIT }).maxRequestSize,
        32 * LIMIT,
      );
      assert.throws(
        () => withDefaults({ ...plain, maxRequestSize: 32 * LIMIT + 1 }),
        /33554432 bytes/,
      );
      assert.throws(() => withDefaults({ ...plain, maxRequestSize: 0 }), /at least 1/);
      assert.throws(() => withDefaults({ ...plain, http2: true }), /needs TLS/);
    });
  });

  describe("connections", () => {
    test("T-N03: an address has so many connections and not one more, and others are not affected", async () => {
      front = await makeFront({ limits: { connectionsPerLocalAddress: 3 } });
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      const { script } = front;
      front.script = async (incoming) => {
        await held;
        return script(incoming);
      };
      const clients = await Promise.all([front.client(), front.client(), front.client()]);
      const answers = clients.map((client) => client.ask(get("/v1/sys/a")));
      while (front.server.inFlight < 3) await front.settled();
      const fourth = await front.client();
      await fourth.closed();
      letGo();
      for (const answer of answers) assert.equal((await answer).status, 200);
      for (const client of clients) client.destroy();
    });

    test("T-N03: who has not said what it wants makes room, then who is idle, the oldest first", async () => {
      front = await makeFront({ limits: { connectionsPerLocalAddress: 3 } });
      const idle = await front.client();
      assert.equal((await idle.ask(get("/v1/sys/a"))).status, 200);
      const half = [];
      for (const begun of ["GET /v1/sys/a HTTP/1.1\r\nHo", ""]) {
        const client = await front.client();
        if (begun !== "") await client.send(begun);
        half.push(client);
        while (front.server.connections <= half.length) await front.settled();
      }
      const first = await front.client();
      assert.equal((await first.ask(get("/v1/sys/a"))).status, 200);
      await half[0]?.closed();
      assert.equal(half[1]?.ended, false);
      const second = await front.client();
      assert.equal((await second.ask(get("/v1/sys/a"))).status, 200);
      await half[1]?.closed();
      assert.equal(idle.ended, false);
      const third = await front.client();
      assert.equal((await third.ask(get("/v1/sys/a"))).status, 200);
      await idle.closed();
      assert.equal(front.server.connections, 3);
      for (const client of [first, second, third]) client.destroy();
    });

    test("T-N03: two hundred with half a head do not keep out one that asks", async () => {
      front = await makeFront({ limits: { connectionsPerLocalAddress: 200 } });
      const half = await Promise.all(Array.from({ length: 200 }, () => front.client()));
      await Promise.all(half.map((client) => client.send("GET /v1/sys/a HTTP/1.1\r\n")));
      while (front.server.connections < 200) await front.settled();
      for (let i = 0; i < 20; i++) {
        const client = await front.client();
        assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
        client.destroy();
      }
      for (const client of half) client.destroy();
    });

    test("T-N03: there is a limit on all connections together", async () => {
      front = await makeFront({ limits: { connections: 2 } });
      const [first, second] = await Promise.all([front.client(), front.client()]);
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      const { script } = front;
      front.script = async (incoming) => {
        await held;
        return script(incoming);
      };
      const answers = [first, second].map((client) => client.ask(get("/v1/sys/a")));
      while (front.server.inFlight < 2) await front.settled();
      const third = await front.client();
      await third.closed();
      letGo();
      for (const answer of answers) assert.equal((await answer).status, 200);
      first.destroy();
      second.destroy();
    });

    test("T-N03: the defaults are those of the threats: 200 for an address, 12,000 in all", () => {
      const book = new ConnectionBook();
      const far = (place: string | null) => book.enter(place, false, DEFAULT_LIMITS);
      const seats = Array.from({ length: 200 }, () => far("192.0.2.1"));
      assert.ok(seats.every((seat) => seat !== null));
      assert.equal(far("192.0.2.1"), null);
      const local = Array.from({ length: 2000 }, () =>
        book.enter("127.0.0.1", true, DEFAULT_LIMITS),
      );
      assert.ok(local.every((seat) => seat !== null));
      assert.equal(book.enter("127.0.0.1", true, DEFAULT_LIMITS), null, "ten times, from here");
      for (let i = 2200; i < 12_000; i++) assert.ok(far(`place ${i}`));
      assert.equal(far("192.0.2.2"), null);
      assert.equal(far(null), null);
      if (seats[0] !== undefined && seats[0] !== null) book.leave(seats[0]);
      assert.ok(far("192.0.2.1"));
      assert.equal(book.all, 12_000);
    });

    test("the address of a proxy that is believed is not counted: it speaks for many", async () => {
      front = await makeFront({
        limits: { connectionsPerAddress: 1, connectionsPerLocalAddress: 1 },
        forwardedForAuthorized: ["127.0.0.0/8"],
      });
      const clients = await Promise.all([front.client(), front.client(), front.client()]);
      for (const client of clients) assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
      for (const client of clients) client.destroy();
    });
  });

  describe("T-N03: time, with the clock in our hand", () => {
    const just = (limit: bigint) => limit - 600n * MILLISECOND;
    const past = 1200n * MILLISECOND; // from just before a limit to just behind it

    test("T-N03: a connection that sends nothing is closed after 10 s", async () => {
      front = await makeFront();
      const client = await front.client();
      while (front.server.connections === 0) await front.settled();
      await front.world.timers.advance(just(10n * SECOND));
      assert.equal(client.ended, false);
      await front.world.timers.advance(past);
      await client.closed();
      assert.equal(client.received, "");
    });

    test("T-N03: a head that is not complete after 10 s is 408, however busily it trickles in", async () => {
      front = await makeFront();
      const client = await front.client();
      await client.send("GET /v1/sys/a HTTP/1.1\r\n");
      await front.settled();
      for (let i = 0; i < 9; i++) {
        await client.send(`X-Slow-${i}: yes\r\n`);
        await front.settled();
        await front.world.timers.advance(SECOND);
      }
      assert.equal(client.ended, false);
      await front.world.timers.advance(2n * SECOND);
      const answer = await client.answer();
      assert.deepEqual([answer.status, answer.headers.get("connection")], [408, "close"]);
      await client.closed();
    });

    test("T-N03: a body that is not complete after 30 s is 408, and its handler is told", async () => {
      front = await makeFront();
      const client = await front.client();
      await client.send(`${request("POST", "/v1/sys/a", "Content-Length: 100")}{`);
      await front.settled();
      await front.world.timers.advance(just(30n * SECOND));
      await client.send("x");
      await front.settled();
      assert.equal(client.ended, false);
      await front.world.timers.advance(past);
      assert.equal((await client.answer()).status, 408);
      assert.equal(front.seen[0]?.signal.aborted, true);
      assert.equal(front.server.inFlight, 0);
      await client.closed();
    });

    test("T-N03: an answer that nobody reads for 60 s is dropped with its connection", async () => {
      front = await makeFront();
      front.script = () => ({ result: new Reply({ text: "z".repeat(30 * LIMIT) }) });
      const client = await front.client();
      client.socket.pause();
      await client.send(get("/v1/sys/a"));
      await front.settled();
      const { bytesWritten: first } = await front.endOf(client);
      // The system may find room for some more of it later, and then the time begins again.
      const progress = { bytes: first, at: front.world.clock.elapsed() };
      const passed = () => front.world.clock.elapsed() - progress.at;
      while (front.server.connections > 0) {
        assert.ok(passed() < 62n * SECOND, `${passed()} ns without progress`);
        await front.world.timers.advance(SECOND);
        await front.settled();
        const { bytesWritten: bytes } = await front.endOf(client);
        if (bytes !== progress.bytes) {
          Object.assign(progress, { bytes, at: front.world.clock.elapsed() });
        }
      }
      assert.ok(passed() > 59n * SECOND, `${passed()} ns without progress`);
      client.destroy();
    });

    test("T-N03: an answer that is read slowly, but is read, takes the time it takes", async () => {
      front = await makeFront();
      front.script = () => ({ result: new Reply({ text: "z".repeat(30 * LIMIT) }) });
      const client = await front.client();
      client.socket.pause();
      await client.send(get("/v1/sys/a"));
      const end = await front.endOf(client);
      for (let i = 0; i < 4; i++) {
        await front.settled();
        await front.world.timers.advance(40n * SECOND);
        const before = end.bytesWritten;
        client.socket.resume();
        await until(() => end.bytesWritten >= before + LIMIT);
        client.socket.pause();
      }
      client.socket.resume();
      const answer = await client.answer();
      assert.equal(dataOf(answer).text, "z".repeat(30 * LIMIT));
      client.destroy();
    });

    test("T-N03: a connection that is idle for 30 s is closed, and not before", async () => {
      front = await makeFront();
      const client = await front.client();
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
      await front.settled();
      await front.world.timers.advance(just(30n * SECOND));
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
      await front.settled();
      await front.world.timers.advance(just(30n * SECOND));
      assert.equal(client.ended, false);
      await front.world.timers.advance(past);
      await client.closed();
    });

    test("a handler that takes longer than 90 s is told to stop, and its caller gets 503", async () => {
      front = await makeFront();
      const late = Promise.withResolvers<void>();
      front.script = async () => {
        await late.promise;
        return { result: new Reply({ late: true }) };
      };
      const client = await front.client();
      await client.send(get("/v1/sys/a"));
      await front.settled();
      const { signal } = front.seen[0] ?? assert.fail("it did not arrive");
      await front.world.timers.advance(just(90n * SECOND));
      assert.equal(signal.aborted, false);
      await front.world.timers.advance(past);
      const answer = await client.answer();
      assert.equal(answer.status, 503);
      assert.deepEqual(errorsOf(answer), ["request timed out"]);
      assert.equal(answer.headers.get("retry-after"), "5");
      assert.equal(signal.aborted, true);
      // What it says afterwards belongs to nobody, least of all to the next request.
      front.script = () => ({ result: new Reply({ next: true }) });
      late.resolve();
      assert.deepEqual(dataOf(await client.ask(get("/v1/sys/b"))), { next: true });
      client.destroy();
    });

    test("a request may be given another time", async () => {
      front = await makeFront();
      front.script = (incoming) => {
        assert.ok("allow" in incoming && typeof incoming.allow === "function");
        incoming.allow(300n * SECOND);
        return new Promise(() => {});
      };
      const client = await front.client();
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await front.world.timers.advance(just(300n * SECOND));
      assert.equal(client.received, "");
      await front.world.timers.advance(past);
      assert.equal((await client.answer()).status, 503);
      client.destroy();
    });

    test("T-N03: slow clients do not keep good ones waiting", async () => {
      front = await makeFront();
      const slow = await Promise.all(Array.from({ length: 50 }, () => front.client()));
      await Promise.all(
        slow.map((client, i) => client.send("GET /v1/sys/a HTTP/1.1\r\n".slice(0, i % 24))),
      );
      const good = await front.client();
      for (let i = 0; i < 20; i++) {
        assert.equal((await good.ask(get("/v1/sys/a"))).status, 200);
        await front.settled();
        await front.world.timers.advance(SECOND);
      }
      for (const client of slow) await client.closed();
      assert.equal(front.server.connections, 1);
      good.destroy();
    });

    test("with no connection there is no timer that would keep the process alive", async () => {
      front = await makeFront();
      assert.equal(front.world.timers.armed, 0);
      const client: RawClient = await front.client();
      await client.ask(get("/v1/sys/a"));
      assert.equal(front.world.timers.armed, 1);
      client.destroy();
      while (front.server.connections > 0) await front.settled();
      assert.equal(front.world.timers.armed, 0);
    });
  });
});
