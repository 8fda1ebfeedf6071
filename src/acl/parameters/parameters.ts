// Rules on the parameters of a request: which must be there, which may not, which values they may
// have. Top-level names only, without regard to case; nested objects count as a whole.

import { isCaseless } from "@holdfast/shared/endpoint/caseless";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { Compared, type Reading, type RuleValue, ValueSet } from "./value.ts";

/** How the values of parameters are read, by folded name. */
export type Readings = ReadonlyMap<string, Reading>;

/** Values by folded name; no values at all stands for any value. */
export type NamedValues = ReadonlyMap<string, readonly RuleValue[]>;

/** As written in one block. Folded names. */
export interface ParameterRules {
  readonly allowed: NamedValues;
  readonly denied: NamedValues;
  readonly required: ReadonlySet<string>;
  /** How much its values are: characters and eight for each. */
  readonly weight: number;
  /** So many blocks say so much that it is not compared: nothing passes. Default false. */
  readonly tooMany?: boolean;
}

/** One for the many rules that have none: a token may have fifty thousand rules. */
export const NO_PARAMETERS: ParameterRules = {
  allowed: new Map(),
  denied: new Map(),
  required: new Set(),
  weight: 0,
};

/** Of all blocks with one label together. A token may have thousands of them, and whatever it has is
 *  made ready while a request waits. */
const MAX_MERGED = {
  names: 100_000,
  weight: 1024 * 1024, // as much as four documents can say
  values: 100_000, // of one parameter, as what follows
  patterns: 1_024,
  patternCharacters: 64 * 1024,
};

export function foldName(name: string): string {
  return name.toLowerCase();
}

/** Blocks with one label: names unite, values unite, and "any value" wins over a list. */
export function mergeParameters(all: readonly ParameterRules[]): ParameterRules {
  const [only] = all;
  if (only !== undefined && all.length === 1) return only;
  const names = all.reduce((sum, one) => sum + one.allowed.size + one.denied.size, 0);
  const required = all.reduce((sum, one) => sum + one.required.size, 0);
  const weight = all.reduce((sum, one) => sum + one.weight, 0);
  if (names + required > MAX_MERGED.names || weight > MAX_MERGED.weight) {
    return { ...NO_PARAMETERS, tooMany: true };
  }
  return {
    weight,
    allowed: mergeNamed(all.flatMap(({ allowed }) => [...allowed])),
    denied: mergeNamed(all.flatMap(({ denied }) => [...denied])),
    required: new Set(all.flatMap(({ required }) => [...required])),
  };
}

/** How much values are to compare, and to keep ready. */
export function weightOf(...all: readonly NamedValues[]): number {
  let weight = 0;
  for (const named of all) {
    for (const values of named.values()) for (const value of values) weight += sizeOf(value);
  }
  return weight;
}

function sizeOf(value: RuleValue): number {
  switch (value.kind) {
    case "string":
      return 8 + value.text.length;
    case "number":
      return 8 + value.canonical.length;
    case "bool":
      return 8;
    case "list":
      return value.elements.reduce((sum, element) => sum + sizeOf(element), 8);
    case "object":
      return [...value.members].reduce((sum, [name, one]) => sum + name.length + sizeOf(one), 8);
  }
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
    else if (before.length > 0 && before.length <= MAX_MERGED.values) {
      for (const value of values) before.push(value);
    }
  }
  return merged;
}

// Their values are names of policies, which are folded to lower case wherever they are used.
const NAMES_OF_POLICIES: ReadonlySet<string> = new Set(["policies", "token_policies"]);

const LITTLE = 4_096;

/** The same, ready to be asked. */
export class ParameterCheck {
  readonly #rules: ParameterRules;
  readonly #required: readonly string[];
  readonly #denied = new Map<string, ValueSet | null>();
  /** The same without regard to case, for fields that are read so. */
  readonly #deniedCaseless = new Map<string, ValueSet | null>();
  readonly #allowed = new Map<string, ValueSet | null>();
  readonly #denyAll: boolean;
  readonly #others: boolean; // names that `allowed` does not hold are allowed too

  private constructor(rules: ParameterRules) {
    this.#rules = rules;
    this.#required = [...rules.required];
    this.#denyAll = rules.denied.has("*");
    this.#others = rules.allowed.size === 0 || rules.allowed.has("*");
  }

  /** Null where there is nothing to check. */
  static of(rules: ParameterRules): ParameterCheck | null {
    const { allowed, denied, required, tooMany = false } = rules;
    const none = allowed.size + denied.size + required.size === 0 && !tooMany;
    return none ? null : new ParameterCheck(rules);
  }

