// What lives in the memory of the whole process, counted: in one that has nothing else in it.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import test from "node:test";
import { queryObjects } from "node:v8";
import { SystemNet } from "../system/net.ts";
import { SystemTimers } from "../system/timers.ts";
import { OutboundCalls } from "./outbound-calls.ts";

const MIB = 1024 * 1024;
const BOUND = { timeout: 300_000 };
const common = { headers: {}, plain: true, signal: new AbortController().signal };

function* pieces(count: number) {
  for (let i = 0; i < count; i++) yield Buffer.alloc(65_536);
}

test("a long transfer leaves nothing behind for each of its parts", BOUND, async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Length": String(64 * MIB) });
    Readable.from(pieces(1024)).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const net = new SystemNet();
  const calls = new OutboundCalls({ allow: [], dev: true, timers: new SystemTimers(), net });
  t.after(() => {
    calls.close();
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a`);
  const outbound = calls.for("m");
  const alive = () => queryObjects(Promise, { format: "count" });
  const read = async (parts: AsyncIterator<Uint8Array>, count: number) => {
    for (let i = 0; i < count; i++) assert.notEqual((await parts.next()).done, true);
  };
  const { body } = await outbound.open({ ...common, method: "GET", url, maxBytes: 64 * MIB });
  const received = body[Symbol.asyncIterator]();
  await read(received, 10);
  const before = alive();
  await read(received, 250);
  assert.ok(alive() - before < 100, "of what is received");
  await received.return?.();

  const counts: number[] = [];
  const counted = async function* () {
    for (let i = 0; i < 300; i++) {
      if (i === 10 || i === 299) counts.push(alive());
      yield Buffer.alloc(65_536); // more than a socket takes at once: each is waited for
    }
  };
  const sent = { length: 300 * 65_536, chunks: counted() };
  const put = { ...common, method: "PUT", url, body: sent, maxBytes: 64 * MIB };
  await outbound.send(put);
  const [early = 0, late = 0] = counts;
  assert.ok(late - early < 100, "of what is sent");
});
