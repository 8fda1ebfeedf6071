// The little of OData that directory and subscriptions speak: equality filters with doubled quotes,
// $select, and pages by link. Strict: what is not understood is refused, as the provider does.

import { Refusal } from "../refusal.ts";

export interface Term {
  readonly property: string;
  readonly value: string;
}

const TERM = /^\s*([A-Za-z]\w*)\s+eq\s+'((?:[^']|'')*)'\s*(?:and\s+|$)/;

/** `appId eq 'x' and displayName eq 'it''s'` */
export function filterTerms(filter: string | null, known: readonly string[]): readonly Term[] {
  const terms: Term[] = [];
  let rest = filter ?? "";
  while (rest.trim() !== "") {
    const [whole, property = "", value = ""] = TERM.exec(rest) ?? [];
    if (whole === undefined) {
      const text = `Invalid filter clause: Syntax error at position ${(filter ?? "").length - rest.length} in '${filter}'.`;
      throw new Refusal(400, "BadRequest", text);
    }
    if (!known.includes(property)) {
      const text = `Unsupported or invalid query filter clause specified for property '${property}'.`;
      throw new Refusal(400, "Request_UnsupportedQuery", text);
    }
    terms.push({ property, value: value.replaceAll("''", "'") });
    rest = rest.slice(whole.length);
    if (rest === "" && /and\s+$/.test(whole)) {
      throw new Refusal(400, "BadRequest", `Invalid filter clause: it ends early: '${filter}'.`);
    }
  }
  return terms;
}

/** Texts compare without regard to case, as the directory compares them. */
export function fits(object: Readonly<Record<string, unknown>>, terms: readonly Term[]): boolean {
  return terms.every(
    ({ property, value }) => String(object[property]).toLowerCase() === value.toLowerCase(),
  );
}

export function selected(
  object: Readonly<Record<string, unknown>>,
  select: string | null,
): Readonly<Record<string, unknown>> {
  if (select === null) return object;
  const entries = select.split(",").map((part): [string, unknown] => {
    const name = part.trim();
    if (!Object.hasOwn(object, name)) {
      const text = `Parsing OData Select and Expand failed: Could not find a property named '${name}'.`;
      throw new Refusal(400, "BadRequest", text);
    }
    return [name, object[name]];
  });
  return Object.fromEntries(entries);
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next one begins; null: this was the last. */
  readonly next: number | null;
}

export function pageOf<T>(all: readonly T[], query: URLSearchParams, size: number): Page<T> {
  const begin = Number(query.get("$skiptoken") ?? "0");
  const top = Number(query.get("$top") ?? size);
  if (!Number.isInteger(begin) || !Number.isInteger(top) || top < 1) {
    throw new Refusal(400, "BadRequest", "Invalid page.");
  }
  const end = begin + Math.min(top, size);
  return { items: all.slice(begin, end), next: end < all.length ? end : null };
}

export function nextLink(base: string, path: string, query: URLSearchParams, next: number): string {
  const following = new URLSearchParams(query);
  following.set("$skiptoken", String(next));
  return `${base}${path}?${following.toString()}`;
}
