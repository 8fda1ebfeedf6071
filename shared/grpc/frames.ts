// Messages on a stream of HTTP/2: a flag, four bytes of length, and the bytes. Both ways are pulled: what nobody asks
// for is not read, so that the peer's window closes, and nothing is made while the one before it has not gone out.

import type { Duplex } from "node:stream";
import { alloc, concat, EMPTY } from "../bytes.ts";
import type { Clock, Nanos } from "../world.ts";
import { Pace } from "../pace.ts";
import type { Held, MessageRoom } from "./message-room.ts";
import { Status, StatusError } from "./status.ts";

const HEAD = 5; // bytes
/** Up to here a message is copied behind its head, which is cheaper than a second write. */
const COPIED = 16 * 1024;
/** Of a large message; each that goes out is progress. */
const PIECE = 256 * 1024;

/** The parts of a stream that tell how it ended. */
export type WireStream = Duplex & { readonly aborted: boolean; readonly rstCode: number };

export interface ReadingLimits {
  /** Of one message. */
  readonly max: number;
  readonly room: MessageRoom;
  /** Whether the peer may take its time between two messages. */
  readonly patient: boolean;
}

/** Wakes whoever waits for something of a stream; one at a time does. */
class Bell {
  #ring: (() => void) | null = null;

  readonly ring = () => {
    const ring = this.#ring;
    this.#ring = null;
    ring?.();
  };

  wait(): Promise<void> {
    return new Promise((resolve) => (this.#ring = resolve));
  }
}

export class MessageReader {
  readonly #stream: WireStream;
  readonly #limits: ReadingLimits;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #bell = new Bell();
  readonly #pace = new Pace();
  #rest: Buffer = Buffer.alloc(0); // read, and not handed out
  #bytes = 0;
  #held: Held | null = null;
  #ended = false;
  #closed = false;

  constructor(stream: WireStream, limits: ReadingLimits, clock: Pick<Clock, "elapsed">) {
    this.#stream = stream;
    this.#limits = limits;
    this.#clock = clock;
    stream.on("readable", this.#bell.ring);
    stream.on("end", () => {
      this.#ended = true;
      this.#bell.ring();
    });
    stream.on("close", () => this.close());
  }

  /** The next message, or null behind the last. What it took of the room is given back with the next call. */
  async next(): Promise<Uint8Array | null> {
    this.#held?.giveBack();
    this.#held = null;
    while (this.#rest.length < HEAD) {
      const between = this.#rest.length === 0;
      if (await this.#more(between && this.#limits.patient)) continue;
      if (between) return null;
      throw half();
    }
    const [flag = 0] = this.#rest;
    const length = this.#rest.readUInt32BE(1);
    this.#rest = this.#rest.subarray(HEAD);
    if (flag !== 0) {
      throw new StatusError(Status.internal, "a message is compressed, which nobody agreed on");
    }
    if (length > this.#limits.max) {
      const text = `a message may have at most ${this.#limits.max} bytes`;
      throw new StatusError(Status.resourceExhausted, text);
    }
    if (length === 0) return EMPTY;
    if (length <= this.#rest.length) return this.#take(length);
    this.#held = this.#limits.room.take(length);
    await this.#held.ready;
    return await this.#gather(length);
  }

  async *all(): AsyncGenerator<Uint8Array> {
    for (let message = await this.next(); message !== null; message = await this.next()) {
      yield message;
    }
  }

  /** Nothing of it is needed any more. What still comes is let go: a stream is only over when it is read. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream.off("readable", this.#bell.ring);
    this.#stream.resume();
    this.#held?.giveBack();
    this.#held = null;
    this.#bell.ring();
  }

  /** Whether the peer sends what it has begun, and what it owes. */
  isKept(now: Nanos, max: Nanos): boolean {
    return this.#pace.isKept(now, max);
  }

  async #gather(length: number): Promise<Uint8Array> {
    const message = Buffer.alloc(length); // zeroed by the system: it takes memory as it is filled
    for (let at = 0; ;) {
      const part = this.#take(Math.min(length - at, this.#rest.length));
      message.set(part, at);
      at += part.length;
      if (at === length) return message;
      if (!(await this.#more(false))) throw half();
    }
  }

  #take(length: number): Buffer {
    const part = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return part;
  }

  /** More bytes behind what is there; false at the end. */
  async #more(patient: boolean): Promise<boolean> {
    for (;;) {
      const chunk = this.#closed ? null : (this.#stream.read() as Buffer | null);
      if (chunk !== null) {
        this.#bytes += chunk.length;
        this.#pace.moved(this.#bytes);
        this.#rest = this.#rest.length === 0 ? chunk : concat(this.#rest, chunk);
        return true;
      }
      // A stream that was reset ends as well, as if all had come.
      if (this.#ended && !this.#stream.aborted && this.#stream.rstCode === 0) return false;
      if (this.#ended || this.#closed) throw cut();
      if (!patient) this.#pace.waits(true, this.#clock.elapsed());
      await this.#bell.wait();
      this.#pace.waits(false, this.#clock.elapsed());
    }
  }
}

export class MessageWriter {
  readonly #stream: WireStream;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #bell = new Bell();
  readonly #pace = new Pace();
  #bytes = 0;

  constructor(stream: WireStream, clock: Pick<Clock, "elapsed">) {
    this.#stream = stream;
    this.#clock = clock;
    stream.on("drain", this.#bell.ring);
    stream.on("close", this.#bell.ring);
  }

  /** Resolves when there is room for the next one. */
  async write(message: Uint8Array): Promise<void> {
    const isCopied = message.length <= COPIED;
    const head = alloc(HEAD + (isCopied ? message.length : 0));
    head.writeUInt32BE(message.length, 1);
    if (isCopied) {
      head.set(message, HEAD);
      return this.#put([head]);
    }
    await this.#put([head, message.subarray(0, PIECE)]);
    for (let at = PIECE; at < message.length; at += PIECE) {
      await this.#put([message.subarray(at, at + PIECE)]);
    }
  }

  /** Whether the peer takes what was sent to it. */
  isKept(now: Nanos, max: Nanos): boolean {
    return this.#pace.isKept(now, max);
  }

  async #put(parts: readonly Uint8Array[]): Promise<void> {
    const stream = this.#stream;
    if (isOver(stream)) throw cut();
    const isOne = parts.length === 1; // it goes as it is: to hold it back first costs more than half of sending it
    if (!isOne) stream.cork();
    for (const part of parts) {
      stream.write(part);
      this.#bytes += part.length;
    }
    if (!isOne) stream.uncork();
    while (stream.writableNeedDrain) {
      if (isOver(stream)) throw cut();
      this.#pace.waits(true, this.#clock.elapsed());
      await this.#bell.wait();
      this.#pace.waits(false, this.#clock.elapsed());
    }
    this.#pace.moved(this.#bytes);
  }
}

function isOver({ destroyed, writableEnded }: WireStream): boolean {
  return destroyed || writableEnded;
}

function half(): StatusError {
  return new StatusError(Status.internal, "the last message did not come to its end");
}

function cut(): StatusError {
  return new StatusError(Status.cancelled, "the stream was cut");
}
