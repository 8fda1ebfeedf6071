// A failure of ours on the wire, with everything that it says, so that it is the same on both sides: in the holdfast.*
// services, and beside the errors that others know.

import { Failure, type FailureKind } from "@holdfast/shared/failure";
import {
  double,
  list,
  mapOf,
  maybe,
  message,
  type MessageOf,
  text,
} from "@holdfast/shared/grpc/message";

const MAX_TEXTS = 64;
const MAX_HEADERS = 64;

export const wireFailure = message({
  kind: text(1),
  code: text(2),
  message: text(3),
  texts: list(text(4), MAX_TEXTS),
  retryAfter: maybe(double(5)), // seconds; without end: that it is of no use
  headers: mapOf(6, text(2), MAX_HEADERS),
});
export type WireFailure = MessageOf<typeof wireFailure>;

const KINDS: Readonly<Record<FailureKind, true>> = {
  invalid: true,
  denied: true,
  "not-found": true,
  conflict: true,
  "too-large": true,
  sealed: true,
  uninitialised: true,
  unavailable: true,
  damaged: true,
  unsupported: true,
  "media-type": true,
  "headers-too-large": true,
  misdirected: true,
  "rate-limited": true,
  behind: true,
  late: true,
  "timed-out": true,
  looping: true,
  upstream: true,
  internal: true,
};

function isKind(text: string): text is FailureKind {
  return Object.hasOwn(KINDS, text);
}

/** What is no failure of ours may quote anything: of that only the fact goes over. */
export function failureToWire(error: unknown): WireFailure {
  if (!(error instanceof Failure)) {
    return failureToWire(new Failure("internal", "internal", "the call failed on the other side"));
  }
  const { kind, code, message: words, texts, retryAfter, headers } = error;
  return {
    kind,
    code,
    message: words,
    texts: texts.slice(0, MAX_TEXTS),
    retryAfter,
    headers: new Map(Object.entries(headers).slice(0, MAX_HEADERS)),
  };
}

/** The other side may be anybody's program: a kind that there is not is the other side's own fault. */
export function failureFromWire(sent: WireFailure): Failure {
  const kind = isKind(sent.kind) ? sent.kind : "internal";
  const code = /^[a-z0-9-]{1,64}$/.test(sent.code) ? sent.code : "internal";
  return new Failure(kind, code, sent.message, {
    texts: sent.texts,
    ...(sent.retryAfter === null ? {} : { retryAfter: sent.retryAfter }),
    headers: Object.fromEntries(sent.headers),
  });
}
