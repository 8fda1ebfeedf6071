// The same rows in two checkouts of the project, in turns: how fast a machine is changes from minute to minute, and two
// runs of one program differ by a tenth, so that only medians of many runs in turns say which of the two is faster. Rows
// that are the rate of a load on the API go to two servers that run at the same time (api/api-beside.ts).

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BesideRates, ratesBeside } from "./api/api-beside.ts";
import { median } from "./measure.ts";
import type { Row } from "./row.ts";

export interface BesideSettings {
  readonly rows: readonly Row[];
  /** The root of the other checkout, with what it needs installed. */
  readonly beside: string;
  readonly times: number;
  /** Where data is written. */
  readonly directory: string;
  readonly quick: boolean;
}

const OWN = join(import.meta.dirname, "..");
const NOT_WORSE = 0.95;
const TIMES = ["µs", "ms", "s"];

/** Gives how many rows could not be measured. */
export async function benchBeside(settings: BesideSettings): Promise<number> {
  let failed = 0;
  for (const row of settings.rows) {
    try {
      process.stdout.write(`${showRow(row, await besideOf(row, settings))}\n`);
    } catch (error) {
      process.stderr.write(`${String(error)}\n`);
      failed++;
    }
  }
  return failed;
}

async function besideOf(row: Row, settings: BesideSettings): Promise<BesideRates> {
  const { beside, times, quick } = settings;
  if (row.load !== undefined) {
    const directory = mkdtempSync(join(settings.directory, "holdfast-beside-"));
    try {
      return await ratesBeside(row.load, { directory, root: beside, pairs: times, quick });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
  const [own, other]: [number[], number[]] = [[], []];
  for (let i = 0; i < times; i++) {
    const turns = [
      () => own.push(runOnce(OWN, row.name, quick)),
      () => other.push(runOnce(beside, row.name, quick)),
    ];
    for (const turn of i % 2 === 0 ? turns : turns.toReversed()) turn();
  }
  return { own, other };
}

function showRow({ name, unit, budget }: Row, { own, other }: BesideRates): string {
  const [here, there] = [median(own), median(other)];
  const isLessBetter = budget === undefined ? TIMES.includes(unit) : "atMost" in budget;
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
