// Every function and operator that a program can call, by its name in the tree. What takes it apart from
// others, such as `&&` and loops, is the evaluator's.

import { COMPARISON } from "./comparison.ts";
import { CONVERSIONS } from "./conversions.ts";
import { LOOKUPS } from "./lookups.ts";
import type { Native } from "./native.ts";
import { OPERATORS } from "./operators.ts";
import { TEXTS } from "./texts.ts";

export const FUNCTIONS: ReadonlyMap<string, Native> = new Map([
  ...OPERATORS,
  ...COMPARISON,
  ...CONVERSIONS,
  ...TEXTS,
  ...LOOKUPS,
]);

/** As a person would call it. */
export function showFunction(name: string): string {
  if (name === "_[_]") return "an index";
  const sign = /^_(.+)_$/.exec(name)?.[1] ?? /^([!-])_$/.exec(name)?.[1];
  if (sign !== undefined) return `"${sign}"`;
  return name.startsWith("@") ? `"${name.slice(1)}"` : `${name}()`;
}
