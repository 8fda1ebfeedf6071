// `npm test [-- part-of-a-path …] [-- --node-option …]`: all tests, or those in files whose path
// contains one of the given parts. Options are passed on to Node (`--test-name-pattern=barrier`).
//
// Unit tests share one process: it is some fifty times faster than a process per file, and possible
// because the product has no global state. Files named *.process.test.ts start processes or
// servers of their own and run each in a process.

import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { requireRuntime } from "./runtime.ts";

requireRuntime();

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
const results = [
  run(
    "unit",
    "none",
    files.filter((file) => !isProcessTest(file)),
  ),
  run("process", "process", files.filter(isProcessTest)),
];
process.exitCode = results.every(Boolean) ? 0 : 1;

function run(name: string, isolation: "none" | "process", some: readonly string[]): boolean {
  if (some.length === 0) return true;
  // All tests: a dot each. A chosen few: their names.
  const reporter = parts.length === 0 ? "dot" : "spec";
  const chosen = options.some((option) => option.startsWith("--test-reporter"));
  const start = performance.now();
  const { status, signal, error } = spawnSync(
    process.execPath,
    [
      "--test",
      `--test-isolation=${isolation}`,
      // A test that hangs fails instead of holding up the run. The longest take ten seconds on a quiet
      // machine, and five times as long on a busy one.
      "--test-timeout=300000",
      ...(isolation === "none" ? ["--import=./scripts/no-exit.ts"] : []),
      ...(chosen ? [] : [`--test-reporter=${reporter}`]),
      ...options,
      ...some,
    ],
    { cwd: root, stdio: "inherit" },
  );
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const outcome = status === 0 ? "ok" : `FAILED ${signal ?? error?.message ?? ""}`.trimEnd();
  console.log(`${name} tests: ${some.length} files, ${seconds} s, ${outcome}`);
  return status === 0;
}
