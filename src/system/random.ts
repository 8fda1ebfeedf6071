// Real randomness. Small requests are cut from a block drawn ahead, which makes a nonce cost a
// copy instead of a system call; a byte handed out is wiped from the block and never handed out again.

import { randomFillSync } from "node:crypto";
import { alloc } from "@holdfast/shared/bytes";
import { uuidOfDigits } from "@holdfast/shared/text/uuid";
import type { Random } from "@holdfast/shared/world";

const BLOCK = 4096;
const SMALL = 64;
const KEY_LIKE = 16;
const UUID = 16;

export class SystemRandom implements Random {
  readonly #block = Buffer.alloc(BLOCK);
  #at = BLOCK;

  bytes(length: number): Buffer {
    // Keys have 32 bytes: those, unlike nonces, must be wiped where they lie (see alloc()).
    const out = length < KEY_LIKE ? Buffer.alloc(length) : alloc(length);
    if (length > SMALL) return randomFillSync(out);
    const at = this.#take(length);
    this.#block.copy(out, 0, at, at + length);
    this.#block.fill(0, at, at + length);
    return out;
  }

  uuid(): string {
    const at = this.#take(UUID);
    const digits = this.#block.toString("hex", at, at + UUID);
    this.#block.fill(0, at, at + UUID);
    return uuidOfDigits(digits);
  }

  /** Where in the block so many fresh bytes lie. They are the caller's, to use and to wipe. */
  #take(length: number): number {
    if (this.#at + length > BLOCK) {
      this.#at = BLOCK; // if the source throws, nothing left in the block may be used
      randomFillSync(this.#block);
      this.#at = 0;
    }
    const at = this.#at;
    this.#at += length;
    return at;
  }
}
