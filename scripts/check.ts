// `npm run check`: types, lint, format and the rules of the house. Every step runs, so that one look
// shows all there is to mend; the exit code is 1 if any failed.

import { spawnSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { requireRuntime } from "./runtime.ts";

requireRuntime();

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");

const steps: readonly [name: string, command: string, ...args: string[]][] = [
  ["types", "tsc", "-p", "."],
  ["lint", "oxlint", "--type-aware", "--deny-warnings"],
  ["format", "oxfmt", "--check", "."],
  ["house", process.execPath, "--test", "--test-reporter=dot", "tests/house.test.ts"],
];

// The tools are scripts that look for "node" themselves: ours comes first, as under npm.
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };

const failed = steps.filter(([name, command, ...args]) => {
  const start = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
  });
  const ok = status === 0;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${name.padEnd(7)} ${seconds.padStart(5)} s  ${ok ? "ok" : "FAILED"}`);
  if (!ok) console.log(`${stdout}${stderr}${error?.message ?? ""}`.trimEnd());
  return !ok;
});

if (failed.length > 0) {
  console.log(`\nfailed: ${failed.map(([name]) => name).join(", ")}`);
  process.exitCode = 1;
}
