// What would become of a request, and why: the stages of the pipeline that decide, on a request that
// somebody describes. Nothing is executed, counted or logged. For
// those who may know everything about policies: a caller never learns this of its own denial.

import type { Whose } from "@holdfast/shared/sliced";
import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { isSegment, MAX_PATH, MAX_SEGMENTS } from "@holdfast/shared/text/canonical-path";
import { invariant } from "@holdfast/shared/invariant";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Clock, Instant, Nanos } from "@holdfast/shared/world";
import type { Access, Capability } from "@holdfast/shared/endpoint/access";
import type { Question } from "../../endpoint/decision.ts";
import {
  type Caller,
  isAtOrBelow,
  type NamespaceRef,
  type Remote,
} from "@holdfast/shared/endpoint/request";
import { explain, type Explanation } from "../../acl/explain.ts";
import type { ProgramInput } from "../../program/request/program-input.ts";
import type { Turns } from "../compiled-acls.ts";
import * as failures from "../failures.ts";
import type { Governing } from "../governing/governing.ts";
import { conclude, type Judged } from "../governing/judging.ts";
import { type Home, programInput } from "../governing/program-request.ts";
import { Rights, type StoredPolicies } from "../rights.ts";
import {
  type TrialDocument,
  readTrialDocuments,
  type TrialDocuments,
  withTrials,
} from "../governing/trial-documents.ts";

/** What is declared for a path, as far as it decides. */
export interface DeclaredAccess {
  readonly access: Access;
  readonly rootOnly: boolean;
  readonly login: boolean;
  /** How the values of parameters are read. */
  readonly byName: Question["fields"];
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
  /** Fields of a request as rules on parameters and programs would see them. */
  readonly dataAt: (
    namespace: NamespaceRef,
    segments: readonly string[],
    capability: Operation,
    fields: JsonObject,
  ) => JsonObject;
  readonly homeOf: (namespace: NamespaceRef, segments: readonly string[]) => Home;
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
  readonly remote: Pick<Remote, "address" | "port">;
  readonly headers: Readonly<Record<string, string>>;
  readonly time: Instant | null;
  readonly wrapTtl: Nanos | null;
  readonly override: boolean;
  readonly documents: readonly TrialDocument[];
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

  /** Ids of the namespaces whose policies are not named to whoever asks. */
  above(asker: Caller | null): ReadonlySet<string> {
    return this.#options.governing.above(asker?.namespace ?? null);
  }

  async inspect(from: NamespaceRef, request: DescribedRequest, asker: Whose): Promise<Inspected> {
    const { governing, clock, turns } = this.#options;
    const { operation } = request;
    const place = this.#place(from, request);
    const data = this.#options.dataAt(place.namespace, place.segments, operation, request.data);
    const described = { ...request, data };
    const load = () => governing.programs();
    const pace = { clock, turns, whose: asker };
    const documents = await readTrialDocuments(described.documents, from, load, pace);
    const declared = this.#options.declared(place.namespace, place.segments, operation);
    const whose = this.#callerOf(from, place.namespace, described, documents);
    const caller = looksAtCaller(declared) ? whose : null;
    const kind = declared?.access.kind ?? "capability";
    const sudo = declared?.access.kind === "capability" && declared.access.sudo;
    const base = { operation, sudo, explanation: null, judged: [], overrideNeeded: false };

    const early = withoutPolicies(caller, place.namespace, declared, described);
    if (early !== null) return { ...base, ...early };
    const explained = (needed: boolean) =>
      caller === null
        ? null
        : this.#explain(caller, place, described, documents, {
            sudo: needed,
            fields: declared?.byName,
          });
    const isFree = caller?.type === "management";
    const explanation = kind === "capability" && !isFree ? await explained(sudo) : null;
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
    const mayOverride = async () =>
      !governing.overrideNeedsSudo || isFree || (await explained(true))?.allowed === true;
    const override = described.override && (await mayOverride());
    const { allowed, overrideNeeded } = conclude(judged, { override, trace: false });
    const reason = allowed
      ? (explanation?.reason ?? (isFree ? MANAGEMENT : "no ACL policy is asked here"))
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
    const long = text.length > MAX_PATH || all.length > MAX_SEGMENTS;
    if (long || (text !== "" && !all.every(isSegment))) throw failures.pathInvalid();
    const { namespace, taken } = this.#options.namespaces.resolve(base, all);
    const segments = this.#options.canonical(namespace, all.slice(taken));
    const slash = folder || operation === "list" || operation === "scan" ? "/" : "";
    return { namespace, segments, path: `${segments.join("/")}${slash}` };
  }

  #namespaceBelow(from: NamespaceRef, text: string): NamespaceRef {
    const below = withoutSlashes(text);
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
      if (policies !== undefined || withoutDefault) throw failures.twoAskers();
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
    { sudo, fields }: Pick<Question, "sudo" | "fields">,
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
    return explain(acl, { path, capability: operation, sudo, data, fields, wrapTtl });
  }

  #inputOf(
    { namespace, segments, path }: Placed,
    caller: Caller | null,
    described: DescribedRequest,
  ): ProgramInput {
    const headers = new Map(
      Object.entries(described.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const request = {
      ...described,
      now: described.time ?? this.#options.clock.now(),
      namespace,
      path,
      header: (name: string) => headers.get(name),
      caller,
      home: this.#options.homeOf(namespace, segments),
    };
    return programInput(request, this.#options.governing);
  }
}

const MANAGEMENT = "a management token may do everything that no namespace above denies it";

/** What is open to everybody answers whoever has a token as it does everybody else. */
function looksAtCaller(declared: DeclaredAccess | null): boolean {
  return declared?.access.kind !== "open" || declared.access.caller !== "ignored";
}

/** What is decided without asking a policy; null for the rest. */
function withoutPolicies(
  caller: Caller | null,
  namespace: NamespaceRef,
  declared: DeclaredAccess | null,
  { remote }: DescribedRequest,
): { readonly allowed: boolean; readonly reason: string } | null {
  const no = (reason: string) => ({ allowed: false, reason });
  const kind = declared?.access.kind ?? "capability";
  if (declared?.rootOnly === true && namespace.path !== "") {
    return no("restricted endpoint: it is there in the root namespace only");
  }
  if (kind === "drOperation") {
    return no("a disaster-recovery secondary answers it, to whoever has an operation token");
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
  if (caller.boundTo?.has(remote.address) === false) {
    return no("the token is bound to other addresses");
  }
  const isClient = caller.type !== "management";
  return kind === "management" && isClient ? no("it needs a management token") : null;
}
