// The other operators. Integers are exact and have 64 bits: what does not fit is an error, not another
// number.

import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { Problem } from "../running/meter.ts";
import {
  Duration,
  List,
  MAX_INT,
  MAX_UINT,
  MIN_INT,
  Timestamp,
  Uint,
  type Value,
  ValueList,
  ValueMap,
} from "../running/values.ts";
import { elementOf } from "./comparison.ts";
import { listTooLong, type Native, type Natives, textTooLong } from "./native.ts";
import { lengthOf, timeOf } from "./times.ts";

/** Of times: what they become is made anew. */
const UNITS_PER_SUM = 48;

export function intOf(value: bigint, doing: string): bigint {
  if (value > MAX_INT || value < MIN_INT) throw new Problem(`int overflow during ${doing}`);
  return value;
}

export function uintOf(value: bigint, doing: string): Uint {
  if (value > MAX_UINT || value < 0n) throw new Problem(`uint overflow during ${doing}`);
  return new Uint(value);
}

const add: Native = (meter, a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? intOf(a + b, "_+_") : undefined;
  if (typeof a === "number") return typeof b === "number" ? a + b : undefined;
  if (typeof a === "string") {
    if (typeof b !== "string") return undefined;
    if (a.length + b.length > MAX_TEXT) throw textTooLong();
    meter.charge((a.length + b.length) / 256);
    return a + b;
  }
  if (a instanceof Uint) return b instanceof Uint ? uintOf(a.value + b.value, "_+_") : undefined;
  if (a instanceof List) {
    if (!(b instanceof List)) return undefined;
    if (a.size + b.size > MAX_ELEMENTS) throw listTooLong();
    meter.charge(2 * (a.size + b.size));
    const all: Value[] = [];
    for (const list of [a, b]) for (let i = 0; i < list.size; i += 1) all.push(elementOf(list, i));
    return new ValueList(all);
  }
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array)) return undefined;
    if (a.length + b.length > MAX_TEXT) throw new Problem(`bytes grew beyond ${MAX_TEXT}`);
    meter.charge((a.length + b.length) / 256);
    const all = new Uint8Array(a.length + b.length);
    all.set(a);
    all.set(b, a.length);
    return all;
  }
  meter.charge(UNITS_PER_SUM);
  if (a instanceof Duration) {
    if (b instanceof Duration) return lengthOf(a.nanos + b.nanos);
    return b instanceof Timestamp ? timeOf(a.nanos + b.nanos) : undefined;
  }
  const isTime = a instanceof Timestamp && b instanceof Duration;
  return isTime ? timeOf(a.nanos + b.nanos) : undefined;
};

const subtract: Native = (meter, a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? intOf(a - b, "_-_") : undefined;
  if (typeof a === "number") return typeof b === "number" ? a - b : undefined;
  if (a instanceof Uint) return b instanceof Uint ? uintOf(a.value - b.value, "_-_") : undefined;
  meter.charge(UNITS_PER_SUM);
  if (a instanceof Timestamp) {
    if (b instanceof Timestamp) return lengthOf(a.nanos - b.nanos);
    return b instanceof Duration ? timeOf(a.nanos - b.nanos) : undefined;
  }
  const areLengths = a instanceof Duration && b instanceof Duration;
  return areLengths ? lengthOf(a.nanos - b.nanos) : undefined;
};

const multiply: Native = (_, a, b) => {
  if (typeof a === "bigint") return typeof b === "bigint" ? intOf(a * b, "_*_") : undefined;
  if (typeof a === "number") return typeof b === "number" ? a * b : undefined;
  return a instanceof Uint && b instanceof Uint ? uintOf(a.value * b.value, "_*_") : undefined;
};

const divide: Native = (_, a, b) => {
  if (typeof a === "number") return typeof b === "number" ? a / b : undefined;
  if (typeof a === "bigint" && typeof b === "bigint") {
    if (b === 0n) throw new Problem("int divide by zero");
    return intOf(a / b, `divide by ${b}`); // the smallest by -1, and no other
  }
  if (!(a instanceof Uint) || !(b instanceof Uint)) return undefined;
  if (b.value === 0n) throw new Problem("uint divide by zero");
  return new Uint(a.value / b.value);
};

const modulo: Native = (_, a, b) => {
  if (typeof a === "bigint" && typeof b === "bigint") {
    if (b === 0n) throw new Problem("int modulus by zero");
    return a % b;
  }
  if (!(a instanceof Uint) || !(b instanceof Uint)) return undefined;
  if (b.value === 0n) throw new Problem("uint modulus by zero");
  return new Uint(a.value % b.value);
};

const negate: Native = (_, a) => {
  if (typeof a === "bigint") return intOf(-a, "type conversion");
  return typeof a === "number" ? -a : undefined;
};

const index: Native = (_, operand, key) => {
  if (key === undefined) return undefined;
  if (operand instanceof List) {
    const place =
      typeof key === "bigint" ? Number(key) : key instanceof Uint ? Number(key.value) : key;
    if (typeof place !== "number" || !Number.isInteger(place)) return undefined;
    return elementOf(operand, place);
  }
  if (!(operand instanceof ValueMap)) return undefined;
  if (key === null || (typeof key === "object" && !(key instanceof Uint))) return undefined;
  const found = operand.get(key);
  // The key is a value and therefore not named.
  if (found === undefined) throw new Problem("a map has no such key");
  return found;
};

export const OPERATORS: Natives = [
  ["_+_", add],
  ["_-_", subtract],
  ["_*_", multiply],
  ["_/_", divide],
  ["_%_", modulo],
  ["-_", negate],
  ["!_", (_, a) => (typeof a === "boolean" ? !a : undefined)],
  ["_[_]", index],
];
