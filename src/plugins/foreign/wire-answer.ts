// What a plugin answers, as a reply of ours.

import type { LeaseOffer, LoginOffer } from "@holdfast/shared/endpoint/lease";
import { FOREIGN_TYPES, StreamBody } from "@holdfast/shared/endpoint/stream";
import { reply, type Reply } from "@holdfast/shared/endpoint/reply";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { readLargeJson } from "@holdfast/shared/json/json-reader";
import { PLUGIN_JSON } from "@holdfast/plugin-sdk/wire/limits";
import type { Nanos } from "@holdfast/shared/world";
import {
  RAW_BODY,
  type WireAuth,
  type WireResponse,
  type WireSecret,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { answerTooLarge, broken } from "./failures.ts";
import { PLUGIN_SECRET } from "./foreign-type.ts";

export interface Reading {
  readonly name: string;
  readonly maxBytes: number;
  readonly turn: () => Promise<void>;
}

/** Null: it has none. */
export async function dataOf(
  { data }: Pick<WireResponse, "data">,
  { name, maxBytes, turn }: Reading,
): Promise<JsonObject | null> {
  if (data === "" || data === "null") return null;
  const bytes = utf8(data);
  if (bytes.length > maxBytes) throw answerTooLarge(name, bytes.length, maxBytes);
  try {
    return await readLargeJson(bytes, PLUGIN_JSON, turn);
  } catch {
    throw broken(name, "answered with data that is no JSON object, or nests too deep");
  }
}

/** The words of an answer that is a refusal. */
export function wordsOf(data: JsonObject | null): string | null {
  if (data === null || Object.keys(data).length !== 1) return null;
  const { error } = data;
  return typeof error === "string" ? error : null;
}

/** What it says of times: 0 is nothing. */
function orNull(nanos: Nanos): Nanos | null {
  return nanos > 0n ? nanos : null;
}

export interface LeaseTimes {
  readonly ttl: Nanos | null;
  readonly maxTtl: Nanos | null;
  readonly renewable: boolean;
}

export function timesOf({ leaseOptions }: Pick<WireSecret | WireAuth, "leaseOptions">): LeaseTimes {
  return {
    ttl: orNull(leaseOptions?.ttl ?? 0n),
    maxTtl: orNull(leaseOptions?.maxTtl ?? 0n),
    renewable: leaseOptions?.renewable ?? false,
  };
}

/** What a lease of it keeps. Revoking takes the path and the answer, too. Texts, so that no digit is lost. */
export interface KeptSecret {
  readonly path: string;
  readonly internal: string;
  readonly data: string;
}

export function leaseOf(secret: WireSecret, path: string, data: string): LeaseOffer {
  const kept: KeptSecret = { path, internal: secret.internalData || "{}", data: data || "null" };
  return { secretType: PLUGIN_SECRET, internal: { ...kept }, ...timesOf(secret) };
}

export function keptSecret(internal: JsonObject): KeptSecret {
  const { path, internal: own, data } = internal;
  return {
    path: typeof path === "string" ? path : "",
    internal: typeof own === "string" ? own : "{}",
    data: typeof data === "string" ? data : "null",
  };
}

const AUTH = "auth";

/** What a renewal is asked with. */
interface KeptAuth {
  readonly path: string;
  readonly internal: string;
  readonly displayName: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly policies: readonly string[];
  readonly alias: string;
  readonly renewable: boolean;
}

export function loginOf(auth: WireAuth, path: string): LoginOffer {
  const { displayName, metadata, alias, period, explicitMaxTtl, numUses, noDefaultPolicy } = auth;
  const policies = [...new Set([...auth.policies, ...auth.tokenPolicies])];
  const { ttl, maxTtl, renewable } = timesOf(auth);
  const identity = alias?.name ?? "";
  const kept: KeptAuth = {
    path,
    internal: auth.internalData || "{}",
    displayName,
    metadata: Object.fromEntries(metadata),
    policies,
    alias: identity,
    renewable,
  };
  return {
    displayName,
    ...(identity === "" ? {} : { identity }),
    policies,
    metadata: Object.fromEntries(metadata),
    owner: { [AUTH]: JSON.stringify(kept) },
    ttl,
    maxTtl: shorter(maxTtl, orNull(explicitMaxTtl)),
    period: orNull(period),
    uses: Number(numUses),
    renewable,
    withoutDefaultPolicy: noDefaultPolicy,
    boundTo: auth.boundCidrs,
  };
}

/** Null: it was not made by a plugin, or cannot be read. */
export function keptAuth(owner: Readonly<Record<string, string>>): KeptAuth | null {
  const text = owner[AUTH];
  return text === undefined ? null : (JSON.parse(text) as KeptAuth); // as it was written above
}

export function ownerOf(kept: KeptAuth, auth: WireAuth): Readonly<Record<string, string>> {
  const { renewable } = timesOf(auth);
  const internal = auth.internalData || kept.internal;
  return { [AUTH]: JSON.stringify({ ...kept, internal, renewable }) };
}

function shorter(a: Nanos | null, b: Nanos | null): Nanos | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

/** What of its headers goes on is for the mount's operators to say. */
export function headersOf({ headers }: Pick<WireResponse, "headers">): Record<string, string> {
  return Object.fromEntries(
    [...headers].flatMap(([name, { header }]) =>
      header.length === 0 ? [] : [[name, header.join(", ")]],
    ),
  );
}

/** An answer that is no JSON, where its data says so; null: it is. What it calls itself is believed where nothing runs or draws it. */
export function rawReply(data: JsonObject | null, response: WireResponse): Reply | null {
  const {
    [RAW_BODY.contentType]: type,
    [RAW_BODY.status]: status,
    [RAW_BODY.body]: body,
  } = data ?? {};
  if (typeof type !== "string") return null;
  const bytes = typeof body === "string" ? bytesOf(body) : Buffer.alloc(0);
  const called = type.split(";")[0]?.trim().toLowerCase() ?? "";
  const contentType = FOREIGN_TYPES.find((known) => known === called) ?? "application/octet-stream";
  const isStatus = typeof status === "number" && Number.isInteger(status);
  const stream = new StreamBody(contentType, only(bytes), { length: bytes.length });
  return reply<Reply["data"]>(stream, {
    warnings: response.warnings,
    headers: headersOf(response),
    ...(isStatus && status >= 200 && status <= 599 ? { status } : {}),
  });
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Bytes come in base64, and texts as they are: whoever gives a text that could be either means bytes. */
function bytesOf(text: string): Buffer {
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
  return Buffer.from(text, isBase64 ? "base64" : "utf8");
}

export function plainReply(data: JsonObject | null, response: WireResponse): Reply {
  const { warnings } = response;
  return reply(data ?? undefined, { warnings, headers: headersOf(response) });
}
