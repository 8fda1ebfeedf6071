// `npm run check`: types, lint, format and the rules of the house, side by side. Every step runs, so that one
// look shows all there is to mend; the exit code is 1 if any failed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { HOUSE_TESTS } from "./house-tests.ts";
import { requireRuntime } from "./runtime.ts";

requireRuntime();

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");

const steps: readonly [name: string, command: string, ...args: string[]][] = [
  ["types", "tsc", "-p", "."],
  ["lint", "oxlint", "--type-aware", "--deny-warnings"],
  ["format", "oxfmt", "--check", "."],
  ["house", process.execPath, "--test", "--test-reporter=dot", ...HOUSE_TESTS],
];

// The tools are scripts that look for "node" themselves: ours comes first, as under npm.
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` };

const results = await Promise.all(
  steps.map(async ([name, command, ...args]) => {
    const start = performance.now();
    const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (piece: Buffer) => output.push(piece));
    }
    const problem = await once(child, "close").then(
      ([status]) => (status === 0 ? null : Buffer.concat(output).toString()),
      (error: unknown) => String(error), // it could not be started
    );
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const verdict = problem === null ? "ok" : "FAILED";
    console.log(`${name.padEnd(7)} ${seconds.padStart(5)} s  ${verdict}`);
    if (problem !== null) console.log(problem.trimEnd());
    return { name, ok: problem === null };
  }),
);

const failed = results.filter(({ ok }) => !ok);
if (failed.length > 0) {
  console.log(`\nfailed: ${failed.map(({ name }) => name).join(", ")}`);
  process.exitCode = 1;
}
