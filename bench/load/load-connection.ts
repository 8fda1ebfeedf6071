// One connection of the load generator: bytes of a request out, one answer back, nothing sent ahead.
// Reads go into one buffer of its own, which spares an allocation and a stream for each answer.

import { connect, type Socket } from "node:net";
import { type Answer, END_OF_HEAD, readAnswer } from "./load-answer.ts";

const READ_BYTES = 16 * 1024;

export class LoadConnection {
  readonly #socket: Socket;
  #waiting: PromiseWithResolvers<Answer> | null = null;
  /** The last answer, as long as nothing else is read. */
  #answer: Buffer | null = null;
  /** What has come of an answer that is not complete. */
  #held: Buffer | null = null;
  #failure: Error | null = null;

  private constructor(url: URL) {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port) || 80;
    const callback = (count: number, bytes: Uint8Array) => {
      this.#take(Buffer.from(bytes.buffer, bytes.byteOffset, count));
      return true;
    };
    this.#socket = connect({ host, port, onread: { buffer: Buffer.alloc(READ_BYTES), callback } });
    this.#socket.setNoDelay(true);
    this.#socket.on("error", (error) => this.close(error));
    this.#socket.on("close", () => this.close(new Error("the server closed a connection")));
    this.#socket.on("end", () => this.close(new Error("the server closed a connection")));
  }

  static async open(url: URL): Promise<LoadConnection> {
    const connection = new LoadConnection(url);
    const opened = Promise.withResolvers<void>();
    connection.#socket.once("connect", () => opened.resolve());
    connection.#socket.once("error", opened.reject);
    await opened.promise;
    return connection;
  }

  /** The request's bytes must not change until its answer is there. One at a time. */
  exchange(request: Buffer): Promise<Answer> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#waiting !== null) throw new Error("an answer is still awaited on this connection");
    this.#waiting = Promise.withResolvers();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  /** Of the last answer, until the next request is sent. */
  body(): string {
    const bytes = this.#answer ?? Buffer.alloc(0);
    return bytes.toString("utf8", bytes.indexOf(END_OF_HEAD) + END_OF_HEAD.length);
  }

  /** An answer that is still awaited fails with `reason`. */
  close(reason: Error = new Error("the connection was closed")): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#socket.destroy();
    this.#waiting?.reject(reason);
    this.#waiting = null;
  }

  #take(chunk: Buffer): void {
    const bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    let answer: Answer | null;
    try {
      answer = readAnswer(bytes);
    } catch (error) {
      return this.close(error instanceof Error ? error : new Error(String(error)));
    }
    if (answer === null || bytes.length < answer.length) {
      this.#held = Buffer.from(bytes); // a copy: the next read overwrites the buffer
      return;
    }
    const waiting = this.#waiting;
    if (waiting === null || bytes.length > answer.length) {
      return this.close(new Error("the server sent more than was asked for"));
    }
    this.#held = null;
    this.#answer = bytes;
    this.#waiting = null;
    waiting.resolve(answer);
  }
}
