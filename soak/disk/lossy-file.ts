// The contents of one file on a disk that loses what was not synced: durable bytes, then the
// operations since, in order. What a crash leaves of them is decided by the caller, operation by
// operation (lossy-disk.ts); names and directories are not known here.

import type { Prng } from "../../sim/prng.ts";

/** `at` is the place in the trace: it orders operations across files. */
export type FileOperation = { readonly at: number } & (
  | { readonly type: "write"; readonly offset: number; readonly data: Buffer }
  | { readonly type: "truncate"; readonly size: number }
  | { readonly type: "allocate"; readonly offset: number; readonly length: number }
);

export type Fate = "kept" | "lost" | Torn;

/** Each sector of a write is new or old by itself. Truncations have no sectors: all or nothing. */
export interface Torn {
  readonly prng: Prng;
  /** How likely a sector is new. */
  readonly kept: number;
  /** What a lost sector beyond the old end of the file shows: disks and file systems differ. */
  readonly beyond: "absent" | "zero" | "garbage";
}

const SECTOR = 512;

interface Entry {
  readonly operation: FileOperation;
  // A failed sync makes the kernel forget that pages are dirty: a later sync that succeeds says
  // nothing about what the failed one covered. Such operations stay in doubt for ever.
  state: "pending" | "doubtful" | "synced";
}

export class LossyFile {
  readonly #durable = new Bytes();
  #entries: Entry[] = [];

  constructor(contents?: Uint8Array) {
    if (contents !== undefined) this.#durable.write(0, contents);
  }

  append(operation: FileOperation): void {
    this.#entries.push({ operation, state: "pending" });
  }

  sync(): void {
    for (const entry of this.#entries) if (entry.state === "pending") entry.state = "synced";
    // Only what follows nothing doubtful can be merged: order matters where ranges overlap.
    const stop = this.#entries.findIndex((entry) => entry.state !== "synced");
    const merged = this.#entries.splice(0, stop === -1 ? this.#entries.length : stop);
    for (const { operation } of merged) apply(this.#durable, operation);
  }

  syncFailed(): void {
    for (const entry of this.#entries) if (entry.state === "pending") entry.state = "doubtful";
  }

  /** What a crash may take away, in order. */
  atRisk(): FileOperation[] {
    return this.#entries.filter((e) => e.state !== "synced").map((e) => e.operation);
  }

  /** The contents after a crash in which each operation at risk met the given fate. */
  afterCrash(fate: (operation: FileOperation) => Fate): Buffer {
    const bytes = this.#durable.clone();
    for (const { operation, state } of this.#entries) {
      const met = state === "synced" ? "kept" : fate(operation);
      if (met === "kept") apply(bytes, operation);
      else if (met !== "lost") tear(bytes, operation, met);
    }
    return bytes.toBuffer();
  }
}

function apply(bytes: Bytes, operation: FileOperation): void {
  if (operation.type === "write") bytes.write(operation.offset, operation.data);
  else if (operation.type === "truncate") bytes.resize(operation.size);
  else bytes.resize(Math.max(bytes.size, operation.offset + operation.length));
}

function tear(bytes: Bytes, operation: FileOperation, { prng, kept, beyond }: Torn): void {
  if (operation.type !== "write") {
    if (prng.chance(kept)) apply(bytes, operation);
    return;
  }
  const { offset, data } = operation;
  const oldEnd = bytes.size;
  const end = offset + data.length;
  for (let from = offset; from < end;) {
    const to = Math.min(end, from - (from % SECTOR) + SECTOR);
    // Bytes next to the written range are never harmed (SQLite's "powersafe overwrite", true of
    // every disk that writes whole sectors), so only what lies past the old end can be garbage.
    const lostFrom = Math.max(from, oldEnd);
    if (prng.chance(kept)) bytes.write(from, data.subarray(from - offset, to - offset));
    else if (lostFrom < to && beyond === "zero") bytes.write(lostFrom, Buffer.alloc(to - lostFrom));
    else if (lostFrom < to && beyond === "garbage")
      bytes.write(lostFrom, prng.bytes(to - lostFrom));
    from = to;
  }
}

/** Bytes that grow; a gap reads as zeros, as in a file. */
class Bytes {
  #buffer: Buffer = Buffer.alloc(0);
  size = 0;

  write(offset: number, data: Uint8Array): void {
    if (data.length === 0) return;
    this.resize(Math.max(this.size, offset + data.length));
    this.#buffer.set(data, offset);
  }

  resize(size: number): void {
    if (size < this.size) this.#buffer.fill(0, size, this.size); // no old bytes when it grows again
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(size, this.#buffer.length * 2));
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
    this.size = size;
  }

  clone(): Bytes {
    const copy = new Bytes();
    copy.#buffer = this.toBuffer();
    copy.size = this.size;
    return copy;
  }

  toBuffer(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.size));
  }
}
