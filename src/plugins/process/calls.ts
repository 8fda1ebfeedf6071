// Calls to one plugin process: so many at a time, with so many bytes, and each with the id of whose it is. One that runs out of
// its time has the process asked whether it is well.

import type { CallOptions, Channel, Messages, Shape } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos } from "@holdfast/shared/world";
import { MULTIPLEX_ID } from "@holdfast/plugin-sdk/wire/processes";
import { UnsentCall } from "../ports.ts";
import { secondsOf } from "./figures.ts";

export const MAX_CALLS = 256;
export const MAX_CALL_BYTES = 64 * 1024 * 1024;
/** That wait for one of those to end. */
const MAX_WAITING = 1024;
/** Whoever gives a call up sooner has other reasons than that nobody answers. */
const LATE: Nanos = SECOND;

export interface CallsParts {
  readonly channel: Channel & { readonly isOpen: boolean };
  readonly clock: Pick<Clock, "elapsed">;
  /** Nobody has answered in time. */
  readonly suspect: () => void;
  /** Resolves when the process is gone. */
  readonly over: Promise<unknown>;
  /** Seconds that each took which has one answer; default: nobody measures. */
  readonly took?: ((seconds: number) => void) | undefined;
}

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

export class Calls {
  readonly #parts: CallsParts;
  readonly #waiting = new Set<Waiter>();
  #calls = 0;
  #bytes = 0;

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  get underWay(): number {
    return this.#calls;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For one of its users, with the id by which the process knows it; null where it has but one. */
  of(id: string | null): Channel {
    const metadata = id === null ? undefined : { [MULTIPLEX_ID]: id };
    return {
      exchange: (shape, requests, options = {}) =>
        this.#exchange(
          shape,
          requests,
          metadata === undefined ? options : { ...options, metadata },
        ),
    };
  }

  /** The process is gone: nobody waits for it. */
  close(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const waiter of waiting) {
      this.#take(waiter.bytes);
      waiter.begin();
    }
  }

  async *#exchange(
    shape: Shape,
    requests: Messages,
    options: CallOptions,
  ): AsyncGenerator<Uint8Array> {
    const { channel, clock, suspect, over, took } = this.#parts;
    const began = clock.elapsed();
    const first = await firstOf(requests);
    const bytes = first.value?.length ?? 0;
    await this.#begin(bytes, options.signal);
    try {
      if (!channel.isOpen) throw new UnsentCall(Status.unavailable, "the plugin has ended");
      yield* channel.exchange(shape, first.all, options);
    } catch (error) {
      if (isLate(error, options.signal, clock.elapsed() - began)) suspect();
      // Whoever asks why finds out: the connection goes a moment before the process does.
      if (!channel.isOpen && options.signal?.aborted !== true) await over;
      throw error;
    } finally {
      if (shape.kind === "unary") took?.(secondsOf(clock.elapsed() - began));
      this.#calls--;
      this.#bytes -= bytes;
      this.#serve();
    }
  }

  async #begin(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size === 0 && this.#hasRoom(bytes)) return this.#take(bytes);
    if (this.#waiting.size >= MAX_WAITING) {
      throw new UnsentCall(Status.resourceExhausted, "too many calls wait for the plugin");
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { bytes, begin: resolve };
    const give = () => {
      this.#waiting.delete(waiter);
      reject(new UnsentCall(Status.cancelled, "the call was cancelled", { cause: signal?.reason }));
      this.#serve();
    };
    this.#waiting.add(waiter);
    signal?.addEventListener("abort", give, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", give);
    }
  }

  #hasRoom(bytes: number): boolean {
    if (this.#calls >= MAX_CALLS) return false;
    return this.#bytes === 0 || this.#bytes + bytes <= MAX_CALL_BYTES;
  }

  #take(bytes: number): void {
    this.#calls++;
    this.#bytes += bytes;
  }

  #serve(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.bytes)) return; // those behind it wait for it
      this.#waiting.delete(waiter);
      this.#take(waiter.bytes);
      waiter.begin();
    }
  }
}

function isLate(error: unknown, signal: AbortSignal | undefined, took: Nanos): boolean {
  if (took < LATE) return error instanceof StatusError && isOurDeadline(error);
  return signal?.aborted === true || (error instanceof StatusError && isOurDeadline(error));
}

/** What the plugin itself says of its time shows that it lives. */
function isOurDeadline({ status, isSaid }: StatusError): boolean {
  return status === Status.deadlineExceeded && !isSaid;
}

/** Its size is known before anything is sent; what follows it belongs to a stream, and is read as it goes. */
async function firstOf(requests: Messages): Promise<{ value: Uint8Array | null; all: Messages }> {
  const iterator = requests[Symbol.asyncIterator]();
  const next = await iterator.next();
  const value = next.done === true ? null : next.value;
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (value === null) return;
      yield value;
      for (let more = await iterator.next(); more.done !== true; more = await iterator.next()) {
        yield more.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { value, all: all() };
}
