// Head, tail and timeline: bytes that are read in one way only, and a MAC that no byte escapes.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import * as heads from "./head.ts";
import type { Head } from "./head.ts";
import { MalformedBytes } from "./row-bytes.ts";

interface Vectors {
  readonly treeKey: string;
  readonly head: { readonly fields: HeadFields; readonly encoded: string };
  readonly tail: { readonly fields: TailFields; readonly encoded: string };
}
interface HeadFields {
  readonly lineage: string;
  readonly epoch: number;
  readonly index: string;
  readonly chain: string;
  readonly lastDr: string;
  readonly lastPerf: string;
  readonly logBytes: string;
  readonly shared: { readonly sum: string; readonly count: number };
  readonly local: { readonly sum: string; readonly count: number };
}
interface TailFields {
  readonly first: string;
  readonly chainBefore: string;
  readonly logBytesBefore: string;
}
const vectorFile = join(import.meta.dirname, "../../../tests/vectors/log-entry.json");
const vectors = JSON.parse(readFileSync(vectorFile, "utf8")) as Vectors;
const treeKey = createSecretKey(Buffer.alloc(32, 1));

const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((each) => Buffer.from(each));
const index = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const total = fc.record({ sum: bytes(32), count: fc.maxSafeNat() }, { noNullPrototype: true });
const head: fc.Arbitrary<Head> = fc.record(
  {
    lineage: bytes(16),
    epoch: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    index,
    chain: bytes(32),
    lastDr: index,
    lastPerf: index,
    logBytes: index,
    shared: total,
    local: total,
  },
  { noNullPrototype: true },
);

test("a head survives the round trip and is authentic under its key only", () => {
  fc.assert(
    fc.property(head, (each) => {
      const encoded = heads.encodeHead(each, treeKey);
      assert.deepEqual(heads.decodeHead(encoded), each);
      assert.ok(heads.headIsAuthentic(encoded, treeKey));
      assert.equal(heads.headIsAuthentic(encoded, createSecretKey(Buffer.alloc(32, 2))), false);
    }),
  );
});

test("flipping any one byte of the head is found", () => {
  fc.assert(
    fc.property(head, fc.integer({ min: 1, max: 255 }), (each, mask) => {
      const encoded = heads.encodeHead(each, treeKey);
      for (let at = 0; at < encoded.length; at++) {
        encoded[at]! ^= mask;
        assert.equal(heads.headIsAuthentic(encoded, treeKey), false, `byte ${at}`);
        encoded[at]! ^= mask;
      }
      assert.ok(heads.headIsAuthentic(encoded, treeKey));
    }),
    { numRuns: 5 },
  );
});

test("heads and tails that are cut, longer or of another version are neither read nor authentic", () => {
  const first = fc.sample(head, 1)[0]!;
  const encoded = heads.encodeHead(first, treeKey);
  for (let length = 0; length < encoded.length; length++) {
    const cut = encoded.subarray(0, length);
    assert.throws(() => heads.decodeHead(cut), MalformedBytes);
    assert.equal(heads.headIsAuthentic(cut, treeKey), false);
  }
  const longer = Buffer.concat([encoded, Buffer.alloc(1)]);
  assert.throws(() => heads.decodeHead(longer), MalformedBytes);
  assert.equal(heads.headIsAuthentic(longer, treeKey), false);
  encoded[0] = 2;
  assert.throws(() => heads.decodeHead(encoded), MalformedBytes);

  const tail = heads.encodeTail({
    first: 3n,
    chainBefore: Buffer.alloc(32, 5),
    logBytesBefore: 9n,
  });
  for (let length = 0; length < tail.length; length++) {
    assert.throws(() => heads.decodeTail(tail.subarray(0, length)), MalformedBytes);
  }
  assert.throws(() => heads.decodeTail(Buffer.concat([tail, Buffer.alloc(1)])), MalformedBytes);
  tail[0] = 0;
  assert.throws(() => heads.decodeTail(tail), MalformedBytes);
});

