// What goes wrong with single calls of the fake of cloud B, as a test orders it: refusals, lost answers,
// resets, waiting. A fault names an action, a surface or "*", and how often it strikes.

import type { Surface } from "./model.ts";

export type Effect =
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly code: string;
      readonly message?: string;
      readonly details?: readonly { readonly code: string; readonly message: string }[];
      readonly retryAfter?: number;
    }
  | { readonly kind: "throttle"; readonly retryAfter?: number } // 429
  | { readonly kind: "unavailable"; readonly retryAfter?: number } // 503
  | { readonly kind: "reset" } // before the effect
  | { readonly kind: "lost" } // after the effect: the dangerous one
  | { readonly kind: "delay"; readonly milliseconds: number } // before the effect
  | { readonly kind: "hold"; readonly when: "before" | "after" } // until released, or the caller is gone
  | { readonly kind: "hang" } // after the effect no answer ever comes
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "garbage" } // 200, and no JSON
  | { readonly kind: "lie" } // 200 with the body of a refusal, and no effect
  | { readonly kind: "huge"; readonly bytes: number } // after the effect
  | { readonly kind: "echo"; readonly status: number }; // a refusal that repeats every secret it was sent

export interface FaultOptions {
  readonly action: string;
  readonly effect: Effect;
  /** How often it strikes; 0: for ever. Default 1. */
  readonly times?: number;
  /** How many fitting calls go well first. Default 0. */
  readonly skip?: number;
  /** It strikes each n-th fitting call. Default 1. */
  readonly every?: number;
}

interface Fault {
  readonly action: string;
  readonly effect: Effect;
  readonly every: number;
  left: number;
  skip: number;
  fitting: number;
}

export class Faults {
  #faults: Fault[] = [];

  add({ action, effect, times = 1, skip = 0, every = 1 }: FaultOptions): void {
    const left = times === 0 ? Infinity : times;
    this.#faults.push({ action, effect, every, left, skip, fitting: 0 });
  }

  clear(): void {
    this.#faults = [];
  }

  /** The first that strikes this call. */
  strike(surface: Surface, action: string): Effect | null {
    let struck: Effect | null = null;
    for (const fault of this.#faults) {
      if (!["*", surface, action].includes(fault.action)) continue;
      if (fault.skip > 0) {
        fault.skip--;
        continue;
      }
      const strikes = fault.fitting++ % fault.every === fault.every - 1;
      if (struck !== null || !strikes || fault.left === 0) continue;
      fault.left--;
      struck = fault.effect;
    }
    this.#faults = this.#faults.filter(({ left }) => left > 0);
    return struck;
  }
}

/** Calls that are held, each until it is let go. */
export class Held {
  readonly #waiting = new Map<number, () => void>();
  readonly #watchers = new Set<() => void>();

  /** False: the caller went away meanwhile. */
  hold(call: number, gone: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (released: boolean) => {
      this.#waiting.delete(call);
      resolve(released);
    };
    this.#waiting.set(call, () => end(true));
    gone.addEventListener("abort", () => end(false), { once: true });
    if (gone.aborted) end(false);
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
    return promise;
  }

  /** Resolves as soon as a call with a greater number is held. */
  async some(after: number): Promise<readonly number[]> {
    for (;;) {
      const calls = [...this.#waiting.keys()].filter((call) => call > after);
      if (calls.length > 0) return calls;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#watchers.add(resolve);
      await promise;
    }
  }

  release(): void {
    for (const release of this.#waiting.values()) release();
  }
}
