// The compiled rights of sets of policies, found again for the next request of any token with the
// same set. Keys carry the namespace of the policies and that of the request: neither is ever taken
// for another. Told of every change of a policy, it forgets what the change reaches.

import { createHash } from "node:crypto";
import { RecentMap } from "@holdfast/shared/recent-map";
import { type Sliced, stretch, type Turns, whoseOf } from "@holdfast/shared/sliced";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Caller, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { AclCompiler, type CompiledAcl, type PolicyInForce } from "../acl/compile.ts";
import { policyName } from "@holdfast/shared/text/policy-name";
import type { Directives } from "../acl/template.ts";
import { BoundedCache } from "./bounded-cache.ts";
import { DEFAULT, ROOT } from "./built-in.ts";

/** A policy that counts, or null: unknown and deleted ones are as empty. Parsed, if it was not yet. */
export type FindPolicy = (namespaceId: string, name: string) => Sliced<PolicyInForce | null>;

export type { Turns };

export interface CompiledAclsOptions {
  readonly find: FindPolicy;
  readonly clock: Clock;
  readonly turns: Turns;
}

const BOUNDS = { entries: 1_024, cost: 200_000 }; // rules: 0.12 KB in each set, 0.5 KB for all together
const ENTRY_COST = 16;
/** Of what is said about parameters, as much as a rule takes: some 30 bytes for each character, made ready. */
const WEIGHT_OF_RULE = 16;
/** A step of a compilation. */
const STEP: Nanos = 3_000_000n;
const MAX_CHANGED = 256;

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

/** A compilation under way. */
interface Job {
  readonly caller: Caller;
  readonly target: NamespaceRef;
  readonly set: PolicySet;
  readonly keys: { readonly shared: string; readonly own: string };
  /** Under which others find it. */
  readonly place: string;
  /** Policies that have gone in. */
  readonly taken: Set<string>;
  /** One of those has changed since: what comes of it is not used. */
  stale: boolean;
}

export class CompiledAcls {
  readonly #find: FindPolicy;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #compiled = new BoundedCache<Compiled>(BOUNDS);
  readonly #running = new Map<string, { readonly job: Job; readonly done: Promise<void> }>();
  readonly #changed = new RecentMap<string, true>(); // policies, the latest changes
  // A token room hands out the same Caller for the same token, so a thousand names are sorted and
  // hashed once and not for each request.
  readonly #sets = new WeakMap<Caller, PolicySet>();

  constructor({ find, clock, turns }: CompiledAclsOptions) {
    this.#find = find;
    this.#clock = clock;
    this.#turns = turns;
  }

  get size(): number {
    return this.#compiled.size;
  }

  /**
   * What the policies of a caller say for requests to `target`, its namespace or one below it. Where
   * that takes more than a moment to work out: when to ask again.
   */
  aclFor(caller: Caller, target: NamespaceRef): CompiledAcl | Promise<void> {
    const set = this.#setOf(caller);
    const now = this.#clock.now();
    const key = `${set.key}>${target.id}`;
    const shared = this.#fresh(key, now);
    if (shared !== undefined && shared.acl !== null) return shared.acl;
    const keys = { shared: key, own: `${key}|${identityOf(caller)}` };
    const own = shared === undefined ? undefined : this.#fresh(keys.own, now);
    if (own !== undefined && own.acl !== null) return own.acl;
    // Until it is known whether labels are to be filled in, all with the set wait for the first.
    const place = shared === undefined ? keys.shared : keys.own;
    const running = this.#running.get(place);
    if (running !== undefined) return running.done;
    return this.#begin({ caller, target, set, keys, place, taken: new Set(), stale: false });
  }

  /** A policy was written or deleted, or is about to be for the first time. */
  forget(namespaceId: string, name: string): void {
    this.#compiled.dropWhere((entry) => entry.namespaceId === namespaceId && entry.names.has(name));
    this.#noteChange(`${namespaceId}/${name}`);
    // What has not gone in yet will be found as it is then.
    this.#abandon((job) => job.caller.namespace.id === namespaceId && job.taken.has(name));
  }

  clear(): void {
    this.#compiled.clear();
    this.#abandon(() => true);
  }

