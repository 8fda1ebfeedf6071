// When something is rotated by itself: every so often (rotation_period), or at times of a schedule
// (rotation_schedule), where a window may say how long after such a time it may still be done. What fails
// is tried again later and later; once the window is over, only at the next time of the schedule.

import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { fieldInvalid as invalid } from "./failures.ts";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { Cron, CronFault } from "./cron.ts";
import { ProviderError } from "./provider-error.ts";

export interface RotationTerms {
  /** In seconds; 0: there is none. */
  readonly rotationPeriod: number;
  /** Fields of cron, in UTC; empty: there is none. */
  readonly rotationSchedule: string;
  /** In seconds from each time of the schedule; 0: until the next one. */
  readonly rotationWindow: number;
}

export interface RootTerms extends RotationTerms {
  readonly disableAutomatedRotation: boolean;
}

export const NO_TERMS: RootTerms = {
  rotationPeriod: 0,
  rotationSchedule: "",
  rotationWindow: 0,
  disableAutomatedRotation: false,
};

const MIN_PERIOD = 60;
const MIN_WINDOW = 3600;

type TermsChange = { readonly [K in keyof RotationTerms]?: RotationTerms[K] | undefined };

/** Whoever gives one of period and schedule gives up the other, unless that is given as well. */
export function changedTerms(before: RotationTerms, change: TermsChange): RotationTerms {
  const wanted = {
    rotationPeriod: change.rotationPeriod,
    rotationSchedule: change.rotationSchedule?.trim(),
    rotationWindow: change.rotationWindow,
  };
  const toPeriod = (wanted.rotationPeriod ?? 0) > 0;
  const toSchedule = (wanted.rotationSchedule ?? "") !== "";
  const schedule = wanted.rotationSchedule ?? (toPeriod ? "" : before.rotationSchedule);
  return {
    rotationPeriod: wanted.rotationPeriod ?? (toSchedule ? 0 : before.rotationPeriod),
    rotationSchedule: schedule,
    rotationWindow: wanted.rotationWindow ?? (schedule === "" ? 0 : before.rotationWindow),
  };
}

export function isAutomatic({ rotationPeriod, rotationSchedule }: RotationTerms): boolean {
  return rotationPeriod > 0 || rotationSchedule !== "";
}

export function sameTerms(a: RotationTerms, b: RotationTerms): boolean {
  return (
    a.rotationPeriod === b.rotationPeriod &&
    a.rotationSchedule === b.rotationSchedule &&
    a.rotationWindow === b.rotationWindow
  );
}

/** Refuses what could not be kept, and says what could. `minPeriod` in seconds. Default: a minute. */
export function checkTerms(
  terms: RotationTerms,
  now: Instant,
  { minPeriod = MIN_PERIOD }: { readonly minPeriod?: number } = {},
): void {
  const { rotationPeriod, rotationSchedule, rotationWindow } = terms;
  if (rotationPeriod > 0 && rotationSchedule !== "") {
    throw invalid("rotation_period and rotation_schedule exclude each other: give one of them");
  }
  if (rotationPeriod !== 0 && rotationPeriod < minPeriod) {
    throw invalid(`rotation_period must be 0 or at least ${minPeriod} seconds`);
  }
  if (rotationWindow !== 0 && rotationSchedule === "") {
    throw invalid("rotation_window needs rotation_schedule: with a period there is none");
  }
  if (rotationWindow !== 0 && rotationWindow < MIN_WINDOW) {
    throw invalid(`rotation_window must be 0 or at least ${MIN_WINDOW} seconds`);
  }
  if (rotationSchedule !== "" && scheduleOf(rotationSchedule).next(now) === null) {
    throw invalid("rotation_schedule: no such time ever comes");
  }
}

/** The next one after now; null: never. */
export function nextTime(terms: RotationTerms, now: Instant): Instant | null {
  const { rotationPeriod, rotationSchedule } = terms;
  if (rotationSchedule !== "") return scheduleOf(rotationSchedule).next(now);
  return rotationPeriod > 0 ? now + BigInt(rotationPeriod) * SECOND : null;
}

