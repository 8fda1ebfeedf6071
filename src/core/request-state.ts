// One request on its way through the pipeline: what is known of it so far. Stages add to it; audit
// records and the outcome are told from it, wherever the way ended.

import type { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import type { AuditedRequest } from "../endpoint/audited.ts";
import type { Decision } from "../endpoint/decision.ts";
import type { BodyStream } from "@holdfast/shared/endpoint/stream";
import { READ_SNAPSHOT, type Served } from "@holdfast/shared/endpoint/endpoint";
import type { Judgement } from "../endpoint/judgement.ts";
import type { Home } from "../endpoint/parts.ts";
import { Reply } from "@holdfast/shared/endpoint/reply";
import {
  type Caller,
  type MountRef,
  type NamespaceRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { Found } from "./found.ts";
import type { Incoming, Outcome } from "./incoming.ts";
import type { Meant } from "@holdfast/shared/endpoint/operation";
import type { Query } from "@holdfast/shared/text/query";
import type { RequestInput } from "@holdfast/shared/endpoint/input";
import type { Route } from "@holdfast/shared/endpoint/router";

const NO_HEADERS: Readonly<Record<string, string>> = {};
const NO_BODY: JsonObject = {};
const NO_ADVICE: readonly string[] = [];

/** Before anybody has looked. */
const NOWHERE = new Found();

export class RequestState {
  readonly incoming: Incoming;
  readonly time: Instant;
  /** When all of it was there, body included: what programs take for now. */
  complete: Instant;
  /** Where it goes, with everything that is derived from that. Found anew, it is another one. */
  found = NOWHERE;
  /** It names another region, which decides everything about it. */
  passedOn = false;
  /** It belongs to another node, which decides everything about it. */
  elsewhere = false;
  caller: Caller | null = null;
  /** The store's index when place and caller were looked up; 0 while sealed. */
  asOf = 0n;
  /** The caller, where this request is the last that its token may make. */
  spent: Caller | null = null;
  body: JsonObject | null = null;
  bytes = 0; // of the body
  /** The body is what a loaded snapshot held. */
  recalled = false;
  /** Its body is read, and so long that addresses take turns with whatever is done with it. */
  takesTurns = false;
  /** Where the endpoint takes its body as it comes. */
  stream: BodyStream | undefined = undefined;
  /** Whether what the path names was there when it was judged; null where nobody has looked. One look is for
   *  all who judge. */
  exists: boolean | null = null;
  decision: Decision | null = null;
  /** What the holder of an operation token is told with its answer; empty for nearly every one. */
  advice: readonly string[] = NO_ADVICE;
  /** Null where no RGP and no EGP applies. */
  judgement: Judgement | null = null;
  headers = NO_HEADERS;
  /** Up to where another cluster has written for it, and which primary of the set that was. */
  writtenThere = 0n;
  writtenBy = 0;
  /** What the record of its answer says besides, be it refused or not; null for nearly every one. */
  noted: Readonly<Record<string, string>> | null = null;
  /** Nobody waits for its end: the node seals under it. */
  aside = false;
  /** What the request record said, once it was taken: the response record says the same. */
  recorded: AuditedRequest | null = null;

  constructor(incoming: Incoming, time: Instant) {
    this.incoming = incoming;
    this.time = time;
    this.complete = time;
  }

  get path(): CanonicalPath | null {
    return this.found.path;
  }

  get query(): Query {
    return this.found.query;
  }

  get meant(): Meant | null {
    return this.found.meant;
  }

  get namespace(): NamespaceRef | null {
    return this.found.namespace;
  }

  get route(): Route {
    return this.found.route;
  }

  get below(): readonly Served[] {
    return this.found.below;
  }

  get endpoint(): Served | null {
    return this.found.endpoint;
  }

  get mount(): MountRef | null {
    return this.found.mount;
  }

  get respelled(): boolean {
    return this.found.respelled;
  }

  get restricted(): boolean {
    return this.found.restricted;
  }

  get home(): Home {
    return this.found.home;
  }

  get pathValues(): Readonly<Record<string, string>> {
    return this.found.pathValues;
  }

  /** What the request holds for its endpoint, read once; null where there is none. Asked for first when
   *  the body is there. */
  get input(): RequestInput | null {
    return this.found.inputOf(this.body ?? NO_BODY);
  }

  /** What rules on parameters and programs look at: null for nothing at all. */
  get data(): JsonObject | null {
    const { input } = this;
    if (input === null) return this.body;
    return input.isEmpty ? this.body : input.data;
  }

  /** The loaded snapshot that the request names, to be answered or recovered from; null for nearly every one. */
  get snapshotId(): string | null {
    const { recoverFrom = null } = this.incoming;
    if (recoverFrom !== null) return recoverFrom;
    if (this.query.size === 0) return null;
    const id = this.query.get(READ_SNAPSHOT);
    return id === true ? "" : (id ?? null);
  }

  /** From here on it is judged, recorded and handled as if this had been sent. */
  takeBody(body: JsonObject, bytes: number): void {
    this.recalled = true;
    this.body = body;
    this.bytes = bytes;
    this.found.forgetInput();
  }

  /** For policies: relative to the namespace, lists with a slash at the end. */
  get policyPath(): string {
    const text = this.path?.text ?? "";
    return this.meant?.operation === "list" ? `${text}/` : text;
  }

  /** Whether the bytes of the body may hold a secret: what was not read, or not wholly, may. */
  get mayHoldSecret(): boolean {
    if (this.endpoint?.secretBody !== true) return false;
    const { input } = this.found;
    return this.body === null || input === null || input.mayHoldSecret;
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
      snapshotId: this.snapshotId,
      decision: this.decision,
      judgement: this.judgement,
      forwarded: incoming.forwarded ?? null,
      header: (name) => incoming.header(name),
      kept: null,
    };
  }

  /** Everything that came, also where nothing reads it: a record leaves nothing out. */
  #recordedData(judged: boolean): JsonObject | null {
    const input = judged ? this.input : this.found.input;
    if (input !== null && (judged || input.isFormed)) {
      return input.isEmpty ? this.body : input.recorded;
    }
    return this.query.size === 0 ? this.body : { ...Object.fromEntries(this.query), ...this.body };
  }

  /** Whether the path is one of the ACL API, which has its own words for refusals. */
  get isAcl(): boolean {
    return this.path?.segments[0] === "acl";
  }

  /** `index` is the last of the log; null while sealed. `state`: what is told of it. */
  outcome(result: Reply | Failure, index: bigint | null, state: string | null = null): Outcome {
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
      state,
      index: result instanceof Reply ? (result.index ?? index) : null,
    };
  }
}

/** Values of a query are recorded as hashes or not at all, also where its path was refused. */
function rawPathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}
