// A value that cannot be printed by accident: string conversion, JSON, inspection and template
// literals all give "[secret]". Whoever needs the value says so by calling reveal().

import { inspect } from "node:util";

const SHOWN = "[secret]";

export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [Symbol.toPrimitive](): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
