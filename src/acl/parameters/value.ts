// Values that rules name for parameters, and whether a value of a request is among them. Numbers
// compare by value, booleans and text stay distinct, lists and objects compare as a whole.

import { isObject, isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { atOnce, Pieces, type Sliced } from "@holdfast/shared/sliced";
import { canonicalNumber } from "./number.ts";
import { PrefixTree } from "../prefix-tree.ts";
import type { Value } from "../../document/hcl-node.ts";
import { TextSearch } from "./text-set.ts";

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

/** Of a parameter: what its endpoint calls it, and the one form of all spellings that are the same to it. */
export interface Reading {
  readonly name: string;
  /** Other names of it. */
  readonly aliases?: readonly string[] | undefined;
  readonly canonical?: ((value: JsonValue) => JsonValue | undefined) | undefined;
  /** Case says nothing to whoever reads it: what is denied is denied in every case. */
  readonly caseless?: boolean | undefined;
  /** It is a map that may be written as a list of name=value: each pair counts as an element. */
  readonly pairs?: boolean | undefined;
}

/** What values are to whoever reads them: as wholes, and as one element of a list or one pair of a map. */
interface Meanings {
  readonly wholes: ReadonlySet<string>;
  readonly elements: ReadonlySet<string>;
}

/** More values than this are not read as an endpoint reads them. */
const MAX_READ = 4_096;

/**
 * The values of one parameter, ready to be asked: however many there are, asking takes as long as the
 * value is. How long that may be is for `Compared` to say.
 */
export class ValueSet {
  /** No values are named: any will do. */
  readonly any: boolean;
  readonly #exact = new Set<string>();
  readonly #begins = new PrefixTree<true>(); // "x*"
  readonly #ends = new PrefixTree<true>(); // "*x", from its end on
  #longestEnd = 0;
  #holds: TextSearch | null = null; // "*x*"
  readonly #numbers = new Set<string>();
  readonly #bools = new Set<boolean>();
  readonly #nested = new Set<string>();
  readonly #folded: boolean;
  readonly #values: readonly RuleValue[];
  /** What the values are read as, by who reads them. */
  readonly #read = new WeakMap<Reading, Meanings>();

  private constructor(values: readonly RuleValue[], folded: boolean) {
    this.any = values.length === 0;
    this.#folded = folded;
    this.#values = values;
  }

  /** In slices. `folded`: case does not count. */
  static *build(values: readonly RuleValue[], folded: boolean): Sliced<ValueSet> {
    const set = new ValueSet(values, folded);
    const pieces = new Pieces();
    const holds: string[] = [];
    for (const value of values) {
      if (pieces.due) yield;
      set.#add(value, holds);
    }
    if (holds.length > 0) set.#holds = yield* TextSearch.build(holds);
    return set;
  }

  #add(value: RuleValue, holds: string[]): void {
    if (value.kind === "number") this.#numbers.add(value.canonical);
    else if (value.kind === "bool") this.#bools.add(value.value);
    else if (value.kind === "string") this.#addText(this.#fold(value.text), holds);
    else this.#nested.add(keyOfRule(value));
  }

  #addText(text: string, holds: string[]): void {
    this.#exact.add(text); // a star may also be sent as it stands
    const begins = text.endsWith("*");
    const ends = text.startsWith("*");
    if (text === "*") this.#begins.update("", () => true);
    else if (begins && ends) holds.push(text.slice(1, -1));
    else if (begins) this.#begins.update(text.slice(0, -1), () => true);
    else if (ends) {
      this.#ends.update(backwards(text.slice(1)), () => true);
      this.#longestEnd = Math.max(this.#longestEnd, text.length - 1);
    }
  }

  #fold(text: string): string {
    return this.#folded ? text.toLowerCase() : text;
  }

  /** Whether a value need not be looked at to know that it is named. */
  namesAll(value: JsonValue): boolean {
    return this.any || (typeof value === "string" && this.#begins.longest("") !== null);
  }

  /** Whether one value, as it stands, is named. */
  has(value: JsonValue): boolean {
    if (typeof value === "string") {
      const text = this.#fold(value);
      return this.#hasEnds(text) || this.#holds?.isIn(text) === true;
    }
    if (typeof value === "boolean") return this.#bools.has(value);
    if (typeof value === "number" || isRawNumber(value)) {
      return this.#numbers.size > 0 && this.#numbers.has(numberKey(value));
    }
    if (this.#nested.size === 0) return false;
    const key = keyOf(value);
    return key !== null && this.#nested.has(key);
  }

  /** By all but what it holds. */
  #hasEnds(text: string): boolean {
    return this.#exact.has(text) || this.#fitsEnds(text);
  }

  /** By a star at one end. */
  #fitsEnds(text: string): boolean {
    return (
      this.#begins.longest(text) !== null ||
      (this.#longestEnd > 0 &&
        this.#ends.longest(backwards(text.slice(-this.#longestEnd))) !== null)
    );
  }

  isTooMuchFor(reading: Reading | undefined): boolean {
    return reading?.canonical !== undefined && this.#values.length > MAX_READ;
  }

  /** Whether `read` is still to be done. */
  isUnread(reading: Reading | undefined): reading is Reading {
    return (
      reading?.canonical !== undefined && !this.isTooMuchFor(reading) && !this.#read.has(reading)
    );
  }

  /** What its values are, read as the endpoint does. */
  *read(reading: Reading): Sliced<Meanings> {
    const pieces = new Pieces();
    const wholes = new Set<string>();
    const elements = new Set<string>();
    for (const named of this.#values) {
      if (pieces.due) yield;
      const value = plain(named);
      const whole = readAs(reading, value);
      if (whole !== undefined) wholes.add(this.#meaningOf(whole));
      for (const one of elementsIn(value, whole, reading)) elements.add(this.#meaningOf(one));
    }
    const meanings = { wholes, elements };
    this.#read.set(reading, meanings);
    return meanings;
  }

  #meanings(reading: Reading): Meanings {
    return this.#read.get(reading) ?? atOnce(this.read(reading));
  }

  /** One text for all that is the same to the reader. */
  #meaningOf(value: JsonValue): string {
    return this.#fold(keyOf(value) ?? JSON.stringify(value));
  }

  /** Whether a named value is read as the same: "1h", "60m" and 3600 are one duration. */
  #means(value: JsonValue, reading: Reading | undefined): boolean {
    if (reading?.canonical === undefined) return false;
    const { wholes } = this.#meanings(reading);
    const read = wholes.size === 0 ? undefined : readAs(reading, value);
    return read !== undefined && wholes.has(this.#meaningOf(read));
  }

  /** For allowing: the whole is named, or it has parts and each of them is. */
  admits(value: JsonValue, reading?: Reading): boolean {
    if (this.any || this.has(value) || this.#means(value, reading)) return true;
    if (reading?.pairs === true && isObject(value)) {
      const pairs = Object.entries(value);
      return pairs.length > 0 && pairs.every((pair) => this.#admitsPair(pair, reading));
    }
    const parts = partsOf(value);
    return parts.length > 0 && parts.every((part) => this.has(part) || this.#isOne(part, reading));
  }

  /** For denying: the whole or any part is named, or a star fits a text inside. Blanks around a part do not hide it, since whoever
   *  reads a list of names takes them off. */
  catches(value: JsonValue, reading?: Reading): boolean {
    if (this.any || this.has(value) || this.#means(value, reading)) return true;
    if (isList(value)) {
      const named = value.some(
        (part) => this.has(part) || this.#hasTrimmed(part) || this.#isOne(part, reading),
      );
      return named || this.#catchesInside(value);
    }
    if (reading?.pairs === true && isObject(value)) {
      const named = Object.entries(value).some((pair) => this.#catchesPair(pair, reading));
      return named || this.#catchesInside(value);
    }
    if (typeof value !== "string") return this.#catchesInside(value);
    // What a part holds the whole does, and it was looked at.
    return value
      .split(",")
      .some((part) => this.#hasEnds(this.#fold(part)) || this.#hasTrimmed(part));
  }

  #catchesPair(pair: Pair, reading: Reading): boolean {
    const text = textOfPair(pair);
    return this.#isPair(pair, reading) || (text !== null && this.has(text));
  }

  /** A text allows no other pair than it is read as: {"a=b": "c"} is not what "a=b=c" says. */
  #admitsPair(pair: Pair, reading: Reading): boolean {
    if (this.#isPair(pair, reading)) return true;
    const text = textOfPair(pair);
    if (text === null || !this.has(text)) return false;
    const read = readAs(reading, [text]);
    return read !== undefined && keyOf(read) === keyOfPair(pair);
  }

  #isPair(pair: Pair, reading: Reading): boolean {
    const key = keyOfPair(pair);
    return key !== null && this.#meanings(reading).elements.has(this.#fold(key));
  }

  /** Whether a value with a star fits a text anywhere inside: what is denied is so however deep it lies. A
   *  member counts by its name, by its value, and as `name=value`, which is how many write such maps. */
  #catchesInside(value: JsonValue): boolean {
    if (!this.#hasPatterns) return false;
    if (typeof value === "string") return this.#fits(value);
    if (typeof value !== "object" || value === null || isRawNumber(value)) return false;
    if (isList(value)) return value.some((element) => this.#catchesInside(element));
    return Object.entries(value).some(([name, member = null]) => {
      const text = plainText(member);
      return (
        this.#fits(name) ||
        (text !== null && this.#fits(`${name}=${text}`)) ||
        this.#catchesInside(member)
      );
    });
  }

  get #hasPatterns(): boolean {
    return this.#holds !== null || this.#longestEnd > 0 || !this.#begins.isEmpty;
  }

  #fits(whole: string): boolean {
    const text = this.#fold(whole);
    const trimmed = text.trim();
    return (
      this.#fitsEnds(text) ||
      (trimmed !== text && this.#fitsEnds(trimmed)) ||
      this.#holds?.isIn(text) === true
    );
  }

  /** Whether a part of a list is read as a value that is named, which may be spelt otherwise. */
  #isOne(part: JsonValue, reading: Reading | undefined): boolean {
    if (reading?.canonical === undefined) return false;
    const { elements } = this.#meanings(reading);
    const one = elements.size === 0 ? undefined : elementOf(readAs(reading, [part]), reading);
    return one !== undefined && elements.has(this.#meaningOf(one));
  }

  #hasTrimmed(part: JsonValue): boolean {
    if (typeof part !== "string") return false;
    const trimmed = part.trim();
    return trimmed !== part && this.#hasEnds(this.#fold(trimmed));
  }
}

/** Of one request, in all parameters together: more is not compared, and so not allowed. */
export const MAX_COMPARED = { characters: 256 * 1024, parts: 10_000 };

/** Counted for each element and member beside its text: an empty one takes time, too. */
const EACH = 2;

/** How much of a request has been compared. */
export class Compared {
  #characters = 0;
  #parts = 0;

  /** Counts a value in; whether that is more than may be. */
  isTooMuch(value: JsonValue): boolean {
    this.#parts += 1;
    if (isList(value)) this.#parts += value.filter((element) => !isNested(element)).length;
    else this.#parts += commasIn(value);
    this.#count(value);
    return this.#isOver;
  }

  get #isOver(): boolean {
    return this.#characters > MAX_COMPARED.characters || this.#parts > MAX_COMPARED.parts;
  }

  /** Everything that is looked at: names, texts, numbers, and whatever holds others. No further than it
   *  takes to know that it is too much. */
  #count(value: JsonValue): void {
    if (!isNested(value)) {
      this.#characters += lengthOf(value);
      return;
    }
    this.#parts += 1;
    if (isList(value)) {
      this.#characters += EACH * value.length;
      for (const element of value) {
        if (this.#isOver) return;
        this.#count(element);
      }
      return;
    }
    const names = Object.keys(value);
    this.#parts += names.length;
    for (const name of names) {
      if (this.#isOver) return;
      this.#characters += EACH + name.length;
      this.#count(value[name] ?? null);
    }
  }
}

function isNested(value: JsonValue): value is readonly JsonValue[] | JsonObject {
  return typeof value === "object" && value !== null && !isRawNumber(value);
}

function lengthOf(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  return plainText(value)?.length ?? 0;
}

function commasIn(text: JsonValue): number {
  if (typeof text !== "string") return 0;
  let count = 0;
  for (let at = text.indexOf(","); at >= 0; at = text.indexOf(",", at + 1)) {
    count += 1;
    if (count > MAX_COMPARED.parts) break;
  }
  return count;
}

function backwards(text: string): string {
  let turned = "";
  for (let at = text.length - 1; at >= 0; at -= 1) turned += text.charAt(at);
  return turned;
}

function plain(value: RuleValue): JsonValue {
  switch (value.kind) {
    case "string":
      return value.text;
    case "number":
      return Number(value.canonical);
    case "bool":
      return value.value;
    case "list":
      return value.elements.map(plain);
    case "object":
      return Object.fromEntries(Array.from(value.members, ([name, one]) => [name, plain(one)]));
  }
}

/** Undefined: no value of the parameter. */
function readAs({ canonical }: Reading, value: JsonValue): JsonValue | undefined {
  try {
    return canonical?.(value);
  } catch {
    return undefined;
  }
}

/** What a value of a rule is as one element: it may stand alone, in a list, or as the text of either. */
function elementsIn(
  value: JsonValue,
  whole: JsonValue | undefined,
  reading: Reading,
): readonly JsonValue[] {
  const forms = [whole, readAs(reading, [value])];
  if (whole !== undefined && !isList(whole)) forms.push(readAs(reading, [whole]));
  return forms.map((form) => elementOf(form, reading)).filter((one) => one !== undefined);
}

/** The only element of what was read. */
function elementOf(read: JsonValue | undefined, reading: Reading): JsonValue | undefined {
  if (read === undefined) return undefined;
  if (isList(read)) return read.length === 1 ? read[0] : undefined;
  const isPair = reading.pairs === true && isObject(read) && Object.keys(read).length === 1;
  return isPair ? read : undefined;
}

type Pair = readonly [name: string, value: JsonValue | undefined];

function textOfPair([name, value = null]: Pair): string | null {
  const text = plainText(value);
  return text === null ? null : `${name}=${text}`;
}

function keyOfPair([name, value]: Pair): string | null {
  const key = keyOf(value);
  return key === null ? null : keyOfMembers([[name, key]]);
}

/** Of a text, a number or a switch. */
function plainText(value: JsonValue): string | null {
  if (typeof value === "string") return value;
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : null;
}

/** Elements of a list; of text, what stands between commas. */
function partsOf(value: JsonValue): readonly JsonValue[] {
  if (typeof value === "string") return value.split(",");
  return isList(value) ? value : [];
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** One text for each value, so that a long list of lists is one look. */
function keyOfRule(value: RuleValue): string {
  switch (value.kind) {
    case "string":
      return JSON.stringify(value.text);
    case "number":
      return value.canonical;
    case "bool":
      return String(value.value);
    case "list":
      return `[${value.elements.map(keyOfRule).join(",")}]`;
    case "object":
      return keyOfMembers(Array.from(value.members, ([name, member]) => [name, keyOfRule(member)]));
  }
}

/** The same of a value that was sent; null where no rule can name it, since none can say null. */
function keyOf(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" || isRawNumber(value)) return numberKey(value);
  if (isList(value)) {
    const keys = value.map(keyOf);
    return keys.includes(null) ? null : `[${keys.join(",")}]`;
  }
  const members: (readonly [string, string])[] = [];
  for (const [name, member] of Object.entries(value)) {
    const key = keyOf(member);
    if (key === null) return null;
    members.push([name, key]);
  }
  return keyOfMembers(members);
}

function numberKey(value: number | { readonly rawJSON: string }): string {
  return canonicalNumber(typeof value === "number" ? String(value) : value.rawJSON);
}

function keyOfMembers(members: readonly (readonly [string, string])[]): string {
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return `{${sorted.map(([name, key]) => `${JSON.stringify(name)}:${key}`).join(",")}}`;
}
