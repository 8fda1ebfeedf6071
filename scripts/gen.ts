// `npm run gen [-- --check]`: writes what is derived from the declarations and kept in the repository:
// client/api.ts, a typed function for every endpoint, docs/endpoints.md, which says where each is
// declared and who may call it, and docs/errors.md, which says what every code of an error means. With
// --check it only tells whether they are up to date (exit code 1 if not).

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parametersOf, type Endpoint } from "@holdfast/shared/endpoint/endpoint";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import { out } from "@holdfast/shared/endpoint/output";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field } from "@holdfast/shared/endpoint/wire";
import { errorsPage, productFiles, readErrorCodes } from "./error-codes.ts";
import { requireRuntime } from "./runtime.ts";

const root = join(import.meta.dirname, "..");
export const CLIENT_FILE = join(root, "client", "api.ts");
export const ERRORS_FILE = join(root, "docs", "errors.md");
export const ENDPOINTS_FILE = join(root, "docs", "endpoints.md");

export type Declared = Pick<
  Endpoint<never>,
  "name" | "method" | "path" | "summary" | "family" | "input" | "output"
>;

const OPENING = `// Every endpoint of the API as a typed function. Written by scripts/gen.ts out of the declarations: do
// not edit. Inputs have the names of the declarations, answers those of the wire.

`;

/** The module's text, formatted like the rest of the house. */
export function generateClient(endpoints: readonly Declared[]): string {
  const names = endpoints.map(({ name }) => functionName(name));
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`two endpoints are called ${twice}`);
  const body = endpoints.map(describeEndpoint).join("\n");
  return format(OPENING + importsFor(body) + body);
}

function importsFor(body: string): string {
  const json = ["JsonObject", "JsonValue"].filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  const paths = ["oneSegment", "restOfPath"].filter((name) => body.includes(`${name}(`));
  return [
    json.length > 0
      ? `import type { ${json.join(", ")} } from "@holdfast/shared/json/json";\n`
      : "",
    'import type { Caller } from "./client.ts";\n',
    paths.length > 0 ? `import { ${paths.join(", ")} } from "./request-path.ts";\n` : "",
    "\n",
  ].join("");
}

function describeEndpoint(endpoint: Declared): string {
  const name = functionName(endpoint.name);
  const type = name[0]!.toUpperCase() + name.slice(1);
  const fields = Object.entries(endpoint.input);
  const [answerType, answer] = answerOf(endpoint);
  const isAlias = answerType !== "undefined" && answerType !== "string";
  const answerName = isAlias ? `${type}Answer` : answerType;
  const optional = fields.every(([, field]) => !field.required);
  const given = fields.length === 0 ? "" : `, input: ${type}Input${optional ? " = {}" : ""}`;
  const sent = [
    `method: "${endpoint.method}"`,
    `path: ${pathExpression(endpoint)}`,
    membersOf("query", fields, endpoint),
    membersOf("body", fields, endpoint),
    `answer: "${answer}"`,
  ].filter((part) => part !== "");
  return [
    fields.length === 0
      ? ""
      : `export interface ${type}Input {\n${fields.map(inputMember).join("")}}\n`,
    isAlias ? `\nexport type ${answerName} = ${answerType};\n` : "",
    `\n${comment(endpoint.summary)}export function ${name}(client: Caller${given}): `,
    `Promise<${answerName}> { return client.call<${answerName}>({ ${sent.join(", ")} }); }\n`,
  ].join("");
}

function inputMember([key, { help, required, schema }]: readonly [string, Field<unknown>]): string {
  const type = typeOf(schema);
  return `${comment(help)}readonly ${propertyName(key)}${required ? "" : "?"}: ${type}${required ? "" : " | undefined"};\n`;
}

/** The type of an answer, and where it lies in what the server sends. */
function answerOf({ output, family }: Declared): [type: string, answer: string] {
  if (output === out.nothing) return ["undefined", "nothing"];
  if (output.schema.format?.includes("/") === true) return ["string", "text"];
  if (output === inAuth) return [typeOf(output.schema), "auth"];
  return [typeOf(output.schema), family === "enveloped" ? "data" : "bare"];
}

/** Where a field goes that may stand in body or query: methods without a body have the query. */
function placeOf({ source }: Field<unknown>, { method }: Declared): "path" | "query" | "body" {
  if (source === "whole") return "body";
  if (source !== "param") return source;
  return method === "POST" || method === "PATCH" ? "body" : "query";
}

