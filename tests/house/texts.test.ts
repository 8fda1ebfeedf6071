import assert from "node:assert/strict";
import test from "node:test";
import { errorsPage, productFiles, readErrorCodes } from "../../scripts/error-codes.ts";
import { STATUS } from "../../src/http/status.ts";
import { casesApart, casesListed, casesNamed } from "./cases.ts";
import { strayPointers } from "./pointers.ts";
import { root, read, files, scripts, walk } from "./tree.ts";

const FAILURES = `
/**
 * @code lamp-out The lamp is out.
 * @remedy Fill it.
 */
export function lampOut(): Failure {
  return new Failure("unavailable", "lamp-out", "no oil");
}
`;

test("codes of errors: the check finds what was planted and nothing else", () => {
  const problemsOf = (...sources: readonly (readonly [path: string, source: string])[]) =>
    readErrorCodes(
      [["src/lamps/failures.ts", FAILURES] as const, ...sources].map(([path, source]) => ({
        path,
        source,
      })),
    ).problems;
  const row = (code: string) => `/** @code ${code} It is so. @remedy Mend it. */\n`;
  const planted: readonly [path: string, source: string, found: RegExp][] = [
    ["src/a/failures.ts", 'new Failure("invalid", "a", "b");', /a has no row/],
    ["src/a/failures.ts", row("a"), /no failure is made with a/],
    ["src/a/failures.ts", row("lamp-out"), /lamp-out has 2 rows/],
    ["src/a/failures.ts", 'new Failure("invalid", "lamp-out", "b");', /lamp-out has 2 kinds/],
    ["src/a/failures.ts", "new Failure(kind, codeOf(x), text);", /a code is a literal/],
    ["src/a/a.ts", 'new Failure("unavailable", "lamp-out", "b");', /outside the room's failures/],
    ["src/a/failures.ts", "/** @code a It is so. */", /not "@code/],
    [
      "src/a/failures.ts",
      'function no(code: string) {\n  return new Failure("invalid", code, "b");\n}\nno("a");',
      /a has no row/,
    ],
    [
      "src/a/failures.ts",
      'export const refuseAs = (code: string) => new Failure("invalid", code, "x");\nrefuseAs("a");',
      /a has no row/,
    ],
    [
      "src/a/failures.ts",
      'const no = (code: string): Failure => {\n  const b = 1;\n  return new Failure("invalid", code, "b");\n};\nno("a");',
      /a has no row/,
    ],
    [
      "src/a/failures.ts",
      'class No extends Failure {\n  constructor() {\n    super("invalid", "a", "b");\n  }\n}',
      /a has no row/,
    ],
  ];
  for (const [path, source, found] of planted) {
    const problems = problemsOf([path, source]);
    assert.equal(problems.length, 1, [source, ...problems].join("\n"));
    assert.match(problems[0] ?? "", found);
  }
  assert.deepEqual(problemsOf(), []);
  assert.deepEqual(
    problemsOf([
      "src/a/failures.ts",
      `${row("a")}${row("b")}const A = "a";\nnew Failure("invalid", A, "x");\n` +
        'new Failure("denied", late ? "b" : error.code, "x");',
    ]),
    [],
  );
});

test("every code of an error has one kind and one row in docs/errors.md, and every row a code", () => {
  const codes = readErrorCodes(productFiles(root));
  assert.deepEqual(codes.problems, []);
  assert.ok(codes.made.length > 300, "the sources were read");
  // The formatter pads tables and breaks nothing else.
  const plain = (page: string) => page.replace(/ +/g, " ").replace(/-{3,}/g, "---").trim();
  const page = read("docs/errors.md");
  assert.equal(plain(page), plain(errorsPage(codes, STATUS)), "run `npm run gen`");
});

test("pointers: the check finds what was planted and nothing else", () => {
  const exists = (start: string) => "docs/decisions/0007-the-way.md".startsWith(start);
  const planted = [
    "// See core contract 9.",
    "// As row 88 says.",
    "// That is issue 14, which is done.",
    "// The specification's reason is in section 3.4 of the specification.",
    "// As findings/house.md has it.",
    "// The contract's 3.4 says so.",
    "/** As cloud-engines 2.7 has it. */",
    "const a = 5; // decision 44",
    "// Both (D44) are kept.",
    "// Nobody sees values (P20).",
    "// Clients of spec 1 match on it.",
    "// One thing, whose reason is in decision\n// 12.",
    "// See docs/no-such-page.md.",
    "// See PLAN.md, part 4.",
    "// As the contract says in row 88.",
    "// Row 88 settles it.",
    "// See the design document, 3.2.",
    "// The specification, 3.4, has it.",
    "// As house.md of the findings has it.",
    'test("decision 5: it is so", () => {});',
    'test("P5: it is so", () => {});',
  ];
  for (const source of planted) {
    assert.ok(strayPointers("src/core/a.ts", source, exists).length > 0, source);
  }
  const isThreat = (id: string) => id === "T-B16";
  const threats = (source: string) =>
    strayPointers("src/core/a.ts", source, exists, () => true, isThreat).length;
  assert.equal(threats("// T-B99 is met here."), 1);
  assert.equal(threats('test("T-B16 and T-B160: so", f);'), 1);
  assert.equal(threats("// T-B16."), 0);
  assert.equal(strayPointers("docs/a.md", "It is so\n(decision\n5).", exists).length, 1);
  const innocent = [
    "// See docs/decisions/0007.",
    "// T-B16: a curve, P-521; 3D; contracts of others.",
    'const text = "see decision 44";',
    "// Every row 5 bytes long; a plan; in the design of the specification.",
    'test("T-D07: it is so", () => {});',
  ];
  for (const source of innocent) {
    assert.deepEqual(strayPointers("src/core/a.ts", source, exists), [], source);
  }
});

test("no comment, no name of a test and no page points at a text that is not here", () => {
  const pages = walk("docs");
  const exists = (start: string) => pages.some((page) => page.startsWith(start));
  const ends = new Set(
    [...files, ...walk("scripts")].flatMap((path) => {
      const parts = path.split("/");
      return parts.map((_, i) => parts.slice(i).join("/"));
    }),
  );
  const isSource = (end: string) => ends.has(end);
  const listed = new Set(read("docs/threats.md").match(/(?<=^\| )T-[A-Z]\d+(?= )/gm));
  assert.ok(listed.size > 50, "the page was read");
  const isThreat = (id: string) => listed.has(id);
  assert.equal(strayPointers("src/a.ts", "// As no/such.ts does.", exists, isSource).length, 1);
  assert.deepEqual(strayPointers("src/a.ts", "// As core/pipeline.ts.", exists, isSource), []);
  const pagesAbove = ["ARCHITECTURE.md", "CHANGELOG.md", "README.md"];
  const beside = [...walk("plugin-sdk"), ...walk("scripts"), ...pages, ...pagesAbove];
  const all = [...new Set([...scripts, ...beside])];
  assert.deepEqual(
    all.flatMap((path) => strayPointers(path, read(path), exists, isSource, isThreat)),
    [],
  );
});

test("case numbers: the check finds what was planted and nothing else", () => {
  const listed = casesListed(
    "docs/cases/a.md",
    "| Case | What |\n| --- | --- |\n| C1 | It is so. |",
  );
  const named = (source: string) => casesNamed("tests/spec/a.test.ts", source);
  assert.deepEqual(casesApart({ named: named('test("C1, T-A01: so", f);'), listed }), []);
  assert.equal(casesApart({ named: named('test("C1, C2: so", f);'), listed }).length, 1);
  assert.equal(casesApart({ named: named('test("T-A01: so", f);'), listed }).length, 1);
  assert.equal(
    casesApart({ named: named('test("C1: a", f);'), listed: [...listed, ...listed] }).length,
    1,
  );
});

test("tests name the cases of docs/cases, and every case is named by a test", () => {
  const named = scripts.flatMap((path) =>
    path.startsWith("tests/house") ? [] : casesNamed(path, read(path)),
  );
  const listed = walk("docs/cases").flatMap((path) => casesListed(path, read(path)));
  assert.ok(listed.length > 300, "the pages were read");
  assert.deepEqual(casesApart({ named, listed }), []);
});
