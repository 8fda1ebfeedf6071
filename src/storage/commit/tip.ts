// The state after the last accepted transaction, durable or not: position, chain and sums. It turns
// the changes of a transaction into all the rows that must be written together.

import type { KeyObject } from "node:crypto";
import { EMPTY, equalBytes } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { Batch, Leaf, LogRow, SumRow } from "../engines/engine.ts";
import { proofMissing, treesDiffer } from "../failures.ts";
import type { ReadEntry } from "../following/foreign-entries.ts";
import { type Head, sameTotal } from "../rows/head.ts";
import { classOf } from "../key.ts";
import {
  chainEntry,
  type ControlRecord,
  encodeEntry,
  type LogEntry,
  type LogOperation,
} from "../rows/log-entry.ts";
import { nextEpoch } from "../rows/epoch.ts";
import { type Forest, LeafHasher, sha256, slotOf } from "../rows/merkle.ts";
import type { StoredChange } from "../transaction.ts";

export type LeafChange = Batch["leaves"][number] & {
  /** What was there, where whoever changed it has looked. */
  readonly before?: Leaf | null;
};

/** What one accepted transaction writes besides its data rows. */
export interface TipRows {
  readonly leaves: readonly LeafChange[];
  readonly sums: ReadonlyMap<number, SumRow>;
  /** Null when only ignored rows change: such a transaction takes no index. */
  readonly log: LogRow | null;
  readonly head: Head;
}

/** The same for entries that somebody else has made. */
export interface AppliedRows extends Omit<TipRows, "log"> {
  readonly log: readonly LogRow[];
}

export class Tip {
  readonly #leaves: LeafHasher | null;
  readonly #forest: Forest;
  #head: Head;

  /** The forest is the tip's own from now on. Without the key it applies entries that come with their
   *  leaves, and accepts nothing. */
  constructor(treeKey: KeyObject | null, head: Head, forest: Forest) {
    this.#leaves = treeKey === null ? null : new LeafHasher(treeKey);
    this.#head = head;
    this.#forest = forest;
  }

  get head(): Head {
    return this.#head;
  }

  /** Forgets the key of the trees. It takes nothing more. */
  wipe(): void {
    this.#leaves?.wipe();
  }

