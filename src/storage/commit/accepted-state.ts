// The state after everything accepted: what is durable, with the writes on their way laid over it.
// Transactions and repairs read here; reads outside a transaction only what is durable.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import type { StorageEngine, Leaf, Range, Row, SumRow } from "../engines/engine.ts";
import { entryMissing } from "../failures.ts";
import { afterKey, checkKey, classOf } from "../key.ts";
import { keysOf, mergeRange } from "../overlay.ts";
import type { Pending } from "../pending.ts";
import { slotOf, sumOf } from "../rows/merkle.ts";
import { leavesFrom, type SlotLeaves } from "./slot-leaves.ts";
import type { Below } from "../transaction.ts";

/** A miss must cost little, also in a store of many millions. */
const MAX_COUNTED = 64;

export class AcceptedState implements Below {
  readonly #engine: StorageEngine;
  readonly #pending: Pending;
  readonly #log: Log;
  readonly #knownSum: (slot: number) => SumRow | null;
  #damageFound = 0;

  /** `knownSum` is that of the tree in memory, or null while it may differ from what is stored. */
  constructor(
    engine: StorageEngine,
    pending: Pending,
    log: Log,
    knownSum: (slot: number) => SumRow | null,
  ) {
    this.#engine = engine;
    this.#pending = pending;
    this.#log = log;
    this.#knownSum = knownSum;
  }

  /** How often a row was found to have vanished. */
  get damageFound(): number {
    return this.#damageFound;
  }

  /**
   * A leaf without its row is damage, not absence: the key has vanished. And where the leaves of its
   * subpage are not those that the tree in memory knows, nothing can be said to be absent.
   */
  getDurable(key: string): Uint8Array | null {
    const value = this.#engine.get(key);
    if (value !== null) return value;
    checkKey(key);
    const slot = slotOf(classOf(key), key);
    if (slot === null) return null;
    if (this.#engine.leaf(slot, key) === null && this.#isWhole(slot)) return null;
    this.#damageFound++;
    const failure = entryMissing(key);
    this.#log.error("damage in storage", { cause: failure.message });
    throw failure;
  }

  /** Whether the stored leaves of a slot add up; taken for granted where that cannot be told now. */
  #isWhole(slot: number): boolean {
    const known = this.#knownSum(slot);
    if (known === null || known.count > MAX_COUNTED) return true;
    const rows = this.#engine.leaves({ slot, key: "" }, known.count + 1);
    const hashes = rows.filter((row) => row.slot === slot).map(({ hash }) => hash);
    return hashes.length === known.count && equalBytes(sumOf(slot, hashes).sum, known.sum);
  }

  get(key: string): Uint8Array | null {
    const row = this.#pending.find(key);
    return row === undefined ? this.getDurable(key) : row.value;
  }

  isPending(key: string): boolean {
    return this.#pending.find(key) !== undefined;
  }

  /** Like get, but takes a vanished row for an absent one: for repairs. */
  value(key: string): Uint8Array | null {
    const row = this.#pending.find(key);
    return row === undefined ? this.#engine.get(key) : row.value;
  }

  has(key: string): boolean {
    const row = this.#pending.find(key);
    if (row !== undefined) return row.value !== null;
    // A leaf is found by its key alone, which costs a third of looking for the row in a range.
    const slot = slotOf(classOf(key), key);
    return (slot !== null && this.#engine.leaf(slot, key) !== null) || this.hasValue(key);
  }

  hasValue(key: string): boolean {
    const row = this.#pending.find(key);
    if (row !== undefined) return row.value !== null;
    return this.#engine.keys({ from: key, to: afterKey(key), limit: 1 }).length > 0;
  }

  leaf(slot: number, key: string): Leaf | null {
    const row = this.#pending.find(key);
    return row === undefined ? this.#engine.leaf(slot, key) : row.leaf;
  }

  /** The leaves of each slot from `first` on. */
  leavesFrom(first: number): SlotLeaves {
    return leavesFrom(this.#engine, this.#pending.leavesBySlot(), first);
  }

  rows(range: Range): Row[] {
    const below = (part: Range) => this.#engine.rows(part);
    const over = (part: Range) => this.#pending.changes(part);
    return mergeRange(range, below, (row) => row.key, over);
  }

  keys(range: Range): string[] {
    const below = (part: Range) => this.#engine.keys(part);
    const over = (part: Range) => keysOf(this.#pending.changes(part));
    return mergeRange(range, below, (key) => key, over);
  }
}
