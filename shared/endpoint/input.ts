// From what came in to what a handler takes, in one reading. Which value of path, query and body a field
// has is settled here, once, before anybody decides: rules on parameters, programs, the audit record and
// the handler then all speak of the same values. What is wrong with a value is told later, by `read`, and
// so only to those who may ask. Fields that a declaration does not know are ignored, and told.

import { fold } from "../text/fold.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Query } from "../text/query.ts";
import { READ_SNAPSHOT, type Served, type ServedField } from "./endpoint.ts";
import { canonicalOf, ignored } from "./members.ts";
import * as failures from "./failures.ts";
import { MEANING } from "./operation.ts";

export interface RequestParts {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: JsonObject;
}

export interface ReadInput {
  readonly input: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
}

/** Names that fields are read from: as many as are declared, at most. */
interface ReadNames {
  readonly query: string[];
  readonly body: string[];
}

const NONE: readonly string[] = [];

export class RequestInput {
  readonly #endpoint: Served;
  /** In the order of the fields. */
  readonly #values: (JsonValue | undefined)[] = [];
  /** Names in query and body that no field is read from. */
  readonly #unreadQuery: readonly string[] = NONE;
  readonly #unreadBody: readonly string[] = NONE;
  readonly #parts: RequestParts;
  readonly #twice: boolean = false;
  /** Whether nothing was given that is no part of the path. */
  readonly isEmpty: boolean;
  #data: JsonObject | undefined;

  /** A field that is given in body and query is refused, after it was decided who may ask at all. Of several
   *  names the first counts, and the others are as unknown ones. */
  constructor(endpoint: Served, parts: RequestParts) {
    this.#endpoint = endpoint;
    this.#parts = parts;
    const names = Object.keys(parts.body);
    this.isEmpty = parts.query.size === 0 && names.length === 0;
    if (this.isEmpty) {
      for (const { field } of endpoint.fields) this.#values.push(valueIn(field, parts, endpoint));
      return;
    }
    for (const name of parts.query.keys()) {
      this.#twice ||= Object.hasOwn(parts.body, name) && parts.body[name] !== null;
    }
    const folded = endpoint.family === "acl" ? byFoldedName(parts.body, names) : null;
    const read: ReadNames = { query: [], body: [] };
    for (const served of endpoint.fields) {
      this.#values.push(valueOf(served, parts, endpoint, folded, read));
    }
    if (parts.query.size > 0) {
      this.#unreadQuery = [...parts.query.keys()].filter((name) => !read.query.includes(name));
    }
    if (!endpoint.takesAnyBody) this.#unreadBody = unread(parts.body, names, folded, read.body);
  }

  /** What rules on parameters and programs look at: each field under its first name, in the one form of
   *  its value; without what was not given; and what the body holds besides, but for members that have the
   *  name of a field and are not read as it. */
  get data(): JsonObject {
    const { takesAnyBody, byName } = this.#endpoint;
    const isBody = takesAnyBody && byName.size === 0 && this.#parts.query.size === 0;
    this.#data ??= isBody ? this.#parts.body : this.#collect();
    return this.#data;
  }

  /** Whether somebody has looked at that. */
  get isFormed(): boolean {
    return this.#data !== undefined;
  }

