// Texts of callers and of the provider as parts of an address: each encoded exactly once, and none of
// them ever a step in the path, a query or another host (T-I11).

import * as failures from "../failures.ts";

/** A path from texts, each encoded once and for all. */
export function path(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encoded));
}

/** A text within a filter: quotes are doubled, and all of it is encoded. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path that the provider knows a thing by, such as a scope: encoded segment by segment. */
export function encodedPath(text: string): string {
  const [first = "", ...rest] = text.split("/");
  return [encodeURIComponent(first.toWellFormed()), ...rest.map(encoded)].join("/");
}

/** Dots alone would be taken as steps in the path, however they are encoded. */
function encoded(segment: string): string {
  if (/^\.{0,2}$/.test(segment))
    throw failures.invalid("an id or a part of a path must not be empty, . or ..");
  return encodeURIComponent(segment.toWellFormed());
}
