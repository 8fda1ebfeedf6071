// From what came in to what a handler takes, in one reading. Which value of path, query and body a field
// has is settled here, once, before anybody decides: rules on parameters, programs, the audit record and
// the handler then all speak of the same values. What is wrong with a value is told later, by `read`, and
// so only to those who may ask. Fields that a declaration does not know are ignored, and told.

import { fold } from "../text/fold.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Query } from "../text/query.ts";
import type { Served, ServedField } from "./endpoint.ts";
import { canonicalOf } from "./members.ts";
import * as failures from "./failures.ts";

export interface Given {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: JsonObject;
}

export interface ReadInput {
  readonly input: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

const MAX_NAMED = 8;

export class RequestInput {
  readonly #endpoint: Served;
  /** By the key of the field. */
  readonly #values = new Map<string, JsonValue>();
  /** Names in query and body that no field is read from. */
  readonly #unread: { readonly query: readonly string[]; readonly body: readonly string[] };
  readonly #given: Given;
  readonly #twice: boolean = false;
  #data: JsonObject | undefined;

  /** A field that is given in body and query is refused, after it was decided who may ask at all. Of several
   *  names the first counts, and the others are as unknown ones. */
  constructor(endpoint: Served, given: Given) {
    this.#endpoint = endpoint;
    this.#given = given;
    for (const name of given.query.keys()) {
      this.#twice ||= Object.hasOwn(given.body, name) && given.body[name] !== null;
    }
    const body = endpoint.family === "acl" ? byFoldedName(given.body) : null;
    const read = { query: new Set<string>(), body: new Set<string>() };
    for (const served of endpoint.fields) {
      const value = valueOf(served, given, body, read);
      if (value !== undefined) this.#values.set(served.key, value);
    }
    this.#unread = {
      query:
        given.query.size === 0
          ? []
          : [...given.query.keys()].filter((name) => !read.query.has(name)),
      body: endpoint.takesAnyBody
        ? []
        : Object.keys(given.body).filter(
            // Null is as if it had not been given, here too.
            (name) =>
              given.body[name] !== null && !read.body.has(body === null ? name : lower(name)),
          ),
    };
  }

  /** What rules on parameters and programs look at: each field under its first name, in the one form of
   *  its value; without what was not given; and what the body holds besides, but for members that have the
   *  name of a field and are not read as it. */
  get data(): JsonObject {
    const { takesAnyBody, byName } = this.#endpoint;
    this.#data ??= takesAnyBody && byName.size === 0 ? this.#given.body : this.#collect();
    return this.#data;
  }

  /** Whether somebody has looked at that. */
  get isFormed(): boolean {
    return this.#data !== undefined;
  }

