// The client's functions out of the declarations: one module for each room and each type of engine, with
// a typed function for every endpoint, and the index of them all.

import { parametersOf, type Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { out } from "@holdfast/shared/endpoint/output";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field } from "@holdfast/shared/endpoint/field";

export type Declared = Pick<
  Endpoint<never>,
  | "name"
  | "method"
  | "path"
  | "summary"
  | "family"
  | "input"
  | "output"
  | "anyStatus"
  | "bodyStream"
>;

/** Endpoints of one room, or of one type of mount. */
export interface DeclaredGroup {
  /** Name of the module, such as "leases" or "kv". */
  readonly group: string;
  /** In front of every path: empty, a fixed place, or one with `<…>` for the mount's path. */
  readonly at: string;
  readonly endpoints: readonly Declared[];
}

const OPENING = `// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

`;

/** The text of every module by its name, and of the index under "". */
export function generateClient(groups: readonly DeclaredGroup[]): ReadonlyMap<string, string> {
  const byName = Map.groupBy(groups, ({ group }) => group);
  const modules = Array.from(byName, ([name, parts]) => [name, moduleOf(name, parts)] as const);
  const index = modules.map(([name]) => `export * as ${name} from "./api/${name}.ts";\n`).join("");
  const head = "// Every endpoint of the API, by room or type of engine.\n";
  return new Map([["", head + OPENING + index], ...modules]);
}

function moduleOf(group: string, parts: readonly DeclaredGroup[]): string {
  const named = parts.flatMap(({ at, endpoints }) =>
    endpoints.map((endpoint) => ({ at, endpoint, name: nameIn(group, endpoint.name) })),
  );
  const names = named.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`two endpoints are called ${group}.${twice}`);
  const types = new Map<string, string>();
  const body = named
    .map(({ at, endpoint, name }) => functionOf(at, endpoint, name, types))
    .join("\n");
  return `// Endpoints of ${group} as functions.\n${OPENING}${importsFor(body)}${body}`;
}

function importsFor(body: string): string {
  const uses = (name: string) => new RegExp(`\\b${name}\\b`).test(body);
  const json = ["JsonObject", "JsonValue"].filter(uses);
  const paths = ["keyPath", "mountPath", "needInput", "oneSegment", "restOfPath"].filter(uses);
  return [
    json.length > 0
      ? `import type { ${json.join(", ")} } from "@holdfast/shared/json/json";\n`
      : "",
    `import type { ${["Answer", "Caller", "CallOptions", "StreamedAnswer"].filter(uses).join(", ")} } from "../client.ts";\n`,
    uses("StreamedBody") ? 'import type { StreamedBody } from "../transport.ts";\n' : "",
    paths.length > 0 ? `import { ${paths.join(", ")} } from "../request-path.ts";\n` : "",
    "\n",
  ].join("");
}

