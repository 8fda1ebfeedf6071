// One request as programs see it: properties in the engine's types, each made when a program first
// asks and kept for the others that judge the same request.

import { celMap, type CelValue } from "@bufbuild/cel";
import type { JsonValue } from "@holdfast/shared/json/json";
import type { ProgramInput } from "./program-input.ts";
import { isProperty, type Plain, type Property, ROOTS, type Shape } from "./properties.ts";
import { celOf, durationOf, timestampOf } from "../running/values.ts";

export class RequestView {
  readonly input: ProgramInput;
  readonly #made = new Map<Shape, CelValue | undefined>();

  constructor(input: ProgramInput) {
    this.input = input;
  }

  /** Undefined: this request does not have it. */
  get(shape: Shape): CelValue | undefined {
    const made = this.#made.get(shape);
    if (made !== undefined || this.#made.has(shape)) return made;
    const value = isProperty(shape) ? this.#property(shape) : this.#map(shape);
    this.#made.set(shape, value);
    return value;
  }

  #property(property: Property): CelValue | undefined {
    const plain = property.read(this.input);
    return plain === undefined ? undefined : converted(property.kind, plain);
  }

  /** For programs that use a name as a whole: `size(token)`, `token["role"]`. */
  #map(shape: ReadonlyMap<string, Shape>): CelValue {
    const members = new Map<string, CelValue>();
    if (shape === ROOTS.get("token") && this.input.token === null) return celMap(members);
    for (const [name, child] of shape) {
      const value = this.get(child);
      if (value !== undefined) members.set(name, value);
    }
    return celMap(members);
  }
}

function converted(kind: string, plain: Plain): CelValue {
  if (typeof plain === "bigint") {
    if (kind === "timestamp") return timestampOf(plain);
    return kind === "duration" ? durationOf(plain) : plain;
  }
  const json: JsonValue = plain;
  return celOf(json);
}
