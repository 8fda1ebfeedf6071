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

/** Of what a refusal is said. That of the whole cluster would be wrong of the one that was asked. */
const KINDS: Readonly<Record<FailureKind, "request" | "node">> = {
  invalid: "request",
  denied: "request",
  "not-found": "request",
  conflict: "request",
  "too-large": "request",
  sealed: "node",
  uninitialised: "node",
  unavailable: "request",
  damaged: "request",
  unsupported: "request",
  "media-type": "request",
  "headers-too-large": "request",
  misdirected: "request",
  "rate-limited": "request",
  behind: "request",
  late: "request",
  "timed-out": "request",
  looping: "request",
  upstream: "request",
  internal: "request",
};

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
    isOfNoUse: retryAfter === Infinity,
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

function refusalIn({
  kind,
  code,
  message,
  texts,
  retryAfter,
  isOfNoUse,
  headers,
}: SentRefusal): Failure {
  const known = Object.hasOwn(KINDS, kind) ? (kind as FailureKind) : "internal";
  if (KINDS[known] === "node") return primaryNotServing();
  const again = isOfNoUse ? Infinity : retryAfter;
  return new Failure(known, code, message, {
    texts,
    headers: valuesOf(headers),
    ...(again === 0 ? {} : { retryAfter: again }),
  });
}

function jsonOf(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

function fromJson<T>(text: string): T | null {
  return text === "" ? null : (JSON.parse(text) as T);
}
