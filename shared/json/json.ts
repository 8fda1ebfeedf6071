// Values as JSON knows them. Numbers whose text a double cannot hold arrive as RawJson, which
// JSON.stringify writes back digit by digit.

export interface RawJson {
  readonly rawJSON: string;
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | RawJson
  | readonly JsonValue[]
  | JsonObject;

export interface JsonObject {
  readonly [name: string]: JsonValue | undefined;
}

// Part of the runtime, not yet of the type library.
const { rawJSON } = JSON as unknown as { rawJSON(this: void, text: string): RawJson };

/** Light, since a body may hold tens of thousands: what the runtime wants is made when it is written. */
class ExactNumber implements RawJson {
  readonly rawJSON: string;

  constructor(text: string) {
    this.rawJSON = text;
  }

  toJSON(): RawJson {
    return rawJSON(this.rawJSON);
  }
}

/** A number by its text. Only our own code can make one: a body cannot look like it. */
export function rawNumber(text: string): RawJson {
  return new ExactNumber(text);
}

export function isRawNumber(value: unknown): value is RawJson {
  return value instanceof ExactNumber;
}

/** Of what JSON was read as. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value)
  );
}

/** A number of things: whole, none or more, and told exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
