// Headers of a request that goes out. What frames a message or steers a connection is this room's: an
// engine may repeat what is so anyway (libraries that sign a request do), and change nothing.

import { OutboundError } from "@holdfast/plugin-sdk/outbound";

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Visible characters, blanks and tabs in the middle; no control character, nothing beyond one byte.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const MAX_BYTES = 16 * 1024;
const OURS = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** As they are sent. Throws OutboundError "forbidden". */
export function sentHeaders(
  { url, headers }: { readonly url: URL; readonly headers: Readonly<Record<string, string>> },
  length: number | null,
): Record<string, string> {
  const refuse = (what: string): never => {
    throw new OutboundError("forbidden", `a request to ${url.hostname} may not be sent: ${what}`);
  };
  const sent = new Map<string, string>();
  let bytes = 0;
  for (const [original, value] of Object.entries(headers)) {
    const name = original.toLowerCase();
    if (!TOKEN.test(name)) refuse("a header has no name");
    if (!VALUE.test(value)) refuse(`the header ${name} holds a character that no header may hold`);
    if (OURS.has(name)) refuse(`the header ${name} is not for the caller to set`);
    if (sent.has(name)) refuse(`the header ${name} is there twice`);
    bytes += name.length + value.length + 4;
    sent.set(name, value);
  }
  if (bytes > MAX_BYTES) refuse(`its headers have more than ${MAX_BYTES} bytes`);
  const host = sent.get("host");
  if (host !== undefined && host !== url.host) refuse("the header host names another host");
  const said = sent.get("content-length");
  if (said !== undefined && said !== String(length ?? 0)) {
    refuse("the header content-length is not that of the body");
  }
  sent.set("host", url.host);
  if (length !== null) sent.set("content-length", String(length));
  else sent.delete("content-length");
  sent.set("accept-encoding", "identity");
  return Object.fromEntries(sent);
}
