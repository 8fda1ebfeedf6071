// What a pipeline says to a request, as it goes back to the cluster that has sent it.

import { concat } from "@holdfast/shared/bytes";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { TextBody, type TextType } from "@holdfast/shared/endpoint/output";
import { type Leased, Reply, type WrapInfo } from "@holdfast/shared/endpoint/reply";
import { StreamBody, type StreamType } from "@holdfast/shared/endpoint/stream";
import { parseExactly } from "@holdfast/shared/json/json-exact";
import { answerTooLarge, primaryLost, primaryNotServing } from "./failures.ts";
import {
  type ForwardAnswer,
  MAX_SENT_ANSWER,
  type SentRefusal,
  type SentReply,
} from "./messages.ts";
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

export async function sentAnswer(
  result: Reply | Failure,
  shared: () => bigint,
): Promise<ForwardAnswer> {
  if (result instanceof Failure)
    return { done: null, refused: sentRefusal(result), shared: shared() };
  const { data } = result;
  const bytes = data instanceof StreamBody ? await collected(data) : null;
  if (bytes instanceof Failure)
    return { done: null, refused: sentRefusal(bytes), shared: shared() };
  return { done: sentReply(result, bytes), refused: null, shared: shared() };
}

/** What a plugin answers that is no JSON. */
async function collected(body: StreamBody): Promise<Uint8Array | Failure> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body.chunks()) {
    length += chunk.length;
    if (length > MAX_SENT_ANSWER) return answerTooLarge(MAX_SENT_ANSWER);
    chunks.push(chunk);
  }
  return concat(...chunks);
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

function sentReply(reply: Reply, bytes: Uint8Array | null): SentReply {
  const { data, status, warnings, headers, index, auth, leased, wrapInfo } = reply;
  const isText = data instanceof TextBody;
  const isRaw = data instanceof StreamBody;
  return {
    status: status ?? 0,
    data: isText ? data.text : isRaw ? "" : jsonOf(data),
    contentType: isText || isRaw ? data.contentType : "",
    bytes,
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
  const { status, warnings, headers, index } = done;
  const auth = fromJson<AuthBlock>(done.auth);
  const leased = fromJson<Leased>(done.leased);
  const wrapInfo = fromJson<WrapInfo>(done.wrapInfo);
  return new Reply(bodyIn(done) as Reply["data"], {
    warnings,
    headers: valuesOf(headers),
    ...(status === 0 ? {} : { status }),
    ...(index === 0n ? {} : { index }),
    ...(auth === null ? {} : { auth }),
    ...(leased === null ? {} : { leased }),
    ...(wrapInfo === null ? {} : { wrapInfo }),
  });
}

function bodyIn({ data, contentType, bytes }: SentReply): unknown {
  if (bytes !== null) {
    return new StreamBody(contentType as StreamType, only(bytes), { length: bytes.length });
  }
  if (contentType !== "") return new TextBody(contentType as TextType, data);
  // JSON.parse says whether it is JSON; only the other keeps every digit.
  return fromJson(data) === null ? undefined : parseExactly(data);
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
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
