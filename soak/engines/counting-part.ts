// The engine that counts inside a real server process: what it makes outside is written to a journal
// that outlives the process, rollback looks more often than every minute, and at a step of choice the
// process ends itself with SIGKILL.

import { anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Mounts } from "../../src/mounts/mounts.ts";
import { countingEngine } from "../../tests/support/stores/counting-engine.ts";
import { type Outside, outsideInFile, type Step } from "../../tests/support/stores/outside.ts";

export interface CountingPartOptions {
  readonly journal: string;
  /** Ends the process at the n-th arrival at a step, counted from SIGUSR2. Default: it lives on. */
  readonly die?: { readonly step: Step; readonly nth: number; readonly armed: boolean };
  /** Rollback says that it has undone what it has not; or a revocation holds up everything else. */
  readonly plant?: "no-undo" | "blocking";
}

// Longer than a request takes. One that takes longer is refused, and its secret is ended: that is safe.
const MIN_UNDO_AGE = 500n * MILLISECOND;
const TICK_MS = 100;
const BLOCKED_MS = 5;

export function countingType(options: CountingPartOptions): EngineType<unknown> {
  const { journal, die, plant } = options;
  const outside = outsideInFile(journal);
  if (die !== undefined) {
    let [armed, left] = [die.armed, die.nth];
    process.on("SIGUSR2", () => (armed = true));
    outside.happen(die.step, () => {
      if (armed && --left === 0) process.kill(process.pid, "SIGKILL");
    });
  }
  if (plant === "blocking") outside.happen("revoke", block);
  return countingIn(outside, plant === "no-undo");
}

/** `neverUndoes`: it says that it has undone what it has not. */
export function countingIn(outside: Outside, neverUndoes: boolean): EngineType<unknown> {
  const type = countingEngine(outside, { minUndoAge: MIN_UNDO_AGE });
  return anyEngine(neverUndoes ? { ...type, undo: { object: async () => {} } } : type);
}

export function tickOften(mounts: Pick<Mounts, "tick">): void {
  setInterval(() => void mounts.tick(), TICK_MS);
}

function block(): void {
  for (const end = performance.now() + BLOCKED_MS; performance.now() < end;);
}
