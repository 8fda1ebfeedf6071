// Equality and order, with the budget in hand: lists of lists that share their elements are small in
// memory and without end to walk.

import { type Meter, Problem } from "../running/meter.ts";
import {
  Duration,
  List,
  Timestamp,
  TypeName,
  Uint,
  type Value,
  ValueMap,
} from "../running/values.ts";
import type { Native, Natives } from "./native.ts";

export function isEqual(meter: Meter, a: Value, b: Value): boolean {
  if (typeof a === "string") {
    if (typeof b !== "string" || a.length !== b.length) return false;
    meter.charge(a.length / 32); // a text of wide characters and one of narrow ones take longest
    return a === b;
  }
  if (typeof a === typeof b && typeof a !== "object") return a === b;
  if (a instanceof List) return b instanceof List && isEqualList(meter, a, b);
  if (a instanceof ValueMap) return b instanceof ValueMap && isEqualMap(meter, a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array)) return false;
    meter.charge(a.length / 8);
    return a.length === b.length && Buffer.compare(a, b) === 0;
  }
  const [x, y] = [numberOf(a), numberOf(b)];
  return x === null || y === null ? a === b : isSameNumber(x, y);
}

/** Exact, also where one is a double and the other is not. */
function isSameNumber(a: bigint | number, b: bigint | number): boolean {
  if (typeof a === "number" && typeof b === "bigint") return Number.isInteger(a) && BigInt(a) === b;
  if (typeof a === "bigint" && typeof b === "number") return Number.isInteger(b) && BigInt(b) === a;
  return a === b;
}

function isEqualList(meter: Meter, a: List, b: List): boolean {
  if (a.size !== b.size) return false;
  for (let i = 0; i < a.size; i += 1) {
    meter.charge(2);
    if (!isEqual(meter, elementOf(a, i), elementOf(b, i))) return false;
  }
  return true;
}

function isEqualMap(meter: Meter, a: ValueMap, b: ValueMap): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) {
    meter.charge(24);
    const [value, other] = [a.get(key), b.get(key)];
    if (value === undefined || other === undefined || !isEqual(meter, value, other)) return false;
  }
  return true;
}

export function elementOf(list: List, place: number): Value {
  const value = list.get(place);
  if (value === undefined) throw new Problem("a list has no such element");
  return value;
}

/** Of any kind, as a number of JavaScript; null for anything else. */
function numberOf(value: Value): bigint | number | null {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : null;
}

const isIn: Native = (meter, value, among) => {
  if (among instanceof ValueMap) {
    const isKey = value !== null && (typeof value !== "object" || value instanceof Uint);
    return isKey ? among.get(value) !== undefined : undefined;
  }
  if (!(among instanceof List)) return undefined;
  for (let i = 0; i < among.size; i += 1) {
    meter.charge(2);
    if (isEqual(meter, elementOf(among, i), value)) return true;
  }
  return false;
};

type Ordered = bigint | number | string;

function ordered(holds: (a: Ordered, b: Ordered) => boolean): Native {
  return (meter, a, b) => {
    if (b === undefined) return undefined;
    if (typeof a === "string") {
      if (typeof b !== "string") return undefined;
      meter.charge(Math.min(a.length, b.length) / 32);
      return holds(a, b);
    }
    const x = numberOf(a);
    if (x !== null) {
      const y = numberOf(b);
      if (y === null) return undefined;
      // CEL compares in doubles where one side is.
      return typeof x === typeof y ? holds(x, y) : holds(Number(x), Number(y));
    }
    if (typeof a === "boolean") {
      return typeof b === "boolean" ? holds(Number(a), Number(b)) : undefined;
    }
    if (a instanceof Timestamp) return b instanceof Timestamp ? holds(a.nanos, b.nanos) : undefined;
    if (a instanceof Duration) return b instanceof Duration ? holds(a.nanos, b.nanos) : undefined;
    if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return undefined;
    meter.charge(a.length / 8);
    return holds(Buffer.compare(a, b), 0);
  };
}

export const COMPARISON: Natives = [
  ["_==_", (meter, a, b) => (b === undefined ? undefined : isEqual(meter, a, b))],
  ["_!=_", (meter, a, b) => (b === undefined ? undefined : !isEqual(meter, a, b))],
  ["@in", isIn],
  ["_<_", ordered((a, b) => a < b)],
  ["_<=_", ordered((a, b) => a <= b)],
  ["_>_", ordered((a, b) => a > b)],
  ["_>=_", ordered((a, b) => a >= b)],
];
