// What a storage engine is: ordered rows, synchronous reads of durable state, one atomic and durable
// commit, a consistent read view. It sees only ciphertext and keys and knows nothing of their
// meaning. `tests/contract/engine.ts` says what every engine must do; adding one touches nothing
// outside this folder.
//
// Rows come in five families, each with its own order:
//   data  key → stored value            leaf  (slot, key) → leaf hash and scope
//   sum   slot → sum and count          log   index → encoded entry
//   meta  name → bytes (head, tail, timeline)
// Keys are text, ordered by their UTF-8 bytes. A slot is tree (1 bit) | page (8) | subpage (8).

import { OwnError } from "@holdfast/shared/failure";
import type { PackedRecords, WhichRecords } from "../rows/packed-records.ts";

export interface Row {
  readonly key: string;
  readonly value: Uint8Array;
}

export interface Leaf {
  readonly hash: Uint8Array; // 32 bytes
  readonly scope: Uint8Array; // 16 bytes
}

export interface LeafRow extends Leaf {
  readonly slot: number;
  readonly key: string;
}

/** Of a leaf: what is read of very many, as text, which costs a quarter of what bytes do. */
export interface ScopeRow {
  readonly slot: number;
  readonly key: string;
  readonly scope: string; // 32 hexadecimal digits
}

export interface SumRow {
  readonly slot: number;
  readonly sum: Uint8Array; // 32 bytes, big-endian
  readonly count: number;
}

export interface LogRow {
  readonly index: bigint;
  readonly entry: Uint8Array;
}

/** Keys with from ≤ key < to (to = null: no upper bound), at most `limit` of them (at least 1). */
export interface Range {
  readonly from: string;
  readonly to: string | null;
  readonly limit: number;
  /** Descending: the greatest keys of the range first. Default false. */
  readonly reverse?: boolean;
}

/**
 * Reads are local, synchronous, and see only what is durable. An engine that cannot read throws an
 * EngineError; absence is null or an empty array. Returned bytes belong to the caller.
 */
export interface Reads {
  get(key: string): Uint8Array | null;
  rows(range: Range): Row[];
  keys(range: Range): string[];
  leaf(slot: number, key: string): Leaf | null;
  /** Leaf rows in order of (slot, key), strictly after the given place; null starts at the first. */
  leaves(after: { slot: number; key: string } | null, limit: number): LeafRow[];
  /** The same rows without their hashes. */
  scopes(after: { slot: number; key: string } | null, limit: number): ScopeRow[];
  /** Sum rows with slot ≥ from, in order of slot. Default: all of them, at most 131,072. */
  sums(from?: number, limit?: number): SumRow[];
  /** Log rows with index ≥ from, ascending. */
  logs(from: bigint, limit: number): LogRow[];
  /** The greatest index in the log, or null when it is empty. */
  lastLog(): bigint | null;
  meta(name: string): Uint8Array | null;
}

/** A consistent view of one moment. Hold it briefly: it may keep the engine from reusing space. */
export interface ReadView extends Reads {
  close(): void;
}

/** The same for whoever reads all of it: it is read elsewhere, and holds up nobody. */
export interface ViewApart {
  /** Of the rows that say what the store is. */
  meta(name: string): Uint8Array | null;
  begin(which: WhichRecords): Promise<void>;
  /**
   * Some of the records, perhaps none; null at their end. One call at a time, and what came with the last one but one is
   * overwritten by it.
   */
  next(): Promise<PackedRecords | null>;
  close(): Promise<void>;
}

/** Everything one commit changes; a null value or leaf deletes. No row is named twice. */
export interface Batch {
  /**
   * The commit happens only if the meta row named has exactly these bytes (null: does not exist).
   * Otherwise nothing changes and commit() rejects with a CommitConflict.
   */
  readonly expect: { readonly name: string; readonly value: Uint8Array | null };
  readonly data: readonly { readonly key: string; readonly value: Uint8Array | null }[];
  readonly leaves: readonly {
    readonly slot: number;
    readonly key: string;
    readonly leaf: Leaf | null;
    /** There is none yet: nobody has looked. If there is one, commit() rejects and nothing changes. */
    readonly fresh?: true;
  }[];
  readonly sums: readonly SumRow[];
  /** Removes every log row with a greater index; what `log` names comes after that. */
  readonly cutLogAbove: bigint | null;
  readonly log: readonly LogRow[];
  /** Removes every log row with a smaller index, also of those in `log`. */
  readonly trimLogBelow: bigint | null;
  readonly meta: readonly { readonly name: string; readonly value: Uint8Array | null }[];
}

export interface Limits {
  /** Most data rows in one commit. */
  readonly operations: number;
  /** Most bytes of keys, values and log entries in one commit. */
  readonly bytes: number;
}

export interface StorageEngine extends Reads {
  readonly kind: string; // "memory", "sqlite", …: shown as storage_type
  readonly limits: Limits;
  /**
   * Applies the batch atomically and resolves when it is durable and visible to reads. One commit
   * runs at a time; a second call before the first has settled is a programming error. After a
   * rejection other than CommitConflict the outcome is unknown and the engine must not be used.
   */
  commit(batch: Batch): Promise<void>;
  snapshot(): ReadView;
  /** Null where there is no other place to read at. `metas`: the meta rows that are needed. */
  viewApart(metas: readonly string[]): Promise<ViewApart | null>;
  /** What was removed is to lie nowhere any more when the next commits are durable, as soon as nobody reads it. */
  scrub(): void;
  /** Calls when the engine has failed by itself, in work that nobody waits for. Optional: without such work nothing does. */
  onFailure?(listener: (error: EngineError) => void): void;
  /** Calls after each durable commit that another user of the same storage made, in order. */
  watch(listener: (keys: readonly string[]) => void): () => void;
  /** Bytes that can still be written, or null when the engine has no such limit. */
  freeBytes(): number | null;
  /** Ends the use of the storage. Waits for a running commit. */
  close(): Promise<void>;
}

/** The storage below failed: nothing may be acknowledged any more. */
export class EngineError extends OwnError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineError";
  }
}

/** The expected meta row was different: somebody else wrote. Nothing was changed. */
export class CommitConflict extends OwnError {
  constructor() {
    super("the storage was changed by another writer");
    this.name = "CommitConflict";
  }
}

/** The storage is in use by another process. */
export class StorageLocked extends OwnError {
  constructor(place: string) {
    super(`the storage at ${place} is in use by another process`);
    this.name = "StorageLocked";
  }
}
