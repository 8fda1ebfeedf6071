import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError } from "@holdfast/shared/invariant";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import { drawBelow } from "./uniform.ts";

/** Hands out the given bytes one after the other, and throws when they are used up. */
function scripted(values: readonly number[]): Random {
  const left = [...values];
  return {
    bytes(length) {
      if (left.length < length) throw new Error("out of bytes");
      return Buffer.from(left.splice(0, length));
    },
    uuid: () => assert.fail("no uuid is drawn"),
  };
}

test("over all bytes every number below the bound comes equally often and the rest is redrawn", () => {
  for (let bound = 1; bound <= 256; bound++) {
    const counts = Array.from({ length: bound }, () => 0);
    for (let byte = 0; byte < 256; byte++) {
      // The sentinel 0 is only reached when the first byte was thrown away.
      const source = scripted([byte, 0]);
      const value = drawBelow(source, bound);
      const redrawn = byte >= 256 - (256 % bound);
      assert.equal(isUsedUp(source), redrawn);
      if (!redrawn) counts[value] = (counts[value] ?? 0) + 1;
    }
    assert.deepEqual(new Set(counts), new Set([Math.floor(256 / bound)]));
  }
});

function isUsedUp(source: Random): boolean {
  try {
    source.bytes(1);
    return false;
  } catch {
    return true;
  }
}

test("a failing source fails the draw", () => {
  assert.throws(() => drawBelow(scripted([]), 62), /out of bytes/);
});

test("every value below the bound turns up with the real source", () => {
  const random = new SystemRandom();
  const seen = new Set<number>();
  // 62 values over 6,200 draws: one is missed with probability below 62·e^-100.
  for (let i = 0; i < 6200; i++) seen.add(drawBelow(random, 62));
  assert.equal(seen.size, 62);
  assert.ok(Math.max(...seen) === 61 && Math.min(...seen) === 0);
});

test("a bound that a byte cannot cover is a broken invariant", () => {
  for (const bound of [0, -1, 257, 1.5, Number.NaN]) {
    assert.throws(() => drawBelow(new SystemRandom(), bound), InvariantError);
  }
});
