// Drills: the server reads its own backups back and proves that they restore, by the plan of each configuration or when
// somebody asks. One at a time, while this node is the active one, and each that found something out is signed for.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Random, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { DrillReading } from "../../house/readings.ts";
import type { Job } from "../../house/room.ts";
import type { OwnKeys } from "../archive/opening.ts";
import type { AttemptBook } from "../auto/attempt-book.ts";
import type { SnapshotConfig } from "../auto/config.ts";
import type { ConfigChange, Configurations, NoteHost } from "../auto/configurations.ts";
import { DueRuns, type Run } from "../auto/due-runs.ts";
import { lengthOf, overdue } from "../auto/schedule.ts";
import type { SnapshotState } from "../auto/state.ts";
import { isOurName } from "../targets/target.ts";
import { drill, type DrillOutcome, type DrillProgress, type LastWritten } from "./drill.ts";
import { DrillBook, type DrillEnd } from "./drill-book.ts";
import { isLate, lengthBetween } from "./drill-plan.ts";
import { drillReport, type DrillReport } from "./drill-report.ts";
import type { DrillState, EndedDrill } from "./drill-state.ts";
import * as failures from "./failures.ts";

export interface DrillsOptions {
  readonly configurations: Configurations;
  readonly attempts: AttemptBook;
  /** core/snapshots/auto/ */
  readonly states: View;
  readonly own: () => OwnKeys;
  /** Gives the id of the report. */
  readonly sign: (tx: Tx, report: DrillReport) => string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export interface DrillStatus extends DrillState {
  readonly config: SnapshotConfig;
  readonly state: "waiting" | "running" | "disabled";
  /** How far the one is that runs; null before its first byte. */
  readonly progress: DrillProgress | null;
  /** Newest first. */
  readonly drills: readonly EndedDrill[];
}

/** Configurations whose drills need somebody. */
export interface DrillFacts {
  readonly late: readonly string[];
  readonly failed: readonly { readonly name: string; readonly report: string | null }[];
}

interface Known {
  readonly name: string;
  readonly config: SnapshotConfig;
  readonly state: DrillState;
}

interface Remembered {
  readonly all: readonly Known[];
  readonly lastProven: Instant | null;
}

const MAX_RUNS = 1;
const NANOS = 1e9;

export class Drills {
  readonly #options: DrillsOptions;
  readonly #book: DrillBook;
  readonly #runs: DueRuns<DrillProgress | null, DrillOutcome | null>;
  readonly #counts = { proven: 0, failed: 0, "not-made": 0 };
  #lastSeconds: number | null = null;
  #remembered: Remembered | null = null;
  #unwatch: readonly (() => void)[] = [];

