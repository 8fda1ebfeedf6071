// npm run sim -- --seeds N [--from S] [--jobs J] [--follow] [--plant NAME]    runs N seeds
// npm run sim -- --seed S [--trace] [--follow] [--plant NAME]                 runs one, and shows what happened
//
// With --follow a second machine follows the first, and is compared with it.
//
// Exit code 1 when a seed is red; with a planted bug, when none is.

import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { FAULTS } from "./faults.ts";
import { PLANTS } from "./plants.ts";
import type { SeedOptions } from "./scenario.ts";
import { type Outcome, outcomeOf } from "./seed-worker.ts";
import { SECOND } from "./world.ts";

const MAX_DETAILED = 3; // red seeds with all detail: many mostly have one cause
const PROGRESS_EVERY = 10_000; // milliseconds

interface Job {
  readonly from: number;
  readonly count: number;
  readonly jobs: number;
  readonly options: SeedOptions;
  /** Stop at the first red seed. */
  readonly untilRed: boolean;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "200" },
      from: { type: "string", default: "1" },
      seed: { type: "string" },
      jobs: { type: "string", default: String(availableParallelism()) },
      plant: { type: "string" },
      follow: { type: "boolean", default: false },
      trace: { type: "boolean", default: false },
      "expect-red": { type: "boolean", default: false },
    },
  });
  const { plant, trace, follow } = values;
  if (plant !== undefined && PLANTS[plant] === undefined) {
    console.error(
      `no planted bug is called ${plant}; there are: ${Object.keys(PLANTS).join(", ")}`,
    );
    return 2;
  }
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const jobs = count === 1 ? 1 : Number(values.jobs);
  if (![from, count, jobs].every(Number.isSafeInteger) || count < 1 || jobs < 1) {
    console.error("--seeds, --from, --seed and --jobs take whole numbers");
    return 2;
  }
  const expectsRed = values["expect-red"] || plant !== undefined;
  const planted = plant === undefined ? {} : { plant };
  const print = trace ? { print: (line: string) => void process.stdout.write(line) } : {};
  const options = { ...planted, ...print, follow };

  const began = performance.now();
  const outcomes = await runAll({ from, count, jobs, options, untilRed: expectsRed });
  const seconds = (performance.now() - began) / 1000;
  const red = outcomes.filter((outcome) => outcome.red !== null);
  const how = (follow ? " --follow" : "") + (plant === undefined ? "" : ` --plant ${plant}`);
  red.slice(0, MAX_DETAILED).forEach((outcome) => report(outcome, how));
  if (red.length > MAX_DETAILED) {
    const others = red.slice(MAX_DETAILED).map(({ seed }) => seed);
    console.log(`also red: ${others.join(" ")}`);
  }
  if (plant === undefined && count > 1) reportCoverage(outcomes);
  summarise(outcomes, seconds);
  return expectsRed === red.length > 0 ? 0 : 1;
}

/** All outcomes in the order of their seeds, whichever thread they come from. */
async function runAll({ from, count, jobs, options, untilRed }: Job): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = from;
  let reported = performance.now();
  let stopped = false;
  const take = () => (stopped || next >= from + count ? null : next++);
  const add = (outcome: Outcome) => {
    outcomes.push(outcome);
    stopped ||= untilRed && outcome.red !== null;
    if (performance.now() - reported < PROGRESS_EVERY) return;
    reported = performance.now();
    const red = outcomes.filter((one) => one.red !== null).length;
    console.error(`${outcomes.length} of ${count} seeds, ${red} red`);
  };
  if (jobs === 1) {
    for (let seed = take(); seed !== null; seed = take()) add(await outcomeOf(seed, options));
  } else {
    await Promise.all(Array.from({ length: jobs }, () => runWorker(options, take, add)));
  }
  return outcomes.sort((a, b) => a.seed - b.seed);
}

function runWorker(
  options: SeedOptions,
  take: () => number | null,
  add: (outcome: Outcome) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./seed-worker.ts", import.meta.url), {
      workerData: options,
    });
    const hand = () => {
      const seed = take();
      if (seed === null) worker.terminate().then(() => resolve(), reject);
      else worker.postMessage(seed);
    };
    worker.on("error", reject);
    worker.on("message", (outcome: Outcome) => {
      add(outcome);
      hand();
    });
    hand();
  });
}

function report({ seed, red, hash }: Outcome, how: string): void {
  console.log(`seed ${seed} is red: ${red}`);
  console.log(`trace ${hash}; again: npm run sim -- --seed ${seed}${how} --trace`);
}

/** What the seeds did not reach, they did not test. */
function reportCoverage(outcomes: readonly Outcome[]): void {
  const met = new Set(outcomes.flatMap((outcome) => [...outcome.met]));
  const operations = new Set([...met].map((pair) => pair.slice(0, pair.indexOf(" × "))));
  const faults = FAULTS.filter((fault) => fault !== "lull"); // comes when nothing is under way
  const pairs = [...operations].flatMap((name) => faults.map((fault) => `${name} × ${fault}`));
  const missed = pairs.filter((pair) => !met.has(pair));
  const some = missed.length > 12 ? [...missed.slice(0, 12), "…"] : missed;
  const never = missed.length === 0 ? "" : `; never: ${some.join(", ")}`;
  console.log(
    `met ${pairs.length - missed.length} of ${pairs.length} pairs operation × fault${never}`,
  );
}

function summarise(outcomes: readonly Outcome[], seconds: number): void {
  const sum = (pick: (outcome: Outcome) => number) =>
    outcomes.reduce((total, outcome) => total + pick(outcome), 0);
  const traces = createHash("sha256");
  for (const { hash } of outcomes) traces.update(hash);
  const followed = (pick: keyof NonNullable<Outcome["following"]>) =>
    sum((outcome) => outcome.following?.[pick] ?? 0);
  if (outcomes.some(({ following }) => following !== null)) {
    console.log(
      `followed: ${followed("applied")} entries applied, ${followed("refused")} wrong groups refused, ` +
        `${followed("crashes")} crashes of followers`,
    );
  }
  const simulated = sum((outcome) => outcome.simulated) / SECOND;
  const red = sum((outcome) => (outcome.red === null ? 0 : 1));
  console.log(
    `seeds ${outcomes[0]?.seed}..${outcomes.at(-1)?.seed}: ${red} red; ` +
      `${sum((outcome) => outcome.operations)} operations, ${sum((outcome) => outcome.crashes)} crashes, ` +
      `${simulated.toFixed(0)} s simulated in ${seconds.toFixed(1)} s ` +
      `(${(simulated / seconds).toFixed(0)} : 1, ${(outcomes.length / seconds).toFixed(0)} seeds/s); ` +
      `traces ${traces.digest("hex")}`,
  );
}

process.exitCode = await main();
