// The rows of drills, beside those of the attempts: when the next is due, how the last ones went, and when a restore was
// last proven, which is remembered after its configuration is gone.

import { isDeepStrictEqual } from "node:util";
import type { Instant } from "@holdfast/shared/world";
import type { Tx, View } from "../../barrier/view.ts";
import type { SnapshotConfig } from "../auto/config.ts";
import type { ConfigChange, Configurations } from "../auto/configurations.ts";
import type { DrillOutcome } from "./drill.ts";
import { afterSnapshot, nextAfterDrill, planned } from "./drill-plan.ts";
import {
  drillHistoryCodec,
  type DrillState,
  drillStateCodec,
  type EndedDrill,
  freshDrillState,
  MAX_DRILLS,
  provenCodec,
} from "./drill-state.ts";

const ROWS = "drills/";
const STATE = `${ROWS}state/`;
const HISTORY = `${ROWS}history/`;
const PROVEN = `${ROWS}proven`;
const INTERRUPTED = "the server stopped, was sealed or no longer led before it had ended";

export interface DrillEnd {
  readonly start: Instant;
  readonly end: Instant;
  readonly outcome: DrillOutcome;
}

export class DrillBook {
  /** core/snapshots/auto/ */
  readonly #view: View;
  readonly #configurations: Configurations;

  constructor(view: View, configurations: Configurations) {
    this.#view = view;
    this.#configurations = configurations;
  }

  stateOf(name: string, config: SnapshotConfig): DrillState {
    return this.#view.get(STATE + name, drillStateCodec) ?? freshDrillState(config.created);
  }

  /** Newest first. */
  history(name: string): readonly EndedDrill[] {
    return this.#view.get(HISTORY + name, drillHistoryCodec) ?? [];
  }

  /** When a restore was last proven, whatever the configuration. */
  get lastProven(): Instant | null {
    const at = this.#view.get(PROVEN, provenCodec);
    return at === null ? null : BigInt(at);
  }

  watch(call: () => void): () => void {
    return this.#view.watch(ROWS, call);
  }

  /** In the transaction that writes the configuration. */
  configured(tx: Tx, name: string, change: ConfigChange & { readonly hasStored: boolean }): void {
    const { before, config, hasStored } = change;
    if (before !== null && isDeepStrictEqual(before.drill, config.drill)) return;
    this.#changeIn(tx, name, config, (state) =>
      planned(state, config.drill, { now: tx.time, hasStored }),
    );
  }

  /** In the transaction that notes a snapshot. */
  stored(tx: Tx, name: string, config: SnapshotConfig): void {
    this.#changeIn(tx, name, config, (state) => afterSnapshot(state, config.drill, tx.time));
  }

  async begin(name: string, start: Instant): Promise<void> {
    const begun = { underWay: String(start), waited: 0, next: null };
    await this.#change(name, (state) => ({ ...state, ...begun }));
  }

  async postpone(name: string, next: Instant): Promise<void> {
    await this.#change(name, (state) => ({ ...state, next: String(next) }));
  }

  /** One that was under way when the server stopped is told of, and made again. */
  async interrupted(name: string, { next, now }: Record<"next" | "now", Instant>): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      const state = tx.get(STATE + name, drillStateCodec);
      if (config === null || state?.underWay === null || state === null) return;
      const again = config.drill.kind === "off" ? null : String(next);
      const last = {
        lastStart: state.underWay,
        lastResult: "interrupted",
        lastReport: null,
      } as const;
      tx.put(STATE + name, { ...state, ...last, underWay: null, next: again }, drillStateCodec);
      this.#remember(tx, name, {
        start: state.underWay,
        end: String(now),
        result: "interrupted",
        url: "",
        size: 0,
        archive: null,
        problems: [INTERRUPTED],
        report: null,
      });
    });
  }

  /** `sign` gives the id of the report. */
  async note(
    name: string,
    ended: DrillEnd,
    sign: (tx: Tx, ended: DrillEnd) => string,
  ): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      if (config === null) return; // deleted meanwhile
      const state = tx.get(STATE + name, drillStateCodec) ?? freshDrillState(config.created);
      const { start, end, outcome } = ended;
      const { result, url, size, archive, problems } = outcome;
      const report = result === "not-made" ? null : sign(tx, ended);
      const failures = result === "proven" ? 0 : state.failures + 1;
      const timing = { plan: config.drill, interval: config.interval };
      // Snapshots that came meanwhile may have made the next one due.
      const hasNewer = state.waited > 0 && config.drill.kind !== "off";
      const next = nextAfterDrill({ result, failures, start, end, hasNewer }, timing);
      tx.put(
        STATE + name,
        {
          ...state,
          next: next === null ? state.next : String(next),
          underWay: null,
          lastStart: String(start),
          lastResult: result,
          lastReport: report,
          lastProven: result === "proven" ? String(end) : state.lastProven,
          failures,
        },
        drillStateCodec,
      );
      if (result === "proven") tx.put(PROVEN, String(end), provenCodec);
      const times = { start: String(start), end: String(end) };
      this.#remember(tx, name, { ...times, result, url, size, archive, problems, report });
    });
  }

  /** After its configuration was deleted. */
  async forget(name: string): Promise<void> {
    await this.#view.write((tx) => {
      if (this.#configurations.findIn(tx, name) !== null) return; // written anew meanwhile
      for (const key of [STATE + name, HISTORY + name]) {
        if (tx.keys(key, { limit: 1 })[0] === key) tx.delete(key);
      }
    });
  }

  #remember(tx: Tx, name: string, ended: EndedDrill): void {
    const history = tx.get(HISTORY + name, drillHistoryCodec) ?? [];
    tx.put(HISTORY + name, [ended, ...history].slice(0, MAX_DRILLS), drillHistoryCodec);
  }

  async #change(name: string, change: (state: DrillState) => DrillState): Promise<void> {
    await this.#view.write((tx) => {
      const config = this.#configurations.findIn(tx, name);
      if (config !== null) this.#changeIn(tx, name, config, change);
    });
  }

  #changeIn(
    tx: Tx,
    name: string,
    config: SnapshotConfig,
    change: (state: DrillState) => DrillState,
  ): void {
    const at = tx.on(this.#view);
    const state = at.get(STATE + name, drillStateCodec) ?? freshDrillState(config.created);
    at.put(STATE + name, change(state), drillStateCodec);
  }
}
