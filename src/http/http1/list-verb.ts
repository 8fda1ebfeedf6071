// LIST on HTTP/1.1. Node's parser has a fixed list of verbs without it, and is otherwise the parser we
// want, so the verb is turned into LINK in place before the parser sees it. Only at the start of a
// request, and only these five bytes; they may come in as many segments as they like. Bytes that turn
// out to be something else are spoilt, so that nothing is accepted that the parser would have refused.

const WANTED = Uint8Array.from([0x4c, 0x49, 0x53, 0x54, 0x20]); // "LIST "
const RECEIVED = Uint8Array.from([0x4c, 0x49, 0x4e, 0x4b, 0x20]); // "LINK "
const SETTLED = WANTED.length;
const FIRST_CHANGED = 2;
const CR = 0x0d;
const LF = 0x0a;
const SPOILT = 0;

export class ListVerb {
  #seen = 0; // bytes of the verb; SETTLED when it is known which verb it is
  #rewritten = false;

  /** Whether the request that has begun says LIST. A LINK without it is the client's own. */
  get rewritten(): boolean {
    return this.#rewritten;
  }

  /** The next byte is the first of a request. */
  restart(): void {
    this.#seen = 0;
    this.#rewritten = false;
  }

  feed(chunk: Uint8Array): void {
    if (this.#seen === SETTLED) return;
    for (let at = 0; at < chunk.length && this.#seen < SETTLED; at++) {
      const byte = chunk[at];
      // The parser passes over empty lines in front of a request.
      if (this.#seen === 0 && (byte === CR || byte === LF)) continue;
      if (byte !== WANTED[this.#seen]) {
        // "LIS" has become "LIN" already: "LISK" must not turn into LINK.
        if (this.#seen > FIRST_CHANGED) chunk[at] = SPOILT;
        this.#seen = SETTLED;
        return;
      }
      chunk[at] = RECEIVED[this.#seen] ?? SPOILT;
      this.#seen++;
      this.#rewritten = this.#seen === SETTLED;
    }
  }
}
