// Gets once per turn of the event loop, first alone, then beside writers. Whether syncs are slow is
// decided by the environment that this program is started in.

import { bytesCodec } from "@holdfast/shared/codec";
import type { View } from "../../src/barrier/view.ts";
import { writeFor } from "../commits.ts";
import { recordName, VALUE_BYTES } from "./filled-store.ts";
import { type Probed, probe, quantile, shuffledForever } from "../measure.ts";
import { withStore } from "./opened-store.ts";
import { answer } from "../processes.ts";

const FILL_ROWS = 5000;

export interface SlowSyncInput {
  readonly directory: string;
  readonly writers: number;
  readonly entries: number;
  /** Of one round. */
  readonly millis: number;
  readonly rounds: number;
}

/** One figure per round, all in µs. */
export interface Reads {
  readonly callP99: readonly number[];
  readonly maxCall: readonly number[];
  readonly answerP99: readonly number[];
}

export interface SlowSyncFigures {
  readonly quiet: Reads;
  readonly busy: Reads;
  readonly commitsPerSecond: readonly number[];
}

function readsOf(rounds: readonly Probed[]): Reads {
  const micros = (samples: readonly number[], rank: number) => 1000 * quantile(samples, rank);
  return {
    callP99: rounds.map(({ calls }) => micros(calls, 0.99)),
    maxCall: rounds.map(({ calls }) => micros(calls, 1)),
    answerP99: rounds.map(({ answers }) => micros(answers, 0.99)),
  };
}

async function fill(view: View, names: readonly string[]): Promise<void> {
  const value = Buffer.alloc(VALUE_BYTES, "holdfast ");
  for (let at = 0; at < names.length; at += FILL_ROWS) {
    await view.write((tx) => {
      for (const key of names.slice(at, at + FILL_ROWS)) tx.put(key, value, bytesCodec);
    });
  }
}

async function measure(view: View, input: SlowSyncInput): Promise<SlowSyncFigures> {
  const { writers, entries, millis, rounds } = input;
  const keys = Array.from({ length: entries }, (_, n) => recordName(n));
  await fill(view, keys);
  const next = shuffledForever(keys);
  const get = () => {
    if (view.get(next(), bytesCodec) === null) throw new Error("a key is not there");
  };
  const quiet: Probed[] = [];
  const busy: Probed[] = [];
  const commitsPerSecond: number[] = [];
  for (let i = 0; i <= rounds; i++) {
    const alone = await probe(millis, get);
    const write = writeFor(millis, writers, view);
    const beside = await probe(millis, get);
    const { perSecond } = await write;
    if (i === 0) continue; // warm-up
    quiet.push(alone);
    busy.push(beside);
    commitsPerSecond.push(perSecond);
  }
  return { quiet: readsOf(quiet), busy: readsOf(busy), commitsPerSecond };
}

await answer((input: SlowSyncInput) =>
  withStore(input.directory, { cacheBytes: 0 }, ({ barrier }) => {
    return measure(barrier.view("shared/records/"), input);
  }),
);
