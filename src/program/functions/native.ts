// What a function or operator of the language is to the evaluator.

import { MAX_ELEMENTS, MAX_TEXT } from "../limits.ts";
import { type Meter, Problem } from "../running/meter.ts";
import type { Value } from "../running/values.ts";

/**
 * The target, if there is one, and the arguments come one after the other. Undefined: it is not for
 * values of these types. Throws Problem.
 */
export type Native = (meter: Meter, a: Value, b?: Value, c?: Value, d?: Value) => Value | undefined;

export type Natives = readonly (readonly [name: string, native: Native])[];

export function isText(value: Value | undefined): value is string {
  return typeof value === "string";
}

export function isInt(value: Value | undefined): value is bigint {
  return typeof value === "bigint";
}

export function grown(text: string): string {
  if (text.length > MAX_TEXT) throw textTooLong();
  return text;
}

export function textTooLong(): Problem {
  return new Problem(`text grew beyond ${MAX_TEXT} characters`);
}

export function listTooLong(): Problem {
  return new Problem(`a list grew beyond ${MAX_ELEMENTS} elements`);
}

export function notComputed(name: string): Problem {
  return new Problem(`${name}() cannot be computed`);
}
