// Counts the chunks of a body before the parser sees them. Each costs the parser a call and us an object,
// ten microseconds in all, however small it is, and a segment is parsed in one stretch: of those that hold
// a byte or two each there are ten thousand in one (T-N06). What it takes for chunks decides nothing but a
// refusal; where a request ends is up to the parser.

import { SMALL_CHUNK } from "../request/body.ts";

const MAX_CHUNKS = 2048;
const CR = 0x0d;
const LF = 0x0a;
const LONGEST_SIZE = 16; // digits; the parser takes no more
const HEAD_END = "\r\n\r\n";

type State = "start" | "head" | "size" | "data" | "over";

export class ChunkWatch {
  #state: State = "start";
  #tail = ""; // of a head, as much of it as its end may lie in
  #digits = 0; // of the size of a chunk
  #size = 0;
  #inDigits = true; // and not behind them
  #skip = 0; // what is still to come of a chunk and the end of its line
  #chunks = 0;
  #bytes = 0;

  /** The next bytes begin a request. */
  restart(): void {
    this.#state = "start";
    this.#tail = "";
    this.#chunks = this.#bytes = 0;
  }

  /** Whether these bytes are more of what is no accident. */
  isTooMuch(segment: Buffer): boolean {
    let at = 0;
    if (this.#state === "start") at = this.#passEmptyLines(segment);
    if (this.#state === "head") at = this.#passHead(segment, at);
    while (at < segment.length && this.#state !== "over") {
      at = this.#state === "data" ? this.#passData(segment, at) : this.#passSize(segment, at);
    }
    return this.#chunks > MAX_CHUNKS && this.#bytes < this.#chunks * SMALL_CHUNK;
  }

  /** The parser passes over them as well. */
  #passEmptyLines(segment: Buffer): number {
    let at = 0;
    while (segment[at] === CR || segment[at] === LF) at++;
    if (at < segment.length) this.#state = "head";
    return at;
  }

  #passHead(segment: Buffer, from: number): number {
    const before = this.#tail;
    const joint = before + segment.toString("latin1", from, from + HEAD_END.length - 1);
    const over = before === "" ? -1 : joint.indexOf(HEAD_END);
    const inside = segment.indexOf(HEAD_END, from);
    if (over < 0 && inside < 0) {
      const last = Math.max(from, segment.length - HEAD_END.length + 1);
      this.#tail = (before + segment.toString("latin1", last)).slice(-HEAD_END.length + 1);
      return segment.length;
    }
    this.#beginSize();
    return over < 0 ? inside + HEAD_END.length : from + over + HEAD_END.length - before.length;
  }

  #beginSize(): void {
    this.#state = "size";
    this.#digits = this.#size = 0;
    this.#inDigits = true;
  }

  #passSize(segment: Buffer, from: number): number {
    let at = from;
    while (this.#inDigits && at < segment.length) {
      const digit = hexOf(segment[at]!);
      if (digit < 0) this.#inDigits = false;
      else {
        this.#size = this.#size * 16 + digit;
        this.#digits++;
        at++;
      }
      if (this.#digits > LONGEST_SIZE) break;
    }
    const end = segment.indexOf(LF, at);
    // A size of none, or no size at all: the last chunk, or no chunks.
    if ((this.#size === 0 && !this.#inDigits) || this.#digits > LONGEST_SIZE) this.#state = "over";
    if (end < 0 || this.#state === "over") return segment.length;
    this.#chunks++;
    this.#bytes += this.#size;
    this.#skip = this.#size + 2;
    this.#state = "data";
    return end + 1;
  }

  #passData(segment: Buffer, from: number): number {
    const step = Math.min(this.#skip, segment.length - from);
    this.#skip -= step;
    if (this.#skip === 0) this.#beginSize();
    return from + step;
  }
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
