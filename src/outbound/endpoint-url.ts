// URLs that are called: an operator's text read once, strictly, and the parts of one that decide where a
// call goes. Nothing is looked up here.

import { isIP } from "node:net";
import { endpointInvalid } from "./failures.ts";
import { OutboundError } from "@holdfast/plugin-sdk/outbound";
import type { Destination } from "./allowed-addresses.ts";

const LONGEST = 2048;
// Printable ASCII alone: what looks like a digit or a dot and is none gets no chance to become one.
const SHAPE =
  /^(https?):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([1-9][0-9]{0,4}))?(\/[!-~]*)?$/i;
const NAME = /^(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/;

/** Throws an "invalid" Failure whose text begins with `field`. */
export function readEndpoint(
  field: string,
  text: string,
  { plain }: { readonly plain: boolean },
): URL {
  const refuse = (why: string): never => {
    throw endpointInvalid(field, why);
  };
  const schemes = plain ? "http:// or https://" : "https://";
  const wanted = `must be a URL such as ${plain ? "http" : "https"}://host:port/path`;
  if (text.length > LONGEST) refuse(`must have at most ${LONGEST} characters`);
  const [, scheme = "", host = "", port, path = ""] = SHAPE.exec(text) ?? [];
  if (host === "") refuse(`${wanted}, without user, password, query or fragment`);
  if (!plain && scheme.toLowerCase() === "http") refuse(`must begin with ${schemes}`);
  if (/[?#\\]/.test(path)) refuse("must have no query, fragment or backslash");
  if (Number(port ?? 1) > 65_535) refuse("the port must be at most 65535");
  if (!isCanonicalHost(host.toLowerCase())) {
    refuse(
      "the host must be a name, or an address in its usual form (192.0.2.1, [2001:db8::1]), " +
        "not one of the other spellings of an address",
    );
  }
  const url = URL.parse(text);
  // The parser that the call is made with must have read the same host.
  if (url === null || url.hostname !== host.toLowerCase()) return refuse(wanted);
  return url;
}

/** Where a request to it goes. Throws OutboundError "forbidden". */
export function destinationOf(
  url: URL,
  { plain, metadata }: { readonly plain: boolean; readonly metadata: boolean },
): Destination {
  const { protocol, hostname } = url;
  const refuse = (why: string): never => {
    throw new OutboundError("forbidden", `${hostname} may not be called: ${why}`);
  };
  if (protocol !== "https:" && protocol !== "http:") refuse("the URL is neither http nor https");
  const secure = protocol === "https:";
  if (!secure && !plain) refuse("only https is spoken with it");
  if (url.username !== "" || url.password !== "") refuse("the URL holds a user or a password");
  if (url.hash !== "") refuse("the URL holds a fragment");
  if (!isCanonicalHost(hostname)) refuse("it is no host");
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: Number(url.port) || (secure ? 443 : 80), secure, metadata };
}

/** In lower case: a name whose last label is none of an address, or an address as it is printed. */
function isCanonicalHost(host: string): boolean {
  if (host.startsWith("[")) {
    return isIP(host.slice(1, -1)) === 6 && URL.parse(`http://${host}/`)?.hostname === host;
  }
  if (isIP(host) === 4) return true;
  // Readers of addresses take 127.1, 0x7f.1 and 2130706433 for one: any that ends in a number.
  return host.length <= 253 && NAME.test(host) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(host);
}
