// Rules on the parameters of a request: which must be there, which may not, which values they may
// have. Top-level names only, without regard to case; nested objects count as a whole.

import type { JsonObject } from "../base/json.ts";
import { type RuleValue, ValueSet } from "./acl-value.ts";

/** Values by folded name; no values at all stands for any value. */
export type NamedValues = ReadonlyMap<string, readonly RuleValue[]>;

/** As written in one block. Folded names. */
export interface ParameterRules {
  readonly allowed: NamedValues;
  readonly denied: NamedValues;
  readonly required: ReadonlySet<string>;
}

/** One for the many rules that have none: a token may have fifty thousand rules. */
export const NO_PARAMETERS: ParameterRules = {
  allowed: new Map(),
  denied: new Map(),
  required: new Set(),
};

export function foldName(name: string): string {
  return name.toLowerCase();
}

/** Blocks with one label: names unite, values unite, and "any value" wins over a list. */
export function mergeParameters(all: readonly ParameterRules[]): ParameterRules {
  const [only] = all;
  if (only !== undefined && all.length === 1) return only;
  return {
    allowed: mergeNamed(all.flatMap(({ allowed }) => [...allowed])),
    denied: mergeNamed(all.flatMap(({ denied }) => [...denied])),
    required: new Set(all.flatMap(({ required }) => [...required])),
  };
}

/** In one pass, since thousands of blocks may share a label. */
export function mergeNamed(
  pairs: Iterable<readonly [name: string, values: readonly RuleValue[]]>,
): NamedValues {
  const merged = new Map<string, RuleValue[]>();
  for (const [name, values] of pairs) {
    const before = merged.get(name);
    if (before === undefined) merged.set(name, [...values]);
    else if (before.length > 0 && values.length === 0) merged.set(name, []);
    else if (before.length > 0) for (const value of values) before.push(value);
  }
  return merged;
}

// Their values are names of policies, which are folded to lower case wherever they are used.
const NAMES_OF_POLICIES: ReadonlySet<string> = new Set(["policies", "token_policies"]);

/** The same, ready to be asked. */
export class ParameterCheck {
  readonly #required: readonly string[];
  readonly #denied: ReadonlyMap<string, ValueSet>;
  readonly #allowed: ReadonlyMap<string, ValueSet>;
  readonly #denyAll: boolean;
  readonly #others: boolean; // names that `allowed` does not hold are allowed too

  private constructor(rules: ParameterRules) {
    this.#required = [...rules.required];
    this.#denied = setsOf(rules.denied);
    this.#allowed = setsOf(rules.allowed);
    this.#denyAll = rules.denied.has("*");
    this.#others = rules.allowed.size === 0 || rules.allowed.has("*");
  }

  /** Null where there is nothing to check. */
  static of(rules: ParameterRules): ParameterCheck | null {
    const { allowed, denied, required } = rules;
    return allowed.size + denied.size + required.size === 0 ? null : new ParameterCheck(rules);
  }

  /** The first that stands in the way, or null. */
  problem(data: JsonObject): ParameterProblem | null {
    const given = Object.entries(data).filter(([, value]) => value !== undefined);
    if (this.#required.length > 0) {
      const names = new Set(given.map(([name]) => foldName(name)));
      const missing = this.#required.find((name) => !names.has(name));
      if (missing !== undefined) return { kind: "missing", name: missing };
    }
    if (given.length === 0) return null;
    if (this.#denyAll) return { kind: "denied-all", name: foldName(given[0]?.[0] ?? "") };
    for (const [asSent, value] of given) {
      const name = foldName(asSent);
      const denied = this.#denied.get(name);
      if (denied?.catches(value ?? null) === true) {
        return { kind: denied.any ? "denied" : "denied-value", name };
      }
      const allowed = name === "*" ? undefined : this.#allowed.get(name);
      if (allowed === undefined) {
        if (!this.#others) return { kind: "unlisted", name };
      } else if (!allowed.admits(value ?? null)) return { kind: "other-value", name };
    }
    return null;
  }
}

/** What is wrong with a parameter of a request. Values are not told: they may be secrets. */
export interface ParameterProblem {
  readonly kind: "missing" | "denied-all" | "denied" | "denied-value" | "unlisted" | "other-value";
  /** Folded. */
  readonly name: string;
}

function setsOf(named: NamedValues): Map<string, ValueSet> {
  return new Map(Array.from(named, ([name, values]) => [name, valueSetOf(name, values)]));
}

/** As they are compared for the parameter of that folded name. */
export function valueSetOf(name: string, values: readonly RuleValue[]): ValueSet {
  return new ValueSet(values, NAMES_OF_POLICIES.has(name));
}
