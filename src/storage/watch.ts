// Who wants to know of changes: by key or prefix, and by index. Publishing costs what it wakes, not
// what is parked: a key is looked up under itself and its parent folders, where a place of that length is
// watched at all; an index at the top of a heap.

import { invariant } from "@holdfast/shared/invariant";

export interface Change {
  readonly index: bigint;
  /** The keys that changed below what was asked for. */
  readonly keys: readonly string[];
}

export class Watchers {
  readonly #byPlace = new Map<string, Set<(change: Change) => void>>();
  readonly #lengths = new Map<number, number>(); // how many places there are of each length
  readonly #byIndex = new IndexHeap();
  readonly #onError: (error: unknown) => void;

  /** `onError` hears of a call that throws: it must keep no other from being woken. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Calls for each commit that changes `place`: one key, or everything below it if it ends in "/". */
  onKeys(place: string, call: (change: Change) => void): () => void {
    let calls = this.#byPlace.get(place);
    if (calls === undefined) {
      this.#byPlace.set(place, (calls = new Set()));
      this.#count(place.length, 1);
    }
    const own = (change: Change) => call(change);
    calls.add(own);
    return () => {
      const left = this.#byPlace.get(place);
      if (!left?.delete(own) || left.size > 0) return;
      this.#byPlace.delete(place);
      this.#count(place.length, -1);
    };
  }

  /** Calls once, as soon as `index`, or one above it, is published. */
  onIndex(index: bigint, call: () => void): () => void {
    return this.#byIndex.add(index, call);
  }

  publish(index: bigint, keys: Iterable<string>): void {
    if (this.#byPlace.size > 0) this.#publishKeys(index, keys);
    for (const waiter of this.#byIndex.takeUpTo(index)) {
      const { call } = waiter; // null if one of the calls before has ended it
      waiter.call = null;
      if (call !== null) this.#safely(call);
    }
  }

  get parked(): number {
    let count = this.#byIndex.size;
    for (const calls of this.#byPlace.values()) count += calls.size;
    return count;
  }

  #publishKeys(index: bigint, keys: Iterable<string>): void {
    const hits = new Map<string, string[]>();
    const visit = (length: number, key: string) => {
      if (!this.#lengths.has(length)) return;
      const place = key.slice(0, length);
      if (!this.#byPlace.has(place)) return;
      const hit = hits.get(place);
      if (hit === undefined) hits.set(place, [key]);
      else hit.push(key);
    };
    for (const key of keys) {
      // Everything, the folders of the key from the outside in, and the key itself.
      visit(0, key);
      for (let at = key.indexOf("/"); at >= 0; at = key.indexOf("/", at + 1)) {
        if (at + 1 < key.length) visit(at + 1, key);
      }
      visit(key.length, key);
    }
    // All are gathered before the first call, which may begin other watches: those are not meant.
    const due = Array.from(hits, ([place, changed]) => ({
      place,
      change: { index, keys: changed },
      calls: Array.from(this.#byPlace.get(place) ?? []),
    }));
    for (const { place, change, calls } of due) {
      for (const call of calls) {
        // It may also have ended this one.
        if (this.#byPlace.get(place)?.has(call)) this.#safely(() => call(change));
      }
    }
  }

  #count(length: number, change: 1 | -1): void {
    const count = (this.#lengths.get(length) ?? 0) + change;
    if (count === 0) this.#lengths.delete(length);
    else this.#lengths.set(length, count);
  }

  #safely(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#onError(error);
    }
  }
}

interface Waiter {
  readonly index: bigint;
  call: (() => void) | null; // null when no longer wanted
  parked: boolean;
}

/** A binary heap by index; whoever gives up is dropped when reached, or when most have given up. */
class IndexHeap {
  #heap: Waiter[] = [];
  #gone = 0;

  get size(): number {
    return this.#heap.length - this.#gone;
  }

  add(index: bigint, call: () => void): () => void {
    const waiter: Waiter = { index, call, parked: true };
    this.#push(waiter);
    return () => {
      if (waiter.call === null) return;
      waiter.call = null;
      if (!waiter.parked) return;
      this.#gone++;
      if (this.#gone > 64 && this.#gone * 2 > this.#heap.length) this.#compact();
    };
  }

  takeUpTo(index: bigint): Waiter[] {
    const taken: Waiter[] = [];
    while (this.#heap.length > 0 && this.#heap[0]!.index <= index) {
      const waiter = this.#pop();
      waiter.parked = false;
      if (waiter.call === null) this.#gone--;
      else taken.push(waiter);
    }
    return taken;
  }

  #compact(): void {
    const wanted = this.#heap.filter((waiter) => waiter.call !== null);
    this.#heap = [];
    this.#gone = 0;
    for (const waiter of wanted) this.#push(waiter);
  }

  #push(waiter: Waiter): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.index <= waiter.index) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = waiter;
  }

  #pop(): Waiter {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    invariant(top !== undefined && last !== undefined, "pop of an empty heap");
    if (heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.index < heap[child]!.index) child++;
      if (heap[child]!.index >= last.index) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
