// One request on its way through the pipeline: what is known of it so far. Stages add to it; audit
// records and the outcome are told from it, wherever the way ended.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { AuditedRequest } from "../endpoint/audited.ts";
import type { Decision } from "../endpoint/decision.ts";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Judgement } from "../endpoint/judgement.ts";
import { type Home, homeOf } from "../endpoint/parts.ts";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type Caller,
  type MountRef,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import type { Incoming, Outcome } from "./incoming.ts";
import type { Meant } from "@holdfast/shared/endpoint/operation";
import { NO_QUERY, type Query } from "@holdfast/shared/text/query";
import { RequestInput } from "@holdfast/shared/endpoint/input";
import { namedValues, type Route } from "@holdfast/shared/endpoint/router";

const NO_HEADERS: Readonly<Record<string, string>> = {};
const NO_VALUES: Readonly<Record<string, string>> = {};
const NO_BODY: JsonObject = {};
const NO_ROUTE: Route = { methods: new Map(), segments: [], values: [] };

export class RequestState {
  readonly incoming: Incoming;
  readonly time: Instant;
  /** When all of it was there, body included: what programs take for now. */
  complete: Instant;
  /** Relative to the namespace; null while, and where, it is not canonical. */
  path: CanonicalPath | null = null;
  query: Query = NO_QUERY;
  meant: Meant | null = null;
  /** Null where the request names one that does not exist. */
  namespace: NamespaceRef | null = ROOT_NAMESPACE;
  route: Route = NO_ROUTE;
  /** All that a mount serves, where the path is the mount itself. */
  below: readonly Served[] = [];
  /** Null without a route, and where the route does not exist in this namespace. */
  endpoint: Served | null = null;
  /** What the path leads to, where that is no part of the server itself. */
  mount: MountRef | null = null;
  /** The path was sent in another spelling than its one form. */
  respelled = false;
  /** The route is there, but not in a child namespace. */
  restricted = false;
  /** It belongs to another node, which decides everything about it. */
  elsewhere = false;
  caller: Caller | null = null;
  /** The store's index when place and caller were looked up; 0 while sealed. */
  asOf = 0n;
  /** The caller, where this request is the last that its token may make. */
  spent: Caller | null = null;
  body: JsonObject | null = null;
  bytes = 0; // of the body
  /** Where the endpoint takes its body as it comes. */
  stream: BodyStream | undefined = undefined;
  /** Whether what the path names was there when it was judged; null where nobody has looked. One look is for
   *  all who judge. */
  exists: boolean | null = null;
  decision: Decision | null = null;
  /** Null where no RGP and no EGP applies. */
  judgement: Judgement | null = null;
  headers = NO_HEADERS;
  /** Nobody waits for its end: the node seals under it. */
  aside = false;
  /** What the request record said, once it was taken: the response record says the same. */
  recorded: AuditedRequest | null = null;
  #input: RequestInput | null = null;
  #home: Home | null = null;
  #pathValues: Readonly<Record<string, string>> | null = null;

  constructor(incoming: Incoming, time: Instant) {
    this.incoming = incoming;
    this.time = time;
    this.complete = time;
  }

  /** What the request holds for its endpoint, read once; null where there is none. Asked for first when
   *  the body is there. */
  get input(): RequestInput | null {
    const { endpoint } = this;
    if (endpoint === null) return null;
    this.#input ??= new RequestInput(endpoint, {
      path: this.pathValues,
      query: this.query,
      body: this.body ?? NO_BODY,
    });
    return this.#input;
  }

  /** What rules on parameters and programs look at: null for nothing at all. */
  get data(): JsonObject | null {
    const { input } = this;
    if (input === null) return this.body;
    return input.isEmpty ? this.body : input.data;
  }

  /** Parameters of the path by name. Asked for first when the route was found. */
  get pathValues(): Readonly<Record<string, string>> {
    if (this.endpoint === null) return NO_VALUES;
    return (this.#pathValues ??= namedValues(this.endpoint, this.route));
  }

  /** For policies: relative to the namespace, lists with a slash at the end. */
  get policyPath(): string {
    const text = this.path?.text ?? "";
    return this.meant?.operation === "list" ? `${text}/` : text;
  }

  /** The part of the server, or the mount, that the path belongs to. Asked for first when the way of the
   *  path is known. */
  get home(): Home {
    return (this.#home ??= homeFor(this.mount, this.path?.segments ?? []));
  }

  /** Whether the bytes of the body may hold a secret: what was not read, or not wholly, may. */
  get mayHoldSecret(): boolean {
    if (this.endpoint?.secretBody !== true) return false;
    return this.body === null || this.#input === null || this.#input.mayHoldSecret;
  }

  /** `judged`: in the form that was judged. What was refused before anybody looked at its values is told as it
   *  was sent, since nobody works on values of a caller without a right. */
  audited(judged: boolean): AuditedRequest {
    const { incoming, path } = this;
    const { point, type } = this.home;
    return {
      id: incoming.id,
      time: this.time,
      operation: this.meant?.operation ?? "read",
      namespace: this.namespace ?? ROOT_NAMESPACE,
      path,
      rawPath: path === null ? rawPathOf(incoming.target) : null,
      mountPoint: point,
      mountType: type,
      mountAccessor: this.mount?.accessor ?? "",
      readable: this.mount?.readable,
      caller: this.caller,
      credential: incoming.credential,
      data: this.#recordedData(judged),
      remote: incoming.remote,
      wrapTtl: incoming.wrapTtl,
      policyOverride: incoming.policyOverride,
      decision: this.decision,
      judgement: this.judgement,
      header: (name) => incoming.header(name),
    };
  }

  /** Everything that came, also where nothing reads it: a record leaves nothing out. */
  #recordedData(judged: boolean): JsonObject | null {
    const input = judged ? this.input : this.#input;
    if (input !== null && (judged || input.isFormed)) {
      return input.isEmpty ? this.body : input.recorded;
    }
    return this.query.size === 0 ? this.body : { ...Object.fromEntries(this.query), ...this.body };
  }

  /** Whether the path is one of the ACL API, which has its own words for refusals. */
  get isAcl(): boolean {
    return this.path?.segments[0] === "acl";
  }

  /** `index` is the last of the log; null while sealed. */
  outcome(result: Reply | Failure, index: bigint | null): Outcome {
    const { endpoint, meant } = this;
    const read = meant?.operation === "read" || meant?.operation === "list";
    const helped = meant?.operation === "help";
    return {
      result,
      // Refusals on /acl/ look as its answers do, whether or not there is a route.
      family: helped ? "bare" : (endpoint?.family ?? (this.isAcl ? "acl" : "enveloped")),
      flat: read && endpoint !== null && this.mount === null && endpoint.path.startsWith("/sys/"),
      operation: endpoint === null ? null : (meant?.operation ?? null),
      mountType: endpoint === null ? "" : this.home.type,
      headOnly: meant?.headOnly ?? false,
      pretty: this.isAcl && this.query.has("pretty") && this.query.get("pretty") !== "0",
      headers: this.headers,
      index: result instanceof Reply ? (result.index ?? index) : null,
    };
  }
}

function homeFor(mount: MountRef | null, segments: readonly string[]): Home {
  return mount === null ? homeOf(segments) : { point: mount.path, type: mount.type };
}

/** Values of a query are recorded as hashes or not at all, also where its path was refused. */
function rawPathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}
