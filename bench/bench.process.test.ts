import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { showTable } from "./table.ts";

const PROGRAM = join(import.meta.dirname, "run.ts");

function bench(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], { encoding: "utf8", timeout: 60_000 });
}

function cellsOf(output: string, first: string): string[] {
  const line = output.split("\n").find((candidate) => candidate.startsWith(first));
  assert.ok(line, `no line begins with ${first} in:\n${output}`);
  return line.split(/ {2,}/);
}

test("a quick run prints the machine, a table of its rows, and leaves nothing behind", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hf-bench-test-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const json = join(directory, "figures.json");
  const place = join(directory, "data");
  const args = ["sealing/open-200", "gets/store", "--quick", "--directory", place, "--json", json];
  const { status, stdout, stderr } = bench(...args);
  assert.equal(status, 0, stderr);

  assert.match(stdout, /^CPU {9}\d+ × .+, \d+ GiB of memory\nSystem .+Node v\d+\./);
  assert.match(stdout, /^Directory {3}.+ \(\S+.*\)$/m);
  assert.deepEqual(cellsOf(stdout, "Row"), [
    "Row",
    "What",
    "Unit",
    "Result",
    "Spread",
    "Budget",
    "Met",
  ]);
  const [, what, unit, result, spread] = cellsOf(stdout, "sealing/open-200");
  assert.deepEqual([what, unit], ["open one entry of 200 B", "µs"]);
  assert.match(result ?? "", /^[\d,.]+$/);
  assert.match(spread ?? "", /^[\d,.]+–[\d,.]+$/);
  assert.match(stdout, /\nA fixed piece of work before each row took \d+ to \d+ ms;/);
  // No verdict: tiny sizes meet or miss a budget without meaning.
  assert.deepEqual(cellsOf(stdout, "gets/store").slice(5), ["≥ 60,000"]);

  const report = JSON.parse(readFileSync(json, "utf8"));
  assert.deepEqual(
    report.rows.map(({ name }: { name: string }) => name),
    ["sealing/open-200", "gets/store"],
  );
  const [{ samples, median }] = report.rows;
  assert.ok(samples.length >= 2 && samples.every((sample: number) => sample > 0));
  assert.ok(median >= Math.min(...samples) && median <= Math.max(...samples));
  assert.deepEqual(readdirSync(place), []);
});

test("--list names rows without running them, and only those asked for", () => {
  const { status, stdout } = bench("--list", "commits");
  assert.equal(status, 0);
  const names = stdout.split("\n").map((line) => line.split(" ")[0]);
  assert.ok(names.includes("commits/64"));
  assert.ok(names.every((name) => name === "" || name?.startsWith("commits/")));
});

test("--beside runs a row here and in another checkout, and shows the ratio of the medians", () => {
  const other = join(import.meta.dirname, "..");
  const args = ["sealing/open-200", "--quick", "--beside", other, "--times", "2"];
  const { status, stdout, stderr } = bench(...args);
  assert.equal(status, 0, stderr);
  const form =
    /^sealing\/open-200 +[\d.,]+ µs here, [\d.,]+ there: \d+\.\d\d, (?:not worse|WORSE)\n$/;
  assert.match(stdout, form);
  const nowhere = bench("sealing/open-200", "--quick", "--beside", "/nonexistent");
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.stderr, /sealing\/open-200 in \/nonexistent/);
  assert.equal(bench("sealing/open-200", "--beside", other, "--times", "0").status, 1);
});

test("a name that no row has is refused, and so is an unknown option", () => {
  const unknown = bench("nothing-like-this");
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /no row is named like nothing-like-this/);
  assert.equal(bench("--fast").status, 1);
});

test("a row that cannot do its work fails the run and is named with its reason", () => {
  // No file may grow beyond 0 bytes, so the store cannot be made.
  const command = `ulimit -f 0; exec "$0" "$@"`;
  const args = ["-c", command, process.execPath, PROGRAM, "commits/1", "--quick"];
  const { status, stdout } = spawnSync("sh", args, { encoding: "utf8", timeout: 60_000 });
  assert.equal(status, 1);
  assert.equal(cellsOf(stdout, "commits/1").at(-1), "failed");
});

test("the table judges medians, and gives the reason where there is no figure", () => {
  const run = () => Promise.reject(new Error("not run here"));
  const row = { name: "a/b", what: "something", unit: "/s", budget: { atLeast: 100 }, run };
  const other = { ...row, name: "c/d" };
  const also = [{ what: "longest", unit: "ms", samples: [51], budget: { atMost: 50 } }];
  const table = showTable(
    [
      { row, reference: 1, outcome: { kind: "measured", samples: [1, 250, 300], also } },
      { row: other, reference: 1, outcome: { kind: "not measured", reason: "no compiler" } },
    ],
    true,
  );
  assert.equal(
    table,
    [
      "Row  What       Unit  Result  Spread  Budget  Met",
      "───  ─────────  ────  ──────  ──────  ──────  ────────────",
      "a/b  something  /s       250   1–300   ≥ 100  yes",
      "       longest  ms        51            ≤ 50  NO",
      "c/d  something  /s         –           ≥ 100  not measured",
      "       no compiler",
      "",
    ].join("\n"),
  );
});
