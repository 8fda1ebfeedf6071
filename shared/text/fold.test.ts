import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fold } from "./fold.ts";
import { withoutEndingZeros } from "./digits.ts";

test("letters of ASCII become small, and nothing else changes", () => {
  assert.equal(fold("Team-A/b.C"), "team-a/b.c");
  // The Kelvin sign, a dotted I and a capital umlaut: what Unicode makes small stays as it is.
  assert.equal(fold("K\u212a\u0130\u00c4"), "k\u212a\u0130\u00c4");
});

test("whatever the text, each character folds by itself", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const each = text.split("").map((one) => (/^[A-Z]$/.test(one) ? one.toLowerCase() : one));
      assert.equal(fold(text), each.join(""));
    }),
  );
});

test("zeros at the end of a fraction fall away, and only there", () => {
  assert.equal(withoutEndingZeros("500"), "5");
  assert.equal(withoutEndingZeros("000000001"), "000000001");
  assert.equal(withoutEndingZeros("10010"), "1001");
  assert.equal(withoutEndingZeros("000"), "");
});
