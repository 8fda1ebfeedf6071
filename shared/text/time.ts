// Instants as text: RFC 3339 in, UTC out, nanoseconds kept. A JavaScript Date would lose six digits,
// and clients send back the times they read, so the round trip is exact. Nothing here reads a clock.

import { timeInvalid } from "../failures.ts";
import { invariant } from "../invariant.ts";
import { withoutEndingZeros } from "./digits.ts";
import type { Instant } from "../world.ts";

const SECOND = 1_000_000_000n;
const NANOS = 1e9;
const DAY_SECONDS = 86_400;
// Days are counted in eras of 400 years (146,097 days) whose years begin in March, so that the leap
// day is the last of its year; from 0000-03-01 to 1970-01-01 are 719,468 days.
const ERA_DAYS = 146_097;
const EPOCH_SHIFT = 719_468;

const FORM =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

// Beyond four digits of year the text form ends; 0001-01-01T00:00:00Z is what other programs send
// for "no time".
const ZERO_TIME: Instant = BigInt(daysBefore(1, 1, 1) * DAY_SECONDS) * SECOND;
const END: Instant = BigInt(daysBefore(10_000, 1, 1) * DAY_SECONDS) * SECOND;

/** The one boundary of credentials, whoever asks: good up to and including the instant of their end. Null
 *  is without one. */
export function isOver(end: Instant | null, now: Instant): boolean {
  return end !== null && end < now;
}

/** Null is "not set": absent, `null`, `""` or the zero time, in whatever offset. */
export function parseTime(input: unknown): Instant | null {
  if (input === undefined || input === null || input === "") return null;
  const instant = typeof input === "string" ? read(input) : null;
  if (instant === null) {
    const message = 'a time must be RFC 3339 text such as "2026-03-01T10:00:00Z"';
    throw timeInvalid(message);
  }
  return instant === ZERO_TIME ? null : instant;
}

function read(text: string): Instant | null {
  const parts = FORM.exec(text);
  if (parts === null) return null;
  const at = (group: number) => Number(parts[group] ?? 0);
  const [year, month, day] = [at(1), at(2), at(3)];
  const [hour, minute, second] = [at(4), at(5), at(6)];
  const [offsetHour, offsetMinute] = [at(9), at(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  // A leap second (60) has no place on a clock that counts 86,400 seconds a day.
  if (hour > 23 || minute > 59 || second > 59) return null;
  if (offsetHour > 23 || offsetMinute > 59) return null;

  const offset = (offsetHour * 60 + offsetMinute) * (parts[8] === "-" ? -60 : 60);
  const seconds =
    daysBefore(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second - offset;
  const instant = BigInt(seconds) * SECOND + BigInt((parts[7] ?? "").slice(0, 9).padEnd(9, "0"));
  // Checked after the offset is applied: what is read must be possible to show.
  return instant >= ZERO_TIME && instant < END ? instant : null;
}

/** The one text of an instant, however it was written; null for "not set". */
export function canonicalTime(input: unknown): string | null {
  const instant = parseTime(input);
  return instant === null ? null : showTime(instant);
}

/** UTC with `Z`; the fraction has no trailing zeros and is absent when it is zero. */
export function showTime(instant: Instant): string {
  invariant(instant >= ZERO_TIME && instant < END, "an instant lies in the years 1 to 9999");
  let seconds = Number(instant / SECOND);
  let nanos = Number(instant % SECOND);
  if (nanos < 0) {
    seconds--;
    nanos += NANOS;
  }
  const days = Math.floor(seconds / DAY_SECONDS);
  const rest = seconds - days * DAY_SECONDS;
  const hour = Math.floor(rest / 3600);
  const minute = Math.floor(rest / 60) % 60;
  const clock = `${pad(hour, 2)}:${pad(minute, 2)}:${pad(rest % 60, 2)}`;
  const fraction = nanos === 0 ? "" : `.${withoutEndingZeros(pad(nanos, 9))}`;
  return `${dateOf(days)}T${clock}${fraction}Z`;
}

function pad(value: number, digits: number): string {
  return value.toString().padStart(digits, "0");
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days from 1970-01-01 to a date of the Gregorian calendar, for years from 0 on. */
function daysBefore(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * ERA_DAYS + yearOfEra * 365 + leapDays + dayOfYear - EPOCH_SHIFT;
}

function dateOf(days: number): string {
  const shifted = days + EPOCH_SHIFT;
  const era = Math.floor(shifted / ERA_DAYS);
  const dayOfEra = shifted - era * ERA_DAYS;
  // Takes out the leap days (every 1,460 days, save each 36,524, and the last of the era) first.
  const withoutLeap =
    dayOfEra -
    Math.floor(dayOfEra / 1_460) +
    Math.floor(dayOfEra / 36_524) -
    Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor(withoutLeap / 365);
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}
