import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { escapeUnseen, quote } from "./json-text.ts";
import { keepsNobodyWaiting } from "../../tests/support/processor-time.ts";

const text = fc.string({ unit: "binary" });

test("a quoted text is read back as it was, and shows nothing unseen", () => {
  fc.assert(
    fc.property(text, (some) => {
      const quoted = quote(some);
      assert.equal(JSON.parse(quoted), some);
      assert.doesNotMatch(quoted, /[\p{C}\p{Zl}\p{Zp}]/u);
    }),
  );
  assert.equal(quote("a\u200bb\u{e0001}c\u{1f600}"), '"a\\u200bb\\udb40\\udc01c\u{1f600}"');
});

test("what can be seen stays as it is", () => {
  fc.assert(
    fc.property(text, (some) => {
      const seen = Array.from(some)
        .filter((char) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(char))
        .join("");
      assert.equal(escapeUnseen(seen), seen);
    }),
  );
});

test("T-N08: a text of nothing that can be seen keeps nobody waiting", async () => {
  for (const char of ["\u200b", "\u{e0001}", "\u2028"]) {
    const long = char.repeat(1_000_000 / Buffer.byteLength(char));
    await keepsNobodyWaiting(JSON.stringify(char), () => quote(long));
  }
});
