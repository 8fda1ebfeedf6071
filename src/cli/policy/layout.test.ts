// The layout of rule documents, by example; and that whatever is thrown at it is either refused with its
// place or laid out without losing anything.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DocumentFailure } from "../../document/document-failure.ts";
import { layOutPolicy } from "./layout.ts";
import { often } from "../../../tests/support/often.ts";

const layOut = (text: string) => layOutPolicy(text, "rules");

const layouts: readonly [name: string, source: string, laidOut: string][] = [
  ["an empty document stays empty", " \n\n", ""],
  [
    "blanks around words, braces and expressions become one",
    "rule   office{ true }\nmain\twhen   rule.office   {false}",
    "rule office { true }\nmain when rule.office { false }\n",
  ],
  [
    "an expression keeps its own blanks",
    'rule a { x   in  [ 1,2 ] &&  y == "  "  }',
    'rule a { x   in  [ 1,2 ] &&  y == "  " }\n',
  ],
  [
    "an expression over several lines is indented as a whole, and stands between blank lines",
    "rule a { true }\nrule b { one &&\n       two ||\n         three }\nmain { rule.b }",
    "rule a { true }\n\nrule b {\n  one &&\n  two ||\n    three\n}\n\nmain { rule.b }\n",
  ],
  [
    "a line that is too long gets lines of its own, and is not broken",
    `main { ${"x || ".repeat(30)}x }`,
    `main {\n  ${"x || ".repeat(30)}x\n}\n`,
  ],
  [
    "comments stay above, behind, inside and at the end",
    "# top\n\n\n# of a\nrule a { true }   # behind\n// c\nmain {\n    x // }\n    // last\n  }\n\n# end",
    "# top\n\n# of a\nrule a { true } # behind\n\n// c\nmain {\n  x // }\n  // last\n}\n\n# end\n",
  ],
  [
    "braces in texts and comments, and objects in conditions, are no bodies",
    `main when {"a": "}"} == {} && r'\\' != "}" { x == """ } """ } # }`,
    `main when {"a": "}"} == {} && r'\\' != "}" { x == """ } """ } # }\n`,
  ],
  [
    "a text over several lines is not moved",
    'main {\n        x == """\n   a\n""" &&\n   y\n  }',
    'main {\n        x == """\n   a\n""" &&\n   y\n}\n',
  ],
  [
    "the lines of a test are as deep as the brackets around them",
    'main { true }\ntest  "t"{ input = {\nrequest: { path = "a}", # }\n  data = [1,\n2] }\n  }\n\n want = true }\ntest "u" { want   =  false }',
    'main { true }\n\ntest "t" {\n  input = {\n    request: { path = "a}", # }\n      data = [1,\n        2] }\n  }\n\n  want = true\n}\n\ntest "u" { want   =  false }\n',
  ],
  [
    "line ends become those of everything else",
    "rule a { true }\r\nmain {\r\n x\r\n}\r\n",
    "rule a { true }\n\nmain {\n  x\n}\n",
  ],
];
for (const [name, source, laidOut] of layouts) {
  test(name, () => {
    assert.equal(layOut(source), laidOut);
    assert.equal(layOut(laidOut), laidOut);
  });
}

const refused: readonly [text: string, message: string][] = [
  ["rule a { true } x", "At 1:17: expected rule, main, test, a comment or the end of the document"],
  ["\nrules a { true }", "At 2:1: expected rule, main, test, a comment or the end of the document"],
  ["main { (", "At 1:6: this { is never closed"],
  ["main when x", "At 1:1: no { follows"],
  ['main { "x\n" }', "At 1:8: this text is never closed"],
];
for (const [text, message] of refused) {
  test(`refused, with its place: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => layOut(text),
      (error) => error instanceof DocumentFailure && error.message.startsWith(message),
    );
  });
}

const bits = [
  ...'rule a|main|when|test "t"|{|}|(|)|[|]| |\n|\n\n|# c\n|// c\n|\'|"|"""|r\'|\\|x|&&|want = true|\r\n'.split(
    "|",
  ),
  "{ x }",
  "rule a { x }\n",
  'main when {} == y { """\n z """ }\n',
];

test("whatever is given is refused or keeps all but blanks, and a second time changes nothing", () => {
  let laidOut = 0;
  const anything = fc.array(fc.constantFrom(...bits), { maxLength: 14 }).map((all) => all.join(""));
  fc.assert(
    fc.property(anything, (text) => {
      let once: string;
      try {
        once = layOut(text);
      } catch (error) {
        assert.ok(error instanceof DocumentFailure, String(error));
        return;
      }
      laidOut += 1;
      assert.equal(layOut(once), once);
      assert.equal(once.replace(/\s/g, ""), text.replace(/\s/g, ""));
    }),
    { numRuns: often(5_000) },
  );
  assert.ok(laidOut > 125, `${laidOut} were laid out`);
});

test("HCL keeps its comments; JSON and expressions stay as they are", () => {
  const hcl = layOutPolicy('# why\npath "a" { capabilities = ["read"] # only\n}', "hcl");
  assert.equal(hcl, '# why\npath "a" {\n  capabilities = ["read"] # only\n}\n');
  for (const [notation, text] of [
    ["json", '{"path":  {}}'],
    ["expression", "  a &&\n b // c"],
  ] as const) {
    assert.equal(layOutPolicy(text, notation), text);
  }
  assert.throws(() => layOutPolicy('{"path": }', "json"), /^DocumentFailure: At 1:10|At 1:10/);
});
