// What is due now and then at mounts: undoing write-ahead records that nobody settled, and the periodic
// work of engines. A record whose undoing fails is tried ever more rarely and, after a day, is an orphan
// that operators are told of.

import { DAY, HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import { Recurring } from "../../base/recurring.ts";
import { type Deadline, within } from "../deadline.ts";
import * as failures from "../failures.ts";
import type { Mount } from "../open-mount.ts";
import type { TookOver } from "../ports.ts";
import { isOrphan, type NotedRecord, ORPHAN_PAUSE, ORPHANED_AFTER } from "./write-ahead.ts";

const TICK: Nanos = MINUTE;
const TICK_DEADLINE: Nanos = 90n * SECOND;
// Within a tick an undoing that hangs leaves time for others and for the periodic work, and it has failed:
// otherwise it would be the first again in every tick.
const UNDOING_DEADLINE: Nanos = 75n * SECOND;
const LONGEST_UNDOING: Nanos = MINUTE;
const MIN_UNDOING: Nanos = 10n * SECOND; // in less hardly anything succeeds; it waits for the next tick
const MIN_AGE: Nanos = 10n * MINUTE;
const JOB_DEADLINE: Nanos = MINUTE;
const LONGEST_PAUSE: Nanos = HOUR;
const REPORT_EVERY: Nanos = DAY;
const AT_ONCE = 16; // mounts

export interface RollbackOptions {
  readonly mounts: () => Iterable<Mount>;
  readonly tookOver: () => TookOver | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

export class Rollback {
  readonly #options: RollbackOptions;
  readonly #busy = new Map<string, Promise<void>>(); // by uuid
  readonly #orphans = new Map<string, number>(); // by uuid
  readonly #due = new Map<string, Mount>(); // by uuid
  readonly #workers = new Set<Promise<void>>();
  readonly #ticks: Recurring;
  #stop = new AbortController();

  constructor(options: RollbackOptions) {
    this.#options = options;
    const { timers, log } = options;
    this.#ticks = new Recurring({
      trouble: "could not look at the mounts",
      period: TICK,
      atOnce: false,
      // Not waited for: one slow mount does not slow down the others.
      run: async () => void this.tick(),
      timers,
      log,
    });
  }

  start(): void {
    this.#stop = new AbortController();
    this.#ticks.open();
  }

  /** Waits for what has begun. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#due.clear();
    await this.#ticks.close();
    await this.idle();
    this.#orphans.clear();
  }

  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy.values());
    await Promise.all(this.#workers);
  }

  /** Resolves when nothing of the last tick is under way at it. */
  async lookedAt(uuid: string): Promise<void> {
    await this.#busy.get(uuid);
  }

  /** As of the last tick. */
  orphansOf(uuid: string): number {
    return this.#orphans.get(uuid) ?? 0;
  }

  /** One look at everything, at most so many mounts at once; those that an earlier tick has not come to
   *  are looked at once, and those that it still looks at not now. */
  async tick(): Promise<void> {
    for (const mount of this.#options.mounts()) {
      if (isConcerned(mount)) this.#due.set(mount.record.uuid, mount);
    }
    const free = Math.min(AT_ONCE - this.#workers.size, this.#due.size);
    for (let i = 0; i < free; i++) {
      const worker = this.#lookAtDue().finally(() => this.#workers.delete(worker));
      this.#workers.add(worker);
    }
    await Promise.all(this.#workers);
  }

  async #lookAtDue(): Promise<void> {
    for (const [uuid, mount] of this.#due) {
      if (this.#stop.signal.aborted) return;
      this.#due.delete(uuid);
      if (isConcerned(mount)) await this.#look(mount); // it may be going by now
    }
  }

  /** Undoes what there is, whatever its age; gives the first trouble, or null when nothing is left.
   *  Orphans are tried once more and then given up, where the operator has said to abandon. */
  async undoAll(mount: Mount, signal: AbortSignal): Promise<string | null> {
    await this.lookedAt(mount.record.uuid);
    const { uuid, state } = mount.record;
    const abandon = state.kind === "disabling" && state.abandon;
    const { clock, log } = this.#options;
    let trouble: string | null = null;
    for (const record of recordsOf(mount)) {
      if (signal.aborted) return "it was stopped";
      const length = mount.type?.jobDeadline ?? JOB_DEADLINE;
      const failed = await this.#undo(mount, record, { length, signal });
      if (failed !== null && abandon && !signal.aborted && isOrphan(record, clock.now())) {
        const fields = {
          mount: uuid,
          id: record.id,
          kind: record.kind,
          object: JSON.stringify(record.data),
        };
        log.error("an orphan is left behind: its mount is disabled with abandon", fields);
        await mount.writeAhead.drop(record.id);
      } else trouble ??= failed;
    }
    return trouble;
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
    const { clock } = this.#options;
    const now = clock.now();
    const end = clock.elapsed() + UNDOING_DEADLINE;
    const minAge = type?.minUndoAge ?? MIN_AGE;
    const max = shorter(type?.jobDeadline ?? JOB_DEADLINE, LONGEST_UNDOING);
    let orphans = 0;
    for (const record of recordsOf(mount)) {
      if (signal.aborted) return;
      const isOld = record.isAbandoned || this.#isOld(record.created + minAge, now, minAge);
      const due = isOld && record.nextTry <= now;
      const left = end - clock.elapsed();
      if (due && left >= MIN_UNDOING) {
        await this.#undo(mount, record, { length: shorter(max, left), signal });
      }
      if (isOrphan(mount.writeAhead.get(record.id), now)) orphans++;
    }
    this.#orphans.set(mount.record.uuid, orphans);
    if (!mount.isOthers) await type?.periodic?.(opened.ref.engine, signal);
  }

  /** Whether no request works on it any more. One that was young when this cluster took the place of another may be of a
   *  request that still runs there: it has its whole time from then on. */
  #isOld(end: Instant, now: Instant, minAge: Nanos): boolean {
    const took = this.#options.tookOver();
    if (end > now || took === null) return end <= now;
    return end <= took.since || took.at + minAge <= now;
  }

  async #undo(
    mount: Mount,
    record: NotedRecord,
    { length, signal }: Omit<Deadline, "timers">,
  ): Promise<string | null> {
    const { opened, type } = mount;
    if (opened === null) return mount.trouble;
    const { timers } = this.#options;
    try {
      const undo = type?.undo?.[record.kind];
      if (undo === undefined) throw failures.undoUnknown(record.kind);
      await within({ timers, length, signal }, (limit) => undo(opened.ref.engine, record, limit));
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
    const grown = MINUTE * 2n ** BigInt(Math.min(record.tries, 9));
    const longest = orphan ? ORPHAN_PAUSE : LONGEST_PAUSE;
    const pause = grown < longest ? grown : longest;
    const tell = orphan && now - record.reportedAt >= REPORT_EVERY;
    const { path, accessor } = mount.record;
    const fields = { path, accessor, id: record.id, kind: record.kind, cause };
    if (tell) log.error("something made outside cannot be removed; it is an orphan", fields);
    else log.warn("a write-ahead record could not be undone; it will be tried again", fields);
    await mount.writeAhead.failed({
      ...record,
      tries: record.tries + 1,
      failedSince,
      nextTry: now + pause,
      lastError: cause,
      reportedAt: tell ? now : record.reportedAt,
    });
  }
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

function shorter(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b;
}

/** Only a Failure is known to hold no secret. */
function causeOf(error: unknown): string {
  return error instanceof Failure ? describe(error) : "unexpected error";
}
