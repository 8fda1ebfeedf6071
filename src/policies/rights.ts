// What the policies of a token say: asked for every request, so that policies are parsed and compiled
// once and found again. A change of a policy counts for the next request.

import { invariant } from "@holdfast/shared/invariant";
import { inSlices, type Pace, Pieces, type Sliced, whoseOf } from "@holdfast/shared/sliced";
import type { Clock } from "@holdfast/shared/world";
import type { Decision, Question } from "../endpoint/decision.ts";
import { type Caller, isAtOrBelow, type NamespaceRef } from "@holdfast/shared/endpoint/request";
import { DENY } from "../acl/capability.ts";
import { type CompiledAcl, type PolicyInForce, rulesAlone } from "../acl/compile.ts";
import { capabilitiesOn, decideBy, decidingRule, mightEver, preparationOf } from "../acl/decide.ts";
import { readAclDocument } from "../acl/document.ts";
import type { MergedRule } from "../acl/merged-rule.ts";
import { shadowing } from "../acl/shadow.ts";
import { BoundedCache } from "./bounded-cache.ts";
import * as builtIn from "./built-in.ts";
import { CompiledAcls, type Turns } from "./compiled-acls.ts";
import * as failures from "./failures.ts";
import type { PolicyRecord } from "./policy-record.ts";
import { living } from "./policy-rows.ts";

const PARSED = { entries: 8_192, cost: 8 * 1024 * 1024 }; // characters of text, of 5 bytes when parsed
const PARSED_COST = 256;
const MAX_TRIES = 3;

/** The records that rights come from. */
export interface StoredPolicies {
  /** As stored, ended or not. */
  stored(namespaceId: string, name: string): PolicyRecord | null;
  /** Calls with the name of each policy that was written or deleted, before its writer is answered. */
  watch(namespaceId: string, call: (name: string) => void): () => void;
}

export interface RightsOptions {
  readonly policies: StoredPolicies;
  readonly clock: Clock;
  /** Between the steps of a long compilation. */
  readonly turns: Turns;
}

export class Rights {
  readonly #policies: StoredPolicies;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #parsed = new BoundedCache<PolicyInForce>(PARSED);
  readonly #acls: CompiledAcls;
  readonly #preparing = new WeakMap<MergedRule, Promise<void>>();
  readonly #followed = new Map<string, () => void>(); // namespaces whose changes are watched

  constructor({ policies, clock, turns }: RightsOptions) {
    this.#policies = policies;
    this.#clock = clock;
    this.#turns = turns;
    const find = (namespaceId: string, name: string) => this.#inForce(namespaceId, name);
    this.#acls = new CompiledAcls({ find, clock, turns });
  }

  /** Forgets what it holds: before the node seals. Nothing needs to be loaded when it opens. */
  close(): void {
    for (const unfollow of this.#followed.values()) unfollow();
    this.#followed.clear();
    this.#parsed.clear();
    this.#acls.clear();
  }

  /** At once, unless the caller's policies have to be compiled first and are many. */
  decide(caller: Caller, question: Question): Decision | Promise<Decision> {
    if (!isAtOrBelow(question.namespace, caller.namespace)) return { allowed: false, granting: [] };
    if (caller.type === "management") {
      const granting = [{ name: builtIn.ROOT, namespaceId: caller.namespace.id }];
      return { allowed: true, granting };
    }
    const acl = this.#aclFor(caller, question.namespace);
    if (acl instanceof Promise) return this.#decideAfter(acl, caller, question);
    const rule = decidingRule(acl, question);
    const work = preparationOf(rule, question);
    if (work !== null && rule !== null) return this.#prepare(rule, work, caller, question);
    const { allowed, granting } = decideBy(rule, question);
    return { allowed, granting };
  }

  /** Whether `decide` could allow any request of that kind, whatever else there is in it. */
  async mightEver(
    caller: Caller,
    question: Pick<Question, "namespace" | "path" | "capability">,
  ): Promise<boolean> {
    const within = isAtOrBelow(question.namespace, caller.namespace);
    if (caller.type === "management") return within;
    const acl = await this.aclOf(caller, question.namespace);
    return acl !== null && mightEver(acl, question);
  }

  /** Rules that say much about parameters are made ready in slices, once for all who wait. Then it is asked
   *  again, since a policy may have changed; but one that is forgotten each time decides as it was. */
  async #prepare(
    rule: MergedRule,
    work: Sliced<void>,
    caller: Caller,
    question: Question,
  ): Promise<Decision> {
    let [current, left]: [MergedRule, Sliced<void> | null] = [rule, work];
    for (let tries = 0; left !== null; tries++) {
      const running = this.#preparing.get(current) ?? this.#inSlices(current, left, caller);
      await running;
      const acl = await this.aclOf(caller, question.namespace);
      const found = acl === null ? null : decidingRule(acl, question);
      if (found === null) return { allowed: false, granting: [] };
      left = preparationOf(found, question);
      if (left === null || tries < MAX_TRIES) current = found;
      else left = preparationOf(current, question);
    }
    const { allowed, granting } = decideBy(current, question);
    return { allowed, granting };
  }

