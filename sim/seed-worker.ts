// Runs seeds in a thread of its own, one after the other, as they are handed out.

import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import type { WalkKind } from "./clusters/scene.ts";
import { runWalk } from "./clusters/walk.ts";
import { runSeed, type SeedOptions, type SeedResult } from "./scenario.ts";

/** A machine, or with `clusters` whole clusters. */
export interface RunOptions extends SeedOptions {
  readonly clusters?: boolean;
  /** Of the set that they are in. */
  readonly kind?: WalkKind;
  /** Of a walk of clusters. */
  readonly steps?: number;
  readonly often?: Readonly<Record<string, number>>;
}

/** What can be sent between threads of a result. */
export interface Outcome extends Omit<SeedResult, "violation"> {
  /** The violation in words, its stack included; null when all is well. */
  readonly red: string | null;
  /** Of clusters: how often each step was taken, and came to its end. */
  readonly counts?: Readonly<Record<string, number>>;
}

export async function outcomeOf(seed: number, options: RunOptions): Promise<Outcome> {
  if (options.clusters === true) return await walkOf(seed, options);
  const { violation, ...rest } = await runSeed(seed, options);
  return { ...rest, red: violation === null ? null : inspect(violation) };
}

async function walkOf(seed: number, options: RunOptions): Promise<Outcome> {
  const { violation, steps, simulated, hash, counts } = await runWalk(seed, options);
  return {
    seed,
    red: violation === null ? null : inspect(violation),
    operations: steps,
    crashes: (counts["kill"] ?? 0) + (counts["power"] ?? 0),
    simulated,
    hash,
    met: new Set(),
    following: null,
    counts,
  };
}

if (parentPort !== null) {
  const port = parentPort;
  const options = workerData as RunOptions;
  port.on("message", (seed: number) => {
    void outcomeOf(seed, options).then((outcome) => port.postMessage(outcome));
  });
}
