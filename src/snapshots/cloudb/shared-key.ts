// Requests of cloudb-blob as its shared key signs them.

import { createHmac } from "node:crypto";
import type { Instant } from "@holdfast/shared/world";
import { MILLISECOND } from "@holdfast/shared/text/duration";

export interface AccountKey {
  readonly account: string;
  readonly key: Buffer;
}

export interface Unsigned {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly length: number;
}

const VERSION = "2021-12-02";
/** In the order in which they are signed; those that are never sent are empty. */
const SIGNED = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-md5",
  "content-type",
  "date",
  "if-modified-since",
  "if-match",
  "if-none-match",
  "if-unmodified-since",
  "range",
] as const;

/** The headers of the request with those that prove who sends it. */
export function signed(
  { method, url, headers, length }: Unsigned,
  { account, key }: AccountKey,
  now: Instant,
): Record<string, string> {
  const sent: Record<string, string> = {
    ...headers,
    "x-ms-date": new Date(Number(now / MILLISECOND)).toUTCString(),
    "x-ms-version": VERSION,
  };
  const standard = SIGNED.map((name) => {
    if (name === "content-length") return length === 0 ? "" : String(length);
    return sent[name] ?? "";
  });
  const own = Object.keys(sent)
    .filter((name) => name.startsWith("x-ms-"))
    .sort()
    .map((name) => `${name}:${sent[name]?.trim() ?? ""}`);
  const query = [...url.searchParams]
    .map(([name, value]) => `${name.toLowerCase()}:${value}`)
    .sort();
  const resource = [`/${account}${url.pathname}`, ...query].join("\n");
  const toSign = [method, ...standard, ...own, resource].join("\n");
  const signature = createHmac("sha256", key).update(toSign).digest("base64");
  return { ...sent, authorization: `SharedKey ${account}:${signature}` };
}
