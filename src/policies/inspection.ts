// What would become of a request, and why: the stages of the pipeline that decide, on a request that
// somebody describes (core contract 12.4, contract 5.10). Nothing is executed, counted or logged. For
// those who may know everything about policies: a caller never learns this of its own denial.

import { isSegment } from "../base/canonical-path.ts";
import { invariant } from "../base/invariant.ts";
import type { JsonObject } from "../base/json.ts";
import type { Clock, Instant, Nanos } from "../base/world.ts";
import type { Access, Capability } from "../endpoint/access.ts";
import { type Caller, isAtOrBelow, type NamespaceRef } from "../endpoint/request.ts";
import { explain, type Explanation } from "../policy/acl-explain.ts";
import type { ProgramInput } from "../policy/expr/program-input.ts";
import type { Turns } from "./compiled-acls.ts";
import * as failures from "./failures.ts";
import type { Governing } from "./governing.ts";
import { conclude, type Judged } from "./judging.ts";
import { NO_REPLICATION, programToken } from "./program-token.ts";
import { Rights, type StoredPolicies } from "./rights.ts";
import {
  type GivenDocument,
  readTrialDocuments,
  type TrialDocuments,
  withTrials,
} from "./trial-documents.ts";

/** What is declared for a path, as far as it decides. */
export interface DeclaredAccess {
  readonly access: Access;
  readonly rootOnly: boolean;
  readonly login: boolean;
}

export interface InspectionOptions {
  readonly policies: StoredPolicies;
  readonly rights: Rights;
  readonly governing: Governing;
  readonly tokens: { callerBy(namespace: NamespaceRef, accessor: string): Caller | null };
  readonly namespaces: {
    named(path: string): NamespaceRef | null;
    resolve(
      base: NamespaceRef,
      segments: readonly string[],
    ): { readonly namespace: NamespaceRef; readonly taken: number };
  };
  /** What answers such a request; null for nothing. */
  readonly declared: (
    namespace: NamespaceRef,
    segments: readonly string[],
    capability: Operation,
  ) => DeclaredAccess | null;
  /** The one form of a path. */
  readonly canonical: (namespace: NamespaceRef, segments: readonly string[]) => readonly string[];
  readonly mountOf: (
    namespace: NamespaceRef,
    segments: readonly string[],
  ) => {
    readonly point: string;
    readonly type: string;
  };
  /** Of the last write. */
  readonly index: () => bigint;
  readonly clock: Clock;
  readonly turns: Turns;
}

export type Operation = Exclude<Capability, "sudo">;

export interface DescribedRequest {
  readonly id: string;
  /** Whose: a token that there is, one with these policies, or nobody's. */
  readonly accessor: string | undefined;
  readonly policies: readonly string[] | undefined;
  readonly withoutDefault: boolean;
  readonly operation: Operation;
  readonly path: string;
  /** Below the one in which it is asked. */
  readonly namespace: string;
  readonly data: JsonObject;
  readonly remoteAddress: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly time: Instant | null;
  readonly wrapTtl: Nanos | null;
  readonly override: boolean;
  readonly documents: readonly GivenDocument[];
}

export interface Inspected {
  readonly allowed: boolean;
  readonly operation: Operation;
  /** Whether `sudo` is needed beside it. */
  readonly sudo: boolean;
  readonly reason: string;
  /** Null where no ACL was asked: management, or what needs none. */
  readonly explanation: Explanation | null;
  /** Of RGPs and EGPs, in order; none after a denial by the ACL. */
  readonly judged: readonly Judged[];
  readonly overrideNeeded: boolean;
}

interface Placed {
  readonly namespace: NamespaceRef;
  readonly segments: readonly string[];
  readonly path: string;
}

export class Inspection {
  readonly #options: InspectionOptions;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  async inspect(from: NamespaceRef, described: DescribedRequest): Promise<Inspected> {
    const { governing } = this.#options;
    const { operation } = described;
    const place = this.#place(from, described);
    const load = () => governing.programs();
    const documents = await readTrialDocuments(described.documents, from, load);
    const caller = this.#callerOf(from, place.namespace, described, documents);
    const declared = this.#options.declared(place.namespace, place.segments, operation);
    const kind = declared?.access.kind ?? "capability";
    const sudo = declared?.access.kind === "capability" && declared.access.sudo;
    const base = { operation, sudo, explanation: null, judged: [], overrideNeeded: false };

    const early = withoutPolicies(caller, place.namespace, declared);
    if (early !== null) return { ...base, ...early };
    const asked = (needed: boolean) =>
      caller === null ? null : this.#explain(caller, place, described, documents, needed);
    const explanation = kind === "capability" ? await asked(sudo) : null;
    if (explanation?.allowed === false) {
      return { ...base, allowed: false, reason: explanation.reason, explanation };
    }
    const path = kind === "ceremony" ? null : place.path;
    const policies = await governing.applyingWith(documents, caller, place.namespace, path);
    const trials = documents.programs;
    const judged =
      policies.length === 0
        ? []
        : await governing.evaluate(policies, this.#inputOf(place, caller, described), { trials });
    const override =
      described.override && (!governing.overrideNeedsSudo || (await asked(true))?.allowed === true);
    const { allowed, overrideNeeded } = conclude(judged, { override, trace: false });
    const reason = allowed
      ? (explanation?.reason ?? "no ACL policy is asked here")
      : "governing policies deny it";
    return { ...base, allowed, reason, explanation, judged, overrideNeeded };
  }