  /** The same and what nothing is read from, for records. */
  get recorded(): JsonObject {
    const { query, body } = this.#unread;
    if (query.length + body.length === 0) return this.data;
    return {
      ...Object.fromEntries(query.map((name) => [name, this.#given.query.get(name) ?? null])),
      ...Object.fromEntries(body.map((name) => [name, this.#given.body[name] ?? null])),
      ...this.data,
    };
  }

  /** Whether anything was given that is no part of the path. */
  get isEmpty(): boolean {
    return this.#given.query.size === 0 && Object.keys(this.#given.body).length === 0;
  }

  /** The values as their declarations take them. Refuses what is wrong with one, by its name. */
  read(control: ReadonlySet<string>): ReadInput {
    if (this.#twice) throw failures.givenTwice();
    const input: Record<string, unknown> = {};
    for (const { key, field } of this.#endpoint.fields) {
      input[key] = field.read(this.#values.get(key));
    }
    const query = this.#unread.query.filter((name) => !control.has(name));
    return {
      input,
      warnings: [
        ...this.#deprecations(),
        ...this.#notices(),
        ...ignored("fields", this.#unread.body),
        ...ignored("parameters of the query", query),
      ],
    };
  }

  #deprecations(): string[] {
    const { fields } = this.#endpoint;
    return fields.flatMap(({ field: { name, deprecation }, key }) => {
      const used = deprecation !== undefined && this.#values.has(key);
      return used && !Object.hasOwn(this.#given.body, name) ? [deprecation] : [];
    });
  }

  #notices(): string[] {
    return this.#endpoint.fields.flatMap(({ field, key }) => {
      const value = this.#values.get(key);
      const notice = value === undefined || value === null ? undefined : field.notice?.(value);
      return notice === undefined ? [] : [notice];
    });
  }

  #collect(): JsonObject {
    const data: Record<string, JsonValue> = {};
    for (const { key, field } of this.#endpoint.fields) {
      const value = this.#values.get(key);
      if (value === undefined || field.source === "path") continue;
      if (field.source === "whole") Object.assign(data, value);
      else {
        const one = value === null ? null : canonical(field, value);
        if (one !== null || field.clears === true) data[field.name] = one;
      }
    }
    for (const name of this.#unread.body) {
      const field = this.#endpoint.byName.get(fold(name));
      if (field === undefined || field.name !== name) data[name] = this.#given.body[name] ?? null;
    }
    return this.#endpoint.implied === null ? data : this.#endpoint.implied(data);
  }
}

/** What a request would hold that has these fields, wherever each of them belongs. */
export function describedInput(
  endpoint: Served,
  path: Given["path"],
  fields: JsonObject,
): RequestInput {
  const reads = endpoint.method === "GET" || endpoint.method === "LIST";
  const inQuery = new Set(
    endpoint.fields.filter(({ field }) => field.source === "query").flatMap(({ names }) => names),
  );
  const query = new Map<string, string | true>();
  const body: Record<string, JsonValue> = {};
  for (const [name, value = null] of Object.entries(fields)) {
    if (!reads && !inQuery.has(name)) body[name] = value;
    else if (value === true || typeof value === "string") query.set(name, value);
    else if (value !== null) query.set(name, JSON.stringify(value));
  }
  return new RequestInput(endpoint, { path, query, body });
}

/** As it was sent where it will be refused: it is never read. */
function canonical(field: ServedField["field"], value: JsonValue): JsonValue {
  try {
    return canonicalOf(field, value);
  } catch {
    return value;
  }
}

function valueOf(
  { field, names }: ServedField,
  { path, query, body }: Given,
  folded: ReadonlyMap<string, JsonValue> | null,
  read: { readonly query: Set<string>; readonly body: Set<string> },
): JsonValue | undefined {
  const { source } = field;
  if (source === "path") return path[field.name];
  if (source === "whole") return body;
  let found: JsonValue | undefined;
  for (const name of names) {
    if (found !== undefined && found !== null) {
      // Whoever writes back what was read sends each name with the same value.
      if (
        source !== "query" &&
        isSame(field, found, folded === null ? body[name] : folded.get(name))
      ) {
        read.body.add(name);
      }
      continue;
    }
    const inBody = folded === null ? Object.hasOwn(body, name) : folded.has(name);
    if (source !== "query" && inBody) {
      found = folded === null ? body[name] : folded.get(name);
      read.body.add(name);
    }
    if (source !== "body" && (found === undefined || found === null) && query.has(name)) {
      found = query.get(name);
      read.query.add(name);
    }
  }
  return found;
}

function isSame(
  field: ServedField["field"],
  one: JsonValue,
  other: JsonValue | undefined,
): boolean {
  if (other === undefined || other === null) return false;
  return JSON.stringify(canonical(field, one)) === JSON.stringify(canonical(field, other));
}

/** On /acl/ the case of a field's name does not matter; none is given twice, which the reader of the body
 *  has seen to. */
function byFoldedName(body: JsonObject): ReadonlyMap<string, JsonValue> {
  return new Map(Object.entries(body).map(([name, value]) => [lower(name), value ?? null]));
}

function lower(name: string): string {
  return name.toLowerCase();
}

function ignored(what: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return [`unknown ${what} are ignored: ${names.slice(0, MAX_NAMED).join(", ")}${more}`];
}
