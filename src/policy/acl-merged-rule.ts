// All blocks with one label, from one document or several policies of a token, as the one rule that
// they are together, with the policies it came from.

import type { JsonObject } from "../base/json.ts";
import type { Nanos } from "../base/world.ts";
import { DENY, settled } from "./acl-capability.ts";
import { mergeParameters, ParameterCheck } from "./acl-parameters.ts";
import type { Pattern } from "./acl-pattern.ts";
import { type AclRule, mergeWrapping, type Wrapping } from "./acl-rule.ts";

/** Where a policy is kept. */
export interface PolicyRef {
  readonly name: string;
  readonly namespaceId: string;
}

interface Source {
  readonly policy: PolicyRef;
  readonly rule: AclRule;
}

export class MergedRule {
  readonly pattern: Pattern;
  readonly sources: readonly Source[];
  readonly capabilities: number;
  // Of the thousands of rules that a token may have, few are ever asked for more.
  #wrapping: Wrapping | null = null;
  #check: ParameterCheck | null | undefined = undefined;
  #granting: Map<number, readonly PolicyRef[]> | null = null;

  constructor(pattern: Pattern, sources: readonly Source[]) {
    this.pattern = pattern;
    this.sources = sources;
    let bits = 0;
    for (const { rule } of sources) bits |= rule.capabilities;
    this.capabilities = settled(bits);
  }

  get denies(): boolean {
    return (this.capabilities & DENY) !== 0;
  }

  /** Whether it grants all of these bits. */
  grants(bits: number): boolean {
    return (this.capabilities & bits) === bits;
  }

  permits(data: JsonObject): boolean {
    const check = this.#checks();
    return check === null || check.permits(data);
  }

  #checks(): ParameterCheck | null {
    if (this.#check === undefined) {
      // A rule that denies asks no further.
      const rules = this.denies ? [] : this.sources.map(({ rule }) => rule.parameters);
      this.#check = ParameterCheck.of(mergeParameters(rules));
    }
    return this.#check;
  }

  get wrapping(): Wrapping {
    return (this.#wrapping ??= this.sources
      .map(({ rule }) => rule.wrapping)
      .reduce(mergeWrapping, { min: null, max: null }));
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