/** Whether it is too late for the one that was due. */
export function isMissed({ rotationWindow }: RotationTerms, due: Instant, now: Instant): boolean {
  return rotationWindow > 0 && now >= due + BigInt(rotationWindow) * SECOND;
}

/** When it is tried again: null where that would be too late, and the next time is waited for instead. */
export function retryTime(
  terms: RotationTerms,
  due: Instant,
  { now, wait }: { readonly now: Instant; readonly wait: number },
): Instant | null {
  const retryAt = now + BigInt(wait) * SECOND;
  return isMissed(terms, due, retryAt) ? null : retryAt;
}

function scheduleOf(text: string): Cron {
  try {
    return new Cron(text);
  } catch (error) {
    if (!(error instanceof CronFault)) throw error;
    throw invalid(
      `rotation_schedule: ${error.message}; accepted are five fields of cron, in UTC: minute, hour, ` +
        'day of month, month, day of week, such as "0 3 * * SUN"',
    );
  }
}

// --- of root credentials: how it stands, kept with their configuration ---

/** Times in seconds since 1970. */
export interface RotationStanding {
  /** When it is due by its terms; null: never. */
  readonly due: number | null;
  /** When it is tried again; null: nothing has failed. */
  readonly retryAt: number | null;
  readonly attempts: number;
  /** Why the last try failed; empty: it did not. */
  readonly error: string;
}

export const IDLE: RotationStanding = { due: null, retryAt: null, attempts: 0, error: "" };

const MAX_ERROR = 512; // characters
const FIRST_WAIT = 60; // seconds, doubled by every failure: whoever must mend it needs time
const LONGEST_WAIT = 3600;

/** From now on, with nothing behind it. */
export function standingAt(terms: RootTerms, now: Instant): RotationStanding {
  const due = terms.disableAutomatedRotation ? null : nextTime(terms, now);
  return { ...IDLE, due: due === null ? null : Number(due / SECOND) };
}

/** When something is done next; null: never. */
export function showNext({ due, retryAt }: RotationStanding): string | null {
  const next = retryAt ?? due;
  return next === null ? null : showTime(BigInt(next) * SECOND);
}

/** After a try that came to nothing. */
export function failedStanding(
  terms: RootTerms,
  standing: RotationStanding,
  error: unknown,
  now: Instant,
): RotationStanding {
  const attempts = standing.attempts + 1;
  const max =
    terms.rotationPeriod > 0 ? Math.min(terms.rotationPeriod, LONGEST_WAIT) : LONGEST_WAIT;
  const wait = Math.min(max, FIRST_WAIT * 2 ** Math.min(attempts, 16));
  const due = standing.due === null ? now : BigInt(standing.due) * SECOND;
  const retryAt = retryTime(terms, due, { now, wait });
  const message = messageOf(error).slice(0, MAX_ERROR);
  if (retryAt === null) return { ...standingAt(terms, now), error: message };
  return { due: standing.due, retryAt: Number(retryAt / SECOND), attempts, error: message };
}

export interface DueWork {
  readonly terms: RootTerms;
  readonly standing: RotationStanding;
  readonly now: Instant;
  /** Keeps a fresh standing with what it has made. */
  readonly rotate: () => Promise<void>;
  readonly keep: (standing: RotationStanding) => Promise<void>;
}

/** Does what is due, about once a minute. Gives why it was not done; null: it was, or was not due. */
export async function rotateWhenDue(work: DueWork): Promise<string | null> {
  const { terms, standing, now } = work;
  const next = standing.retryAt ?? standing.due;
  if (next === null || standing.due === null || BigInt(next) * SECOND > now) return null;
  const due = BigInt(standing.due) * SECOND;
  if (isMissed(terms, due, now)) {
    const error = `the window of ${showTime(due)} was over before it could be rotated`;
    await work.keep({ ...standingAt(terms, now), error });
    return error;
  }
  try {
    await work.rotate();
    return null;
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
    await work.keep(failedStanding(terms, standing, error, now));
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  return error instanceof ProviderError || error instanceof Failure
    ? error.message
    : "internal error";
}
