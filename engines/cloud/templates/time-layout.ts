// Times by the layout of Go: an example that shows where the parts of 2006-01-02 15:04:05 UTC go. Always
// in UTC.

import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

const MONTHS =
  "January February March April May June July August September October November December";
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday";
const BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

// Longer ones first. "Jan" and "Mon" count only where no lower-case letter follows: Go's own rule, so
// that "Month" stays a word.
const PART =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|-07:00:00|-07:00|-0700|-07|Z07:00:00|Z07:00|Z0700|Z07|002|01|02|03|04|05|06|__2|_2(?!006)|15|PM|pm|[.,](?:0+|9+)(?!\d)|[12345]/g;

interface Parts {
  readonly year: string;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly fraction: string; // nine digits
  readonly weekday: number;
}

export function formatTime(at: Instant, layout: string): string {
  const parts = partsOf(at);
  return layout.replace(PART, (part) => shown(part, parts));
}

function shown(part: string, { year, month, day, hour, minute, second, ...rest }: Parts): string {
  const { fraction, weekday } = rest;
  const noon = hour % 12 === 0 ? 12 : hour % 12;
  switch (part) {
    case "2006":
      return year;
    case "06":
      return year.slice(-2);
    case "January":
    case "Jan":
      return cut(MONTHS.split(" ")[month - 1], part);
    case "01":
      return two(month);
    case "1":
      return String(month);
    case "Monday":
    case "Mon":
      return cut(DAYS.split(" ")[weekday], part);
    case "02":
      return two(day);
    case "_2":
      return String(day).padStart(2);
    case "2":
      return String(day);
    case "002":
      return String(dayOfYear(Number(year), month, day)).padStart(3, "0");
    case "__2":
      return String(dayOfYear(Number(year), month, day)).padStart(3);
    case "15":
      return two(hour);
    case "03":
      return two(noon);
    case "3":
      return String(noon);
    case "04":
      return two(minute);
    case "4":
      return String(minute);
    case "05":
      return two(second);
    case "5":
      return String(second);
    case "PM":
      return hour < 12 ? "AM" : "PM";
    case "pm":
      return hour < 12 ? "am" : "pm";
    case "MST":
      return "UTC";
    default:
      return part.startsWith("Z") ? "Z" : offsetOrFraction(part, fraction);
  }
}

function offsetOrFraction(part: string, fraction: string): string {
  if (part.startsWith("-")) return part.replaceAll(/\d/g, "0").replace("-", "+");
  const digits = fraction.slice(0, part.length - 1).padEnd(part.length - 1, "0");
  if (part.charAt(1) === "0") return `${part.charAt(0)}${digits}`;
  const short = digits.replace(/0+$/, "");
  return short === "" ? "" : `${part.charAt(0)}${short}`;
}

function partsOf(at: Instant): Parts {
  const text = showTime(at);
  const [year = "", month, day, hour, minute, second] = text.split(/[-T:.Z]/);
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  const days = at / 86_400_000_000_000n; // clocks are beyond 1970, which began on a Thursday
  return {
    year,
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    fraction: fraction.padEnd(9, "0"),
    weekday: Number((days + 4n) % 7n),
  };
}

function dayOfYear(year: number, month: number, day: number): number {
  const leaps = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (BEFORE_MONTH[month - 1] ?? 0) + day + (leaps && month > 2 ? 1 : 0);
}

function cut(name = "", part: string): string {
  return part.length === 3 ? name.slice(0, 3) : name;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
