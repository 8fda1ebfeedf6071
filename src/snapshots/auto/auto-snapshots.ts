// Automated snapshots: what operators write, what is told of it, and the attempts while this node is the active one.
// Configurations are data of the cluster and its disaster-recovery replicas; what is told of attempts is this cluster's.

import { describe, Failure } from "@holdfast/shared/failure";
import { fromHex } from "@holdfast/shared/bytes";
import type { Log } from "@holdfast/shared/log";
import { pause } from "@holdfast/shared/pause";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Random, Timer, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { Job } from "../../house/room.ts";
import { openTarget, type TargetNeeds } from "../targets/open-target.ts";
import { StoreError } from "../targets/store-error.ts";
import type { TargetSettings } from "../targets/settings.ts";
import { nameAt, type Target } from "../targets/target.ts";
import { attempt, type Phase, type SpooledArchive, type StoredArchive } from "./attempt.ts";
import {
  checkName,
  type ConfigInput,
  meet,
  merged,
  samePlace,
  type SnapshotConfig,
} from "./config.ts";
import * as failures from "./failures.ts";
import { afterFailure, afterStart, lengthOf, overdue } from "./schedule.ts";
import {
  configCodec,
  type EndedAttempt,
  freshState,
  historyCodec,
  MAX_HISTORY,
  type SnapshotState,
  stateCodec,
} from "./state.ts";

export interface AutoOptions {
  /** local/snapshots/configs/ */
  readonly configs: View;
  /** core/snapshots/auto/ */
  readonly states: View;
  readonly targets: TargetNeeds;
  readonly make: (signal: AbortSignal) => Promise<SpooledArchive>;
  /** Counts and tells how an attempt goes. */
  readonly measured: <T extends { readonly bytes: number; readonly index: number }>(
    about: Readonly<Record<string, string>>,
    run: () => Promise<T>,
  ) => Promise<T>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export interface WriteRequest {
  readonly input: ConfigInput;
  /** Whether a test is written. Default: where the place is new. */
  readonly verify: boolean | undefined;
  readonly signal: AbortSignal;
  /** For the log. */
  readonly accessor: string;
  readonly confirmExists: (exists: boolean) => void;
}

export interface SnapshotStatus extends SnapshotState {
  readonly state: Phase | "waiting" | "disabled";
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

interface Run {
  phase: Phase;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

const MAX_CONFIGS = 32;
const MAX_RUNS = 2;
/** The wall clock may jump: no wait is longer. */
const LONGEST_WAIT: Nanos = MINUTE;
const WAITED_FOR: Nanos = 60n * SECOND;
/** A slow store is not late yet. */
const LATE_BY: Nanos = 10n * MINUTE;
const STATE = "state/";
const HISTORY = "history/";

export class AutoSnapshots {
  readonly #options: AutoOptions;
  readonly #runs = new Map<string, Run>();
  #timer: Timer | null = null;
  #leading = false;
  #resting = new AbortController(); // whoever waits for a run is answered
  #takingUp: Promise<void> | null = null;
  #known: readonly Known[] | null = null;
  #unwatch: readonly (() => void)[] = [];

  constructor(options: AutoOptions) {
    this.#options = options;
  }

  /** Attempts are made while this node is the active one. */
  get job(): Job {
    return {
      name: "automated snapshots",
      when: "while-active",
      work: {
        open: () => {
          this.#leading = true;
          this.#resting = new AbortController();
          this.#takingUp = this.#lead();
        },
        close: () => this.#rest(),
      },
    };
  }

  /** Whoever waits for a run is answered: it goes on without them. */
  interrupt(): void {
    this.#resting.abort();
  }

  // --- what operators ask ---

  names(): string[] {
    return this.#options.configs.keys("", { limit: MAX_CONFIGS + 1 });
  }

  has(name: string): boolean {
    return this.#find(name) !== null;
  }

  read(name: string): SnapshotConfig {
    const found = this.#find(name);
    if (found === null) throw failures.configUnknown();
    return found;
  }

  /** Gives warnings. */
  async write(name: string, request: WriteRequest): Promise<readonly string[]> {
    checkName(name);
    const { input, verify, signal, accessor } = request;
    const { configs, states, clock, log } = this.#options;
    const before = this.#find(name);
    const { config, warnings } = merged(before, input, clock.now());
    this.#checkAlone(name, config.settings, (key) => this.#find(key), this.names());
    const isNew = before === null || !samePlace(before.settings, config.settings);
    const host = await this.#checkPlace(config.settings, verify ?? isNew, signal);
    await configs.write((tx) => {
      const stored = tx.get(name, configCodec);
      request.confirmExists(stored !== null);
      const others = tx.keys("", { limit: MAX_CONFIGS + 1 });
      if (stored === null && others.length >= MAX_CONFIGS)
        throw failures.tooManyConfigs(MAX_CONFIGS);
      // As it is by now: somebody else may have been faster.
      const { config: last } = merged(stored, input, tx.time);
      this.#checkAlone(name, last.settings, (key) => tx.get(key, configCodec), others);
      tx.put(name, last, configCodec);
      const at = tx.on(states);
      const state = at.get(STATE + name, stateCodec);
      at.put(STATE + name, scheduled(state, stored, last, tx), stateCodec);
    });
    if (isNew) {
      const about = { event: "snapshot.configured", config: name, host, accessor };
      log.info("snapshots go to another place from now on", about);
    }
    this.#arm();
    return warnings;
  }

