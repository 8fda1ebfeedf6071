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

const SERVER_NAME = 0;
const HOST_NAME = 0;

/** The name that the client of a whole first message asks for; null where it names none. */
export function serverNameOf(hello: Buffer): string | null {
  const message = new Fields(messageOf(hello));
  message.skip(MESSAGE_HEAD + 2 + 32); // version and random bytes
  message.skip(message.number(1)); // session
  message.skip(message.number(2)); // ciphers
  message.skip(message.number(1)); // compressions
  const extensions = new Fields(message.take(message.number(2)));
  while (!extensions.isOver) {
    const type = extensions.number(2);
    const content = new Fields(extensions.take(extensions.number(2)));
    if (type !== SERVER_NAME) continue;
    content.skip(2); // of the list
    if (content.number(1) !== HOST_NAME) return null;
    const name = content.take(content.number(2)).toString("latin1");
    return name === "" ? null : name;
  }
  return null;
}

/** Without the heads of the records that it lies in. */
function messageOf(hello: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at + RECORD_HEAD <= hello.length && hello[at] === HANDSHAKE;) {
    const end = at + RECORD_HEAD + hello.readUInt16BE(at + RECORD_HEAD - 2);
    pieces.push(hello.subarray(at + RECORD_HEAD, end));
    at = end;
  }
  return concat(...pieces);
}

/** Whatever is too short has zeros where it ends. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  skip(length: number): void {
    this.#at += length;
  }

  take(length: number): Buffer {
    const found = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return found;
  }

  number(size: 1 | 2): number {
    const [first = 0, second = 0] = this.take(size);
    return size === 1 ? first : (first << 8) | second;
  }
}
