// Real randomness. Small requests are cut from a block drawn ahead, which makes a nonce cost a
// copy instead of a system call; a byte handed out is wiped from the block and never handed out again.

import { randomFillSync } from "node:crypto";
import { alloc } from "./bytes.ts";
import { formatUuid } from "./uuid.ts";
import type { Random } from "./world.ts";

const BLOCK = 4096;
const SMALL = 64;
const KEY_LIKE = 16;

export class SystemRandom implements Random {
  readonly #block = Buffer.alloc(BLOCK);
  #at = BLOCK;

  bytes(length: number): Buffer {
    // Keys have 32 bytes: those, unlike nonces, must be wiped where they lie (see alloc()).
    const out = length < KEY_LIKE ? Buffer.alloc(length) : alloc(length);
    if (length > SMALL) return randomFillSync(out);
    if (this.#at + length > BLOCK) {
      this.#at = BLOCK; // if the source throws, nothing left in the block may be used
      randomFillSync(this.#block);
      this.#at = 0;
    }
    const end = this.#at + length;
    this.#block.copy(out, 0, this.#at, end);
    this.#block.fill(0, this.#at, end);
    this.#at = end;
    return out;
  }

  uuid(): string {
    return formatUuid(this.bytes(16));
  }
}
