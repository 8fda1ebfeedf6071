import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";
import fc from "fast-check";
import { InvariantError } from "@holdfast/shared/invariant";
import { SystemRandom } from "../system/random.ts";
import { freshKey } from "../crypto/aead.ts";
import { Hmac } from "./hmac.ts";

test("it is HMAC-SHA-256, for texts and bytes of every length", () => {
  const key = freshKey(new SystemRandom());
  const hmac = new Hmac(key);
  const reference = (message: string | Uint8Array) =>
    createHmac("sha256", key).update(message).digest("hex");
  const agrees = (message: string | Uint8Array) =>
    assert.equal(hmac.of(message), reference(message));
  for (const length of [0, 1, 55, 56, 63, 64, 65, 2730, 2731, 8192, 8193, 100_000]) {
    agrees("a".repeat(length));
    agrees("\u20ac".repeat(length)); // three bytes each
    agrees(new Uint8Array(length).fill(7));
  }
  fc.assert(fc.property(fc.string({ unit: "binary" }), agrees), { numRuns: 100 });
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), agrees), { numRuns: 100 });
});

test("a text and the bytes behind it are one message", () => {
  const key = freshKey(new SystemRandom());
  const hmac = new Hmac(key);
  for (const length of [0, 1, 1000, 8127, 8128, 8129, 100_000]) {
    const [text, rest] = ["ab".repeat(32), new Uint8Array(length).fill(9)];
    const reference = createHmac("sha256", key).update(text).update(rest).digest("hex");
    assert.equal(hmac.ofJoined(text, rest), reference);
  }
  assert.equal(hmac.ofJoined("", Buffer.from("abc")), hmac.of("abc"));
});

test("once wiped it makes nothing any more", () => {
  const hmac = new Hmac(freshKey(new SystemRandom()));
  hmac.of("a");
  hmac.wipe();
  assert.throws(() => hmac.of("a"), InvariantError);
  assert.throws(() => hmac.ofJoined("a", new Uint8Array(1)), InvariantError);
});
