// A filter made ready to be run: names, types, values and patterns are settled here, once and whatever
// tokens there are; only a place that a list does not have is found out on a token.

import { inapplicable, quoted } from "./failures.ts";
import type { Element, Scene } from "./filtered-token.ts";
import type { PatternMaker } from "./pattern.ts";
import type { Expression, Match, Quantified } from "./syntax.ts";
import { elementValue, type ListValue, resolve, type Scope, type Value } from "./values.ts";
import { parseTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

export type Predicate = (scene: Scene) => boolean;

// In nanoseconds, measured and rounded up. Nothing in a filter is free of charge.
const PER_MATCH = 40;
const PER_ELEMENT = 10; // of a list that is searched
const PER_COMPARED = 0.25; // for each character of the text sought, and each element
const PER_ROUND = 40; // of a quantifier, besides its body
const PER_OVERLAP = 0.2; // for each pair of characters that a search for text may compare

export class PredicateMaker {
  readonly #patterns: PatternMaker | null;

  /** Patterns only where a filter has some: `usesPatterns`. */
  constructor(patterns: PatternMaker | null) {
    this.#patterns = patterns;
  }

  make(expression: Expression, scope: Scope | null = null, depth = 0): Predicate {
    switch (expression.kind) {
      case "or":
      case "and": {
        const tests = expression.operands.map((operand) => this.make(operand, scope, depth));
        if (expression.kind === "or") return (scene) => tests.some((test) => test(scene));
        return (scene) => tests.every((test) => test(scene));
      }
      case "not":
        return negate(this.make(expression.operand, scope, depth));
      case "quantified":
        return this.#quantified(expression, scope, depth);
      case "match": {
        const value = resolve(expression.selector, scope);
        const test = charged(this.#match(value, expression));
        return expression.negated ? negate(test) : test;
      }
    }
  }

  #quantified(quantified: Quantified, around: Scope | null, depth: number): Predicate {
    const { list, position, element, every } = quantified;
    const value = resolve(list, around);
    if (value.type !== "list") {
      throw inapplicable(`${quoted(list.join("."))} is not a list or a map`);
    }
    const place: Value = { type: "int64", read: (scene) => BigInt(scene.positions[depth] ?? 0) };
    const scope = bound(element, elementValue(value.of, elementOf(depth)), around);
    const body = this.make(quantified.body, bound(position, place, scope), depth + 1);
    return (scene) => {
      const elements = value.read(scene);
      scene.allowance.spend(PER_ROUND);
      for (let at = 0; at < elements.length; at += 1) {
        scene.allowance.spend(PER_ROUND);
        const current = elements[at];
        if (current === undefined) break;
        scene.elements[depth] = current;
        scene.positions[depth] = at;
        if (body(scene) !== every) return !every;
      }
      return every;
    };
  }

  #match(value: Value, match: Match): Predicate {
    switch (match.operator) {
      case "equal":
        return equality(value, match);
      case "contains":
        return containment(value, match);
      case "matches":
        return this.#pattern(value, match);
      case "empty":
        if (value.type === "string") return (scene) => value.read(scene) === "";
        if (value.type === "list") return (scene) => value.read(scene).length === 0;
        throw unsuited(value, match, "is-empty", "strings and lists");
      case "nil":
        if (value.type === "list") return value.isNil;
        if (value.type === "time") return (scene) => value.read(scene) === null;
        throw unsuited(value, match, "is-nil", "lists and times");
      case "below":
      case "at-most":
      case "above":
      case "at-least":
        return order(value, match, COMPARISONS[match.operator]);
    }
  }

  #pattern(value: Value, match: Match): Predicate {
    if (value.type !== "string") throw unsuited(value, match, "matches", "strings");
    const pattern = this.#patterns?.make(match.value);
    if (pattern === undefined) throw new TypeError("a filter with patterns needs their maker");
    const { instructions } = pattern;
    return (scene) => {
      const text = value.read(scene);
      return scene.allowance.measure(instructions, text.length, () => pattern.foundIn(text));
    };
  }
}

/** Whether the engine for regular expressions is needed. */
export function usesPatterns(expression: Expression): boolean {
  switch (expression.kind) {
    case "match":
      return expression.operator === "matches";
    case "not":
      return usesPatterns(expression.operand);
    case "quantified":
      return usesPatterns(expression.body);
    case "or":
    case "and":
      return expression.operands.some(usesPatterns);
  }
}

function negate(test: Predicate): Predicate {
  return (scene) => !test(scene);
}

