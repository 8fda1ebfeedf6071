// For how long a primary may write without a word of any secondary, where its operators prefer that it stops: another
// cluster may have been promoted, and nobody can tell. What is granted is stored, so that a restart grants nothing.

import { jsonCodec } from "@holdfast/shared/codec";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";

const ROW = "lease";

interface StoredLease {
  readonly set: string;
  /** Of the set: what was granted in another one says nothing. */
  readonly epoch: number;
  readonly until: string; // nanoseconds since 1970
}

const codec = jsonCodec<StoredLease>();

export interface PrimaryLeaseOptions {
  /** 0: a primary writes whatever happens to others. */
  readonly length: Nanos;
  /** Of core/replication/dr/. */
  readonly view: View;
  readonly clock: Clock;
  readonly log: Log;
}

/** As whose primary it writes. */
export interface LedSet {
  readonly set: string;
  readonly epoch: number;
}

export class PrimaryLease {
  readonly #options: PrimaryLeaseOptions;
  /** By both clocks: the steady one stands still while a machine is suspended, and people set the other. Null: not bound. */
  #until: (LedSet & { readonly steady: Nanos; readonly wall: Instant }) | null = null;
  #stored: Instant | null = null;
  #writing: Promise<void> | null = null;

  constructor(options: PrimaryLeaseOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#options.length > 0n;
  }

  /** Whoever was never reached binds nobody: a primary without secondaries writes. */
  isLapsed({ set, epoch }: LedSet): boolean {
    const until = this.#until;
    if (until === null || until.set !== set || until.epoch !== epoch) return false;
    const { clock } = this.#options;
    return clock.elapsed() >= until.steady || clock.now() >= until.wall;
  }

  /** With the keys, before anything is written. */
  load({ set, epoch }: LedSet): void {
    const { length, view, clock } = this.#options;
    const stored = this.isOn ? view.get(ROW, codec) : null;
    const isOurs = stored?.set === set && stored.epoch === epoch;
    this.#stored = isOurs ? BigInt(stored.until) : null;
    this.#until = null;
    if (this.#stored === null) return;
    const left = this.#stored - clock.now();
    const granted = left > length ? length : left; // the clock was set back
    this.#until = { set, epoch, steady: clock.elapsed() + granted, wall: clock.now() + granted };
  }

  /** A secondary that follows was heard of. */
  reached(by: LedSet): void {
    if (!this.isOn) return;
    const { length, clock } = this.#options;
    const wall = clock.now() + length;
    const isSame = this.#until?.set === by.set && this.#until.epoch === by.epoch;
    if (!isSame) this.#stored = null;
    this.#until = { ...by, steady: clock.elapsed() + length, wall };
    const stored = this.#stored;
    // What is stored may be older by a half: after a restart that is granted less, and never more.
    const isFresh = stored !== null && wall - stored <= length / 2n && stored <= wall;
    if (!isFresh) this.#store({ ...by, until: String(wall) });
  }

  /** Nobody is left that could be reached. */
  async release(): Promise<void> {
    this.#until = null;
    this.#stored = null;
    await this.settled();
    const { view } = this.#options;
    if (view.get(ROW, codec) === null) return;
    await view.write((tx) => tx.delete(ROW), { essential: true });
  }

  /** When nothing of it is on its way any more. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  #store(lease: StoredLease): void {
    if (this.#writing !== null) return; // the next word tells of it
    const { view, log } = this.#options;
    this.#writing = view
      .write((tx) => tx.put(ROW, lease, codec), { essential: true })
      .then(
        () => {
          if (this.#until !== null) this.#stored = BigInt(lease.until);
        },
        (error: unknown) => {
          log.warn("could not write down when a secondary was last heard of", {
            cause: describe(error),
          });
        },
      )
      .finally(() => {
        this.#writing = null;
      });
  }
}
