// The queue in front of one device. Records that come while a write is under way go out together in
// the next one; a record waits no longer than the device's time-out; what waits is bounded. A device
// that failed or hangs refuses at once instead of collecting records, and is tried again by itself.

import { describe } from "../base/failure.ts";
import type { Log } from "../base/log.ts";
import type { Clock, Nanos, Timer, Timers } from "../base/world.ts";
import type { Attempt } from "./attempt.ts";
import type { Sink, SinkSource } from "./devices/sink.ts";

const SECOND: Nanos = 1_000_000_000n;
const FIRST_RETRY: Nanos = SECOND;
const LAST_RETRY: Nanos = 5n * SECOND; // space was freed, the peer is back: noticed within this
const MOST_QUEUED = 16_384; // records
const MOST_QUEUED_BYTES = 16 * 1024 * 1024;
const MOST_BATCH_BYTES = 1024 * 1024;

export interface WriterOptions {
  readonly device: string;
  readonly source: SinkSource;
  /** For a record to be taken, and for the device to open. */
  readonly timeout: Nanos;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** After each write of one or more records. */
  readonly wrote?: (device: string, ok: boolean, seconds: number) => void;
  readonly healthChanged?: () => void;
}

interface Entry {
  readonly record: string;
  readonly due: Nanos;
  attempt: Attempt | null; // null once it was told
}

interface Opening {
  readonly sink: Promise<Sink>;
  wanted: boolean;
}

