// Automated snapshots: what operators ask of them, and the attempts while this node is the active one.

import { describe, Failure } from "@holdfast/shared/failure";
import { fromHex } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Instant, Nanos, Random, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { Job } from "../../house/room.ts";
import type { DrillResult } from "../drills/drill-state.ts";
import { StoreError } from "../targets/store-error.ts";
import type { TimedTarget } from "../targets/timed-target.ts";
import { isOurName, nameAt, type Target } from "../targets/target.ts";
import { attempt, type Phase, type SpooledArchive, type StoredArchive } from "./attempt.ts";
import type { AttemptBook } from "./attempt-book.ts";
import type { SnapshotConfig } from "./config.ts";
import type { ConfigChange, Configurations, NoteHost, WriteRequest } from "./configurations.ts";
import { DueRuns, type Run } from "./due-runs.ts";
import * as failures from "./failures.ts";
import { MakingPlaces } from "./making-places.ts";
import { afterStart, lengthOf, overdue } from "./schedule.ts";
import type { EndedAttempt, SnapshotState } from "./state.ts";
import type { WrittenSnapshot } from "./written-snapshots.ts";

export interface AutoOptions {
  readonly configurations: Configurations;
  readonly book: AttemptBook;
  /** Told of what is stored, and of what is configured for it. */
  readonly drills: DrillPort;
  readonly make: (signal: AbortSignal) => Promise<SpooledArchive>;
  /** Counts and tells how an attempt goes. */
  readonly measured: Measured;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

/** `run` can say more of what goes into the log, as soon as it is known. */
export type Measured = <T extends { readonly bytes: number; readonly index: number }>(
  about: About,
  run: (more: (about: About) => void) => Promise<T>,
) => Promise<T>;

type About = Readonly<Record<string, string>>;

/** What was stored, what kept it from that, or null where it was stopped before its end. */
type AttemptOutcome = StoredArchive | string | null;

/** What follows from a snapshot that is there, and from one that is no longer to be made. */
export interface DrillPort {
  configured(tx: Tx, name: string, change: ConfigChange & { readonly hasStored: boolean }): void;
  stored(tx: Tx, name: string, config: SnapshotConfig): void;
  arm(): void;
  stateOf(
    name: string,
    config: SnapshotConfig,
  ): { readonly lastProven: string | null; readonly lastResult: DrillResult | null };
  removed(name: string): Promise<void>;
}

export interface SnapshotStatus extends SnapshotState {
  readonly state: Phase | "disabled";
  /** Though it is due; empty when it waits for nothing but its time. */
  readonly waitingFor: string;
  /** When one of them was last proven to restore. */
  readonly lastProven: string | null;
  /** How the last drill ended; null before the first. */
  readonly lastDrill: DrillResult | null;
}

export interface LateSnapshot {
  readonly name: string;
  /** Of the attempt that is under way; null where none is. */
  readonly phase: Phase | null;
}

export interface FailingSnapshot {
  readonly name: string;
  /** In a row. */
  readonly errors: number;
  /** What the last one met. */
  readonly error: string;
}

export interface AutoReading {
  /** In seconds since 1970, of whichever configuration; null before the first. */
  readonly lastSuccess: number | null;
  /** Configurations whose last attempt failed. */
  readonly failing: number;
  /** How full the fullest allowance of a local directory is, from 0 to 1; null without one. */
  readonly spaceUsed: number | null;
}

interface Known {
  readonly name: string;
  readonly config: SnapshotConfig;
  readonly state: SnapshotState;
}

/** Of all configurations: each takes memory, and reads the whole store. */
const MAX_MAKING = 2;
const FOR_A_PLACE = "its turn: archives of other configurations are being made";
/** A slow store is not late yet. */
const LATE_BY: Nanos = 10n * MINUTE;

export class AutoSnapshots {
  readonly #options: AutoOptions;
  readonly #configurations: Configurations;
  readonly #book: AttemptBook;
  readonly #runs: DueRuns<Phase, AttemptOutcome>;
  readonly #making = new MakingPlaces(MAX_MAKING);
  /** Where the last attempt of each wrote. */
  readonly #targets = new Map<string, TimedTarget>();
  #known: readonly Known[] | null = null;
  #unwatch: readonly (() => void)[] = [];