function membersOf(
  place: "query" | "body",
  fields: readonly (readonly [string, Field<unknown>])[],
  endpoint: Declared,
): string {
  const members = fields.filter(([, field]) => placeOf(field, endpoint) === place);
  if (members.length === 0) return "";
  const whole = members.find(([, { source }]) => source === "whole");
  if (whole !== undefined) return `${place}: input${memberAccess(whole[0])}`;
  const pairs = members.map(
    ([key, { name }]) => `${propertyName(name)}: input${memberAccess(key)}`,
  );
  return `${place}: { ${pairs.join(", ")} }`;
}

function pathExpression({ path, input }: Declared): string {
  const { names, rest } = parametersOf(path);
  if (names.length === 0) return JSON.stringify(path.slice(1));
  const last = names.at(-1);
  const parts = path
    .slice(1)
    .split("/")
    .map((part) => {
      if (!part.startsWith(":")) return part;
      const name = part.slice(1).replace("+", "");
      const key = Object.entries(input).find(
        ([, field]) => field.source === "path" && field.name === name,
      )?.[0];
      if (key === undefined) throw new Error(`${path}: no field for ${part}`);
      const escape = rest && name === last ? "restOfPath" : "oneSegment";
      return `\${${escape}(input${memberAccess(key)})}`;
    });
  return `\`${parts.join("/")}\``;
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

function functionName(name: string): string {
  const camel = name.replace(/[^A-Za-z0-9]+([A-Za-z0-9])/g, (_, next: string) =>
    next.toUpperCase(),
  );
  if (!/^[a-z][A-Za-z0-9]*$/.test(camel)) throw new Error(`${name} cannot name a function`);
  return camel;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function memberAccess(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** A description cannot end its own comment. */
function comment(text: string): string {
  return text === "" ? "" : `/** ${text.replace(/\*\//g, "* /").replace(/\s+/g, " ")} */\n`;
}

function format(source: string, file = CLIENT_FILE): string {
  const formatter = join(root, "node_modules", ".bin", "oxfmt");
  const { status, stdout, stderr } = spawnSync(formatter, ["--stdin-filepath", file], {
    cwd: root,
    input: source,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the generated client cannot be formatted: ${stderr}`);
  return stdout;
}

export async function generateFromSurface(): Promise<string> {
  const { everyEndpoint } = await import("../src/surface.ts");
  return generateClient(everyEndpoint);
}

/** The endpoints as a document: a change of access is seen in review. */
export async function endpointsDocument(): Promise<string> {
  const { surface, mountedSurface } = await import("../src/surface.ts");
  const { accessInWords } = await import("../src/endpoint/help.ts");
  const table = (title: string, start: string, endpoints: readonly Endpoint<never>[]) => {
    const rows = endpoints.map((endpoint) => {
      const path = (start + endpoint.path).replace(/^\/|\/$/g, "");
      return `| ${endpoint.method} | \`${path}\` | ${accessInWords(endpoint)} | ${endpoint.summary} |`;
    });
    return `## ${title}\n\n| Method | Path | Who | What |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  };
  const parts = [
    ...surface.map(({ file, endpoints }) => table(file, "", endpoints)),
    ...mountedSurface.map(({ title, at, endpoints }) =>
      table(`Mounts of type ${title}`.replace("type every", "every"), at, endpoints),
    ),
  ];
  const opening =
    "# Endpoints\n\nWritten by `npm run gen` out of the declarations: do not edit. All paths are below `/v1`; " +
    "`sys` and `acl` answer without it too. POST stands for PUT as well.\n\n";
  return format(opening + parts.join("\n"), ENDPOINTS_FILE);
}

/** The codes of errors as a document. Throws where a code has no row, or a row no code. */
export async function errorsDocument(): Promise<string> {
  const { STATUS } = await import("../src/http/status.ts");
  const codes = readErrorCodes(productFiles(root));
  if (codes.problems.length > 0) throw new Error(codes.problems.join("\n"));
  return format(errorsPage(codes, STATUS), ERRORS_FILE);
}

if (import.meta.main) {
  requireRuntime();
  const files: readonly [string, string][] = [
    [CLIENT_FILE, await generateFromSurface()],
    [ENDPOINTS_FILE, await endpointsDocument()],
    [ERRORS_FILE, await errorsDocument()],
  ];
  for (const [file, text] of files) {
    if (!process.argv.includes("--check")) writeFileSync(file, text);
    else if (readFileSync(file, "utf8") !== text) {
      console.error(`${relative(root, file)} is not up to date: run \`npm run gen\``);
      process.exitCode = 1;
    }
  }
}
