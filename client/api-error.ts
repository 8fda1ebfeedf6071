// The server's refusal: its status, its texts, and the kind of failure it is on our side. The one
// table from status to kind.

import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";

export interface Refusal {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly errors: readonly string[];
  /** The word by which docs/errors.md knows it; null when none was told, as by a proxy. */
  readonly code: string | null;
  /** Id of the request, for whoever reads the server's audit; empty when it was not told. */
  readonly requestId: string;
  readonly body: JsonValue | undefined; // what was answered, where it was JSON
  readonly retryAfter?: number;
}

/**
 * @code status-* The server refused with this status and told no other code.
 * @remedy Read its text; the request id leads to the server's log.
 */
export class ApiError extends Failure {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly errors: readonly string[];
  readonly requestId: string;
  readonly body: JsonValue | undefined;

  constructor({ method, path, status, errors, code, requestId, body, retryAfter }: Refusal) {
    const message =
      errors.length > 0 ? errors.join("; ") : (DEFAULT_TEXTS.get(status) ?? "refused");
    super(kindOf(status, errors), code ?? `status-${status}`, message, {
      texts: errors,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
    this.name = "ApiError";
    this.method = method;
    this.path = path;
    this.status = status;
    this.errors = errors;
    this.requestId = requestId;
    this.body = body;
  }

  /** Whether one of the texts that are kept stable for clients is among the server's. */
  says(text: string): boolean {
    return this.errors.includes(text);
  }
}

// For answers without a text: the server leaves it out where it would tell too much.
const DEFAULT_TEXTS: ReadonlyMap<number, string> = new Map([
  [400, "the request is not valid"],
  [403, "permission denied"],
  [404, "there is nothing at this path"],
  [405, "this operation is not supported here"],
  [429, "too many requests"],
  [500, "the server failed to answer"],
  [502, "a system behind the server failed"],
  [503, "the server cannot answer at the moment"],
]);

const KINDS: ReadonlyMap<number, FailureKind> = new Map([
  [400, "invalid"],
  [401, "denied"],
  [403, "denied"],
  [404, "not-found"],
  [405, "unsupported"],
  [408, "late"],
  [409, "conflict"],
  [412, "behind"],
  [413, "too-large"],
  [415, "media-type"],
  [421, "misdirected"],
  [429, "rate-limited"],
  [431, "headers-too-large"],
  [501, "uninitialised"],
  [502, "upstream"],
  [503, "unavailable"],
  [504, "timed-out"],
  [508, "looping"],
]);

function kindOf(status: number, errors: readonly string[]): FailureKind {
  if (status === 503 && errors.includes("service is sealed")) return "sealed";
  if (errors.includes("service is not initialized")) return "uninitialised";
  return KINDS.get(status) ?? (status < 500 ? "invalid" : "internal");
}

/** The texts of an error body; none where it has another form, such as a proxy's page. */
export function errorsOf(body: JsonValue | undefined): readonly string[] {
  if (!isObject(body)) return [];
  const { errors } = body;
  return Array.isArray(errors) ? errors.filter((text) => typeof text === "string") : [];
}
