// Values that rules name for parameters, and whether a value of a request is among them. Numbers
// compare by value, booleans and text stay distinct, lists and objects compare as a whole.

import { isRawNumber, type JsonValue } from "../base/json.ts";
import { canonicalNumber } from "./acl-number.ts";
import type { Value } from "./hcl-node.ts";

export type RuleValue =
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly canonical: string }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "list"; readonly elements: readonly RuleValue[] }
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, RuleValue> };

/** Null for a block with labels inside an object: no value has that form. */
export function ruleValue(value: Value): RuleValue | null {
  switch (value.kind) {
    case "string":
      return { kind: "string", text: value.text };
    case "number":
      return { kind: "number", canonical: canonicalNumber(value.text) };
    case "bool":
      return { kind: "bool", value: value.value };
    case "list": {
      const elements = value.elements.map(ruleValue);
      return elements.every((element) => element !== null) ? { kind: "list", elements } : null;
    }
    case "object": {
      const members = new Map<string, RuleValue>();
      for (const item of value.body.items) {
        const member = item.kind === "attribute" ? ruleValue(item.value) : null;
        if (item.kind === "block" || member === null) return null;
        members.set(item.key.text, member);
      }
      return { kind: "object", members };
    }
  }
}

/** The values of one parameter, ready to be asked: text by a set, so that long lists cost nothing. */
export class ValueSet {
  /** No values are named: any will do. */
  readonly any: boolean;
  readonly #exact = new Set<string>();
  readonly #begins: string[] = []; // "x*"
  readonly #ends: string[] = []; // "*x"
  readonly #holds: string[] = []; // "*x*"
  readonly #numbers = new Set<string>();
  readonly #bools = new Set<boolean>();
  readonly #nested: RuleValue[] = [];
  readonly #folded: boolean;

  /** `folded`: case does not count. */
  constructor(values: readonly RuleValue[], folded: boolean) {
    this.any = values.length === 0;
    this.#folded = folded;
    for (const value of values) this.#add(value);
  }

  #add(value: RuleValue): void {
    if (value.kind === "number") this.#numbers.add(value.canonical);
    else if (value.kind === "bool") this.#bools.add(value.value);
    else if (value.kind === "string") this.#addText(this.#fold(value.text));
    else this.#nested.push(value);
  }

  #addText(text: string): void {
    this.#exact.add(text); // a star may also be sent as it stands
    const begins = text.endsWith("*");
    const ends = text.startsWith("*");
    if (text === "*") this.#begins.push("");
    else if (begins && ends) this.#holds.push(text.slice(1, -1));
    else if (begins) this.#begins.push(text.slice(0, -1));
    else if (ends) this.#ends.push(text.slice(1));
  }

  #fold(text: string): string {
    return this.#folded ? text.toLowerCase() : text;
  }

  /** Whether one value, as it stands, is named. */
  has(value: JsonValue): boolean {
    if (typeof value === "string") return this.#hasText(this.#fold(value));
    if (typeof value === "boolean") return this.#bools.has(value);
    if (typeof value === "number") return this.#numbers.has(canonicalNumber(String(value)));
    if (isRawNumber(value)) return this.#numbers.has(canonicalNumber(value.rawJSON));
    return this.#nested.some((named) => isSame(named, value));
  }

  #hasText(text: string): boolean {
    return (
      this.#exact.has(text) ||
      this.#begins.some((part) => text.startsWith(part)) ||
      this.#ends.some((part) => text.endsWith(part)) ||
      this.#holds.some((part) => text.includes(part))
    );
  }

  /** For allowing: the whole is named, or it has parts and each of them is. */
  admits(value: JsonValue): boolean {
    if (this.any || this.has(value)) return true;
    const parts = partsOf(value);
    return parts.length > 0 && parts.every((part) => this.has(part));
  }

  /** For denying: the whole or any part is named. Blanks around a part do not hide it, since whoever
   *  reads a list of names takes them off. */
  catches(value: JsonValue): boolean {
    if (this.any || this.has(value)) return true;
    return partsOf(value).some(
      (part) => this.has(part) || (typeof part === "string" && this.has(part.trim())),
    );
  }
}

/** Elements of a list; of text, what stands between commas. */
function partsOf(value: JsonValue): readonly JsonValue[] {
  if (typeof value === "string") return value.split(",");
  return isList(value) ? value : [];
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isSame(named: RuleValue, value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "string") return named.kind === "string" && named.text === value;
  if (typeof value === "boolean") return named.kind === "bool" && named.value === value;
  if (typeof value === "number" || isRawNumber(value)) {
    const text = typeof value === "number" ? String(value) : value.rawJSON;
    return named.kind === "number" && named.canonical === canonicalNumber(text);
  }
  if (isList(value)) {
    if (named.kind !== "list" || named.elements.length !== value.length) return false;
    return named.elements.every((element, i) => isSame(element, value[i]));
  }
  if (named.kind !== "object") return false;
  const keys = Object.keys(value);
  if (keys.length !== named.members.size) return false;
  const { members } = named;
  return keys.every((key) => {
    const member = members.get(key);
    return member !== undefined && isSame(member, value[key]);
  });
}
