// The life of one seat for a process, as a value: whether there is one, and when the next may start after it has failed. What
// is done about it stands in seat.ts.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";

export type LifeState = "absent" | "starting" | "ready" | "stopping" | "waiting";

/** Who lives so long, or is left alone so long, has not failed. */
export const GOOD_WHILE: Nanos = MINUTE;
const LONGEST_PAUSE: Nanos = 60n * SECOND;

export type Wanted =
  | { readonly kind: "start" }
  /** Somebody starts it, or it is there. */
  | { readonly kind: "join" }
  /** It stops: wait for that, and ask again. */
  | { readonly kind: "later" }
  | { readonly kind: "refused"; readonly wait: Nanos };

export class Life {
  #state: Exclude<LifeState, "waiting"> = "absent";
  /** One after another, without a good while between them. */
  #failures = 0;
  #failedAt: Nanos = 0n;
  #since: Nanos = 0n; // in this state
  #starts = 0;

  /** Also for people: "waiting" where it failed, and is not started yet. */
  state(now: Nanos): LifeState {
    return this.#state === "absent" && this.#left(now) > 0n ? "waiting" : this.#state;
  }

  /** Whether what has failed still counts for the next start. */
  remembers(now: Nanos): boolean {
    return this.#failures > 0 && now - this.#failedAt - this.#pause < GOOD_WHILE;
  }

  /** How often it was started after it had ended. */
  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  /** Somebody needs it. */
  want(now: Nanos): Wanted {
    switch (this.#state) {
      case "starting":
      case "ready":
        return { kind: "join" };
      case "stopping":
        return { kind: "later" };
      case "absent": {
        const wait = this.#left(now);
        if (wait > 0n) return { kind: "refused", wait };
        if (!this.remembers(now)) this.#failures = 0;
        return { kind: "start" };
      }
    }
  }

  starts(now: Nanos): void {
    this.#starts++;
    this.#turn("starting", now);
  }

  ready(now: Nanos): void {
    this.#turn("ready", now);
  }

  stops(now: Nanos): void {
    this.#turn("stopping", now);
  }

  /** It is gone as it was to be, or was refused before anything ran. */
  stopped(now: Nanos): void {
    this.#turn("absent", now);
  }

  /** It could not be started, or ended by itself. */
  failed(now: Nanos): void {
    if (this.#state === "ready" && now - this.#since >= GOOD_WHILE) this.#failures = 0;
    this.#failures++;
    this.#failedAt = now;
    this.#turn("absent", now);
  }

  /** 0, 1, 2, 4 … 60 s. */
  get #pause(): Nanos {
    if (this.#failures < 2) return 0n;
    const pause = SECOND << BigInt(Math.min(this.#failures - 2, 6));
    return pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
  }

  #left(now: Nanos): Nanos {
    const left = this.#failedAt + this.#pause - now;
    return left > 0n ? left : 0n;
  }

  #turn(state: Exclude<LifeState, "waiting">, now: Nanos): void {
    this.#state = state;
    this.#since = now;
  }
}
