import assert from "node:assert/strict";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import test, { afterEach, beforeEach, describe, type TestContext } from "node:test";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  dataOf,
  errorsOf,
  get,
  makeFront,
  post,
  request,
  type Front,
  type RawClient,
} from "../../../tests/support/http-front.ts";

/** Holds back what tells that an answer is out. */
function heldBack(t: TestContext): (() => void)[] {
  const held: (() => void)[] = [];
  const { end } = ServerResponse.prototype as unknown as {
    readonly end: (...args: unknown[]) => ServerResponse;
  };
  t.mock.method(
    ServerResponse.prototype,
    "end",
    function later(this: ServerResponse, ...args: unknown[]) {
      const done = args.at(-1);
      if (typeof done !== "function") return end.call(this, ...args);
      return end.call(this, ...args.slice(0, -1), () => held.push(done as () => void));
    },
  );
  return held;
}

describe("HTTP/1.1", () => {
  let front: Front;
  let client: RawClient;

  beforeEach(async () => {
    front = await makeFront();
    client = await front.client();
  });

  afterEach(async () => {
    client.destroy();
    await front.close();
  });

  // Over TLS the system tells of it a moment later than the client may have it.
  test("whoever has its answer may ask again, before we are told that it is out", async (t) => {
    const held = heldBack(t);
    for (const path of ["/v1/sys/a", "/v1/sys/b"]) {
      assert.equal((await client.ask(get(path))).status, 200, path);
    }
    assert.equal(held.length, 2);
    // One may be out and not told of: with more it would be for us to hold what nobody reads.
    const answer = await client.ask(get("/v1/sys/c"));
    assert.match(errorsOf(answer).join(), /must wait for the answer/);
    for (const done of held) done();
  });

  test("told late, the next request runs on as it was", async (t) => {
    const held = heldBack(t);
    for (let i = 0; i < 5; i++) {
      assert.equal((await client.ask(get(`/v1/sys/${i}`))).status, 200);
      if (held.length > 1) held.shift()?.();
    }
  });

  describe("LIST on HTTP/1.1", () => {
    test("a LIST request reaches the pipeline as LIST", async () => {
      const answer = await client.ask(request("LIST", "/v1/sys/namespaces"));
      assert.equal(answer.status, 200);
      assert.deepEqual([dataOf(answer).verb, dataOf(answer).target], ["LIST", "/sys/namespaces"]);
    });

    test("GET and LIST take turns on one connection", async () => {
      for (let i = 0; i < 20; i++) {
        const verb = i % 3 === 1 ? "GET" : "LIST";
        const answer = await client.ask(request(verb, `/v1/sys/${i}`));
        assert.deepEqual([dataOf(answer).verb, dataOf(answer).target], [verb, `/sys/${i}`]);
      }
    });

    test("a LIST behind a POST with a body is recognised, with length and in chunks", async () => {
      const chunked = request("POST", "/v1/sys/a", "Transfer-Encoding: chunked");
      for (const before of [
        post("/v1/sys/a", "LIST / HTTP/1.1"),
        `${chunked}5\r\nLIST \r\n0\r\n\r\n`,
      ]) {
        assert.match((await client.ask(before)).body, /"body":"LIST /);
        assert.equal(dataOf(await client.ask(request("LIST", "/v1/sys/b"))).verb, "LIST");
      }
    });

    test("the verb may be split over segments at every place", async () => {
      const whole = request("LIST", "/v1/sys/namespaces");
      for (let cut = 1; cut < 8; cut++) {
        await client.send(whole.slice(0, cut));
        await front.settled();
        const answer = await client.ask(whole.slice(cut));
        assert.equal(dataOf(answer).verb, "LIST", `cut after ${cut} bytes`);
      }
      for (const byte of whole) {
        await client.send(byte);
        await front.settled();
      }
      assert.equal(dataOf(await client.answer()).verb, "LIST");
    });

    test("the body of a POST that begins with LIST stays as it is, also in a segment of its own", async () => {
      const body = "LIST / HTTP/1.1";
      await client.send(request("POST", "/v1/sys/a", `Content-Length: ${body.length}`));
      await front.settled();
      assert.equal(dataOf(await client.ask(body)).body, body);
    });

    test("a header value at the start of a segment stays as it is", async () => {
      await client.send("GET /v1/sys/a HTTP/1.1\r\nHost: localhost\r\nX-Service-Namespace: ");
      await front.settled();
      assert.equal(dataOf(await client.ask("LIST x\r\n\r\n")).namespace, "LIST x");
    });

    test("a client's own LINK is not a LIST: 405", async () => {
      assert.equal((await client.ask(request("LIST", "/v1/sys/a"))).status, 200);
      assert.equal((await client.ask(request("LINK", "/v1/sys/a"))).status, 405);
      assert.equal(front.seen.length, 1);
    });

    for (const verb of ["LISK", "LISTS", "LIS", "LIS7", "list", "LIST\t", "LINKT", "LISS", "LI"]) {
      test(`T-A18: the verb ${JSON.stringify(verb)} is 400, in one segment and in single bytes`, async () => {
        assert.equal((await client.ask(request(verb, "/v1/sys/a"))).status, 400);
        const second = await front.client();
        for (const byte of `${verb} /`) {
          await second.send(byte);
          await front.settled();
        }
        await second.send("v1/sys/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert.equal((await second.answer()).status, 400);
        assert.equal(front.seen.length, 0);
      });
    }

    for (const verb of [
      "REVOKE",
      "RENEW",
      "ROLLBACK",
      "HELP",
      "SCAN",
      "TRACE",
      "PROPFIND",
      "UNLINK",
    ]) {
      test(`T-A18: ${verb} is no operation`, async () => {
        const { status } = await client.ask(request(verb, "/v1/sys/a"));
        assert.ok(status === 400 || status === 405);
        assert.equal(front.seen.length, 0);
      });
    }

    test("T-A18: a header that would change the verb is refused", async () => {
      for (const name of ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]) {
        const one = await front.client();
        assert.equal((await one.ask(get("/v1/sys/a", `${name}: DELETE`))).status, 400);
      }
      assert.equal(front.seen.length, 0);
    });

    test("CONNECT is refused and the connection ends", async () => {
      const answer = await client.ask(
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
      );
      assert.equal(answer.status, 405);
      await client.closed();
    });

    test("a request to upgrade is answered as if it had not asked", async () => {
      const upgrade = get(
        "/v1/sys/a",
        "Connection: upgrade",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABk",
      );
      assert.equal((await client.ask(upgrade)).status, 200);
    });
  });

  describe("T-N05: what another reader could see as two requests is 400, and the connection ends", () => {
    const host = "Host: localhost\r\n";
    const table: Readonly<Record<string, string>> = {
      "length and chunks": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "chunks and length": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
      "two lengths": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
      "two equal lengths": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
      "a list of lengths": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: 5, 5\r\n\r\nhello`,
      "a signed length": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: +5\r\n\r\nhello`,
      "a folded header": `GET /v1/sys/a HTTP/1.1\r\n${host}X-A: b\r\n c\r\n\r\n`,
      "a bare line feed after the request line": `GET /v1/sys/a HTTP/1.1\n${host}\r\n`,
      "a bare line feed after a header": `GET /v1/sys/a HTTP/1.1\r\nHost: localhost\nX-A: b\r\n\r\n`,
      "a bare line feed at the end": `GET /v1/sys/a HTTP/1.1\r\n${host}\n`,
      "a bare carriage return": `GET /v1/sys/a HTTP/1.1\r\n${host}X-A: b\rX-C: d\r\n\r\n`,
      "a space before the colon": `GET /v1/sys/a HTTP/1.1\r\n${host}X-A : b\r\n\r\n`,
      "a space in front of the first header": `GET /v1/sys/a HTTP/1.1\r\n X-A: b\r\n${host}\r\n`,
      "a header without a name": `GET /v1/sys/a HTTP/1.1\r\n${host}: b\r\n\r\n`,
      "a NUL in a header": `GET /v1/sys/a HTTP/1.1\r\n${host}X-A: b\0c\r\n\r\n`,
      "no version": `GET /v1/sys/a\r\n${host}\r\n`,
      "an unknown version": `GET /v1/sys/a HTTP/3.7\r\n${host}\r\n`,
      "chunked twice": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "a further coding": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      "a coding that is not the last": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      "chunks on HTTP/1.0": `POST /v1/sys/a HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "a chunk size with a sign": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n`,
      "a chunk ended by a bare line feed": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
      "a chunk longer than it says": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n`,
      "a chunk size beyond 64 bits": `POST /v1/sys/a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n`,
      "rubbish behind a body": `POST /v1/sys/a HTTP/1.1\r\n${host}Content-Length: 2\r\n\r\n{}GARBAGE`,
      "rubbish behind a GET": `GET /v1/sys/a HTTP/1.1\r\n${host}\r\nGARBAGE`,
      "a second request in the same segment": get("/v1/sys/a") + get("/v1/sys/b"),
      "a LIST behind a GET in the same segment": get("/v1/sys/a") + request("LIST", "/v1/sys/b"),
      "three requests in the same segment": get("/v1/sys/a") + get("/v1/sys/b") + get("/v1/sys/c"),
    };
    for (const [what, bytes] of Object.entries(table)) {
      test(`T-N05: ${what}`, async () => {
        const answer = await client.ask(bytes);
        assert.equal(answer.status, 400);
        assert.equal(answer.headers.get("content-type"), "application/json");
        assert.equal(errorsOf(answer).length, 1);
        assert.equal(answer.headers.get("connection"), "close");
        await front.world.timers.advance(3_000_000_000n);
        await client.closed();
        assert.equal(client.received, "", "and nothing more");
        assert.ok(
          front.seen.every((incoming) => incoming.hasBody),
          "nothing without a body was done",
        );
      });
    }

    test("T-N05: a second request in a later segment is refused after the first has its answer", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      front.script = async () => {
        await promise;
        return {};
      };
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await client.send(request("LIST", "/v1/sys/b"));
      await front.settled();
      resolve();
      assert.equal((await client.answer()).status, 204);
      assert.equal((await client.answer()).status, 400);
      await client.closed();
      assert.equal(front.seen.length, 1);
    });

    test("T-N05: rubbish in a later segment ends the connection behind the answer", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      front.script = async () => {
        await promise;
        return {};
      };
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await client.send("GARBAGE\r\n\r\n");
      await front.settled();
      resolve();
      const answer = await client.answer();
      assert.deepEqual([answer.status, answer.headers.get("connection")], [204, "close"]);
      await client.closed();
    });

    test("T-N05: whoever floods a connection with early requests is cut off", async () => {
      front.script = () => new Promise(() => {});
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await client.send(get("/v1/sys/b").repeat(100));
      await client.closed();
      assert.equal(front.seen.length, 1);
      assert.equal(front.seen[0]?.signal.aborted, true);
    });

    test("T-N05: the first bytes of a next request may come early; they are one request with the rest", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      front.script = async ({ verb }) => {
        await promise;
        return { headers: { "X-Verb": verb } };
      };
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await client.send("LI");
      await front.settled();
      resolve();
      assert.equal((await client.answer()).headers.get("x-verb"), "GET");
      const answer = await client.ask("ST /v1/sys/b HTTP/1.1\r\nHost: localhost\r\n\r\n");
      assert.equal(answer.headers.get("x-verb"), "LIST");
    });
  });

  test("empty lines in front of a request are passed over, for LIST as for GET", async () => {
    assert.equal((await client.ask(`\r\n${get("/v1/sys/a")}`)).status, 200);
    assert.equal(dataOf(await client.ask(`\r\n\r\n${request("LIST", "/v1/sys/a")}`)).verb, "LIST");
  });

  test("a request without Host is 400, on HTTP/1.0 too", async () => {
    assert.equal((await client.ask("GET /v1/sys/a HTTP/1.1\r\n\r\n")).status, 400);
    await client.closed();
    const old = await front.client();
    assert.equal((await old.ask("GET /v1/sys/a HTTP/1.0\r\n\r\n")).status, 400);
    await old.closed();
  });

  test("T-N06: headers named like parts of objects are refused and hurt nobody", async () => {
    for (const name of ["__proto__", "constructor", "prototype"]) {
      const one = await front.client();
      assert.equal((await one.ask(get("/v1/sys/a", `${name}: x`))).status, 400);
    }
    assert.equal(
      (await client.ask(get("/v1/sys/a", "hasOwnProperty: x", "toString: y"))).status,
      200,
    );
  });

  test("T-N06: an endless chunk extension is cut off", async () => {
    await client.send(request("POST", "/v1/sys/a", "Transfer-Encoding: chunked"));
    const answer = await client.ask(`5;${"a".repeat(40_000)}`);
    assert.equal(answer.status, 413);
  });

  test("a client that wants to be told is told to send its body only when somebody reads it", async () => {
    const head = request("POST", "/v1/sys/a", "Content-Length: 2", "Expect: 100-continue");
    const first = await client.ask(head);
    assert.equal(first.status, 100);
    assert.equal(dataOf(await client.ask("{}")).body, "{}");

    front.script = () => ({});
    const answer = await client.ask(head);
    assert.deepEqual([answer.status, answer.headers.get("connection")], [204, "close"]);
    await client.closed();
  });

  test("any other expectation is refused", async () => {
    assert.equal((await client.ask(get("/v1/sys/a", "Expect: miracles"))).status, 400);
  });

  test("a client that resets its connection aborts its request and nothing else", async () => {
    front.script = () => new Promise(() => {});
    await client.send(get("/v1/sys/a"));
    await front.settled();
    const { signal } = front.seen[0] ?? assert.fail("the request did not arrive");
    assert.equal(front.server.inFlight, 1);
    client.socket.resetAndDestroy();
    while (!signal.aborted) await front.settled();
    assert.equal(front.server.inFlight, 0);
    const other = await front.client();
    front.script = () => ({});
    assert.equal((await other.ask(get("/v1/sys/a"))).status, 204);
    other.destroy();
  });

  describe("a client that ends its side is let go when it has its answers, without the clock", () => {
    const partOfABody = request("POST", "/v1/sys/a", "Content-Length: 9");
    const chunked = "Transfer-Encoding: chunked";
    const early = "GET /v1/sys/b HTTP/1.1\r\nHost:";
    for (const [what, bytes, ...statuses] of [
      ["that said nothing", ""],
      ["in the middle of the verb", "LIS", 400],
      ["in the middle of a head", early, 400],
      ["behind its answer", get("/v1/sys/a"), 200],
      ["behind its answer and the beginning of a request", get("/v1/sys/a") + early, 200, 400],
      ["before its body", partOfABody, 400],
      ["in the middle of its body", `${partOfABody}{`, 400],
      ["in the middle of a chunk", `${request("POST", "/v1/sys/a", chunked)}9\r\n{`, 400],
      ["before a body that is not expected", get("/v1/sys/a", "Content-Length: 5"), 400],
      ["before chunks that are not expected", get("/v1/sys/a", chunked), 400],
      ["before a body to LIST", request("LIST", "/v1/sys/a", "Content-Length: 5"), 400],
      ["before a body to HEAD", request("HEAD", "/v1/sys/a", chunked), 400],
      ["before a body to UNLINK", request("UNLINK", "/v1/sys/a", "Content-Length: 5"), 405],
      ["that would upgrade", get("/", "Upgrade: h2c", "Connection: Upgrade", chunked), 400],
      [
        "before its body, that would upgrade",
        request("PUT", "/v1/sys/a", "Content-Length: 2", "Upgrade: h2c", "Connection: Upgrade"),
        400,
      ],
      ["that would tunnel", request("CONNECT", "localhost:1"), 405],
      ["that would tunnel a body", request("CONNECT", "localhost:1", "Content-Length: 5"), 405],
      [
        "that was invited to send its body",
        request("POST", "/v1/sys/a", "Content-Length: 2", "Expect: 100-continue"),
        100,
        400,
      ],
      [
        "that was not invited to send its body",
        get("/v1/sys/a", "Content-Length: 2", "Expect: 100-continue"),
        400,
      ],
    ] as const) {
      for (const when of ["at once", "later"]) {
        test(`${what}, ${when}`, async () => {
          await client.send(bytes);
          if (when === "later") await front.settled();
          client.socket.end();
          assert.equal(await front.left(), 0);
          for (const status of statuses) {
            assert.equal((await client.answer(bytes.startsWith("HEAD"))).status, status);
          }
          await client.closed();
          assert.equal(client.received, "");
        });
      }
    }

    test("that waits for an answer: it has it first", async () => {
      front.script = async ({ signal, ended = signal }) => {
        if (!ended.aborted) await once(ended, "abort");
        assert.equal(signal.aborted, false, "it may still read");
        return { result: new Reply({ at: "last" }) };
      };
      await client.send(get("/v1/sys/a"));
      client.socket.end();
      assert.equal(dataOf(await client.answer()).at, "last");
      assert.equal(await front.left(), 0);
    });

    test("with rubbish behind a request whose long answer it has yet to read", async () => {
      const long = "x".repeat(16 << 20);
      front.script = () => ({ result: new Reply({ long }) });
      client.socket.pause();
      await client.send(get("/v1/sys/a"));
      await front.settled();
      await client.send("\0\0\0");
      client.socket.end();
      await front.settled();
      assert.equal(front.server.connections, 1);
      client.socket.resume();
      assert.equal(dataOf(await client.answer()).long, long);
      assert.equal(await front.left(), 0);
    });
  });
});
