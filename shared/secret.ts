// A value that cannot be printed by accident: string conversion, JSON, inspection and template
// literals all give "[secret]". Whoever needs the value says so by calling reveal().

// How Node's inspection is told; a symbol of everybody, so that browsers can load this file too.
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom");
const REDACTED = "[secret]";

export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  [INSPECT](): string {
    return REDACTED;
  }
}
