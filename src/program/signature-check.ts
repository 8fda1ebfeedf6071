// Whether a call fits one of the signatures of its function, as far as kinds are known.

import type { SourceText } from "../document/source-text.ts";
import { unknown, wrongType } from "./failures.ts";
import type { Kind } from "./kinds.ts";
import { CALLABLE, fits, showSignature, SIGNATURES } from "./signatures.ts";

export interface Called {
  readonly name: string;
  /** Null: not called as a method. */
  readonly target: Kind | null;
  readonly given: readonly Kind[];
  readonly at: number;
}

/** The kind of what it gives; "any" if that depends on what is not known. */
export function resultOf(source: SourceText, { name, target, given, at }: Called): Kind {
  const signatures = SIGNATURES.get(name);
  if (signatures === undefined) {
    throw unknown(source, at, "function", name, CALLABLE);
  }
  const fitting = signatures.filter(
    (row) =>
      (row.target === null) === (target === null) &&
      (row.target === null || fits(row.target, target ?? "any")) &&
      row.args.length === given.length &&
      row.args.every((kinds, i) => fits(kinds, given[i] ?? "any")),
  );
  const [first, ...others] = fitting;
  if (first === undefined) {
    const sides = [...(target === null ? [] : [target]), ...given].join(", ");
    const accepted = signatures.map(showSignature).join("; ");
    throw wrongType(
      source,
      at,
      `wrong arguments (${sides}) for ${showCalled(name)}; accepted: ${accepted}`,
    );
  }
  return others.every(({ result }) => result === first.result) ? first.result : "any";
}

function showCalled(name: string): string {
  const sign = /^_(.+)_$/.exec(name)?.[1] ?? /^([!-])_$/.exec(name)?.[1];
  if (name === "_[_]") return "an index";
  return sign === undefined ? (name === "@in" ? '"in"' : `${name}()`) : `"${sign}"`;
}