test("a tail survives the round trip", () => {
  fc.assert(
    fc.property(index, bytes(32), index, (first, chainBefore, logBytesBefore) => {
      const tail = { first, chainBefore, logBytesBefore };
      assert.deepEqual(heads.decodeTail(heads.encodeTail(tail)), tail);
    }),
  );
});

test("the first timeline names lineage, cluster and the chain before the first entry", () => {
  const first = { ...fc.sample(head, 1)[0]!, epoch: 1 };
  const timeline = heads.firstTimeline(first, "cluster-1");
  assert.equal(timeline.lineage.replaceAll("-", ""), hex(first.lineage));
  const epochs = [
    { epoch: 1, first: String(first.index + 1n), chain: hex(first.chain), cluster: "cluster-1" },
  ];
  assert.deepEqual(timeline.epochs, epochs);
  assert.deepEqual(heads.decodeTimeline(heads.encodeTimeline(timeline)), timeline);
});

/** Right but for its number. */
const withEpoch = (number: string) =>
  `{"lineage":"a","epochs":[{"epoch":${number},"first":"1","chain":"${"0".repeat(64)}","cluster":"b"}]}`;

test("a damaged timeline is refused without quoting it", () => {
  for (const bad of [
    "{hunter2",
    "null",
    "[]",
    '{"lineage":1,"epochs":[]}',
    '{"lineage":"a"}',
    "",
    ...["null", '"1"', "1.5", "9007199254740992"].map(withEpoch),
  ]) {
    const refused = (error: unknown) =>
      error instanceof MalformedBytes && !error.message.includes("hunter2");
    assert.throws(() => heads.decodeTimeline(Buffer.from(bad)), refused, bad);
  }
  assert.equal(heads.decodeTimeline(Buffer.from(withEpoch("1"))).epochs[0]?.epoch, 1);
});

test("head and tail have the pinned bytes", () => {
  const { fields, encoded } = vectors.head;
  const side = ({ sum, count }: HeadFields["shared"]) => ({ sum: Buffer.from(sum, "hex"), count });
  const pinned: Head = {
    lineage: Buffer.from(fields.lineage, "hex"),
    epoch: fields.epoch,
    index: BigInt(fields.index),
    chain: Buffer.from(fields.chain, "hex"),
    lastDr: BigInt(fields.lastDr),
    lastPerf: BigInt(fields.lastPerf),
    logBytes: BigInt(fields.logBytes),
    shared: side(fields.shared),
    local: side(fields.local),
  };
  const key = createSecretKey(Buffer.from(vectors.treeKey, "hex"));
  assert.equal(hex(heads.encodeHead(pinned, key)), encoded);
  assert.deepEqual(heads.decodeHead(Buffer.from(encoded, "hex")), pinned);
  const tail = {
    first: BigInt(vectors.tail.fields.first),
    chainBefore: Buffer.from(vectors.tail.fields.chainBefore, "hex"),
    logBytesBefore: BigInt(vectors.tail.fields.logBytesBefore),
  };
  assert.equal(hex(heads.encodeTail(tail)), vectors.tail.encoded);
});

test("the log that a restore replaced is read only where it is whole: it may come from another cluster", () => {
  const chain = "ab".repeat(32);
  const epochs = [{ epoch: 1, first: "1", chain, cluster: "a" }];
  const replaced = { lineage: "l1", epoch: 1, index: "7", epochs };
  const of = (changed: object | null) =>
    heads.replacedLog({
      lineage: "l2",
      epochs,
      origin: {
        restored: { lineage: "l0", epoch: 1, index: "3" },
        replaced: changed === null ? null : ({ ...replaced, ...changed } as never),
      },
    });
  assert.deepEqual(of({}), { timeline: { lineage: "l1", epochs }, index: 7n });
  const broken = [{ index: "x" }, { index: 7 }, { lineage: 1 }, { epochs: "x" }, { epochs: [{}] }];
  for (const one of [null, { epochs: undefined }, ...broken]) assert.equal(of(one), null);
  assert.equal(heads.replacedLog({ lineage: "l2", epochs }), null);
});
