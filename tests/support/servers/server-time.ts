// Time for a whole server in a test: it stands still until the test moves it, for timers as well. Short
// timers run out by themselves too, so that what only paces itself gets on.

import { access } from "node:fs/promises";
import { SystemTimers } from "../../../src/system/timers.ts";
import type { Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";
import { FakeClock, FakeTimers, nextTurn } from "../fake-world.ts";

const SHORT: Nanos = 200_000_000n;
/** In which whatever is under way gets on. */
const TURNS = 20;
/** A pipe that nobody reads is waited for no longer. */
const MAX_ROUNDS = 1000;
/** Calls that threads of the runtime are at. */
const FILES = new Set(["FSReqPromise", "FSReqCallback", "CloseReq"]);

export class ServerTime implements Timers {
  readonly clock: FakeClock;
  readonly #fake: FakeTimers;
  readonly #real = new SystemTimers();

  /** `now`: when it begins; that of the machine, where TLS looks at certificates. */
  constructor(now?: Instant) {
    this.clock = new FakeClock(now);
    this.#fake = new FakeTimers(this.clock);
  }

  /** A short one is due when so much of either time has passed. */
  after(delay: Nanos, call: () => void): Timer {
    if (delay >= SHORT) return this.#fake.after(delay, call);
    const cancel = () => {
      real.cancel();
      fake.cancel();
    };
    const fire = () => {
      cancel();
      call();
    };
    const real = this.#real.after(delay, fire);
    const fake = this.#fake.after(delay, fire);
    return { cancel };
  }

  turn(): Promise<void> {
    return this.#real.turn();
  }

  /** Time passes, and what falls due is called, in order. What that sets off is waited for by `until`. */
  pass(length: Nanos): Promise<void> {
    return this.#fake.advance(length);
  }

  /** In steps, each with time for what it sets off. Within a step a timer fires once, as after a pause
   *  of the whole process: a long time goes by quickly. */
  async passSlowly(length: Nanos, step: Nanos): Promise<void> {
    for (let left = length; left > 0n; left -= step) {
      this.clock.pass((left < step ? left : step) - 1n);
      await this.pass(1n);
      await settled();
    }
  }
}

/** Files are written by real threads, which a busy machine lets wait, and what they have written sets off more. */
async function settled(): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (let i = 0; i < TURNS; i++) await nextTurn();
    if (!process.getActiveResourcesInfo().some((what) => FILES.has(what))) return;
    await access("/");
  }
}
