// Positions against a naive count. What is refused and how large a text may be is tested with the
// parsers.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { SourceText } from "./source-text.ts";

const pieces = fc.constantFrom("a", " ", "\n", "\r\n", "\t", "é", "€", "😀", "\ufeff");
const texts = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(""));

test("the position of every character is its line and its place among the line's characters", () => {
  fc.assert(
    fc.property(texts, fc.boolean(), (rest, bom) => {
      const text = (bom ? "\ufeff" : "x") + rest;
      const source = new SourceText(text);
      assert.equal(source.start, bom ? 1 : 0);
      let line = 1;
      let column = 1;
      let offset = source.start;
      for (const character of text.slice(source.start)) {
        assert.deepEqual(source.positionAt(offset), { line, column, offset });
        assert.equal(source.lineAt(offset), line);
        offset += character.length;
        column = character === "\n" ? 1 : column + 1;
        if (character === "\n") line += 1;
      }
      assert.deepEqual(source.positionAt(offset), { line, column, offset });
    }),
    { numRuns: 2_000 },
  );
});

test("hexadecimal digits are read in either case, and only if all are there", () => {
  const source = new SourceText("00fF g1 12");
  assert.equal(source.hexAt(0, 4), 0xff);
  assert.equal(source.hexAt(2, 2), 0xff);
  assert.equal(source.hexAt(5, 2), null);
  assert.equal(source.hexAt(8, 2), 0x12);
  assert.equal(source.hexAt(8, 4), null);
});
