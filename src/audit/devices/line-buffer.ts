// Lines on their way into one write, in memory that is used again: a fresh text and a fresh buffer
// for each write cost the collector more than the write costs.

import { EMPTY } from "../../base/bytes.ts";

const KEPT = 256 * 1024; // bytes; what one large write needed is given back

export class LineBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What was added since the last clear(). Valid until then. */
  get bytes(): Uint8Array {
    return this.#length === 0 ? EMPTY : this.#bytes.subarray(0, this.#length);
  }

  /** Gives where the line ends, before its line end. */
  add(line: string): number {
    this.#reserve(line.length * 3 + 1); // a UTF-16 unit takes at most three bytes
    const end = this.#length + this.#bytes.write(line, this.#length);
    this.#bytes[end] = 0x0a;
    this.#length = end + 1;
    return end;
  }

  clear(): void {
    this.#length = 0;
    if (this.#bytes.length > KEPT) this.#bytes = Buffer.alloc(0);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(64 * 1024, 2 * (this.#length + more)));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
