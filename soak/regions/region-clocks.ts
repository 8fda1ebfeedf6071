// Reliability R14 with two regions, whose clocks are set otherwise each: an hour back, an hour on, ten years on, and to and fro. Leases go by
// the time that has passed: none ends early because a clock went forward, and none lives on because one went back. Tokens go by the clock of
// the region that is asked, and are judged anew there.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { type Cluster, ShiftedClock } from "../../tests/support/replication/clusters.ts";
import {
  ask,
  issued,
  leasesOf,
  mountCounting,
} from "../../tests/support/replication/outside-site.ts";
import { regionInSync, withRoot } from "../../tests/support/replication/performance.ts";
import { countingEngine } from "../../tests/support/stores/counting-engine.ts";
import { Outside } from "../../tests/support/stores/outside.ts";
import { withProcesses } from "../replication/processes.ts";
import { type Result, resultOf } from "../result.ts";
import { createToken, isGood, madeToken, threeRegions } from "./three-regions.ts";

export interface RegionClocksOptions {
  /** Leases of each kind, on each side. */
  readonly n: number;
  /** How often the clocks go to and fro. */
  readonly rounds: number;
  readonly say: (line: string) => void;
  readonly plant?: "by-the-wall";
}

const YEARS: Nanos = 10n * 365n * 24n * HOUR;
const STROBE: Nanos = 5n * SECOND;
/** Of the first region, and of the second. */
const JUMPS: readonly (readonly [string, Nanos, Nanos])[] = [
  ["one an hour back, the other an hour on", -HOUR, HOUR],
  ["one ten years on", 0n, YEARS],
  ["one ten years on, the other an hour back", YEARS, -HOUR],
];
const TTL = 4; // seconds
const BEYOND = 1000; // milliseconds
const GIVES_UP = 30_000;

/** A known bug: time that has passed is taken from the wall. */
class WallClock extends ShiftedClock {
  override elapsed(): Nanos {
    return super.elapsed() + this.ahead;
  }
}

export async function regionClocks(options: RegionClocksOptions): Promise<Result> {
  const { n, rounds, say, plant } = options;
  const wrong: string[] = [];
  let latest = 0;
  await withProcesses(async (t) => {
    const outside = new Outside();
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    t.after(() => void delay.disable());
    const isPlanted = plant === "by-the-wall";
    const clocks = [new ShiftedClock(), isPlanted ? new WallClock() : new ShiftedClock()] as const;
    const server = {
      engineTypes: [anyEngine(countingEngine(outside))],
      world: { clock: clocks[0] },
    };
    const world = { clock: clocks[1] };
    const { a, others, root } = await threeRegions(t, { names: ["b"], server, world });
    const all = [a, ...others.map((one) => withRoot(one, root))];
    await mountCounting(a, "count");
    await ask(a, root, "POST", "count/roles/short", { ttl: TTL });
    for (const one of others) await regionInSync(a, one);
    const kept: string[] = [];
    for (const one of all) {
      kept.push(...(await several(one, "r", n)).map(({ object }) => object));
    }
    for (const [what, ...jumps] of JUMPS) {
      delay.reset();
      const short = (await Promise.all(all.map((one) => several(one, "short", n)))).flat();
      const token = madeToken(
        await createToken(a, root, { Name: what, Global: true, ExpirationTTL: "30m" }),
      );
      for (const [i, jump] of jumps.entries()) clocks[i]!.ahead = jump;
      await strobe(clocks, jumps, rounds);
      for (const [i, one] of all.entries()) {
        if (i > 0 && jumps[i]! <= 0n) continue; // it may not have come yet
        const isOver = jumps[i]! > HOUR / 2n;
        if (isOver && (await isGood(one, token)))
          wrong.push(`${what}: a token that has ended is good`);
      }
      const { beyond, isLeft } = await ends(short, outside);
      latest = Math.max(latest, beyond);
      // This process is the server as well: what holds it up holds up the end of a lease.
      const most = BEYOND + (3 * delay.max) / 1e6;
      if (isLeft || beyond > most) {
        wrong.push(`${what}: leases live ${beyond.toFixed(0)} ms beyond their time`);
      }
      const lost = kept.filter((one) => !outside.has(one)).length;
      if (lost > 0) wrong.push(`${what}: ${lost} leases ended early`);
      for (const clock of clocks) clock.ahead = 0n;
      if (wrong.length > 0) break;
      for (const one of others) await regionInSync(a, one);
      // Where its clock was beyond the token's time, a look for what has expired may have ended it, which stays so.
      const mayHaveEnded = jumps[0] > HOUR / 2n;
      if (!mayHaveEnded && !(await isGood(a, token)))
        wrong.push(`${what}: a token is over where it has time left`);
      say(`${what}: ${short.length} ended, the last ${beyond.toFixed(0)} ms beyond its time`);
    }
    if (wrong.length === 0) wrong.push(...(await counted(all, root, n)));
  });
  const figure = `${2 * n} leases of each kind over ${JUMPS.length} jumps and ${rounds} strobes of two regions, the last ${latest.toFixed(0)} ms beyond (${BEYOND} and what the machine adds)`;
  return resultOf(figure, wrong);
}

interface Lease {
  readonly object: string;
  /** When it was answered. */
  readonly at: number;
}

async function several(cluster: Cluster, role: string, count: number): Promise<Lease[]> {
  const leases: Lease[] = [];
  for (let i = 0; i < count; i++) {
    const { object } = await issued(cluster, `count/creds/${role}`);
    leases.push({ object, at: performance.now() });
  }
  return leases;
}

/** How much longer than it should the longest of them lived. */
async function ends(
  leases: readonly Lease[],
  outside: Outside,
): Promise<{ readonly beyond: number; readonly isLeft: boolean }> {
  let beyond = 0;
  let left = leases;
  for (const end = performance.now() + GIVES_UP; left.length > 0; await pause(10)) {
    const now = performance.now();
    for (const { at } of left) beyond = Math.max(beyond, now - at - TTL * 1000);
    left = left.filter(({ object }) => outside.has(object));
    if (now > end) break;
  }
  return { beyond, isLeft: left.length > 0 };
}

async function strobe(
  clocks: readonly ShiftedClock[],
  jumps: readonly Nanos[],
  rounds: number,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const [i, clock] of clocks.entries()) {
      clock.ahead = jumps[i]! + ((round + i) % 2 === 0 ? STROBE : -STROBE);
    }
    await pause(1);
  }
  for (const [i, clock] of clocks.entries()) clock.ahead = jumps[i]!;
}

/** Each region still lists the leases that have time left. */
async function counted(all: readonly Cluster[], root: string, n: number): Promise<string[]> {
  const wrong: string[] = [];
  for (const one of all) {
    const { length } = await leasesOf(one, root, "count/creds/r");
    if (length !== n) wrong.push(`${length} leases are listed, and not ${n}`);
  }
  return wrong;
}
