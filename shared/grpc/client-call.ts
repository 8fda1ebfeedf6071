// One call as it is made: requests into the stream while answers are read, and how it ended.

import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import type { Clock, Nanos } from "../world.ts";
import { MessageReader, MessageWriter } from "./frames.ts";
import { refusalIn } from "./headers.ts";
import type { MessageRoom } from "./message-room.ts";
import type { Messages } from "./method.ts";
import { readStatus, Status, StatusError } from "./status.ts";

interface Parts {
  /** Of one answer. */
  readonly max: number;
  readonly room: MessageRoom;
  /** Resets the stream, which was made with its signal. */
  readonly stop: AbortController;
  /** Whether the whole session is gone. */
  readonly isLost: () => boolean;
}

export class ClientCall {
  readonly #stream: ClientHttp2Stream;
  readonly #parts: Parts;
  readonly #reader: MessageReader;
  readonly #writer: MessageWriter;
  readonly #opened = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  #requests: AsyncIterator<Uint8Array> | null = null;
  #refusal: StatusError | null = null;
  #trailers: IncomingHttpHeaders | null = null;
  /** Why we ended it ourselves. */
  #own: unknown = null;

  constructor(stream: ClientHttp2Stream, clock: Pick<Clock, "elapsed">, parts: Parts) {
    this.#stream = stream;
    this.#parts = parts;
    this.#reader = new MessageReader(
      stream,
      { max: parts.max, room: parts.room, patient: true },
      clock,
    );
    this.#writer = new MessageWriter(stream, clock);
    stream.on("error", () => {});
    stream.on("response", (headers) => {
      this.#refusal = refusalIn(headers);
      if (headers["grpc-status"] !== undefined) this.#trailers = headers;
      this.#opened.resolve();
    });
    stream.on("trailers", (trailers) => {
      this.#trailers = trailers;
    });
    stream.on("close", () => {
      this.#opened.resolve();
      this.#closed.resolve();
    });
  }

  /** Goes on beside the answers; an error of the requests ends the call with it. */
  send(requests: Messages): void {
    this.#requests = requests[Symbol.asyncIterator]();
    void this.#send(this.#requests);
  }

  async #send(requests: AsyncIterator<Uint8Array>): Promise<void> {
    try {
      for (let next = await requests.next(); next.done !== true; next = await requests.next()) {
        if (this.#isOver) return;
        await this.#writer.write(next.value);
      }
      if (!this.#isOver) this.#stream.end();
    } catch (error) {
      // Where the stream is over, what it was closed with says more.
      if (!this.#isOver) this.give(error);
    }
  }

  get #isOver(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  async *answers(): AsyncGenerator<Uint8Array> {
    await this.#opened.promise;
    if (this.#own === null && this.#refusal !== null) throw this.#refusal;
    try {
      yield* this.#reader.all();
    } catch (error) {
      // The reader saw the stream end; how it ended is known when it is closed.
      if (!(error instanceof StatusError) || error.status !== Status.cancelled) throw error;
    }
    if (this.#trailers === null) await this.#closed.promise;
    if (this.#own !== null) throw this.#own;
    const end = this.#trailers === null ? this.#broken() : statusIn(this.#trailers);
    if (end !== null) throw end;
  }

  /** Ends the call here, and with this. */
  give(reason: unknown): void {
    this.#own ??= reason;
    this.#cancel();
  }

  /** Nobody wants more of it. */
  leave(): void {
    this.#reader.close();
    this.#cancel();
    // It may be in the middle of something: nobody waits for that.
    this.#requests?.return?.().catch(() => {});
  }

  check(now: Nanos, stall: Nanos): void {
    if (this.#reader.isKept(now, stall) && this.#writer.isKept(now, stall)) return;
    this.give(new StatusError(Status.unavailable, "the peer does not get on"));
  }

  /**
   * One that has its status is over by itself, once our own side is. Otherwise the stream is stopped by its signal: closing
   * it would end our side first, and to the peer that looks as if all requests had come.
   */
  #cancel(): void {
    const stream = this.#stream;
    if (this.#isOver || (this.#trailers !== null && stream.writableEnded)) return;
    if (this.#trailers === null) this.#parts.stop.abort();
    else stream.close(constants.NGHTTP2_NO_ERROR);
  }

  /** A stream without a status: by the code of its reset, after the protocol's table. */
  #broken(): StatusError {
    if (this.#parts.isLost()) return new StatusError(Status.unavailable, "the session was lost");
    switch (this.#stream.rstCode) {
      case constants.NGHTTP2_REFUSED_STREAM:
        return new StatusError(Status.unavailable, "the peer has no room for another call");
      case constants.NGHTTP2_CANCEL:
        return new StatusError(Status.cancelled, "the peer ended the call");
      case constants.NGHTTP2_ENHANCE_YOUR_CALM:
        return new StatusError(Status.resourceExhausted, "the peer had enough of our calls");
      case constants.NGHTTP2_INADEQUATE_SECURITY:
        return new StatusError(Status.permissionDenied, "the peer wants better protection");
      case constants.NGHTTP2_NO_ERROR:
        return new StatusError(Status.unknown, "the peer ended the call without a status");
      default:
        return new StatusError(Status.internal, "the stream was reset");
    }
  }
}

function statusIn(headers: IncomingHttpHeaders): StatusError | null {
  return readStatus(headers["grpc-status"], headers["grpc-message"]);
}