  constructor(options: DrillsOptions) {
    const { configurations, states, clock, timers, log } = options;
    this.#options = options;
    this.#book = new DrillBook(states, configurations);
    this.#runs = new DueRuns<DrillProgress | null, DrillOutcome | null>({
      what: { one: "a drill", many: "drills" },
      first: null,
      max: MAX_RUNS,
      due: () => this.#due(),
      run: (name, run) => this.#drill(name, run),
      takeUp: (isLeading) => this.#takeUp(isLeading),
      clock,
      timers,
      log,
    });
  }

  get job(): Job {
    return { name: "drills of snapshots", when: "while-active", work: this.#runs };
  }

  /** Whoever waits for a drill is answered: it goes on without them. */
  interrupt(): void {
    this.#runs.interrupt();
  }

  // --- what snapshots tell ---

  /** In the transaction that writes a configuration. */
  configured(tx: Tx, name: string, change: ConfigChange & { readonly hasStored: boolean }): void {
    this.#book.configured(tx, name, change);
  }

  /** In the transaction that notes a snapshot. */
  stored(tx: Tx, name: string, config: SnapshotConfig): void {
    this.#book.stored(tx, name, config);
  }

  stateOf(name: string, config: SnapshotConfig): DrillState {
    return this.#book.stateOf(name, config);
  }

  /** After one of them. */
  arm(): void {
    this.#runs.arm();
  }

  /** After a configuration was deleted: when it resolves, nothing is left of its drills but what was signed. */
  async removed(name: string): Promise<void> {
    await this.#runs.stop(name);
    await this.#book.forget(name);
  }

  // --- what operators ask ---

  status(name: string): DrillStatus {
    const config = this.#options.configurations.read(name);
    const progress = this.#runs.phaseOf(name);
    const idle = this.#runs.isLeading ? "waiting" : "disabled";
    return {
      ...this.#book.stateOf(name, config),
      config,
      state: progress === undefined ? idle : "running",
      progress: progress ?? null,
      drills: this.#book.history(name),
    };
  }

  /** Now, or the one that is under way. True when it has ended, whatever was found; throws where nothing could be.
   *  False when it takes longer than is waited for, or is made again by whoever leads next: it goes on. */
  async run(name: string, signal: AbortSignal, noteHost: NoteHost): Promise<boolean> {
    await this.#options.configurations.noteHostOf(name, noteHost);
    if (!this.#runs.hasRoomFor(name)) throw failures.drillBusy();
    const ended = await this.#runs.join(name, signal);
    if (ended === null || ended.outcome === null) return false;
    const { result, problems } = ended.outcome;
    if (result === "not-made") throw failures.drillNotMade(problems.join("; "));
    return true;
  }

  // --- what is asked again and again ---

  /** From opening on it is kept in memory until something changes. */
  open(): void {
    const forget = () => void (this.#remembered = null);
    this.#unwatch = [this.#options.configurations.view.watch("", forget), this.#book.watch(forget)];
  }

  close(): void {
    for (const stop of this.#unwatch) stop();
    this.#unwatch = [];
    this.#remembered = null;
  }

  /** When a restore was last proven; null before the first time. */
  get lastProven(): Instant | null {
    return this.#known().lastProven;
  }

  get facts(): DrillFacts {
    const now = this.#options.clock.now();
    const { all } = this.#known();
    const late = all.filter(({ config, state }) => isLate(state, timingOf(config), now));
    const failed = all.filter(({ state }) => state.lastResult === "failed");
    return {
      late: late.map(({ name }) => name),
      failed: failed.map(({ name, state }) => ({ name, report: state.lastReport })),
    };
  }

  /** What a scrape reads. */
  get reading(): DrillReading {
    const { all, lastProven } = this.#known();
    const failing = all.filter(({ state }) => state.failures > 0);
    return {
      lastProven: lastProven === null ? null : Number(lastProven) / NANOS,
      failing: failing.length,
      seconds: this.#lastSeconds,
      counts: Object.entries(this.#counts).map(([result, count]) => ({ result, count })),
    };
  }

  #known(): Remembered {
    this.#remembered ??= { all: this.#read(), lastProven: this.#book.lastProven };
    return this.#remembered;
  }

  #read(): readonly Known[] {
    const { configurations } = this.#options;
    return configurations.names().flatMap((name) => {
      const config = configurations.find(name);
      return config === null ? [] : [{ name, config, state: this.#book.stateOf(name, config) }];
    });
  }

  // --- drills ---

  #due() {
    return this.#read().flatMap(({ name, state: { next } }) =>
      next === null ? [] : [{ name, next: BigInt(next) }],
    );
  }

  /** What should have started while nobody led, or was cut, starts soon. */
  async #takeUp(isLeading: () => boolean): Promise<void> {
    const { clock, random } = this.#options;
    const now = clock.now();
    for (const { name, config, state } of this.#read()) {
      if (!isLeading()) return;
      const length = lengthBetween(timingOf(config)) ?? lengthOf(config.interval);
      const next = overdue(length, now, random);
      if (state.underWay !== null) await this.#book.interrupted(name, { next, now });
      else if (state.next !== null && BigInt(state.next) <= now) {
        await this.#book.postpone(name, next);
      }
    }
  }

  /** Null where it was stopped before its end. */
  async #drill(name: string, run: Run<DrillProgress | null>): Promise<DrillOutcome | null> {
    const { configurations, attempts, own, clock, timers, log } = this.#options;
    const config = configurations.find(name);
    if (config === null) return null; // deleted meanwhile
    const { signal } = run;
    const start = clock.now();
    const began = clock.elapsed();
    await this.#book.begin(name, start);
    log.info("a drill begins", { event: "drill.started", config: name });
    let outcome: DrillOutcome;
    let count: () => Promise<void> = () => Promise.resolve();
    try {
      outcome = await drill({
        openTarget: () => configurations.openTarget(config),
        own: own(),
        last: () => lastWritten(attempts.stateOf(name, config), config),
        storedAt: (url) => attempts.writtenAt(name, url),
        listed: (stored, target) => {
          const { lastUrl } = attempts.stateOf(name, config);
          count = () => attempts.recount(name, config, { stored, target, lastUrl });
        },
        clock,
        timers,
        signal,
        progress: (progress) => (run.phase = progress),
      });
    } catch (error) {
      if (signal.aborted) return null; // it is made again, or forgotten, with whoever stopped it
      throw error;
    }
    const seconds = Number(clock.elapsed() - began) / NANOS;
    const ended: DrillEnd = { start, end: clock.now(), outcome };
    await this.#book.note(name, ended, (tx) =>
      this.#options.sign(tx, drillReport(name, config, ended)),
    );
    await count();
    this.#tell(name, outcome, seconds);
    return outcome;
  }

  #tell(name: string, { result, url, problems, archive }: DrillOutcome, seconds: number): void {
    this.#counts[result]++;
    this.#lastSeconds = seconds;
    const { log } = this.#options;
    const ms = Math.round(seconds * 1000);
    const about = { event: `drill.${result}`, config: name, url, ms };
    if (result === "proven") {
      log.info("a snapshot was proven to restore", { ...about, entries: archive?.opened ?? 0 });
    } else if (result === "failed") {
      // Entries that do not open are named in the report alone.
      log.error("a snapshot does not restore", { ...about, problems: problems.length });
    } else {
      log.warn("a snapshot could not be read back", { ...about, cause: problems.join("; ") });
    }
  }
}

/** One with another prefix is not looked for: what is listed are names of this one. */
function lastWritten({ lastUrl, url }: SnapshotState, config: SnapshotConfig): LastWritten {
  const name = lastUrl.slice(lastUrl.lastIndexOf("/") + 1);
  const listed = isOurName(config.settings.filePrefix, name);
  return { url: listed ? lastUrl : "", begun: url };
}

function timingOf({ drill: plan, interval }: SnapshotConfig) {
  return { plan, interval };
}