  /** The same with the key; this one is not used any more. */
  withKey(treeKey: KeyObject): Tip {
    return new Tip(treeKey, this.#head, this.#forest);
  }

  accept(
    changes: ReadonlyMap<string, StoredChange>,
    control: ControlRecord | null,
    time: Instant,
    leafBefore: (slot: number, key: string) => Leaf | null,
  ): TipRows {
    const leaves: LeafChange[] = [];
    const touched = new Set<number>();
    const operations: LogOperation[] = [];
    for (const [key, { value, scope, fresh }] of changes) {
      const cls = classOf(key);
      const slot = slotOf(cls, key);
      if (cls === "ignored" || slot === null) continue;
      const valueDigest = value === null ? EMPTY : sha256(value);
      const tree = this.#forest.of(slot);
      const before = fresh || tree.isEmpty(slot) ? null : leafBefore(slot, key);
      // A deletion goes where the record went: under the core's scope its key would be told to
      // secondaries whose filter denies the mount it hung on.
      const reach = value === null ? (before?.scope ?? scope) : scope;
      operations.push({ class: cls, scope: reach, key, value, valueDigest });
      const leaf = value === null ? null : { hash: this.leafHash(key, scope, valueDigest), scope };
      tree.replace(slot, before?.hash ?? null, leaf?.hash ?? null);
      leaves.push(fresh ? { slot, key, leaf, before, fresh } : { slot, key, leaf, before });
      touched.add(slot);
    }
    if (operations.length === 0 && control === null) {
      return { leaves, sums: new Map(), log: null, head: this.#head };
    }
    const log = this.#append(this.#head.epoch, operations, control, time);
    return { leaves, sums: this.#sumsOf(touched), log, head: this.#head };
  }

  /** The entry with which an epoch starts. */
  startEpoch(control: ControlRecord, time: Instant): Pick<TipRows, "head"> & { log: LogRow } {
    const log = this.#append(nextEpoch(this.#head), [], control, time);
    return { log, head: this.#head };
  }

  /** The next entry has the index behind this one; what is there in between nobody has written. */
  skipTo(index: bigint): Head {
    invariant(index >= this.#head.index, "indexes never go back");
    return this.#withTotals({ ...this.#head, index });
  }

  /**
   * Entries that somebody else has made and that follow from the head: what is written besides their
   * data rows is what the maker wrote. `check` sees the head after the last of them. A throw, there or
   * anywhere in here, changes nothing.
   */
  apply(
    entries: readonly ReadEntry[],
    leafBefore: (slot: number, key: string) => Leaf | null,
    check: (head: Head) => void,
  ): AppliedRows {
    const leaves = new Map<string, LeafChange>();
    const touched = new Set<number>();
    const headBefore = this.#head;
    const undo: (() => void)[] = [];
    try {
      for (const { entry, bytes, leaves: encoded } of entries) {
        let puts = 0;
        for (const { class: cls, scope, key, value, valueDigest } of entry.operations) {
          const slot = slotOf(cls, key)!;
          const tree = this.#forest.of(slot);
          const known = leaves.get(key);
          const before =
            known !== undefined ? known.leaf : tree.isEmpty(slot) ? null : leafBefore(slot, key);
          const sent = value === null ? null : (encoded?.[puts++] ?? null);
          const hash =
            value === null ? null : this.#leafOf(entry.index, { key, scope, valueDigest }, sent);
          tree.replace(slot, before?.hash ?? null, hash);
          undo.push(() => tree.replace(slot, hash, before?.hash ?? null));
          leaves.set(key, { slot, key, leaf: hash === null ? null : { hash, scope } });
          touched.add(slot);
        }
        this.#head = this.#moved(entry, bytes.length);
      }
      check(this.#withTotals(this.#head));
    } catch (error) {
      for (const take of undo.toReversed()) take();
      this.#head = headBefore;
      throw error;
    }
    const log = entries.map(({ entry: { index }, bytes }) => ({ index, entry: bytes }));
    return { leaves: [...leaves.values()], sums: this.#sumsOf(touched), log, head: this.#head };
  }

  /** Rows of another cluster, without entries: leaves and sums follow them, and with `position` the head goes there. */
  adopt(
    changes: ReadonlyMap<string, StoredChange>,
    leafBefore: (slot: number, key: string) => Leaf | null,
    position: Head | null,
  ): Omit<TipRows, "log"> {
    const leaves: LeafChange[] = [];
    const touched = new Set<number>();
    for (const [key, { value, scope }] of changes) {
      const slot = slotOf(classOf(key), key);
      if (slot === null) continue;
      const tree = this.#forest.of(slot);
      const before = tree.isEmpty(slot) ? null : leafBefore(slot, key);
      const leaf =
        value === null ? null : { hash: this.leafHash(key, scope, sha256(value)), scope };
      tree.replace(slot, before?.hash ?? null, leaf?.hash ?? null);
      leaves.push({ slot, key, leaf });
      touched.add(slot);
    }
    const head = this.#withTotals(position ?? this.#head);
    return { leaves, sums: this.#sumsOf(touched), head };
  }

  /** The leaf of a put: made here if the key is there, and then what was sent must be the same. */
  #leafOf(
    index: bigint,
    { key, scope, valueDigest }: Pick<LogOperation, "key" | "scope" | "valueDigest">,
    sent: Uint8Array | null,
  ): Uint8Array {
    if (this.#leaves === null) {
      if (sent === null) throw proofMissing(index);
      return sent;
    }
    const own = this.#leaves.hash(key, scope, valueDigest);
    if (sent !== null && !equalBytes(own, sent)) throw treesDiffer(index);
    return own;
  }

  /** Somebody else has written these sums, and this head with them. False when they do not add up:
   *  then this tip is not used any more. */
  follow(head: Head, sums: readonly SumRow[]): boolean {
    for (const row of sums) this.#forest.of(row.slot).mend(row);
    const { shared, local } = this.#withTotals(head);
    return sameTotal(shared, head.shared) && sameTotal(local, head.local);
  }

  /** Brings leaves and sums in line with the data without a log entry: a repair, not a change. */
  mend(leaves: readonly { slot: number; before: Leaf | null; after: Leaf | null }[]): Head {
    for (const { slot, before, after } of leaves) {
      this.#forest.of(slot).replace(slot, before?.hash ?? null, after?.hash ?? null);
    }
    return this.#withTotals(this.#head);
  }

  /** Takes a recomputed subpage over, whatever it was. */
  mendSum(row: SumRow): Head {
    this.#forest.of(row.slot).mend(row);
    return this.#withTotals(this.#head);
  }

  leafHash(key: string, scope: Uint8Array, valueDigest: Uint8Array): Buffer {
    invariant(this.#leaves !== null, "a leaf is made only while the key of the trees is there");
    return this.#leaves.hash(key, scope, valueDigest);
  }

  isEmpty(slot: number): boolean {
    return this.#forest.of(slot).isEmpty(slot);
  }

  sum(slot: number): SumRow {
    return this.#forest.of(slot).row(slot);
  }

  #append(
    epoch: number,
    operations: LogOperation[],
    control: ControlRecord | null,
    time: Instant,
  ): LogRow {
    const { chain } = this.#head;
    const index = this.#head.index + 1n;
    const entry = chainEntry({ epoch, index, time, operations, control }, chain);
    const bytes = encodeEntry(entry);
    this.#withTotals(this.#moved(entry, bytes.length));
    return { index, entry: bytes };
  }

  /** The head after an entry, but for the totals. */
  #moved({ epoch, index, chain, control, operations }: LogEntry, size: number): Head {
    const shared = control !== null || operations.some((op) => op.class === "shared");
    return {
      ...this.#head,
      epoch,
      index,
      chain,
      lastDr: index,
      lastPerf: shared ? index : this.#head.lastPerf,
      logBytes: this.#head.logBytes + BigInt(size),
    };
  }

  #sumsOf(slots: Iterable<number>): Map<number, SumRow> {
    const sums = new Map<number, SumRow>();
    for (const slot of slots) sums.set(slot, this.#forest.of(slot).row(slot));
    return sums;
  }

  #withTotals(head: Head): Head {
    const shared = this.#forest.shared.total();
    this.#head = { ...head, shared, local: this.#forest.local.total() };
    return this.#head;
  }
}
