// One request as programs see it: properties as values, each made when a program first
// asks and kept for the others that judge the same request.

import type { JsonValue } from "@holdfast/shared/json/json";
import type { ProgramInput } from "./program-input.ts";
import { isProperty, type Plain, type Property, ROOTS, type Shape } from "./properties.ts";
import { Duration, EntryMap, Timestamp, type Value, valueOf } from "../running/values.ts";

export class RequestView {
  readonly input: ProgramInput;
  readonly #made = new Map<Shape, Value | undefined>();

  constructor(input: ProgramInput) {
    this.input = input;
  }

  /** Undefined: this request does not have it. */
  get(shape: Shape): Value | undefined {
    const made = this.#made.get(shape);
    if (made !== undefined || this.#made.has(shape)) return made;
    const value = isProperty(shape) ? this.#property(shape) : this.#map(shape);
    this.#made.set(shape, value);
    return value;
  }

  #property(property: Property): Value | undefined {
    const plain = property.read(this.input);
    return plain === undefined ? undefined : converted(property.kind, plain);
  }

  /** For programs that use a name as a whole: `size(token)`, `token["role"]`. */
  #map(shape: ReadonlyMap<string, Shape>): Value {
    const members = new EntryMap();
    if (shape === ROOTS.get("token") && this.input.token === null) return members;
    for (const [name, child] of shape) {
      const value = this.get(child);
      if (value !== undefined) members.add(name, value);
    }
    return members;
  }
}

function converted(kind: string, plain: Plain): Value {
  if (typeof plain === "bigint") {
    if (kind === "timestamp") return new Timestamp(plain);
    return kind === "duration" ? new Duration(plain) : plain;
  }
  const json: JsonValue = plain;
  return valueOf(json);
}
