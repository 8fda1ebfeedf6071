// Equality of secret bytes.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

// Comparing keyed digests instead of the values makes unequal lengths no special case, and leaves
// nothing for a caller to steer. The key lives as long as the process and protects nothing stored.
const compareKey = randomBytes(32);

/** Equality in time that does not depend on where the values differ. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  const digest = (value: Uint8Array) => createHmac("sha256", compareKey).update(value).digest();
  return timingSafeEqual(digest(a), digest(b));
}
