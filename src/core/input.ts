// From what came in to what a handler takes: path, query and body become the typed input of the
// declaration. Fields that it does not know are ignored, and told (decision 32).

import type { JsonObject, JsonValue } from "../base/json.ts";
import type { Served } from "../endpoint/endpoint.ts";
import type { Field } from "../endpoint/wire.ts";

export interface Given {
  readonly path: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  readonly body: JsonObject;
}

export interface ReadInput {
  readonly input: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

const MAX_NAMED = 8;

export function readInput(endpoint: Served, given: Given): ReadInput {
  if (endpoint.family === "acl") return readFolded(endpoint, given);
  const input: Record<string, unknown> = {};
  for (const { key, field } of endpoint.fields) input[key] = field.read(valueOf(field, given));
  if (endpoint.takesAnyBody) return { input, warnings: [] };
  return { input, warnings: unknownIn(given.body, (name) => endpoint.bodyNames.has(name)) };
}

/** On /acl/ the case of a field's name does not matter (acl-tokens 1); none is given twice, which the
 *  reader of the body has seen to. */
function readFolded(endpoint: Served, given: Given): ReadInput {
  const body = new Map<string, JsonValue>();
  for (const name of Object.keys(given.body)) body.set(name.toLowerCase(), given.body[name]!);
  const input: Record<string, unknown> = {};
  for (const { key, field, bodyName } of endpoint.fields) {
    const value = field.source === "body" ? body.get(bodyName) : valueOf(field, given);
    input[key] = field.read(value);
  }
  const known = (name: string) => endpoint.bodyNames.has(name.toLowerCase());
  return { input, warnings: unknownIn(given.body, known) };
}

function unknownIn(body: JsonObject, known: (name: string) => boolean): readonly string[] {
  const unknown = Object.keys(body).filter((name) => !known(name));
  return unknown.length === 0 ? [] : [ignored(unknown)];
}

function valueOf(field: Field<unknown>, given: Given): JsonValue | undefined {
  switch (field.source) {
    case "path":
      return given.path[field.name];
    case "query":
      return given.query.get(field.name);
    case "body":
      return own(given.body, field.name);
    case "param":
      return own(given.body, field.name) ?? given.query.get(field.name);
    case "whole":
      return given.body;
  }
}

function own(body: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(body, name) ? body[name] : undefined;
}

function ignored(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `unknown fields are ignored: ${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}
