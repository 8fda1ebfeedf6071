// The functions of docs/policies/programs.md that CEL does not have, and the parts of a time.

import { isInRange } from "./addresses.ts";
import { type Meter, Problem } from "../running/meter.ts";
import { isDuration, isList, isText, isTimestamp, nanosOf, type Native } from "./native.ts";
import { matchesGlob, matchesPath } from "./path-match.ts";
import type { WallClock } from "./zones.ts";
import { SECOND } from "@holdfast/shared/text/duration";

/** Those of the longer addresses take four times as long. */
function unitsFor(range: string): number {
  return range.includes(":") ? 192 : 48;
}

const ipIn: Native = ([address, ranges], { meter }) => {
  if (!isText(address)) return undefined;
  if (isText(ranges)) {
    meter.charge(unitsFor(ranges));
    return isInRange(address, ranges);
  }
  if (!isList(ranges)) return undefined;
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
  return ([pattern, text], { meter }) => {
    if (!isText(pattern) || !isText(text)) return undefined;
    meter.charge(16 + (pattern.length + text.length) / 4);
    return call(pattern, text, meter);
  };
}

const inList: Native = ([value, list], { meter }) => {
  if (!isText(value) || !isText(list)) return undefined;
  meter.charge(list.length / 2);
  return list.split(",").some((item) => item.trim() === value);
};

const UNITS_PER_ZONE = 64;
// Making a formatter takes 100 µs, and whether one is at hand must not change what a run costs.
const UNITS_PER_NEW_ZONE = 8_000;

const newZone: Native = ([name], { meter }) => {
  meter.charge(UNITS_PER_NEW_ZONE);
  return name;
};

/** `ofLength` reads the same name on a duration, which some of them have. */
function part(
  read: (clock: WallClock) => number,
  ofLength: ((seconds: bigint) => bigint) | null,
): Native {
  return ([value, zone], { meter, zones }) => {
    if (isTimestamp(value) && (zone === undefined || isText(zone))) {
      meter.charge(zone === undefined ? 16 : UNITS_PER_ZONE);
      return BigInt(read(zones.read(floorSeconds(nanosOf(value)), zone ?? "")));
    }
    if (ofLength === null || !isDuration(value) || zone !== undefined) return undefined;
    return ofLength(nanosOf(value) / SECOND);
  };
}

const milliseconds: Native = ([value, zone]) => {
  if (!isTimestamp(value) && !(isDuration(value) && zone === undefined)) return undefined;
  if (zone !== undefined && !isText(zone)) return undefined;
  const rest = nanosOf(value) % SECOND;
  return (isTimestamp(value) && rest < 0n ? rest + SECOND : rest) / 1_000_000n;
};

function floorSeconds(nanos: bigint): number {
  const rest = ((nanos % SECOND) + SECOND) % SECOND;
  return Number((nanos - rest) / SECOND);
}

export const LOOKUPS: ReadonlyMap<string, Native> = new Map<string, Native>([
  ["ip_in", ipIn],
  ["glob", ofTwo(matchesGlob)],
  ["path_match", ofTwo(matchesPath)],
  ["in_list", inList],
  ["@zone", newZone],
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
]);
