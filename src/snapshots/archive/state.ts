// state.bin: everything stored as of one index, as it lies in storage (ciphertext), in the order of its keys. Byte
// layout: docs/formats/snapshot.md.

import { isUtf8 } from "node:buffer";
import { alloc, concat, text, utf8 } from "@holdfast/shared/bytes";
import { isLegalKey, MAX_KEY_BYTES } from "../../storage/key.ts";
import { SCOPE_BYTES } from "../../storage/rows/log-entry.ts";
import {
  commonLength,
  KEY_PART,
  type PackedRecords,
  type ScopedRow,
} from "../../storage/rows/packed-records.ts";
import { archiveDamaged, archiveTooNew } from "./failures.ts";
import { stays } from "./rows-that-stay.ts";

const MAGIC = utf8("HFSTATE\n");
const VERSION = 1;
const MAX_HEAD = 4096;
const MAX_TIMELINE = 1024 * 1024;
/** Larger than any store takes one: 8 MiB and what sealing adds. */
const MAX_VALUE = 9 * 1024 * 1024;
const END_BYTES = KEY_PART + 8;

export type StateRecord = ScopedRow;

/** The class of a record, as its key begins. */
export function rootOf(key: string): "shared" | "local" | "core" {
  if (key.startsWith("shared/")) return "shared";
  return key.startsWith("local/") ? "local" : "core";
}

/** What stands before the records: rows of the store's own, as stored. */
export interface StateHead {
  readonly head: Uint8Array;
  readonly timeline: Uint8Array;
}

export class StateWriter {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  begin({ head, timeline }: StateHead): Buffer {
    const sizes = alloc(10);
    sizes.writeUInt16BE(VERSION, 0);
    sizes.writeUInt32BE(head.length, 2);
    sizes.writeUInt32BE(timeline.length, 6);
    return concat(MAGIC, sizes, head, timeline);
  }

  /** Some that follow those before, as they were packed. */
  records({ bytes, count }: PackedRecords): Uint8Array {
    this.#count += count;
    return bytes;
  }

