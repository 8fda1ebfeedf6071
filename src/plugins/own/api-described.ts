// Endpoints that a plugin has described, as declarations of ours: routed, judged, recorded and documented like those of a built-in
// engine. What a request's values are is read once more in the plugin, which refuses what is wrong with them.

import { type Access, access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import {
  type Belonging,
  type Declaration,
  type Endpoint,
  type Family,
  type Method,
  type Placed,
  serveMounted,
} from "@holdfast/shared/endpoint/endpoint";
import type { Field, Fields, Folding, Member, Source } from "@holdfast/shared/endpoint/field";
import { FORM_WORDS, type FieldForm } from "@holdfast/shared/endpoint/field-form";
import { out, type Output } from "@holdfast/shared/endpoint/output";
import { Router } from "@holdfast/shared/endpoint/router";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { Reply } from "@holdfast/shared/endpoint/reply";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import { fieldOfForm } from "@holdfast/shared/endpoint/wire";
import { describe, Failure, OwnError } from "@holdfast/shared/failure";
import { utf8 } from "@holdfast/shared/bytes";
import { replacesPrototype } from "@holdfast/shared/json/json-limits";
import { readJson } from "@holdfast/shared/json/json-reader";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import type { DescribedEndpoint, DescribedField } from "@holdfast/plugin-sdk/wire/plugin-service";
import type { ForeignEngine } from "../ports.ts";
import { declarationRefused } from "./failures.ts";
import type { Input } from "./requests.ts";

/** What is done with a request to one of them. */
export interface Handling {
  answer(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    input: Input,
    context: EngineRequest,
  ): Promise<Reply>;
  exists(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    context: EngineRequest,
  ): Promise<boolean>;
  belongs(
    engine: ForeignEngine,
    endpoint: DescribedEndpoint,
    input: Input,
    context: EngineRequest,
  ): Promise<Belonging>;
  recovers(
    engines: { readonly held: ForeignEngine; readonly now: ForeignEngine },
    endpoint: DescribedEndpoint,
    context: EngineRequest,
  ): Promise<JsonObject | null>;
}

export interface DescribedPlugin {
  readonly name: string;
  readonly kind: "auth" | "secret";
}

class NotDeclared extends OwnError {}

const MAX_ENDPOINTS = 1000;
const MAX_FIELDS = 200;
const MAX_TEXT = 16 * 1024;
const MAX_DEPTH = 16;

const METHODS: readonly Method[] = ["GET", "LIST", "POST", "PATCH", "DELETE"];
const SOURCES: readonly Source[] = ["path", "query", "body", "param", "whole", "given"];
const FOLDS: readonly Folding[] = ["case", "place"];
const FAMILIES: readonly Family[] = ["enveloped", "bare"];
const RUNS = ["anywhere", "active"] as const;
const BELONGS: readonly Belonging[] = ["shared", "local", "mount"];
const PATH = /^\/(?:(?:[\w.-]+|:\w+\+?)(?:\/(?:[\w.-]+|:\w+\+?))*)?$/;
const ACCESS: ReadonlyMap<string, Access> = new Map<string, Access>([
  ["open", access.open],
  ["open-with-caller", access.openWithCaller],
  ["token", access.token],
  ["management", access.management],
  ["capability", access.capability],
  ["sudo", access.sudo],
]);

const declare = engineEndpoints<ForeignEngine>();

export function endpointsOf(
  { name, kind }: DescribedPlugin,
  described: readonly DescribedEndpoint[],
  handling: Handling,
): readonly Endpoint<ForeignEngine>[] {
  if (described.length > MAX_ENDPOINTS) {
    throw declarationRefused(name, `it declares more than ${MAX_ENDPOINTS} endpoints`);
  }
  try {
    const endpoints = described.map((one) => {
      try {
        return endpointOf(kind, one, handling);
      } catch (error) {
        const where = /^\w{1,64}$/.test(one.name) ? one.name : "an endpoint without a name";
        throw new NotDeclared(where, { cause: error });
      }
    });
    new Router(serveMounted(endpoints)); // refuses what stands there twice
    return endpoints;
  } catch (error) {
    if (error instanceof Failure) throw error;
    const why =
      error instanceof NotDeclared ? describe(error) : "its endpoints contradict each other";
    throw declarationRefused(name, why, { cause: error });
  }
}

function endpointOf(
  kind: "auth" | "secret",
  one: DescribedEndpoint,
  handling: Handling,
): Endpoint<ForeignEngine> {
  if (!/^[a-zA-Z]\w{0,63}$/.test(one.name))
    throw new NotDeclared("the name of an endpoint is a word");
  if (one.path.length > 512 || !PATH.test(one.path)) throw new NotDeclared("the path is none");
  if (one.fields.length > MAX_FIELDS) throw new NotDeclared("it has too many fields");
  if (one.login && kind !== "auth") throw new NotDeclared("a login is for auth methods");
  if (one.recovers && one.method !== "POST") throw new NotDeclared("what recovers writes");
  const open = ACCESS.get(one.access);
  if (open === undefined) throw new NotDeclared("nobody knows who may ask");
  const belongs = belongingOf(one, handling);
  const declared: Declaration<ForeignEngine, Fields, Output<unknown>, EngineRequest> = {
    name: one.name,
    method: among(METHODS, one.method, "method"),
    path: one.path,
    summary: shortened(one.summary),
    description: shortened(one.description),
    access: open,
    login: one.login,
    issues: one.issues,
    whileDisabling: one.whileDisabling,
    fromSnapshot: one.fromSnapshot,
    later: one.later,
    anyStatus: one.anyStatus,
    slashFalls: one.slashFalls,
    folderText: shortened(one.folderText),
    tellsExpiry: one.tellsExpiry,
    runs: among(RUNS, one.runs, "place to run at"),
    family: among(FAMILIES, one.family, "form of answer"),
    bodyMissing: shortened(one.bodyMissing),
    bodyUnreadable: shortened(one.bodyUnreadable),
    head: one.head,
    input: Object.fromEntries(one.fields.map((field) => [field.key, fieldOf(field)])),
    output: one.answersInAuth ? inAuth : outputOf(one.output),
    ...(belongs === null ? {} : { belongs }),
    ...(one.looksWhetherItExists
      ? {
          exists: (engine: ForeignEngine, _: unknown, context: EngineRequest) =>
            handling.exists(engine, one, context),
          existsElsewhere: true,
        }
      : {}),
    ...(one.recovers
      ? {
          recovers: (
            engines: { readonly held: ForeignEngine; readonly now: ForeignEngine },
            _: unknown,
            context: EngineRequest,
          ) => handling.recovers(engines, one, context),
        }
      : {}),
    handler: (engine, input, context) => handling.answer(engine, one, input as Input, context),
  };
  return declare(declared as typeof declared & Placed);
}

function belongingOf(one: DescribedEndpoint, handling: Handling) {
  if (one.belongs === "") return null;
  if (one.belongs === "looks") {
    return (engine: ForeignEngine, input: unknown, context: EngineRequest) =>
      handling.belongs(engine, one, input as Input, context);
  }
  return among(BELONGS, one.belongs, "belonging");
}

function fieldOf(one: DescribedField): Field<unknown> {
  const { key, name, aliases } = one;
  const names = [key, name, ...aliases];
  if (!names.every((word) => /^[\w.-]{1,128}$/.test(word)) || key === "__proto__") {
    throw new NotDeclared("the name of a field is a word");
  }
  const form = formOf(one);
  const folds = one.folds === "" ? undefined : among(FOLDS, one.folds, "folding");
  const members = one.members === "" ? undefined : membersOf(listOf(one.members), 0);
  return {
    source: among(SOURCES, one.source, "place of a field"),
    name,
    help: shortened(one.help),
    secret: one.secret,
    required: one.required,
    schema: schemaOf(one.schema),
    aliases,
    ...(one.deprecation === "" ? {} : { deprecation: shortened(one.deprecation) }),
    ...(one.called === "" ? {} : { called: shortened(one.called) }),
    ...(folds === undefined ? {} : { folds }),
    ...(members === undefined ? {} : { members }),
    ...(form?.canonical === undefined ? {} : { canonical: form.canonical }),
    clears: one.clears,
    caseless: one.caseless,
    pairs: one.pairs,
    read: (value) => (value === null && !one.clears ? undefined : value),
  };
}

/** By what the one form of its values is found here as well. */
function formOf({ name, form, hasOwnForm }: DescribedField): Field<unknown> | null {
  if (!hasOwnForm || form === "") return null;
  const { word, bounds, unlessEmpty } = objectOf(form);
  const known = FORM_WORDS.find((one) => one === word);
  if (known === undefined || !isObject(bounds))
    throw new NotDeclared("the form of a field is none");
  const bound: FieldForm["bounds"] = Object.fromEntries(
    Object.entries(bounds).filter(
      (entry): entry is [string, string | number] =>
        typeof entry[1] === "string" || typeof entry[1] === "number",
    ),
  );
  return fieldOfForm(name, { word: known, bounds: bound, unlessEmpty: unlessEmpty === true });
}

function membersOf(found: readonly JsonValue[], depth: number): readonly Member[] {
  if (depth > MAX_DEPTH) throw new NotDeclared("the members of a field nest too deep");
  return found.map((one) => {
    if (!isObject(one) || typeof one["name"] !== "string") {
      throw new NotDeclared("the members of a field have names");
    }
    const { name, aliases, members } = one;
    return {
      name: name as string,
      ...(Array.isArray(aliases)
        ? { aliases: aliases.filter((alias) => typeof alias === "string") }
        : {}),
      ...(Array.isArray(members) ? { members: membersOf(members, depth + 1) } : {}),
    };
  });
}

/** Nothing is told apart by being the very value. */
function outputOf(text: string): Output<unknown> {
  const schema = schemaOf(text);
  return Object.keys(schema).length === 0 ? out.nothing : { schema };
}

/** The few words of it that there are; what documents are made of, and nothing is judged by. */
function schemaOf(text: string): Schema {
  return objectOf(text) as Schema;
}

function objectOf(text: string): JsonObject {
  if (text.length > MAX_TEXT) throw new NotDeclared("a part of it is too long");
  return readJson(utf8(text), { refuses: replacesPrototype });
}

function listOf(text: string): readonly JsonValue[] {
  const { list } = objectOf(`{"list":${text}}`);
  if (!Array.isArray(list)) throw new NotDeclared("the members of a field are a list");
  return list as readonly JsonValue[];
}

function among<T extends string>(words: readonly T[], word: string, what: string): T {
  const found = words.find((one) => one === word);
  if (found === undefined) throw new NotDeclared(`its ${what} is not known here`);
  return found;
}

function shortened(text: string): string {
  return text.slice(0, MAX_TEXT);
}
