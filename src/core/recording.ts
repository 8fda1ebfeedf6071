// What is recorded of a request: one line when it may run, one with its answer. A request that is refused
// has the same two, and a fault of ours is told by its place alone.

import { Failure } from "@holdfast/shared/failure";
import { traceOf } from "@holdfast/shared/fault";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { AuditedRequest } from "../endpoint/audited.ts";
import type { Decision } from "../endpoint/decision.ts";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { isPublic } from "./need.ts";
import type { RequestState } from "./request-state.ts";
import type { PipelineParts, TokenLookup } from "./seams.ts";
import { broaderWord, methodNotAllowed, permissionDenied, tokenExpired } from "./failures.ts";
import * as failures from "./failures.ts";

/** What says that there is no record cannot have one. */
const UNRECORDED: ReadonlySet<string> = new Set(["audit-failed", "audit-busy"]);

export class Recording {
  readonly #parts: PipelineParts;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
  }

  /** What is recorded before it runs; null where nothing is. `judged`: here, and not where it goes. */
  ofRequest(state: RequestState, endpoint: Served | null, judged = true): AuditedRequest | null {
    return this.#isRecorded(state, endpoint) ? state.audited(judged) : null;
  }

  /** The answer's record names who has let it through, or refused it, in the end. Where those are the same, what
   *  was made of the request for its first record serves the second. */
  judgedAgain(state: RequestState): void {
    const { recorded } = state;
    if (recorded !== null && !isJudgedAlike(recorded, state)) state.recorded = state.audited(true);
  }

  /** Also while the node seals: it waits for running requests, and audit closes only then. What ran
   *  longer than it waits cannot be recorded any more, and is not given out. */
  response(state: RequestState, reply: Reply): Promise<void> | void {
    const { audit } = this.#parts;
    if (state.recorded === null || state.aside) return undefined;
    if (!audit.isOpen) throw failures.sealed();
    const data = recordedData(reply);
    const { auth, warnings, wrapInfo } = reply;
    const leaseId = reply.leased?.id ?? "";
    return audit.response(state.recorded, {
      data,
      auth,
      leaseId,
      wrapInfo,
      warnings,
      noted: state.noted,
      error: "",
    });
  }

  /** Everything but what is declared otherwise, and what a listener opens to all (metrics). */
  #isRecorded({ caller, incoming, recorded }: RequestState, endpoint: Served | null): boolean {
    const { node, audit } = this.#parts;
    if (!audit.isOpen || endpoint?.audited === false) return false;
    if (recorded !== null) return true; // it began before the node sealed
    if (node.sealed) return false;
    if (endpoint?.access.kind !== "capability" || endpoint.access.openTo === null) return true;
    return caller !== null || !incoming.listener.openings[endpoint.access.openTo];
  }

  /** The end of the way for a request that is not answered: two records, as for every other. */
  async refusal(state: RequestState, error: unknown): Promise<Failure> {
    const { audit, quotas } = this.#parts;
    const failure = this.#failureOf(state, error);
    state.headers = { ...state.headers, ...allowed(state, failure), ...failure.headers };
    if (UNRECORDED.has(failure.code) || !this.#isRecorded(state, state.endpoint)) {
      return failure;
    }
    // What was recorded when it came in has its second record too.
    const unseen = state.recorded === null;
    if (failure.kind === "rate-limited" && unseen && !quotas.auditRefusals) return failure;
    try {
      const audited = state.recorded ?? state.audited(false);
      if (state.recorded === null) await audit.request(audited, failure.message);
      const { noted } = state;
      await audit.response(audited, {
        data: undefined,
        warnings: [],
        noted,
        error: failure.message,
      });
      return failure;
    } catch (unrecorded) {
      return this.#failureOf(state, unrecorded);
    }
  }

  #failureOf(state: RequestState, error: unknown): Failure {
    const { incoming, endpoint } = state;
    if (error instanceof Failure) {
      return state.isAcl ? inAclWords(error, state, this.#parts) : error;
    }
    // The message of a foreign error may quote what it failed on: only its place is told.
    const fields = { request: incoming.id, endpoint: endpoint?.name ?? "", fault: traceOf(error) };
    this.#parts.log.error("a request failed for a fault of ours", fields);
    return failures.internal(incoming.id, error);
  }
}

function isJudgedAlike(
  recorded: AuditedRequest,
  { caller, decision, judgement }: RequestState,
): boolean {
  return (
    recorded.caller === caller &&
    recorded.judgement === judgement &&
    isSameDecision(recorded.decision, decision)
  );
}

/** Two that name the same policies are told alike. */
function isSameDecision(one: Decision | null, other: Decision | null): boolean {
  if (one === other) return true;
  if (one === null || other === null || one.allowed !== other.allowed) return false;
  const { granting } = other;
  return (
    one.granting.length === granting.length &&
    one.granting.every(
      ({ name, namespaceId }, i) =>
        name === granting[i]?.name && namespaceId === granting[i].namespaceId,
    )
  );
}

/** Of a stream a record has what is known before it begins. */
function recordedData({ data }: Reply): JsonObject | undefined {
  if (data instanceof StreamBody) return { content_type: data.contentType, length: data.length };
  return data as JsonObject | undefined; // text and lists are values of JSON as well
}

/** What can be done on the path, for whoever may know that there is something. */
function allowed(
  { route, caller, restricted }: RequestState,
  { kind }: Failure,
): Record<string, string> {
  const explained = kind === "unsupported" && (caller !== null || isPublic(route)) && !restricted;
  if (!explained || route.methods.size === 0) return {};
  const verbs = [...route.methods].flatMap(([method, { head }]) =>
    method === "POST" ? ["POST", "PUT"] : head ? [method, "HEAD"] : [method],
  );
  return { Allow: verbs.join(", ") };
}

// --- acl words ---

// Refusals on /acl/ in the words that clients of the ACL API match on: one text
// for whoever may not, and machine words with underscores.

const DENIED = "Permission denied";

/** What is wrong with the cluster that writes what is shared, with the link to it, and with what has come from there: told by one word on every
 *  path. */
const OF_THE_PRIMARY: ReadonlySet<string> = new Set([
  "primary-unreachable",
  "primary-busy",
  "too-many-region-queries",
  "primary-lost",
  "primary-not-serving",
  "primary-refuses",
  "primary-superseded",
  "no-primary",
  "forward-answer-too-large",
  "forward-too-large",
  "forward-refused",
  "shared-half",
  "global-tokens-stale",
  "global-tokens-unapplied",
  "replication-fenced",
  "replication-role-changing",
  "first-copy",
]);

export function inAclWords(
  failure: Failure,
  { incoming, endpoint }: RequestState,
  { tokens }: { readonly tokens: TokenLookup },
): Failure {
  const { code, retryAfter, headers } = failure;
  // Words with underscores are the room's own; a record that failed is told as everywhere.
  if (code.includes("_") || code.startsWith("audit-") || OF_THE_PRIMARY.has(code)) return failure;
  const more = { cause: failure, headers, ...(retryAfter === null ? {} : { retryAfter }) };
  switch (code) {
    case "missing-token":
    case "permission-denied":
      return permissionDenied(DENIED, more);
    case "invalid-token": {
      if (incoming.credential === null || !tokens.hasExpired(incoming.credential)) {
        return permissionDenied(DENIED, more);
      }
      const text = endpoint?.tellsExpiry === true ? "ACL token expired" : DENIED;
      return tokenExpired(text, more);
    }
    case "unsupported-operation":
      return methodNotAllowed("Invalid method", more);
    default:
      return broaderWord(failure, more);
  }
}
