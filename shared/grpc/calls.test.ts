import assert from "node:assert/strict";
import { type Http2Session, performServerHandshake } from "node:http2";
import { type AddressInfo, connect, createServer } from "node:net";
import test, { afterEach, describe } from "node:test";
import { Failure } from "../failure.ts";
import { SECOND } from "../text/duration.ts";
import { GrpcPair } from "../../tests/support/servers/grpc-pair.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/until.ts";
import { ClientSession } from "./client-session.ts";
import { bytes, message, text, uint32 } from "./message.ts";
import {
  type Call,
  callBidirectional,
  callStream,
  callUnary,
  LARGEST_MESSAGE,
  method,
  type Served,
  serveBidirectional,
  serveStream,
  serveUnary,
} from "./method.ts";
import type { Serving } from "./server-session.ts";
import { Status, StatusError } from "./status.ts";

// A stream that stands still is a failure, and not the end of the run.
const BOUND = { timeout: 300_000 };

const line = message({ text: text(1), count: uint32(2) });
const block = message({ bytes: bytes(1) });
const ping = method("unary", "/test.Calls/Ping", line, line);
const count = method("serverStream", "/test.Calls/Count", line, line);
const echo = method("bidirectional", "/test.Calls/Echo", line, line);
const blocks = method("serverStream", "/test.Calls/Blocks", line, block);
const BLOCK = 128 * 1024;
const MIB = 1024 * 1024;
const large = { maxRequest: LARGEST_MESSAGE, maxResponse: LARGEST_MESSAGE };
const mirror = method("unary", "/test.Calls/Mirror", block, block, large);

async function* nothing(): AsyncGenerator<Uint8Array> {
  yield line.encode({ text: "", count: 0 });
}

