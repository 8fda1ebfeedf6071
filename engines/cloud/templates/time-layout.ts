// Times by the layout of Go: an example that shows where the parts of 2006-01-02 15:04:05 UTC go. Always
// in UTC.

import type { Instant } from "@holdfast/shared/world";

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const DAY = 86_400_000; // milliseconds

const PARTS: Readonly<Record<string, (at: Date) => string>> = {
  "2006": (at) => String(at.getUTCFullYear()),
  "06": (at) => String(at.getUTCFullYear()).slice(-2),
  January: (at) => MONTHS[at.getUTCMonth()] ?? "",
  Jan: (at) => (MONTHS[at.getUTCMonth()] ?? "").slice(0, 3),
  "01": (at) => padded(at.getUTCMonth() + 1),
  "1": (at) => String(at.getUTCMonth() + 1),
  Monday: (at) => DAYS[at.getUTCDay()] ?? "",
  Mon: (at) => (DAYS[at.getUTCDay()] ?? "").slice(0, 3),
  "02": (at) => padded(at.getUTCDate()),
  _2: (at) => padded(at.getUTCDate(), 2, " "),
  "2": (at) => String(at.getUTCDate()),
  "002": (at) => padded(dayOfYear(at), 3),
  __2: (at) => padded(dayOfYear(at), 3, " "),
  "15": (at) => padded(at.getUTCHours()),
  "03": (at) => padded(at.getUTCHours() % 12 || 12),
  "3": (at) => String(at.getUTCHours() % 12 || 12),
  "04": (at) => padded(at.getUTCMinutes()),
  "4": (at) => String(at.getUTCMinutes()),
  "05": (at) => padded(at.getUTCSeconds()),
  "5": (at) => String(at.getUTCSeconds()),
  PM: (at) => (at.getUTCHours() < 12 ? "AM" : "PM"),
  pm: (at) => (at.getUTCHours() < 12 ? "am" : "pm"),
  MST: () => "UTC",
};

// Longer ones first. "Jan" and "Mon" count only where no lower-case letter follows: Go's own rule, so
// that "Month" stays a word.
const PART =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|[-Z]07(?:00|:00(?::00)?)?|002|01|02|03|04|05|06|__2|_2(?!006)|15|PM|pm|[.,](?:0+|9+)(?!\d)|[12345]/g;

export function formatTime(instant: Instant, layout: string): string {
  const at = new Date(Number(instant / 1_000_000n));
  const nanos = String(instant % 1_000_000_000n).padStart(9, "0");
  return layout.replace(PART, (part) => PARTS[part]?.(at) ?? offsetOrFraction(part, nanos));
}

function offsetOrFraction(part: string, nanos: string): string {
  if (part.startsWith("Z")) return "Z";
  if (part.startsWith("-")) return part.replaceAll(/\d/g, "0").replace("-", "+");
  const digits = nanos.slice(0, part.length - 1).padEnd(part.length - 1, "0");
  if (part.charAt(1) === "0") return `${part.charAt(0)}${digits}`;
  const short = digits.replace(/0+$/, "");
  return short === "" ? "" : `${part.charAt(0)}${short}`;
}

function dayOfYear(at: Date): number {
  return Math.floor((at.getTime() - Date.UTC(at.getUTCFullYear(), 0)) / DAY) + 1;
}

function padded(value: number, width = 2, fill = "0"): string {
  return String(value).padStart(width, fill);
}
