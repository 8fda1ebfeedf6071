// Disks that fail: the n-th call of each kind that can change the disk fails, for every n of a fixed workload.
// After the first failure that reaches us nothing is acknowledged, the process ends with the cause
// within a second, and a start without faults finds every acknowledged write.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { discard, scratch, startTarget } from "../child.ts";
import { countAcks, Ledger } from "../ledger.ts";
import { openStore } from "../opened.ts";
import type { Result } from "../result.ts";
import { type Fault, type FaultKind, readCounts, readFired, shimEnv } from "./shim.ts";
import { readTrace, type TraceRecord } from "./trace.ts";

const CLIENTS = 2;
const WRITES = 6;
const LARGEST = 8000;
const CHECKPOINT_BYTES = 64 * 1024;
const WITHIN_MS = 1000;
const ENOUGH = 6; // complaints

export interface FsyncfailOptions {
  /** Every n-th call only. Default 1: all of them. */
  readonly stride?: number;
  readonly plant?: "swallow-errors";
  readonly say: (line: string) => void;
}

const OUTCOMES: Readonly<Partial<Record<FaultKind, readonly Fault["outcome"][]>>> = {
  sync: ["EIO", "ENOSPC"],
  write: ["EIO", "ENOSPC", "short"],
  truncate: ["EIO"],
  rename: ["EIO"],
};

export async function fsyncfail(options: FsyncfailOptions): Promise<Result> {
  const stride = options.stride ?? 1;
  const counts = await countCalls();
  const said = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  options.say(`the workload makes ${said.join(", ")} calls`);
  let runs = 0;
  let stopped = 0;
  let harmless = 0;
  const wrong: string[] = [];
  const enough = options.plant === undefined ? ENOUGH : 1;
  for (const [kind, outcomes] of Object.entries(OUTCOMES) as [FaultKind, Fault["outcome"][]][]) {
    for (const outcome of outcomes) {
      for (let nth = 1; nth <= counts[kind] && wrong.length < enough; nth += stride) {
        const fault: Fault = { kind, nth, outcome };
        const { complaint, fired } = await tryFault(fault, options.plant);
        runs++;
        if (fired === "stopped") stopped++;
        if (fired === "harmless") harmless++;
        if (complaint !== null) wrong.push(`${kind} ${nth} ${outcome}: ${complaint}`);
        if (runs % 50 === 0) options.say(`${runs} faults, ${stopped} ended the process`);
      }
    }
  }
  const figure = `${runs} faults: ${stopped} ended the process with the cause, ${harmless} changed nothing, ${wrong.length} bad`;
  if (stopped === 0) wrong.push("no fault ended the process: the experiment does not reach it");
  return wrong.length === 0
    ? { ok: true, figure }
    : { ok: false, figure, detail: wrong.join("\n") };
}

const target = (directory: string, plant?: "swallow-errors") => ({
  directory,
  clients: CLIENTS,
  writes: WRITES,
  largest: LARGEST,
  checkpointBytes: CHECKPOINT_BYTES,
  ackFile: true,
  ...(plant === undefined ? {} : { plant }),
});

async function countCalls(): Promise<Record<FaultKind, number>> {
  const place = scratch("fsyncfail");
  try {
    const directory = join(place, "store");
    const count = join(place, "count");
    mkdirSync(directory, { mode: 0o700 });
    const end = await startTarget(target(directory), () => {}, shimEnv({ directory, count })).ended;
    if (end.code !== 0)
      throw new Error(`the run without faults ended with ${end.code}\n${end.errors}`);
    return readCounts(count);
  } finally {
    discard(place);
  }
}

async function tryFault(fault: Fault, plant?: "swallow-errors") {
  const place = scratch("fsyncfail");
  try {
    const directory = join(place, "store");
    const [trace, fired] = [join(place, "trace"), join(place, "fired")];
    mkdirSync(directory, { mode: 0o700 });
    const env = shimEnv({ directory, trace, fail: fault, fired });
    const end = await startTarget(target(directory, plant), () => {}, env).ended;
    const firing = readFired(fired)[0];
    if (firing === undefined) return { complaint: null, fired: "not reached" as const };
    const records = [...readTrace(trace)];
    const complaints: string[] = [];
    const acknowledged = acksOf(records);
    const after = acksOf(records.slice(records.findIndex(isInjected) + 1));
    if (end.signal !== null) complaints.push(`died of ${end.signal}`);
    // SQLite and we may live with a call that failed, such as a truncation that only saves space:
    // then the whole workload must have gone through. Nothing in between.
    const harmless = end.code === 0 && acknowledged.length === CLIENTS * WRITES;
    if (!harmless) {
      if (end.code !== 1)
        complaints.push(`ended with ${end.code} and ${acknowledged.length} writes told`);
      if (!/^stopped: ./m.test(end.errors)) complaints.push("named no cause");
      if (after.length > 0) complaints.push(`${after.length} writes told after the failure`);
      if (end.at - firing.at > WITHIN_MS) complaints.push(`took ${end.at - firing.at} ms to end`);
    }
    complaints.push(...(await verify(directory, acknowledged)));
    const complaint =
      complaints.length === 0 ? null : `${firing.call} of ${firing.path}: ${complaints.join("; ")}`;
    return { complaint, fired: harmless ? ("harmless" as const) : ("stopped" as const) };
  } finally {
    discard(place);
  }
}

function isInjected(record: TraceRecord): boolean {
  return (record.type === "failed" && record.injected) || (record.type === "write" && record.cut);
}

function acksOf(records: readonly TraceRecord[]): string[] {
  return records.flatMap((record) => (record.type === "ack" ? [record.text] : []));
}

async function verify(directory: string, acknowledged: readonly string[]): Promise<string[]> {
  const { store, barrier, close } = await openStore({ directory });
  try {
    const wrong = new Ledger(barrier, LARGEST).verify(countAcks(acknowledged), CLIENTS);
    if (!(await store.check()).ok) wrong.push("the check is not clean");
    return wrong;
  } finally {
    await close();
  }
}
