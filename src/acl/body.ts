// The body of a `path` block: every key that may stand there, and what is accepted for it. A control
// that is accepted and not enforced is worse than none, so what we do not enforce is refused.

import { parseDuration } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { Pieces, type Sliced } from "@holdfast/shared/sliced";
import { parseTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { ACCEPTED_WORDS, bitOf, settled, SHORTHANDS } from "./capability.ts";
import { inPath } from "./failure.ts";
import {
  foldName,
  mergeNamed,
  type NamedValues,
  NO_PARAMETERS,
  type ParameterRules,
  patternsIn,
  weightOf,
} from "./parameters/parameters.ts";
import { patternOf } from "./pattern.ts";
import { type AclRule, NO_BOUNDS, type Wrapping } from "./rule.ts";
import type { Template } from "./template.ts";
import { type RuleValue, ruleValue } from "./parameters/value.ts";
import { showName } from "../document/document-failure.ts";
import type { Block, Key, Position, Value } from "../document/hcl-node.ts";

// Values with a star, for one parameter: each is looked for in every part of a request's value.
const MAX_PATTERNS = 256;
const MAX_PATTERN_CHARACTERS = 16 * 1024;

export const NOT_ENFORCED: ReadonlySet<string> = new Set([
  "mfa_methods",
  "control_group",
  "subscribe_event_types",
  "pagination_limit",
]);

/** `template` is null where the label has nothing to fill in. */
export function readRule(block: Block, label: string, template: Template | null): Sliced<AclRule> {
  return new BodyReader(block, label).rule(template);
}

class BodyReader {
  readonly #block: Block;
  readonly #label: string;
  readonly #values = new Map<string, Value>();
  readonly #pieces = new Pieces();

  constructor(block: Block, label: string) {
    this.#block = block;
    this.#label = label;
    for (const item of block.body.items) {
      const key = item.kind === "block" ? item.type : item.key;
      if (NOT_ENFORCED.has(key.text)) {
        const problem = `${showName(key.text)} is not supported by this server`;
        throw this.#refused("policy-key-unsupported", problem, key.position);
      }
      if (item.kind === "block" || !RULE_KEYS.has(key.text)) {
        throw this.#refused(
          "policy-unknown-key",
          `invalid key ${showName(key.text)}`,
          key.position,
        );
      }
      this.#values.set(key.text, item.value);
    }
  }

  *rule(template: Template | null): Sliced<AclRule> {
    return {
      label: this.#label,
      template,
      pattern: template === null ? patternOf(this.#label) : null,
      wrapping: this.#wrapping(),
      capabilities: settled(this.#capabilities() | this.#shorthand()),
      parameters: yield* this.#parameters(),
      expires: this.#expires(),
      position: this.#block.position,
    };
  }

  #wrapping(): Wrapping {
    const min = this.#duration("min_wrapping_ttl");
    const max = this.#duration("max_wrapping_ttl");
    if (min === null && max === null) return NO_BOUNDS;
    if (min !== null && max !== null && max < min) {
      const problem = "max_wrapping_ttl cannot be less than min_wrapping_ttl";
      throw this.#refused("policy-wrapping-bounds", problem, this.#block.position);
    }
    return { min, max };
  }

  *#parameters(): Sliced<ParameterRules> {
    const allowed = yield* this.#named("allowed_parameters");
    const denied = yield* this.#named("denied_parameters");
    const required = this.#texts("required_parameters");
    if (allowed.size + denied.size + required.length === 0) return NO_PARAMETERS;
    return {
      allowed,
      denied,
      required: new Set(required.map(({ text }) => foldName(text))),
      weight: weightOf(allowed, denied),
    };
  }

  #capabilities(): number {
    let bits = 0;
    for (const { text, position } of this.#texts("capabilities")) {
      const bit = bitOf(text);
      if (bit === undefined) {
        const problem = `invalid capability ${showName(text)}; accepted are ${ACCEPTED_WORDS};`;
        throw this.#refused("policy-unknown-capability", problem, position);
      }
      bits |= bit;
    }
    return bits;
  }

  #shorthand(): number {
    const value = this.#values.get("policy");
    if (value === undefined) return 0;
    const bits = value.kind === "string" ? SHORTHANDS.get(value.text) : undefined;
    if (bits !== undefined) return bits;
    const sent = value.kind === "string" ? ` ${showName(value.text)}` : "";
    const problem = `invalid policy${sent}; accepted are ${[...SHORTHANDS.keys()].join(", ")};`;
    throw this.#refused("policy-unknown-shorthand", problem, value.position);
  }

  /** A list of strings; empty when the key is not there. */
  #texts(key: string): { readonly text: string; readonly position: Position }[] {
    const value = this.#values.get(key);
    if (value === undefined) return [];
    const elements = value.kind === "list" ? value.elements : [value];
    return elements.map((element) => {
      if (value.kind === "list" && element.kind === "string") return element;
      throw this.#refused("policy-key-type", `${key} must be a list of strings`, element.position);
    });
  }

  *#named(key: string): Sliced<NamedValues> {
    const value = this.#values.get(key);
    if (value === undefined) return NO_PARAMETERS.allowed;
    const wrong = (position: Position) =>
      this.#refused(
        "policy-key-type",
        `${key} must be an object of parameter names, each with a list of values`,
        position,
      );
    if (value.kind !== "object") throw wrong(value.position);
    const pairs: [string, RuleValue[]][] = [];
    for (const item of value.body.items) {
      if (item.kind === "block" || item.value.kind !== "list") throw wrong(item.position);
      const values: RuleValue[] = [];
      for (const element of item.value.elements) {
        if (this.#pieces.due) yield;
        const read = ruleValue(element);
        if (read === null) throw wrong(element.position);
        values.push(read);
      }
      this.#checkPatterns(key, item.key, values);
      if (this.#pieces.due) yield;
      pairs.push([foldName(item.key.text), values]);
    }
    return mergeNamed(pairs);
  }

  #checkPatterns(key: string, { text, position }: Key, values: readonly RuleValue[]): void {
    const { count, characters } = patternsIn(values);
    if (count <= MAX_PATTERNS && characters <= MAX_PATTERN_CHARACTERS) return;
    const problem =
      `${key} names too many values with a star for parameter ${showName(text)}: at most ` +
      `${MAX_PATTERNS} with ${MAX_PATTERN_CHARACTERS} characters together are accepted`;
    throw this.#refused("policy-too-many-patterns", problem, position);
  }

  /** Zero is "not set", as other readers of such documents take it. */
  #duration(key: string): Nanos | null {
    const value = this.#values.get(key);
    if (value === undefined) return null;
    try {
      const text = value.kind === "string" || value.kind === "number" ? value.text : null;
      const nanos = parseDuration(text);
      return nanos === 0n ? null : nanos;
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const problem = `error parsing ${key}: ${error.message},`;
      throw this.#refused("policy-key-type", problem, value.position);
    }
  }

  #expires(): Instant | null {
    const value = this.#values.get("expiration");
    if (value === undefined) return null;
    const time = value.kind === "string" ? timeOf(value.text) : null;
    if (time !== null) return time;
    const problem = 'expiration must be a time such as "2030-01-01T00:00:00Z"';
    throw this.#refused("policy-key-type", problem, value.position);
  }

  #refused(code: string, problem: string, position: Position): Failure {
    return inPath(this.#label, code, problem, position);
  }
}

export const RULE_KEYS: ReadonlySet<string> = new Set([
  "capabilities",
  "policy",
  "allowed_parameters",
  "denied_parameters",
  "required_parameters",
  "min_wrapping_ttl",
  "max_wrapping_ttl",
  "expiration",
  "comment", // for people; not looked at
]);

function timeOf(text: string): Instant | null {
  try {
    return parseTime(text);
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}
