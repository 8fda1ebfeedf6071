// The packed form of a batch: what comes out is what went in, in one buffer of its own.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { packBatch, PackedBatch } from "./sqlite-batch.ts";

const text = fc.string({ unit: "grapheme" }).filter((each) => each.isWellFormed());
const value = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const slot = fc.nat({ max: 0x1ffff });
const index = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
// fast-check's records may lack a prototype; ours do not, and deepEqual tells them apart.
function record<T extends object>(parts: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
  return fc.record(parts, { noNullPrototype: true }) as fc.Arbitrary<T>;
}
const row = record({ key: text, value: fc.option(value) });
const named = record({ name: text, value: fc.option(value) });
const batch = record({
  expect: named,
  data: fc.array(row),
  leaves: fc.array(
    fc
      .tuple(slot, text, fc.option(record({ hash: value, scope: value })), fc.boolean())
      .map(([at, key, leaf, fresh]) => ({ slot: at, key, leaf, ...(fresh ? { fresh } : {}) })),
  ),
  sums: fc.array(record({ slot, sum: value, count: fc.nat({ max: 0xffff_ffff }) })),
  cutLogAbove: fc.option(index),
  log: fc.array(record({ index, entry: value })),
  trimLogBelow: fc.option(index),
  meta: fc.array(named),
});

describe("packBatch", () => {
  test("PackedBatch gives back any batch, part by part", () => {
    fc.assert(
      fc.property(batch, (input) => {
        const packed = new PackedBatch(packBatch(input));
        const found = {
          expect: packed.expect,
          data: [...packed.data()],
          leaves: [...packed.leaves()],
          sums: packed.sums(),
          cutLogAbove: packed.place(),
          log: [...packed.log()],
          trimLogBelow: packed.place(),
          meta: [...packed.meta()],
        };
        assert.deepEqual(found, input);
      }),
    );
  });

  test("the buffer is as large as the batch, whatever pool its values lie in", () => {
    const pooled = Buffer.from("few bytes of a large pool");
    const none = { leaves: [], sums: [], log: [], cutLogAbove: null, trimLogBelow: null, meta: [] };
    const data = [{ key: "k", value: pooled }];
    const packed = packBatch({ expect: { name: "n", value: null }, data, ...none });
    assert.ok(packed.byteLength < pooled.length + 100);
  });
});
