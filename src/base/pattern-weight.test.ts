import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { patternWeight } from "./pattern-weight.ts";
import { often } from "../../tests/support/often.ts";

const PIECES = [
  "a",
  "b",
  ".",
  "^",
  "$",
  "\\b",
  "\\d",
  "\\pL",
  "\\p{Greek}",
  "[a-z]",
  "[^]x]",
  "[[:alpha:]-]",
];
PIECES.push(
  "(",
  "(?:",
  "(?i)",
  "(?i:",
  "(?P<n>",
  ")",
  ")",
  ")",
  "|",
  "*",
  "+",
  "?",
  "*?",
  "\\x{41}",
  "\\Q(a{9}\\E",
);
PIECES.push("{3}", "{2,5}", "{0,4}", "{3,}", "{", "}", "\\\\", "\\[", "[\\]a-\\x{ff}]", "\u00e9");

test("a pattern never compiles to more instructions than it was weighed at", () => {
  let compiled = 0;
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }), (pieces) => {
      const pattern = pieces.join("");
      const weight = patternWeight(pattern);
      if (weight > 5000) return;
      let size: number;
      try {
        size = RE2JS.compile(pattern).programSize();
      } catch {
        return; // no pattern at all
      }
      compiled += 1;
      assert.ok(weight >= size, `${pattern}: ${size} instructions, weighed at ${weight}`);
    }),
    { numRuns: often(6_000) },
  );
  assert.ok(compiled > 600, `${compiled} compiled`);
});

test("usual patterns weigh little, contrived ones much", () => {
  const usual = ["^read", "(?i)prod.*(east|west)", "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"];
  for (const pattern of usual) assert.ok(patternWeight(pattern) < 100, pattern);
  const contrived = [
    "\\pL{1000}",
    "((a{10}){10}){10}",
    "(?i)[a-\\x{10FFFE}\u0400-\u10ff\\x00-\\x{ffff}-a-\u00e9]",
  ];
  contrived.push("(?:x{0,1000}){1,1}", "(((a{1,10}){1,10}){1,10})", `(?i)[${"\\pL".repeat(50)}]`);
  for (const pattern of contrived) assert.ok(patternWeight(pattern) > 500, pattern);
});
