// When stored snapshots are proven: the field `drill` of a configuration. Pure: the time is handed in.

import { DAY, HOUR, MINUTE, readDuration, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { afterFailure, afterStart, lengthOf } from "../auto/schedule.ts";
import type { DrillState } from "./drill-state.ts";

/** Never, after each n-th snapshot, or every so often. */
export type DrillPlan =
  | { readonly kind: "off" }
  | { readonly kind: "snapshots"; readonly count: number }
  | { readonly kind: "interval"; readonly seconds: number };

/** A week in which nobody knows whether the backup restores is what most can live with. */
export const USUAL_PLAN: DrillPlan = { kind: "interval", seconds: 7 * 86_400 };

export const PLAN_FORMS =
  "off, a count such as 4 (after each fourth snapshot), or a time with its unit such as 7d, from 10s to 3660d";

const MAX_COUNT = 100_000;
const SHORTEST: Nanos = 10n * SECOND;
const LONGEST: Nanos = 3660n * DAY;
/** A slow store is not late yet. */
const LATE_BY: Nanos = 10n * MINUTE;

/** Null for what is none of the forms. */
export function parsePlan(text: string): DrillPlan | null {
  if (text === "off") return { kind: "off" };
  if (/^[0-9]+$/.test(text)) {
    const count = Number(text);
    return count >= 1 && count <= MAX_COUNT ? { kind: "snapshots", count } : null;
  }
  const length = readDuration(text);
  if (length === undefined || length < SHORTEST || length > LONGEST) return null;
  return length % SECOND === 0n ? { kind: "interval", seconds: Number(length / SECOND) } : null;
}

export function showPlan(plan: DrillPlan): string {
  if (plan.kind === "off") return "off";
  if (plan.kind === "snapshots") return String(plan.count);
  const length = lengthOf(plan.seconds);
  for (const [unit, name] of [
    [DAY, "d"],
    [HOUR, "h"],
    [MINUTE, "m"],
  ] as const) {
    if (length % unit === 0n) return `${length / unit}${name}`;
  }
  return `${plan.seconds}s`;
}

interface Timing {
  readonly plan: DrillPlan;
  /** Of the snapshots, in seconds. */
  readonly interval: number;
}

/** From one drill to the next, as far as can be said. */
export function lengthBetween({ plan, interval }: Timing): Nanos | null {
  if (plan.kind === "off") return null;
  if (plan.kind === "snapshots") return BigInt(plan.count) * lengthOf(interval);
  return lengthOf(Math.max(plan.seconds, interval)); // there is nothing new to prove before
}

/** The configuration was written, with another plan than before. */
export function planned(
  state: DrillState,
  plan: DrillPlan,
  { now, hasStored }: { readonly now: Instant; readonly hasStored: boolean },
): DrillState {
  const since = String(now);
  if (plan.kind === "off" || !hasStored) return { ...state, since, next: null };
  if (plan.kind === "snapshots") {
    return { ...state, since, next: state.waited >= plan.count ? since : null };
  }
  const next =
    state.lastStart === null
      ? now
      : afterStart(BigInt(state.lastStart), lengthOf(plan.seconds), now);
  return { ...state, since, next: String(next) };
}

/** A snapshot is there that was not before. The first, and one after a drill that found something wrong, is proven at
 *  once. */
export function afterSnapshot(state: DrillState, plan: DrillPlan, now: Instant): DrillState {
  const waited = state.waited + 1;
  if (plan.kind === "off") return { ...state, waited };
  const isAwaited =
    state.lastResult === "failed" ||
    (plan.kind === "snapshots" ? waited >= plan.count : state.lastStart === null);
  return { ...state, waited, next: isAwaited ? String(now) : state.next };
}

/** Null: with a snapshot. What was found wrong stays wrong: the next snapshot is looked at, or the same one when its
 *  time comes. What could not be read is tried again soon, and ever more rarely. */
export function nextAfterDrill(
  { result, failures, start, end, hasNewer }: EndedRun,
  timing: Timing,
): Instant | null {
  const { plan } = timing;
  const length = lengthBetween(timing);
  if (length === null) return null;
  if (result === "failed" && hasNewer) return end;
  if (result === "not-made") return afterFailure(failures, length, end);
  return plan.kind === "interval" ? afterStart(start, lengthOf(plan.seconds), end) : null;
}

interface EndedRun {
  readonly result: "proven" | "failed" | "not-made";
  /** In a row, this one among them. */
  readonly failures: number;
  readonly start: Instant;
  readonly end: Instant;
  /** Whether a snapshot came while it was made. */
  readonly hasNewer: boolean;
}

/** Whether no restore was proven for twice as long as it should take. */
export function isLate(state: DrillState, timing: Timing, now: Instant): boolean {
  const length = lengthBetween(timing);
  if (length === null) return false;
  return now - BigInt(state.lastProven ?? state.since) > 2n * length + LATE_BY;
}
