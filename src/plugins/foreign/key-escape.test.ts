import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { isLegalKey } from "../../storage/key.ts";
import { often } from "../../../tests/support/often.ts";
import { escapeKey, keyRefused, unescapeKey, unescapeName } from "./key-escape.ts";

const character = fc.constantFrom(
  "a",
  "%",
  "/",
  ".",
  "\u0000",
  "\n",
  "\u007f",
  "é",
  "\u{1f600}",
  "2",
  "5",
);
const key = fc.string({ unit: character, minLength: 1, maxLength: 24 });

test("every key that a plugin may have has one of ours, and comes back from it", () => {
  const seen = new Map<string, string>();
  fc.assert(
    fc.property(key, (text) => {
      if (keyRefused(text) !== null) return assert.ok(text.includes(".."));
      const escaped = escapeKey(text);
      assert.ok(isLegalKey(`shared/${escaped}`), escaped);
      assert.equal(unescapeKey(escaped), text);
      assert.equal(seen.get(escaped) ?? text, text, "no two keys are one");
      seen.set(escaped, text);
    }),
    { numRuns: often(2000) },
  );
});

test("a folder keeps its slash, and a segment without a name is one", () => {
  assert.equal(escapeKey("a//b/"), "a/%/b/%");
  assert.equal(unescapeName("%/"), "/");
  assert.equal(unescapeName("%"), "");
  assert.equal(unescapeName("a%25/"), "a%/");
});

test("what is no key, leads elsewhere or is too long is refused in words", () => {
  assert.equal(keyRefused(""), "a key is not empty");
  assert.equal(keyRefused("a/../b"), "relative paths not supported");
  assert.equal(keyRefused("\ud800"), "a key is a text");
  assert.match(keyRefused("%".repeat(1300)) ?? "", /at most \d+ bytes/);
  assert.equal(keyRefused("a".repeat(1300)), null);
});
