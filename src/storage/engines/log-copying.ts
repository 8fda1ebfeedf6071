// When SQLite's log is copied into the database. Most of it is copied by a thread of its own while commits go on;
// for the rest, and for the log to begin anew, commits wait a moment. With a view in the way it is tried again later.

import type { Done } from "./sqlite-thread.ts";

/** With so much of the usual size left the rest is copied while commits wait. */
const REST = 1 / 8;
const MAX_PASSES = 4;
/** While it is copied it grows by no more than this of it. */
const MAX_GROWTH = 1 / 2;

export interface Copier {
  copy(): Promise<Pick<Done, "logPages" | "copied">>;
}

type State = "idle" | "copying" | "copied" | "blocked";

export class LogCopying {
  readonly #copier: Copier;
  readonly #usual: number; // pages
  #state: State = "idle";
  #began = 0; // pages of the log then
  #work: Promise<void> | null = null;

  constructor(copier: Copier, usual: number) {
    this.#copier = copier;
    this.#usual = usual;
  }

  /**
   * Called before a commit, when the log has more than its usual size. "go on": commit, the log is being copied.
   * "finish": commit after the rest of it is copied. "later": somebody needs what it holds.
   */
  async next(logPages: number): Promise<"go on" | "finish" | "later"> {
    if (this.#state === "idle") {
      this.#state = "copying";
      this.#began = logPages;
      this.#work = this.#copy();
    }
    // Who writes faster than it is copied waits: the log is bounded.
    if (logPages - this.#began >= this.#usual * MAX_GROWTH) await this.#work;
    if (this.#state === "copying") return "go on";
    const blocked = this.#state === "blocked";
    this.#state = "idle";
    return blocked ? "later" : "finish";
  }

  /** Resolves when nothing is being copied. */
  async ended(): Promise<void> {
    await this.#work;
  }

  async #copy(): Promise<void> {
    let before = -1;
    for (let pass = 0; pass < MAX_PASSES; pass++) {
      const { logPages, copied = 0 } = await this.#copier.copy().catch(() => FAILED);
      if (logPages - copied <= this.#usual * REST) break;
      if (copied <= before) {
        this.#state = "blocked";
        return;
      }
      before = copied;
    }
    this.#state = "copied";
  }
}

/** Whoever asks next hears of it: nothing works after it. */
const FAILED = { logPages: 0, copied: 0 };
