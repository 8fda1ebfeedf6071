// Headers of the console's pages: the defaults, and what operators put beside or in place
// of them. They go out under /ui/ only, never with an answer of the API.

import { jsonCodec } from "@holdfast/shared/codec";
import * as failures from "./failures.ts";
import { isHeaderName, isHeaderValue } from "./header-syntax.ts";

export interface ConsoleHeader {
  /** As it was given; names compare without case. */
  readonly name: string;
  readonly values: readonly string[];
}

export const consoleHeaderCodec = jsonCodec<ConsoleHeader>();

const MAX_VALUES = 16;
const MAX_CHARACTERS = 4096;

// The server's own: what frames an answer, says what its body is, opens it to others, or carries
// authority. Changing one of them breaks the console or the fence around it.
const RESERVED = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "host",
  "keep-alive",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const RESERVED_STARTS = ["x-service-", "access-control-", "proxy-", "sec-"];

export const DEFAULT_CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "X-Frame-Options": "DENY",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

const POLICY = "content-security-policy";
/** What no operator can give away. Browsers hold a page to every policy that it comes with: this one goes out
 *  beside whatever was set, which can only take away. */
const FLOOR = [
  "script-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

export function makeConsoleHeader(name: string, values: readonly string[]): ConsoleHeader {
  const folded = headerKey(name);
  if (RESERVED.has(folded) || RESERVED_STARTS.some((start) => folded.startsWith(start))) {
    throw failures.headerReserved();
  }
  const characters = values.reduce((sum, value) => sum + value.length, 0);
  const few = values.length >= 1 && values.length <= MAX_VALUES && characters <= MAX_CHARACTERS;
  if (!few || !values.every(isHeaderValue)) throw failures.headerValueMalformed();
  return { name: titled(folded), values };
}

/** As headers are usually written: their names have no case. */
function titled(name: string): string {
  return name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** The one form of a header's name, refusing what is none. */
export function headerKey(name: string): string {
  if (!isHeaderName(name)) throw failures.headerNameMalformed();
  return name.toLowerCase();
}

/** The defaults, with what operators have set in their place or beside them. */
export function combined(set: Iterable<ConsoleHeader>): Readonly<Record<string, string>> {
  const byKey = new Map(
    Object.entries(DEFAULT_CONSOLE_HEADERS).map(([name, value]) => [
      name.toLowerCase(),
      { name, value },
    ]),
  );
  for (const { name, values } of set) {
    const key = name.toLowerCase();
    const all = key === POLICY ? [FLOOR, ...values] : values;
    byKey.set(key, { name, value: all.join(", ") });
  }
  return Object.fromEntries(Array.from(byKey.values(), ({ name, value }) => [name, value]));
}
