// Nothing of a house stays behind when another takes its place: a hundred exchanges, in memory and on a disk.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

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

async function rounds(engine: string, count: number, plant = ""): Promise<readonly Measured[]> {
  const args = ["--expose-gc", "--no-warnings", ROUNDS, engine, String(count), plant];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 24 });
  const line = stdout.trimEnd().split("\n").at(-1) ?? "";
  return JSON.parse(line) as Measured[];
}

/** After ten rounds the same descriptors and timers, and at most 1 MB more in ten rounds. */
function flat(measured: readonly Measured[]): string | null {
  const [, first, ...later] = measured; // one for every ten rounds; the first ten are the warm-up
  const last = later.at(-1);
  if (first === undefined || last === undefined) return "too few rounds";
  for (const { descriptors, timers, others } of later) {
    if (descriptors !== first.descriptors)
      return `${descriptors} descriptors, ${first.descriptors} before`;
    if (timers !== first.timers) return `${timers} timers, ${first.timers} before`;
    if (others !== first.others) return `${others}, before ${first.others}`;
  }
  const growth = (last.heap - first.heap) / later.length;
  return growth > 1024 * 1024 ? `${Math.round(growth)} bytes more in ten rounds` : null;
}

for (const engine of ["memory", "sqlite"]) {
  test(`100 exchanges in a row leave nothing behind (${engine})`, async () => {
    const measured = await rounds(engine, 100);
    assert.equal(measured.length, 10);
    assert.equal(flat(measured), null, JSON.stringify(measured));
  });
}

test("the measurement notices what stays behind: a house that is kept, a timer that is not cancelled", async () => {
  assert.match(flat(await rounds("memory", 40, "kept-house")) ?? "", /bytes more/);
  assert.match(flat(await rounds("memory", 30, "timer")) ?? "", /timers/);
});
