// A target of which nothing is waited for without end. A store that answers slowly is waited for as long as it gets on;
// one that hangs, and a directory of a network that is gone, ends in an error that passes, and is tried again
// later. A directory cannot be stopped: while a call hangs there, no further one is begun.

import { Pace } from "@holdfast/shared/pace";
import { MINUTE, SECOND, showDuration } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";
import { StoreError } from "./store-error.ts";
import type {
  BegunPut,
  PutOptions,
  PutSnapshot,
  Source,
  StoredSnapshot,
  Target,
} from "./target.ts";

/** More than all tries of one call to a store take. */
const PATIENCE: Nanos = 15n * MINUTE;
/** What was written is read again before it counts: no disk that is of use is slower. */
const READ_BACK = 8n * 1024n * 1024n; // bytes in a second
const LOOK_EVERY: Nanos = MINUTE;
/** What was told to stop has so long to clear away after itself. */
const CLEARING: Nanos = 10n * SECOND;

export interface TimedWorld {
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Timers;
}

export class TimedTarget implements Target {
  readonly #target: Target;
  readonly #world: TimedWorld;
  #hanging = 0;

  constructor(target: Target, world: TimedWorld) {
    this.#target = target;
    this.#world = world;
  }

  /** Whether a call was given up that has not ended yet. */
  get hangs(): boolean {
    return this.#hanging > 0;
  }

  urlOf(name: string): string {
    return this.#target.urlOf(name);
  }

  checkRoom(bytes: number, signal: AbortSignal): Promise<void> {
    return this.#call("looking for space", signal, (own) => this.#target.checkRoom(bytes, own));
  }

  async put(name: string, source: Source, options: PutOptions): Promise<void> {
    const patience = PATIENCE + (BigInt(source.size) * SECOND) / READ_BACK;
    const watch = this.#watch("writing the snapshot", options.signal, patience);
    const progress = (bytes: number) => {
      watch.moved(bytes);
      options.progress?.(bytes);
    };
    await watch.wait(() =>
      this.#target.put(name, source, { ...options, signal: watch.signal, progress }),
    );
  }

  list(signal: AbortSignal): Promise<StoredSnapshot[]> {
    return this.#call("listing snapshots", signal, (own) => this.#target.list(own));
  }

  holds(put: PutSnapshot, signal: AbortSignal): Promise<boolean> {
    return this.#call("looking for a snapshot", signal, (own) => this.#target.holds(put, own));
  }

  delete(name: string, signal: AbortSignal): Promise<void> {
    return this.#call("deleting a snapshot", signal, (own) => this.#target.delete(name, own));
  }

  async read(name: string, signal: AbortSignal) {
    const watch = this.#watch("reading a snapshot", signal, PATIENCE);
    const { size, chunks } = await watch.wait(() => this.#target.read(name, watch.signal));
    return { size, chunks: watched(chunks, watch) };
  }

  probe(signal: AbortSignal): Promise<void> {
    return this.#call("writing a test object", signal, (own) => this.#target.probe(own));
  }

  settle(begun: BegunPut, signal: AbortSignal): Promise<boolean> {
    const step = "clearing away what an upload has left";
    return this.#call(step, signal, (own) => this.#target.settle(begun, own));
  }

  #call<T>(
    step: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const watch = this.#watch(step, signal, PATIENCE);
    return watch.wait(() => work(watch.signal));
  }

  #watch(step: string, signal: AbortSignal, patience: Nanos): Watch {
    if (this.hangs) {
      const message = "an earlier call hangs and has not ended yet";
      throw new StoreError({ step, message, passes: true });
    }
    const left = (work: Promise<unknown>) => {
      this.#hanging++;
      const ended = () => void this.#hanging--;
      work.then(ended, ended);
    };
    return new Watch(this.#world, { step, signal, patience, left });
  }
}

interface Watched {
  readonly step: string;
  readonly signal: AbortSignal;
  readonly patience: Nanos;
  /** What was not waited for any longer. */
  readonly left: (work: Promise<unknown>) => void;
}

/** Over one call, or the parts of one. */
class Watch {
  readonly #world: TimedWorld;
  readonly #watched: Watched;
  readonly #pace = new Pace();
  readonly #stop = new AbortController();
  #waiting = false;
  #time: Nanos = 0n;
  #looked: Nanos;
  readonly signal: AbortSignal;

  constructor(world: TimedWorld, watched: Watched) {
    this.#world = world;
    this.#watched = watched;
    this.#looked = world.clock.elapsed();
    this.signal = AbortSignal.any([watched.signal, this.#stop.signal]);
  }

  /** Without pauses of the whole process: nothing could get on in them. */
  #now(): Nanos {
    const elapsed = this.#world.clock.elapsed();
    const passed = elapsed - this.#looked;
    this.#time += passed < 2n * LOOK_EVERY ? passed : 2n * LOOK_EVERY;
    this.#looked = elapsed;
    return this.#time;
  }

  moved(bytes: number): void {
    const now = this.#now();
    this.#pace.waits(false, now);
    this.#pace.moved(bytes);
    if (this.#waiting) this.#pace.waits(true, now);
  }

  async wait<T>(begin: () => Promise<T>): Promise<T> {
    const { timers } = this.#world;
    const { step, signal, patience, left } = this.#watched;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let timer: Timer | null = null;
    const work = begin();
    work.then(resolve, reject);
    const giveUp = (message: string) => {
      left(work);
      const error = new StoreError({ step, message, passes: true });
      reject(error);
      this.#stop.abort(error);
    };
    const look = () => {
      if (this.#pace.isKept(this.#now(), patience)) timer = timers.after(LOOK_EVERY, look);
      else giveUp(`it did not get on for ${showDuration(patience - (patience % SECOND))}`);
    };
    const stopped = () => {
      timer?.cancel();
      timer = timers.after(CLEARING, () => giveUp("it does not end though it was stopped"));
    };
    this.#waiting = true;
    this.#pace.waits(true, this.#now());
    if (signal.aborted) stopped();
    else look();
    signal.addEventListener("abort", stopped, { once: true });
    try {
      return await promise;
    } finally {
      cancel(timer);
      signal.removeEventListener("abort", stopped);
      this.#waiting = false;
      this.#pace.waits(false, this.#now());
    }
  }
}

/** Set in callbacks, which the compiler does not see. */
function cancel(timer: Timer | null): void {
  timer?.cancel();
}

/** The time in which nobody wants the next one does not count. */
async function* watched(
  chunks: AsyncIterable<Uint8Array>,
  watch: Watch,
): AsyncGenerator<Uint8Array, void, void> {
  const parts = chunks[Symbol.asyncIterator]();
  let bytes = 0;
  let waiting = true;
  try {
    for (;;) {
      const next = await watch.wait(() => parts.next());
      if (next.done === true) break;
      bytes += next.value.length;
      watch.moved(bytes);
      yield next.value;
    }
    waiting = false;
  } finally {
    // One that hangs would hang here as well.
    if (waiting) parts.return?.().catch(() => {});
  }
}
