// Random numbers below a bound, each equally likely. Taking a byte modulo the bound would favour the
// small ones; bytes beyond the largest multiple of the bound are thrown away instead.

import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";

/** A number from 0 to `bound` − 1, with `bound` from 1 to 256. */
export function drawBelow(random: Random, bound: number): number {
  invariant(Number.isInteger(bound) && bound >= 1 && bound <= 256, "bound is not 1 to 256");
  const limit = 256 - (256 % bound);
  for (;;) {
    const drawn = random.bytes(1);
    const value = drawn.readUInt8(0);
    drawn.fill(0);
    if (value < limit) return value % bound;
  }
}
