// Real randomness: nothing is handed out twice, and a failing source hands out nothing.

import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import type { TestContext } from "node:test";
import { SystemRandom } from "./random.ts";
import { isUuid } from "@holdfast/shared/text/uuid";

/** Replaces the system's source for one test; named imports see it only after the sync. */
function mockSource(t: TestContext, fill: (target: Buffer) => Buffer): void {
  const mocked = t.mock.method(crypto, "randomFillSync", fill);
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
}

test("bytes() gives as many as asked for, in memory of their own", () => {
  const random = new SystemRandom();
  for (const length of [0, 1, 12, 64, 65, 4096, 10_000]) {
    const bytes = random.bytes(length);
    assert.equal(bytes.length, length);
    assert.equal(bytes.buffer.byteLength, length);
  }
});

test("100,000 nonces of 12 bytes have no repeat", () => {
  const random = new SystemRandom();
  const seen = new Set<string>();
  for (let i = 0; i < 100_000; i++) seen.add(random.bytes(12).toString("latin1"));
  assert.equal(seen.size, 100_000);
});

test("small requests walk through each block once, and drop a rest that is too short", (t) => {
  // Every byte of the source is different from its neighbours, and each block from the one before.
  let block = 0;
  mockSource(t, (target) => {
    for (let i = 0; i < target.length; i += 2) target.writeUInt16BE(block * 4096 + i, i);
    block++;
    return target;
  });
  const random = new SystemRandom();
  // 4096 / 60 = 68 requests, and 16 bytes that are left over.
  const firstTwo = Array.from({ length: 70 }, () => random.bytes(60).readUInt16BE(0));
  const expected = Array.from({ length: 70 }, (_, i) => (i < 68 ? i * 60 : 4096 + (i - 68) * 60));
  assert.deepEqual(firstTwo, expected);
  assert.equal(block, 2);
});

test("a request that ends exactly at the block's end still comes from it", (t) => {
  let fills = 0;
  mockSource(t, (target) => target.fill(++fills));
  const random = new SystemRandom();
  for (let i = 0; i < 64; i++) assert.equal(random.bytes(64)[63], 1);
  assert.equal(random.bytes(1)[0], 2);
});

test("a failing source throws, and nothing of the old block is handed out afterwards", (t) => {
  let broken = false;
  let fills = 0;
  mockSource(t, (target) => {
    if (broken) throw new Error("no entropy");
    return target.fill(++fills);
  });
  const random = new SystemRandom();
  for (let i = 0; i < 63; i++) random.bytes(64);
  random.bytes(40); // 24 bytes of the first block are left
  broken = true;
  assert.throws(() => random.bytes(60), /no entropy/);
  assert.throws(() => random.bytes(1), /no entropy/, "the rest would have sufficed");
  assert.throws(() => random.bytes(1000), /no entropy/);
  assert.throws(() => random.uuid(), /no entropy/);
  broken = false;
  assert.equal(random.bytes(1)[0], 2);
});

test("uuid() gives different version 4 UUIDs", () => {
  const random = new SystemRandom();
  const ids = Array.from({ length: 1_000 }, () => random.uuid());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) {
    assert.ok(isUuid(id));
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
});
