// One transaction over sealed bytes: reads see everything accepted before it and its own writes;
// its writes are collected and handed on only when the function has returned.

import { storageEntryTooLarge, storageTransactionTooLarge } from "./failures.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { Range, Row } from "./engines/engine.ts";
import { checkKey, classOf, listNames, type Page, rangeOf } from "./key.ts";
import { EPOCH_START } from "./rows/epoch.ts";
import { type ControlRecord, CORE_SCOPE, SCOPE_BYTES } from "./rows/log-entry.ts";
import { OrderedMap } from "./engines/ordered-map.ts";
import { type Changed, keysOf, mergeRange } from "./overlay.ts";

/** What a transaction reads below its own changes. */
export interface Below {
  get(key: string): Uint8Array | null;
  /** Whether a write of the key is on its way to the disk. */
  isPending(key: string): boolean;
  /** Whether anything is stored for the key, damaged or not. */
  has(key: string): boolean;
  rows(range: Range): Row[];
  keys(range: Range): string[];
}

export interface StoreReads {
  get(key: string): Uint8Array | null;
  rows(prefix: string, page: Page): Row[];
  keys(prefix: string, page: Page): string[];
  /** Names one level down, folders with "/". */
  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[];
}

export interface StoreTx extends StoreReads {
  /** The index of this transaction, if it changes anything but ignored rows. */
  readonly index: bigint;
  readonly time: Instant;
  /** Whether what this transaction sees at the key is what is durable there. */
  isDurable(key: string): boolean;
  /** `scope` is the mount or namespace the record hangs on: 16 bytes; none means the core. `plain` is
   *  not stored: whoever follows commits is told it, see Store.onCommit. */
  put(key: string, value: Uint8Array, scope?: Uint8Array, plain?: Uint8Array): void;
  /**
   * Like put, for a record that cannot be there yet by its name, which holds random bits drawn for it or
   * the index of this transaction. It saves the look at what is replaced. If something is there after
   * all, the commit fails as a storage error, and the store stops.
   */
  add(key: string, value: Uint8Array, scope?: Uint8Array): void;
  /** The log names the scope that the record was put with; `scope` stands in where that is lost. */
  delete(key: string, scope?: Uint8Array): void;
  /** Removes an ignored row whatever its name, which may be none that a transaction would have written. */
  discard(key: string): void;
  /** Adds a control record to the log entry; at most one in a transaction. */
  control(record: ControlRecord): void;
}

export interface StoredChange {
  readonly value: Uint8Array | null;
  readonly scope: Uint8Array;
  readonly plain: Uint8Array | null;
  /** Nothing can be there yet. */
  readonly fresh: boolean;
}

export interface TransactionLimits {
  readonly operations: number;
  readonly bytes: number;
  readonly valueBytes: number;
}

/** What every transaction adds: the header of its log entry and its share of the head, rounded up. */
export const ENTRY_BYTES = 512;

export class Transaction implements StoreTx {
  readonly index: bigint;
  readonly time: Instant;
  readonly #below: Below;
  readonly #limits: TransactionLimits;
  readonly #changes = new Map<string, StoredChange>();
  #ordered: OrderedMap<StoredChange> | null = null; // the same in order, once something was listed
  #control: ControlRecord | null = null;
  #bytes = ENTRY_BYTES;
  #open = true;

  constructor(below: Below, index: bigint, time: Instant, limits: TransactionLimits) {
    this.#below = below;
    this.index = index;
    this.time = time;
    this.#limits = limits;
  }

  get(key: string): Uint8Array | null {
    this.#assertOpen();
    const own = this.#changes.get(key);
    return own === undefined ? this.#below.get(key) : own.value;
  }

  isDurable(key: string): boolean {
    this.#assertOpen();
    return !this.#changes.has(key) && !this.#below.isPending(key);
  }

  rows(prefix: string, page: Page): Row[] {
    this.#assertOpen();
    const range = rangeOf(prefix, page);
    const below = (part: Range) => this.#below.rows(part);
    return mergeRange(
      range,
      below,
      (row) => row.key,
      (part) => this.#ownChanges(part),
    );
  }

