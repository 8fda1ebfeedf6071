// The query part of a request target. A name given twice is refused: which of the two counts would be
// decided differently in different places.

import type { Failure } from "../failure.ts";
import { queryMalformed } from "../failures.ts";
import { reachesPrototype } from "../json/json-limits.ts";

const MAX_PARAMETERS = 64;

/** A name that stands there without a value is a switch that is on; `name=` has a value, an empty one. */
export type Query = ReadonlyMap<string, string | true>;

export const NO_QUERY: Query = new Map();

export function parseQuery(raw: string): Query {
  if (raw === "") return NO_QUERY;
  // Bytes beyond ASCII reach us as one character each: read so they would be something else.
  if (!/^[!"$-~]+$/.test(raw)) throw malformed("a character that needs an escape has none");
  const parts = raw.split("&");
  if (parts.length > MAX_PARAMETERS) {
    throw malformed(`it may have at most ${MAX_PARAMETERS} parameters`);
  }
  const found = new Map<string, string | true>();
  for (const part of parts) {
    if (part === "") continue;
    const at = part.indexOf("=");
    const name = decode(at < 0 ? part : part.slice(0, at));
    if (reachesPrototype(name)) throw malformed("a parameter has a name that is not allowed");
    if (found.has(name)) throw malformed("a parameter is given twice");
    found.set(name, at < 0 ? true : decode(part.slice(at + 1)));
  }
  return found;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw malformed("an escape is not UTF-8 in the form %XX");
  }
}

function malformed(what: string): Failure {
  return queryMalformed(`the query is not valid: ${what}`);
}
