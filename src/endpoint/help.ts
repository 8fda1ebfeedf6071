// Help on a path in words, from its declarations: for ?help=1 and for the command line. What is
// written here depends on the declarations alone, never on what is stored.

import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import type { Access } from "@holdfast/shared/endpoint/access";
import { inAuth } from "@holdfast/shared/endpoint/auth";
import type { Method, PathHelp } from "@holdfast/shared/endpoint/endpoint";
import { type Described, documentOf, openapiDocument } from "./openapi.ts";
import { out } from "@holdfast/shared/endpoint/output";
import type { Schema } from "@holdfast/shared/endpoint/schema";
import type { Field, Source } from "@holdfast/shared/endpoint/field";

export interface Help {
  readonly help: string;
  readonly openapi: JsonObject;
}

const ORDER: readonly Method[] = ["GET", "LIST", "POST", "PATCH", "DELETE"];
const WIDTH = 78;

/** Help on one endpoint, or on all methods of one path. */
export function helpFor(endpoints: readonly Described[]): Help {
  const ordered = endpoints.toSorted(
    (a, b) => ORDER.indexOf(a.method) - ORDER.indexOf(b.method) || (a.path < b.path ? -1 : 1),
  );
  return {
    help: `${ordered.map(describeEndpoint).join("\n\n")}\n`,
    openapi: openapiDocument(ordered, { title: "Holdfast", version: "1" }),
  };
}

/** What there is below a place of which many endpoints are part: a mount. */
export function overviewOf(place: string, endpoints: readonly Described[]): Help {
  const ordered = endpoints.toSorted(
    (a, b) =>
      (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) ||
      ORDER.indexOf(a.method) - ORDER.indexOf(b.method),
  );
  const lines = ordered.map(({ method, path, summary }) => {
    const verbs = method === "POST" ? "POST or PUT" : method;
    return `${verbs} ${place}${path}\n${indent(sentence(summary), 4)}`;
  });
  return {
    help: `${place}/ serves:\n\n${lines.map((line) => `  ${line}`).join("\n")}\n`,
    openapi: openapiDocument(ordered, { title: "Holdfast", version: "1" }),
  };
}

/** In the words of whoever serves it. */
export function helpInWords({ text, paths }: PathHelp): Help {
  return { help: text, openapi: documentOf(paths, { title: "Holdfast", version: "1" }) };
}

function describeEndpoint(endpoint: Described): string {
  const { method, path, summary, description, input } = endpoint;
  const verbs = method === "POST" ? "POST or PUT" : method;
  const parts = [`${verbs} ${path.slice(1)}`, indent(sentence(summary))];
  if (description !== "") parts.push(indent(description));
  parts.push(indent(`Access: ${accessInWords(endpoint)}.`));
  const fields = Object.values(input);
  if (fields.length > 0) parts.push(`  Fields:\n${fields.map(describeField).join("\n")}`);
  parts.push(`  Answer:${describeAnswer(endpoint)}`);
  return parts.join("\n\n");
}

/** Who may call it, in words. */
export function accessInWords({ access, rootOnly, answers, exists, method }: Described): string {
  return [
    inWords(access, method, exists !== null),
    ...(rootOnly ? ["in the root namespace only"] : []),
    ...(answers === "always" ? ["also while sealed"] : []),
  ].join("; ");
}

const CAPABILITIES: Readonly<Record<Method, string>> = {
  GET: "read",
  LIST: "list",
  POST: "update",
  PATCH: "patch",
  DELETE: "delete",
};

function inWords(access: Access, method: Method, creates: boolean): string {
  switch (access.kind) {
    case "open":
      return access.caller === "ignored"
        ? "no token needed"
        : "no token needed; a valid one widens the answer";
    case "drOperation":
      return "an operation token or operator ticket; on a disaster-recovery secondary alone";
    case "ceremony":
      if (access.ofDrSecondary === true) {
        return "a key ceremony without a token, unless the listener turns it off or operation_token_auth needs one; on a disaster-recovery secondary alone";
      }
      return "a key ceremony: without a token, with one, or not at all, as the listener says";
    case "token":
      return "any valid token";
    case "management":
      return "a management token";
    case "capability": {
      const capability =
        method === "POST" && creates ? "create (if it is new) or update" : CAPABILITIES[method];
      const open = access.openTo === null ? "" : ", unless the listener lets everybody in";
      const there =
        access.operation === undefined
          ? ""
          : "; on a disaster-recovery secondary an operation token or operator ticket";
      return `the capability ${capability}${access.sudo ? " and sudo" : ""} on this path${open}${there}`;
    }
  }
}

const PLACES: Readonly<Record<Source, string>> = {
  path: "in the path",
  query: "in the query",
  body: "in the body",
  param: "in the body or the query",
  whole: "the body itself",
  given: "the body and the query themselves",
};

function describeField(field: Field<unknown>): string {
  const { name, source, required, secret, schema } = field;
  const traits = [
    typeInWords(schema),
    PLACES[source],
    ...(required ? ["required"] : []),
    ...(secret ? ["secret"] : []),
    ...(schema.default === undefined ? [] : [`default ${showValue(schema.default)}`]),
  ];
  return `    ${name} (${traits.join(", ")})\n${indent(sentence(field.help), 6)}`;
}

function describeAnswer({ output }: Described): string {
  if (output === out.nothing) return " nothing (204).";
  const { schema } = output;
  if (output === inAuth) return ` in auth:\n${describeMembers(schema, 4)}`;
  const about = schema.description === undefined ? "" : ` ${sentence(schema.description)}`;
  if (schema.format?.includes("/")) return ` text (${schema.format}).${about}`;
  if (schema.properties === undefined) return ` ${typeInWords(schema)}.${about}`;
  return `${about}\n${describeMembers(schema, 4)}`;
}

function describeMembers(schema: Schema, depth: number): string {
  return Object.entries(schema.properties ?? {})
    .map(([name, member]) => {
      const optional = schema.required?.includes(name) === true ? "" : ", may be absent";
      const about = member.description === undefined ? "" : `  ${member.description}`;
      const line = `${" ".repeat(depth)}${name} (${typeInWords(member)}${optional})${about}`;
      const inner = member.items ?? member;
      return inner.properties === undefined
        ? line
        : `${line}\n${describeMembers(inner, depth + 2)}`;
    })
    .join("\n");
}

function typeInWords(schema: Schema): string {
  const nullable = schema.nullable === true ? " or null" : "";
  return `${plainType(schema)}${nullable}`;
}

function plainType({ type, format, enum: values, items, oneOf, ...schema }: Schema): string {
  if (oneOf?.some((one) => one.format === "duration")) return "duration";
  if (values !== undefined) return values.map((value) => (value === "" ? '""' : value)).join(" | ");
  if (type === "array") return `list of ${items === undefined ? "values" : plainType(items)}`;
  if (format === "date-time") return "time";
  if (type === "integer" || type === "number") {
    const { minimum, maximum } = schema;
    if (minimum !== undefined && maximum !== undefined) return `${type} ${minimum} to ${maximum}`;
    if (minimum !== undefined) return `${type} from ${minimum}`;
    return maximum === undefined ? type : `${type} up to ${maximum}`;
  }
  return type ?? "any value";
}

function showValue(value: JsonValue): string {
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** Declarations end some of their texts themselves. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Wraps at words. */
function indent(text: string, depth = 2): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && depth + line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map((one) => " ".repeat(depth) + one).join("\n");
}
