// Removes what is over for good: expired tokens some time after their expiry, and one-time tokens that
// nobody exchanged. The oldest expiry goes first, from ordered rows.

import { MINUTE } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { Recurring } from "../../base/recurring.ts";
import { isOver } from "@holdfast/shared/text/time";
import type { Nanos, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { OneTimeRows } from "../rows/one-time-rows.ts";
import type { Token } from "../token.ts";
import type { TimedPlace, TokenPlace, TokenRows } from "../rows/token-rows.ts";

const TOKENS_EVERY: Nanos = 5n * MINUTE;
const ONE_TIME_EVERY: Nanos = 10n * MINUTE;
// Tokens in one transaction. 4,096 would be allowed; so many rows would keep everybody else waiting
// for a third of a second, these for about ten milliseconds. One token is at most ten rows.
const SLICE = 32;

export interface Collected {
  readonly tokens: number;
  readonly oneTimeTokens: number;
}

export interface CollectionParts {
  readonly rows: TokenRows;
  readonly oneTime: OneTimeRows;
  /** Null for one that is not there or cannot be used. */
  readonly readable: (place: TokenPlace, tx: Tx) => Token | null;
  /** A token with all that hangs on it. */
  readonly remove: (tx: Tx, token: Token) => void;
  /** How long after its expiry a token goes. */
  readonly threshold: Nanos;
  readonly timers: Timers;
  readonly log: Log;
}

export class Collection {
  readonly #parts: CollectionParts;
  readonly #jobs: readonly Recurring[];
  #running: Promise<unknown> = Promise.resolve();
  #open = false;

  constructor(parts: CollectionParts) {
    this.#parts = parts;
    this.#jobs = [
      this.#every(TOKENS_EVERY, () => this.#tokens({ force: false })),
      this.#every(ONE_TIME_EVERY, () => this.#oneTimeTokens()),
    ];
  }

  open(): void {
    this.#open = true;
    for (const job of this.#jobs) job.open();
  }

  async close(): Promise<void> {
    this.#open = false;
    await Promise.all(this.#jobs.map((job) => job.close()));
    await this.#running;
  }

  /** Now, and not when it is due. With `force` expired tokens go however short they have been so. */
  run({ force = false }: { readonly force?: boolean } = {}): Promise<Collected> {
    return this.#alone(async () => ({
      tokens: await this.#tokens({ force }),
      oneTimeTokens: await this.#oneTimeTokens(),
    }));
  }

  #every(period: Nanos, collect: () => Promise<number>): Recurring {
    const { timers, log } = this.#parts;
    const trouble = "could not collect expired tokens";
    const run = () => this.#alone(collect);
    const pause = { first: period, max: period };
    return new Recurring({ trouble, period, atOnce: false, run, pause, timers, log });
  }

  /** One after the other: two at once would only read the same rows twice. */
  #alone<T>(collect: () => Promise<T>): Promise<T> {
    const run = this.#running.then(collect);
    this.#running = run.catch(() => {});
    return run;
  }

  async #tokens({ force }: { readonly force: boolean }): Promise<number> {
    const { rows, threshold } = this.#parts;
    const before = (tx: Tx) => (force ? tx.time : tx.time - threshold + 1n);
    // Those that nobody has seen end yet: after a pause, or when it is forced. They come first: what others end meanwhile is found below.
    const due = await this.#each((tx, after) => rows.due(before(tx), SLICE, tx, after));
    const ended = await this.#each((tx, after) => {
      // What was ended stays so when the clock is set back, and a forced run takes all of it.
      const isOld = ({ expires }: TimedPlace) => force || isOver(expires, before(tx));
      return rows.ended(SLICE, tx, after).filter(isOld);
    });
    return ended + due;
  }

  /** Global ones go where they are written: elsewhere they are passed over, so that the others behind them go. */
  #each(find: (tx: Tx, after: TimedPlace | undefined) => TimedPlace[]): Promise<number> {
    const { rows } = this.#parts;
    let passed: TimedPlace | undefined;
    return this.#slices((tx) => {
      const found = find(tx, passed);
      if (found.length === 0) return null;
      const stay = rows.shared.writtenElsewhere;
      const own = stay ? found.filter(({ place }) => !place.global) : found;
      if (stay) passed = found.at(-1);
      for (const timed of own) this.#collect(tx, timed);
      return own.length;
    });
  }

  async #oneTimeTokens(): Promise<number> {
    return this.#slices((tx) => this.#parts.oneTime.removeDue(tx, tx.time, SLICE) || null);
  }

  /** Until nothing is found any more: null. */
  async #slices(collect: (tx: Tx) => number | null): Promise<number> {
    const { rows, timers } = this.#parts;
    let count = 0;
    while (this.#open) {
      const collected = await rows.local.write(collect, { essential: true });
      if (collected === null) break;
      count += collected;
      await timers.turn();
    }
    return count;
  }

  #collect(tx: Tx, timed: TimedPlace): void {
    const { rows, remove, log } = this.#parts;
    const token = this.#read(timed.place, tx);
    if (token !== null && token.expires === timed.expires) return remove(tx, token);
    // Left over from damage: without this it would come up at every run, and hold up the rest.
    if (token === null) rows.removeUnread(tx, timed.place);
    rows.dropTimed(tx, timed);
    log.warn("collected an expired token that could not be read", {
      accessor: timed.place.accessor,
    });
  }

  #read(place: TokenPlace, tx: Tx): Token | null {
    try {
      return this.#parts.readable(place, tx);
    } catch (error) {
      if (error instanceof Failure && error.kind === "damaged") return null;
      throw error;
    }
  }
}
