// Records one after another in bytes, in the order of their keys. A key says how much of the one before it begins
// with, so that what neighbours share is written once: that is all that compression could win here. It is how
// archives have them; byte layout: docs/formats/snapshot.md.

import { alloc, utf8 } from "@holdfast/shared/bytes";
import { SCOPE_BYTES } from "./log-entry.ts";

/** Of a key: how much of the one before, and how much follows. */
export const KEY_PART = 4;

/** A row with the scope of the mount or namespace that it belongs to. */
export interface ScopedRow {
  readonly key: string;
  readonly scope: Uint8Array; // 16 bytes
  readonly value: Uint8Array;
}

/** Some of them, which follow what was packed before. */
export interface PackedRecords {
  readonly bytes: Uint8Array;
  readonly count: number;
}

export interface WhichRecords {
  /** How many leaves there may be. */
  readonly expected: number;
  /** Keys: their rows, and those below them, are left out. */
  readonly without: readonly string[];
}

/** Memory that is used again for as many bytes as come together; more than these have some of their own. */
const ROOM = 128 * 1024;

export class RecordPacker {
  #before: Buffer = alloc(0);
  #room: Buffer = alloc(0);

  /** Several at once: one by one they would cost more than reading them does. The bytes are there until more are packed. */
  pack(records: readonly ScopedRow[]): PackedRecords {
    const keys = records.map(({ key }) => utf8(key));
    let length = 0;
    records.forEach(({ value }, i) => {
      length += KEY_PART + keys[i]!.length + SCOPE_BYTES + 4 + value.length;
    });
    const out = this.#roomFor(length);
    let at = 0;
    records.forEach(({ scope, value }, i) => {
      const key = keys[i]!;
      const common = commonLength(this.#before, key);
      at = out.writeUInt16BE(common, at);
      at = out.writeUInt16BE(key.length - common, at);
      at += key.copy(out, at, common);
      out.set(scope, at);
      at = out.writeUInt32BE(value.length, at + SCOPE_BYTES);
      out.set(value, at);
      at += value.length;
      this.#before = key;
    });
    return { bytes: out.subarray(0, at), count: records.length };
  }

  #roomFor(length: number): Buffer {
    if (length > ROOM) return alloc(length);
    if (this.#room.length === 0) this.#room = alloc(ROOM);
    return this.#room;
  }
}

export function commonLength(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a[at] === b[at]) at++;
  return at;
}
