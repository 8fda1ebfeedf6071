// What a plugin says went wrong, in our kinds. Where there is none, the nearest.

import type { Failure, FailureKind } from "@holdfast/shared/failure";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { ErrorType, type ProtoError } from "@holdfast/plugin-sdk/wire/backend-messages";
import { failedInPlugin, refusedByPlugin } from "./failures.ts";

const BY_TYPE: ReadonlyMap<number, FailureKind> = new Map([
  [ErrorType.unknown, "internal"],
  [ErrorType.userError, "invalid"],
  [ErrorType.internal, "internal"],
  [ErrorType.badRequest, "invalid"],
  [ErrorType.unsupportedOperation, "unsupported"],
  [ErrorType.unsupportedPath, "not-found"],
  [ErrorType.invalidRequest, "invalid"],
  [ErrorType.permissionDenied, "denied"],
  [ErrorType.approvalPending, "invalid"],
  [ErrorType.unrecoverable, "internal"],
]);

const BY_STATUS: ReadonlyMap<number, FailureKind> = new Map([
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
  [501, "unsupported"],
  [502, "upstream"],
  [503, "unavailable"],
  [504, "upstream"],
]);

export function kindOfStatus(status: number): FailureKind {
  return BY_STATUS.get(status) ?? (status >= 400 && status < 500 ? "invalid" : "internal");
}

function kindOf({ type, code }: ProtoError): FailureKind {
  if (type === ErrorType.coded) return kindOfStatus(Number(code));
  return BY_TYPE.get(type) ?? "internal";
}

/** `words`: of an answer that came with it, which are for the caller; else its own are. */
export function refusalOf(error: ProtoError, words: string | null): Failure {
  const kind = kindOf(error);
  const text = words ?? (error.message === "" ? "the plugin says nothing about it" : error.message);
  return kind === "internal" || kind === "upstream"
    ? failedInPlugin(kind, [text])
    : refusedByPlugin(kind, [text]);
}

/** Of work on a lease. */
export function refusalOfWork(error: ProtoError, words: string | null): Failure {
  const failure = refusalOf(error, words);
  if (error.type !== ErrorType.unrecoverable) return failure;
  return new PermanentFailure(failure.message, { texts: failure.texts });
}