  // --- inside ---

  /** By the rules of request paths, but for the slash at the end, which rules may be asked about. */
  #place(from: NamespaceRef, { namespace: below, path, operation }: DescribedRequest): Placed {
    const base = this.#namespaceBelow(from, below);
    const text = path.replace(/^\//, "");
    const folder = text.endsWith("/");
    const all = (folder ? text.slice(0, -1) : text).split("/");
    if (text !== "" && !all.every(isSegment)) throw failures.pathInvalid();
    const { namespace, taken } = this.#options.namespaces.resolve(base, all);
    const segments = this.#options.canonical(namespace, all.slice(taken));
    const slash = folder || operation === "list" ? "/" : "";
    return { namespace, segments, path: `${segments.join("/")}${slash}` };
  }

  #namespaceBelow(from: NamespaceRef, given: string): NamespaceRef {
    const below = given.replace(/^\//, "").replace(/\/$/, "");
    if (below === "") return from;
    const path = from.path === "" ? below : `${from.path}/${below}`;
    const found = this.#options.namespaces.named(path);
    if (found === null) throw failures.namespaceUnknown();
    return found;
  }

  /** A token of the namespace that the request goes to, or of one above it, as far up as the asker
   *  may see. Null for a request without a token. */
  #callerOf(
    from: NamespaceRef,
    target: NamespaceRef,
    { accessor, policies, withoutDefault, time }: DescribedRequest,
    { acls, rgps }: TrialDocuments,
  ): Caller | null {
    const tried = [...acls.keys(), ...rgps.map(({ name }) => name)];
    if (accessor !== undefined) {
      const found = this.#owner(from, target, accessor);
      if (found.type === "management" || tried.length === 0) return found;
      return { ...found, policies: [...found.policies, ...tried] };
    }
    if (policies === undefined && tried.length === 0) return null;
    return {
      accessor: "",
      type: "client",
      name: "",
      policies: [...(policies ?? []), ...tried],
      namespace: from,
      global: false,
      created: time ?? this.#options.clock.now(), // as if it were made for the request
      expires: null,
      withoutDefault,
    };
  }

  #owner(from: NamespaceRef, target: NamespaceRef, accessor: string): Caller {
    const { tokens, namespaces } = this.#options;
    let { path } = target;
    for (;;) {
      const namespace = namespaces.named(path);
      const found = namespace === null ? null : tokens.callerBy(namespace, accessor);
      if (found !== null) return found;
      if (path === from.path || path === "") throw failures.accessorInvalid();
      path = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    }
  }

  async #explain(
    caller: Caller,
    { namespace, path }: Placed,
    { operation, data, wrapTtl, time }: DescribedRequest,
    documents: TrialDocuments,
    sudo: boolean,
  ): Promise<Explanation> {
    const { policies, clock, turns, index } = this.#options;
    let { rights } = this.#options;
    if (documents.acls.size > 0 || time !== null) {
      const now = time ?? clock.now();
      const then = { now: () => now, elapsed: () => clock.elapsed() };
      const stored = withTrials(policies, documents, now, index());
      rights = new Rights({ policies: stored, clock: then, turns });
    }
    const acl = await rights.aclOf(caller, namespace);
    invariant(acl !== null, "whoever is out of its namespace was refused before");
    return explain(acl, { path, capability: operation, sudo, data, wrapTtl });
  }

  #inputOf(
    { namespace, segments, path }: Placed,
    caller: Caller | null,
    described: DescribedRequest,
  ): ProgramInput {
    const { point, type } = this.#options.mountOf(namespace, segments);
    const visible = new Set(this.#options.governing.headers()); // of a real one no more is seen
    const headers = Object.entries(described.headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => visible.has(name))
      .map(([name, value]) => [name, value.split(",").map((one) => one.trim())] as const);
    return {
      now: described.time ?? this.#options.clock.now(),
      request: {
        id: described.id,
        path,
        operation: described.operation,
        data: described.data,
        remoteAddress: described.remoteAddress,
        remotePort: 0,
        headers: Object.fromEntries(headers),
        wrapTtl: described.wrapTtl,
        policyOverride: described.override,
        unauthenticated: caller === null,
        mountPoint: point,
        mountType: type,
        mountAccessor: "",
      },
      token: caller === null ? null : programToken(caller),
      namespace: { id: namespace.id, path: namespace.path },
      replication: NO_REPLICATION,
    };
  }
}

/** What is decided without asking a policy; null for the rest. */
function withoutPolicies(
  caller: Caller | null,
  namespace: NamespaceRef,
  declared: DeclaredAccess | null,
): { readonly allowed: boolean; readonly reason: string } | null {
  const no = (reason: string) => ({ allowed: false, reason });
  const kind = declared?.access.kind ?? "capability";
  if (declared?.rootOnly === true && namespace.path !== "") {
    return no("restricted endpoint: it is there in the root namespace only");
  }
  if (caller === null) {
    if (declared?.login === true) return null;
    const open = kind === "open" || kind === "ceremony";
    if (!open) return no("missing client token");
    return { allowed: true, reason: "it is open to everybody, and no policy judges it" };
  }
  if (!isAtOrBelow(namespace, caller.namespace)) {
    return no("a token works in its own namespace and below");
  }
  if (caller.type === "management") {
    const reason = "a management token may do everything, and no policy judges it";
    return { allowed: true, reason };
  }
  return kind === "management" ? no("it needs a management token") : null;
}
