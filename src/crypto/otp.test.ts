import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import { uncovered } from "../../tests/support/covered-token.ts";
import { encodeWithOtp, makeOtp } from "./otp.ts";

const random = new SystemRandom();

function cycling(values: readonly number[]): Random {
  let at = 0;
  return {
    bytes: (length) => Buffer.from(Array.from({ length }, () => values[at++ % values.length]!)),
    uuid: () => assert.fail("no uuid is drawn"),
  };
}

test("a pad has the length asked for and only letters and digits", () => {
  for (const length of [1, 28, 36, 64]) {
    assert.match(makeOtp(random, length), new RegExp(`^[0-9A-Za-z]{${length}}$`));
  }
  assert.notEqual(makeOtp(random, 36), makeOtp(random, 36));
  for (const length of [0, -1, 1.5]) assert.throws(() => makeOtp(random, length), InvariantError);
});

test("over all bytes every character of a pad comes equally often", () => {
  // 256 = 4·62 + 8: the last 8 bytes must be thrown away, or 0 to 7 would come five times.
  const all = Array.from({ length: 256 }, (_, i) => i);
  const counts = new Map<string, number>();
  for (const char of makeOtp(cycling(all), 4 * 62)) counts.set(char, (counts.get(char) ?? 0) + 1);
  assert.equal(counts.size, 62);
  assert.deepEqual(new Set(counts.values()), new Set([4]));
  assert.equal(makeOtp(cycling([...all.slice(248), 10]), 2), "AA");
});

test("a failing random source gives no pad", () => {
  const failing: Random = {
    bytes: () => {
      throw new Error("no entropy");
    },
    uuid: () => assert.fail("no uuid is drawn"),
  };
  assert.throws(() => makeOtp(failing, 36), /no entropy/);
});

test("encoding is the XOR of the bytes in base64 without padding", () => {
  // 41 42 xor 61 63 = 20 21
  assert.equal(encodeWithOtp("AB", "ac"), "ICE");
  // 68 6f 6c 64 xor 30 41 61 7a = 58 2e 0d 1e
  assert.equal(encodeWithOtp("hold", "0Aaz"), "WC4NHg");
});

test("any token comes back with its pad, and lengths are counted in bytes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (token) => {
      const otp = makeOtp(random, Buffer.byteLength(token));
      const encoded = encodeWithOtp(token, otp);
      assert.equal(uncovered(encoded, otp), token);
    }),
  );
});

test("a pad of another length is refused, and the message says the right one but no secret", () => {
  const refused = (message: string) => (error: unknown) =>
    error instanceof Failure && error.kind === "invalid" && error.message === message;
  const message = "the one-time password has 3 bytes; it must have 4";
  assert.throws(() => encodeWithOtp("hold", "0Aa"), refused(message));
  assert.throws(
    () => encodeWithOtp("hold", "0Aazé"),
    refused("the one-time password has 6 bytes; it must have 4"),
  );
});
