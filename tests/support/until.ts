// Waiting for something that a test has set off: by turns, and not for ever.

import assert from "node:assert/strict";
import { nextTurn } from "./fake-world.ts";

const WITHIN_MS = 120_000; // what comes, comes in a few turns, but for a machine that has no processor for us; what does not come is a failure
const TURNS_AT_ONCE = 1000; // then somebody else is worked for, and gets the processor
const ASKING_MS = 100; // whoever asks a server has used so much of the processor by then that others wait for it
const LATE = 0.1; // of what was waited for already: what takes seconds is not asked for two hundred times in each of them
const LONGEST_PAUSE_MS = 25;

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const begun = performance.now();
  for (let turns = 0; !(await holds()); turns++) {
    const passed = performance.now() - begun;
    assert.ok(passed < WITHIN_MS, `this never came: ${String(holds)}`);
    if (turns < TURNS_AT_ONCE && passed < ASKING_MS) await nextTurn();
    else {
      const pause = Math.min(LONGEST_PAUSE_MS, Math.max(5, passed * LATE));
      await new Promise((resolve) => void setTimeout(resolve, pause));
    }
  }
}
