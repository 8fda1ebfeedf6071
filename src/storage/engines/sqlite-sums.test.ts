// Sums as they lie in `recent`: what was packed is what is read, the last row of a slot wins, and bytes of
// a damaged row are no more than lost.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { SumRow } from "./engine.ts";
import { inOrderOfSlots, latestSums, packSums } from "./sqlite-sums.ts";

const row: fc.Arbitrary<SumRow> = fc
  .tuple(fc.nat({ max: 9 }), fc.uint8Array({ maxLength: 40 }), fc.nat({ max: 0xffff_ffff }))
  .map(([slot, sum, count]) => ({ slot, sum, count }));
const commits = fc.array(fc.array(row, { maxLength: 8 }), { maxLength: 5 });

test("of each slot in the range the last row is given", () => {
  fc.assert(
    fc.property(commits, fc.nat({ max: 9 }), fc.nat({ max: 9 }), (rows, from, to) => {
      const expected = new Map<number, SumRow>();
      for (const each of rows.flat()) {
        if (each.slot >= from && each.slot <= to) expected.set(each.slot, each);
      }
      const found = latestSums(rows.map(packSums), from, to);
      const plain = inOrderOfSlots(found.values()).map((each) => ({
        ...each,
        sum: Uint8Array.from(each.sum),
      }));
      assert.deepEqual(plain, inOrderOfSlots(expected.values()));
    }),
  );
});

test("a row that was cut short gives what stands before the cut", () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), fc.nat(), (rows, cut) => {
      const packed = packSums(rows);
      const left = packed.subarray(0, cut % (packed.length + 1));
      let whole = 0;
      for (let end = 0; whole < rows.length; whole++) {
        end += packSums([rows[whole]!]).length;
        if (end > left.length) break;
      }
      const found = latestSums([left]);
      assert.deepEqual(
        [...found.keys()].toSorted((a, b) => a - b),
        [...new Set(rows.slice(0, whole).map(({ slot }) => slot))].toSorted((a, b) => a - b),
      );
    }),
  );
});