  #fresh(key: string, now: Instant): Compiled | undefined {
    const found = this.#compiled.get(key);
    if (found === undefined || found.acl === null || found.acl.covers(now)) return found;
    this.#compiled.drop(key);
    return undefined;
  }

  /** A few policies are done at once; more, or anything while others wait for theirs, in turns. */
  #begin(job: Job): CompiledAcl | Promise<void> {
    const steps = this.#steps(job);
    if (this.#running.size === 0) {
      const first = stretch(steps, this.#clock, STEP);
      if (first.done === true) return first.value;
    }
    const done = this.#goOn(job, steps);
    this.#running.set(job.place, { job, done });
    return done;
  }

  async #goOn(job: Job, steps: Sliced<CompiledAcl>): Promise<void> {
    try {
      const whose = whoseOf(job.caller);
      const step = () => job.stale || stretch(steps, this.#clock, STEP).done === true;
      while (!(await this.#turns.step(whose, step)));
    } finally {
      if (this.#running.get(job.place)?.job === job) this.#running.delete(job.place);
    }
  }

  #abandon(unwanted: (job: Job) => boolean): void {
    for (const [place, { job }] of this.#running) {
      if (!unwanted(job)) continue;
      job.stale = true;
      this.#running.delete(place); // whoever asks from now on must not wait for it
    }
  }

  *#steps(job: Job): Sliced<CompiledAcl> {
    const { caller, target, set, keys, taken } = job;
    const { namespace } = caller;
    const child =
      target.id === namespace.id
        ? null
        : { path: pathBelow(namespace, target), created: target.created };
    const directives = directivesOf(caller);
    const compiler = new AclCompiler({ now: this.#clock.now(), child, directives });
    let templated = false;
    for (const name of this.#inOrder(namespace.id, set.names)) {
      yield;
      taken.add(name);
      const policy = yield* this.#find(namespace.id, name);
      if (policy === null) continue;
      templated ||= policy.document.templated;
      yield* compiler.add(policy);
    }
    const acl = compiler.finish();
    const entry = { namespaceId: namespace.id, names: set.names };
    if (templated) this.#compiled.put(keys.shared, { ...entry, acl: null }, ENTRY_COST);
    const cost = acl.rules + acl.leftOut.length + acl.weight / WEIGHT_OF_RULE + ENTRY_COST;
    this.#compiled.put(templated ? keys.own : keys.shared, { ...entry, acl }, cost);
    return acl;
  }

  /** What changes often comes last, so that its next change finds it still outside. */
  #inOrder(namespaceId: string, names: ReadonlySet<string>): Iterable<string> {
    if (this.#changed.size === 0) return names;
    const isSteady = (name: string) => this.#changed.peek(`${namespaceId}/${name}`) === undefined;
    const steady = [...names].filter(isSteady);
    return steady.length === names.size ? names : new Set([...steady, ...names]);
  }

  #noteChange(policy: string): void {
    this.#changed.set(policy, true);
    if (this.#changed.size <= MAX_CHANGED) return;
    for (const [oldest] of this.#changed) {
      this.#changed.delete(oldest);
      break;
    }
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
  for (const policy of caller.policies) {
    const name = policyName(policy);
    if (name !== null && name !== ROOT) names.add(name);
  }
  return names;
}

function pathBelow(above: NamespaceRef, below: NamespaceRef): string {
  return above.path === "" ? below.path : below.path.slice(above.path.length + 1);
}

/** Everything that directives look at, beside the namespace. */
function identityOf({ accessor, origin }: Caller): string {
  return JSON.stringify([accessor, origin?.name ?? "", origin?.metadata ?? {}]);
}

const META = "token.meta.";

/** Of the origin alone: what a token chose to call its child would otherwise open what is another's. */
function directivesOf({ accessor, namespace, origin }: Caller): Directives {
  const metadata = new Map(Object.entries(origin?.metadata ?? {}));
  const values = new Map([
    ["token.accessor_id", accessor],
    ["token.name", origin?.name ?? ""],
    ["namespace.path", namespace.path],
  ]);
  return (directive) =>
    directive.startsWith(META) ? metadata.get(directive.slice(META.length)) : values.get(directive);
}
