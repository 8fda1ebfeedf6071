// What runs test files notices of them: also an error that nobody catches, and a file that does not load.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

const PROGRAM = join(import.meta.dirname, "..", "scripts", "test-files.ts");

function runs(t: TestContext, text: string) {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-files-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "a.test.ts");
  writeFileSync(file, `import { describe, it, test } from "node:test";\n${text}\n`);
  const options = ["--no-warnings", "--test-reporter=tap", "--test-timeout=2000"];
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [...options, PROGRAM, file], {
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

test("tests that hold pass, also those of suites and of tests", (t) => {
  const { status, stdout } = runs(
    t,
    `describe("all", () => { it("one", async () => { await null; }); });
     test("two", async (t) => { await null; await t.test("three", () => {}); });`,
  );
  assert.equal(status, 0, stdout);
  for (const name of ["one", "two", "three"])
    assert.match(stdout, new RegExp(`^ *ok .*${name}$`, "m"));
});

for (const [what, text, words] of [
  ["a test that fails", `test("bad", () => { throw new Error("wrong"); });`, /not ok .*bad/],
  [
    "a test that never ends",
    `test("bad", () => new Promise(() => setInterval(() => {}, 9).unref()));`,
    /not ok .*bad/,
  ],
  ["a file that does not load", `throw new Error("wrong");`, /not ok .*a\.test\.ts/],
  [
    "an error that nobody catches",
    `test("bad", async () => { void Promise.reject(new Error("wrong")); await new Promise(setImmediate); });`,
    /while "bad" ran: Error: wrong/,
  ],
  [
    "one that is thrown where nobody waits",
    `test("bad", async () => { await null; setImmediate(() => { throw new Error("wrong"); }); for (let i = 0; i < 9; i++) await new Promise(setImmediate); });`,
    /while "bad" ran: Error: wrong/,
  ],
] as const) {
  test(`${what} fails the run, and is named`, (t) => {
    const { status, stdout, stderr } = runs(t, text);
    assert.equal(status, 1, stdout + stderr);
    assert.match(stdout + stderr, words);
  });
}
