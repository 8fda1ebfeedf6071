// What is remembered of the attempts of each configuration: when the next is due, how the last ones went, and what an
// upload that did not end has left. It is this cluster's own.

import type { Instant, Timers } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { StoredSnapshot, Target } from "../targets/target.ts";
import type { StoredArchive } from "./attempt.ts";
import { isElsewhere, type SnapshotConfig } from "./config.ts";
import type { ConfigChange, Configurations } from "./configurations.ts";
import { afterFailure, afterStart, lengthOf } from "./schedule.ts";
import {
  type EndedAttempt,
  freshState,
  historyCodec,
  MAX_HISTORY,
  type SnapshotState,
  stateCodec,
  type StoredPut,
} from "./state.ts";
import { WrittenSnapshots } from "./written-snapshots.ts";

/** An attempt that has ended: with what is stored then, or with what kept it from success. */
export interface AttemptEnd {
  readonly start: Instant;
  readonly end: Instant;
  readonly url: string;
  readonly outcome: StoredArchive | string;
}

/** What lies at a place, as of the last snapshot that was noted then. */
interface Look {
  readonly stored: readonly StoredSnapshot[];
  readonly target: Pick<Target, "urlOf">;
  readonly lastUrl: string;
}

const STATE = "state/";
const HISTORY = "history/";
/** Of a place that nothing was written to, as far as one knows before the next look. */
const NOTHING_THERE = { storedCount: 0, storedBytes: 0, takenBytes: 0 };

export class AttemptBook {
  /** core/snapshots/auto/ */
  readonly #view: View;
  readonly #configurations: Configurations;
  readonly written: WrittenSnapshots;

  constructor(view: View, configurations: Configurations, timers: Pick<Timers, "turn">) {
    this.#view = view;
    this.#configurations = configurations;
    this.written = new WrittenSnapshots(view, timers);
  }

  stateOf(name: string, config: SnapshotConfig): SnapshotState {
    return this.#view.get(STATE + name, stateCodec) ?? firstState(config);
  }

  /** Newest first. */
  history(name: string): readonly EndedAttempt[] {
    return this.#view.get(HISTORY + name, historyCodec) ?? [];
  }

  /** What was written there, as far as that is remembered. */
  writtenAt(name: string, url: string): { readonly size: number; readonly sha256: string } | null {
    return this.history(name).find((one) => one.error === "" && one.url === url) ?? null;
  }

  watch(call: () => void): () => void {
    return this.#view.watch(STATE, call);
  }

  /** In the transaction that writes the configuration. */
  configured(tx: Tx, name: string, { before, config }: ConfigChange): SnapshotState {
    const at = tx.on(this.#view);
    const next = scheduled(at.get(STATE + name, stateCodec), before, config, tx);
    const isMoved = before !== null && isElsewhere(before.settings, config.settings);
    const state = isMoved ? { ...next, ...NOTHING_THERE } : next;
    at.put(STATE + name, state, stateCodec);
    return state;
  }

  async change(name: string, change: (state: SnapshotState) => SnapshotState): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      if (config === null) return; // deleted meanwhile
      const state = tx.get(STATE + name, stateCodec) ?? firstState(config);
      tx.put(STATE + name, change(state), stateCodec);
    });
  }

  /** What was put is there, by the configuration as it was when that began. */
  async keep(
    name: string,
    { created }: SnapshotConfig,
    { put, url }: { readonly put: StoredPut; readonly url: string },
  ): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      if (config?.created !== created) return; // deleted meanwhile
      const state = tx.get(STATE + name, stateCodec) ?? firstState(config);
      tx.put(STATE + name, { ...state, begun: null }, stateCodec);
      const { name: file, size, sha256 } = put;
      this.written.add(tx, name, config, { name: file, url, size, sha256 });
    });
  }

  /** `stored` is called in the same transaction where the attempt has succeeded. */
  async note(
    name: string,
    ended: AttemptEnd,
    stored: (tx: Tx, config: SnapshotConfig) => void,
  ): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      if (config === null) return; // deleted meanwhile
      const state = tx.get(STATE + name, stateCodec) ?? firstState(config);
      tx.put(STATE + name, after(state, config, ended), stateCodec);
      const history = tx.get(HISTORY + name, historyCodec) ?? [];
      const attempts = [entryOf(ended), ...history].slice(0, MAX_HISTORY);
      tx.put(HISTORY + name, attempts, historyCodec);
      if (typeof ended.outcome !== "string") stored(tx, config);
    });
  }

  /** Counts what it has written of what is there now, unless a newer one has come since that was looked at. */
  async recount(
    name: string,
    config: SnapshotConfig,
    { stored, target, lastUrl }: Look,
  ): Promise<void> {
    const sizes = new Map(stored.map((one) => [target.urlOf(one.name), one.size]));
    const own = (await this.written.of(name, config)).filter(
      ({ url, size }) => sizes.get(url) === size,
    );
    const counted = {
      storedCount: own.length,
      storedBytes: own.reduce((sum, { size }) => sum + size, 0),
      takenBytes: stored.reduce((sum, { size }) => sum + size, 0),
    };
    await this.change(name, (state) =>
      state.lastUrl === lastUrl && !state.underWay ? { ...state, ...counted } : state,
    );
  }

  /** After its configuration was deleted. */
  async forget(name: string): Promise<void> {
    await this.#view.write((tx) => {
      if (this.#configurations.findIn(tx, name) !== null) return; // written anew meanwhile
      for (const key of [STATE + name, HISTORY + name]) {
        if (tx.keys(key, { limit: 1 })[0] === key) tx.delete(key);
      }
    });
    if (this.#configurations.find(name) === null) await this.written.forget(name);
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
  const next = afterStart(from, interval, time);
  // What has failed is tried again when that was to be, or sooner.
  const isRetried = state.consecutiveErrors > 0 && BigInt(state.next) < next;
  return isRetried ? state : { ...state, next: String(next) };
}

function after(
  state: SnapshotState,
  config: SnapshotConfig,
  { start, end, url, outcome }: AttemptEnd,
): SnapshotState {
  const interval = lengthOf(config.interval);
  const common = {
    ...state,
    underWay: false,
    lastStart: String(start),
    lastEnd: String(end),
    url,
  };
  if (typeof outcome === "string") {
    const errors = state.consecutiveErrors + 1;
    const next = String(afterFailure(errors, interval, end));
    return { ...common, lastError: outcome, consecutiveErrors: errors, next };
  }
  return {
    ...common,
    lastError: "",
    lastUrl: url,
    lastSize: outcome.size,
    lastSha256: outcome.sha256,
    lastIndex: outcome.index,
    lastSuccess: String(end),
    rotationError: outcome.rotationError,
    storedCount: outcome.stored.length,
    storedBytes: outcome.stored.reduce((sum, { size }) => sum + size, 0),
    takenBytes: outcome.takenBytes,
    begun: null,
    consecutiveErrors: 0,
    next: String(afterStart(start, interval, end)),
  };
}

function entryOf({ start, end, url, outcome }: AttemptEnd): EndedAttempt {
  const common = { start: String(start), end: String(end), url };
  if (typeof outcome === "string") {
    return { ...common, size: 0, sha256: "", index: 0, error: outcome, rotationError: "" };
  }
  const { size, sha256, index, rotationError } = outcome;
  return { ...common, size, sha256, index, error: "", rotationError };
}
