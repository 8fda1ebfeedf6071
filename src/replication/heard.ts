// What a secondary has heard of its primary: when, how late it was there, of how many entries, whether it refuses, and whether
// its data is another. It outlives whoever receives, and a start: what is known to be missing stays missing.

import { jsonCodec } from "@holdfast/shared/codec";
import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import { MINUTE } from "@holdfast/shared/text/duration";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Tx, View } from "../barrier/view.ts";
import type { Store } from "../storage/store.ts";
import type { CallOutcome, Sighting } from "./stream/receiving.ts";

/** Below core/replication/<kind>/. */
export const HEARD = "heard";
/** While nothing is missing here. */
const STORED_EVERY: Nanos = MINUTE;

/** What answered in its place is believed to be there still where a call only came to no end. */
const SEEN_FOR: Nanos = MINUTE;

interface Stored {
  readonly announced: string;
  /** By the clock of the wall; not there where it was never heard of. */
  readonly at?: string;
  /** There where it refuses this cluster for good: why. */
  readonly refusal?: string;
  /** There where it has ended replication altogether. */
  readonly over?: true;
  /** There where the data here differs from its own, and could not be mended. */
  readonly differs?: true;
}

const heardCodec = jsonCodec<Stored>();

export interface HeardOptions {
  readonly view: View;
  readonly store: Pick<Store, "index" | "locked">;
  /** Up to which index of the primary's everything is here. Default: that of the store. */
  readonly applied?: () => bigint;
  readonly clock: Clock;
  readonly log: Log;
}

interface Word {
  /** By the steady clock. */
  readonly at: Nanos;
  readonly timeThere: Instant;
}

