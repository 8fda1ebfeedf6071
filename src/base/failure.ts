// What went wrong, in the caller's terms. http/, cli/ and plugins/ each own one table from kind to
// status, exit code or gRPC code; nothing else in the house knows those numbers.

export type FailureKind =
  | "invalid" // the input is wrong; the message says what would be accepted
  | "denied"
  | "not-found"
  | "conflict"
  | "too-large"
  | "sealed" // the node has no keys yet
  | "uninitialised"
  | "unavailable" // not now: stopping, full, failed
  | "damaged"; // stored bytes are not what we wrote

export class Failure extends Error {
  readonly kind: FailureKind;
  readonly code: string; // stable, documented, easy to search for

  /** `message` never contains a secret: it is shown to callers, logged and audited as it stands. */
  constructor(kind: FailureKind, code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.kind = kind;
    this.code = code;
  }
}

/** One line for a log or a last word on standard error: the message and its causes. */
export function describe(error: unknown): string {
  const parts: string[] = [];
  let at = error;
  do {
    parts.push(at instanceof Error ? at.message : "unknown cause");
    at = at instanceof Error ? at.cause : undefined;
  } while (at !== undefined && parts.length < 8);
  return parts.join(": ");
}