  end(): Buffer {
    const out = alloc(END_BYTES);
    out.writeBigUInt64BE(BigInt(this.#count), KEY_PART);
    return out;
  }
}

/** Reads what StateWriter writes, however it is cut into pieces, and nothing else. */
export class StateParser {
  readonly #waiting = new WaitingBytes();
  #place: "sizes" | "head" | "records" | "end" = "sizes";
  #sizes: readonly [head: number, timeline: number] = [0, 0];
  #head: StateHead | null = null;
  #before: Buffer = alloc(0);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Null until it has come. */
  get head(): StateHead | null {
    return this.#head;
  }

  /** The records that are whole now. They belong to the caller. */
  push(chunk: Uint8Array): StateRecord[] {
    const records: StateRecord[] = [];
    const bytes = this.#waiting;
    bytes.add(chunk);
    if (this.#place === "sizes") {
      const sizes = bytes.take(MAGIC.length + 10);
      if (sizes === null) return records;
      this.#readSizes(sizes);
    }
    if (this.#place === "head") {
      const rows = bytes.take(this.#sizes[0] + this.#sizes[1]);
      if (rows === null) return records;
      const split = this.#sizes[0];
      this.#head = { head: rows.subarray(0, split), timeline: rows.subarray(split) };
      this.#place = "records";
    }
    while (this.#place === "records") {
      const record = this.#next(bytes);
      if (record === null) break;
      records.push(record);
    }
    if (this.#place === "end" && bytes.length > 0) refuse("bytes follow its last record");
    return records;
  }

  end(): void {
    if (this.#place !== "end") refuse("it breaks off");
  }

  #readSizes(bytes: Buffer): void {
    if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) refuse("it does not begin as it should");
    const sizes = bytes.subarray(MAGIC.length);
    const version = sizes.readUInt16BE(0);
    if (version > VERSION) {
      throw archiveTooNew(`version ${version} of state.bin, and ${VERSION} is read here`, "");
    }
    this.#sizes = [sizes.readUInt32BE(2), sizes.readUInt32BE(6)];
    const [head, timeline] = this.#sizes;
    if (version !== VERSION || head > MAX_HEAD || timeline > MAX_TIMELINE) {
      refuse("its beginning is of no form that there is");
    }
    this.#place = "head";
  }

  #next(bytes: WaitingBytes): StateRecord | null {
    const sizes = bytes.peek(KEY_PART);
    if (sizes === null) return null;
    const [common, rest] = [sizes.readUInt16BE(0), sizes.readUInt16BE(2)];
    if (common === 0 && rest === 0) {
      const end = bytes.take(END_BYTES);
      if (end !== null) this.#finish(end);
      return null;
    }
    if (common > this.#before.length || rest === 0 || common + rest > MAX_KEY_BYTES) {
      refuse(`record ${this.#count + 1} has a key of an impossible length`);
    }
    const front = KEY_PART + rest + SCOPE_BYTES + 4;
    const start = bytes.peek(front);
    if (start === null) return null;
    const size = start.readUInt32BE(front - 4);
    if (size > MAX_VALUE) refuse(`record ${this.#count + 1} has a value of ${size} bytes`);
    const whole = bytes.take(front + size);
    if (whole === null) return null;
    const key = concat(this.#before.subarray(0, common), whole.subarray(KEY_PART, KEY_PART + rest));
    this.#check(key, common);
    this.#before = key;
    this.#count++;
    return {
      key: text(key),
      scope: whole.subarray(front - 4 - SCOPE_BYTES, front - 4),
      value: whole.subarray(front),
    };
  }

  /** In order, no key twice, and none that we could not have made. */
  #check(key: Buffer, common: number): void {
    const place = `record ${this.#count + 1}`;
    const before = this.#before;
    if (before.length > 0 && Buffer.compare(before, key) >= 0) {
      refuse(`the key of ${place} is not behind the one before it`);
    }
    if (commonLength(before, key) !== common) refuse(`the key of ${place} is cut in an odd place`);
    const known = isUtf8(key) ? text(key) : "";
    if (!isLegalKey(known)) refuse(`the key of ${place} is none that a store has`);
    if (stays(known)) refuse(`${place} is a row that no snapshot has`);
  }

  #finish(end: Buffer): void {
    if (end.readBigUInt64BE(KEY_PART) !== BigInt(this.#count)) {
      refuse(`it has ${this.#count} records and says otherwise`);
    }
    this.#place = "end";
  }
}

function refuse(what: string): never {
  throw archiveDamaged(`state.bin: ${what}`);
}

const ROOM = 256 * 1024;

/** Bytes that have come and were not taken, in one piece of memory of their own whatever they came in: what is waited
 *  for, and never more than that and what comes at once. */
class WaitingBytes {
  #room: Buffer = alloc(0); // none, until something has come
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  add(part: Uint8Array): void {
    this.#makeRoom(this.length + part.length);
    this.#room.set(part, this.#to);
    this.#to += part.length;
  }

  /** The next bytes, which stay, until others come; null when they are not all there. */
  peek(length: number): Buffer | null {
    if (this.length >= length) return this.#room.subarray(this.#from, this.#from + length);
    this.#makeRoom(length);
    return null;
  }

  /** The next bytes, in memory of their own. */
  take(length: number): Buffer | null {
    const bytes = this.peek(length);
    if (bytes === null) return null;
    this.#from += length;
    return concat(bytes);
  }

  /** For so many in all. Where it has to grow there is more room than that, so nothing moves again for the same ones. */
  #makeRoom(length: number): void {
    if (this.#from + length <= this.#room.length) return;
    const room = length + ROOM <= this.#room.length ? this.#room : alloc(length + ROOM);
    this.#room.copy(room, 0, this.#from, this.#to);
    this.#room = room;
    this.#to -= this.#from;
    this.#from = 0;
  }
}
