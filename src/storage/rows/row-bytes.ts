// Strict reading and writing of the binary rows of this folder. A reader refuses input that ends
// early or late, so that bytes can be understood in one way only.

import { isUtf8 } from "node:buffer";
import { writeInt64, writeUint64 } from "@holdfast/shared/bytes";
import { OwnError } from "@holdfast/shared/failure";
import { invariant } from "@holdfast/shared/invariant";

export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(): number {
    return this.#take(1).readUInt8();
  }

  u16(): number {
    return this.#take(2).readUInt16BE();
  }

  u32(): number {
    return this.#take(4).readUInt32BE();
  }

  u64(): bigint {
    return this.#take(8).readBigUInt64BE();
  }

  i64(): bigint {
    return this.#take(8).readBigInt64BE();
  }

  bytes(length: number): Buffer {
    return this.#take(length);
  }

  text(length: number): string {
    const bytes = this.#take(length);
    if (!isUtf8(bytes)) throw new MalformedBytes("text is not UTF-8");
    return bytes.toString("utf8");
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new MalformedBytes("bytes left over");
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new MalformedBytes("bytes end early");
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}

export class MalformedBytes extends OwnError {
  constructor(message: string) {
    super(message);
    this.name = "MalformedBytes";
  }
}

/** Fills one buffer of a size known beforehand; done() checks that it is full. */
export class ByteWriter {
  readonly #bytes: Buffer;
  #at = 0;

  /** A size, or the memory to fill. */
  constructor(room: number | Buffer) {
    this.#bytes = typeof room === "number" ? Buffer.alloc(room) : room;
  }

  u8(value: number): void {
    this.#at = this.#bytes.writeUInt8(value, this.#at);
  }

  u16(value: number): void {
    this.#at = this.#bytes.writeUInt16BE(value, this.#at);
  }

  u32(value: number): void {
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
  }

  u64(value: bigint): void {
    writeUint64(this.#bytes, value, this.#at);
    this.#at += 8;
  }

  i64(value: bigint): void {
    writeInt64(this.#bytes, value, this.#at);
    this.#at += 8;
  }

  bytes(value: Uint8Array): void {
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** `size` is its length in UTF-8. */
  text(value: string, size: number): void {
    invariant(this.#bytes.write(value, this.#at, size) === size, "text of another length");
    this.#at += size;
  }

  /** One byte for each character, none of which is above 255. */
  latin1(value: string): void {
    this.#at += this.#bytes.write(value, this.#at, "latin1");
  }

  done(): Buffer {
    invariant(this.#at === this.#bytes.length, "a row of another length than planned");
    return this.#bytes;
  }
}

/** Memory for bytes that are hashed at once and kept by nobody: a buffer for each costs as much again. */
export class HashRoom {
  #bytes = Buffer.alloc(256);

  /** What was written here before is overwritten. */
  writer(size: number): ByteWriter {
    if (size > this.#bytes.length) this.#bytes = Buffer.alloc(2 * size);
    return new ByteWriter(this.#bytes.subarray(0, size));
  }
}

export function u8(value: number): Buffer {
  const out = Buffer.alloc(1);
  out.writeUInt8(value);
  return out;
}

export function u16(value: number): Buffer {
  const out = Buffer.alloc(2);
  out.writeUInt16BE(value);
  return out;
}

export function u32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

export function u64(value: bigint): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64BE(value);
  return out;
}

export function i64(value: bigint): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigInt64BE(value);
  return out;
}
