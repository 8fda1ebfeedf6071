// The values of a program. Text, true and false, null, double and int are JavaScript's own (an int is a
// bigint), bytes a Uint8Array; the others have classes. What comes from JSON converts what is asked for
// and nothing else: a policy that looks at one field of a large body must not pay for all of it.

import { isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";

export type Value =
  | string
  | boolean
  | null
  | bigint
  | number
  | Uint8Array
  | Uint
  | Timestamp
  | Duration
  | TypeName
  | List
  | ValueMap;

/** As the keys of a map are given out. */
export type Key = string | boolean | bigint | Uint;

export const MIN_INT = -(2n ** 63n);
export const MAX_INT = 2n ** 63n - 1n;
export const MAX_UINT = 2n ** 64n - 1n;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Timestamp {
  readonly nanos: Instant;

  constructor(nanos: Instant) {
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: Nanos;

  constructor(nanos: Nanos) {
    this.nanos = nanos;
  }
}

/** What `type()` gives. */
export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export abstract class List {
  abstract readonly size: number;
  /** Undefined: there is no such place. */
  abstract get(place: number): Value | undefined;
}

export class ValueList extends List {
  readonly #values: readonly Value[];

  /** They are nobody else's to change from now on. */
  constructor(values: readonly Value[]) {
    super();
    this.#values = values;
  }

  get size(): number {
    return this.#values.length;
  }

  get(place: number): Value | undefined {
    return this.#values[place];
  }
}

class JsonList extends List {
  readonly #json: readonly JsonValue[];
  // Of lists and objects, since those remember what they have converted.
  readonly #made: Value[] = [];

  constructor(json: readonly JsonValue[]) {
    super();
    this.#json = json;
  }

  get size(): number {
    return this.#json.length;
  }

  get(place: number): Value | undefined {
    const json = this.#json[place];
    if (json === undefined) return undefined;
    if (json === null || typeof json !== "object") return valueOf(json);
    return (this.#made[place] ??= valueOf(json));
  }
}

export abstract class ValueMap {
  abstract readonly size: number;
  /** Undefined: there is no such key. Numbers of all kinds are one key if they are equal. */
  abstract get(key: Value): Value | undefined;
  abstract keys(): readonly Key[];
}

type PlainKey = string | boolean | bigint;

export class EntryMap extends ValueMap {
  readonly #values = new Map<PlainKey, Value>();
  /** Those of its keys that are unsigned. */
  #unsigned: Set<PlainKey> | null = null;

  get size(): number {
    return this.#values.size;
  }

  /** False: it has this key already. Only while it is made. */
  add(key: Key, value: Value): boolean {
    const plain = key instanceof Uint ? key.value : key;
    if (this.#values.has(plain)) return false;
    this.#values.set(plain, value);
    if (key instanceof Uint) (this.#unsigned ??= new Set()).add(plain);
    return true;
  }

  get(key: Value): Value | undefined {
    const plain = typeof key === "string" ? key : plainKey(key);
    return plain === null ? undefined : this.#values.get(plain);
  }

  keys(): readonly Key[] {
    const keys = Array.from(this.#values.keys());
    const unsigned = this.#unsigned;
    if (unsigned === null) return keys;
    return keys.map((key) => (typeof key === "bigint" && unsigned.has(key) ? new Uint(key) : key));
  }
}

/** The members of an object. */
class JsonMap extends ValueMap {
  readonly #object: JsonObject;
  #names: readonly string[] | null = null;
  // Of lists and objects, since those remember what they have converted.
  #made: Map<string, Value> | null = null;

  constructor(object: JsonObject) {
    super();
    this.#object = object;
  }

  get size(): number {
    return this.keys().length;
  }

  get(name: Value): Value | undefined {
    if (typeof name !== "string" || !Object.hasOwn(this.#object, name)) return undefined;
    const json = this.#object[name];
    if (json === undefined) return undefined;
    if (json === null || typeof json !== "object") return valueOf(json);
    this.#made ??= new Map();
    let made = this.#made.get(name);
    if (made === undefined) this.#made.set(name, (made = valueOf(json)));
    return made;
  }

  keys(): readonly string[] {
    const object = this.#object;
    return (this.#names ??= Object.keys(object).filter((name) => object[name] !== undefined));
  }
}

/** What may be a key; null for anything else. A double is the integer that it equals. */
export function keyOf(value: Value): Key | null {
  return value instanceof Uint ? value : plainKey(value);
}

function plainKey(value: Value): PlainKey | null {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : null;
  if (value instanceof Uint) return value.value;
  return value === null || typeof value === "object" ? null : value;
}

/** Of JSON: integers become int, other numbers double. */
export function valueOf(json: JsonValue): Value {
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : json;
  if (json === null || typeof json !== "object") return json;
  if (isRawNumber(json)) return numberOf(json.rawJSON);
  return isArray(json) ? new JsonList(json) : new JsonMap(json);
}

function isArray(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}

function numberOf(text: string): bigint | number {
  if (!/^-?[0-9]{1,19}$/.test(text)) return Number(text);
  const whole = BigInt(text);
  return whole >= MIN_INT && whole <= MAX_INT ? whole : Number(text);
}

/** The name of the type that a value has. */
export function typeNameOf(value: Value): string {
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "double";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (value === null) return "null_type";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof List) return "list";
  if (value instanceof ValueMap) return "map";
  if (value instanceof Uint) return "uint";
  if (value instanceof Timestamp) return "google.protobuf.Timestamp";
  return value instanceof Duration ? "google.protobuf.Duration" : "type";
}