function charged(test: Predicate): Predicate {
  return (scene) => {
    scene.allowance.spend(PER_MATCH);
    return test(scene);
  };
}

function bound(name: string | null, value: Value, around: Scope | null): Scope | null {
  return name === null ? around : { name, value, around };
}

function elementOf(depth: number): (scene: Scene) => Element {
  return (scene) => scene.elements[depth] ?? "";
}

function equality(value: Value, match: Match): Predicate {
  const { value: text } = match;
  if (value.type === "string") return (scene) => value.read(scene) === text;
  if (value.type === "bool") {
    const wanted = toBool(text);
    return (scene) => value.read(scene) === wanted;
  }
  if (value.type === "uint64" || value.type === "int64") {
    const wanted = toInteger(text, value.type);
    return (scene) => value.read(scene) === wanted;
  }
  throw unsuited(value, match, "==", "strings, bools and numbers");
}

function containment(value: Value, match: Match): Predicate {
  const wanted = match.value;
  if (value.type === "string") {
    return (scene) => {
      const text = value.read(scene);
      scene.allowance.spend(overlaps(text, wanted) * PER_OVERLAP);
      return text.includes(wanted);
    };
  }
  if (isListOfStrings(value)) {
    const each = PER_ELEMENT + wanted.length * PER_COMPARED;
    return (scene) => {
      const elements = value.read(scene);
      scene.allowance.spend(elements.length * each);
      return elements.includes(wanted);
    };
  }
  throw unsuited(value, match, "in/contains", "strings and lists of strings");
}

function isListOfStrings(value: Value): value is ListValue {
  return value.type === "list" && value.of === "string";
}

/** Pairs of characters that a search compares at worst. */
function overlaps(text: string, wanted: string): number {
  return Math.max(0, text.length - wanted.length + 1) * wanted.length;
}

type Comparison = (left: bigint, right: bigint) => boolean;

const COMPARISONS: Readonly<Record<"below" | "at-most" | "above" | "at-least", Comparison>> = {
  below: (left, right) => left < right,
  "at-most": (left, right) => left <= right,
  above: (left, right) => left > right,
  "at-least": (left, right) => left >= right,
};

/** An extension. What is absent is neither before nor after anything. */
function order(value: Value, match: Match, compare: Comparison): Predicate {
  if (value.type === "uint64" || value.type === "int64") {
    const limit = toInteger(match.value, value.type);
    return (scene) => compare(value.read(scene), limit);
  }
  if (value.type === "time") {
    const limit = toTime(match.value);
    return (scene) => {
      const time = value.read(scene);
      return time !== null && compare(time, limit);
    };
  }
  throw unsuited(value, match, "ordering", "times and numbers");
}

function unsuited(value: Value, { selector }: Match, what: string, accepted: string): Error {
  const type = value.type === "list" ? `list of ${value.of}` : value.type;
  const field = quoted(selector.join("."));
  const problem = `cannot perform ${what} operations on type ${type} for selector: ${field}`;
  return inapplicable(`${problem}; it is for ${accepted}`);
}

// --- conversions ---

// The value of a filter, always text, as a value of the field's type.

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text): [string, boolean] => [text, true]),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text): [string, boolean] => [text, false]),
]);

// Decimal without leading zeros, which some read as octal; the other notations say what they are.
const INTEGER =
  /^([+-]?)(0|[1-9][0-9]{0,19}|0[xX][0-9A-Fa-f]{1,16}|0[bB][01]{1,64}|0[oO][0-7]{1,22})$/;

export function toBool(text: string): boolean {
  return BOOLEANS.get(text) ?? refuse(text, "true or false");
}

export function toInteger(text: string, type: "uint64" | "int64"): bigint {
  const [, sign = "", digits] = INTEGER.exec(text) ?? [];
  if (digits !== undefined && (type === "int64" || sign === "")) {
    const value = BigInt(digits.toLowerCase()) * (sign === "-" ? -1n : 1n);
    const fits = type === "int64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
    if (fits === value) return value;
  }
  return refuse(text, type === "int64" ? "a whole number" : "a whole number from 0 on");
}

export function toTime(text: string): Instant {
  return timeOf(text) ?? refuse(text, "an RFC 3339 time such as 2026-03-01T10:00:00Z");
}

function timeOf(text: string): Instant | null {
  try {
    return parseTime(text);
  } catch {
    return null; // the refusal here names the filter's value
  }
}

function refuse(text: string, accepted: string): never {
  const problem = `error getting match value in expression: ${quoted(text)} is not ${accepted}`;
  throw inapplicable(problem);
}
