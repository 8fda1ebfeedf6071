// What is due now and then at mounts: undoing write-ahead records that nobody settled, and the periodic
// work of engines. A record whose undoing fails is tried ever more rarely and, after a day, is an orphan
// that operators are told of (engines contract 1.5, D11).

import { DAY, HOUR, MINUTE, SECOND } from "../base/duration.ts";
import { describe, Failure } from "../base/failure.ts";
import type { Log } from "../base/log.ts";
import type { Clock, Instant, Nanos, Timer, Timers } from "../base/world.ts";
import { within } from "./deadline.ts";
import * as failures from "./failures.ts";
import type { Mount } from "./open-mount.ts";
import type { NotedRecord } from "./write-ahead.ts";

const TICK: Nanos = MINUTE;
const TICK_DEADLINE: Nanos = 90n * SECOND;
const LEAST_AGE: Nanos = 10n * MINUTE;
const JOB_DEADLINE: Nanos = MINUTE;
const LONGEST_PAUSE: Nanos = HOUR;
const ORPHANED_AFTER: Nanos = DAY;
const ORPHAN_PAUSE: Nanos = 6n * HOUR;
const TOLD_EVERY: Nanos = DAY;
const AT_ONCE = 16; // mounts
const MAX_ERROR = 240; // characters

export interface RollbackOptions {
  readonly mounts: () => Iterable<Mount>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export class Rollback {
  readonly #options: RollbackOptions;
  readonly #busy = new Map<string, Promise<void>>(); // by uuid
  readonly #orphans = new Map<string, number>(); // by uuid
  #timer: Timer | null = null;
  #stop = new AbortController();

  constructor(options: RollbackOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stop = new AbortController();
    this.#arm();
  }

  /** Waits for what has begun. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#timer = null;
    await this.idle();
    this.#orphans.clear();
  }

  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values());
  }

  /** As of the last tick. */
  orphansOf(uuid: string): number {
    return this.#orphans.get(uuid) ?? 0;
  }

  /** One look at everything, at most so many mounts at once. */
  async tick(): Promise<void> {
    const due = [...this.#options.mounts()].filter(isConcerned).values();
    const worker = async () => {
      for (const mount of due) {
        if (this.#stop.signal.aborted) return;
        await this.#look(mount);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  /** Undoes what there is, whatever its age; gives the first trouble, or null when nothing is left. */
  async undoAll(mount: Mount, signal: AbortSignal): Promise<string | null> {
    await this.#busy.get(mount.record.uuid);
    let trouble: string | null = null;
    for (const record of recordsOf(mount)) {
      if (signal.aborted) return "it was stopped";
      trouble ??= await this.#undo(mount, record, signal);
    }
    return trouble;
  }

  #arm(): void {
    this.#timer = this.#options.timers.after(TICK, () => {
      if (this.#stop.signal.aborted) return;
      void this.tick().finally(() => {
        if (!this.#stop.signal.aborted) this.#arm();
      });
    });
  }

  /** One at a time for each mount. */
  async #look(mount: Mount): Promise<void> {
    const { uuid, path } = mount.record;
    if (this.#busy.has(uuid)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#busy.set(uuid, promise);
    const { timers, log } = this.#options;
    try {
      const deadline = { timers, length: TICK_DEADLINE, signal: this.#stop.signal };
      await within(deadline, (signal) => this.#work(mount, signal));
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        log.error("periodic work of a mount failed", { path, cause: causeOf(error) });
      }
    } finally {
      this.#busy.delete(uuid);
      resolve();
    }
  }

  async #work(mount: Mount, signal: AbortSignal): Promise<void> {
    const { type, opened } = mount;
    if (opened === null) {
      if (type !== null) await mount.open(); // it could not be opened before; perhaps now
      return;
    }
    const now = this.#options.clock.now();
    const leastAge = type?.leastUndoAge ?? LEAST_AGE;
    let orphans = 0;
    for (const record of recordsOf(mount)) {
      if (signal.aborted) return;
      const due = record.created + leastAge <= now && record.nextTry <= now;
      if (due) await this.#undo(mount, record, signal);
      if (isOrphan(mount.writeAhead.get(record.id), now)) orphans++;
    }
    this.#orphans.set(mount.record.uuid, orphans);
    await type?.periodic?.(opened.ref.engine, signal);
  }

  async #undo(mount: Mount, record: NotedRecord, signal: AbortSignal): Promise<string | null> {
    const { opened, type } = mount;
    if (opened === null) return mount.trouble;
    const { timers } = this.#options;
    try {
      const undo = type?.undo?.[record.kind];
      if (undo === undefined) throw failures.undoUnknown(record.kind);
      const deadline = { timers, length: type?.jobDeadline ?? JOB_DEADLINE, signal };
      await within(deadline, (limit) => undo(opened.ref.engine, record, limit));
      await mount.writeAhead.drop(record.id);
      return null;
    } catch (error) {
      if (signal.aborted) return "it was stopped"; // that is no failure of its own
      await this.#failed(mount, record, causeOf(error));
      return causeOf(error);
    }
  }

  async #failed(mount: Mount, record: NotedRecord, cause: string): Promise<void> {
    const { clock, log } = this.#options;
    const now = clock.now();
    const failedSince = record.failedSince ?? now;
    const orphan = now - failedSince >= ORPHANED_AFTER;
    const grown = MINUTE * 2n ** BigInt(Math.min(record.tries, 6));
    const pause = orphan ? ORPHAN_PAUSE : grown < LONGEST_PAUSE ? grown : LONGEST_PAUSE;
    const tell = orphan && now - record.toldAt >= TOLD_EVERY;
    const { path, accessor } = mount.record;
    const fields = { path, accessor, id: record.id, kind: record.kind, cause };
    if (tell) log.error("something made outside cannot be removed; it is an orphan", fields);
    else log.warn("a write-ahead record could not be undone; it will be tried again", fields);
    await mount.writeAhead.failed({
      ...record,
      tries: record.tries + 1,
      failedSince,
      nextTry: now + pause,
      lastError: cause.slice(0, MAX_ERROR),
      toldAt: tell ? now : record.toldAt,
    });
  }
}

/** After a day of failures. */
export function isOrphan(record: NotedRecord | null, now: Instant): boolean {
  return (
    record !== null && record.failedSince !== null && now - record.failedSince >= ORPHANED_AFTER
  );
}

/** One page after the other, as they are when it is their turn. */
export function* recordsOf(mount: Mount): Generator<NotedRecord> {
  let after: string | undefined;
  for (;;) {
    const page = mount.writeAhead.page(after);
    yield* page;
    after = page.at(-1)?.id;
    if (after === undefined) return;
  }
}

/** Thousands of mounts have nothing to do here. Those that are being disabled look after themselves. */
function isConcerned({ type, record, opened }: Mount): boolean {
  if (type === null || record.state.kind !== "active") return false;
  return opened === null || type.undo !== undefined || type.periodic !== undefined;
}

/** Only a Failure is known to hold no secret. */
function causeOf(error: unknown): string {
  return error instanceof Failure ? describe(error) : "unexpected error";
}
