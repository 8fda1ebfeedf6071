// The parts of an instant on the wall clock of some place, whatever the zone of the server. A formatter is
// made once per zone.

import { Problem } from "../running/meter.ts";

export interface WallClock {
  readonly year: number;
  /** From 0. */
  readonly month: number;
  /** From 1. */
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Sunday is 0. */
  readonly weekday: number;
  /** From 0. */
  readonly dayOfYear: number;
}

const OFFSET = /^([+-]?)(\d\d):(\d\d)$/;
// Some 600 zones exist, but names differ in case too; beyond this many the oldest goes.
const MAX_ZONES = 64;
const DAY = 86_400;

export class Zones {
  readonly #zones = new Map<string, Zone>();

  /** `seconds` since 1970; an empty name is UTC. */
  read(seconds: number, name: string): WallClock {
    if (name === "" || name === "UTC") return wallClock(seconds);
    const offset = OFFSET.exec(name);
    if (offset !== null) return wallClock(seconds + offsetOf(offset));
    return this.#zone(name).read(seconds);
  }

  #zone(name: string): Zone {
    const known = this.#zones.get(name);
    if (known !== undefined) return known;
    const zone = new Zone(name);
    const [oldest] = this.#zones.keys();
    if (this.#zones.size >= MAX_ZONES && oldest !== undefined) this.#zones.delete(oldest);
    this.#zones.set(name, zone);
    return zone;
  }
}

export function isZone(name: string): boolean {
  if (name === "" || OFFSET.test(name)) return true;
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

function offsetOf([, sign = "", hours = "", minutes = ""]: RegExpExecArray): number {
  return (Number(hours) * 3600 + Number(minutes) * 60) * (sign === "-" ? -1 : 1);
}

// Before this, local times were known to begin at any second.
const WHOLE_MINUTES_SINCE = 631_152_000; // 1990

class Zone {
  readonly #format: Intl.DateTimeFormat;
  // How far the zone lies ahead does not change within a minute, and policies ask about now.
  #minute = Number.NaN;
  #ahead = 0;

  constructor(name: string) {
    try {
      this.#format = new Intl.DateTimeFormat("en-US", {
        timeZone: name,
        calendar: "gregory",
        numberingSystem: "latn",
        hourCycle: "h23",
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
      });
    } catch {
      throw new Problem('unknown time zone; known are names such as "Europe/Berlin" and "+02:00"');
    }
  }

  read(seconds: number): WallClock {
    const minute = Math.floor(seconds / 60);
    if (minute !== this.#minute || seconds < WHOLE_MINUTES_SINCE) {
      this.#ahead = this.#local(seconds) - seconds;
      this.#minute = minute;
    }
    return wallClock(seconds + this.#ahead);
  }

  /** The seconds that a clock there shows, counted as if it were one of UTC. */
  #local(seconds: number): number {
    const text = this.#format.format(seconds * 1000);
    const parts = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/.exec(text);
    if (parts === null) throw new Problem("this time has no date in that zone");
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = parts
      .slice(1)
      .map(Number);
    return daysBefore(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
  }
}

function wallClock(seconds: number): WallClock {
  const days = Math.floor(seconds / DAY);
  const rest = seconds - days * DAY;
  const { year, month, day } = dateOf(days);
  return {
    year,
    month: month - 1,
    day,
    hour: Math.floor(rest / 3600),
    minute: Math.floor(rest / 60) % 60,
    second: rest % 60,
    weekday: (((days + 4) % 7) + 7) % 7, // 1970 began on a Thursday
    dayOfYear: days - daysBefore(year, 1, 1),
  };
}

/** Days from 1970-01-01 to a date; years are counted from March, so that leap days come last. */
function daysBefore(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468
  );
}

function dateOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const years = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) /
      365,
  );
  const ofYear = ofEra - (365 * years + Math.floor(years / 4) - Math.floor(years / 100));
  const months = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * months + 2) / 5) + 1;
  const month = months + (months < 10 ? 3 : -9);
  return { year: years + era * 400 + (month <= 2 ? 1 : 0), month, day };
}
