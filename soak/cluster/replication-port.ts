// T-K04 on a primary as operators run it: strangers come to its cluster port while it writes and a secondary follows. The
// memory of the process stays where it was, and the secondary is no further behind than before.

import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { FIND_OWN_MODULES } from "../../scripts/quick-start.ts";
import { hostOf } from "../../src/cluster/names.ts";
import { errorText } from "../../tests/support/error-text.ts";
import {
  ClusterProcess,
  equalProcesses,
  joinProcess,
  startPrimaryProcess,
} from "../../tests/support/replication/cluster-process.ts";
import { type Result, resultOf } from "../result.ts";
import { textIn } from "./node-process.ts";
import type { StrangersOptions } from "./strangers.ts";

const STRANGERS = join(import.meta.dirname, "strangers.ts");
const QUIET = 40; // writes without strangers
const BETWEEN_MS = 20; // two writes
const LONGEST_MS = 5000;
/** What a busy machine may add to the usual lag. */
const SLOWER = 5;
const SPARE_MS = 150;
const GROWTH = 48 * 1024 * 1024;
const PAGE = 4096;

export interface ReplicationPortOptions {
  /** Strangers. */
  readonly n: number;
  readonly say: (line: string) => void;
}

export async function replicationPort({ n, say }: ReplicationPortOptions): Promise<Result> {
  const after: (() => unknown)[] = [];
  const t = { after: (work: () => unknown) => void after.push(work) } as unknown as TestContext;
  const wrong: string[] = [];
  let figure = "";
  try {
    const [a, b] = await Promise.all([startPrimaryProcess(t), ClusterProcess.start(t)]);
    await joinProcess(a, b);
    await equalProcesses(a, b);
    const set = textIn(await a.status(), "cluster_id");
    const come = (count: number) =>
      strangersFrom({ port: a.clusterPort, host: hostOf({ set, kind: "dr" }), n: count });
    const quiet: number[] = [];
    const loud: number[] = [];
    const memory: number[] = [];
    for (let i = 0; i < QUIET; i++) await lagOnce(a, b, quiet);
    say(`without strangers a write is there after ${show(quiet)}`);
    // The first of them warm up: code, buffers, the collector's own idea of how much there is.
    await each(come(Math.ceil(n / 10)), () => lagOnce(a, b, []));
    await each(come(n), async () => {
      memory.push(residentBytes(a.pid));
      await lagOnce(a, b, loud);
    });
    const quarter = Math.ceil(memory.length / 4);
    const grown = middle(memory.slice(-quarter)) - middle(memory.slice(quarter, 2 * quarter));
    const usual = middle(quiet) * SLOWER + SPARE_MS;
    const longest = Math.max(0, ...loud);
    if (grown > GROWTH) wrong.push(`memory grew by ${(grown / 1e6).toFixed(0)} MB`);
    if (middle(loud) > usual) wrong.push(`half of the writes were there after ${show(loud)}`);
    if (longest > LONGEST_MS) wrong.push(`a write was there after ${longest.toFixed(0)} ms`);
    const { secondaries } = (await a.status()) as { secondaries: { connection_status: string }[] };
    if (secondaries[0]?.connection_status !== "connected") wrong.push("the secondary is gone");
    await equalProcesses(a, b);
    figure =
      `${n} strangers, memory of the primary changed by ${(grown / 1e6).toFixed(1)} MB, ` +
      `writes are on the secondary after ${show(loud)} (before: ${show(quiet)}), ${wrong.length} wrong`;
  } catch (error) {
    wrong.push(errorText(error));
  } finally {
    for (const work of after.toReversed()) await work();
  }
  return resultOf(figure, wrong);
}

/** From a write to when the secondary says that it has it. */
async function lagOnce(a: ClusterProcess, b: ClusterProcess, times: number[]): Promise<void> {
  const began = performance.now();
  const { status, text } = await a.put("probe", "x");
  if (status !== 200) throw new Error(text);
  const { last_dr_wal: index } = await a.status();
  for (;;) {
    if (Number((await b.status())["last_remote_wal"]) >= Number(index)) break;
    if (performance.now() - began > LONGEST_MS) break;
  }
  times.push(performance.now() - began);
  await pause(BETWEEN_MS);
}

function strangersFrom(options: StrangersOptions) {
  return fork(STRANGERS, [JSON.stringify(options)], {
    execArgv: ["--no-warnings", ...FIND_OWN_MODULES],
  });
}

/** Again and again until the process has come to its end. */
async function each(child: ReturnType<typeof fork>, step: () => Promise<void>): Promise<void> {
  let isOver = false;
  void once(child, "exit").then(() => (isOver = true));
  while (!isOver) await step();
}

function residentBytes(pid: number): number {
  const [, pages = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
  return Number(pages) * PAGE;
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

function show(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(0);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${(sorted.at(-1) ?? 0).toFixed(0)} ms`;
}
