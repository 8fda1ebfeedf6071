import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import test, { type TestContext } from "node:test";
import { OutboundError, type StreamingOutbound } from "@holdfast/plugin-sdk/outbound";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Timers } from "@holdfast/shared/world";
import { SystemNet } from "../system/net.ts";
import { SystemTimers } from "../system/timers.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { until } from "../../tests/support/until.ts";
import { OutboundCalls } from "./outbound-calls.ts";

const MIB = 1024 * 1024;
// A stream that stands still is a failure, and not the end of the run.
const BOUND = { timeout: 300_000 };

async function site(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  timers: Timers = new SystemTimers(),
): Promise<{ url: URL; outbound: StreamingOutbound }> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const calls = new OutboundCalls({
    allow: [],
    dev: true,
    timers,
    net: new SystemNet(),
  });
  t.after(() => {
    calls.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/a`), outbound: calls.for("m") };
}

const common = { headers: {}, plain: true, signal: new AbortController().signal };

async function* pieces(count: number, made = { count: 0, over: false }) {
  try {
    for (; made.count < count; made.count++) yield Buffer.alloc(65_536, made.count % 251);
  } finally {
    made.over = true;
  }
}

function isTrouble(trouble: string) {
  return (error: unknown) => error instanceof OutboundError && error.trouble === trouble;
}

test("a body is sent while it is made, with its length, and arrives whole", BOUND, async (t) => {
  const { url, outbound } = await site(t, (request, response) => {
    const sum = createHash("sha256");
    request.on("data", (chunk: Buffer) => sum.update(chunk));
    request.on("end", () => {
      response.end(`${request.headers["content-length"]} ${sum.digest("hex")}`);
    });
  });
  const expected = createHash("sha256");
  for await (const piece of pieces(200)) expected.update(piece);
  const body = { length: 200 * 65_536, chunks: pieces(200) };
  const { body: answer } = await outbound.send({ ...common, method: "PUT", url, body });
  assert.equal(answer.toString(), `${200 * 65_536} ${expected.digest("hex")}`);
});

test("a body is made no faster than it is taken, and ends with the call", BOUND, async (t) => {
  const arrived = Promise.withResolvers<void>();
  const { url, outbound } = await site(t, () => arrived.resolve()); // reads nothing
  const made = { count: 0, over: false };
  const abort = new AbortController();
  const body = { length: 5000 * 65_536, chunks: pieces(5000, made) };
  const call = outbound.send({ ...common, method: "PUT", url, body, signal: abort.signal });
  call.catch(() => {});
  await arrived.promise;
  for (let i = 0; i < 500; i++) await nextTurn();
  assert.ok(made.count < 1000, `${made.count} pieces were made`);
  abort.abort();
  await assert.rejects(call, isTrouble("aborted"));
  await until(() => made.over);
});

test(
  "a body of another length than announced is an error, and no whole request",
  BOUND,
  async (t) => {
    let whole = 0;
    const { url, outbound } = await site(t, (request, response) => {
      request.on("data", () => {});
      request.on("error", () => {});
      request.on("end", () => {
        if (request.complete) whole++;
        response.end();
      });
    });
    for (const count of [1, 3]) {
      const body = { length: 2 * 65_536, chunks: pieces(count) };
      await assert.rejects(
        outbound.send({ ...common, method: "PUT", url, body }),
        isTrouble("lost"),
      );
    }
    assert.equal(whole, 0);
  },
);

test("an answer is handed on while it comes, no faster than it is read", BOUND, async (t) => {
  let written = 0;
  const { url, outbound } = await site(t, (_request, response) => {
    const more = () => {
      while (written < 64 * MIB) {
        written += 65_536;
        if (!response.write(Buffer.alloc(65_536, 1))) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  });
  const { status, body } = await outbound.open({
    ...common,
    method: "GET",
    url,
    maxBytes: 64 * MIB,
  });
  assert.equal(status, 200);
  for (let i = 0; i < 500; i++) await nextTurn();
  assert.ok(written < 32 * MIB, `${written} bytes were written`);
  let bytes = 0;
  for await (const part of body) bytes += part.length;
  assert.equal(bytes, 64 * MIB);
});

test(
  "an answer that is cut, too long or too slow ends in an error for whoever reads it",
  BOUND,
  async (t) => {
    const real = new SystemTimers();
    const within = 50;
    let late = () => {};
    const timers: Timers = {
      after: (delay, call) => {
        if (delay !== BigInt(within) * MILLISECOND) return real.after(delay, call);
        late = call;
        return { cancel: () => {} };
      },
      turn: () => real.turn(),
    };
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      response.writeHead(200, { "Content-Length": "100000" });
      response.write(Buffer.alloc(10));
      if (request.url === "/cut") setImmediate(() => response.destroy());
      if (request.url === "/long") response.end(Buffer.alloc(99_990));
    };
    const { url, outbound } = await site(t, answer, timers);
    const read = async (path: string, options: object, begun = () => {}) => {
      const opened = await outbound.open({
        ...common,
        method: "GET",
        url: new URL(path, url),
        ...options,
      });
      begun();
      for await (const _ of opened.body);
    };
    await assert.rejects(read("/cut", {}), isTrouble("lost"));
    await assert.rejects(read("/long", { maxBytes: 1000 }), isTrouble("oversized"));
    // It has answered, however long that took.
    await assert.rejects(
      read("/slow", { within }, () => late()),
      isTrouble("lost"),
    );
  },
);

test("whoever stops reading cuts the connection", BOUND, async (t) => {
  const gone = Promise.withResolvers<void>();
  const { url, outbound } = await site(t, (_request, response) => {
    response.on("close", () => gone.resolve());
    response.writeHead(200);
    response.write(Buffer.alloc(10));
  });
  const { body } = await outbound.open({ ...common, method: "GET", url });
  for await (const _ of body) break;
  await gone.promise;
});

test("how long something is can be asked of what is longer than what would be read", async (t) => {
  const { url, outbound } = await site(t, (_request, response) => {
    response.writeHead(200, { "Content-Length": String(50 * MIB) });
    response.end();
  });
  const { headers, body } = await outbound.send({ ...common, method: "HEAD", url });
  assert.equal(headers["content-length"], String(50 * MIB));
  assert.equal(body.length, 0);
});

test("a call that was cut while its body was sent leaves no timer behind", BOUND, async (t) => {
  const real = new SystemTimers();
  let armed = 0;
  const timers: Timers = {
    after: (delay, call) => {
      armed++;
      const timer = real.after(delay, call);
      return {
        cancel: () => {
          armed--;
          timer.cancel();
        },
      };
    },
    turn: () => real.turn(),
  };
  const { url, outbound } = await site(t, (request) => request.socket.destroy(), timers);
  const made = { count: 0, over: false };
  const body = { length: 500 * 65_536, chunks: pieces(500, made) };
  const call = outbound.send({ ...common, method: "PUT", url, body });
  await assert.rejects(call, isTrouble("lost"));
  await until(() => made.over);
  for (let i = 0; i < 10; i++) await nextTurn();
  assert.ok(armed <= 0, `${armed} timers are armed`);
});
