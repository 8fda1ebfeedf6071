// Time on a processor, of this thread alone: what a test may judge by on a machine that has other work.

import assert from "node:assert/strict";
import { nextTurn } from "./fake-world.ts";

/** In milliseconds: for so long at most one request may keep the others waiting. */
const LONGEST_TURN = 50;
/** What is ours comes again every time, what is the machine's does not. */
const TRIES = 16;
/** What the yardstick takes on the machine that the limit was written for, in milliseconds. */
const YARDSTICK = 4;
/** A machine that is slower than that gives a larger limit, up to here. */
const SLOWEST = 4;

/** In milliseconds. */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The longest stretch between two turns of the event loop while something is done, in milliseconds. */
async function longestBlock(work: () => unknown): Promise<number> {
  let longest = 0;
  let last = processorTime();
  const state = { done: false };
  const working = (async () => work())().finally(() => void (state.done = true));
  while (!state.done) {
    await nextTurn();
    const now = processorTime();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await working;
  return longest;
}

/**
 * Holds for work that takes no turn longer than a moment. A slow day does not make it fail: the quickest of
 * many tries counts, beside what a known piece of work takes on this machine at this moment. What each try
 * needs for itself is prepared outside of what is measured.
 */
export async function keepsNobodyWaiting<T = void>(
  what: string,
  work: (prepared: T) => unknown,
  prepare?: () => Promise<T>,
): Promise<void> {
  const seen: string[] = [];
  for (let i = 0; i < TRIES; i++) {
    const prepared = (await prepare?.()) as T;
    const took = await longestBlock(() => work(prepared));
    if (took < LONGEST_TURN) return;
    const limit = LONGEST_TURN * slowness();
    if (took < limit) return;
    seen.push(`${took.toFixed(0)} of ${limit.toFixed(0)}`);
  }
  assert.fail(`${what}: ${seen.join(", ")} ms in one turn`);
}

/** Holds for work that is done at once within so many milliseconds of a processor; judged in the same way. */
export function takesAtMost(limit: number, work: () => unknown): void {
  const seen: string[] = [];
  for (let i = 0; i < TRIES; i++) {
    const began = processorTime();
    work();
    const took = processorTime() - began;
    if (took < limit || took < limit * slowness()) return;
    seen.push(took.toFixed(0));
  }
  assert.fail(`${seen.join(", ")} ms and not ${limit}`);
}

/** How many times as long as it should a known piece of work takes now: 1 to 4. */
function slowness(): number {
  const took = Math.min(...Array.from({ length: 3 }, yardstick));
  return Math.min(SLOWEST, Math.max(1, took / YARDSTICK));
}

const TEXT = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ name: `n${i}`, at: i })));

function yardstick(): number {
  const began = processorTime();
  assert.equal(JSON.parse(TEXT).length, 20_000);
  return processorTime() - began;
}
