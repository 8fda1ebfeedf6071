// What is counted of plugin processes: plain numbers, for whoever measures and for whoever shows them.

import type { PluginType } from "../ports.ts";
import type { LifeState } from "./life.ts";

/** Names beyond these are counted together. */
const MAX_NAMES = 256;
export const OTHER_NAMES = "other";

export type StartResult = "ok" | "failed" | "refused";

export class PluginCounts {
  readonly starts: Record<StartResult, number> = { ok: 0, failed: 0, refused: 0 };
  restarts = 0;
  /** Lines that were printed faster than they may be logged. */
  droppedLines = 0;
}

/** By name in the catalog. */
export class ProcessFigures {
  readonly #byName = new Map<string, PluginCounts>();

  of(name: string): PluginCounts {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#byName.size >= MAX_NAMES && name !== OTHER_NAMES) return this.of(OTHER_NAMES);
    const counts = new PluginCounts();
    this.#byName.set(name, counts);
    return counts;
  }

  get all(): ReadonlyMap<string, PluginCounts> {
    return this.#byName;
  }
}

/** One process, or the place of one, as people are shown it. */
export interface ProcessReport {
  readonly type: PluginType;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly state: LifeState;
  /** Null where none runs. */
  readonly pid: number | null;
  /** Bytes; null where none runs, or that is not known. */
  readonly memory: number | null;
  readonly runner: string | null;
  readonly users: number;
  readonly restarts: number;
  /** Why it ended or did not start the last time; null where it never did. */
  readonly lastCause: string | null;
}
