// What a plugin of our own SDK answers, as a reply of ours. Whatever it says is looked at: it is another program.

import { utf8 } from "@holdfast/shared/bytes";
import type { LeaseOffer, LoginOffer } from "@holdfast/shared/endpoint/lease";
import { TextBody } from "@holdfast/shared/endpoint/output";
import { reply, type Reply } from "@holdfast/shared/endpoint/reply";
import { EXPOSITION_TYPE } from "@holdfast/shared/exposition";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { readLargeJson } from "@holdfast/shared/json/json-reader";
import { isUuid } from "@holdfast/shared/text/uuid";
import type { Nanos } from "@holdfast/shared/world";
import type { ReceiptFacts, Renewal } from "@holdfast/plugin-sdk/engine";
import { isPermanent } from "@holdfast/plugin-sdk/failure";
import {
  type ProtoError,
  RAW_BODY,
  type WireAuth,
  type WireResponse,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { PLUGIN_JSON } from "@holdfast/plugin-sdk/wire/limits";
import type { ResponseExtras } from "@holdfast/plugin-sdk/wire/own-extras";
import { recordOf } from "@holdfast/plugin-sdk/wire/own-caller";
import { failureFromWire, type WireFailure } from "@holdfast/plugin-sdk/wire/own-failure";
import { loginProblem } from "../told-logins.ts";
import { answerBroken } from "./failures.ts";
import { isKey } from "./keys.ts";

export interface Reading {
  readonly name: string;
  readonly maxBytes: number;
  readonly turn: () => Promise<void>;
}

/** What a lease of it keeps, as `internal`. The receipt is said when it is given, since nobody can be asked when it ends. */
export interface OwnLease {
  /** What the plugin wants back: text, so that no digit is lost. */
  readonly kept: string;
  readonly receipt: ReceiptFacts | null;
}

export async function replyOf(response: WireResponse, reading: Reading): Promise<Reply> {
  const { own, secret, auth, warnings } = response;
  if (own === null && (secret !== null || auth !== null)) {
    throw answerBroken(reading.name, "gave something, and did not say what");
  }
  const data = await dataOf(response, reading);
  const headers = Object.fromEntries(
    [...response.headers].map(([name, { header }]) => [name, header.join(", ")]),
  );
  const status = own?.status ?? 0;
  if (status !== 0 && (status < 200 || status > 599)) {
    throw answerBroken(reading.name, "answered with a number that is none");
  }
  return reply(data, {
    warnings,
    headers,
    ...(status === 0 ? {} : { status }),
    ...(secret === null || own === null
      ? {}
      : { lease: leaseOf(secret.internalData, secret.leaseOptions, own, reading.name) }),
    ...(auth === null || own === null ? {} : { login: loginOf(auth, own, reading.name) }),
    // One that the server ends is made by the server, and has its id.
    ...(own === null || own.leased === null
      ? {}
      : { leased: { id: "", seconds: own.leased.seconds, renewable: false } }),
  });
}

async function dataOf(
  { data, own }: WireResponse,
  { name, maxBytes, turn }: Reading,
): Promise<Reply["data"]> {
  if (own?.hasNothing === true || data === "") return undefined;
  if (data.length > maxBytes) {
    throw answerBroken(name, `answered with more than ${maxBytes} characters`);
  }
  const found = await jsonOf(data, { name, turn });
  if (Array.isArray(found)) return found as readonly unknown[];
  if (!isObject(found)) throw answerBroken(name, "answered with data that is no object");
  const { [RAW_BODY.contentType]: type, [RAW_BODY.body]: text } = found;
  if (type === undefined || text === undefined) return found;
  // Whoever could choose any type would choose what browsers run.
  if (type !== EXPOSITION_TYPE || typeof text !== "string") {
    throw answerBroken(name, "answered with a text of a type that is not sent");
  }
  return new TextBody(EXPOSITION_TYPE, text);
}

/** Of a request that writes again what was there before. */
export async function bodyOf(text: string, { name, maxBytes, turn }: Reading): Promise<JsonObject> {
  if (text.length > maxBytes) {
    throw answerBroken(name, `recovers more than ${maxBytes} characters`);
  }
  const found = await jsonOf(text, { name, turn });
  if (!isObject(found)) throw answerBroken(name, "recovers what is no body");
  return found;
}

async function jsonOf(
  data: string,
  { name, turn }: Pick<Reading, "name" | "turn">,
): Promise<JsonValue> {
  try {
    const { data: found } = await readLargeJson(utf8(`{"data":${data}}`), PLUGIN_JSON, turn);
    return found ?? null;
  } catch {
    throw answerBroken(name, "answered with data that is no JSON, or nests too deep");
  }
}

type Times = { readonly ttl: Nanos; readonly maxTtl: Nanos; readonly renewable: boolean } | null;

function leaseOf(kept: string, times: Times, { lease }: ResponseExtras, name: string): LeaseOffer {
  if (lease === null) throw answerBroken(name, "gave a secret and did not say of which kind");
  if (!lease.settles.every(isUuid)) {
    throw answerBroken(name, "gave a secret that settles what is no record");
  }
  if (lease.needsOneOf?.keys.every(isKey) === false) {
    throw answerBroken(name, "gave a secret that needs what is no key");
  }
  return {
    secretType: lease.secretType,
    internal: internalOf(kept, lease),
    ttl: orNull(times?.ttl ?? 0n),
    maxTtl: orNull(times?.maxTtl ?? 0n),
    renewable: times?.renewable ?? false,
    ...(lease.needsOneOf === null ? {} : { needsOneOf: lease.needsOneOf.keys }),
    settles: lease.settles,
  };
}

const NO_KIND = "unknown";

/** The secret of an answer that is refused, as far as it says what it is; null where it has none. */
export function ungivenIn(
  { secret, own }: WireResponse,
  kinds: readonly string[],
): LeaseOffer | null {
  if (secret === null) return null;
  const lease = own?.lease ?? null;
  const [only = NO_KIND, ...others] = kinds;
  const secretType = lease?.secretType ?? (others.length === 0 ? only : NO_KIND);
  return {
    secretType: secretType || NO_KIND,
    internal: internalOf(secret.internalData, lease),
    settles: (lease?.settles ?? []).filter(isUuid),
  };
}

function internalOf(kept: string, lease: ResponseExtras["lease"]): JsonObject {
  const receipt = lease?.receipt ?? null;
  return {
    kept,
    receipt:
      receipt === null
        ? null
        : {
            role: receipt.role,
            objects: receipt.objects,
            goodUntil: receipt.goodUntil === null ? null : String(receipt.goodUntil),
          },
  };
}

export function ownLease(internal: JsonObject): OwnLease {
  const { kept, receipt } = internal;
  return {
    kept: typeof kept === "string" ? kept : "{}",
    receipt: isObject(receipt) ? receiptOf(receipt) : null,
  };
}

function receiptOf({ role, objects, goodUntil }: JsonObject): ReceiptFacts {
  return {
    ...(typeof role === "string" && role !== "" ? { role } : {}),
    ...(Array.isArray(objects)
      ? { objects: objects.filter((one) => typeof one === "string") }
      : {}),
    goodUntil: typeof goodUntil === "string" ? BigInt(goodUntil) : null,
  };
}

export function renewalOf({ secret, own }: WireResponse): Renewal {
  if (secret === null) return {};
  return {
    ttl: own?.renewal?.ttl ?? null,
    maxTtl: own?.renewal?.maxTtl ?? null,
    renewable: secret.leaseOptions?.renewable ?? true,
    internal: internalOf(secret.internalData, own?.lease ?? null),
  };
}

function loginOf(auth: WireAuth, { login }: ResponseExtras, name: string): LoginOffer {
  const { leaseOptions, numUses } = auth;
  const beside = [...(login?.notes ?? []), ...(login?.owner?.metadata ?? [])].flat();
  const problem = loginProblem(auth, [login?.identity ?? "", ...beside]);
  if (problem !== null) throw answerBroken(name, `answered a login ${problem}`);
  return {
    displayName: auth.displayName,
    ...(login === null || login.identity === null ? {} : { identity: login.identity }),
    policies: auth.policies,
    metadata: recordOf(auth.metadata),
    ...(login === null || login.owner === null ? {} : { owner: recordOf(login.owner.metadata) }),
    notes: recordOf(login?.notes ?? new Map()),
    ttl: orNull(leaseOptions?.ttl ?? 0n),
    maxTtl: orNull(leaseOptions?.maxTtl ?? 0n),
    period: orNull(auth.period),
    uses: Number(numUses),
    withoutDefaultPolicy: auth.noDefaultPolicy,
    global: login?.global ?? false,
    boundTo: auth.boundCidrs,
  };
}

function orNull(nanos: Nanos): Nanos | null {
  return nanos > 0n ? nanos : null;
}

/** What is the server's own to say, a plugin does not. */
const MAY_SAY: ReadonlySet<FailureKind> = new Set([
  "invalid",
  "denied",
  "not-found",
  "conflict",
  "too-large",
  "unavailable",
  "unsupported",
  "media-type",
  "rate-limited",
  "timed-out",
  "upstream",
]);

/** Its words are for the caller alone: they may quote what they are about, and are neither logged nor recorded. */
export function refusalOf(sent: WireFailure | null, name: string): Failure {
  if (sent === null) return answerBroken(name, "failed without saying why");
  const said = failureFromWire(sent);
  const { code, texts, retryAfter } = said;
  const kind = MAY_SAY.has(said.kind) ? said.kind : "upstream";
  if (said.kind === "internal") return answerBroken(name, "failed; its log says why");
  const why = isPermanent(said) ? "says that it never can" : `refused (${code})`;
  return new Failure(kind, code, `plugin "${name}" ${why}`, {
    texts,
    ...(retryAfter === null ? {} : { retryAfter }),
  });
}

export function refusalIn(err: ProtoError, name: string): Failure {
  return refusalOf(err.own?.failure ?? null, name);
}