export class Heard {
  readonly #options: HeardOptions;
  #announced = 0n;
  /** The last in this life of the server. */
  #word: Word | null = null;
  /** When it last answered a call, whatever it said. */
  #answered: Nanos | null = null;
  #differs = false;
  #refusal: Omit<Extract<CallOutcome, { kind: "refuses" }>, "kind"> | null = null;
  /** What was there when it was last called in vain, in this life. */
  #seen: { readonly what: Sighting; readonly at: Nanos } | null = null;
  /** Since when it is tried to reach the primary, in this life. */
  #tried: Nanos | null = null;
  /** The last in a life before. */
  #before: Instant | null = null;
  #storedAt: Nanos | null = null;
  #isStored = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: HeardOptions) {
    this.#options = options;
  }

  /** After a start. */
  load(): void {
    const found = this.#options.view.get(HEARD, heardCodec);
    if (found === null) return;
    this.#isStored = true;
    this.#before = found.at === undefined ? null : parseTime(found.at);
    this.#announce(BigInt(found.announced));
    this.#differs = found.differs === true;
    const { refusal: reason } = found;
    const isOver = found.over === true;
    if (reason !== undefined) this.#refusal = { reason, forGood: true, isOver };
  }

  /** The highest index that the primary has told of. Indexes only grow, also by a restore there; but for those of a primary whose log another
   *  one went on from before that. */
  get announced(): bigint {
    return this.#announced;
  }

  /** How late it is at the primary, by what it said last; null where it has said nothing. */
  get timeThere(): Instant | null {
    const word = this.#word;
    return word === null ? null : word.timeThere + this.#options.clock.elapsed() - word.at;
  }

  /** When it was heard of last, also before the start, by the clock of the wall; null where it never was. */
  get last(): Instant | null {
    const word = this.#word;
    if (word === null) return this.#before;
    const { clock } = this.#options;
    return clock.now() - (clock.elapsed() - word.at);
  }

  /** Whether it has answered in this life of the server, whatever it said. */
  get isHeard(): boolean {
    return this.#word !== null || this.#answered !== null;
  }

  /** For how long nobody answers: one that was not tried yet may be there. By the steady clock, since that of the wall may be
   *  set. */
  get silence(): Nanos {
    const [word, answered] = [this.#word?.at ?? null, this.#answered];
    const last = word === null || (answered !== null && answered > word) ? answered : word;
    return this.#since(last ?? this.#tried);
  }

  /** For how long it was not heard of, also before the start. One that only refuses has told nothing. */
  get unheard(): Nanos {
    const untold = this.#since(this.#word?.at ?? this.#tried);
    if (this.#word !== null || this.#before === null) return untold;
    const passed = this.#options.clock.now() - this.#before;
    return passed > untold ? passed : untold;
  }

  /** Why the primary does not take this cluster; null where it does, or was not there when it was last called. */
  get refusal(): string | null {
    return this.#refusal?.reason ?? null;
  }

  /** The same where it has said so for good. */
  get lastRefusal(): string | null {
    return this.#refusal?.forGood === true ? this.#refusal.reason : null;
  }

  /** What answers in its place, where it was called in vain; null where nobody does. */
  get seen(): Sighting | null {
    return this.#seen?.what ?? null;
  }

  /** Whether it has ended replication, and goes on by itself. */
  get hasEnded(): boolean {
    return this.#refusal?.isOver === true;
  }

  /** Whether the last comparison with it found a difference that could not be mended. */
  get differs(): boolean {
    return this.#differs;
  }

  /** It was compared. */
  compared(isEqual: boolean): void {
    if (this.#differs === !isEqual) return;
    this.#differs = !isEqual;
    void this.keep();
  }

  /** The primary was called. Whoever refuses is there; what it has said for good counts until it takes this cluster. */
  called(outcome: CallOutcome): void {
    const forGood = this.#refusal?.forGood === true;
    const at = this.#options.clock.elapsed();
    const { seen: what, isLate = false } = outcome.kind === "nobody" ? outcome : {};
    if (what !== undefined) this.#seen = { what, at };
    else if (!isLate || this.#since(this.#seen?.at ?? null) >= SEEN_FOR) this.#seen = null;
    if (outcome.kind === "nobody") {
      if (!forGood) this.#refusal = null;
      return;
    }
    this.#answered = this.#options.clock.elapsed();
    if (outcome.kind === "takes") this.#refusal = null;
    else if (!forGood) this.#refusal = outcome;
    if (outcome.kind === "refuses" && outcome.forGood && !forGood) void this.keep();
  }

  /** It is tried to reach the primary. */
  try(): void {
    this.#tried ??= this.#options.clock.elapsed();
  }

  /** It has told how late it is there, and of this index at most. */
  note(timeThere: Instant, announced: bigint): void {
    const { clock, store, applied = () => store.index } = this.#options;
    const at = clock.elapsed();
    this.#word = { at, timeThere };
    this.#announce(announced);
    const isDue = this.#storedAt === null || at - this.#storedAt >= STORED_EVERY;
    if (isDue || announced > applied()) void this.keep();
  }

  /** Another primary goes on from this index. */
  goBack(index: bigint): void {
    if (index >= this.#announced) return;
    this.#announced = index;
    void this.keep();
  }

  /** Durable, where that is possible: whatever it is for goes on without. */
  async keep(): Promise<void> {
    const { view, store, clock, log } = this.#options;
    const refusal = this.lastRefusal;
    const isKnown = this.#word !== null || this.#isStored || this.#differs;
    if ((!isKnown && refusal === null) || store.locked) return;
    this.#storedAt = clock.elapsed();
    this.#isStored = true;
    const { last } = this;
    const row = {
      announced: String(this.#announced),
      ...(last === null ? {} : { at: showTime(last) }),
      ...(refusal === null ? {} : { refusal }),
      ...(this.hasEnded ? { over: true as const } : {}),
      ...(this.#differs ? { differs: true as const } : {}),
    };
    const written = view.write((tx) => tx.put(HEARD, row, heardCodec), { essential: true });
    this.#writing = written.catch((error: unknown) => {
      log.warn("could not write down what was heard of the primary", { cause: describe(error) });
    });
    await this.#writing;
  }

  /** Resolves when what was to be written is. */
  get kept(): Promise<void> {
    return this.#writing;
  }

  /** In the transaction after which another primary is followed, or none: what this one has told is nothing to it. */
  forgetIn(tx: Tx): void {
    tx.on(this.#options.view).delete(HEARD);
  }

  /** After it. */
  forget(): void {
    this.#announced = 0n;
    this.#word = null;
    this.#answered = null;
    this.#refusal = null;
    this.#seen = null;
    this.#differs = false;
    this.#tried = null;
    this.#before = null;
    this.#storedAt = null;
    this.#isStored = false;
  }

  #since(time: Nanos | null): Nanos {
    return time === null ? 0n : this.#options.clock.elapsed() - time;
  }

  #announce(index: bigint): void {
    if (index > this.#announced) this.#announced = index;
  }
}
