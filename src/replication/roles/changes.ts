// Changes of the role, one at a time, and none while the cluster is at rest.

import { describe } from "@holdfast/shared/failure";
import type { Fields, Log } from "@holdfast/shared/log";
import type { Tx } from "../../barrier/view.ts";
import { roleChanging } from "../failures.ts";

/** What is written in the transaction of a change besides. */
export type Also = (tx: Tx) => void;

/** What a change tells of itself. */
export interface Changed {
  readonly warnings: readonly string[];
  /** What is done when it was recorded, and before it is answered. Default: nothing. */
  readonly afterwards?: () => Promise<void>;
}

export class Changes {
  readonly #log: Log;
  readonly #seal: () => void;
  #running: Promise<unknown> | null = null;
  #own: Promise<unknown> | null = null;
  #isShut = false;
  #isLast = false;
  #resting = new AbortController();

  constructor(log: Log, seal: () => void) {
    this.#log = log;
    this.#seal = seal;
  }

  /** Whether one is under way in which nothing else is served: those of operators, and such of this cluster's own. */
  get isRunning(): boolean {
    return this.#running !== null || this.#isShut;
  }

  /** They may begin. Not by one that is under way, which opens all that works in the new role: whoever rests waits for it, and none begins after it. */
  open(): void {
    if (this.#running !== null || this.#own !== null) return;
    if (this.#resting.signal.aborted) this.#resting = new AbortController();
  }

  /** None is under way when this resolves, and none begins. */
  async close(): Promise<void> {
    this.#resting.abort(roleChanging());
    await this.ended();
  }

  /** The one that is under way has ended when this resolves. */
  async ended(): Promise<void> {
    await this.ownEnded();
    await this.#running;
  }

  /** None is under way that this cluster began by itself when this resolves. */
  async ownEnded(): Promise<void> {
    while (this.#own !== null) await this.#own;
  }

  /** One that this cluster begins by itself, as others tell it who leads: it goes on serving, and an operator's change waits
   *  for it. Throws where another one is under way. `isShut`: nothing is served meanwhile. */
  async own(work: () => Promise<void>, { isShut = false } = {}): Promise<void> {
    this.#assertIdle();
    if (this.#own !== null) throw roleChanging();
    this.#isShut = isShut;
    const own = work();
    this.#own = own.catch(() => {});
    try {
      await own;
    } finally {
      this.#own = null;
      this.#isShut = false;
    }
  }

  #assertIdle(): void {
    const isIdle = this.#running === null && !this.#isLast;
    if (!isIdle || this.#resting.signal.aborted) throw roleChanging();
  }

  /** Throws where another one of an operator is under way. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#own !== null) await this.ownEnded();
    this.#assertIdle();
    const running = work();
    this.#running = running.catch(() => {});
    try {
      return await running;
    } finally {
      this.#running = null;
    }
  }

  /** One after which there is nothing left to change here: other data takes the place of this cluster's. That waits for all that
   *  are under way, and so not for this one; and no other begins beside it. */
  async last(work: () => Promise<void>): Promise<void> {
    if (this.#own !== null) await this.ownEnded();
    this.#assertIdle();
    this.#isLast = true;
    try {
      await work();
    } finally {
      this.#isLast = false;
    }
  }

  /** For what takes a turn of the seal: that may be waiting for this change. Gives "rests" where it does. */
  async orRest<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | "rests"> {
    const { signal } = this.#resting;
    const { promise, resolve } = Promise.withResolvers<"rests">();
    const stop = () => resolve("rests");
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([work(signal), promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Half of a change is no role: what was stored is finished when the cluster is unsealed. */
  async orSeal<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#log.error("could not go over to the new role; sealing", {
        cause: describe(error),
      });
      this.#seal();
      throw error;
    }
  }

  tell(event: string, fields: Fields): void {
    this.#log.info("replication changed", { event: `replication.${event}`, ...fields });
  }
}