  /** What it has stored stays. */
  async remove(name: string, signal: AbortSignal): Promise<void> {
    const { configs, states } = this.#options;
    const config = this.#find(name);
    if (config === null) return;
    await configs.write((tx) => {
      if (tx.get(name, configCodec) !== null) tx.delete(name);
    });
    const run = this.#runs.get(name);
    run?.stop.abort();
    await run?.done;
    await this.#clearAway(name, config, signal);
    await states.write((tx) => {
      if (tx.on(configs).get(name, configCodec) !== null) return; // written anew meanwhile
      for (const key of [STATE + name, HISTORY + name]) {
        if (tx.keys(key, { limit: 1 })[0] === key) tx.delete(key);
      }
    });
    this.#arm();
  }

  status(name: string): SnapshotStatus {
    const config = this.read(name);
    const state = this.#stateOf(name, config);
    const phase = this.#runs.get(name)?.phase;
    return { ...state, state: phase ?? (this.#leading ? "waiting" : "disabled") };
  }

  /** Newest first. */
  history(name: string): readonly EndedAttempt[] {
    this.read(name);
    return this.#options.states.get(HISTORY + name, historyCodec) ?? [];
  }

  /** Now, or the one that is under way. True when it has ended; throws what kept it from success. False when it
   *  takes longer than is waited for: it goes on. */
  async run(name: string, signal: AbortSignal): Promise<boolean> {
    const config = this.read(name);
    if (!this.#runs.has(name) && this.#runs.size >= MAX_RUNS) throw failures.runBusy(MAX_RUNS);
    const run = this.#runs.get(name) ?? this.#start(name, config);
    const waiting = new AbortController();
    const over = AbortSignal.any([waiting.signal, this.#resting.signal, signal]);
    const waited = pause(this.#options.timers, WAITED_FOR, over).then(() => false);
    const ended = await Promise.race([run.done.then(() => true), waited]);
    waiting.abort();
    if (!ended) return false;
    const { lastError } = this.#stateOf(name, config);
    if (lastError !== "") throw failures.runFailed(lastError);
    return true;
  }

  /** From opening on what is asked again and again is kept in memory until something changes. */
  open(): void {
    const { configs, states } = this.#options;
    const forget = () => void (this.#known = null);
    this.#unwatch = [configs.watch("", forget), states.watch(STATE, forget)];
  }

  close(): void {
    for (const stop of this.#unwatch) stop();
    this.#unwatch = [];
    this.#known = null;
  }

  /** How many configurations there are, and those of which no snapshot came for two intervals. */
  get lateness(): { readonly configured: number; readonly late: readonly string[] } {
    const now = this.#options.clock.now();
    const known = this.#all();
    const late = known.filter(({ config, state }) => {
      const last = BigInt(state.lastSuccess ?? config.created);
      return now - last > 2n * lengthOf(config.interval) + LATE_BY;
    });
    return { configured: known.length, late: late.map(({ name }) => name) };
  }

  #all(): readonly Known[] {
    this.#known ??= this.names().flatMap((name) => {
      const config = this.#find(name);
      return config === null ? [] : [{ name, config, state: this.#stateOf(name, config) }];
    });
    return this.#known;
  }

  /** What a scrape reads: remembered over restarts. */
  get reading(): AutoReading {
    const known = this.#all();
    const successes = known.flatMap(({ state: { lastSuccess } }) =>
      lastSuccess === null ? [] : [Number(lastSuccess) / 1e9],
    );
    const ratios = known.flatMap(({ config: { settings }, state }) =>
      settings.storageType === "local" ? [state.storedBytes / settings.maxSpace] : [],
    );
    return {
      lastSuccess: successes.length === 0 ? null : Math.max(...successes),
      failing: known.filter(({ state }) => state.consecutiveErrors > 0).length,
      spaceUsed: ratios.length === 0 ? null : Math.max(...ratios),
    };
  }

  // --- time ---

  async #lead(): Promise<void> {
    try {
      await this.#takeUp();
    } catch (error) {
      this.#options.log.error("could not take up the schedule of snapshots", {
        cause: describe(error),
      });
    }
    this.#arm();
  }

  async #rest(): Promise<void> {
    this.#leading = false;
    await this.#takingUp;
    this.#timer?.cancel();
    this.#timer = null;
    const runs = [...this.#runs.values()];
    for (const { stop } of runs) stop.abort();
    await Promise.all(runs.map(({ done }) => done));
  }

  /** What should have started while nobody led, or was cut, starts soon. */
  async #takeUp(): Promise<void> {
    const { states, clock, random } = this.#options;
    const now = clock.now();
    for (const name of this.names()) {
      const config = this.#find(name);
      if (config === null || !this.#leading) continue;
      const state = this.#stateOf(name, config);
      if (!state.underWay && BigInt(state.next) > now) continue;
      const next = String(overdue(lengthOf(config.interval), now, random));
      await states.write((tx) => {
        const last = tx.get(STATE + name, stateCodec) ?? state;
        tx.put(STATE + name, { ...last, next, underWay: false }, stateCodec);
      });
    }
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#leading) return;
    const now = this.#options.clock.now();
    const waits = this.#waiting().map(({ next }) => (next > now ? next - now : 0n));
    if (waits.length === 0 || this.#runs.size >= MAX_RUNS) return; // the end of a run arms it again
    const soonest = waits.reduce((one, other) => (one < other ? one : other), LONGEST_WAIT);
    this.#timer = this.#options.timers.after(soonest, () => this.#tick());
  }

  #tick(): void {
    this.#timer = null;
    const now = this.#options.clock.now();
    for (const { name, config, next } of this.#waiting()) {
      if (next <= now && this.#runs.size < MAX_RUNS) this.#start(name, config);
    }
    this.#arm();
  }

  /** Longest due first. */
  #waiting() {
    return this.names()
      .filter((name) => !this.#runs.has(name))
      .flatMap((name) => {
        const config = this.#find(name);
        if (config === null) return [];
        return [{ name, config, next: BigInt(this.#stateOf(name, config).next) }];
      })
      .sort((one, other) => (one.next < other.next ? -1 : one.next > other.next ? 1 : 0));
  }

  // --- an attempt ---

  #start(name: string, config: SnapshotConfig): Run {
    const stop = new AbortController();
    const done = Promise.resolve()
      .then(() => this.#attempt(name, config, run))
      .catch((error: unknown) => {
        const about = { config: name, cause: describe(error) };
        this.#options.log.error("could not note how a snapshot went", about);
      })
      .finally(() => {
        this.#runs.delete(name);
        this.#arm();
      });
    const run: Run = { phase: "running", stop, done };
    this.#runs.set(name, run);
    return run;
  }

  async #attempt(name: string, config: SnapshotConfig, run: Run): Promise<void> {
    const { clock } = this.#options;
    const { signal } = run.stop;
    const before = this.#stateOf(name, config);
    const now = clock.now();
    const last = BigInt(before.start ?? 0);
    const start = now > last ? now : last + 1n; // names are in the order of the attempts
    let url = "";
    let outcome: StoredArchive | string;
    try {
      const { filePrefix } = config.settings;
      const target = await this.#open(config.settings);
      const file = nameAt(filePrefix, start);
      url = target.urlOf(file);
      await this.#change(name, (state) => ({
        ...state,
        underWay: true,
        start: String(start),
        url,
      }));
      outcome = await this.#measured(name, url, async () =>
        attempt({
          name: file,
          target,
          retain: config.retain,
          estimate: before.lastSize,
          leftOver: before.begun,
          signal,
          make: this.#options.make,
          enter: (phase) => (run.phase = phase),
          letGo: (left, cause) => this.#letGo(name, left, cause),
          remember: (begun) => this.#change(name, (state) => ({ ...state, begun })),
        }),
      );
    } catch (error) {
      if (signal.aborted) return; // it goes on, or is forgotten, with whoever stopped it
      outcome = textOf(error);
    }
    await this.#note(name, config, { start, url, outcome });
  }

  async #measured(
    name: string,
    url: string,
    run: () => Promise<StoredArchive>,
  ): Promise<StoredArchive> {
    const { measured, log } = this.#options;
    const about = { config: name, url };
    const stored = await measured(about, async () => {
      const result = await run();
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

  async #note(
    name: string,
    config: SnapshotConfig,
    ended: {
      readonly start: bigint;
      readonly url: string;
      readonly outcome: StoredArchive | string;
    },
  ): Promise<void> {
    const { configs, states, clock } = this.#options;
    const { start, url, outcome } = ended;
    const end = clock.now();
    await states.write((tx) => {
      const known = tx.on(configs).get(name, configCodec);
      const state = tx.get(STATE + name, stateCodec);
      if (known === null || state === null) return; // deleted meanwhile
      const interval = lengthOf(known.interval);
      const common = {
        ...state,
        underWay: false,
        lastStart: String(start),
        lastEnd: String(end),
        url,
      };
      const failed = typeof outcome === "string";
      const errors = failed ? state.consecutiveErrors + 1 : 0;
      const next = failed ? afterFailure(errors, interval, end) : afterStart(start, interval, end);
      const result = failed
        ? { lastError: outcome }
        : {
            lastError: "",
            lastUrl: url,
            lastSize: outcome.size,
            lastSha256: outcome.sha256,
            lastIndex: outcome.index,
            lastSuccess: String(end),
            rotationError: outcome.rotationError,
            storedCount: outcome.stored.length,
            storedBytes: outcome.stored.reduce((sum, { size }) => sum + size, 0),
            begun: null,
          };
      const changed = { ...common, ...result, consecutiveErrors: errors, next: String(next) };
      tx.put(STATE + name, changed, stateCodec);
      const history = tx.get(HISTORY + name, historyCodec) ?? [];
      const attempts = [entryOf(ended, end), ...history].slice(0, MAX_HISTORY);
      tx.put(HISTORY + name, attempts, historyCodec);
    });
  }

  /** After its configuration was deleted: what an upload has left, as far as that can still be had. */
  async #clearAway(name: string, config: SnapshotConfig, signal: AbortSignal): Promise<void> {
    const { states } = this.#options;
    const put = states.get(STATE + name, stateCodec)?.begun ?? null;
    if (put === null) return;
    try {
      const target = await this.#open(config.settings);
      await target.settle({ ...put, sha256: fromHex(put.sha256) ?? Buffer.alloc(0) }, signal);
    } catch (error) {
      this.#letGo(name, put.name, describe(error));
    }
  }

  #letGo(name: string, snapshot: string, cause: string): void {
    const about = { config: name, snapshot, cause };
    this.#options.log.warn("what an upload has left could not be cleared away", about);
  }

  async #change(name: string, change: (state: SnapshotState) => SnapshotState): Promise<void> {
    const { configs, states } = this.#options;
    await states.write((tx) => {
      const config = tx.on(configs).get(name, configCodec);
      if (config === null) return; // deleted meanwhile
      const state = tx.get(STATE + name, stateCodec) ?? firstState(config);
      tx.put(STATE + name, change(state), stateCodec);
    });
  }

  // --- places ---

  #open(settings: TargetSettings): Promise<Target> {
    return openTarget(settings, this.#options.targets);
  }

  /** Gives the host for the log. */
  async #checkPlace(
    settings: TargetSettings,
    verify: boolean,
    signal: AbortSignal,
  ): Promise<string> {
    try {
      const target = await this.#open(settings);
      if (verify) await target.probe(signal);
      else if (settings.storageType === "local") await target.list(signal);
      return new URL(target.urlOf("x")).host;
    } catch (error) {
      if (!verify && error instanceof StoreError) return "";
      throw failures.probeFailure(error);
    }
  }

