// The outer form of an archive: gzip (RFC 1952) whose data is stored as it is, in blocks of 65,535 bytes and what
// is left. Values are ciphertext, which no compression makes smaller; so every bit of the file counts, nothing
// can expand, and no library reads what a stranger sends. Every program that reads gzip reads it.

import { crc32 } from "node:zlib";
import { alloc, concat, equalBytes } from "@holdfast/shared/bytes";
import type { Failure } from "@holdfast/shared/failure";
import { archiveDamaged, archiveForeign, archiveTruncated } from "./failures.ts";

// Magic, method deflate, no flags, no time, no hint, unknown system.
const HEAD: Uint8Array = Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
export const BLOCK_HEAD = 5;
const LAST_BLOCK: Uint8Array = Uint8Array.from([1, 0, 0, 0xff, 0xff]);
const TRAILER = 8;
export const MAX_BLOCK = 0xffff;

/** One member: it is written piece by piece, each of which is at most one block. */
export class MemberWriter {
  #crc = 0;
  #length = 0;

  head(): Uint8Array {
    return HEAD;
  }

  block(bytes: Uint8Array): Buffer {
    return this.frame(concat(alloc(BLOCK_HEAD), bytes));
  }

  /** The same where the data lies behind room for what stands before it. */
  frame(block: Buffer): Buffer {
    const bytes = block.subarray(BLOCK_HEAD);
    block.writeUInt8(0, 0);
    block.writeUInt16LE(bytes.length, 1);
    block.writeUInt16LE(bytes.length ^ MAX_BLOCK, 3);
    this.#crc = crc32(bytes, this.#crc);
    this.#length = (this.#length + bytes.length) % 2 ** 32;
    return block;
  }

  end(): Buffer {
    const trailer = alloc(TRAILER);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#length, 4);
    return concat(LAST_BLOCK, trailer);
  }
}

/** The bytes that a member with so much data in one block has. */
export function memberSize(data: number): number {
  return HEAD.length + BLOCK_HEAD + data + LAST_BLOCK.length + TRAILER;
}

type Place = "head" | "block" | "data" | "trailer" | "end";

/** Takes exactly what the writer gives: its members, blocks that are full but for the last one of a member, and
 *  nothing behind them. Smaller blocks would be another file with the same data, and dear to read. */
export class GzipParser {
  readonly #members: readonly (number | null)[];
  #place: Place = "head";
  #kept: Buffer = alloc(0); // of a head, a block's head or a trailer that has not come whole
  #left = 0; // of the block's data
  #full = true; // the block before, if there was one
  #last = false;
  #member = 0;
  #crc = 0;
  #length = 0;
  #bytes = 0;

  /** How much data each member has; null where it may be any. */
  constructor(members: readonly (number | null)[]) {
    this.#members = members;
  }

  /** Bytes of the file so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The data in the next bytes of the file, in order. */
  *push(chunk: Uint8Array): Generator<Uint8Array, void, void> {
    for (let at = 0; at < chunk.length;) {
      if (this.#place === "data") {
        const piece = chunk.subarray(at, at + this.#left);
        at += piece.length;
        this.#bytes += piece.length;
        this.#left -= piece.length;
        this.#crc = crc32(piece, this.#crc);
        this.#length = (this.#length + piece.length) % 2 ** 32;
        if (this.#left === 0) this.#place = this.#last ? "trailer" : "block";
        yield piece;
        continue;
      }
      const need = this.#needed() - this.#kept.length;
      const part = chunk.subarray(at, at + need);
      at += part.length;
      this.#bytes += part.length;
      this.#kept = concat(this.#kept, part);
      if (part.length < need) return;
      const whole = this.#kept;
      this.#kept = alloc(0);
      this.#step(whole);
    }
  }

  /** Refuses a file that ends before its end. */
  end(where: string): void {
    if (this.#place !== "end") throw archiveTruncated(this.#bytes, where);
  }

  #needed(): number {
    switch (this.#place) {
      case "head":
        return HEAD.length;
      case "block":
        return BLOCK_HEAD;
      case "trailer":
        return TRAILER;
      case "data":
      case "end":
        throw archiveForeign(`something follows its end, at byte ${this.#bytes}`);
    }
  }

  #step(bytes: Buffer): void {
    const at = this.#bytes - bytes.length;
    switch (this.#place) {
      case "head":
        this.#begin(bytes, at);
        return;
      case "block": {
        const [kind, length] = [bytes.readUInt8(0), bytes.readUInt16LE(1)];
        if ((kind & 0b110) === 0b010 || (kind & 0b110) === 0b100) {
          throw archiveForeign(`its data is compressed, at byte ${at}, which no snapshot's is`);
        }
        if (kind > 1) throw archiveDamaged(`at byte ${at} no block begins`);
        if ((length ^ MAX_BLOCK) !== bytes.readUInt16LE(3)) {
          throw archiveDamaged(`the length of the block at byte ${at} does not match its check`);
        }
        this.#left = length;
        this.#last = kind === 1;
        // As the writer has it: only the last one is empty.
        if (this.#last !== (length === 0)) throw archiveDamaged(`an odd block is at byte ${at}`);
        if (!this.#last && !this.#full) throw cutOtherwise(at);
        this.#full = length === MAX_BLOCK;
        this.#place = this.#last ? "trailer" : "data";
        return;
      }
      case "trailer":
      case "data": // which come elsewhere
      case "end":
        if (bytes.readUInt32LE(0) !== this.#crc || bytes.readUInt32LE(4) !== this.#length) {
          throw archiveDamaged(`the bytes before byte ${at} do not match their checksum`);
        }
        if (this.#length !== (this.#members[this.#member - 1] ?? this.#length)) {
          throw cutOtherwise(at);
        }
        this.#place = this.#member === this.#members.length ? "end" : "head";
    }
  }

  #begin(bytes: Buffer, at: number): void {
    if (!equalBytes(bytes, HEAD)) {
      if (this.#member === 0 && !equalBytes(bytes.subarray(0, 2), HEAD.subarray(0, 2))) {
        throw archiveForeign("it does not begin as gzip does");
      }
      throw archiveForeign(`the gzip header at byte ${at} is not one of ours`);
    }
    this.#member++;
    this.#crc = 0;
    this.#length = 0;
    this.#full = true;
    this.#place = "block";
  }
}

function cutOtherwise(at: number): Failure {
  return archiveForeign(`its data is cut into other blocks than a snapshot's, before byte ${at}`);
}
