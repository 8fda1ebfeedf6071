// That every experiment has a short form whose planted bug is caught somewhere in a run of all checks.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SHORT } from "./short-runs.ts";

const program = readFileSync(join(import.meta.dirname, "run.ts"), "utf8");

/** Names of run.ts that take --plant. */
function planted(): string[] {
  const table = /const TAKES[^{]*\{(.*?)\n\};/s.exec(program)?.[1] ?? "";
  const rows = [...table.matchAll(/^ {2}"?([\w-]+)"?: \[(.*)\],$/gm)];
  assert.ok(rows.length > 15, "the table of experiments was not found");
  return rows.filter(([, , takes = ""]) => takes.includes('"plant"')).map(([, name = ""]) => name);
}

// A hundred thousand leases are no short run; its figure is part of the long ones. Short walks of clusters and their planted
// bugs are tests in sim/clusters/.
const LONG_ONLY = ["lease-storm", "replication"];

test("every experiment with a planted bug has a short form that catches it, or a test that does", () => {
  for (const name of planted()) {
    if (LONG_ONLY.includes(name)) continue;
    const red = SHORT[name]?.red;
    assert.ok(red !== undefined, `${name} has no short form with its planted bug`);
    if (red !== "tested") continue;
    const [file] = globSync(`**/${name}.process.test.ts`, { cwd: import.meta.dirname });
    assert.ok(file !== undefined, `${name}.process.test.ts is not there`);
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    assert.match(text, /plant: "/, `${file} plants nothing`);
    assert.match(
      text,
      /assert\.equal\((result|bad)\.ok, false\)/,
      `${file} does not want it caught`,
    );
  }
});
