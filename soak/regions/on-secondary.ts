// The tests of the API, run against a performance secondary: the same answers, but for those of a table, of which every row
// says why (tests/spec/regions/differences.ts). A row that makes no difference any more is a finding too.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { DIFFERENCES, type Difference } from "../../tests/spec/regions/differences.ts";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import { type Result, resultOf } from "../result.ts";
import type { Counted, FailedTest } from "./failed-tests.ts";

const ROOT = join(import.meta.dirname, "..", "..");

export interface OnSecondaryOptions {
  /** Files whose path contains this. Default: all. */
  readonly only?: string | undefined;
  readonly say: (line: string) => void;
  /** A secondary that stores what it is sent, and nothing that follows from it. */
  readonly plant?: "no-followers";
}

/** Those that start processes have servers of their own, and those about replication, or between regions, both sides. */
export function apiTests(): string[] {
  const found = globSync("tests/{spec,threats,clients}/**/*.test.ts", { cwd: ROOT });
  const others =
    /\.process\.test\.ts$|^tests\/(?:spec\/(?:replication|regions)|threats\/k)\/|^tests\/threats\/regions\.test\.ts$/;
  return found.filter((file) => !others.test(file)).toSorted();
}

export async function onSecondary(options: OnSecondaryOptions): Promise<Result> {
  const { only = "", say, plant } = options;
  const files = apiTests().filter((file) => only.split(",").some((part) => file.includes(part)));
  const failed: FailedTest[] = [];
  let passed = 0;
  const folders = Map.groupBy(files, (file) => dirname(file));
  for (const [folder, some] of folders) {
    const run = await runTests(some, plant);
    say(`${folder}: ${run.passed} as on a primary, ${run.failed.length} not`);
    passed += run.passed;
    failed.push(...run.failed);
  }
  const wrong = wrongOf(files, failed, DIFFERENCES);
  for (const line of wrong) say(line);
  const differ = failed.length - wrong.length;
  return resultOf(`${passed} tests pass on a secondary, ${Math.max(0, differ)} differ`, wrong);
}

export function wrongOf(
  files: readonly string[],
  failed: readonly FailedTest[],
  differences: readonly Difference[],
): string[] {
  const met = new Set<Difference>();
  const undeclared = failed.filter(({ file, name }) => {
    const row = differences.find((one) => one.file === file && one.test === name);
    if (row !== undefined) met.add(row);
    return row === undefined;
  });
  const stale = differences.filter((row) => files.includes(row.file) && !met.has(row));
  return [
    ...undeclared.map(({ file, name, message }) => `${file}: ${name}: ${message}`),
    ...stale.map(({ file, test }) => `${file}: ${test}: passes on a secondary as well`),
  ];
}

interface Run {
  readonly failed: FailedTest[];
  readonly passed: number;
}

async function runTests(files: readonly string[], plant: string | undefined): Promise<Run> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env; // of a run that this one is part of
  const child = spawn(
    process.execPath,
    [
      "--test",
      ...FIND_OWN_MODULES,
      "--test-isolation=none",
      "--import=./soak/regions/before-tests.ts",
      "--test-timeout=120000",
      "--test-force-exit", // primaries of secondaries that nobody has started again still run
      "--test-reporter=./soak/regions/failed-tests.ts",
      ...files,
    ],
    {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...env,
        HOLDFAST_TESTS_ON: "secondary",
        ...(plant === undefined ? {} : { HOLDFAST_TESTS_PLANT: plant }),
      },
    },
  );
  const ended = once(child, "close");
  const failed: FailedTest[] = [];
  let passed: number | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    const outcome = JSON.parse(line) as FailedTest | Counted;
    if ("passed" in outcome) ({ passed } = outcome);
    else failed.push(outcome);
  }
  await ended;
  if (passed !== null) return { failed, passed };
  return {
    failed: [...failed, { file: files[0]!, name: "", message: "the run ended" }],
    passed: 0,
  };
}
