// What replication has counted since this process began: numbers for metrics, which nothing decides by.

import type { Decision } from "./stream/decision.ts";

/** How a log was gone on with when two clusters met. */
export type Resumed = "ok" | "trimmed" | "diverged";

export class ReplicationFigures {
  readonly #resumed = new Map<Resumed, number>();
  #rows = 0;
  #diffSeconds: number | null = null;
  #checkFailures = 0;

  /** At a hello. A first copy goes on with nothing, and who is refused with nothing either. */
  met({ kind }: Decision): void {
    if (kind === "resume") this.resumed("ok");
    if (kind === "diff") this.resumed("trimmed");
    if (kind === "rewind") this.resumed("diverged");
  }

  resumed(result: Resumed): void {
    this.#resumed.set(result, (this.#resumed.get(result) ?? 0) + 1);
  }

  /** Rows that were taken over without their entries. */
  took(rows: number): void {
    this.#rows += rows;
  }

  compared(seconds: number): void {
    this.#diffSeconds = seconds;
  }

  /** The trees did not add up, or were not those of the primary. */
  damaged(): void {
    this.#checkFailures++;
  }

  get reading() {
    return {
      resumed: Array.from(this.#resumed, ([result, count]) => ({ result, count })),
      rows: this.#rows,
      diffSeconds: this.#diffSeconds,
      checkFailures: this.#checkFailures,
    };
  }
}
