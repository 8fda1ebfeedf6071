// What a plugin of others says of its own paths (an OpenAPI document, in answer to `help`), as declarations for documents alone: who may
// ask is decided by what it says of that at its start, and what it takes by itself. Whatever it says is another program's: few words of it
// are taken, so that a document of ours stays a valid one, and of a bounded size.

import { type Access, access } from "@holdfast/shared/endpoint/access";
import type { Endpoint, Method } from "@holdfast/shared/endpoint/endpoint";
import type { Field, Fields, Source } from "@holdfast/shared/endpoint/field";
import { out, type Output } from "@holdfast/shared/endpoint/output";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import { invariant } from "@holdfast/shared/invariant";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import type { PathSet, SpecialPaths } from "./special-paths.ts";

const MAX_PATHS = 500;
const MAX_PATH = 512;
const MAX_FIELDS = 100;
const MAX_ENUM = 100;
const MAX_TEXT = 2048;
const MAX_DEPTH = 5;
/** Schemas in all: each may be referred to from many places. */
const MAX_SCHEMAS = 20_000;

const METHODS: Readonly<Record<string, Method>> = {
  get: "GET",
  put: "POST",
  post: "POST",
  patch: "PATCH",
  delete: "DELETE",
};
const ACCESS: Readonly<Record<PathSet, Access>> = {
  ordinary: access.capability,
  sudo: access.sudo,
  open: access.openWithCaller,
};
const TYPES = ["string", "integer", "number", "boolean", "object", "array"] as const;
const FORMATS = /^[a-z0-9-]{1,32}$/;
/** Of what is kept of a name: those of fields stand in documents alone. */
const FIELD = /^[\w.$@-]{1,128}$/;
const SCHEMAS = "#/components/schemas/";

const declare = engineEndpoints<never>();

export function describedPaths(openapi: JsonObject, special: SpecialPaths): Endpoint<never>[] {
  const { paths } = openapi;
  const reader = new Reader(openapi);
  const found = new Map<string, Endpoint<never>>();
  for (const [template, item] of Object.entries(isObject(paths) ? paths : {})) {
    if (found.size >= MAX_PATHS) break;
    const place = placeOf(template);
    if (place === null || !isObject(item)) continue;
    for (const endpoint of reader.endpointsAt(place, item, special)) {
      // A list has its path without the slash, by which others know it, and POST is PUT.
      const key = `${endpoint.method} ${endpoint.path.replaceAll(/:\w+/g, ":")}`;
      if (!found.has(key)) found.set(key, { ...endpoint, name: reader.ownName(endpoint.name) });
    }
  }
  return [...found.values()].slice(0, MAX_PATHS);
}

interface PathPlace {
  readonly path: string;
  readonly isFolder: boolean;
  /** What it is called here, by what the plugin calls it. */
  readonly names: ReadonlyMap<string, string>;
}

/** /creds/{name} as /creds/:name; null where it is no path. */
function placeOf(template: string): PathPlace | null {
  if (template.length > MAX_PATH || !template.startsWith("/")) return null;
  const names = new Map<string, string>();
  const segments = template.split("/").filter((segment) => segment !== "");
  const path: string[] = [];
  for (const segment of segments) {
    const [, theirs] = /^\{([^{}]{1,64})\}$/.exec(segment) ?? [];
    if (theirs === undefined) {
      if (!/^[\w.~-]+$/.test(segment)) return null;
      path.push(segment);
      continue;
    }
    const ours = theirs.replaceAll(/\W/g, "_");
    if ([...names.values()].includes(ours)) return null;
    names.set(theirs, ours);
    path.push(`:${ours}`);
  }
  return { path: `/${path.join("/")}`, isFolder: template.endsWith("/"), names };
}

class Reader {
  readonly #schemas: JsonObject;
  readonly #names = new Map<string, number>();
  #left = MAX_SCHEMAS;

  constructor({ components }: JsonObject) {
    const schemas = isObject(components) ? components["schemas"] : undefined;
    this.#schemas = isObject(schemas) ? schemas : {};
  }

