// `npm test [-- part-of-a-path …] [-- --node-option …]`: all tests, or those in files whose path
// contains one of the given parts. Options are passed on to Node (`--test-name-pattern=barrier`).
//
// Unit tests share a process, one for each of two cores: it is some fifty times faster than a process per
// file, and possible because the product has no global state. Files named *.process.test.ts start processes or
// servers of their own and run each in a process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { keepCompiledCode } from "./compile-cache.ts";
import { requireRuntime } from "./runtime.ts";

requireRuntime();
keepCompiledCode();

const root = join(import.meta.dirname, "..");
const args = process.argv.slice(2);
const options = args.filter((arg) => arg.startsWith("-"));
const parts = args.filter((arg) => !arg.startsWith("-"));

const found = globSync("{src,shared,plugin-sdk,client,engines,sim,soak,tests}/**/*.test.ts", {
  cwd: root,
}).toSorted();
const files = found.filter(
  (file) => parts.length === 0 || parts.some((part) => file.includes(part)),
);
if (files.length === 0) {
  console.error(`no test file matches ${parts.join(" or ") || "**/*.test.ts"}`);
  process.exit(1);
}

const isProcessTest = (file: string) => file.endsWith(".process.test.ts");
const all = parts.length === 0;
const unit = files.filter((file) => !isProcessTest(file));
const lanes = all ? Math.min(2, availableParallelism()) : 1;
const results = [
  ...(await Promise.all(
    shares(unit, lanes).map((some, i) =>
      run(lanes === 1 ? "unit" : `unit ${i + 1} of ${lanes}`, ["--test-isolation=none"], some),
    ),
  )),
  await run(
    "process",
    ["--test-isolation=process", `--test-concurrency=${lanes}`],
    files.filter(isProcessTest),
  ),
];
process.exitCode = results.every(Boolean) ? 0 : 1;

/** Lists of about equal weight, the same ones every time. A large file takes longer, mostly. */
function shares(some: readonly string[], count: number): readonly string[][] {
  const lists = Array.from({ length: count }, () => ({ files: [] as string[], bytes: 0 }));
  const sized = some.map((file) => ({ file, bytes: statSync(join(root, file)).size }));
  for (const { file, bytes } of sized.toSorted((a, b) => b.bytes - a.bytes)) {
    const lightest = lists.reduce((least, list) => (list.bytes < least.bytes ? list : least));
    lightest.files.push(file);
    lightest.bytes += bytes;
  }
  return lists.map((list) => list.files.toSorted());
}

async function run(name: string, how: readonly string[], some: readonly string[]) {
  if (some.length === 0) return true;
  // All tests: a dot each. A chosen few: their names.
  const reporter = all ? "dot" : "spec";
  const chosen = options.some((option) => option.startsWith("--test-reporter"));
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [
      "--test",
      ...how,
      // A test that hangs fails instead of holding up the run. The longest take ten seconds on a quiet
      // machine, and five times as long on a busy one.
      "--test-timeout=300000",
      ...(how.includes("--test-isolation=none") ? ["--import=./scripts/before-unit-tests.ts"] : []),
      ...(chosen ? [] : [`--test-reporter=${reporter}`]),
      ...options,
      ...some,
    ],
    // Two at once would write into each other's lines: the text of each comes when it is done.
    { cwd: root, stdio: ["inherit", all ? "pipe" : "inherit", "inherit"] },
  );
  const output: Buffer[] = [];
  child.stdout?.on("data", (piece: Buffer) => output.push(piece));
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const outcome = status === 0 ? "ok" : `FAILED ${signal ?? ""}`.trimEnd();
  for (const piece of output) process.stdout.write(piece);
  console.log(`${name} tests: ${some.length} files, ${seconds} s, ${outcome}`);
  return status === 0;
}