  keys(prefix: string, page: Page): string[] {
    return this.#keys(rangeOf(prefix, page));
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    return listNames((range) => this.#keys(range), prefix, page);
  }

  put(key: string, value: Uint8Array, scope?: Uint8Array, plain?: Uint8Array): void {
    this.#put(key, { value, scope: scope ?? CORE_SCOPE, plain: plain ?? null, fresh: false });
  }

  add(key: string, value: Uint8Array, scope?: Uint8Array): void {
    // What is on its way may be a deletion, after which the storage still has the old leaf.
    const fresh = this.isDurable(key);
    this.#put(key, { value, scope: scope ?? CORE_SCOPE, plain: null, fresh });
  }

  #put(key: string, change: StoredChange & { readonly value: Uint8Array }): void {
    const { value, scope } = change;
    this.#assertOpen();
    checkKey(key);
    classOf(key);
    invariant(scope.length === SCOPE_BYTES, "a scope has 16 bytes");
    if (value.length > this.#limits.valueBytes) {
      const message = `a stored entry may have at most ${this.#limits.valueBytes} bytes; this one has ${value.length}`;
      throw storageEntryTooLarge(message);
    }
    this.#change(key, change);
  }

  delete(key: string, scope: Uint8Array = CORE_SCOPE): void {
    this.#assertOpen();
    checkKey(key);
    invariant(scope.length === SCOPE_BYTES, "a scope has 16 bytes");
    // Deleting what is not there changes nothing, so it wakes nobody and takes no index.
    if (this.#below.has(key)) this.#change(key, { value: null, scope, plain: null, fresh: false });
    else this.#forget(key);
  }

  discard(key: string): void {
    this.#assertOpen();
    invariant(
      classOf(key) === "ignored",
      "only what is in no tree goes without a look at its name",
    );
    if (!this.#below.has(key)) return this.#forget(key);
    this.#change(key, { value: null, scope: CORE_SCOPE, plain: null, fresh: false });
  }

  control(record: ControlRecord): void {
    this.#assertOpen();
    invariant(this.#control === null, "one control record in a transaction");
    invariant(record.type > 0 && record.type < 256, "the type of a control record is one byte");
    invariant(record.type !== EPOCH_START, "an epoch starts with an entry of its own");
    this.#control = record;
    this.#bytes += record.body.length;
  }

  /** Ends the transaction and hands over what it changed. */
  finish(): { changes: Map<string, StoredChange>; control: ControlRecord | null; bytes: number } {
    this.#assertOpen();
    this.#open = false;
    const { operations, bytes } = this.#limits;
    if (this.#changes.size > operations || this.#bytes > bytes) {
      const message =
        `one change may touch at most ${operations} entries and ${bytes} bytes; ` +
        `this one touches ${this.#changes.size} entries and ${this.#bytes} bytes`;
      throw storageTransactionTooLarge(message);
    }
    return { changes: this.#changes, control: this.#control, bytes: this.#bytes };
  }

  /** Makes the transaction unusable for whoever kept a reference. */
  abandon(): void {
    this.#open = false;
  }

  #change(key: string, change: StoredChange): void {
    this.#forget(key);
    this.#changes.set(key, change);
    this.#ordered?.set(key, change);
    this.#bytes += sizeOf(key, change);
  }

  #forget(key: string): void {
    const before = this.#changes.get(key);
    if (before === undefined) return;
    this.#changes.delete(key);
    this.#ordered?.delete(key);
    this.#bytes -= sizeOf(key, before);
  }

  #keys(range: Range): string[] {
    this.#assertOpen();
    const below = (part: Range) => this.#below.keys(part);
    const over = (part: Range) => keysOf(this.#ownChanges(part));
    return mergeRange(range, below, (key) => key, over);
  }

  #ownChanges(range: Range): Changed<Row>[] {
    if (this.#ordered === null) {
      this.#ordered = new OrderedMap();
      for (const [key, change] of this.#changes) this.#ordered.set(key, change);
    }
    const found = this.#ordered.entries(range);
    return found.map(([key, { value }]) => [key, value === null ? null : { key, value }]);
  }

  #assertOpen(): void {
    invariant(this.#open, "a transaction is used only inside its function");
  }
}

/**
 * What a change adds to a commit: key and value in the data row and in the log entry, the key again
 * in its leaf row, and at most 128 bytes of hash, scope, sum and lengths.
 */
export function sizeOf(key: string, change: Pick<StoredChange, "value">): number {
  return 3 * Buffer.byteLength(key) + 2 * (change.value?.length ?? 0) + 128;
}
