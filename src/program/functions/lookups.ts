// The functions of docs/policies/programs.md that CEL does not have, and the parts of a time.

import { isInRange } from "./addresses.ts";
import { type Meter, Problem } from "../running/meter.ts";
import { Duration, List, Timestamp } from "../running/values.ts";
import { floorSeconds } from "./conversions.ts";
import { isText, type Native, type Natives } from "./native.ts";
import { type WallClock, Zones } from "./zones.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import { patternOf } from "../../acl/pattern.ts";
import { contains } from "./text-search.ts";

/** Those of the longer addresses take four times as long. */
function unitsFor(range: string): number {
  return range.includes(":") ? 192 : 48;
}

const ipIn: Native = (meter, address, ranges) => {
  if (!isText(address)) return undefined;
  if (isText(ranges)) {
    meter.charge(unitsFor(ranges));
    return isInRange(address, ranges);
  }
  if (!(ranges instanceof List)) return undefined;
  let found = false;
  for (let i = 0; i < ranges.size; i += 1) {
    const range = ranges.get(i);
    meter.charge(isText(range) ? unitsFor(range) : 1);
    if (!isText(range)) throw new Problem("ip_in() needs ranges as text");
    // All are read, so that a misspelt one shows on every request and not on some.
    if (isInRange(address, range)) found = true;
  }
  return found;
};

function ofTwo(call: (pattern: string, text: string, meter: Meter) => boolean): Native {
  return (meter, pattern, text) => {
    if (!isText(pattern) || !isText(text)) return undefined;
    meter.charge(16 + (pattern.length + text.length) / 4);
    return call(pattern, text, meter);
  };
}

const inList: Native = (meter, value, list) => {
  if (!isText(value) || !isText(list)) return undefined;
  meter.charge(list.length / 2);
  return list.split(",").some((item) => item.trim() === value);
};

const UNITS_PER_ZONE = 64;
// Making a formatter takes 100 µs, and whether one is at hand must not change what a run costs.
export const UNITS_PER_NEW_ZONE = 8_000;
const zones = new Zones();

/** `ofLength` reads the same name on a duration, which some of them have. */
function part(
  read: (clock: WallClock) => number,
  ofLength: ((seconds: bigint) => bigint) | null,
): Native {
  return (meter, value, zone) => {
    if (value instanceof Timestamp && (zone === undefined || isText(zone))) {
      meter.charge(zone === undefined ? 16 : UNITS_PER_ZONE);
      return BigInt(read(zones.read(Number(floorSeconds(value.nanos)), zone ?? "")));
    }
    if (ofLength === null || !(value instanceof Duration) || zone !== undefined) return undefined;
    return ofLength(value.nanos / SECOND);
  };
}

const milliseconds: Native = (_, value, zone) => {
  const isTime = value instanceof Timestamp;
  if (!isTime && !(value instanceof Duration && zone === undefined)) return undefined;
  if (zone !== undefined && !isText(zone)) return undefined;
  const rest = value.nanos % SECOND;
  return (isTime && rest < 0n ? rest + SECOND : rest) / 1_000_000n;
};

export const LOOKUPS: Natives = [
  ["ip_in", ipIn],
  ["glob", ofTwo(matchesGlob)],
  ["path_match", ofTwo(matchesPath)],
  ["in_list", inList],
  ["getFullYear", part(({ year }) => year, null)],
  ["getMonth", part(({ month }) => month, null)],
  ["getDate", part(({ day }) => day, null)],
  ["getDayOfMonth", part(({ day }) => day - 1, null)],
  ["getDayOfWeek", part(({ weekday }) => weekday, null)],
  ["getDayOfYear", part(({ dayOfYear }) => dayOfYear, null)],
  [
    "getHours",
    part(
      ({ hour }) => hour,
      (seconds) => seconds / 3600n,
    ),
  ],
  [
    "getMinutes",
    part(
      ({ minute }) => minute,
      (seconds) => seconds / 60n,
    ),
  ],
  [
    "getSeconds",
    part(
      ({ second }) => second,
      (seconds) => seconds,
    ),
  ],
  ["getMilliseconds", milliseconds],
];

// --- path match ---

// `path_match` and `glob`: the patterns of ACL rules and of their values, for
// programs.

/** Whether the label of an ACL rule would match a path. */
export function matchesPath(rule: string, path: string): boolean {
  const { kind, text, star } = patternOf(rule);
  if (kind === "exact") return path === text;
  if (kind === "prefix") return path.startsWith(text);
  const wanted = text.split("/");
  const segments = path.split("/");
  if (star ? segments.length < wanted.length : segments.length !== wanted.length) return false;
  return wanted.every((segment, i) => {
    const there = segments[i] ?? "";
    if (star && i === wanted.length - 1) return there.startsWith(segment);
    return segment === "+" || segment === there;
  });
}

/** A star at the beginning, at the end, or both; elsewhere it is a character. */
export function matchesGlob(pattern: string, text: string, meter: Meter): boolean {
  if (pattern === "*" || pattern === text) return true;
  const begins = pattern.endsWith("*");
  const ends = pattern.startsWith("*");
  if (begins && ends) return contains(text, pattern.slice(1, -1), meter);
  if (begins) return text.startsWith(pattern.slice(0, -1));
  return ends && text.endsWith(pattern.slice(1));
}
