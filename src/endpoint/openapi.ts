// The OpenAPI document (3.0.3), made from declarations: whatever is served is in it and nothing else,
// and the same declarations give the same text. LIST is no verb that OpenAPI knows: a list stands
// under its path with a slash at the end, as GET with list=true, marked x-service-list.

import type { JsonObject } from "@holdfast/shared/json/json";
import { drOperationOf } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import type { Endpoint, Method } from "@holdfast/shared/endpoint/endpoint";
import { parametersOf, READ_SNAPSHOT } from "@holdfast/shared/endpoint/endpoint";
import { COMPONENTS } from "./openapi-components.ts";
import { out } from "@holdfast/shared/endpoint/output";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field } from "@holdfast/shared/endpoint/field";

/** A declaration without its handler: an Endpoint, or a Served one. */
export interface Described extends Omit<
  Endpoint<never>,
  "handler" | "exists" | "recovers" | "help"
> {
  readonly exists: unknown;
  readonly recovers: unknown;
}

export interface DocumentOptions {
  readonly title: string;
  readonly version: string;
}

const VERBS: Readonly<Record<Method, string>> = {
  GET: "get",
  LIST: "get",
  POST: "post",
  PATCH: "patch",
  DELETE: "delete",
};

export function openapiDocument(
  endpoints: readonly Described[],
  options: DocumentOptions,
): JsonObject {
  return documentOf(pathsOf(endpoints), options);
}

/** Of path items that are there already. */
export function documentOf(paths: JsonObject, { title, version }: DocumentOptions): JsonObject {
  return {
    openapi: "3.0.3",
    info: { title, version },
    servers: [{ url: "/v1" }],
    paths: Object.fromEntries(
      Object.keys(paths)
        .toSorted()
        .map((path) => [path, paths[path]]),
    ),
    components: COMPONENTS,
  };
}

/** The path items of these declarations alone: what help shows. */
export function pathsOf(endpoints: readonly Described[]): Record<string, JsonObject> {
  const spelling = new Map<string, string>();
  const paths: Record<string, Record<string, JsonObject>> = {};
  const ordered = endpoints.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const endpoint of ordered) {
    const shape = templateOf(endpoint).replaceAll(/\{[^}]*\}/g, "{}");
    // Two templates that differ in the names of parameters only are one path to OpenAPI.
    const path = spelling.get(shape) ?? templateOf(endpoint);
    spelling.set(shape, path);
    const item = (paths[path] ??= {});
    item[VERBS[endpoint.method]] = operationOf(endpoint, namesIn(path));
    if (endpoint.head) {
      const operationId = `${endpoint.name}Head`;
      item["head"] = { ...operationOf(endpoint, namesIn(path)), operationId };
    }
  }
  return paths;
}

/** /sys/audit/:path+ as /sys/audit/{path} */
function templateOf({ path, method }: Described): string {
  const template = path.replaceAll(/:([A-Za-z0-9_]+)\+?/g, "{$1}");
  return method === "LIST" && template !== "/" ? `${template}/` : template;
}

function namesIn(template: string): string[] {
  return Array.from(template.matchAll(/\{([^}]*)\}/g), ([, name = ""]) => name);
}

function operationOf(endpoint: Described, pathNames: readonly string[]): JsonObject {
  const { name, summary, description, path } = endpoint;
  const parameters = parametersFor(endpoint, pathNames);
  const body = bodyOf(endpoint);
  return {
    operationId: name,
    summary,
    ...(description === "" ? {} : { description }),
    tags: [path.split("/")[1] ?? ""],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null ? {} : { requestBody: body }),
    responses: responsesOf(endpoint),
    security: securityOf(endpoint),
    ...extensionsOf(endpoint),
  };
}

