// How a call ends: the codes of gRPC, the error that carries one, and the one table from our failures to them.

import { Failure, type FailureKind, OwnError } from "../failure.ts";

export const Status = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

const MAX_STATUS = 16;
/** A text goes into a header, and comes from a peer. */
const MAX_TEXT = 1024;

/** A call that ended with another code than "ok", whoever ended it. */
export class StatusError extends OwnError {
  readonly status: number;
  /** Whether the peer has said so. Without it a caller has found by itself how the call ended: what the peer did of it nobody knows. */
  readonly isSaid: boolean;

  /** `message` goes to the peer as it stands. */
  constructor(
    status: number,
    message: string,
    { isSaid = false, ...options }: ErrorOptions & { readonly isSaid?: boolean } = {},
  ) {
    super(message, options);
    this.name = "StatusError";
    this.status = status;
    this.isSaid = isSaid;
  }
}

const BY_KIND: Readonly<Record<FailureKind, number>> = {
  invalid: Status.invalidArgument,
  denied: Status.permissionDenied,
  "not-found": Status.notFound,
  conflict: Status.aborted,
  "too-large": Status.resourceExhausted,
  sealed: Status.failedPrecondition,
  uninitialised: Status.failedPrecondition,
  unavailable: Status.unavailable,
  damaged: Status.dataLoss,
  unsupported: Status.unimplemented,
  "media-type": Status.invalidArgument,
  "headers-too-large": Status.resourceExhausted,
  misdirected: Status.notFound,
  "rate-limited": Status.resourceExhausted,
  behind: Status.failedPrecondition,
  late: Status.deadlineExceeded,
  "timed-out": Status.deadlineExceeded,
  looping: Status.failedPrecondition,
  upstream: Status.unavailable,
  internal: Status.internal,
};

/** What a peer is told of an error. The text of one that is not ours may quote anything: it stays here. */
export function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof Failure) return new StatusError(BY_KIND[error.kind], error.message);
  return new StatusError(Status.internal, "the call failed inside the server", { cause: error });
}

/** What stands in `grpc-status` and `grpc-message`, as a peer sent it. Null where the call went well. */
export function readStatus(code: unknown, message: unknown): StatusError | null {
  if (typeof code !== "string" || !/^\d{1,2}$/.test(code) || Number(code) > MAX_STATUS) {
    return new StatusError(Status.unknown, "the peer ended the call without a status");
  }
  if (Number(code) === Status.ok) return null;
  const text = typeof message === "string" ? decodeText(message.slice(0, 3 * MAX_TEXT)) : "";
  return new StatusError(Number(code), plainText(text), { isSaid: true });
}

/** What a peer says in words: it is shown to people, and what could steer a terminal is a question mark. */
export function plainText(text: string): string {
  return text.slice(0, MAX_TEXT).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}

/** An answer that is none of gRPC: from a proxy, say. The table is the protocol's. */
export function statusOfHttp(code: number): number {
  switch (code) {
    case 400:
      return Status.internal;
    case 401:
      return Status.unauthenticated;
    case 403:
      return Status.permissionDenied;
    case 404:
      return Status.unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return Status.unavailable;
    default:
      return Status.unknown;
  }
}

/** Everything but printable ASCII, and the percent sign, by its bytes. */
export function encodeText(text: string): string {
  const short = text.length > MAX_TEXT ? text.slice(0, MAX_TEXT) : text;
  return Buffer.from(short, "utf8")
    .toString("latin1")
    .replace(/[^\x20-\x24\x26-\x7e]/g, (byte) => `%${hexOf(byte)}`);
}

/** What is not well encoded stays as it came: a text is for people, and nothing depends on it. */
export function decodeText(text: string): string {
  const bytes = text.replace(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1").toString("utf8").slice(0, MAX_TEXT);
}

function hexOf(byte: string): string {
  return byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
}
