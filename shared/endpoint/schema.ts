// The part of JSON Schema that declarations are made of. OpenAPI, help and the client's types are
// derived from it; validation is done by the fields themselves (wire.ts).

import type { JsonValue } from "../json/json.ts";

export interface Schema {
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array";
  readonly description?: string;
  readonly format?: string; // duration, date-time, password, uuid
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: JsonValue;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly oneOf?: readonly Schema[];
  readonly nullable?: boolean;
}
