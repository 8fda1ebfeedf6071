// All blocks with one label, from one document or several policies of a token, as the one rule that
// they are together, with the policies it came from.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Sliced } from "@holdfast/shared/sliced";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { DENY, settled } from "./capability.ts";
import {
  mergeParameters,
  type Readings,
  ParameterCheck,
  type ParameterProblem,
  type ParameterRules,
} from "./parameters/parameters.ts";
import type { Pattern } from "./pattern.ts";
import { type AclRule, mergeWrapping, NO_BOUNDS, type Wrapping } from "./rule.ts";

/** Where a policy is kept. */
export interface PolicyRef {
  readonly name: string;
  readonly namespaceId: string;
}

/** A policy, and while it counts. */
export interface StatedPolicy extends PolicyRef {
  /** Index of its last write. */
  readonly written: bigint;
  /** From then on the whole policy counts as absent. */
  readonly expires: Instant | null;
}

/** One block, and the policy that it stands in. */
export interface Source {
  readonly policy: StatedPolicy;
  readonly rule: AclRule;
}

export class MergedRule {
  readonly pattern: Pattern;
  readonly #sources: Source[];
  #capabilities: number;
  // Of the thousands of rules that a token may have, few are ever asked for more.
  #wrapping: Wrapping | null = null;
  #check: ParameterCheck | null | undefined = undefined;
  #granting: Map<number, readonly PolicyRef[]> | null = null;

  constructor(pattern: Pattern, first: Source) {
    this.pattern = pattern;
    // Mostly it stays the only one; a list that grows would be made with room for sixteen more.
    this.#sources = [first];
    this.#capabilities = first.rule.capabilities;
  }

  /**
   * This rule and one more block. A rule of one block may be part of many sets and stays as it is; of
   * several it belongs to the one that is being compiled, and nobody has asked it anything yet.
   */
  with(source: Source): MergedRule {
    const [first] = this.#sources;
    if (first === undefined || this.#sources.length > 1) return this.#add(source);
    return new MergedRule(this.pattern, first).#add(source);
  }

  #add(source: Source): this {
    this.#sources.push(source);
    this.#capabilities = settled(this.#capabilities | source.rule.capabilities);
    return this;
  }

  get sources(): readonly Source[] {
    return this.#sources;
  }

  get capabilities(): number {
    return this.#capabilities;
  }

  get denies(): boolean {
    return (this.#capabilities & DENY) !== 0;
  }

  /** Whether it grants all of these bits. */
  grants(bits: number): boolean {
    return (this.#capabilities & bits) === bits;
  }

  /** Whether it says anything about parameters. */
  get checks(): boolean {
    return this.#checked() !== null;
  }

  permits(data: JsonObject, fields?: Readings): boolean {
    return this.parameterProblem(data, fields) === null;
  }

  /** What stands in the way of a request with these parameters, or null. */
  parameterProblem(data: JsonObject, fields?: Readings): ParameterProblem | null {
    return this.#checked()?.problem(data, fields) ?? null;
  }

  /** What is to be made ready first; null where that is done, as nearly always. */
  preparation(data: JsonObject, fields?: Readings): Sliced<void> | null {
    return this.#checked()?.preparation(data, fields) ?? null;
  }

  #checked(): ParameterCheck | null {
    if (this.#check === undefined) this.#check = ParameterCheck.of(this.parameters());
    return this.#check;
  }

  /** Of all its blocks together. A rule that denies asks no further. */
  parameters(): ParameterRules {
    return mergeParameters(this.denies ? [] : this.sources.map(({ rule }) => rule.parameters));
  }

  get wrapping(): Wrapping {
    return (this.#wrapping ??= this.sources
      .map(({ rule }) => rule.wrapping)
      .reduce(mergeWrapping, NO_BOUNDS));
  }

  /** Whether merged bounds leave anything between them: if not, nothing passes. */
  get isPassable(): boolean {
    const { min, max } = this.wrapping;
    return min === null || max === null || min <= max;
  }

  /** Null is a request whose answer is not wrapped. */
  permitsWrapping(ttl: Nanos | null): boolean {
    const { min, max } = this.wrapping;
    if (min === null && max === null) return true;
    if (ttl === null) return false;
    return (min === null || ttl >= min) && (max === null || ttl <= max);
  }

  /** The policies that grant a capability, each once. Worked out once: a thousand may share a label. */
  granting(bit: number): readonly PolicyRef[] {
    this.#granting ??= new Map();
    let found = this.#granting.get(bit);
    if (found === undefined) {
      const granting = this.sources.filter(({ rule }) => (rule.capabilities & bit) !== 0);
      // Names alone: this goes to audit, and a policy in force carries its whole document.
      found = Array.from(
        new Set(granting.map(({ policy }) => policy)),
        ({ name, namespaceId }) => ({
          name,
          namespaceId,
        }),
      );
      this.#granting.set(bit, found);
    }
    return found;
  }
}
