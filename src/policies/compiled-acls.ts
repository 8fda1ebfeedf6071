// The compiled rights of sets of policies, found again for the next request of any token with the
// same set. Keys carry the namespace of the policies and that of the request: neither is ever taken
// for another. Told of every change of a policy, it forgets what the change reaches.

import { createHash } from "node:crypto";
import type { Clock, Instant } from "../base/world.ts";
import type { Caller, NamespaceRef } from "../endpoint/request.ts";
import { policyName } from "../policy/acl-name.ts";
import { CompiledAcl, type PolicyInForce } from "../policy/acl-compile.ts";
import type { Directives } from "../policy/acl-template.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { DEFAULT, ROOT } from "./built-in.ts";

/** A policy that counts, or null: unknown and deleted ones are as empty. */
export type FindPolicy = (namespaceId: string, name: string) => PolicyInForce | null;

const BOUNDS = { entries: 1_024, cost: 100_000 }; // of rules, about 1 KB each
const ENTRY_COST = 16;

interface PolicySet {
  /** Stands for the namespace and the names. */
  readonly key: string;
  readonly names: ReadonlySet<string>;
}

interface Compiled {
  readonly namespaceId: string;
  readonly names: ReadonlySet<string>;
  /** Null where a label is filled in for each token: then the token has an entry of its own. */
  readonly acl: CompiledAcl | null;
}

export class CompiledAcls {
  readonly #find: FindPolicy;
  readonly #clock: Clock;
  readonly #compiled = new BoundedCache<Compiled>(BOUNDS);
  // A token room hands out the same Caller for the same token, so a thousand names are sorted and
  // hashed once and not for each request.
  readonly #sets = new WeakMap<Caller, PolicySet>();

  constructor(find: FindPolicy, clock: Clock) {
    this.#find = find;
    this.#clock = clock;
  }

  get size(): number {
    return this.#compiled.size;
  }

  /** What the policies of a caller say for requests to `target`, its namespace or one below it. */
  aclFor(caller: Caller, target: NamespaceRef): CompiledAcl {
    const set = this.#setOf(caller);
    const now = this.#clock.now();
    const key = `${set.key}>${target.id}`;
    const shared = this.#fresh(key, now);
    if (shared !== undefined && shared.acl !== null) return shared.acl;
    const ownKey = `${key}|${caller.accessor}|${caller.name}`;
    const own = shared === undefined ? undefined : this.#fresh(ownKey, now);
    if (own !== undefined && own.acl !== null) return own.acl;
    return this.#compile(caller, target, set, { key, ownKey, now });
  }

  /** A policy was written or deleted, or is about to be for the first time. */
  forget(namespaceId: string, name: string): void {
    this.#compiled.dropWhere((entry) => entry.namespaceId === namespaceId && entry.names.has(name));
  }

  clear(): void {
    this.#compiled.clear();
  }

  #fresh(key: string, now: Instant): Compiled | undefined {
    const found = this.#compiled.get(key);
    if (found === undefined || found.acl === null || found.acl.covers(now)) return found;
    this.#compiled.drop(key);
    return undefined;
  }

  #compile(
    caller: Caller,
    target: NamespaceRef,
    set: PolicySet,
    place: { readonly key: string; readonly ownKey: string; readonly now: Instant },
  ): CompiledAcl {
    const { namespace } = caller;
    const policies: PolicyInForce[] = [];
    for (const name of set.names) {
      const policy = this.#find(namespace.id, name);
      if (policy !== null) policies.push(policy);
    }
    const child =
      target.id === namespace.id
        ? null
        : { path: pathBelow(namespace, target), created: target.created };
    const directives = directivesOf(caller);
    const acl = CompiledAcl.compile(policies, { now: place.now, child, directives });
    const templated = policies.some(({ document }) => document.templated);
    const entry = { namespaceId: namespace.id, names: set.names };
    const cost = acl.rules + ENTRY_COST;
    if (templated) this.#compiled.put(place.key, { ...entry, acl: null }, ENTRY_COST);
    this.#compiled.put(templated ? place.ownKey : place.key, { ...entry, acl }, cost);
    return acl;
  }

  #setOf(caller: Caller): PolicySet {
    let set = this.#sets.get(caller);
    if (set === undefined) {
      const names = namesOf(caller);
      const sorted = JSON.stringify([caller.namespace.id, ...[...names].toSorted()]);
      set = { key: createHash("sha256").update(sorted).digest("base64"), names };
      this.#sets.set(caller, set);
    }
    return set;
  }
}

/** Folded, with the built-in default unless the token was made without it. `root` on a client token means nothing (T-B10). */
function namesOf(caller: Caller): Set<string> {
  const names = new Set(caller.withoutDefault === true ? [] : [DEFAULT]);
  for (const given of caller.policies) {
    const name = policyName(given);
    if (name !== null && name !== ROOT) names.add(name);
  }
  return names;
}

function pathBelow(above: NamespaceRef, below: NamespaceRef): string {
  return above.path === "" ? below.path : below.path.slice(above.path.length + 1);
}

function directivesOf(caller: Caller): Directives {
  const values = new Map([
    ["token.accessor_id", caller.accessor],
    ["token.name", caller.name],
    ["namespace.path", caller.namespace.path],
  ]);
  return (name) => values.get(name);
}