export class Writer {
  readonly #options: WriterOptions;
  #queue: Entry[] = [];
  #queuedBytes = 0;
  #underWay: readonly Entry[] = [];
  #sink: Sink | null = null;
  #opening: Opening | null = null;
  #pumping: Promise<void> | null = null;
  #watchdog: Timer | null = null;
  #retry: Timer | null = null;
  #retryDelay = FIRST_RETRY;
  #down = false; // did not open or write; a retry is armed
  #overdue = false; // a write has taken longer than it may, and is still under way
  #reopen = false;
  #closed = false;
  #closing: Promise<void> | null = null;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return !this.#closed && !this.#down && !this.#overdue && this.#sink?.broken === false;
  }

  /** Records that wait or are under way. */
  get pending(): number {
    return this.#queue.length + this.#underWay.length;
  }

  /** Opens the device. False when it cannot be: then it is tried again by itself. */
  async start(): Promise<boolean> {
    try {
      this.#sink = await this.#open();
      if (this.#closed) this.#drop();
      else this.#recovered();
      return !this.#closed;
    } catch (error) {
      this.#fell(error);
      return false;
    }
  }

  push(record: string, attempt: Attempt): void {
    if (!this.#admits(record)) {
      attempt.failed();
      return;
    }
    const { clock, timeout } = this.#options;
    this.#queue.push({ record, due: clock.elapsed() + timeout, attempt });
    this.#queuedBytes += record.length;
    if (this.#watchdog === null) this.#watch(timeout);
    this.#pumping ??= this.#pump();
  }

  /** Opens the device anew behind what is queued; the old way stays in use if that fails. */
  async reopen(): Promise<boolean> {
    if (this.#closed) return false;
    this.#reopen = true;
    this.#pumping ??= this.#pump();
    const { timeout } = this.#options;
    await this.#within(timeout, this.#pumping).catch(() => {});
    return this.healthy && !this.#reopen;
  }

  /** Lets go out what is queued, within the time-out, and closes. */
  close(): Promise<void> {
    return (this.#closing ??= this.#shut());
  }

  async #shut(): Promise<void> {
    this.#closed = true;
    const { timeout } = this.#options;
    if (this.#pumping !== null) await this.#within(timeout, this.#pumping).catch(() => {});
    this.#watchdog?.cancel();
    this.#retry?.cancel();
    this.#failAll();
    const sink = this.#sink;
    this.#sink = null;
    if (sink !== null) await this.#within(timeout, sink.close()).catch(() => sink.abandon());
  }

  #admits(record: string): boolean {
    if (this.#closed || this.#down || this.#overdue) return false;
    if (this.#queue.length >= MOST_QUEUED) return false;
    if (this.#queuedBytes + record.length > MOST_QUEUED_BYTES && this.#queue.length > 0)
      return false;
    return record.length <= this.#options.source.mostBytes;
  }

  async #pump(): Promise<void> {
    while ((this.#queue.length > 0 || this.#reopen) && !this.#down) {
      // What the other callbacks of this turn bring goes into the same write.
      await this.#options.timers.turn();
      if (this.#reopen) await this.#swap();
      const batch = this.#take();
      if (batch.length > 0) await this.#write(batch);
    }
    this.#pumping = null;
  }

  #take(): Entry[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length) {
      bytes += this.#queue[count]!.record.length;
      if (count > 0 && bytes > MOST_BATCH_BYTES) break;
      count++;
    }
    const batch = count === this.#queue.length ? this.#queue : this.#queue.slice(0, count);
    this.#queue = count === this.#queue.length ? [] : this.#queue.slice(count);
    for (const { record } of batch) this.#queuedBytes -= record.length;
    // Whoever was already told of a failure is not made wrong by a late success.
    return batch.filter(({ attempt }) => attempt !== null);
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    const { clock, device, wrote } = this.#options;
    const began = clock.elapsed();
    this.#underWay = batch;
    let failure: unknown = null;
    try {
      await this.#writeOrAgain(batch.map(({ record }) => record));
    } catch (error) {
      failure = error ?? new Error("unknown cause");
    }
    this.#underWay = [];
    wrote?.(device, failure === null, Number(clock.elapsed() - began) / 1e9);
    for (const entry of batch) {
      if (failure === null) entry.attempt?.taken();
      else entry.attempt?.failed();
      entry.attempt = null;
    }
    if (failure === null) this.#recovered();
    else this.#fell(failure);
  }

  /** A peer that has come back is found by trying once more; what did not arrive is sent again. */
  async #writeOrAgain(records: readonly string[]): Promise<void> {
    if (this.#sink?.broken) this.#drop();
    const fresh = this.#sink === null;
    const sink = (this.#sink ??= await this.#open());
    try {
      await sink.write(records);
    } catch (error) {
      this.#drop();
      if (fresh || this.#overdue) throw error;
      this.#sink = await this.#open();
      await this.#sink.write(records);
    }
  }

  async #swap(): Promise<void> {
    this.#reopen = false;
    const old = this.#sink;
    try {
      this.#sink = await this.#open();
    } catch (error) {
      this.#reopen = false;
      const cause = describe(error);
      const { device, log } = this.#options;
      log.error("an audit device could not be opened anew and goes on as it was", {
        device,
        cause,
      });
      return;
    }
    await old?.close().catch(() => {});
  }

  #drop(): void {
    const sink = this.#sink;
    this.#sink = null;
    sink?.abandon();
    sink?.close().catch(() => {});
  }

  /** At most one opening at a time: each that hangs holds a thread of the runtime. */
  async #open(): Promise<Sink> {
    const opening = (this.#opening ??= this.#begin());
    opening.wanted = true;
    try {
      return await this.#within(this.#options.timeout, opening.sink);
    } catch (error) {
      opening.wanted = false;
      throw error;
    }
  }

  #begin(): Opening {
    const opening: Opening = { sink: this.#options.source.open(), wanted: true };
    const forget = () => {
      if (this.#opening === opening) this.#opening = null;
    };
    opening.sink.then((sink) => {
      forget();
      if (!opening.wanted) sink.close().catch(() => {}); // it came too late
    }, forget);
    return opening;
  }

  #within<T>(limit: Nanos, work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = this.#options.timers.after(limit, () => reject(new Error("it took too long")));
    work.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
    return promise;
  }

  /** One timer for all records: it looks at the oldest. */
  #watch(delay: Nanos): void {
    const { timers, clock } = this.#options;
    this.#watchdog = timers.after(delay, () => {
      this.#watchdog = null;
      const now = clock.elapsed();
      const stuck = this.#underWay.some(({ due, attempt }) => attempt !== null && due <= now);
      if (stuck) this.#hangs();
      for (const entry of this.#queue) if (entry.due <= now) tellFailed(entry);
      const next = this.#underWay[0] ?? this.#queue[0];
      if (next !== undefined && !this.#overdue) {
        this.#watch(next.due > now ? next.due - now : SECOND);
      }
    });
  }

  #hangs(): void {
    this.#overdue = true;
    for (const entry of this.#underWay) tellFailed(entry);
    this.#failAll();
    const { device, log, healthChanged } = this.#options;
    log.error("an audit device hangs", { device });
    this.#sink?.abandon();
    healthChanged?.();
  }

  #failAll(): void {
    for (const entry of this.#queue) tellFailed(entry);
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #fell(error: unknown): void {
    const { device, log, healthChanged } = this.#options;
    this.#drop();
    this.#overdue = false;
    this.#reopen = false; // the retry does that
    this.#failAll();
    if (!this.#down) log.error("an audit device fails", { device, cause: describe(error) });
    this.#down = true;
    healthChanged?.();
    if (this.#closed) return;
    this.#retry = this.#options.timers.after(this.#retryDelay, () => void this.start());
    const doubled = this.#retryDelay * 2n;
    this.#retryDelay = doubled < LAST_RETRY ? doubled : LAST_RETRY;
  }

  #recovered(): void {
    if (!this.#down && !this.#overdue) return;
    const { device, log, healthChanged } = this.#options;
    this.#down = false;
    this.#overdue = false;
    this.#retryDelay = FIRST_RETRY;
    log.info("an audit device works again", { device });
    healthChanged?.();
  }
}

function tellFailed(entry: Entry): void {
  entry.attempt?.failed();
  entry.attempt = null;
}
