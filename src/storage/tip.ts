// The state after the last accepted transaction, durable or not: position, chain and sums. It turns
// the changes of a transaction into all the rows that must be written together.

import type { KeyObject } from "node:crypto";
import { EMPTY } from "../base/bytes.ts";
import type { Instant } from "../base/world.ts";
import type { Batch, Leaf, LogRow, SumRow } from "./engines/engine.ts";
import type { Head } from "./rows/head.ts";
import { classOf } from "./key.ts";
import {
  chainEntry,
  type ControlRecord,
  encodeEntry,
  type LogOperation,
} from "./rows/log-entry.ts";
import { type Forest, LeafHasher, sha256, slotOf } from "./rows/merkle.ts";
import type { StoredChange } from "./transaction.ts";

export type LeafChange = Batch["leaves"][number];

/** What one accepted transaction writes besides its data rows. */
export interface TipRows {
  readonly leaves: readonly LeafChange[];
  readonly sums: ReadonlyMap<number, SumRow>;
  /** Null when only ignored rows change: such a transaction takes no index. */
  readonly log: LogRow | null;
  readonly head: Head;
}

export class Tip {
  readonly #leaves: LeafHasher;
  readonly #forest: Forest;
  #head: Head;

  /** The forest is the tip's own from now on. */
  constructor(treeKey: KeyObject, head: Head, forest: Forest) {
    this.#leaves = new LeafHasher(treeKey);
    this.#head = head;
    this.#forest = forest;
  }

  get head(): Head {
    return this.#head;
  }

  /** Forgets the key of the trees. It takes nothing more. */
  wipe(): void {
    this.#leaves.wipe();
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
      const leaf = value === null ? null : { hash: this.#leaves.hash(key, valueDigest), scope };
      tree.replace(slot, before?.hash ?? null, leaf?.hash ?? null);
      leaves.push(fresh ? { slot, key, leaf, fresh } : { slot, key, leaf });
      touched.add(slot);
    }
    if (operations.length === 0 && control === null) {
      return { leaves, sums: new Map(), log: null, head: this.#head };
    }
    const log = this.#append(operations, control, time);
    const sums = new Map([...touched].map((slot) => [slot, this.#forest.of(slot).row(slot)]));
    return { leaves, sums, log, head: this.#head };
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

  leafHash(key: string, valueDigest: Uint8Array): Buffer {
    return this.#leaves.hash(key, valueDigest);
  }

  isEmpty(slot: number): boolean {
    return this.#forest.of(slot).isEmpty(slot);
  }

  sum(slot: number): SumRow {
    return this.#forest.of(slot).row(slot);
  }

  #append(operations: LogOperation[], control: ControlRecord | null, time: Instant): LogRow {
    const { epoch, chain } = this.#head;
    const index = this.#head.index + 1n;
    const entry = chainEntry({ epoch, index, time, operations, control }, chain);
    const bytes = encodeEntry(entry);
    const shared = control !== null || operations.some((op) => op.class === "shared");
    this.#withTotals({
      ...this.#head,
      index,
      chain: entry.chain,
      lastDr: index,
      lastPerf: shared ? index : this.#head.lastPerf,
      logBytes: this.#head.logBytes + BigInt(bytes.length),
    });
    return { index, entry: bytes };
  }

  #withTotals(head: Head): Head {
    const shared = this.#forest.shared.total();
    this.#head = { ...head, shared, local: this.#forest.local.total() };
    return this.#head;
  }
}
