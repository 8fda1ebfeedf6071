// Lines on their way into one write, in memory that is used again: a fresh text and a fresh buffer
// for each write cost the collector more than the write costs.

import { EMPTY } from "@holdfast/shared/bytes";

// Bytes; what one large write needed is given back. Enough for the records of all who write at once on a busy day:
// memory that is grown and given back with every write costs more than the copying.
const KEPT = 1024 * 1024;

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

  /** Goes on with the line. */
  add(text: string): void {
    this.#reserve(text.length * 3); // a UTF-16 unit takes at most three bytes
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Takes the last bytes back. */
  drop(bytes: number): void {
    this.#length -= bytes;
  }

  /** What was added from there on. Valid until something more is added. */
  since(start: number): Uint8Array {
    return this.#bytes.subarray(start, this.#length);
  }

  /** Ends the line. Gives where, before its line end. */
  end(): number {
    this.#reserve(1);
    this.#bytes[this.#length] = 0x0a;
    return this.#length++;
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
