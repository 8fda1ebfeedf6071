// Simulated time and randomness. One queue of events drives everything; time moves only when the
// next event is taken, and events due at the same instant are taken in an order drawn from the seed.
// Between two events all promise callbacks run, in the runtime's own order, which does not vary.

import { formatUuid } from "@holdfast/shared/text/uuid";
import type { Clock, Instant, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import type { Prng } from "./prng.ts";

/** Simulated nanoseconds since the world began. A double counts 104 days of them exactly. */
export type Tick = number;

export const MICROSECOND = 1_000;
export const MILLISECOND = 1_000_000;
export const SECOND = 1_000_000_000;

const WORK: Nanos = 700_000n; // passes with each look at the elapsed time

interface Event {
  at: Tick;
  readonly tie: number;
  readonly order: number;
  readonly life: Life | null;
  call: (() => void) | null; // null when cancelled
}

/**
 * One run of a process, from its start to its crash. Whatever belongs to it dies with it: its timers
 * never fire, its disk operations never complete, so that a crashed node cannot do one more thing.
 */
export class Life {
  readonly name: string;
  #ended = false;
  #pausedUntil: Tick = 0;

  constructor(name: string) {
    this.name = name;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get pausedUntil(): Tick {
    return this.#pausedUntil;
  }

  end(): void {
    this.#ended = true;
  }

  /** Like SIGSTOP: nothing of this process happens before then. */
  pause(until: Tick): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until);
  }
}

export class SimWorld {
  readonly #ties: Prng;
  readonly #queue: Event[] = []; // a binary heap
  #now: Tick = 0;
  #order = 0;
  #taken = 0;
  readonly #idle: () => Promise<void>;

  /** `idle` resolves when nothing runs any more that an event has begun. Default: after all promise callbacks. */
  constructor(prng: Prng, idle: () => Promise<void> = nextTurn) {
    this.#ties = prng.fork("ties");
    this.#idle = idle;
  }

  get now(): Tick {
    return this.#now;
  }

  /** Events taken so far. */
  get taken(): number {
    return this.#taken;
  }

  /** Calls once after `delay`, unless the life it belongs to has ended by then. */
  after(delay: Tick, life: Life | null, call: () => void): Timer {
    const event: Event = {
      at: this.#now + Math.max(0, delay),
      tie: this.#ties.next(),
      order: this.#order++,
      life,
      call,
    };
    this.#push(event);
    return { cancel: () => void (event.call = null) };
  }

  sleep(delay: Tick, life: Life | null): Promise<void> {
    return new Promise((resolve) => void this.after(delay, life, resolve));
  }

  /** Runs until `done` says so. False when the queue is empty or time is up before. */
  async run(done: () => boolean, until: Tick): Promise<boolean> {
    while (!done()) {
      const event = this.#pop();
      if (event === undefined || event.at > until) return false;
      const { life, call } = event;
      if (call === null || life?.ended) continue;
      if (life !== null && life.pausedUntil > event.at) {
        event.at = life.pausedUntil;
        this.#push(event);
        continue;
      }
      this.#now = event.at;
      this.#taken++;
      event.call = null;
      call();
      // The one real wait of the simulator: when it is over, no promise callback is left to run.
      await this.#idle();
    }
    return true;
  }

  #push(event: Event): void {
    const queue = this.#queue;
    let at = queue.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, queue[parent]!)) break;
      queue[at] = queue[parent]!;
      at = parent;
    }
    queue[at] = event;
  }

  #pop(): Event | undefined {
    const queue = this.#queue;
    const top = queue[0];
    const last = queue.pop();
    if (last === undefined || queue.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= queue.length) break;
      if (child + 1 < queue.length && isBefore(queue[child + 1]!, queue[child]!)) child++;
      if (!isBefore(queue[child]!, last)) break;
      queue[at] = queue[child]!;
      at = child;
    }
    queue[at] = last;
    return top;
  }
}

function isBefore(a: Event, b: Event): boolean {
  if (a.at !== b.at) return a.at < b.at;
  if (a.tie !== b.tie) return a.tie < b.tie;
  return a.order < b.order;
}

/** The clock of one machine: it outlives crashes, and its wall time can be set wrong. */
export class SimClock implements Clock {
  readonly #world: SimWorld;
  #booted: Nanos;
  #wall: Instant;

  constructor(world: SimWorld, prng: Prng) {
    this.#world = world;
    this.#booted = BigInt(prng.int(1_000_000)) * BigInt(SECOND);
    this.#wall = 1_700_000_000n * BigInt(SECOND) + BigInt(prng.int(100_000_000)) * BigInt(SECOND);
  }

  now(): Instant {
    return this.#wall + BigInt(this.#world.now);
  }

  /** Work takes time too: without it, long work cut into slices would never give others a turn. */
  elapsed(): Nanos {
    this.#booted += WORK;
    return this.#booted + BigInt(this.#world.now);
  }

  jump(by: Nanos): void {
    this.#wall += by;
  }
}

export class SimTimers implements Timers {
  readonly #world: SimWorld;
  readonly #life: Life;

  constructor(world: SimWorld, life: Life) {
    this.#world = world;
    this.#life = life;
  }

  after(delay: Nanos, call: () => void): Timer {
    return this.#world.after(Number(delay), this.#life, call);
  }

  turn(): Promise<void> {
    return this.#world.sleep(0, this.#life);
  }
}

export class SimRandom implements Random {
  readonly #prng: Prng;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  bytes(length: number): Buffer {
    return this.#prng.bytes(length);
  }

  uuid(): string {
    return formatUuid(this.bytes(16));
  }
}

async function nextTurn(): Promise<void> {
  await new Promise(setImmediate);
}
