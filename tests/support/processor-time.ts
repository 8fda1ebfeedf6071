// Time on a processor, of this thread alone: what a test may judge by on a machine that has other work.

import { nextTurn } from "./fake-world.ts";

/** In milliseconds. */
export function processorTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The longest stretch between two turns of the event loop while something is done, in milliseconds. */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  const state = { done: false };
  const working = work().finally(() => void (state.done = true));
  for (let last = processorTime(); !state.done;) {
    await nextTurn();
    const now = processorTime();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await working;
  return longest;
}