function parametersFor(endpoint: Described, pathNames: readonly string[]): JsonObject[] {
  const { names, rest } = parametersOf(endpoint.path);
  const fields = Object.values(endpoint.input);
  const inPath = names.map((name, at) => {
    const field = fields.find((one) => one.source === "path" && one.name === name);
    const several = rest && at === names.length - 1;
    const help = `${field?.help ?? ""}${several ? "; may have several segments" : ""}`;
    const schema = field === undefined ? { type: "string" } : bareSchema(field.schema);
    return { name: pathNames[at] ?? name, in: "path", description: help, required: true, schema };
  });
  const inQuery = fields
    .filter((field) => isInQuery(field, endpoint.method))
    .map(({ name, help, required, schema }) => ({
      name,
      in: "query",
      description: help,
      ...(required ? { required } : {}),
      schema: bareSchema(schema),
    }));
  return [
    ...inPath,
    ...(endpoint.method === "LIST" ? [LIST_PARAMETER] : []),
    ...inQuery,
    ...(endpoint.fromSnapshot ? [SNAPSHOT_PARAMETER] : []),
    ...(endpoint.recovers === null ? [] : [RECOVER_PARAMETER]),
  ];
}

const SNAPSHOT_PARAMETER: JsonObject = {
  name: READ_SNAPSHOT,
  in: "query",
  description: "A loaded snapshot to answer from",
  schema: { type: "string", format: "uuid" },
};

const RECOVER_PARAMETER: JsonObject = {
  name: "X-Service-Recover-Snapshot-Id",
  in: "header",
  description: "A loaded snapshot: what it held here is written back, and no body is sent",
  schema: { type: "string", format: "uuid" },
};

const LIST_PARAMETER: JsonObject = {
  name: "list",
  in: "query",
  description: "Makes a GET a LIST; the verb LIST needs no parameter",
  required: true,
  schema: { type: "string", enum: ["true"] },
};

/** Parameters of requests that have no body are in the query. */
function isInQuery({ source }: Field<unknown>, method: Method): boolean {
  return source === "query" || (source === "param" && !mayHaveBody(method));
}

function mayHaveBody(method: Method): boolean {
  return method === "POST" || method === "PATCH";
}

function bodyOf({ input, method, bodyStream }: Described): JsonObject | null {
  if (bodyStream !== null) {
    const schema = { type: "string", format: "binary", description: bodyStream.description };
    const content = bodyStream.contentTypes.map((type) => [type, { schema }]);
    return { required: true, content: Object.fromEntries(content) };
  }
  const fields = Object.values(input).filter(
    ({ source }) => source === "body" || (source === "param" && mayHaveBody(method)),
  );
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const whole = Object.values(input).find(({ source }) => source === "whole" || source === "given");
  if (whole?.source === "given" && !mayHaveBody(method)) return null;
  if (whole !== undefined) return { content: { [type]: { schema: plain(whole.schema) } } };
  if (fields.length === 0) return null;
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, plain(field.schema)])),
    ...(required.length === 0 ? {} : { required }),
  };
  return { ...(required.length > 0 ? { required: true } : {}), content: { [type]: { schema } } };
}

function responsesOf(endpoint: Described): JsonObject {
  const reads = endpoint.method === "GET" || endpoint.method === "LIST";
  const named = parametersOf(endpoint.path).names.length > 0;
  const success = successOf(endpoint);
  const data = contentOf(endpoint);
  return {
    ...success,
    ...(endpoint.later ? { "202": { description: "Begun; it goes on", ...data } } : {}),
    ...(Object.keys(endpoint.input).length === 0 ? {} : { "400": refer("Error") }),
    ...(endpoint.access.kind === "open" ? {} : { "403": refer("Denied") }),
    ...(reads || named ? { "404": refer("NotFound") } : {}),
    ...(endpoint.rateLimited ? { "429": refer("RateLimited") } : {}),
    ...(endpoint.answers === "always" ? {} : { "503": refer("Unavailable") }),
    default: endpoint.anyStatus ? { description: endpoint.summary, ...data } : refer("Error"),
  };
}