/** `types` knows what each type that was written is called: one of the same text is not written again. */
function functionOf(
  at: string,
  endpoint: Declared,
  name: string,
  types: Map<string, string>,
): string {
  const type = name[0]!.toUpperCase() + name.slice(1);
  const fields = Object.values(endpoint.input);
  const [answerType, answer] = answerOf(endpoint);
  const simple = /^(?:undefined|string|JsonValue|JsonObject)$/.test(answerType);
  const declared: string[] = [];
  const declare = (typeName: string, text: string) => {
    const same = types.get(text);
    types.set(text, same ?? typeName);
    declared.push(`export type ${typeName} = ${same ?? text};\n`);
    return typeName;
  };
  const inputName =
    fields.length === 0 ? "" : declare(`${type}Input`, `{\n${inputMembers(fields)}}`);
  const answerName = simple ? answerType : declare(`${type}Answer`, answerType);
  const { pattern, query, body, place } = partsOf(endpoint);
  const optional = fields.every(({ required }) => !required);
  // Programs in JavaScript may leave out what has no default.
  const checked = !optional && pattern.startsWith("{");
  const parameter = checked ? "input" : pattern;
  const taking = checked ? `const ${pattern} = needInput(input); ` : "";
  const safe = RESERVED.has(name) ? `${name}_` : name;
  const parameters = [
    "client: Caller",
    ...(at.includes("<") ? ["mount: string"] : []),
    ...(endpoint.bodyStream === null ? [] : ["stream: StreamedBody"]),
    ...(inputName === "" ? [] : [`${parameter}: ${inputName}${optional ? " = {}" : ""}`]),
    "options?: CallOptions",
  ];
  const call = [
    `method: "${endpoint.method}"`,
    `path: ${pathOf(at, endpoint, place)}`,
    query,
    body,
    endpoint.bodyStream === null ? "" : "stream",
    answer === "stream" ? "" : `answer: "${answer}"`,
    endpoint.anyStatus ? "anyStatus: true" : "",
  ].filter((part) => part !== "");
  const [promised, way] =
    answer === "stream" ? ["StreamedAnswer", "stream"] : [`Answer<${answerName}>`, "call"];
  return [
    ...declared.map((text) => `\n${text}`),
    `\n${comment(endpoint.summary)}${safe === name ? "export " : ""}async function ${safe}(${parameters.join(", ")}): `,
    `Promise<${promised}> { ${taking}return client.${way}({ ${call.join(", ")} }, options); }\n`,
    safe === name ? "" : `export { ${safe} as ${name} };\n`,
  ].join("");
}

/** Functions of a module may not be called so; their names outside of it may. */
const RESERVED: ReadonlySet<string> = new Set(["delete", "export", "import", "default", "new"]);

/** kvRead is called read in kv. */
function nameIn(group: string, name: string): string {
  const camel = name.replace(/[^A-Za-z0-9]+([A-Za-z0-9])/g, (_, next: string) =>
    next.toUpperCase(),
  );
  if (!/^[a-z][A-Za-z0-9]*$/.test(camel)) throw new Error(`${name} cannot name a function`);
  const rest = camel.slice(group.length);
  if (!camel.startsWith(group) || !/^[A-Z]/.test(rest)) return camel;
  return rest[0]!.toLowerCase() + rest.slice(1);
}

function inputMembers(fields: readonly Field<unknown>[]): string {
  return fields
    .map(({ name, help, required, schema }) => {
      const mark = required ? "" : "?";
      const none = required ? "" : " | undefined";
      return `${comment(help)}readonly ${propertyName(name)}${mark}: ${typeOf(schema)}${none};\n`;
    })
    .join("");
}

/** The type of an answer, and where it lies in what the server sends. */
function answerOf({ output, family }: Declared): [type: string, answer: string] {
  const streamed = /^application\/(?:octet-stream|gzip)$/.test(output.schema.format ?? "");
  if (streamed) return ["undefined", "stream"];
  if (output === out.nothing) return ["undefined", "nothing"];
  if (output.schema.format?.includes("/") === true) return ["string", "text"];
  if (output === inAuth) return [typeOf(output.schema), "auth"];
  return [typeOf(output.schema), family === "enveloped" ? "data" : "bare"];
}

interface Parts {
  /** How the input is taken apart. */
  readonly pattern: string;
  readonly query: string;
  readonly body: string;
  /** The variable that holds a parameter of the path. */
  readonly place: (name: string) => string;
}

function partsOf(endpoint: Declared): Parts {
  const fields = Object.values(endpoint.input);
  const names = fields.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`${endpoint.name}: two fields are called ${twice}`);
  const at = (place: "path" | "query" | "body") =>
    fields.filter((field) => placeOf(field, endpoint) === place).map(({ name }) => name);
  const [path, query, body] = [at("path"), at("query"), at("body")];
  const whole = fields.find(({ source }) => source === "whole" || source === "given");
  const place = variableOf;
  if (whole !== undefined) {
    const pattern = `{ ${[...path, ...query, whole.name].map(taken).join(", ")} }`;
    return { pattern, query: membersOf(query), body: `body: ${variableOf(whole.name)}`, place };
  }
  const rest = body.length > 0 ? "body" : query.length > 0 ? "query" : "";
  const apart = rest === "body" ? [...path, ...query] : path;
  if (apart.length === 0 && rest !== "") {
    return {
      pattern: rest,
      query: rest === "query" ? "query" : "",
      body: rest === "body" ? "body" : "",
      place,
    };
  }
  const pattern = `{ ${[...apart.map(taken), ...(rest === "" ? [] : [`...${rest}`])].join(", ")} }`;
  return {
    pattern,
    query: rest === "query" ? "query" : membersOf(query),
    body: rest === "body" ? "body" : "",
    place,
  };
}

