// Objects in a request whose members are fields themselves: the one form of such an object, and what is told
// of members that nobody reads.

import { isObject, type JsonObject, type JsonValue } from "../json/json.ts";
import type { Field, Member } from "./field.ts";

/** Each member under its first name and in its one form, without those that are as if not given; others
 *  stay as they were sent. Refuses nothing by itself: what a field cannot read stays as well. */
export function canonicalMembers(
  object: JsonObject,
  fields: readonly Field<unknown>[],
): JsonObject {
  const found = new Map<string, JsonValue>();
  for (const [name, value = null] of Object.entries(object)) {
    const field = fields.find((one) => one.name === name || one.aliases?.includes(name));
    // Of several names the first that is given counts.
    const first = field?.name === name ? undefined : object[field?.name ?? ""];
    if (field !== undefined && first !== undefined && first !== null) continue;
    const one = value === null ? null : canonicalOf(field, value);
    if (one !== null) found.set(field?.name ?? name, one);
  }
  return Object.fromEntries(found);
}

/** Null: it is read as if it were not given. */
export function canonicalOf(field: Field<unknown> | undefined, value: JsonValue): JsonValue {
  const one = field?.canonical?.(value);
  return one === undefined ? value : one;
}

const MAX_NAMED = 8;

/** What to tell of the members of an object, or of each of a list of objects: of those that nobody reads, and
 *  what the others have to tell of themselves. Null is as if it were not given. */
export function memberNotices(
  at: string,
  value: JsonValue,
  members: readonly Member[],
): readonly string[] {
  const objects = (Array.isArray(value) ? (value as readonly JsonValue[]) : [value]).filter(
    isObject,
  );
  const unknown = new Set<string>();
  const warnings = new Set<string>();
  for (const object of objects) {
    for (const [name, one = null] of Object.entries(object)) {
      if (one === null) continue;
      const member = members.find((known) => known.name === name || known.aliases?.includes(name));
      if (member === undefined) unknown.add(`${at}.${name}`);
      else for (const text of member.notice?.(one, `${at}.${name}`) ?? []) warnings.add(text);
    }
  }
  return [...warnings, ...ignored("unknown fields", [...unknown])];
}

/** One text for all names, of which the first are listed. */
export function ignored(what: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return [`${what} are ignored: ${names.slice(0, MAX_NAMED).join(", ")}${more}`];
}

/** A field that is an object of these members, or a list of such objects: what is none of them is told. */
export function withMembers<T>(
  field: Omit<Field<T>, "notice" | "members">,
  members: readonly Member[],
): Field<T> {
  const notice = (value: JsonValue, at = field.name) => memberNotices(at, value, members);
  return { ...field, members, notice };
}
