// Peers that do not do as the protocol says: against the server, and against our client.

import assert from "node:assert/strict";
import {
  type ClientHttp2Session,
  constants,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server } from "node:net";
import { connect, type AddressInfo } from "node:net";
import test, { afterEach, describe } from "node:test";
import { SECOND } from "../text/duration.ts";
import { GrpcPair } from "../../tests/support/servers/grpc-pair.ts";
import { until } from "../../tests/support/until.ts";
import { ClientSession } from "./client-session.ts";
import { bytes, message } from "./message.ts";
import {
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
import { SESSION_LIMITS } from "./session-life.ts";
import { Status, StatusError } from "./status.ts";

const BOUND = { timeout: 300_000 };
const MIB = 1024 * 1024;

const block = message({ bytes: bytes(1) });
const take = method("unary", "/test.Hostile/Take", block, block, { maxRequest: LARGEST_MESSAGE });
const small = method("unary", "/test.Hostile/Small", block, block, { maxRequest: 1000 });
const flood = method("serverStream", "/test.Hostile/Flood", block, block);
const sink = method("bidirectional", "/test.Hostile/Sink", block, block);

const HEAD: OutgoingHttpHeaders = {
  ":method": "POST",
  te: "trailers",
  "content-type": "application/grpc",
};

function frame(length: number, body: Uint8Array = Buffer.alloc(length), flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
}

interface Answer {
  readonly http: number | null;
  readonly status: string | null;
  readonly reset: number;
}

/** Sends bytes, ends or leaves the stream open, and waits for how it ends. */
function ask(
  session: ClientHttp2Session,
  path: string,
  body: Uint8Array,
  { headers = {}, end = true }: { headers?: OutgoingHttpHeaders; end?: boolean } = {},
): Promise<Answer> {
  const stream = session.request({ ...HEAD, ":path": path, ...headers });
  let http: number | null = null;
  let status: string | null = null;
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const note = (found: Record<string, unknown>) => {
    http ??= Number(found[":status"]);
    const code = found["grpc-status"];
    if (typeof code === "string") status = code;
    if (status !== null || http !== 200) stream.close();
  };
  stream.on("response", note);
  stream.on("trailers", note);
  stream.on("error", () => {});
  stream.on("close", () => resolve({ http, status, reset: stream.rstCode }));
  stream.resume();
  stream.write(body);
  if (end) stream.end();
  return promise;
}

describe("hostile callers", BOUND, () => {
  let pair: GrpcPair;
  let session: ClientHttp2Session;
  let handled = 0;

  afterEach(async () => {
    session?.destroy();
    await pair.close();
  });

  const methods: readonly Served<string>[] = [
    serveUnary(take, async () => {
      handled++;
      return { bytes: Buffer.alloc(0) };
    }),
    serveUnary(small, async (request) => {
      handled++;
      return request;
    }),
    serveStream(flood, async function* () {
      for (;;) {
        handled++;
        yield { bytes: Buffer.alloc(MIB) };
      }
    }),
    serveBidirectional(sink, async function* (requests) {
      for await (const _ of requests) handled++;
      yield* [];
    }),
  ];

  async function start(serving: Partial<Serving<string>> = {}, served = methods): Promise<void> {
    handled = 0;
    pair = await GrpcPair.start(served, serving);
    session = await pair.raw();
  }

  const status = async (...parts: Parameters<typeof ask>) => (await ask(...parts)).status;

  test("a head that is no call of gRPC is refused, each by its own status", async () => {
    await start();
    const body = frame(0);
    const head = (headers: OutgoingHttpHeaders) => ask(session, small.path, body, { headers });
    assert.equal((await head({ ":method": "GET" })).http, 405);
    assert.equal((await head({ "content-type": "application/json" })).http, 415);
    assert.equal((await head({ "content-type": "application/grpc+json" })).http, 415);
    assert.equal((await head({ te: undefined })).status, "13");
    assert.equal((await head({ "grpc-encoding": "gzip" })).status, "12");
    assert.equal((await head({ "grpc-timeout": "5" })).status, "13");
    assert.equal((await head({ "grpc-timeout": "123456789S" })).status, "13");
    assert.equal(await status(session, "/test.Hostile/Other", body), "12");
    assert.equal(await status(session, "/", body), "12");
    assert.equal(handled, 0);
    assert.equal((await head({ "content-type": "application/grpc+proto" })).status, "0");
    assert.equal((await head({ "grpc-encoding": "identity", "grpc-timeout": "5S" })).status, "0");
    assert.equal(handled, 2);
  });

  test("frames that are cut, too long, compressed, too many or too few", async () => {
    await start();
    const { path } = small;
    assert.equal(await status(session, path, Buffer.from([0, 0, 0])), "13", "half a head");
    assert.equal(await status(session, path, frame(100, Buffer.alloc(99))), "13", "half a body");
    assert.equal(await status(session, path, frame(1001, Buffer.alloc(0))), "8", "announced");
    assert.equal(await status(session, path, frame(2 ** 32 - 1, Buffer.alloc(0))), "8");
    assert.equal(await status(session, path, frame(0, Buffer.alloc(0), 1)), "13", "compressed");
    assert.equal(await status(session, path, Buffer.alloc(0)), "12", "none");
    assert.equal(await status(session, path, Buffer.concat([frame(0), frame(0)])), "12", "two");
    assert.equal(
      await status(session, path, frame(3, Buffer.from([10, 200, 1]))),
      "3",
      "its fields",
    );
    assert.equal(handled, 0);
    assert.equal(await status(session, path, frame(2, Buffer.from([10, 0]))), "0");
    assert.equal(handled, 1);
  });

  test("a length is bounded before there is memory for it, and of many that announce much one at a time has it", async () => {
    await start();
    const before = process.memoryUsage().arrayBuffers;
    // Each has room for itself alone; the others wait, unread.
    const waiting = Array.from({ length: 20 }, () =>
      ask(session, take.path, frame(LARGEST_MESSAGE, Buffer.alloc(10)), { end: false }),
    );
    await until(() => pair.sessions[0]?.calls === 20);
    await until(() => (pair.sessions[0]?.heldBytes ?? 0) > 0);
    assert.equal(pair.sessions[0]?.heldBytes, LARGEST_MESSAGE);
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.ok(grown < 1.5 * LARGEST_MESSAGE, `${grown} bytes for 200 that came`);
    // None of them gets on: the one that has the room is ended first, then each that gets it.
    for (let i = 0; i < 21; i++) await pair.world.timers.advance(31n * SECOND);
    const ends = await Promise.all(waiting);
    assert.ok(ends.every(({ status: end }) => end === null));
    await until(() => pair.sessions[0]?.heldBytes === 0);
    assert.equal(handled, 0);
  });

  test("one that takes the room of large messages does not hold up small ones", async () => {
    await start();
    const slow = ask(session, take.path, frame(LARGEST_MESSAGE, Buffer.alloc(10)), { end: false });
    await until(() => pair.sessions[0]?.heldBytes === LARGEST_MESSAGE);
    assert.equal(await status(session, small.path, frame(2, Buffer.from([10, 0]))), "0");
    session.destroy();
    await slow;
    await until(() => pair.sessions[0]?.heldBytes === 0);
  });

  test("an answer that nobody reads is not made, and its stream is ended in time", async () => {
    await start();
    const stream = session.request({ ...HEAD, ":path": flood.path });
    stream.on("error", () => {});
    stream.end(frame(0));
    stream.pause();
    await until(() => handled > 0);
    const closed = new Promise<void>((resolve) => stream.on("close", () => resolve()));
    for (let i = 0; i < 3; i++) await pair.world.timers.advance(SECOND);
    assert.ok(handled <= 2, `${handled} answers of 1 MiB were made`);
    await pair.world.timers.advance(31n * SECOND);
    stream.resume();
    await closed;
    await until(() => pair.sessions[0]?.calls === 0);
  });

  test("a request that does not come to its end is ended in time; a stream may rest", async () => {
    await start();
    const never = ask(session, small.path, Buffer.alloc(0), { end: false });
    const half = ask(session, small.path, frame(10, Buffer.alloc(5)), { end: false });
    const resting = ask(session, sink.path, frame(0), { end: false });
    await until(() => pair.sessions[0]?.calls === 3 && handled === 1);
    // The pings of a session come back meanwhile.
    for (let i = 0; i < 40; i++) {
      await pair.world.timers.advance(SECOND);
      await new Promise<void>((resolve) => session.ping(() => resolve()));
    }
    assert.equal((await never).reset, constants.NGHTTP2_CANCEL);
    assert.equal((await half).reset, constants.NGHTTP2_CANCEL);
    assert.equal(pair.sessions[0]?.calls, 1);
    session.destroy();
    await resting;
  });

  test("a reset is no end: whoever reads the requests learns that some may be missing", async () => {
    let end = "";
    const reading = serveBidirectional(sink, async function* (requests) {
      try {
        for await (const _ of requests) handled++;
        end = "as if all had come";
      } catch {
        end = "cut";
      }
      yield* [];
    });
    await start({}, [reading]);
    async function* one() {
      yield { bytes: Buffer.alloc(0) };
      await new Promise(() => {});
    }
    const client = await pair.client();
    const stop = new AbortController();
    const ours = callBidirectional(client, sink, one(), { signal: stop.signal });
    const cancelled = assert.rejects(ours.next());
    await until(() => handled === 1);
    stop.abort();
    await cancelled;
    await until(() => end !== "");
    assert.equal(end, "cut", "our own client");
    end = "";
    const reset = new AbortController();
    const stream = session.request({ ...HEAD, ":path": sink.path }, { signal: reset.signal });
    stream.on("error", () => {});
    stream.write(frame(0));
    await until(() => handled === 2);
    reset.abort();
    await until(() => end !== "");
    assert.equal(end, "cut", "another");
  });

  test("streams that are opened to be reset end the session, and handlers are bounded", async () => {
    let begun = 0;
    let most = 0;
    const stubborn = serveUnary<string, { bytes: Uint8Array }, { bytes: Uint8Array }>(
      small,
      async () => {
        begun++;
        most = Math.max(most, pair.sessions[0]?.calls ?? 0);
        return await new Promise(() => {}); // takes no notice of its signal
      },
    );
    pair = await GrpcPair.start([stubborn]);
    session = await pair.raw();
    const gone = new Promise<void>((resolve) => session.on("close", () => resolve()));
    let opened = 0;
    while (!session.destroyed && !session.closed && opened < 10_000) {
      const stream = session.request({ ...HEAD, ":path": small.path });
      stream.on("error", () => {});
      stream.end(frame(2, Buffer.from([10, 0])));
      opened++;
      await new Promise<void>((resolve) => setImmediate(resolve));
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await gone;
    pair.sessions.length = 0; // its handlers never end
    assert.ok(opened < 1000, `${opened} streams were opened and reset`);
    const { streams } = SESSION_LIMITS;
    assert.ok(most <= streams && begun <= streams, `${begun} handlers ran`);
  });

  test("streams that a peer makes us reset are counted as well", async () => {
    await start({ limits: { resetBurst: 8, resetsPerSecond: 0 } });
    const gone = new Promise<void>((resolve) => session.on("close", () => resolve()));
    const calls = Array.from({ length: 10 }, () => {
      return ask(session, small.path, Buffer.alloc(0), { end: false });
    });
    await until(() => pair.sessions[0]?.calls === 10);
    await pair.world.timers.advance(5n * SECOND); // not silent: the rest of the time is asked for
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    for (let i = 0; i < 30; i++) {
      if (session.destroyed) break;
      await pair.world.timers.advance(SECOND);
      await new Promise<void>((resolve) => {
        if (session.destroyed || !session.ping(() => resolve())) resolve();
      });
    }
    await gone;
    await Promise.all(calls);
    await pair.sessions[0]?.closed;
  });

  test("more streams than there may be are refused, and may come again", async () => {
    await start({ limits: { streams: 4 } });
    const open = Array.from({ length: 8 }, () => {
      return ask(session, sink.path, frame(0), { end: false });
    });
    await until(() => pair.sessions[0]?.calls === 4);
    session.destroy();
    await Promise.all(open);
    await until(() => pair.sessions[0]?.calls === 0);
  });

  test("a method may have fewer calls at once than a session has streams", async () => {
    const rare = method("bidirectional", "/test.Hostile/Rare", block, block, { atOnce: 2 });
    const resting = serveBidirectional(rare, async function* (requests) {
      for await (const _ of requests) handled++;
      yield* [];
    });
    await start({}, [...methods, resting]);
    const open = [1, 2].map(() => ask(session, rare.path, frame(0), { end: false }));
    await until(() => handled === 2);
    assert.equal(await status(session, rare.path, frame(0), { end: false }), "8");
    assert.equal(await status(session, small.path, frame(2, Buffer.from([10, 0]))), "0");
    session.destroy();
    await Promise.all(open);
    await until(() => pair.sessions[0]?.calls === 0);
  });

  test("a caller that goes on sending behind its answer is let go, then stopped", async () => {
    await start();
    const stream = session.request({ ...HEAD, ":path": "/test.Hostile/Other" });
    stream.on("error", () => {});
    stream.resume();
    const headers = await new Promise<Record<string, unknown>>((resolve) =>
      stream.once("response", resolve),
    );
    assert.equal(headers["grpc-status"], "12");
    const closed = new Promise<void>((resolve) => stream.on("close", () => resolve()));
    stream.write(Buffer.alloc(MIB));
    await pair.world.timers.advance(6n * SECOND);
    await closed;
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });

  test("bytes that are no HTTP/2 end the session alone", async () => {
    await start();
    const socket = await pair.socket();
    socket.resume();
    const gone = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.write(Buffer.alloc(4096, 0x41));
    await gone;
    assert.equal(await status(session, small.path, frame(2, Buffer.from([10, 0]))), "0");
  });
});

describe("hostile servers", BOUND, () => {
  let server: Server;
  let client: ClientSession;
  let pair: GrpcPair;

  afterEach(async () => {
    client.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await pair.close();
  });

  /** Our client before a server that answers a stream as the test says. Without TLS: what counts is above it. */
  async function before(answer: (stream: ServerHttp2Stream) => void): Promise<void> {
    pair = await GrpcPair.start([]);
    server = createServer((socket) => {
      socket.on("error", () => {});
      const session = performServerHandshake(socket);
      session.on("error", () => {});
      session.on("stream", (stream) => {
        stream.on("error", () => {});
        stream.resume();
        answer(stream);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    client = new ClientSession(socket, "localhost", pair.sessionWorld);
  }

  const GOOD = { ":status": 200, "content-type": "application/grpc" };
  const call = () => callUnary(client, small, { bytes: Buffer.alloc(0) });
  const endsWith = (code: number) =>
    assert.rejects(call(), (error) => error instanceof StatusError && error.status === code);

  /** Messages, then trailers. */
  function reply(stream: ServerHttp2Stream, body: Uint8Array, trailers: OutgoingHttpHeaders): void {
    stream.respond(GOOD, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(body);
  }

  const cases: readonly [name: string, status: number, (stream: ServerHttp2Stream) => void][] = [
    [
      "a proxy's 503",
      Status.unavailable,
      (s) => s.respond({ ":status": 503 }, { endStream: true }),
    ],
    ["a page", Status.unknown, (s) => s.respond({ ":status": 200 }, { endStream: true })],
    ["no status", Status.unknown, (s) => (s.respond(GOOD), s.end(frame(0)))],
    ["a status that is none", Status.unknown, (s) => reply(s, frame(0), { "grpc-status": "99" })],
    ["no message", Status.unimplemented, (s) => reply(s, Buffer.alloc(0), { "grpc-status": "0" })],
    [
      "two messages",
      Status.unimplemented,
      (s) => reply(s, Buffer.concat([frame(0), frame(0)]), { "grpc-status": "0" }),
    ],
    [
      "an answer beyond its bound",
      Status.resourceExhausted,
      (s) => reply(s, frame(5 * MIB, Buffer.alloc(9)), { "grpc-status": "0" }),
    ],
    [
      "an answer that is compressed",
      Status.internal,
      (s) => reply(s, frame(0, Buffer.alloc(0), 1), { "grpc-status": "0" }),
    ],
    ["what is no message", Status.internal, (s) => reply(s, frame(1), { "grpc-status": "0" })],
    ["a reset", Status.unavailable, (s) => s.close(constants.NGHTTP2_REFUSED_STREAM)],
    ["calm", Status.resourceExhausted, (s) => s.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
  ];
  for (const [name, code, answer] of cases) {
    test(`${name} ends the call with status ${code}`, async () => {
      await before(answer);
      await endsWith(code);
      assert.equal(client.heldBytes, 0);
    });
  }

  test("an answer without end stays with the server until it is taken", async () => {
    let sent = 0;
    await before((stream) => {
      stream.respond(GOOD);
      const more = () => {
        while (
          stream.write(frame(1002, Buffer.concat([Buffer.from([10, 0xe7, 7]), Buffer.alloc(999)])))
        ) {
          sent += 1007;
        }
        sent += 1007;
      };
      stream.on("drain", more);
      more();
    });
    const answers = callStream(client, flood, { bytes: Buffer.alloc(0) });
    assert.equal((await answers.next()).value?.bytes.length, 999);
    let last = -1;
    await until(() => {
      const stands = last === sent;
      last = sent;
      return stands;
    });
    assert.ok(sent < 8 * MIB, `${sent} bytes were taken from the server`);
    await answers.return(undefined);
  });
});
