// What went wrong, in the caller's terms. http/, cli/ and plugins/ each own one table from kind to
// status, exit code or gRPC code; nothing else in the house knows those numbers.

import { kindOf, traceOf, wordsOf } from "./fault.ts";

export type FailureKind =
  | "invalid" // the input is wrong; the message says what would be accepted
  | "denied"
  | "not-found"
  | "conflict"
  | "too-large"
  | "sealed" // the node has no keys yet
  | "uninitialised"
  | "unavailable" // not now: stopping, full, failed
  | "damaged" // stored bytes are not what we wrote
  | "unsupported" // the path is there, the operation on it is not
  | "media-type"
  | "headers-too-large"
  | "misdirected" // addressed to a host that is not ours
  | "rate-limited"
  | "behind" // this node has not yet seen what the caller has
  | "late" // the client took too long to send what it wants
  | "timed-out"
  | "looping" // another node has sent it here, and it belongs to yet another
  | "upstream" // an outside system refused or failed
  | "internal"; // our own fault; the text is constant

export interface FailureOptions extends ErrorOptions {
  /** What the caller is told, where that is not just the message: none, or several lines. */
  readonly texts?: readonly string[];
  /** When to try again, in seconds; Infinity: that it is of no use. */
  readonly retryAfter?: number;
  /** Sent with the refusal. */
  readonly headers?: Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** An error with a text of ours, which says what went wrong and never quotes what it went wrong on. */
export class OwnError extends Error {}

export class Failure extends OwnError {
  readonly kind: FailureKind;
  readonly code: string; // stable, easy to search for; docs/errors.md has them all
  readonly texts: readonly string[];
  readonly retryAfter: number | null;
  readonly headers: Readonly<Record<string, string>>;

  /** `message` never contains a secret: it is shown to callers, logged and audited as it stands. */
  constructor(kind: FailureKind, code: string, message: string, options?: FailureOptions) {
    super(message, options);
    this.name = "Failure";
    this.kind = kind;
    this.code = code;
    this.texts = options?.texts ?? [message];
    this.retryAfter = options?.retryAfter ?? null;
    this.headers = options?.headers ?? NO_HEADERS;
  }
}

/** The same for whoever was refused: in words alone, without the names that systems have for their errors. */
export function explain(error: unknown): string {
  const parts: string[] = [];
  let at = error;
  while (at instanceof OwnError && parts.length < 8) {
    parts.push(at.message);
    at = at.cause;
  }
  const words = at === undefined ? null : wordsOf(at);
  if (words !== null) parts.push(words);
  return parts.length === 0 ? "it failed, and the server's log says why" : parts.join(": ");
}

/**
 * One line for a log or a last word on standard error: the message and its causes, as far as they are
 * ours. The message of any other error may quote a secret; only its kind is told, and its place where
 * nobody of ours has said anything.
 */
export function describe(error: unknown): string {
  if (error instanceof Error && !(error instanceof OwnError)) {
    return "errno" in error ? kindOf(error) : `unexpected ${traceOf(error, 1)}`;
  }
  const parts: string[] = [];
  let at = error;
  while (at instanceof OwnError && parts.length < 8) {
    parts.push(at.message);
    at = at.cause;
  }
  if (parts.length === 0 || (at !== undefined && !(at instanceof OwnError))) parts.push(kindOf(at));
  return parts.join(": ");
}
