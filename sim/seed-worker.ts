// Runs seeds in a thread of its own, one after the other, as run.ts hands them out.

import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import { runSeed, type SeedOptions, type SeedResult } from "./scenario.ts";

/** What can be sent between threads of a result. */
export interface Outcome extends Omit<SeedResult, "violation"> {
  /** The violation in words, its stack included; null when all is well. */
  readonly red: string | null;
}

export async function outcomeOf(seed: number, options: SeedOptions): Promise<Outcome> {
  const { violation, ...rest } = await runSeed(seed, options);
  return { ...rest, red: violation === null ? null : inspect(violation) };
}

if (parentPort !== null) {
  const port = parentPort;
  const options = workerData as SeedOptions;
  port.on("message", (seed: number) => {
    void outcomeOf(seed, options).then((outcome) => port.postMessage(outcome));
  });
}