  /** Two paths may differ in what no name has. */
  ownName(name: string): string {
    const count = (this.#names.get(name) ?? 0) + 1;
    this.#names.set(name, count);
    return count === 1 ? name : `${name}_${count}`;
  }

  endpointsAt(place: PathPlace, item: JsonObject, special: SpecialPaths): Endpoint<never>[] {
    return Object.entries(METHODS).flatMap(([verb, method]) => {
      const operation = item[verb];
      if (!isObject(operation)) return [];
      return methodsOf(method, place, operation).map((one) => {
        const { path } = place;
        const sample = `${path.slice(1).replaceAll(/:\w+/g, "x")}${one === "LIST" ? "/" : ""}`;
        const fields = this.#fieldsOf(one, place, item, operation);
        const summary = text(operation["summary"]) || text(operation["description"]);
        return declare({
          name: `plugin${one}${path.replaceAll(/\W+/g, "_")}`,
          method: one,
          path,
          summary: summary || text(item["description"]) || "A path of a plugin.",
          description:
            summary === text(operation["description"]) ? "" : text(operation["description"]),
          access: ACCESS[special.sort(sample)],
          input: Object.fromEntries(fields.map((field, at) => [`${at}`, field])) as Fields,
          output: this.#outputOf(operation),
          belongs: "mount",
          runs: "active",
          handler: () => invariant(false, "it stands in documents alone"),
        });
      });
    });
  }

  #fieldsOf(
    method: Method,
    { names }: PathPlace,
    item: JsonObject,
    operation: JsonObject,
  ): Field<unknown>[] {
    const parameters = [...listOf(item["parameters"]), ...listOf(operation["parameters"])].filter(
      isObject,
    );
    const named = (from: string) =>
      new Map(
        parameters.flatMap((one) =>
          one["in"] === from && typeof one["name"] === "string"
            ? [[one["name"], one] as const]
            : [],
        ),
      );
    const inPath = named("path");
    const fields = [...names].map(([theirs, ours]) => {
      const { description = "", schema = {} } = inPath.get(theirs) ?? {};
      return fieldOf("path", ours, { help: text(description), schema: this.#schema(schema, 0) });
    });
    for (const [name, one] of named("query")) {
      if (name === "list" || !FIELD.test(name)) continue;
      const schema = this.#schema(one["schema"] ?? {}, 0);
      const required = one["required"] === true;
      fields.push(fieldOf("query", name, { help: text(one["description"]), schema, required }));
    }
    if (method === "POST" || method === "PATCH") fields.push(...this.#bodyOf(operation));
    return fields.slice(0, MAX_FIELDS + names.size);
  }

  #bodyOf({ requestBody }: JsonObject): Field<unknown>[] {
    const { properties, required } = this.#resolved(jsonOf(requestBody));
    const needed = new Set(listOf(required));
    return Object.entries(isObject(properties) ? properties : {})
      .filter(([name]) => FIELD.test(name))
      .slice(0, MAX_FIELDS)
      .map(([name, one]) => {
        const schema = this.#schema(one, 0);
        return fieldOf("body", name, {
          help: schema.description ?? "",
          schema,
          required: needed.has(name),
        });
      });
  }

  #outputOf({ responses }: JsonObject): Output<unknown> {
    const said = isObject(responses) ? responses : {};
    const { "200": ok } = said;
    if (ok === undefined && said["204"] !== undefined) return out.nothing;
    const content = jsonOf(ok);
    const schema = content === undefined ? {} : this.#schema(content, 0);
    return { schema: { description: "Whatever the plugin answers.", ...schema } };
  }

  #resolved(value: JsonValue | undefined): JsonObject {
    let at = value;
    for (let depth = 0; depth < MAX_DEPTH && isObject(at); depth++) {
      const { $ref } = at;
      if (typeof $ref !== "string") return at;
      if (!$ref.startsWith(SCHEMAS)) return {};
      const name = $ref.slice(SCHEMAS.length);
      at = Object.hasOwn(this.#schemas, name) ? this.#schemas[name] : undefined;
    }
    return {};
  }

  #schema(value: JsonValue | undefined, depth: number): Schema {
    if (depth > MAX_DEPTH || this.#left-- <= 0) return {};
    const found = this.#resolved(value);
    const type = TYPES.find((one) => one === found["type"]);
    const description = text(found["description"]);
    const { format, items, properties, nullable } = found;
    const choices = listOf(found["enum"])
      .filter((one): one is string => typeof one === "string" && one.length <= MAX_TEXT)
      .slice(0, MAX_ENUM);
    const fallback = found["default"];
    const isPlain = ["string", "number", "boolean"].includes(typeof fallback);
    const members = Object.entries(isObject(properties) ? properties : {})
      .slice(0, MAX_FIELDS)
      .map(([name, one]) => [name.slice(0, MAX_TEXT), this.#schema(one, depth + 1)]);
    return {
      ...(type === undefined ? {} : { type }),
      ...(description === "" ? {} : { description }),
      ...(typeof format === "string" && FORMATS.test(format) ? { format } : {}),
      ...(choices.length > 0 && type === "string" ? { enum: choices } : {}),
      ...(isPlain ? { default: typeof fallback === "string" ? text(fallback) : fallback! } : {}),
      ...(type === "array" ? { items: this.#schema(items, depth + 1) } : {}),
      ...(members.length > 0 ? { properties: Object.fromEntries(members) } : {}),
      ...(nullable === true && type !== undefined ? { nullable } : {}),
    };
  }
}

/** LIST is a GET with a parameter: at a path with a slash it is nothing else. */
function methodsOf(method: Method, { isFolder }: PathPlace, operation: JsonObject): Method[] {
  if (method !== "GET") return [method];
  const list = listOf(operation["parameters"]).find(
    (one) => isObject(one) && one["in"] === "query" && one["name"] === "list",
  );
  if (!isObject(list)) return ["GET"];
  return isFolder || list["required"] === true ? ["LIST"] : ["GET", "LIST"];
}

function jsonOf(value: JsonValue | undefined): JsonValue | undefined {
  const content = isObject(value) ? value["content"] : undefined;
  const body = isObject(content) ? content["application/json"] : undefined;
  return isObject(body) ? body["schema"] : undefined;
}

function fieldOf(
  source: Source,
  name: string,
  {
    help,
    schema,
    required = source === "path",
  }: { help: string; schema: Schema; required?: boolean },
): Field<unknown> {
  const bare = { ...schema };
  return { source, name, help, required, schema: bare, secret: false, read: (value) => value };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value.slice(0, MAX_TEXT).toWellFormed() : "";
}
