// docs/threats.md and the tests of this folder, held to each other: every threat with a surface has a test of
// its name here, and every name here is a threat of the list.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const ID = /T-[A-Z]\d\d/g;

interface Row {
  readonly id: string;
  readonly words: string;
  readonly surface: string;
}

function rowsOf(text: string): Row[] {
  return Array.from(
    text.matchAll(/^\| (T-[A-Z]\d\d) +\| ([^|]+?) +\| ([^|]+?) +\|$/gm),
    ([, id = "", words = "", surface = ""]) => ({ id, words, surface }),
  );
}

/** The ids in the names of tests: what stands in a comment or in an assertion is no test. */
function namedIn(source: string): string[] {
  const names = source.matchAll(/^\s*test\(\s*["`]([^"`\n]*)/gm);
  return Array.from(names, ([, name = ""]) => name.match(ID) ?? []).flat();
}

/** Where the list and the tests disagree. */
function differences(rows: readonly Row[], sources: readonly string[]): string[] {
  const named = new Set(sources.flatMap(namedIn));
  const found: string[] = [];
  const listed = new Set<string>();
  for (const { id, words, surface } of rows) {
    if (listed.has(id)) found.push(`${id} is listed twice`);
    listed.add(id);
    if (!words.endsWith(".")) found.push(`${id} is no sentence`);
    if (surface === "yes") {
      if (!named.has(id)) found.push(`${id} has a surface and no test of its name`);
    } else if (!/^no: .{8,}/.test(surface)) found.push(`${id} has no reason`);
    else if (named.has(id)) found.push(`${id} has a test and, it says, no surface`);
    const before = `${id.slice(0, 3)}${String(Number(id.slice(3)) - 1).padStart(2, "0")}`;
    if (!id.endsWith("01") && !listed.has(before)) found.push(`${before} is missing`);
  }
  for (const id of named) if (!listed.has(id)) found.push(`${id} is not listed`);
  return found;
}

test("the check finds what is missing on either side", () => {
  const row = (id: string, surface = "yes") => ({ id, words: "Something happens.", surface });
  const tests = (...names: readonly string[]) =>
    names.map((name) => `test("${name}: x", () => {});`);
  assert.deepEqual(differences([row("T-A01")], tests("T-A01")), []);
  assert.deepEqual(differences([row("T-A01"), row("T-A02")], tests("T-A01 T-A02")), []);
  assert.deepEqual(differences([row("T-A01", "no: there is no such part")], []), []);
  for (const [rows, sources] of [
    [[row("T-A01")], []],
    [[row("T-A01")], ["// T-A01\nassert.equal(1, 1, `T-A01`);"]],
    [[], tests("T-A01")],
    [[row("T-A01", "no: there is no such part")], tests("T-A01")],
    [[row("T-A01", "no")], []],
    [[row("T-A01"), row("T-A01")], tests("T-A01")],
    [[row("T-A01"), row("T-A03")], tests("T-A01 T-A03")],
    [[{ ...row("T-A01"), words: "something" }], tests("T-A01")],
  ] as const) {
    assert.equal(differences(rows, sources).length, 1, JSON.stringify([rows, sources]));
  }
});

test("every threat with a surface has a test of its name in this folder", () => {
  const rows = rowsOf(readFileSync(join(ROOT, "docs", "threats.md"), "utf8"));
  assert.ok(rows.length > 200, `${rows.length} rows were read`);
  const files = globSync("**/*.test.ts", { cwd: import.meta.dirname });
  assert.ok(files.length > 25);
  const sources = files
    .filter((file) => file !== "ids.test.ts")
    .map((file) => readFileSync(join(import.meta.dirname, file), "utf8"));
  assert.deepEqual(differences(rows, sources), []);
});