  /** What is to be made ready before a request with these parameters is compared; null where that is done, or
   *  so little that it is done on the way. */
  preparation(data: JsonObject, fields?: Readings): Sliced<void> | null {
    if (this.#rules.weight <= LITTLE) return null;
    return this.#isReady(data, fields) ? null : this.#prepare(data, fields);
  }

  #isReady(data: JsonObject, fields: Readings | undefined): boolean {
    return Object.keys(data).every((asSent) => {
      if (!this.#speaksOf(asSent, fields)) return true;
      const reading = fields?.get(foldName(asSent));
      return namesOf(asSent, fields).every((name) =>
        this.#kinds(reading).every(({ named, made }) => {
          const set = made.get(name);
          return set === undefined ? !named.has(name) : set === null || !set.isUnread(reading);
        }),
      );
    });
  }

  *#prepare(data: JsonObject, fields: Readings | undefined): Sliced<void> {
    const pieces = new Pieces();
    for (const asSent of Object.keys(data)) {
      if (pieces.due) yield;
      if (!this.#speaksOf(asSent, fields)) continue;
      const reading = fields?.get(foldName(asSent));
      for (const name of namesOf(asSent, fields)) {
        for (const kind of this.#kinds(reading)) {
          yield;
          const set = yield* setFor(name, kind);
          if (set?.isUnread(reading) === true) yield* set.read(reading);
        }
      }
    }
  }

  /** Whether the rules name it, by any of its names. Of a thousand that a request brings few may be, so
   *  nothing is made for the others. */
  #speaksOf(asSent: string, fields: Readings | undefined): boolean {
    const { allowed, denied } = this.#rules;
    const name = foldName(asSent);
    if (allowed.has(name) || denied.has(name)) return true;
    const aliases = fields?.get(name)?.aliases;
    return aliases !== undefined && aliases.length > 0;
  }

  #kinds(reading: Reading | undefined): readonly [denied: SetKind, allowed: SetKind] {
    const caseless = reading !== undefined && isCaseless(reading);
    return [
      {
        named: this.#rules.denied,
        made: caseless ? this.#deniedCaseless : this.#denied,
        caseless,
      },
      // What is allowed stays as it is written: case may count for a part of such a value.
      { named: this.#rules.allowed, made: this.#allowed, caseless: false },
    ];
  }

  /** The first that stands in the way, or null. */
  problem(data: JsonObject, fields?: Readings): ParameterProblem | null {
    for (const problem of this.problems(data, fields)) return problem;
    return null;
  }

  /** What stands in the way, of each parameter the first. */
  *problems(data: JsonObject, fields?: Readings): Generator<ParameterProblem> {
    if (this.#rules.tooMany === true) {
      yield { kind: "too-many-values", name: "*" };
      return;
    }
    const sent = Object.keys(data);
    for (const name of this.#missing(data, sent, fields)) yield { kind: "missing", name };
    if (this.#denyAll) {
      const first = sent.find((name) => data[name] !== undefined);
      if (first !== undefined) yield { kind: "denied-all", name: foldName(first) };
      return;
    }
    const compared = new Compared();
    for (const asSent of sent) {
      const isSpokenOf = this.#speaksOf(asSent, fields);
      if (!isSpokenOf && this.#others) continue;
      const value = data[asSent];
      if (value === undefined) continue;
      if (!isSpokenOf) {
        yield { kind: "unlisted", name: foldName(asSent) };
        continue;
      }
      const names = namesOf(asSent, fields);
      const parameter = { value, reading: fields?.get(foldName(asSent)), compared };
      const problem = this.#problemOf(names, parameter);
      if (problem !== null) yield problem;
    }
  }

  #missing(data: JsonObject, sent: readonly string[], fields: Readings | undefined): Set<string> {
    const missing = new Set(this.#required);
    for (const asSent of sent) {
      if (missing.size === 0) break;
      for (const name of namesOf(asSent, fields)) {
        if (missing.has(name) && counts(asSent, data[asSent], fields)) missing.delete(name);
      }
    }
    return missing;
  }

  /** By whichever of its names the rules speak of a parameter. */
  #problemOf(
    names: readonly [string, ...string[]],
    { value, reading, compared }: SentValue,
  ): ParameterProblem | null {
    const [first] = names;
    const [denying, allowing] = this.#kinds(reading);
    const denied = setsFor(names, denying);
    const known = names.filter((name) => name !== "*");
    const allowed = setsFor(known, allowing);
    const sets = [...denied, ...allowed];
    const unread = sets.find(({ set }) => set === null || set.isTooMuchFor(reading));
    if (unread !== undefined) return { kind: "too-many-values", name: unread.name };
    const all = denied.find(({ set }) => set?.namesAll(value) === true);
    if (all !== undefined) {
      return { kind: all.set?.any === true ? "denied" : "denied-value", name: all.name };
    }
    const looked = denied.length > 0 || allowed.some(({ set }) => set?.namesAll(value) === false);
    if (looked && compared.isTooMuch(value)) return { kind: "too-long", name: first };
    const caught = denied.find(({ set }) => set?.catches(value, reading) === true);
    if (caught !== undefined) return { kind: "denied-value", name: caught.name };
    const [listed] = allowed;
    if (listed === undefined) return this.#others ? null : { kind: "unlisted", name: first };
    if (allowed.some(({ set }) => set?.admits(value, reading) === true)) return null;
    return { kind: "other-value", name: listed.name };
  }
}