  /** The same and what nothing is read from, for records. */
  get recorded(): JsonObject {
    const [query, body] = [this.#unreadQuery, this.#unreadBody];
    if (query.length + body.length === 0) return this.data;
    return {
      ...Object.fromEntries(query.map((name) => [name, this.#parts.query.get(name) ?? null])),
      ...Object.fromEntries(body.map((name) => [name, this.#parts.body[name] ?? null])),
      ...this.data,
    };
  }

  /** Whether a field that is declared as a secret was given, or something that nobody knows. */
  get mayHoldSecret(): boolean {
    if (this.#unreadQuery.length + this.#unreadBody.length > 0) return true;
    return this.#endpoint.fields.some(({ field }, i) => {
      const value = this.#values[i];
      return field.secret && value !== undefined && value !== null;
    });
  }

  /** The values as their declarations take them. Refuses what is wrong with one, by its name. */
  read(control: ReadonlySet<string>): ReadInput {
    if (this.#twice) throw failures.fieldTwice();
    const { fields } = this.#endpoint;
    const input: Record<string, unknown> = {};
    for (let i = 0; i < fields.length; i++) {
      const { key, field } = fields[i]!;
      input[key] = field.read(this.#values[i]);
    }
    return { input, warnings: this.#warnings(control) };
  }

  #warnings(control: ReadonlySet<string>): readonly string[] {
    const unknown = this.#unreadQuery.length + this.#unreadBody.length;
    if (!this.#endpoint.tells && unknown === 0) return NONE;
    const query = this.#unreadQuery.filter((name) => !control.has(name));
    return [
      ...this.#deprecations(),
      ...this.#notices(),
      ...ignored("unknown fields", this.#unreadBody),
      ...ignored("unknown parameters of the query", query),
    ];
  }

  #deprecations(): string[] {
    return this.#endpoint.fields.flatMap(({ field: { name, deprecation } }, i) => {
      const used = deprecation !== undefined && this.#values[i] !== undefined;
      return used && !Object.hasOwn(this.#parts.body, name) ? [deprecation] : [];
    });
  }

  #notices(): string[] {
    return this.#endpoint.fields.flatMap(({ field }, i) => {
      const value = this.#values[i];
      return value === undefined || value === null ? [] : (field.notice?.(value) ?? []);
    });
  }

  #collect(): JsonObject {
    const data: Record<string, JsonValue> = {};
    const { fields } = this.#endpoint;
    for (let i = 0; i < fields.length; i++) {
      const { field } = fields[i]!;
      const value = this.#values[i];
      if (value === undefined || field.source === "path") continue;
      if (isAll(field)) Object.assign(data, value);
      else {
        const one = value === null ? null : canonical(field, value);
        if (one !== null || field.clears === true) data[field.name] = one;
      }
    }
    for (const name of this.#unreadBody) {
      const field = this.#endpoint.byName.get(fold(name));
      if (field === undefined || field.name !== name) data[name] = this.#parts.body[name] ?? null;
    }
    return this.#endpoint.implied === null ? data : this.#endpoint.implied(data);
  }
}

/** What a request would hold that has these fields, wherever each of them belongs. */
export function describedInput(
  endpoint: Served,
  path: RequestParts["path"],
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

/** Of a request that has nothing but its path. */
function valueIn(
  { source, name }: ServedField["field"],
  parts: RequestParts,
  { declaredNames }: Served,
): JsonValue | undefined {
  if (source === "path") return parts.path[name];
  if (source === "given") return queryAndBody(parts);
  return source === "whole" ? without(parts.body, declaredNames) : undefined;
}

/** What other fields are read from has one reading, which is theirs. */
function without(body: JsonObject, names: ReadonlySet<string>): JsonObject {
  if (names.size === 0) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)));
}

function isAll({ source }: ServedField["field"]): boolean {
  return source === "whole" || source === "given";
}

/** What the query says to the server itself is no part of it. */
function queryAndBody({ query, body }: RequestParts): JsonObject {
  if (query.size === 0) return body;
  const said = query.entries().filter(([name]) => isParameter(name));
  return { ...Object.fromEntries(said), ...body };
}

function isParameter(name: string): boolean {
  return !MEANING.has(name) && name !== READ_SNAPSHOT;
}

function valueOf(
  { field, names }: ServedField,
  parts: RequestParts,
  endpoint: Served,
  folded: ReadonlyMap<string, JsonValue> | null,
  read: ReadNames,
): JsonValue | undefined {
  const { source } = field;
  const { query, body } = parts;
  if (source === "given") read.query.push(...query.keys().filter(isParameter));
  if (source === "path" || isAll(field)) return valueIn(field, parts, endpoint);
  let found: JsonValue | undefined;
  for (const name of names) {
    if (found !== undefined && found !== null) {
      // Whoever writes back what was read sends each name with the same value.
      if (
        source !== "query" &&
        isSame(field, found, folded === null ? body[name] : folded.get(name))
      ) {
        read.body.push(name);
      }
      continue;
    }
    const inBody = folded === null ? Object.hasOwn(body, name) : folded.has(name);
    if (source !== "query" && inBody) {
      found = folded === null ? body[name] : folded.get(name);
      read.body.push(name);
    }
    if (source !== "body" && (found === undefined || found === null) && query.has(name)) {
      found = query.get(name);
      read.query.push(name);
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
function byFoldedName(body: JsonObject, names: readonly string[]): ReadonlyMap<string, JsonValue> {
  const folded = new Map<string, JsonValue>();
  for (const name of names) folded.set(lower(name), body[name] ?? null);
  return folded;
}

/** Null is as if it had not been given, here too. */
function unread(
  body: JsonObject,
  names: readonly string[],
  folded: ReadonlyMap<string, JsonValue> | null,
  read: readonly string[],
): readonly string[] {
  return names.filter(
    (name) => body[name] !== null && !read.includes(folded === null ? name : lower(name)),
  );
}

function lower(name: string): string {
  return name.toLowerCase();
}
