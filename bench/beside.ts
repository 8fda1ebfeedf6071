// The same rows in two checkouts of the project, in turns: how fast a machine is changes from minute to minute, and two
// runs of one program differ by a tenth, so that only medians of many runs in turns say which of the two is faster.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { median } from "./measure.ts";
import type { Row } from "./row.ts";

export interface BesideSettings {
  readonly rows: readonly Row[];
  /** The root of the other checkout, with what it needs installed. */
  readonly beside: string;
  readonly times: number;
  readonly quick: boolean;
}

const OWN = join(import.meta.dirname, "..");
const NOT_WORSE = 0.95;

/** Gives how many rows could not be measured. */
export function benchBeside({ rows, beside, times, quick }: BesideSettings): number {
  let failed = 0;
  for (const row of rows) {
    const own: number[] = [];
    const other: number[] = [];
    for (let i = 0; i < times; i++) {
      const turns = [
        () => own.push(runOnce(OWN, row.name, quick)),
        () => other.push(runOnce(beside, row.name, quick)),
      ];
      try {
        for (const turn of i % 2 === 0 ? turns : turns.toReversed()) turn();
      } catch (error) {
        process.stderr.write(`${String(error)}\n`);
        failed++;
        break;
      }
    }
    if (own.length < times || other.length < times) continue;
    process.stdout.write(`${showRow(row, own, other)}\n`);
  }
  return failed;
}

function showRow({ name, unit, budget }: Row, own: number[], other: number[]): string {
  const [here, there] = [median(own), median(other)];
  const isLessBetter = budget !== undefined && "atMost" in budget;
  const ratio = isLessBetter ? there / here : here / there;
  const verdict = ratio >= NOT_WORSE ? "not worse" : "WORSE";
  const figure = (value: number) => Number(value.toPrecision(4)).toLocaleString("en");
  return (
    `${name.padEnd(24)} ${figure(here)} ${unit} here, ${figure(there)} there: ` +
    `${ratio.toFixed(2)}, ${verdict}`
  );
}

function runOnce(checkout: string, name: string, quick: boolean): number {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-beside-"));
  const file = join(directory, "figures.json");
  try {
    const args = ["bench/run.ts", name, "--json", file, ...(quick ? ["--quick"] : [])];
    const { status, stderr } = spawnSync(process.execPath, args, {
      cwd: checkout,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
    if (status !== 0) throw new Error(`${name} in ${checkout} ended with ${status}: ${stderr}`);
    const { rows } = JSON.parse(readFileSync(file, "utf8")) as {
      rows: { readonly name: string; readonly median?: number }[];
    };
    const found = rows.find((row) => row.name === name)?.median;
    if (found === undefined) throw new Error(`${name} was not measured in ${checkout}`);
    return found;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