  constructor(options: AutoOptions) {
    const { configurations, book, clock, timers, log } = options;
    this.#options = options;
    this.#configurations = configurations;
    this.#book = book;
    this.#runs = new DueRuns<Phase, AttemptOutcome>({
      what: { one: "a snapshot", many: "snapshots" },
      first: "running",
      max: Infinity, // one of a configuration: none waits for the store of another
      due: () => this.#read().map(({ name, state }) => ({ name, next: BigInt(state.next) })),
      run: (name, run) => this.#attempt(name, run),
      takeUp: (isLeading) => this.#takeUp(isLeading),
      clock,
      timers,
      log,
    });
  }

  /** Attempts are made while this node is the active one. */
  get job(): Job {
    return { name: "automated snapshots", when: "while-active", work: this.#runs };
  }

  /** Whoever waits for a run is answered: it goes on without them. */
  interrupt(): void {
    this.#runs.interrupt();
  }

  // --- what operators ask ---

  names(): string[] {
    return this.#configurations.names();
  }

  has(name: string): boolean {
    return this.#configurations.find(name) !== null;
  }

  read(name: string): SnapshotConfig {
    return this.#configurations.read(name);
  }

  /** Gives warnings. */
  async write(name: string, request: WriteRequest): Promise<readonly string[]> {
    const { drills } = this.#options;
    const warnings = await this.#configurations.write(name, request, (tx, change) => {
      const { lastSuccess } = this.#book.configured(tx, name, change);
      drills.configured(tx, name, { ...change, hasStored: lastSuccess !== null });
    });
    this.#runs.arm();
    drills.arm();
    return warnings;
  }

  /** What it has stored stays. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    const config = this.#configurations.find(name);
    if (config === null) return;
    await this.#configurations.remove(name);
    await Promise.all([this.#runs.stop(name), this.#options.drills.removed(name)]);
    await this.#clearAway(name, config, signal);
    await this.#book.forget(name);
    this.#targets.delete(name);
    this.#runs.arm();
  }

  status(name: string): SnapshotStatus {
    const config = this.read(name);
    const idle = this.#runs.isLeading ? "waiting" : "disabled";
    const phase = this.#runs.phaseOf(name);
    const state = this.#book.stateOf(name, config);
    const { lastProven, lastResult } = this.#options.drills.stateOf(name, config);
    const now = this.#options.clock.now();
    return {
      ...state,
      // What is due starts now; behind one that is under way comes the one after it.
      next: String(
        phase === undefined
          ? latest(BigInt(state.next), now)
          : afterStart(BigInt(state.start ?? now), lengthOf(config.interval), now),
      ),
      state: phase ?? idle,
      waitingFor: phase === "waiting" ? FOR_A_PLACE : "",
      lastProven,
      lastDrill: lastResult,
    };
  }

  /** Newest first. */
  history(name: string): readonly EndedAttempt[] {
    this.read(name);
    return this.#book.history(name);
  }

  /** Now, or the one that is under way. True when it is stored; throws what kept it from that. False when it
   *  takes longer than is waited for, or is made again by whoever leads next: it goes on. */
  async run(name: string, signal: AbortSignal, noteHost: NoteHost): Promise<boolean> {
    await this.#configurations.noteHostOf(name, noteHost);
    const ended = await this.#runs.join(name, signal);
    if (ended === null) return false;
    const { outcome } = ended;
    if (typeof outcome === "string") throw failures.runFailed(outcome);
    return outcome !== null;
  }

  // --- what is asked again and again ---

  /** From opening on it is kept in memory until something changes. */
  open(): void {
    const forget = () => void (this.#known = null);
    this.#unwatch = [this.#configurations.view.watch("", forget), this.#book.watch(forget)];
  }

  close(): void {
    for (const stop of this.#unwatch) stop();
    this.#unwatch = [];
    this.#known = null;
  }

  /** How many configurations there are, those whose last attempt failed, and those of which no snapshot came for two
   *  intervals. */
  get facts(): {
    readonly configured: number;
    readonly failing: readonly FailingSnapshot[];
    readonly late: readonly LateSnapshot[];
  } {
    const now = this.#options.clock.now();
    const known = this.#all();
    const late = known.filter(({ config, state }) => {
      const last = BigInt(state.lastSuccess ?? config.created);
      return now - last > 2n * lengthOf(config.interval) + LATE_BY;
    });
    const failing = known.flatMap(({ name, state: { consecutiveErrors, lastError } }) =>
      consecutiveErrors === 0 ? [] : [{ name, errors: consecutiveErrors, error: lastError }],
    );
    return {
      configured: known.length,
      failing,
      late: late.map(({ name }) => this.#lateOne(name)),
    };
  }

  #lateOne(name: string): LateSnapshot {
    return { name, phase: this.#runs.phaseOf(name) ?? null };
  }

  /** What a scrape reads: remembered over restarts. */
  get reading(): AutoReading {
    const known = this.#all();
    const successes = known.flatMap(({ state: { lastSuccess } }) =>
      lastSuccess === null ? [] : [Number(lastSuccess) / 1e9],
    );
    const ratios = known.flatMap(({ config: { settings }, state }) =>
      settings.storageType === "local"
        ? [(state.takenBytes ?? state.storedBytes) / settings.maxSpace]
        : [],
    );
    return {
      lastSuccess: successes.length === 0 ? null : Math.max(...successes),
      failing: known.filter(({ state }) => state.consecutiveErrors > 0).length,
      spaceUsed: ratios.length === 0 ? null : Math.max(...ratios),
    };
  }

  #all(): readonly Known[] {
    this.#known ??= this.#read();
    return this.#known;
  }

  #read(): readonly Known[] {
    return this.names().flatMap((name) => {
      const config = this.#configurations.find(name);
      return config === null ? [] : [{ name, config, state: this.#book.stateOf(name, config) }];
    });
  }

  // --- attempts ---

  /** What should have started while nobody led, or was cut, starts soon. */
  async #takeUp(isLeading: () => boolean): Promise<void> {
    const { clock, random } = this.#options;
    const now = clock.now();
    for (const { name, config, state } of this.#read()) {
      if (!isLeading()) return;
      if (!state.underWay && BigInt(state.next) > now) continue;
      const next = String(overdue(lengthOf(config.interval), now, random));
      await this.#book.change(name, (last) => ({ ...last, next, underWay: false }));
    }
  }

  async #attempt(name: string, run: Run<Phase>): Promise<AttemptOutcome> {
    const config = this.#configurations.find(name);
    if (config === null) return null; // deleted meanwhile
    const { clock, drills } = this.#options;
    const before = this.#book.stateOf(name, config);
    const now = clock.now();
    const last = BigInt(before.start ?? 0);
    const start = now > last ? now : last + 1n; // names are in the order of the attempts
    let url = "";
    let outcome: StoredArchive | string;
    try {
      outcome = await this.#measured(name, async (named) => {
        const target = await this.#openTarget(name, config);
        const file = nameAt(config.settings.filePrefix, start);
        url = target.urlOf(file);
        named(url);
        const begun = { underWay: true, start: String(start), url };
        await this.#book.change(name, (state) => ({ ...state, ...begun }));
        return attempt({
          name: file,
          target,
          retain: config.retain,
          estimate: before.lastSize,
          leftOver: before.begun,
          signal: run.signal,
          make: (signal) => this.#make(run, signal),
          enter: (phase) => (run.phase = phase),
          letGo: (left, cause) => this.#letGo(name, left, cause),
          remember: (put) => this.#book.change(name, (state) => ({ ...state, begun: put })),
          keep: (put) => this.#book.keep(name, config, { put, url: target.urlOf(put.name) }),
          written: () => this.#writtenTo(target, name, config),
          drop: (names) => this.#book.written.drop(name, config, names),
        });
      });
    } catch (error) {
      if (run.signal.aborted) return null; // it goes on, or is forgotten, with whoever stopped it
      outcome = textOf(error);
    }
    const ended = { start, end: clock.now(), url, outcome };
    await this.#book.note(name, ended, (tx, stored) => drills.stored(tx, name, stored));
    drills.arm();
    return outcome;
  }

  /** A directory that hangs is not asked again while it does. */
  async #openTarget(name: string, config: SnapshotConfig): Promise<TimedTarget> {
    if (this.#targets.get(name)?.hangs === true) throw failures.stillHangs();
    const target = await this.#configurations.openTarget(config);
    this.#targets.set(name, target);
    return target;
  }

  #make(run: Run<Phase>, signal: AbortSignal): Promise<SpooledArchive> {
    if (this.#making.areTaken) run.phase = "waiting";
    return this.#making.within(signal, () => {
      run.phase = "running";
      return this.#options.make(signal);
    });
  }

  /** Of what it has written, that which lies where it writes now. */
  async #writtenTo(
    target: Target,
    name: string,
    config: SnapshotConfig,
  ): Promise<readonly WrittenSnapshot[]> {
    const { filePrefix } = config.settings;
    const written = await this.#book.written.of(name, config);
    return written.filter(
      (one) => isOurName(filePrefix, one.name) && one.url === target.urlOf(one.name),
    );
  }

  async #measured(
    name: string,
    run: (named: (url: string) => void) => Promise<StoredArchive>,
  ): Promise<StoredArchive> {
    const { measured, log } = this.#options;
    let about: About = { config: name };
    const stored = await measured(about, async (more) => {
      const result = await run((url) => {
        about = { ...about, url };
        more({ url });
      });
      return { ...result, bytes: result.size };
    });
    const { deleted, rotationError } = stored;
    const count = deleted.length;
    if (count > 0) {
      log.info("older snapshots were deleted", { event: "snapshot.rotated", ...about, count });
    }
    if (rotationError !== "") {
      log.warn("older snapshots could not be deleted", { ...about, cause: rotationError });
    }
    return stored;
  }

  /** After its configuration was deleted: what an upload has left, as far as that can still be had. */
  async #clearAway(name: string, config: SnapshotConfig, signal: AbortSignal): Promise<void> {
    const { begun: put } = this.#book.stateOf(name, config);
    if (put === null) return;
    try {
      const target = await this.#configurations.openTarget(config);
      await target.settle({ ...put, sha256: fromHex(put.sha256) ?? Buffer.alloc(0) }, signal);
    } catch (error) {
      this.#letGo(name, put.name, describe(error));
    }
  }

  #letGo(name: string, snapshot: string, cause: string): void {
    const about = { config: name, snapshot, cause };
    this.#options.log.warn("what an upload has left could not be cleared away", about);
  }
}

function latest(one: Instant, other: Instant): Instant {
  return one > other ? one : other;
}

/** What status tells: ours as it is, of everything else no more than its kind. */
function textOf(error: unknown): string {
  return error instanceof Failure || error instanceof StoreError ? error.message : describe(error);
}
