// Nothing of a house stays behind when another takes its place: thirty exchanges on a disk and as many in memory, and
// a hundred by `npm run soak -- properties`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { often } from "../../tests/support/often.ts";

const ROUNDS = join(
  import.meta.dirname,
  "..",
  "..",
  "tests",
  "support",
  "servers",
  "exchange-rounds.ts",
);

interface Measured {
  readonly descriptors: number;
  readonly timers: number;
  readonly others: string;
  readonly heap: number;
}

async function rounds(engine: string, count: number, plants = ""): Promise<readonly Measured[]> {
  const args = ["--expose-gc", "--no-warnings", ROUNDS, engine, String(count), plants];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 });
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  return JSON.parse(line) as Measured[];
}

/** After ten rounds the same descriptors and timers, and at most 1 MB more in ten rounds; else what is wrong. */
function problems(measured: readonly Measured[]): string[] {
  const [, first, ...later] = measured; // one for every ten rounds; the first ten are the warm-up
  const last = later.at(-1);
  if (first === undefined || last === undefined) return ["too few rounds"];
  const found = new Set<string>();
  for (const { descriptors, timers, others } of later) {
    if (descriptors !== first.descriptors)
      found.add(`${descriptors} descriptors, ${first.descriptors} before`);
    if (timers !== first.timers) found.add(`${timers} timers, ${first.timers} before`);
    if (others !== first.others) found.add(`${others}, before ${first.others}`);
  }
  const growth = (last.heap - first.heap) / later.length;
  if (growth > 1024 * 1024) found.add(`${Math.round(growth)} bytes more in ten rounds`);
  return [...found];
}

// Whatever stays behind each time shows in thirty, as the planted ones do; what does so now and then, in a hundred.
for (const engine of ["sqlite", "memory"] as const) {
  const count = Math.min(often(30), 100);
  test(`${count} exchanges in a row leave nothing behind (${engine})`, async () => {
    const measured = await rounds(engine, count);
    assert.equal(measured.length, count / 10);
    assert.deepEqual(problems(measured), [], JSON.stringify(measured));
  });
}

test("the measurement notices what stays behind: a house that is kept, a timer that is not cancelled", async () => {
  const found = problems(await rounds("memory", 30, "kept-house,timer")).join("\n");
  assert.match(found, /bytes more/);
  assert.match(found, /timers/);
});
