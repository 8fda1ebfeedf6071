// The first message of a TLS client, before anybody answers it. Answering costs milliseconds, so that it waits for its turn
// whole: who sends a byte of it now and the rest of a thousand later would have passed the line for nothing.

import { alloc, concat } from "@holdfast/shared/bytes";

const RECORD_HEAD = 5;
const MESSAGE_HEAD = 4;
/** A record of the protocol that begins a handshake. */
const HANDSHAKE = 0x16;
const CLIENT_HELLO = 0x01;
/** A client's has some hundred bytes, with keys of tomorrow two thousand. */
const MAX_BYTES = 32 * 1024;
const MAX_PIECES = 64;

export type HelloState = "more" | "whole" | "none";

export class Hello {
  #bytes: Buffer = alloc(0);
  #pieces = 0;

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** What has come so far. */
  add(chunk: Buffer): HelloState {
    this.#pieces++;
    this.#bytes = this.#bytes.length === 0 ? chunk : concat(this.#bytes, chunk);
    return this.#look();
  }

  /** A message may lie in several records, also one whose first has a single byte of it. */
  #look(): HelloState {
    const bytes = this.#bytes;
    let [at, message, needed] = [0, 0, MESSAGE_HEAD];
    const head: number[] = [];
    while (message < needed) {
      if (at < bytes.length && bytes[at] !== HANDSHAKE) return "none";
      if (bytes.length < at + RECORD_HEAD) return this.#more();
      const length = bytes.readUInt16BE(at + RECORD_HEAD - 2);
      if (length === 0) return "none";
      for (let i = 0; head.length < MESSAGE_HEAD && i < length; i++) {
        const byte = bytes[at + RECORD_HEAD + i];
        if (byte === undefined) return this.#more();
        head.push(byte);
      }
      if (head.length === MESSAGE_HEAD) {
        if (head[0] !== CLIENT_HELLO) return "none";
        needed = MESSAGE_HEAD + ((head[1] ?? 0) << 16) + ((head[2] ?? 0) << 8) + (head[3] ?? 0);
      }
      at += RECORD_HEAD + length;
      message += length;
    }
    return bytes.length < at ? this.#more() : "whole";
  }

  #more(): HelloState {
    return this.#bytes.length > MAX_BYTES || this.#pieces >= MAX_PIECES ? "none" : "more";
  }
}