  #inSlices(rule: MergedRule, work: Sliced<void>, caller: Caller): Promise<void> {
    const running = inSlices(work, this.#paceOf(caller)).finally(() =>
      this.#preparing.delete(rule),
    );
    this.#preparing.set(rule, running);
    return running;
  }

  /** In the words of capability queries: `root` for management, `deny` for nothing. */
  async capabilitiesOf(
    caller: Caller,
    namespace: NamespaceRef,
    path: string,
  ): Promise<readonly string[]> {
    if (caller.type === "management" && isAtOrBelow(namespace, caller.namespace)) return ["root"];
    const acl = await this.aclOf(caller, namespace);
    const words = acl === null ? [] : capabilitiesOn(acl, path);
    return words.length === 0 ? ["deny"] : words;
  }

  /** Whether the caller may do something at or below a beginning of a path: for what is shown. */
  async reachOf(caller: Caller, namespace: NamespaceRef): Promise<(beginning: string) => boolean> {
    if (caller.type === "management" && isAtOrBelow(namespace, caller.namespace)) return () => true;
    const acl = await this.aclOf(caller, namespace);
    return (beginning) => acl?.reaches(beginning) === true;
  }

  /** All that a client's policies say in a namespace: for those who may ask why. Null for what lies
   *  outside the caller's own. */
  async aclOf(caller: Caller, namespace: NamespaceRef): Promise<CompiledAcl | null> {
    if (!isAtOrBelow(namespace, caller.namespace)) return null;
    for (;;) {
      const acl = this.#aclFor(caller, namespace);
      if (!(acl instanceof Promise)) return acl;
      await acl;
    }
  }

  /**
   * Those policies of a client that it cannot leave behind if it wants the rights of `kept` alone: every one
   * with a `deny`, or with a rule that grants nothing, which is as one, and whatever takes something from
   * the others (T-B16). `below`: the indices of the writes that made the namespaces below the caller's, in order.
   */
  async limitsOf(
    caller: Caller,
    kept: ReadonlySet<string>,
    below: readonly bigint[] = [],
  ): Promise<Set<string>> {
    const acl = await this.aclOf(caller, caller.namespace);
    invariant(acl !== null, "whoever has policies has them in its own namespace");
    return inSlices(limiting(acl, kept, below), this.#paceOf(caller));
  }

  #paceOf(caller: Caller): Pace {
    return { clock: this.#clock, turns: this.#turns, whose: whoseOf(caller) };
  }

  /** Asked again, and not told what it was waited for: a policy may have changed at the last moment. */
  async #decideAfter(ready: Promise<void>, caller: Caller, question: Question): Promise<Decision> {
    await ready;
    return this.decide(caller, question);
  }

  #aclFor(caller: Caller, namespace: NamespaceRef): CompiledAcl | Promise<void> {
    this.#follow(caller.namespace.id);
    return this.#acls.aclFor(caller, namespace);
  }

  /** Parsed at the first use after a start or a change, never for each request. One that has ended
   *  is handed on: whoever compiles it leaves it out, and knows until when. */
  *#inForce(namespaceId: string, name: string): Sliced<PolicyInForce | null> {
    const key = `${namespaceId}/${name}`;
    const parsed = this.#parsed.get(key);
    if (parsed !== undefined && living(parsed, this.#clock.now()) !== null) return parsed;
    const record = this.#policies.stored(namespaceId, name);
    if (record === null) return null;
    const { text, written, expires } = record;
    const document = yield* readOrDamaged(name, text);
    const stated = { name, namespaceId, document, written, expires };
    const policy = { ...stated, alone: yield* rulesAlone(stated) };
    // As it still is: a compilation is given up when a policy changes that has begun to go in.
    const weight = document.rules.reduce((sum, { parameters }) => sum + parameters.weight, 0);
    this.#parsed.put(key, policy, text.length + 4 * weight + PARSED_COST);
    return policy;
  }

  /** From the first request of a namespace on, so that a change counts for the next one. */
  #follow(namespaceId: string): void {
    if (this.#followed.has(namespaceId)) return;
    const unfollow = this.#policies.watch(namespaceId, (name) => {
      this.#parsed.drop(`${namespaceId}/${name}`);
      this.#acls.forget(namespaceId, name);
    });
    this.#followed.set(namespaceId, unfollow);
  }
}

function* limiting(
  acl: CompiledAcl,
  kept: ReadonlySet<string>,
  below: readonly bigint[],
): Sliced<Set<string>> {
  const pieces = new Pieces();
  const names = new Set<string>();
  for (const { sources } of acl.all()) {
    for (const { policy, rule } of sources) {
      if (pieces.due) yield;
      if (isDeny(rule.capabilities)) names.add(policy.name);
    }
  }
  const reachOf = (written: bigint) => countBefore(below, written);
  const shadows = yield* shadowing(acl, new Set([...kept, ...names]), { reachOf });
  for (const name of shadows) names.add(name);
  return names;
}

/** How many of them are less, where they stand in order. */
function countBefore(sorted: readonly bigint[], limit: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? limit) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isDeny(capabilities: number): boolean {
  return capabilities === 0 || (capabilities & DENY) !== 0;
}

function* readOrDamaged(name: string, text: string): Sliced<PolicyInForce["document"]> {
  try {
    return yield* readAclDocument(text);
  } catch {
    throw failures.recordDamaged(name);
  }
}