function membersOf(names: readonly string[]): string {
  if (names.length === 0) return "";
  return `query: { ${names.map((name) => pair(propertyName(name), variableOf(name))).join(", ")} }`;
}

function taken(name: string): string {
  return pair(propertyName(name), variableOf(name));
}

function pair(name: string, value: string): string {
  return name === value ? name : `${name}: ${value}`;
}

/** Beside parameters of the function, and words of the language. */
const TAKEN_NAMES: ReadonlySet<string> = new Set(
  (
    "client mount options input body query stream default delete new in for export import enum class if with " +
    "function return switch case this typeof void var let const while do try catch throw super"
  ).split(" "),
);

function variableOf(name: string): string {
  const camel = name.replace(/[^A-Za-z0-9_$]+([A-Za-z0-9])/g, (_, next: string) =>
    next.toUpperCase(),
  );
  return TAKEN_NAMES.has(camel) ? `${camel}_` : camel;
}

/** Where a field goes that may stand in body or query: addresses are logged by those on the way, so that only
 *  reads, which have no body, have it in the query. */
function placeOf({ source }: Field<unknown>, { method }: Declared): "path" | "query" | "body" {
  if (source === "whole" || source === "given") return "body";
  if (source !== "param") return source;
  return method === "GET" || method === "LIST" ? "query" : "body";
}

function pathOf(at: string, { method, path }: Declared, place: Parts["place"]): string {
  const { names, rest } = parametersOf(path);
  const last = names.at(-1);
  const parts = [...at.split("/"), ...path.split("/")]
    .filter((part) => part !== "")
    .map((part) => {
      if (part.startsWith("<")) return "${mountPath(mount)}";
      if (!part.startsWith(":")) return part;
      const name = part.slice(1).replace("+", "");
      // Folders, mounts and namespaces are written with a slash behind them or without; keys are not.
      const isKey = method !== "LIST" && /^(?:<|cubbyhole)/.test(at.replace(/^\/+/, ""));
      const whole = isKey ? "keyPath" : "restOfPath";
      const escape = rest && name === last ? whole : "oneSegment";
      return `\${${escape}(${place(name)})}`;
    });
  const whole = parts.join("/");
  return whole.includes("${") ? `\`${whole}\`` : JSON.stringify(whole);
}

export function typeOf(schema: Schema): string {
  const type = plainType(schema);
  return schema.nullable === true ? `${type} | null` : type;
}

function plainType(schema: Schema): string {
  const { type, enum: values, items, properties, additionalProperties, oneOf } = schema;
  if (oneOf !== undefined) return oneOf.map((one) => typeOf(one)).join(" | ");
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (type === undefined) return "JsonValue";
  switch (type) {
    case "string":
    case "boolean":
      return type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly (${items === undefined ? "JsonValue" : typeOf(items)})[]`;
    case "object":
      if (properties !== undefined) return objectType(properties, schema.required ?? []);
      return typeof additionalProperties === "object"
        ? `Readonly<Record<string, ${typeOf(additionalProperties)}>>`
        : "JsonObject";
  }
}

function objectType(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): string {
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${comment(schema.description ?? "")}readonly ${propertyName(name)}${mark}: ${typeOf(schema)};\n`;
  });
  return `{\n${members.join("")} }`;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** A description cannot end its own comment. */
function comment(text: string): string {
  return text === "" ? "" : `/** ${text.replace(/\*\//g, "* /").replace(/\s+/g, " ")} */\n`;
}
