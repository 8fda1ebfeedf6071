// What a pipeline says to a request, as it goes back to the cluster that has sent it.

import { Failure, type FailureKind } from "@holdfast/shared/failure";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { TextBody, type TextType } from "@holdfast/shared/endpoint/output";
import { type Leased, Reply, type WrapInfo } from "@holdfast/shared/endpoint/reply";
import { StreamBody } from "@holdfast/shared/endpoint/stream";
import { invariant } from "@holdfast/shared/invariant";
import { primaryLost, primaryNotServing } from "./failures.ts";
import type { ForwardAnswer, SentRefusal, SentReply } from "./messages.ts";
import { pairsOf, valuesOf } from "./sent-caller.ts";

/** Said of the whole cluster, and not of the request: of the one that was asked it would be wrong. */
const OF_THE_NODE: ReadonlySet<string> = new Set(["sealed", "uninitialised"]);
const KINDS: ReadonlySet<string> = new Set<FailureKind>([
  "invalid",
  "denied",
  "not-found",
  "conflict",
  "too-large",
  "unavailable",
  "damaged",
  "unsupported",
  "media-type",
  "headers-too-large",
  "misdirected",
  "rate-limited",
  "behind",
  "late",
  "timed-out",
  "looping",
  "upstream",
  "internal",
]);

export function sentAnswer(result: Reply | Failure, shared: bigint): ForwardAnswer {
  return result instanceof Failure
    ? { done: null, refused: sentRefusal(result), shared }
    : { done: sentReply(result), refused: null, shared };
}

function sentRefusal({ kind, code, message, texts, retryAfter, headers }: Failure): SentRefusal {
  return {
    kind,
    code,
    message,
    texts,
    retryAfter: Number.isFinite(retryAfter) ? Math.ceil(retryAfter ?? 0) : 0,
    headers: pairsOf(headers),
  };
}

function sentReply(reply: Reply): SentReply {
  const { data, status, warnings, headers, index, auth, leased, wrapInfo } = reply;
  invariant(!(data instanceof StreamBody), "what is sent on is a write, and answers at once");
  const isText = data instanceof TextBody;
  return {
    status: status ?? 0,
    data: isText ? data.text : jsonOf(data),
    contentType: isText ? data.contentType : "",
    warnings,
    headers: pairsOf(headers),
    index: index ?? 0n,
    auth: jsonOf(auth),
    leased: jsonOf(leased),
    wrapInfo: jsonOf(wrapInfo),
  };
}

/** Throws what it was refused with. */
export function replyIn({ done, refused }: ForwardAnswer): Reply {
  if (refused !== null) throw refusalIn(refused);
  if (done === null) throw primaryLost();
  const { status, data, contentType, warnings, headers, index } = done;
  const auth = fromJson<AuthBlock>(done.auth);
  const leased = fromJson<Leased>(done.leased);
  const wrapInfo = fromJson<WrapInfo>(done.wrapInfo);
  const body =
    contentType === ""
      ? (fromJson(data) ?? undefined)
      : new TextBody(contentType as TextType, data);
  return new Reply(body as Reply["data"], {
    warnings,
    headers: valuesOf(headers),
    ...(status === 0 ? {} : { status }),
    ...(index === 0n ? {} : { index }),
    ...(auth === null ? {} : { auth }),
    ...(leased === null ? {} : { leased }),
    ...(wrapInfo === null ? {} : { wrapInfo }),
  });
}

function refusalIn({ kind, code, message, texts, retryAfter, headers }: SentRefusal): Failure {
  if (OF_THE_NODE.has(kind)) return primaryNotServing();
  const known = KINDS.has(kind) ? (kind as FailureKind) : "internal";
  return new Failure(known, code, message, {
    texts,
    headers: valuesOf(headers),
    ...(retryAfter === 0 ? {} : { retryAfter }),
  });
}

function jsonOf(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

function fromJson<T>(text: string): T | null {
  return text === "" ? null : (JSON.parse(text) as T);
}
