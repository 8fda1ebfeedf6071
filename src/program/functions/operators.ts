// Operators whose work grows with their operands, and short ways for those that programs use most.
// What is not answered here is the engine's.

import { celList, type CelValue } from "@bufbuild/cel";
import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";
import {
  isInt,
  isList,
  isMap,
  isText,
  isUint,
  listTooLong,
  type Native,
  textTooLong,
} from "./native.ts";
import { bothTimes, difference, sum } from "./times.ts";

/** How the engine compares what is neither list nor map. */
export type Scalars = (a: CelValue, b: CelValue) => boolean;

/**
 * Equality with the budget in hand: lists of lists that share their elements are small in memory and
 * without end to walk.
 */
export function isEqual(a: CelValue, b: CelValue, meter: Meter, scalars: Scalars): boolean {
  if (isText(a)) {
    if (!isText(b) || a.length !== b.length) return false;
    meter.charge(a.length / 32); // a text of wide characters and one of narrow ones take longest
    return a === b;
  }
  if (typeof a === typeof b && typeof a !== "object") return a === b;
  if (isList(a)) {
    if (!isList(b) || a.size !== b.size) return false;
    for (let i = 0; i < a.size; i += 1) {
      meter.charge(2);
      if (!isEqual(at(a.get(i)), at(b.get(i)), meter, scalars)) return false;
    }
    return true;
  }
  if (isMap(a)) {
    if (!isMap(b) || a.size !== b.size) return false;
    for (const [key, value] of a) {
      meter.charge(isText(key) ? 24 : 24 + 2 * b.size); // other keys are searched for one by one
      const other = b.get(key);
      if (other === undefined || !isEqual(value, other, meter, scalars)) return false;
    }
    return true;
  }
  const times = bothTimes(a, b);
  if (times !== null) return times[0] === times[1];
  if (a instanceof Uint8Array && b instanceof Uint8Array) meter.charge(a.length / 8);
  return scalars(a, b);
}

function at(value: CelValue | undefined): CelValue {
  if (value === undefined) throw new Problem("a list has no such element");
  return value;
}

export function operators(scalars: Scalars): ReadonlyMap<string, Native> {
  return new Map<string, Native>([
    ["_==_", ([a, b], { meter }) => isEqual(at(a), at(b), meter, scalars)],
    ["_!=_", ([a, b], { meter }) => !isEqual(at(a), at(b), meter, scalars)],
    ["@in", ([a, b], { meter }) => isIn(at(a), at(b), meter, scalars)],
    ["_<_", ordered((a, b) => a < b)],
    ["_<=_", ordered((a, b) => a <= b)],
    ["_>_", ordered((a, b) => a > b)],
    ["_>=_", ordered((a, b) => a >= b)],
    ["_+_", add],
    ["_-_", subtract],
    ["!_", ([a]) => (typeof a === "boolean" ? !a : undefined)],
    ["@index", index],
    ["@has", has],
    ["@field", field],
    ["@bool", bool],
    ["@range", range],
  ]);
}

function isIn(value: CelValue, among: CelValue, meter: Meter, scalars: Scalars) {
  if (isMap(among)) {
    // By the value and not by the engine's `has`, to which a member that is null is not there.
    if (isText(value)) return among.get(value) !== undefined;
    if (
      !isInt(value) &&
      !isUint(value) &&
      typeof value !== "boolean" &&
      typeof value !== "number"
    ) {
      return undefined;
    }
    meter.charge(2 * among.size);
    return among.get(value) !== undefined;
  }
  if (!isList(among)) return undefined;
  for (let i = 0; i < among.size; i += 1) {
    meter.charge(2);
    if (isEqual(at(among.get(i)), value, meter, scalars)) return true;
  }
  return false;
}

function ordered(compare: (a: bigint | string, b: bigint | string) => boolean): Native {
  return ([a, b], { meter }) => {
    if (isInt(a) && isInt(b)) return compare(a, b);
    if (!isText(a) || !isText(b)) {
      const times = bothTimes(a, b);
      if (times !== null) return compare(times[0], times[1]);
      if (a instanceof Uint8Array) meter.charge(a.length / 8);
      return undefined;
    }
    meter.charge(Math.min(a.length, b.length) / 32);
    return compare(a, b);
  };
}

/** Of times: what they become is made anew. */
const UNITS_PER_SUM = 48;

const add: Native = ([a, b], { meter }) => {
  if (isText(a) && isText(b)) {
    if (a.length + b.length > MAX_TEXT) throw textTooLong();
    meter.charge((a.length + b.length) / 256);
    return a + b;
  }
  if (isList(a) && isList(b)) {
    // Flat: the engine would chain them, and walking a chain of thousands overflows the stack.
    if (a.size + b.size > MAX_ELEMENTS) throw listTooLong();
    meter.charge(2 * (a.size + b.size));
    const all: CelValue[] = [];
    for (const list of [a, b]) for (let i = 0; i < list.size; i += 1) all.push(at(list.get(i)));
    return celList(all);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    if (a.length + b.length > MAX_TEXT) throw new Problem(`bytes grew beyond ${MAX_TEXT}`);
    meter.charge((a.length + b.length) / 256);
    return undefined;
  }
  meter.charge(UNITS_PER_SUM);
  return sum(a, b);
};

const subtract: Native = ([a, b], { meter }) => {
  if (isInt(a)) return undefined;
  meter.charge(UNITS_PER_SUM);
  return difference(a, b);
};

const index: Native = ([operand, key], { meter }) => {
  if (operand === undefined || key === undefined) return undefined;
  if (isList(operand)) {
    const place = isInt(key) ? Number(key) : isUint(key) ? Number(key.value) : key;
    if (typeof place !== "number" || !Number.isInteger(place)) return undefined;
    const found = operand.get(place);
    if (found === undefined) throw new Problem("a list has no such element");
    return found;
  }
  if (!isMap(operand)) return undefined;
  const isKey = isText(key) || isInt(key) || isUint(key) || typeof key === "boolean";
  if (!isKey && typeof key !== "number") return undefined;
  if (!isText(key)) meter.charge(2 * operand.size);
  const found = operand.get(key);
  // The key is a value and therefore not named.
  if (found === undefined) throw new Problem("a map has no such key");
  return found;
};

/** A side of `&&`, `||` or `?`: the engine would make an error of any other value, and nobody pay. */
const bool: Native = ([value]) => {
  if (typeof value === "boolean") return value;
  throw new Problem("&&, || and ? need true or false");
};

/** The name stands in the document, and may be told. */
const field: Native = ([operand, name]) => {
  if (operand === undefined || !isText(name)) return undefined;
  if (!isMap(operand)) throw new Problem(`${name} is asked of what is no map`);
  const found = operand.get(name);
  if (found === undefined) throw new Problem(`field not found: ${name}`);
  return found;
};

const has: Native = ([operand, field]) => {
  if (operand === undefined || !isText(field)) return undefined;
  if (!isMap(operand)) throw new Problem("has() needs a map to look into");
  return operand.get(field) !== undefined;
};

/** What a loop goes through: the engine copies it first, so it pays before the first turn. */
const range: Native = ([operand], { meter }) => {
  if (operand === undefined || !(isList(operand) || isMap(operand))) return undefined;
  meter.charge(operand.size);
  return operand;
};
