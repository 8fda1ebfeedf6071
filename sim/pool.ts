// Many seeds on several threads; each is a world of its own.

import { Worker } from "node:worker_threads";
import { type Outcome, outcomeOf, type RunOptions } from "./seed-worker.ts";

const PROGRESS_EVERY = 10_000; // milliseconds
/** What hangs on signals that nobody aborts, since a world has just ended, is not collected while its thread is there: some 15 MB of each walk. */
const SEEDS_A_THREAD = 40;

export interface Job {
  readonly from: number;
  readonly count: number;
  readonly jobs: number;
  readonly options: RunOptions;
  /** Stop at the first red seed. */
  readonly untilRed: boolean;
  /** No seed is begun after so many milliseconds. Default: all are run. */
  readonly within?: number;
}

/** All outcomes in the order of their seeds, whichever thread they come from. */
export async function runAll({
  from,
  count,
  jobs,
  options,
  untilRed,
  within = Infinity,
}: Job): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = from;
  const end = performance.now() + within;
  let reported = performance.now();
  let stopped = false;
  const take = () => (stopped || next >= from + count || performance.now() > end ? null : next++);
  const add = (outcome: Outcome) => {
    outcomes.push(outcome);
    stopped ||= untilRed && outcome.red !== null;
    if (outcome.red !== null && !untilRed) {
      console.error(`seed ${outcome.seed}: ${outcome.red.split("\n", 1)[0]}`);
    }
    if (performance.now() - reported < PROGRESS_EVERY) return;
    reported = performance.now();
    const red = outcomes.filter((one) => one.red !== null).length;
    console.error(`${outcomes.length} of ${count} seeds, ${red} red`);
  };
  if (count === 1) add(await outcomeOf(take()!, options));
  else await Promise.all(Array.from({ length: jobs }, () => runWorkers(options, take, add)));
  return outcomes.sort((a, b) => a.seed - b.seed);
}

/** One thread after the other, each with a new memory. */
async function runWorkers(
  options: RunOptions,
  take: () => number | null,
  add: (outcome: Outcome) => void,
): Promise<void> {
  for (let seed = take(); seed !== null; seed = take()) {
    await runWorker(options, seed, take, add);
  }
}

function runWorker(
  options: RunOptions,
  first: number,
  take: () => number | null,
  add: (outcome: Outcome) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./seed-worker.ts", import.meta.url), {
      workerData: options,
    });
    let left = SEEDS_A_THREAD;
    const hand = (own?: number) => {
      const seed = own ?? (--left > 0 ? take() : null);
      if (seed === null) worker.terminate().then(() => resolve(), reject);
      else worker.postMessage(seed);
    };
    worker.on("error", reject);
    worker.on("message", (outcome: Outcome) => {
      add(outcome);
      hand();
    });
    hand(first);
  });
}
