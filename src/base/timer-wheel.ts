// One timer for any number of waits of a few minutes: a ring of slots, one for each twentieth of a
// second. To add and to remove costs the same however many there are; a tick costs what is due.

import { MILLISECOND } from "@holdfast/shared/text/duration";
import { invariant } from "@holdfast/shared/invariant";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";

const TICK: Nanos = 50n * MILLISECOND;
const SLOTS = 8192; // 6.8 minutes
const LONGEST: Nanos = TICK * BigInt(SLOTS - 2);

export interface TimerWheelOptions<T> {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Pick<Timers, "after">;
  readonly due: (item: T) => void;
  /** At each tick, before what is due. */
  readonly tick: () => void;
}

export class TimerWheel<T> {
  readonly #options: TimerWheelOptions<T>;
  readonly #slots = new Map<number, Set<T>>();
  #size = 0;
  #done = 0; // the last tick that was looked at
  #timer: Timer | null = null;

  constructor(options: TimerWheelOptions<T>) {
    this.#options = options;
  }

  /** `due` is told of the item at this time of the steady clock or up to a tick later, once. */
  add(time: Nanos, item: T): () => void {
    const now = this.#options.clock.elapsed();
    invariant(time - now <= LONGEST, "the wheel is for waits of a few minutes");
    if (this.#size === 0) this.#done = tickAt(now);
    const slot = Math.max(tickAt(time) + 1, this.#done + 1) % SLOTS;
    let items = this.#slots.get(slot);
    if (items === undefined) this.#slots.set(slot, (items = new Set()));
    items.add(item);
    this.#size++;
    this.#timer ??= this.#arm();
    return () => this.#remove(slot, item);
  }

  #remove(slot: number, item: T): void {
    const items = this.#slots.get(slot);
    if (items === undefined || !items.delete(item)) return;
    if (items.size === 0) this.#slots.delete(slot);
    this.#size--;
    if (this.#size > 0) return;
    this.#timer?.cancel(); // nothing keeps a process alive that has stopped
    this.#timer = null;
  }

  #arm(): Timer {
    return this.#options.timers.after(TICK, () => {
      this.#timer = null;
      this.#turn();
      if (this.#size > 0) this.#timer = this.#arm();
    });
  }

  #turn(): void {
    this.#options.tick();
    const last = tickAt(this.#options.clock.elapsed());
    // After a pause longer than the ring every slot is due, once.
    const first = Math.max(this.#done + 1, last - SLOTS + 1);
    this.#done = last;
    for (let tick = first; tick <= last; tick++) {
      const slot = tick % SLOTS;
      const items = this.#slots.get(slot);
      if (items === undefined) continue;
      this.#slots.delete(slot);
      this.#size -= items.size;
      for (const item of items) this.#options.due(item);
    }
  }
}

function tickAt(time: Nanos): number {
  return Number(time / TICK);
}
