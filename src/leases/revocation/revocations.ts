// Revocations that wait and run: a line for each mount, served in turn, so that no mount waits for
// another's; at most 8 at once of one mount, since providers throttle well before that, and 64 of all.
// A lease is here once, however many ask for its end: they share what comes of it.

import { MILLISECOND, MINUTE } from "@holdfast/shared/text/duration";
import { RenewedMap } from "@holdfast/shared/renewed-map";
import type { Clock, Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { Attempted } from "./attempt.ts";
import * as failures from "../failures.ts";
import type { Lease, LeaseCause, LeasePlace } from "../lease.ts";
import { recordKey } from "../rows/lease-keys.ts";
import type { Outcome } from "./outcomes.ts";

const POOL = 64;
const PER_MOUNT = 8;
/** A throttled mount gets one more at once after so long. */
const RECOVERY: Nanos = MINUTE;
/** Waiting and running ones together: each holds its lease in memory. */
const MAX_CLAIMED = 4096;
// Together 3,200 in a second at most, and fewer where that leaves no time for requests: when the timer
// between two lots comes late, the loop is busy, and the next lots are smaller until it is in time again.
const PACE = { max: 32, min: 1, every: 10n * MILLISECOND, late: 3n * MILLISECOND } as const;

export interface Job {
  readonly lease: Lease;
  readonly done: Promise<Outcome>;
}

export interface TakeOptions {
  /** Default false. */
  readonly urgent?: boolean;
  /** Who asks for it. Default null: their time is over, or they say it themselves. */
  readonly cause?: LeaseCause | null;
}

interface OwnJob extends Job {
  readonly settle: (outcome: Outcome) => void;
  readonly urgent: boolean;
  readonly cause: LeaseCause | null;
}

interface Line {
  readonly mountUuid: string;
  readonly waiting: OwnJob[];
  running: number;
  /** Claimed by the mount and not yet settled. */
  claimed: number;
  /** How many at once, as of `limitedAt`. */
  limit: number;
  limitedAt: Nanos;
}

export interface RevocationsParts {
  readonly local: View;
  readonly clock: Pick<Clock, "elapsed">;
  readonly timers: Timers;
  readonly attempt: (lease: Lease, stop: AbortSignal) => Promise<Attempted>;
  readonly record: (
    lease: Lease,
    attempted: Attempted,
    cause: LeaseCause | null,
  ) => Promise<Outcome>;
  /** One of a mount is over: there may be room for more. `unwritten`: its lease is as it was. */
  readonly onRoom: (mountUuid: string, unwritten: boolean) => void;
}

export class Revocations {
  readonly #parts: RevocationsParts;
  readonly #jobs = new RenewedMap<string, OwnJob>(); // by the key of the record
  readonly #lines = new Map<string, Line>(); // in the order of their turns
  #running = 0;
  #lot: number = PACE.max; // how many may start between two of the timer
  #started = 0; // of them
  #timer: Timer | null = null;
  #stop = new AbortController();

  constructor(parts: RevocationsParts) {
    this.#parts = parts;
  }

  open(): void {
    this.#stop = new AbortController();
  }

  /** Cuts off what runs, forgets what waits. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#timer = null;
    for (const line of this.#lines.values()) {
      for (const job of line.waiting.splice(0)) void this.#finish(line, job, cutOff());
    }
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
    this.#lines.clear();
  }

  get isFull(): boolean {
    return this.#jobs.size >= MAX_CLAIMED;
  }

  has(place: LeasePlace): boolean {
    return this.#jobs.has(recordKey(place));
  }

  claimedOf(mountUuid: string): number {
    return this.#lines.get(mountUuid)?.claimed ?? 0;
  }

  /** Whether more of a mount's due leases should be claimed. */
  hasRoom(mountUuid: string): boolean {
    const waiting = this.#lines.get(mountUuid)?.waiting.length ?? 0;
    return waiting < PER_MOUNT && !this.isFull;
  }

  /**
   * Claims what `find` gives, in the transaction in which it is found: from then on nothing else
   * changes these leases but their owner's end. Those that are claimed already are shared. `urgent` ones
   * go before others of their mount.
   */
  async take(
    find: (tx: Tx) => readonly Lease[],
    { urgent = false, cause = null }: TakeOptions = {},
  ): Promise<Job[]> {
    let fresh: OwnJob[] = [];
    const claim = (lease: Lease): Job => {
      const known = this.#jobs.get(recordKey(lease));
      if (known !== undefined) return known;
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      const job: OwnJob = { lease, urgent, cause, done: promise, settle: resolve };
      this.#jobs.set(recordKey(lease), job);
      this.#lineOf(lease.mountUuid).claimed++;
      fresh.push(job);
      return job;
    };
    const release = () => {
      for (const job of fresh) {
        this.#letGo(this.#lineOf(job.lease.mountUuid), job);
        job.settle({ kind: "unknown", failure: failures.sealing() }); // others may share it
      }
      fresh = [];
    };
    let jobs: Job[];
    try {
      jobs = await this.#parts.local.write((tx) => {
        release(); // it may be run again
        return find(tx).map(claim);
      });
    } catch (error) {
      release();
      throw error;
    }
    for (const job of fresh) this.#enqueue(job);
    this.#serve();
    return jobs;
  }

  #enqueue(job: OwnJob): void {
    const line = this.#lineOf(job.lease.mountUuid);
    if (this.#stop.signal.aborted) void this.#finish(line, job, cutOff());
    else if (job.urgent) line.waiting.unshift(job);
    else line.waiting.push(job);
  }

  #lineOf(mountUuid: string): Line {
    let line = this.#lines.get(mountUuid);
    if (line === undefined) {
      const limitedAt = this.#parts.clock.elapsed();
      line = { mountUuid, waiting: [], running: 0, claimed: 0, limit: PER_MOUNT, limitedAt };
      this.#lines.set(mountUuid, line);
    }
    return line;
  }

  /** One of each mount in turn, until nothing more may run. */
  #serve(): void {
    if (this.#stop.signal.aborted) return;
    let left = this.#lines.size;
    for (const line of this.#lines.values()) {
      if (this.#running >= POOL) return;
      if (line.waiting.length > 0 && line.running < this.#limitOf(line)) {
        if (!this.#mayStart()) return;
        this.#lines.delete(line.mountUuid);
        this.#lines.set(line.mountUuid, line); // behind the others, and met again in this loop
        left = this.#lines.size + 1;
        void this.#run(line, line.waiting.shift()!);
      }
      left--;
      if (left <= 0) return; // once round without one that could start
    }
  }

  #mayStart(): boolean {
    this.#timer ??= this.#nextLot();
    if (this.#started >= this.#lot) return false;
    this.#started++;
    return true;
  }

  #nextLot(): Timer {
    const { clock, timers } = this.#parts;
    const due = clock.elapsed() + PACE.every;
    return timers.after(PACE.every, () => {
      const late = clock.elapsed() - due > PACE.late;
      this.#lot = late ? Math.max(PACE.min, this.#lot >> 2) : Math.min(PACE.max, this.#lot + 1);
      this.#timer = null;
      this.#started = 0;
      this.#serve();
    });
  }

  async #run(line: Line, job: OwnJob): Promise<void> {
    this.#running++;
    line.running++;
    const attempted = await this.#parts.attempt(job.lease, this.#stop.signal);
    this.#running--;
    line.running--;
    if (attempted.kind === "throttled") this.#slow(line);
    this.#serve(); // the place is free: what follows is only written down
    await this.#finish(line, job, attempted);
  }

  async #finish(line: Line, job: OwnJob, attempted: Attempted): Promise<void> {
    const outcome = await this.#parts.record(job.lease, attempted, job.cause);
    this.#letGo(line, job);
    job.settle(outcome);
    if (this.#stop.signal.aborted) return;
    this.#parts.onRoom(line.mountUuid, outcome.kind === "unknown");
  }

  #letGo(line: Line, job: OwnJob): void {
    this.#jobs.delete(recordKey(job.lease));
    line.claimed--;
    const idle = line.claimed === 0 && this.#limitOf(line) === PER_MOUNT;
    if (idle && this.#lines.get(line.mountUuid) === line) this.#lines.delete(line.mountUuid);
  }

  #limitOf(line: Line): number {
    const minutes = Number((this.#parts.clock.elapsed() - line.limitedAt) / RECOVERY);
    return Math.min(PER_MOUNT, line.limit + minutes);
  }

  #slow(line: Line): void {
    line.limit = Math.max(1, Math.floor(this.#limitOf(line) / 2));
    line.limitedAt = this.#parts.clock.elapsed();
  }
}

function cutOff(): Attempted {
  return { kind: "cut-off", failure: failures.sealing() };
}