function successOf(endpoint: Described): JsonObject {
  const { output, family, summary } = endpoint;
  if (output !== out.nothing) return { "200": { description: summary, ...contentOf(endpoint) } };
  // Clients of the one take 200 alone for a success; in the other an envelope carries warnings.
  if (family === "acl") return { "200": { description: "Done" } };
  const warned = { "200": { description: "Done, with warnings", ...contentOf(endpoint) } };
  return { ...(family === "enveloped" ? warned : {}), "204": { description: "Done" } };
}

/** What there is to read in an answer that succeeds. */
function contentOf({ output, family }: Described): JsonObject {
  const { schema } = output;
  if (schema.format?.includes("/")) {
    const { format, ...rest } = schema;
    const types = format.split(", ");
    return {
      content: Object.fromEntries(types.map((type) => [type, { schema: plainText(type, rest) }])),
    };
  }
  if (output === out.nothing) {
    if (family !== "enveloped") return {};
    return {
      content: { "application/json": { schema: { $ref: "#/components/schemas/Envelope" } } },
    };
  }
  const data = plain(schema);
  const whole =
    family === "enveloped"
      ? {
          allOf: [
            { $ref: "#/components/schemas/Envelope" },
            { type: "object", properties: { [output === inAuth ? "auth" : "data"]: data } },
          ],
        }
      : data;
  return { content: { "application/json": { schema: whole } } };
}

function plainText(type: string, schema: Schema): JsonObject {
  return type === "application/json" ? { ...plain(schema), type: "object" } : plain(schema);
}

const TOKEN: readonly JsonObject[] = [{ token: [] }, { bearer: [] }];

function securityOf({ access }: Described): readonly JsonObject[] {
  switch (access.kind) {
    case "open":
      return access.caller === "ignored" ? [] : [{}, ...TOKEN];
    case "ceremony":
      return [{}, ...TOKEN]; // the listener says whether one is needed
    case "capability":
      return access.openTo === null ? TOKEN : [{}, ...TOKEN];
    case "token":
    case "management":
      return TOKEN;
    case "drOperation":
      return [{}, ...TOKEN]; // it may stand in the body
  }
}

function extensionsOf(endpoint: Described): JsonObject {
  const { access, rootOnly, exists, method } = endpoint;
  const operation = drOperationOf(access);
  return {
    ...(access.kind === "capability" && access.sudo ? { "x-service-sudo": true } : {}),
    ...(access.kind === "open" ? { "x-service-unauthenticated": true } : {}),
    ...(access.kind === "ceremony" ? { "x-service-ceremony": true } : {}),
    ...(access.kind === "management" ? { "x-service-management": true } : {}),
    ...(operation === null ? {} : { "x-service-dr-operation": operation }),
    ...(rootOnly ? { "x-service-restricted": true } : {}),
    ...(method === "POST" && exists !== null ? { "x-service-create-supported": true } : {}),
    ...(method === "LIST" ? { "x-service-list": true } : {}),
  };
}

/** Without what a parameter says in its own place. */
function bareSchema(schema: Schema): JsonObject {
  return { ...plain(schema), description: undefined };
}

/** A schema as JSON: members that are not there are left out. */
function plain(schema: Schema): JsonObject {
  const { items, properties, additionalProperties: more, oneOf, nullable, ...rest } = schema;
  // A schema that may be null says so beside its type; a choice has none of its own.
  const choice = nullable === true ? oneOf?.map((one) => ({ ...one, nullable })) : oneOf;
  return {
    ...rest,
    ...(nullable === undefined || oneOf !== undefined ? {} : { nullable }),
    ...(items === undefined ? {} : { items: plain(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, one]) => [name, plain(one)]),
          ),
        }),
    ...(rest.required?.length === 0 ? { required: undefined } : {}), // must not be empty in 3.0
    ...(more === undefined
      ? {}
      : { additionalProperties: typeof more === "boolean" ? more : plain(more) }),
    ...(oneOf === undefined ? {} : { oneOf: choice?.map(plain) }),
  };
}

function refer(response: string): JsonObject {
  return { $ref: `#/components/responses/${response}` };
}