describe("calls", BOUND, () => {
  let pair: GrpcPair;
  afterEach(() => pair.close());

  async function start(served: readonly Served<string>[], serving: Partial<Serving<string>> = {}) {
    pair = await GrpcPair.start(served, serving);
    return await pair.client();
  }

  const says = (status: number, part = /./) => {
    return (error: unknown) => {
      assert.ok(error instanceof StatusError, String(error));
      assert.equal(error.status, status, error.message);
      assert.match(error.message, part);
      return true;
    };
  };

  /** Never answers; tells when it is called and when nobody waits any more. */
  function waiting() {
    const calls: Call<string>[] = [];
    const served = serveUnary<string, { text: string; count: number }, never>(
      ping as never,
      (_request, call) => {
        calls.push(call);
        return new Promise((_resolve, reject) =>
          call.signal.addEventListener("abort", () => reject(new Error("over"))),
        );
      },
    );
    return { calls, served };
  }

  test("what nobody has read yet is four megabytes of a stream at most", async () => {
    let sent = 0;
    const client = await start([
      serveStream(blocks, async function* () {
        for (;;) {
          yield { bytes: Buffer.alloc(BLOCK) };
          sent += BLOCK;
        }
      }),
    ]);
    const stream = client.exchange(blocks, nothing()); // nobody reads it but once
    await stream.next();
    let last = -1;
    await until(async () => {
      for (let i = 0; i < 20; i++) await nextTurn();
      const stands = last === sent && sent > 3 * MIB;
      last = sent;
      return stands;
    });
    assert.ok(sent < 5 * MIB, `${sent} bytes of one stream`);
    await stream.return(undefined);
  });

  test("what is on its way in all is far more than HTTP/2 begins with, on both sides", async () => {
    await start([]);
    const seen = Promise.withResolvers<Http2Session>();
    // The runtime's own peers say how much they may send.
    const client = await pair.raw();
    await until(() => client.state.remoteWindowSize! >= 1 * MIB);

    const server = createServer((socket) => {
      socket.on("error", () => {});
      const session = performServerHandshake(socket);
      session.on("error", () => {});
      seen.resolve(session);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    const ours = new ClientSession(socket, "localhost", pair.sessionWorld);
    const session = await seen.promise;
    await until(() => session.state.remoteWindowSize! >= 8 * MIB);
    ours.destroy();
    server.close();
  });

  test("one message there and one back, many times on one session", async () => {
    const client = await start([
      serveUnary(ping, async (request, { peer }) => ({
        text: `${request.text} for ${peer}`,
        count: request.count + 1,
      })),
    ]);
    for (let i = 0; i < 50; i++) {
      const answer = await callUnary(client, ping, { text: "ä", count: i });
      assert.deepEqual(answer, { text: "ä for test", count: i + 1 });
    }
    await until(() => pair.sessions[0]?.calls === 0);
  });

  test("a stream of answers ends where the handler ends, and is made as it is taken", async () => {
    let made = 0;
    const client = await start([
      serveStream(count, async function* ({ count: last }) {
        for (let i = 0; i < last; i++) {
          made++;
          yield { text: "x".repeat(10_000), count: i };
        }
      }),
    ]);
    const found: number[] = [];
    for await (const { count: i } of callStream(client, count, { text: "", count: 100 }))
      found.push(i);
    assert.deepEqual(
      found,
      Array.from({ length: 100 }, (_, i) => i),
    );

    made = 0;
    const answers = callStream(client, count, { text: "", count: 100_000 });
    await answers.next();
    let before = -1;
    await until(() => {
      const stands = made === before;
      before = made;
      return stands;
    });
    assert.ok(made < 600, `${made} answers of 10 kB were made, and one was taken`);
    await answers.return(undefined);
    await until(() => pair.sessions[0]?.calls === 0);
  });

  test("what is said beside the messages arrives once, and names of the protocol are nobody's", async () => {
    const client = await start([
      serveUnary(ping, async (_request, call) => {
        const said = ["multiplex_id", "x-other", "te", "toString"].map((name) =>
          call.metadata(name),
        );
        return { text: said.map(String).join(";"), count: 0 };
      }),
    ]);
    const request = { text: "", count: 0 };
    const metadata = { multiplex_id: "a1 b2", "x-other": "~" };
    const answer = await callUnary(client, ping, request, { metadata });
    assert.equal(answer.text, "a1 b2;~;trailers;undefined");
    assert.match((await callUnary(client, ping, request)).text, /^undefined;undefined;/);
    for (const wrong of [
      { te: "x" },
      { "grpc-timeout": "1S" },
      { A: "x" },
      { a: "ä" },
      { a: "x, y" },
      { a: "" },
    ]) {
      await assert.rejects(callUnary(client, ping, request, { metadata: wrong }), /of metadata/);
    }
    const session = await pair.raw();
    const twice = session.request({
      ":method": "POST",
      ":path": ping.path,
      te: "trailers",
      "content-type": "application/grpc",
      multiplex_id: ["a", "b"],
    });
    const parts: Buffer[] = [];
    twice.on("data", (part: Buffer) => parts.push(part));
    twice.end(Buffer.from([0, 0, 0, 0, 0]));
    await new Promise((resolve) => twice.once("end", resolve));
    assert.match(String(Buffer.concat(parts)), /undefined;/, "of two nobody knows which is meant");
    session.destroy();
  });

  test("both ways at once: each answer comes while the stream is open", async () => {
    const client = await start([
      serveBidirectional(echo, async function* (requests) {
        for await (const request of requests) yield { ...request, count: request.count * 2 };
      }),
    ]);
    let answered = 0;
    async function* requests() {
      for (let i = 1; i <= 20; i++) {
        yield { text: "", count: i };
        await until(() => answered === i);
      }
    }
    let sum = 0;
    for await (const answer of callBidirectional(client, echo, requests())) {
      sum += answer.count;
      answered++;
    }
    assert.equal(sum, 420);
  });

  test("the largest message passes whole, and its room is given back", async () => {
    const client = await start([serveUnary(mirror, async (request) => request)]);
    const sent = Buffer.alloc(LARGEST_MESSAGE - 16, 7);
    sent[sent.length - 1] = 9;
    const answer = await callUnary(client, mirror, { bytes: sent });
    assert.ok(sent.equals(answer.bytes));
    await until(() => pair.sessions[0]?.heldBytes === 0 && client.heldBytes === 0);
  });

  test("a failure of ours arrives by its kind and text, any other without a text", async () => {
    const troubles: unknown[] = [];
    const client = await start(
      [
        serveUnary(ping, async ({ count: which }) => {
          if (which === 1) throw new Failure("sealed", "sealed", "50 % of the shares – not enough");
          if (which === 2) throw new StatusError(Status.aborted, "");
          throw new Error("a secret");
        }),
      ],
      { trouble: (path, error) => troubles.push([path, error]) },
    );
    const call = (which: number) => callUnary(client, ping, { text: "", count: which });
    await assert.rejects(call(1), says(Status.failedPrecondition, /^50 % of the shares – not/));
    await assert.rejects(call(2), says(Status.aborted, /^$/));
    await assert.rejects(call(3), says(Status.internal, /^the call failed inside the server$/));
    assert.deepEqual(troubles.map(String), ["/test.Calls/Ping,Error: a secret"]);
  });

  test("an error in the middle of a stream comes behind what was answered", async () => {
    const client = await start([
      serveStream(count, async function* () {
        yield { text: "first", count: 1 };
        throw new Failure("damaged", "damaged", "row 2");
      }),
    ]);
    const answers = callStream(client, count, { text: "", count: 0 });
    assert.equal((await answers.next()).value?.text, "first");
    await assert.rejects(answers.next(), says(Status.dataLoss, /^row 2$/));
  });

  test("an error of the requests ends the call with it, and the handler learns", async () => {
    let ended: unknown = null;
    const client = await start([
      serveBidirectional(echo, async function* (requests) {
        try {
          for await (const request of requests) yield request;
        } catch (error) {
          ended = error;
        }
      }),
    ]);
    async function* requests() {
      yield { text: "", count: 1 };
      throw new Failure("unavailable", "full", "the disk is full");
    }
    const answers = callBidirectional(client, echo, requests());
    await assert.rejects(async () => {
      for await (const _ of answers);
    }, /the disk is full/);
    await until(() => ended instanceof StatusError);
  });

  test("a deadline goes along, and ends the call on both sides", async () => {
    const { calls, served } = waiting();
    const client = await start([served]);
    const call = callUnary(client, ping, { text: "", count: 0 }, { timeout: 5n * SECOND });
    const ends = assert.rejects(call, says(Status.deadlineExceeded));
    await until(() => calls.length === 1);
    await pair.world.timers.advance(6n * SECOND);
    await ends;
    await until(() => calls[0]?.signal.aborted === true && pair.sessions[0]?.calls === 0);
  });

  test("the time of a call that is queued begins anew while other answers come, and is over when they do not", async () => {
    const { calls, served } = waiting();
    const next: (() => void)[] = [];
    const client = await start([
      served,
      serveStream(blocks, async function* (_request, { signal }) {
        for (;;) {
          await new Promise<void>((resolve) => {
            next.push(resolve);
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
          if (signal.aborted) return;
          yield { bytes: Buffer.alloc(BLOCK) };
        }
      }),
    ]);
    const others = callStream(client, blocks, { text: "", count: 0 });
    const queued = { timeout: 5n * SECOND, isQueued: true };
    const state = { isOver: false };
    const call = callUnary(client, ping, { text: "", count: 0 }, queued);
    const ends = assert.rejects(call, says(Status.deadlineExceeded)).then(() => {
      state.isOver = true;
    });
    await until(() => calls.length === 1);
    for (let i = 0; i < 3; i++) {
      const arrives = others.next();
      await until(() => next.length > i);
      next[i]!();
      assert.equal((await arrives).done, false);
      await pair.world.timers.advance(5n * SECOND);
      await nextTurn();
      assert.equal(state.isOver, false);
    }
    await pair.world.timers.advance(5n * SECOND);
    await ends;
    await others.return(undefined);
  });

  test("a server that is told a deadline keeps it by itself", async () => {
    const { calls, served } = waiting();
    await start([served]);
    const session = await pair.raw();
    const stream = session.request({
      ":method": "POST",
      ":path": ping.path,
      te: "trailers",
      "content-type": "application/grpc",
      "grpc-timeout": "2S",
    });
    stream.end(Buffer.from([0, 0, 0, 0, 0]));
    const answer = new Promise((resolve) => stream.once("response", resolve));
    await until(() => calls.length === 1);
    await pair.world.timers.advance(3n * SECOND);
    assert.equal(((await answer) as Record<string, string>)["grpc-status"], "4");
    session.destroy();
  });

  test("a caller that cancels is told so, and the handler's signal comes", async () => {
    const { calls, served } = waiting();
    const client = await start([served]);
    const stop = new AbortController();
    const call = callUnary(client, ping, { text: "", count: 0 }, { signal: stop.signal });
    const ends = assert.rejects(call, says(Status.cancelled));
    await until(() => calls.length === 1);
    assert.equal(calls[0]?.signal.aborted, false);
    stop.abort();
    await ends;
    await until(() => calls[0]?.signal.aborted === true && pair.sessions[0]?.calls === 0);
  });

  test("a session that is lost ends its calls on both sides", async () => {
    const { calls, served } = waiting();
    const client = await start([served]);
    const call = callUnary(client, ping, { text: "", count: 0 });
    const ends = assert.rejects(call, says(Status.unavailable));
    await until(() => calls.length === 1);
    pair.sessions[0]?.destroy();
    await ends;
    await client.closed;
    await pair.sessions[0]?.closed;
    assert.equal(calls[0]?.signal.aborted, true);
    await assert.rejects(callUnary(client, ping, { text: "", count: 0 }), says(Status.unavailable));
  });

  test("a session that is drained lets its calls finish", async () => {
    const answer = Promise.withResolvers<{ text: string; count: number }>();
    const client = await start([serveUnary(ping, () => answer.promise)]);
    const call = callUnary(client, ping, { text: "", count: 0 });
    await until(() => pair.sessions[0]?.calls === 1);
    pair.sessions[0]?.drain();
    answer.resolve({ text: "late", count: 1 });
    assert.equal((await call).text, "late");
    await pair.sessions[0]?.closed;
  });

  test("a session that drains ends at once when it must, though its peer says nothing", async () => {
    await start([]);
    await pair.socket(); // says nothing, and never reads
    await until(() => pair.sessions.length === 2);
    const session = pair.sessions[1]!;
    session.drain();
    session.destroy();
    await session.closed;

    pair.server.removeAllListeners("secureConnection"); // and neither does this server
    const client = await pair.client();
    client.drain();
    client.destroy();
    await client.closed;
  });

  test("whether the peer may call is asked before every call", async () => {
    let allowed = true;
    const client = await start([serveUnary(ping, async (request) => request)], {
      admit: () => {
        if (!allowed) throw new StatusError(Status.permissionDenied, "revoked");
      },
    });
    await callUnary(client, ping, { text: "", count: 1 });
    allowed = false;
    const call = callUnary(client, ping, { text: "", count: 1 });
    await assert.rejects(call, says(Status.permissionDenied, /^revoked$/));
  });

  test("a peer that is silent for fifteen seconds is gone; one that answers pings is not", async () => {
    const client = await start([serveUnary(ping, async (request) => request)]);
    await pair.socket(); // says nothing, and never reads
    await until(() => pair.sessions.length === 2);
    // Each step leaves time for a ping to come back.
    for (let passed = 0; passed < 40; passed++) {
      await pair.world.timers.advance(SECOND);
      await callUnary(client, ping, { text: "", count: 1 });
    }
    await pair.sessions[1]?.closed;
    assert.ok(client.isOpen);
  });
});
