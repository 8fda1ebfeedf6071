// What whoever started a key ceremony does with its answer: takes the pad off the token.

import assert from "node:assert/strict";

export function uncovered(encoded: string, otp: string): string {
  assert.match(encoded, /^[A-Za-z0-9+/]+$/, "base64 without padding");
  const [covered, pad] = [Buffer.from(encoded, "base64"), Buffer.from(otp)];
  assert.equal(pad.length, covered.length);
  return covered.map((byte, i) => byte ^ pad[i]!).toString();
}
