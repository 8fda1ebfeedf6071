// The engine that counts as a plugin, in a process of its own: at a step of choice it ends the server, or itself.

import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { outsideInFile, type Step } from "../../tests/support/stores/outside.ts";
import { countingIn } from "./counting-part.ts";

export interface Death {
  readonly whose: "server" | "plugin";
  readonly step: Step;
  /** At the n-th arrival at the step, counted from when the file was there. */
  readonly nth: number;
}

/** In the folder that is the plugin's first argument. A death that has come is renamed: it comes once. */
export const DEATH = "death";
export const DIED = "died";
export const JOURNAL = "outside";
const STEPS: readonly Step[] = ["issue", "recorded", "made", "revoke", "revoked", "undo", "undone"];

export function countingPlugin(): EngineType<unknown> {
  const [, , folder = "", plant] = process.argv;
  const outside = outsideInFile(join(folder, JOURNAL));
  let arrivals = 0;
  for (const step of STEPS) {
    outside.happen(step, () => {
      const death = deathIn(folder);
      if (death?.step === step && ++arrivals === death.nth) die(folder, death);
    });
  }
  return countingIn(outside, plant === "no-undo");
}

function deathIn(folder: string): Death | null {
  try {
    return JSON.parse(readFileSync(join(folder, DEATH), "utf8")) as Death;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function die(folder: string, { whose }: Death): void {
  renameSync(join(folder, DEATH), join(folder, DIED));
  process.kill(whose === "server" ? process.ppid : process.pid, "SIGKILL");
  for (;;); // we end with the server, and get no further until then
}
