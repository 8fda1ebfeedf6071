// Signature version 4 of a request whose body has a known sum.

import { createHash, createHmac } from "node:crypto";
import type { Instant } from "@holdfast/shared/world";
import { MILLISECOND } from "@holdfast/shared/text/duration";

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Empty where there is none. */
  readonly sessionToken: string;
}

export interface Unsigned {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the body, in hex. */
  readonly sha256: string;
}

export interface SigningPlace {
  readonly region: string;
  readonly service: string;
}

/** The headers of the request with those that prove who sends it; names in lower case. */
export function signed(
  { method, url, headers, sha256 }: Unsigned,
  keys: SigningKeys,
  { region, service }: SigningPlace,
  now: Instant,
): Record<string, string> {
  const stamp = new Date(Number(now / MILLISECOND)).toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = stamp.slice(0, 8);
  const session = keys.sessionToken === "" ? {} : { "x-amz-security-token": keys.sessionToken };
  const sent: Record<string, string> = {
    ...headers,
    host: url.host,
    "x-amz-content-sha256": sha256,
    "x-amz-date": stamp,
    ...session,
  };
  const names = Object.keys(sent).sort();
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url),
    ...names.map((name) => `${name}:${(sent[name] ?? "").replaceAll(/\s+/g, " ").trim()}`),
    "",
    names.join(";"),
    sha256,
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", stamp, scope, sha256Hex(canonical)].join("\n");
  let key: Buffer = Buffer.from(`AWS4${keys.secretAccessKey}`);
  for (const part of [day, region, service, "aws4_request"]) key = hmac(key, part);
  const signature = hmac(key, toSign).toString("hex");
  const credential = `Credential=${keys.accessKeyId}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...sent, authorization };
}

/** As the provider encodes: everything but letters, digits and - . _ ~ */
export function strictlyEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The keys of a query in order, each with its value, encoded; as it is sent and as it is signed. */
export function queryOf(values: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(values)
    .map(([name, value]): [string, string] => [strictlyEncoded(name), strictlyEncoded(value)])
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return pairs.map(([name, value]) => `${name}=${value}`).join("&");
}

function canonicalQuery({ search }: URL): string {
  return search.replace(/^\?/, ""); // made by queryOf
}

export function sha256Hex(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
