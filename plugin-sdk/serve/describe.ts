// What a type declares, as data: by it the server documents, judges and records requests to its mounts as those to built-in ones.

import type { Access } from "@holdfast/shared/endpoint/access";
import { isCaseless } from "@holdfast/shared/endpoint/caseless";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import type { Field, Member } from "@holdfast/shared/endpoint/field";
import { formOf } from "@holdfast/shared/endpoint/field-form";
import { describe, Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { EngineOptions, EngineType } from "../engine.ts";
import { mapOf } from "../wire/own-caller.ts";
import {
  type DescribedEndpoint,
  type DescribedField,
  type Description,
  type Doing,
  SDK_VERSION,
} from "../wire/plugin-service.ts";
import { NOT_SERVED, notServed } from "./failures.ts";

export function descriptionOf<E>(
  type: EngineType<E>,
  options: EngineOptions,
  local: boolean,
): Description {
  const unserved = ONLY_BUILT_IN.find((one) => type[one] !== undefined);
  if (unserved !== undefined) throw notServed("of the engine", unserved);
  const kept = type.checkOptions(options, { local });
  const { secrets = {}, undo = {}, minUndoAge = null, jobDeadline = null } = type;
  return {
    failure: null,
    type: type.type,
    kind: type.kind,
    version: type.version,
    summary: type.summary,
    options: mapOf(kept),
    endpoints: type.paths(kept).map((endpoint) => endpointOf(endpoint)),
    secrets: Object.entries(secrets).map(([name, { renew, receipt }]) => ({
      name,
      renews: renew !== null,
      hasReceipt: receipt !== undefined,
    })),
    metrics: JSON.stringify(type.metrics ?? {}),
    undoes: Object.keys(undo),
    minUndoAge,
    jobDeadline,
    does: doneBy(type),
    sdk: SDK_VERSION,
  };
}

/** What it declares that only a built-in engine can, in words; null: nothing, as far as its options are none. */
export function unservedOf<E>(type: EngineType<E>): string | null {
  try {
    descriptionOf(type, {}, false);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) return describe(error);
    return error.code === NOT_SERVED ? error.message : null; // it may be that it needs options
  }
}

/** Of a type: what only the server itself can ask, or do with it. */
const ONLY_BUILT_IN = [
  "sorts",
  "closed",
  "running",
  "plugins",
  "reloadPlugin",
  "trouble",
  "triesAgain",
  "described",
  "mayChangeOptions",
] as const satisfies readonly (keyof EngineType<unknown>)[];

/** Of an endpoint, with what it is where nothing is said: nobody who declares another one is to think that it holds. */
const ALWAYS_SO = {
  rootOnly: false,
  answers: "unsealed",
  everywhere: false,
  onDrSecondary: false,
  refusedOnDrSecondary: null,
  audited: true,
  rateLimited: true,
  unwraps: false,
  forMonitoring: false,
  inAnyState: false,
  bodyStream: null,
  longBody: null,
  implied: null,
  places: null,
  sentOn: null,
  help: null,
} as const satisfies Partial<Endpoint<unknown>>;

/** Why options cannot be changed so, in the words of a type that is built in; null: they can. */
export function whyNotChanged<E>(
  type: EngineType<E>,
  before: EngineOptions,
  after: EngineOptions,
  local: boolean,
): string | null {
  const [had, has] = [before, after].map((options) => type.checkOptions(options, { local }));
  if (had === undefined || has === undefined || isSame(had, has)) return null;
  if (type.canChangeOptions === undefined) return "they are fixed when it is mounted";
  return type.canChangeOptions(had, has);
}

function isSame(some: EngineOptions, others: EngineOptions): boolean {
  const names = new Set([...Object.keys(some), ...Object.keys(others)]);
  return [...names].every((name) => some[name] === others[name]);
}

function doneBy<E>(type: EngineType<E>): Doing[] {
  const does: Readonly<Record<Doing, unknown>> = {
    undo: type.undo,
    periodic: type.periodic,
    leave: type.leave,
    lead: type.lead,
    rest: type.rest,
    renewLogin: type.renewLogin,
    abandoned: type.abandoned,
    concerns: type.concerns,
    takeUse: type.takeUse,
  };
  return (Object.keys(does) as Doing[]).filter((word) => does[word] !== undefined);
}

function endpointOf<E>(endpoint: Endpoint<E>): DescribedEndpoint {
  const { belongs, output } = endpoint;
  for (const [what, usual] of Object.entries(ALWAYS_SO)) {
    if (endpoint[what as keyof typeof ALWAYS_SO] !== usual) {
      throw notServed(`endpoint ${endpoint.name}`, what);
    }
  }
  return {
    name: endpoint.name,
    method: endpoint.method,
    path: endpoint.path,
    summary: endpoint.summary,
    description: endpoint.description,
    access: accessOf(endpoint.name, endpoint.access),
    belongs: belongs === null ? "" : typeof belongs === "function" ? "looks" : belongs,
    login: endpoint.login,
    issues: endpoint.issues,
    whileDisabling: endpoint.whileDisabling,
    fromSnapshot: endpoint.fromSnapshot,
    looksWhetherItExists: endpoint.exists !== null,
    later: endpoint.later,
    anyStatus: endpoint.anyStatus,
    slashFalls: endpoint.slashFalls,
    folderText: endpoint.folderText,
    tellsExpiry: endpoint.tellsExpiry,
    runs: endpoint.runs,
    family: endpoint.family,
    bodyMissing: endpoint.bodyMissing,
    bodyUnreadable: endpoint.bodyUnreadable,
    head: endpoint.head,
    fields: Object.entries(endpoint.input).map(([key, field]) => fieldOf(key, field)),
    output: JSON.stringify(output.schema),
    answersInAuth: output === inAuth,
    recovers: endpoint.recovers !== null,
  };
}

function accessOf(name: string, access: Access): string {
  switch (access.kind) {
    case "open":
      return access.caller === "optional" ? "open-with-caller" : "open";
    case "token":
    case "management":
      return access.kind;
    case "capability":
      return access.sudo ? "sudo" : "capability";
    case "ceremony":
    case "drOperation":
      throw notServed(`endpoint ${name}`, `access ${access.kind}`);
  }
}

function fieldOf(key: string, field: Field<unknown>): DescribedField {
  const form = formOf(field.canonical);
  return {
    key,
    source: field.source,
    name: field.name,
    help: field.help,
    secret: field.secret,
    required: field.required,
    schema: JSON.stringify(field.schema),
    aliases: field.aliases ?? [],
    deprecation: field.deprecation ?? "",
    called: field.called ?? "",
    folds: field.folds ?? "",
    clears: field.clears ?? false,
    caseless: isCaseless(field),
    pairs: field.pairs ?? false,
    hasOwnForm: field.canonical !== undefined,
    members: field.members === undefined ? "" : JSON.stringify(field.members.map(memberOf)),
    form: form === null ? "" : JSON.stringify(form),
  };
}

function memberOf({ name, aliases = [], members }: Member): JsonObject {
  return {
    name,
    aliases,
    ...(members === undefined ? {} : { members: members.map(memberOf) }),
  };
}
