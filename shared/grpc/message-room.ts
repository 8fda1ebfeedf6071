// Room for messages in memory. Whoever is about to receive a large one takes room for all of it first, and waits for it
// in order: what has not been read yet stays with the peer, whose window closes. Small ones are not counted; the
// number of streams bounds them, and an Echo must not wait behind a copy.

import { Status, StatusError } from "./status.ts";

/** Up to here nothing is counted. */
const SMALL = 64 * 1024; // bytes

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

/** What one stream holds. */
export interface Held {
  readonly ready: Promise<void>;
  /** Also of one that still waits; a second time does nothing. */
  giveBack(): void;
}

const FREE: Held = { ready: Promise.resolve(), giveBack: () => {} };

export class MessageRoom {
  readonly #max: number;
  readonly #waiting = new Set<Waiter>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get taken(): number {
    return this.#taken;
  }

  take(bytes: number): Held {
    if (bytes <= SMALL) return FREE;
    if (bytes > this.#max) {
      throw new StatusError(Status.resourceExhausted, "the message is larger than there is room");
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    let holds = false;
    const waiter: Waiter = {
      bytes,
      begin: () => {
        holds = true;
        this.#taken += bytes;
        resolve();
      },
    };
    this.#waiting.add(waiter);
    this.#serve();
    return {
      ready: promise,
      giveBack: () => {
        if (holds) this.#taken -= bytes;
        else if (!this.#waiting.has(waiter)) return;
        holds = false;
        this.#waiting.delete(waiter);
        resolve(); // whoever waited for it sees for itself that it is over
        this.#serve();
      },
    };
  }

  #serve(): void {
    for (const waiter of this.#waiting) {
      if (this.#taken + waiter.bytes > this.#max) return; // those behind it wait for it
      this.#waiting.delete(waiter);
      waiter.begin();
    }
  }
}
