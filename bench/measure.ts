// The arithmetic of measuring: warm-up and rounds, rates, latencies, medians.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { referenceMillis } from "./machine.ts";
import { type Context, NotMeasured } from "./row.ts";

/** No request may hold the event loop longer, nor may the work behind them. */
export const LONGEST_BLOCK_MS = 50;

const ROUNDS = 5;
/** The runtime goes on compiling what is hot: after six seconds a server wrote a third more than after two. */
const WARM_UP = 3;
const MAX_TRIED = 120; // rounds, with --quiet
const LOOK_EVERY = 200; // ms
const MAX_LOOKS = 900; // three minutes
const BATCH = 64; // calls between two looks at the clock
const PROBE_EVERY = 0.1; // ms between two requests that ask for a turn

/** Some rounds to warm up, which are thrown away, then some that count. */
export async function rounds<T>(context: Context, round: () => T | Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const wanted = context.quick ? 2 : ROUNDS;
  for (let i = 0; i < (context.quick ? 1 : WARM_UP); i++) await round();
  for (let tried = 0; results.length < wanted; tried++) {
    if (tried === MAX_TRIED) throw new NotMeasured(neverQuiet(results.length, tried));
    await untilQuiet(context);
    const result = await round();
    if (isQuiet(context)) results.push(result);
  }
  return results;
}

/** Whether the machine does a fixed piece of work as fast as it did at its best. */
function isQuiet({ quietMillis }: Context): boolean {
  return quietMillis === undefined || referenceMillis() <= quietMillis;
}

async function untilQuiet(context: Context): Promise<void> {
  for (let looked = 0; !isQuiet(context); looked++) {
    if (looked === MAX_LOOKS) throw new NotMeasured(neverQuiet(0, looked));
    await pause(LOOK_EVERY);
  }
}

function neverQuiet(quiet: number, of: number): string {
  return `others were busy on this machine: of ${of} tries ${quiet} found it quiet`;
}

/** How long one round of repeated work lasts. */
export function roundMillis(context: Context, full = 1000): number {
  return context.quick ? 30 : full;
}

/** Calls per second of synchronous work, repeated for about `millis`. */
export function callsPerSecond(millis: number, call: () => void): number {
  const began = performance.now();
  let calls = 0;
  let elapsed = 0;
  while (elapsed < millis) {
    for (let i = 0; i < BATCH; i++) call();
    calls += BATCH;
    elapsed = performance.now() - began;
  }
  return (calls * 1000) / elapsed;
}

export function microsPerCall(millis: number, call: () => void): number {
  return 1_000_000 / callsPerSecond(millis, call);
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

/** The value at a rank, interpolated between neighbours. */
export function quantile(samples: readonly number[], rank: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * rank;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

/** Hands out the given values in an order that looks random and is the same every time. */
export function shuffledForever<T>(values: readonly T[], seed = 1): () => T {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return values[Math.floor((state / 0x1_0000_0000) * values.length)]!;
  };
}

export interface Probed {
  /** How long the call itself took, in ms. */
  readonly calls: number[];
  /** From the moment a request came in until its call had returned, in ms. */
  readonly answers: number[];
}

/**
 * Calls once per turn of the event loop for `millis`, as requests would that come in every 100 µs:
 * those that came in while the loop was busy have waited since, and are counted so.
 */
export async function probe(millis: number, call: () => void): Promise<Probed> {
  const calls: number[] = [];
  const answers: number[] = [];
  const end = performance.now() + millis;
  let due = performance.now();
  while (due < end) {
    await new Promise((resolve) => setImmediate(resolve));
    const began = performance.now();
    call();
    const done = performance.now();
    calls.push(done - began);
    for (; due < began; due += PROBE_EVERY) answers.push(done - due);
  }
  return { calls, answers };
}
