// npm run sim -- --seeds N [--from S] [--jobs J] [--follow] [--plant NAME]    runs N seeds
// npm run sim -- --seed S [--trace] [--follow] [--plant NAME]                 runs one, and shows what happened
//
// With --follow a second machine follows the first, and is compared with it. With --clusters [--steps N] each seed is a walk of
// two or three whole clusters that replicate; with --regions, of clusters that share data and have some of their own; with --five, of
// five that do both, with filters. With --minutes M no seed is begun after M minutes.
//
// Exit code 1 when a seed is red; with a planted bug, when none is.

import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { CLUSTER_PLANTS } from "./clusters/plants.ts";
import { FAULTS } from "./faults.ts";
import { PLANTS } from "./plants.ts";
import { runAll } from "./pool.ts";
import type { Outcome } from "./seed-worker.ts";
import { SECOND } from "./world.ts";

const MAX_DETAILED = 3; // red seeds with all detail: many mostly have one cause

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "200" },
      from: { type: "string", default: "1" },
      seed: { type: "string" },
      jobs: { type: "string", default: String(availableParallelism()) },
      plant: { type: "string" },
      follow: { type: "boolean", default: false },
      clusters: { type: "boolean", default: false },
      regions: { type: "boolean", default: false },
      five: { type: "boolean", default: false },
      minutes: { type: "string" },
      steps: { type: "string", default: "1000" },
      trace: { type: "boolean", default: false },
      "expect-red": { type: "boolean", default: false },
    },
  });
  const { plant, trace, follow, regions, five } = values;
  const clusters = values.clusters || regions || five;
  const plants = Object.keys(clusters ? CLUSTER_PLANTS : PLANTS);
  if (plant !== undefined && !plants.includes(plant)) {
    console.error(`no planted bug is called ${plant}; there are: ${plants.join(", ")}`);
    return 2;
  }
  const from = Number(values.seed ?? values.from);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const jobs = count === 1 ? 1 : Number(values.jobs);
  const steps = Number(values.steps);
  const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
  if (!(minutes > 0)) {
    console.error("--minutes takes a number above 0");
    return 2;
  }
  if (![from, count, jobs, steps].every(Number.isSafeInteger) || count < 1 || jobs < 1) {
    console.error("--seeds, --from, --seed, --steps and --jobs take whole numbers");
    return 2;
  }
  const expectsRed = values["expect-red"] || plant !== undefined;
  const planted = plant === undefined ? {} : { plant };
  const print = trace ? { print: (line: string) => void process.stdout.write(line) } : {};
  const set = regions ? { kind: "performance" as const } : five ? { kind: "both" as const } : {};
  const options = { ...planted, ...print, ...set, follow, clusters, steps };

  const began = performance.now();
  const outcomes = await runAll({
    from,
    count,
    jobs,
    options,
    untilRed: expectsRed,
    within: minutes * 60_000,
  });
  const seconds = (performance.now() - began) / 1000;
  const red = outcomes.filter((outcome) => outcome.red !== null);
  const walk = regions ? "--regions" : five ? "--five" : "--clusters";
  const kind = clusters ? ` ${walk} --steps ${steps}` : follow ? " --follow" : "";
  const how = kind + (plant === undefined ? "" : ` --plant ${plant}`);
  red.slice(0, MAX_DETAILED).forEach((outcome) => report(outcome, how));
  if (red.length > MAX_DETAILED) {
    const others = red.slice(MAX_DETAILED).map(({ seed }) => seed);
    console.log(`also red: ${others.join(" ")}`);
  }
  if (clusters) reportCounts(outcomes);
  else if (plant === undefined && count > 1) reportCoverage(outcomes);
  summarise(outcomes, seconds);
  if (clusters) {
    const taken = outcomes.reduce((sum, { operations }) => sum + operations, 0);
    console.log(`${taken} steps, ${(taken / seconds).toFixed(1)} steps/s`);
  }
  return expectsRed === red.length > 0 ? 0 : 1;
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

function reportCounts(outcomes: readonly Outcome[]): void {
  const all = new Map<string, number>();
  for (const { counts = {} } of outcomes) {
    for (const [name, count] of Object.entries(counts)) all.set(name, (all.get(name) ?? 0) + count);
  }
  const texts = [...all].toSorted(([a], [b]) => (a < b ? -1 : 1)).map((one) => one.join(" "));
  console.log(texts.join(", "));
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
