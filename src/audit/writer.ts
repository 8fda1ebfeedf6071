// The way of records into one device. Those that come while a write is under way go out together in the
// next one. A device hangs when a write takes longer than its time-out: how long a record waited for its turn
// before says how much there is to do, and nothing of the device. One that failed or hangs refuses at once
// instead of collecting records, and is tried again by itself.

import { SECOND } from "@holdfast/shared/text/duration";
import { describe, OwnError } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Attempt } from "./attempt.ts";
import type { Sink, SinkSource } from "./devices/sink.ts";
import { type Entry, RecordQueue, tellFailed } from "./record-queue.ts";

const FIRST_RETRY: Nanos = SECOND;
const LAST_RETRY: Nanos = 5n * SECOND; // space was freed, the peer is back: noticed within this
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
// What follows a record runs in the microtasks behind it, a handful of them one after the other.
const REPORTED_AT_ONCE = 4;
const FOLLOWING_STEPS = 8;
const STRETCH: Nanos = 5_000_000n;

export interface WriterOptions {
  readonly device: string;
  /** Named in the log, where the refusals of files only tell the rule. */
  readonly file?: string;
  readonly source: SinkSource;
  /** For a write, and for the device to open. */
  readonly timeout: Nanos;
  /** Of records that wait. Default 16 MiB. */
  readonly maxQueuedBytes?: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** After each write of one or more records. */
  readonly wrote?: (device: string, ok: boolean, seconds: number) => void;
  readonly healthChanged?: () => void;
}

interface Opening {
  readonly sink: Promise<Sink>;
  wanted: boolean;
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #queue: RecordQueue;
  #underWay: readonly Entry[] = [];
  #began: Nanos = 0n; // of the write that is under way
  #sink: Sink | null = null;
  #opening: Opening | null = null;
  #pumping: Promise<void> | null = null;
  #watchdog: Timer | null = null;
  #retry: Timer | null = null;
  #retryDelay = FIRST_RETRY;
  #down = false; // did not open or write; a retry is armed
  #overdue = false; // a write has taken longer than it may, and is still under way
  #reopen = false;
  #problem: string | null = null; // why it is down
  #closed = false;
  #closing: Promise<void> | null = null;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { device, log, source, maxQueuedBytes = MAX_QUEUED_BYTES } = options;
    const maxRecordBytes = source.maxBytes;
    this.#queue = new RecordQueue({ device, log, maxRecordBytes, maxBytes: maxQueuedBytes });
  }

  get healthy(): boolean {
    return !this.#closed && !this.#down && !this.#overdue && this.#sink?.broken === false;
  }

  /** Why it did not open, or failed last; null while it works. May name places of this machine. */
  get problem(): string | null {
    return this.#down ? this.#problem : null;
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

  /** The record is made at once where there is room for it, else when there is. */
  push(make: () => string, attempt: Attempt): void {
    if (this.#closed || this.#down || this.#overdue) {
      attempt.failed();
      return;
    }
    if (!this.#queue.add(make, attempt)) return;
    if (this.#watchdog === null) this.#watch(this.#options.timeout);
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
    this.#queue.failAll();
    const sink = this.#sink;
    this.#sink = null;
    if (sink !== null) await this.#within(timeout, sink.close()).catch(() => sink.abandon());
  }

  async #pump(): Promise<void> {
    while ((this.#queue.length > 0 || this.#reopen) && !this.#down) {
      // What the other callbacks of this turn bring goes into the same write.
      await this.#options.timers.turn();
      if (this.#reopen) await this.#swap();
      const batch = this.#queue.take();
      const writing = batch.length > 0 ? this.#write(batch) : this.#options.timers.turn();
      this.#queue.letIn(); // their records are made while the disk is busy
      await writing;
    }
    this.#pumping = null;
  }

  async #write(batch: readonly Entry[]): Promise<void> {
    const { clock, device, wrote } = this.#options;
    const began = clock.elapsed();
    this.#began = began;
    this.#underWay = batch;
    let failure: unknown = null;
    try {
      await this.#writeOrAgain(batch.map(({ record }) => record));
    } catch (error) {
      failure = error ?? new OwnError("unknown cause");
    }
    this.#underWay = [];
    wrote?.(device, failure === null, Number(clock.elapsed() - began) / 1e9);
    if (failure === null) {
      this.#recovered();
      await this.#tellTaken(batch);
    } else {
      for (const entry of batch) tellFailed(entry);
      this.#fell(failure);
    }
  }

  /** Each goes on with its request, which may be long work: others get their turn in between. */
  async #tellTaken(batch: readonly Entry[]): Promise<void> {
    const { clock, timers } = this.#options;
    let began = clock.elapsed();
    for (let at = 0; at < batch.length; at++) {
      const entry = batch[at]!;
      entry.attempt?.taken();
      entry.attempt = null;
      if (at % REPORTED_AT_ONCE !== REPORTED_AT_ONCE - 1 || at === batch.length - 1) continue;
      for (let step = 0; step < FOLLOWING_STEPS; step++) await Promise.resolve();
      if (clock.elapsed() - began < STRETCH) continue;
      await timers.turn();
      began = clock.elapsed();
    }
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
    const timer = this.#options.timers.after(limit, () => reject(new OwnError("it took too long")));
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

  /** One timer for all writes: it looks at the one that is under way. */
  #watch(delay: Nanos): void {
    const { timers, clock, timeout } = this.#options;
    this.#watchdog = timers.after(delay, () => {
      this.#watchdog = null;
      const now = clock.elapsed();
      const late = this.#underWay.length > 0 ? this.#began + timeout : now + timeout;
      // A device that gets on, however slowly, is not one that hangs.
      if (late <= now) this.#hangs();
      if (this.#overdue || this.pending === 0) return;
      this.#watch(late - now);
    });
  }

  #hangs(): void {
    this.#overdue = true;
    for (const entry of this.#underWay) tellFailed(entry);
    this.#queue.failAll();
    const { device, log, healthChanged } = this.#options;
    log.error("an audit device hangs", { device });
    this.#sink?.abandon();
    healthChanged?.();
  }

  #fell(error: unknown): void {
    const { device, file, log, healthChanged } = this.#options;
    this.#drop();
    this.#overdue = false;
    this.#reopen = false; // the retry does that
    this.#queue.failAll();
    const cause = describe(error);
    const where = file === undefined ? { device } : { device, file };
    if (!this.#down) log.error("an audit device fails", { ...where, cause });
    this.#problem = cause;
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