/** Folded: what a parameter is called, and what else its endpoint calls it. */
function namesOf(asSent: string, fields: Readings | undefined): [string, ...string[]] {
  const name = foldName(asSent);
  const field = fields?.get(name);
  const others = field?.name === asSent ? (field.aliases ?? []) : [];
  return [name, ...others.map(foldName)];
}

interface NamedSet {
  readonly name: string;
  /** Null: more values than may be compared. */
  readonly set: ValueSet | null;
}

/** Values by name, and those that are ready. */
interface SetKind {
  readonly named: NamedValues;
  readonly made: Map<string, ValueSet | null>;
  readonly caseless: boolean;
}

function setsFor(names: readonly string[], kind: SetKind): NamedSet[] {
  const { named, made } = kind;
  return names.flatMap((name) => {
    const set = named.has(name) ? (made.get(name) ?? atOnce(setFor(name, kind))) : undefined;
    return set === undefined ? [] : [{ name, set }];
  });
}

/** Null takes a value away where it means anything: it is not the one that must be there. Nor is what only
 *  looks like a field that the endpoint knows. */
function counts(name: string, value: JsonValue | undefined, fields: Readings | undefined): boolean {
  const field = fields?.get(foldName(name));
  return value !== undefined && value !== null && (field === undefined || field.name === name);
}

interface SentValue {
  readonly value: JsonValue;
  readonly reading: Reading | undefined;
  readonly compared: Compared;
}

/** Made when the parameter is first given. Undefined where the rules do not name it, null where they
 *  name more values for it than may be compared. */
function* setFor(
  name: string,
  { named, made, caseless }: SetKind,
): Sliced<ValueSet | null | undefined> {
  const values = named.get(name);
  if (values === undefined) return undefined;
  let set = made.get(name);
  if (set === undefined) {
    const { count, characters } = patternsIn(values);
    const fits =
      values.length <= MAX_MERGED.values &&
      count <= MAX_MERGED.patterns &&
      characters <= MAX_MERGED.patternCharacters;
    set = fits ? yield* buildSet(name, values, caseless) : null;
    made.set(name, set);
  }
  return set;
}

/** Values with a star at an end: how many, and how long together. */
export function patternsIn(values: readonly RuleValue[]): { count: number; characters: number } {
  let count = 0;
  let characters = 0;
  for (const value of values) {
    if (value.kind !== "string") continue;
    if (!value.text.startsWith("*") && !value.text.endsWith("*")) continue;
    count += 1;
    characters += value.text.length;
  }
  return { count, characters };
}

/** What is wrong with a parameter of a request. Values are not told: they may be secrets. */
export interface ParameterProblem {
  readonly kind:
    | "missing"
    | "denied-all"
    | "denied"
    | "denied-value"
    | "unlisted"
    | "other-value"
    | "too-long"
    | "too-many-values";
  /** Folded. */
  readonly name: string;
}

/** As they are compared where they are denied for the parameter of that folded name. */
export function deniedSetOf(
  name: string,
  values: readonly RuleValue[],
  reading?: Reading,
): ValueSet {
  return atOnce(buildSet(name, values, reading !== undefined && isCaseless(reading)));
}

function buildSet(name: string, values: readonly RuleValue[], caseless: boolean): Sliced<ValueSet> {
  return ValueSet.build(values, caseless || NAMES_OF_POLICIES.has(name));
}
