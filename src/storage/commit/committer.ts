// Group commit: whatever was accepted while the last commit ran goes into the next one, as one
// engine transaction of data, leaves, sums, log entries and head. One commit runs at a time, in the
// order in which transactions were accepted; nothing is told durable before its commit is.

import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Nanos } from "@holdfast/shared/world";
import {
  type Batch,
  CommitConflict,
  type StorageEngine,
  type LogRow,
  type SumRow,
} from "../engines/engine.ts";
import { type Head, HEAD_ROW } from "../rows/head.ts";
import { CommitCost } from "./commit-cost.ts";
import type { LeafChange } from "./tip.ts";
import type { StoredChange } from "../transaction.ts";

const QUICK_COMMIT: Nanos = 10_000_000n;
const WORTH_HALVING = 16;
/** Of so many full groups one is parted anyway, to learn what that does. */
const EXPLORED = 16;

/** One accepted transaction, ready to be written. */
export interface Accepted {
  readonly sequence: number;
  readonly changes: ReadonlyMap<string, StoredChange>;
  readonly leaves: readonly LeafChange[];
  readonly sums: ReadonlyMap<number, SumRow>;
  /** One entry of our own, or as many as were applied together. */
  readonly log: readonly LogRow[];
  /** The head after this transaction; null when it does not move or change. */
  readonly head: Head | null;
  /** Its bytes, where somebody else has made them. */
  readonly headBytes: Uint8Array | null;
  /** Somebody else has made it: whatever is kept in memory of its keys may be old. */
  readonly foreign: boolean;
  readonly meta: ReadonlyMap<string, Uint8Array | null>;
  /** What lies above in the log is given up; entries of this transaction come after that. */
  readonly cutLogAbove: bigint | null;
  readonly trimLogBelow: bigint | null;
  readonly bytes: number;
  /** Called first when it is durable, before anybody is told. */
  readonly onDurable: (() => void) | null;
  /** May the group go on without it if the storage was changed by another writer? Only creation. */
  readonly onConflict: (() => void) | null;
}

export interface CommitterEvents {
  encodeHead(head: Head): Uint8Array;
  /** The group is durable; called before the next group is taken. */
  durable(group: readonly Accepted[]): void;
  /** Somebody else has moved the head. True: that was taken up, and the group can be tried again. */
  moved(group: readonly Accepted[]): boolean;
  /** The storage failed; no further group will be written. */
  failed(cause: unknown): void;
}

export class Committer {
  readonly #engine: StorageEngine;
  readonly #clock: Clock;
  readonly #events: CommitterEvents;
  readonly #queue: Accepted[] = [];
  #headBytes: Uint8Array | null;
  #running: Promise<void> | null = null;
  #stopped = false;
  readonly #cost = new CommitCost();
  #lastTook: Nanos | null = null;
  #gathered = 0; // full groups

  constructor(
    engine: StorageEngine,
    clock: Clock,
    headBytes: Uint8Array | null,
    events: CommitterEvents,
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#headBytes = headBytes;
    this.#events = events;
  }

  /** The head as of the last commit that was announced. */
  get headBytes(): Uint8Array | null {
    return this.#headBytes;
  }

