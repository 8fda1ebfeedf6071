// The canonical layout, by example, and what of the source it keeps.

import assert from "node:assert/strict";
import { takesAtMost } from "../../tests/support/processor-time.ts";
import test from "node:test";
import { parseHcl } from "./hcl-parser.ts";
import { printHcl } from "./hcl-printer.ts";
import { POLICY_LIMITS, SourceText } from "./source-text.ts";

// Printed text may be larger than what was read: indentation.
const LIMITS = { ...POLICY_LIMITS, bytes: 64 * 1024 * 1024 };

function format(text: string): string {
  return printHcl(parseHcl(new SourceText(text, LIMITS)));
}

const layouts: readonly [name: string, source: string, printed: string][] = [
  ["an empty document stays empty", " \n\n", ""],
  [
    "items stand on lines of their own, bodies are indented, commas go",
    'path "a" { x = 1, y = { z = 2 } } path "b" { }',
    'path "a" {\n  x = 1\n  y = {\n    z = 2\n  }\n}\n\npath "b" {}\n',
  ],
  [
    "the = of neighbours is aligned",
    'a = 1\nlonger = "x"\n"quoted key" = []',
    'a            = 1\nlonger       = "x"\n"quoted key" = []\n',
  ],
  [
    "blank lines, comments and values of several lines end a run of aligned neighbours",
    "a = 1\n\nlong = 2\n# note\nlonger = 3\nlongest = { x = 1 }\nb = 4\nbbb = 5",
    "a = 1\n\nlong = 2\n# note\nlonger = 3\nlongest = {\n  x = 1\n}\nb   = 4\nbbb = 5\n",
  ],
  [
    "a key of more than 40 characters aligns nobody",
    `a = 1\n${"k".repeat(41)} = 2\nbb = 3`,
    `a = 1\n${"k".repeat(41)} = 2\nbb = 3\n`,
  ],
  [
    "blank lines are kept as one, and none opens or ends",
    "\n\na = 1\n\n\n\nb = 2\n\n",
    "a = 1\n\nb = 2\n",
  ],
  ["blank lines at the ends of a body go", "x {\n\n  a = 1\n\n}", "x {\n  a = 1\n}\n"],
  [
    "blocks with something in them stand apart",
    "a = 1\nx { b = 1 }\ny {}\nz {}",
    "a = 1\n\nx {\n  b = 1\n}\n\ny {}\nz {}\n",
  ],
  ["a : becomes an =", 'x = { "a": 1 }', 'x = {\n  "a" = 1\n}\n'],
  ["keys keep their quotes", '"a" = 1', '"a" = 1\n'],
  ["numbers keep their text", "x = [1.50, 0x1F, 1E3]", "x = [1.50, 0x1F, 1E3]\n"],
  [
    "a list that fits stands on one line",
    'x = [\n  "a",\n  [1, 2], {}\n]',
    'x = ["a", [1, 2], {}]\n',
  ],
  [
    "a longer list has a line for each element",
    `x = ["${"a".repeat(40)}", "${"b".repeat(40)}"]`,
    `x = [\n  "${"a".repeat(40)}",\n  "${"b".repeat(40)}",\n]\n`,
  ],
  [
    "objects in a list stand on lines of their own",
    "x = [{ a = 1 }, { }]",
    "x = [\n  {\n    a = 1\n  },\n  {},\n]\n",
  ],
  // comments
  [
    "comments above, behind and below items are kept",
    "# top\n\n// a\na = 1 # one\n/* b */ b = 2 /* two */ // too \n# end",
    "# top\n\n// a\na = 1 # one\n/* b */\nb = 2 /* two */ // too\n# end\n",
  ],
  [
    "comments of blocks are kept",
    '# above\npath "a" { # first\n  # second\n  x = 1 // behind\n\n  # last\n} # after\n\n# end',
    '# above\npath "a" {\n  # first\n  # second\n  x = 1 // behind\n\n  # last\n} # after\n\n# end\n',
  ],
  [
    "a body with only a comment keeps it",
    "x { # why\n}\ny = { /* because */ }",
    "x {\n  # why\n}\n\ny = {\n  /* because */\n}\n",
  ],
  [
    "comments in lists are kept, and so is what was commented out",
    'x = [ # first\n  "a", # one\n\n  # "b",\n  "c" // three\n  # "d"\n]',
    'x = [\n  # first\n  "a", # one\n\n  # "b",\n  "c", // three\n  # "d"\n]\n',
  ],
  ["a list with only a comment keeps it", "x = [ /* none */ ]", "x = [\n  /* none */\n]\n"],
  [
    "comments inside an item go above it",
    '/* 0 */ path /* 1 */ "a" /* 2 */ { /* 3 */ x /* 4 */ = /* 5 */ 1 /* 6 */ }',
    '/* 0 */\n/* 1 */\n/* 2 */\npath "a" {\n  /* 3 */\n  /* 4 */\n  /* 5 */\n  x = 1 /* 6 */\n}\n',
  ],
  [
    "comments of a list in a list are kept, inside and outside",
    "x = [ # 1\n  [1, # 2\n    # 3\n  ], # 4\n]",
    "x = [\n  # 1\n  [\n    1, # 2\n    # 3\n  ], # 4\n]\n",
  ],
  [
    "a comment behind a comma on another line does not join the one before",
    "x { a = 1 # 1\n , # 2\n b = 3 }",
    "x {\n  a = 1 # 1\n  # 2\n  b = 3\n}\n",
  ],
  [
    "comments around a comma are kept",
    "x { a = 1 /* 1 */ , # 2\n b = 3 # 4\n # 5\n , # 6\n c = 7 }",
    "x {\n  a = 1 /* 1 */ # 2\n  b = 3 # 4\n  # 5\n  # 6\n  c = 7\n}\n",
  ],
  [
    "the inner lines of a comment stay as they are",
    "x {\n/* a\n     b */\na = 1 }",
    "x {\n  /* a\n     b */\n  a = 1\n}\n",
  ],
  ["blanks behind a comment go", "# a \t\r\nx = 1", "# a\nx = 1\n"],
  // text
  [
    "text is escaped where it must be and where it could not be seen",
    String.raw`x = "\"\\\n\t\r\x01\u00e9\u202e\U0001F600\u2028\x7f"`,
    String.raw`x = "\"\\\n\t\r\x01é\u202e😀\u2028\x7f"` + "\n",
  ],
  [
    "interpolations stay as they are",
    'x = "a ${env("B")} \\" ${c}"',
    'x = "a ${env("B")} \\" ${c}"\n',
  ],
  ["what only looks like an interpolation is escaped", 'x = "\\x24{a"', 'x = "\\x24{a"\n'],
  ["an interpolation that was escaped is plain", 'x = "\\x24{a}"', 'x = "${a}"\n'],
  [
    "a heredoc stays one",
    "x = <<EOF\n  a\n\n b\n  EOF\ny = 1",
    "x = <<EOF\n  a\n\n b\nEOF\ny = 1\n",
  ],
  [
    "an indented heredoc is indented like its key",
    "x {\n      y = <<-E\n          a\n            b\n          E\n}",
    "x {\n  y = <<-E\n  a\n    b\n  E\n}\n",
  ],
  [
    "an empty line in an indented heredoc keeps it at the margin",
    "x {\n y = <<-E\n a\n \n E\n}",
    "x {\n  y = <<-E\na\n\nE\n}\n",
  ],
  ["an empty heredoc stays one", "x = <<E\nE\n", "x = <<E\nE\n"],
  ["in a list a heredoc becomes quoted text", "x = [<<E\na\nE\n]", 'x = ["a\\n"]\n'],
  [
    "CRLF becomes LF, in heredocs and comments too",
    "x = <<E\r\na\r\nE\r\n/* b\r\nc */\r\n",
    "x = <<E\na\nE\n/* b\nc */\n",
  ],
];
for (const [name, source, printed] of layouts) {
  test(name, () => {
    assert.equal(format(source), printed);
    assert.equal(format(printed), printed, "printing again changes nothing");
  });
}

// As in the parser's tests: time of the processor, best of three.
const bombs: readonly [name: string, text: string][] = [
  [
    "a long key beside many short ones",
    `${"k".repeat(100_000)}=1 ${Array.from({ length: 18_000 }, (_, i) => `a${i}=1`).join(" ")}`,
  ],
  ["openings of interpolation", `x="${"\\x24{".repeat(50_000)}"`],
  [
    "lists in lists around long text",
    `x=${"[".repeat(100)}"${"a".repeat(200_000)}"${"]".repeat(100)}`,
  ],
  ["comments", "#\n".repeat(130_000)],
  ["elements", `x=[${"1,".repeat(130_000)}]`],
];
for (const [name, text] of bombs) {
  test(`a document full of ${name} is printed in under 300 ms, to at most 16 times its size`, () => {
    const document = parseHcl(new SourceText(text));
    takesAtMost(300, () => assert.ok(printHcl(document).length < 16 * text.length));
  });
}
