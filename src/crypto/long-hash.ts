// SHA-256 of bytes that come in small pieces all day, such as the lines of a log. Hashing what every request
// writes took three hundredths of the event loop's time, so pieces are collected, and a thread hashes them. What
// fits into one piece is hashed here, when the sum is wanted: a server with little to do has no such thread.

import { hash } from "node:crypto";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { OwnError } from "@holdfast/shared/failure";

const PIECE = 128 * 1024; // bytes
const NONE = new Uint8Array(0);

/** Bytes to go on with, or what is to be done with those so far. */
export type HashRequest = ArrayBuffer | "digest" | "forget";

interface Waiting {
  resolve(digest: string): void;
  reject(error: Error): void;
}

// The same file in the source tree (.ts) and in the published package (.js).
const PROGRAM = new URL(`./hash-worker${extname(import.meta.url)}`, import.meta.url);

export class LongHash {
  readonly #program: URL;
  #piece = NONE;
  #length = 0; // of what is in the piece
  #thread: HashThread | null = null;
  #handed: HashThread | null = null; // who has the bytes before the piece

  constructor(program = PROGRAM) {
    this.#program = program;
  }

  /** Goes on with these; they are copied. */
  update(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#piece.length === 0) this.#piece = new Uint8Array(PIECE);
      const more = Math.min(bytes.length - at, PIECE - this.#length);
      const part = more === bytes.length ? bytes : bytes.subarray(at, at + more);
      this.#piece.set(part, this.#length);
      this.#length += more;
      at += more;
      if (this.#length === PIECE) this.#hand();
    }
  }

  /** In hex, of everything since the last one; what comes later belongs to the next. Rejects where the thread has
   *  ended by itself. */
  digest(): Promise<string> {
    if (this.#handed === null) {
      const digest = hash("sha256", this.#piece.subarray(0, this.#length), "hex");
      this.#length = 0;
      return Promise.resolve(digest);
    }
    if (this.#length > 0) this.#hand();
    const digest = this.#handed.digest();
    this.#handed = null;
    return digest;
  }

  /** Begins anew. */
  forget(): void {
    this.#length = 0;
    this.#handed?.forget();
    this.#handed = null;
  }

  /** What was wanted of it is still told. */
  close(): void {
    this.forget();
    this.#piece = NONE;
    this.#thread?.close();
    this.#thread = null;
  }

  #hand(): void {
    const piece = this.#length === PIECE ? this.#piece : this.#piece.slice(0, this.#length);
    if (this.#length === PIECE) this.#piece = NONE; // it goes, and a new one is made when needed
    this.#length = 0;
    // The rest of what a thread had goes where it went, also if nobody is there any more.
    if (this.#handed === null) {
      if (this.#thread?.ended !== false) this.#thread = new HashThread(this.#program);
      this.#handed = this.#thread;
    }
    this.#handed.update(piece.buffer);
  }
}

class HashThread {
  readonly #worker: Worker;
  #waiting: Waiting[] = [];
  #closing = false;
  ended = false;

  constructor(program: URL) {
    // Without the flags that this process was started with: some have no meaning in a thread.
    this.#worker = new Worker(program, { execArgv: [] });
    this.#worker.unref(); // nobody stays for it
    this.#worker.on("message", (digest: string) => {
      this.#waiting.shift()?.resolve(digest);
      this.#leave();
    });
    this.#worker.on("error", () => this.#end());
    this.#worker.on("exit", () => this.#end());
  }

  update(bytes: ArrayBuffer): void {
    if (!this.ended) this.#worker.postMessage(bytes satisfies HashRequest, [bytes]);
  }

  digest(): Promise<string> {
    if (this.ended) return Promise.reject(gone());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#worker.ref(); // until it has answered
      this.#worker.postMessage("digest" satisfies HashRequest);
    });
  }

  forget(): void {
    if (!this.ended) this.#worker.postMessage("forget" satisfies HashRequest);
  }

  close(): void {
    this.#closing = true;
    this.#leave();
  }

  #leave(): void {
    if (this.#waiting.length > 0) return;
    this.#worker.unref();
    if (this.#closing) void this.#worker.terminate();
  }

  #end(): void {
    this.ended = true;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(gone());
  }
}

function gone(): Error {
  return new OwnError("the thread that hashes has ended");
}