  push(accepted: Accepted): void {
    invariant(!this.#stopped, "nothing is accepted after a storage failure");
    this.#queue.push(accepted);
    // Begun on the next microtask, so that everything accepted in this turn shares the first group.
    this.#running ??= Promise.resolve().then(() => this.#run());
  }

  /** Somebody else has moved the head while we wrote nothing that moves it. */
  follow(headBytes: Uint8Array | null): void {
    invariant(this.#queue.every(leavesHead), "the head is followed only while we do not move it");
    this.#headBytes = headBytes;
  }

  /** The storage failed elsewhere: no further group is written, and what is on its way is not told. */
  stop(): void {
    this.#stopped = true;
    this.#queue.length = 0;
  }

  /** Resolves when everything accepted so far is durable or has failed. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    try {
      let max = this.#firstGroup();
      while (this.#queue.length > 0 && !this.#stopped) {
        const began = this.#clock.elapsed();
        const group = this.#takeGroup(max);
        await this.#commitGroup(group);
        this.#lastTook = this.#clock.elapsed() - began;
        this.#cost.learn(group.length, Number(this.#lastTook));
        max = Infinity;
      }
    } catch (cause) {
      this.stop();
      this.#events.failed(cause);
    } finally {
      this.#running = null;
    }
  }

  /**
   * Writers that all wait for the same commit come back all at once: then sealing and hashing
   * alternate with writing, and each waits for the other. If half of them go first, the two overlap
   * from then on. Where the sync takes longer than the rest, one sync for all is better: that is
   * learned, and until then guessed from how long the last commit took.
   */
  #firstGroup(): number {
    const gathered = this.#queue.length;
    if (gathered < WORTH_HALVING || this.#lastTook === null) return Infinity;
    this.#gathered++;
    const fixed = this.#cost.fixedShare(gathered);
    const worth = fixed === null ? this.#lastTook < QUICK_COMMIT : fixed < 0.5;
    return worth || this.#gathered % EXPLORED === 0 ? Math.ceil(gathered / 2) : Infinity;
  }

  /** Closes the group before the engine's limit; a single transaction was checked when accepted. */
  #takeGroup(max: number): Accepted[] {
    const { operations, bytes } = this.#engine.limits;
    let count = 0;
    let rows = 0;
    let size = 0;
    for (const accepted of this.#queue) {
      rows += accepted.changes.size;
      size += accepted.bytes;
      const alone = accepted.onConflict !== null; // creation
      // What is cut off must not be among what is appended with it.
      const first = alone || accepted.cutLogAbove !== null;
      if (count > 0 && (rows > operations || size > bytes || first)) break;
      if (count === max) break;
      count++;
      if (alone) break;
    }
    return this.#queue.splice(0, count);
  }

  async #commitGroup(group: readonly Accepted[]): Promise<void> {
    const last = group.findLast((accepted) => accepted.head !== null);
    const moved =
      last === undefined ? null : (last.headBytes ?? this.#events.encodeHead(last.head!));
    for (;;) {
      try {
        await this.#engine.commit(buildBatch(group, this.#headBytes, moved ?? this.#headBytes));
        break;
      } catch (cause) {
        if (!(cause instanceof CommitConflict)) throw cause;
        const lost = group.length === 1 ? group[0]!.onConflict : null;
        if (lost !== null) {
          this.#headBytes = this.#engine.meta(HEAD_ROW);
          lost();
          return;
        }
        if (!this.#events.moved(group)) throw cause;
      }
    }
    if (moved !== null) this.#headBytes = moved;
    if (!this.#stopped) this.#events.durable(group);
  }
}

/** Whether a transaction can be written whatever the head is. */
export function leavesHead({ head, meta, trimLogBelow }: Accepted): boolean {
  return head === null && meta.size === 0 && trimLogBelow === null;
}

/** Lays the transactions over each other in order: of each row only the last state is written. */
function buildBatch(
  group: readonly Accepted[],
  headBefore: Uint8Array | null,
  headAfter: Uint8Array | null,
): Batch {
  const data = new Map<string, Uint8Array | null>();
  const leaves = new Leaves();
  const sums = new Map<number, SumRow>();
  const meta = new Map<string, Uint8Array | null>();
  const log: LogRow[] = [];
  const { cutLogAbove } = group[0]!; // a cut is the first of its group
  let trimLogBelow: bigint | null = null;
  for (const accepted of group) {
    for (const [key, { value }] of accepted.changes) data.set(key, value);
    for (const change of accepted.leaves) leaves.put(change);
    for (const [slot, row] of accepted.sums) sums.set(slot, row);
    for (const [name, value] of accepted.meta) meta.set(name, value);
    for (const row of accepted.log) log.push(row);
    trimLogBelow = accepted.trimLogBelow ?? trimLogBelow;
  }
  if (headAfter !== headBefore) meta.set(HEAD_ROW, headAfter);
  return {
    expect: { name: HEAD_ROW, value: headBefore },
    data: Array.from(data, ([key, value]) => ({ key, value })),
    leaves: leaves.all(),
    sums: [...sums.values()],
    cutLogAbove,
    log,
    trimLogBelow,
    meta: Array.from(meta, ([name, value]) => ({ name, value })),
  };
}

/** The last change of each leaf. */
class Leaves {
  readonly #byKey = new Map<string, LeafChange>();
  // A repair may remove a leaf that lies where its key does not belong.
  readonly #elsewhere = new Map<string, LeafChange>();

  put(change: LeafChange): void {
    const { slot, key } = change;
    const known = this.#byKey.get(key);
    if (known === undefined || known.slot === slot) this.#byKey.set(key, change);
    else this.#elsewhere.set(`${slot} ${key}`, change);
  }

  all(): LeafChange[] {
    return [...this.#byKey.values(), ...this.#elsewhere.values()];
  }
}