  #checkAlone(
    name: string,
    settings: TargetSettings,
    find: (name: string) => SnapshotConfig | null,
    names: readonly string[],
  ): void {
    for (const other of names) {
      const found = other === name ? null : find(other);
      if (found !== null && meet(found.settings, settings)) throw failures.placeTaken(other);
    }
  }

  #find(name: string): SnapshotConfig | null {
    return this.#options.configs.get(name, configCodec);
  }

  #stateOf(name: string, config: SnapshotConfig): SnapshotState {
    return this.#options.states.get(STATE + name, stateCodec) ?? firstState(config);
  }
}

/** Of a configuration of which nothing is known here yet, as after it has come from another cluster. */
function firstState({ created, interval }: SnapshotConfig): SnapshotState {
  return freshState(BigInt(created) + lengthOf(interval));
}

function scheduled(
  state: SnapshotState | null,
  before: SnapshotConfig | null,
  config: SnapshotConfig,
  { time }: Pick<Tx, "time">,
): SnapshotState {
  const interval = lengthOf(config.interval);
  if (state === null || before === null) return freshState(time + interval);
  if (before.interval === config.interval) return state;
  const from = BigInt(state.start ?? config.created);
  return { ...state, next: String(afterStart(from, interval, time)) };
}

function entryOf(
  {
    start,
    url,
    outcome,
  }: {
    readonly start: bigint;
    readonly url: string;
    readonly outcome: StoredArchive | string;
  },
  end: bigint,
): EndedAttempt {
  const common = { start: String(start), end: String(end), url };
  if (typeof outcome === "string") {
    return { ...common, size: 0, sha256: "", index: 0, error: outcome, rotationError: "" };
  }
  const { size, sha256, index, rotationError } = outcome;
  return { ...common, size, sha256, index, error: "", rotationError };
}

/** What status tells: ours as it is, of everything else no more than its kind. */
function textOf(error: unknown): string {
  return error instanceof Failure || error instanceof StoreError ? error.message : describe(error);
}
