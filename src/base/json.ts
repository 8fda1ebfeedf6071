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
interface JsonWithRaw {
  rawJSON(text: string): RawJson;
  isRawJSON(value: unknown): value is RawJson;
}
const runtime = JSON as unknown as JsonWithRaw;

/** A number by its text. Only our own code can make one: a body cannot look like it. */
export function rawNumber(text: string): RawJson {
  return runtime.rawJSON(text);
}

export function isRawNumber(value: unknown): value is RawJson {
  return runtime.isRawJSON(value);
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value)
  );
}
