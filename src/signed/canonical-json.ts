// JSON in its one form (RFC 8785), so that equal reports have equal bytes: members in the order of their names'
// UTF-16 units, no spaces, numbers and texts as the runtime's own JSON writes them, which is what the standard asks
// for. Whoever checks a signature never needs it: signatures are over bytes.

import { invariant } from "@holdfast/shared/invariant";
import { isObject, isRawNumber, type JsonValue } from "@holdfast/shared/json/json";

export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isObject(value)) {
    const members = Object.keys(value)
      .toSorted() // by UTF-16 units
      .flatMap((name) => {
        const member = value[name];
        return member === undefined ? [] : [`${textOf(name)}:${canonicalJson(member)}`];
      });
    return `{${members.join(",")}}`;
  }
  if (typeof value === "string") return textOf(value);
  invariant(!isRawNumber(value), "a report holds numbers that a double can hold");
  invariant(typeof value !== "number" || Number.isFinite(value), "JSON has no such number");
  return JSON.stringify(value);
}

/** Half a pair of surrogates has no UTF-8. */
function textOf(text: string): string {
  return JSON.stringify(text.toWellFormed());
}
