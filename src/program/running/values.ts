// JSON as the engine sees it. Maps convert what is asked for and nothing else: a policy that looks at
// one field of a large body must not pay for all of it.

import { type CelInput, celList, type CelList, celMap, type CelValue } from "@bufbuild/cel";
import { create } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { SECOND } from "@holdfast/shared/text/duration";
import { isRawNumber, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant, Nanos } from "@holdfast/shared/world";

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

/** Integers become int, other numbers double. */
export function celOf(value: JsonValue): CelValue {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value === null || typeof value !== "object") return value;
  if (isRawNumber(value)) return numberOf(value.rawJSON);
  if (isArray(value)) return celList(value.map(celOf));
  return celMap(new JsonMap(value));
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function numberOf(text: string): bigint | number {
  if (!/^-?[0-9]{1,19}$/.test(text)) return Number(text);
  const whole = BigInt(text);
  return whole >= MIN_INT && whole <= MAX_INT ? whole : Number(text);
}

export function timestampOf(instant: Instant): ReflectMessage {
  const nanos = ((instant % SECOND) + SECOND) % SECOND;
  const message = create(TimestampSchema, {
    seconds: (instant - nanos) / SECOND,
    nanos: Number(nanos),
  });
  return reflect(TimestampSchema, message);
}

export function durationOf(length: Nanos): ReflectMessage {
  const message = create(DurationSchema, {
    seconds: length / SECOND,
    nanos: Number(length % SECOND),
  });
  return reflect(DurationSchema, message);
}

export function listOf(elements: readonly CelInput[]): CelList {
  return celList(elements);
}

/** The members of an object, each converted when it is first asked for. */
class JsonMap implements ReadonlyMap<string, CelValue> {
  readonly #object: JsonObject;
  readonly #names: readonly string[];
  readonly #made = new Map<string, CelValue>();

  constructor(object: JsonObject) {
    this.#object = object;
    this.#names = Object.keys(object).filter((name) => object[name] !== undefined);
  }

  get size(): number {
    return this.#names.length;
  }

  /** The engine asks with keys of other types too; no member has one. */
  get(name: unknown): CelValue | undefined {
    if (typeof name !== "string") return undefined;
    const made = this.#made.get(name);
    if (made !== undefined) return made;
    const value = Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
    if (value === undefined) return undefined;
    const converted = celOf(value);
    this.#made.set(name, converted);
    return converted;
  }

  has(name: unknown): boolean {
    return this.get(name) !== undefined;
  }

  keys(): MapIterator<string> {
    return this.#names.values();
  }

  *values(): MapIterator<CelValue> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): MapIterator<[string, CelValue]> {
    for (const name of this.#names) {
      const value = this.get(name);
      if (value !== undefined) yield [name, value];
    }
  }

  [Symbol.iterator](): MapIterator<[string, CelValue]> {
    return this.entries();
  }

  forEach(call: (value: CelValue, key: string, map: ReadonlyMap<string, CelValue>) => void): void {
    for (const [name, value] of this.entries()) call(value, name, this);
  }
}
