// Objects in a request whose members are fields themselves: the one form of such an object.

import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Field } from "./field.ts";

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
