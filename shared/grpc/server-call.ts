// One call as it is served: its requests from the stream, its answers into it, its end in the trailers.

import { constants, type ServerHttp2Stream } from "node:http2";
import type { Nanos, Timer } from "../world.ts";
import { MessageReader, MessageWriter } from "./frames.ts";
import { ANSWER_HEAD, trailersOf } from "./headers.ts";
import type { MessageRoom } from "./message-room.ts";
import type { Served } from "./method.ts";
import type { SessionWorld } from "./session-life.ts";
import { Status, StatusError, statusOf } from "./status.ts";

interface Parts<P> {
  readonly served: Served<P>;
  readonly peer: P;
  readonly room: MessageRoom;
  readonly timeout: Nanos | null;
  readonly metadata: (name: string) => string | undefined;
  /** The answer is on its way; what the caller still sends is nobody's. */
  readonly linger: () => void;
  /** Of errors of ours: the peer is not told what they say. */
  readonly trouble: (error: unknown) => void;
}

export class ServerCall<P> {
  readonly #stream: ServerHttp2Stream;
  readonly #parts: Parts<P>;
  readonly #reader: MessageReader;
  readonly #writer: MessageWriter;
  readonly #gone = new AbortController();
  readonly #timer: Timer | null;
  #ended = false;
  /** Resolves when the handler is over. */
  readonly done: Promise<void>;

  constructor(stream: ServerHttp2Stream, { clock, timers }: SessionWorld, parts: Parts<P>) {
    const { served, room, timeout } = parts;
    const { kind, maxRequest: max } = served.shape;
    this.#stream = stream;
    this.#parts = parts;
    this.#reader = new MessageReader(
      stream,
      { max, room, patient: kind === "bidirectional" },
      clock,
    );
    this.#writer = new MessageWriter(stream, clock);
    this.#timer = timeout === null ? null : timers.after(timeout, () => this.#late());
    stream.on("close", () => {
      this.#timer?.cancel();
      this.#gone.abort(new StatusError(Status.cancelled, "the caller is gone"));
    });
    this.done = this.#run();
  }

  get served(): Served<P> {
    return this.#parts.served;
  }

  /** Ends it where the peer does not get on. */
  check(now: Nanos, stall: Nanos): void {
    if (this.#stream.destroyed) return;
    if (this.#reader.isKept(now, stall) && this.#writer.isKept(now, stall)) return;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  async #run(): Promise<void> {
    const { served, peer, metadata } = this.#parts;
    try {
      const call = { peer, signal: this.#gone.signal, metadata };
      const answers = served.run(this.#reader.all(), call);
      for await (const answer of answers) {
        this.#begin();
        await this.#writer.write(answer);
      }
      this.#end(null);
    } catch (error) {
      const status = statusOf(error);
      if (status.cause !== undefined && status.status === Status.internal) {
        this.#parts.trouble(status.cause);
      }
      this.#end(status);
    } finally {
      this.#reader.close();
    }
  }

  #begin(): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.headersSent) return;
    stream.respond(ANSWER_HEAD, { waitForTrailers: true });
  }

  /** The caller is told at once, also where the handler takes no notice. */
  #late(): void {
    const late = new StatusError(Status.deadlineExceeded, "the time of the call is over");
    this.#end(late);
    this.#gone.abort(late);
  }

  #end(status: StatusError | null): void {
    const stream = this.#stream;
    if (this.#ended || stream.destroyed) return;
    this.#ended = true;
    this.#timer?.cancel();
    this.#reader.close();
    const trailers = trailersOf(status);
    if (stream.headersSent) {
      stream.on("wantTrailers", () => stream.sendTrailers(trailers));
      stream.end();
    } else {
      stream.respond({ ...ANSWER_HEAD, ...trailers }, { endStream: true });
    }
    this.#parts.linger();
  }
}
