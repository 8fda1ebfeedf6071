// What the endpoints of this engine share on the wire.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { reachesPrototype } from "@holdfast/shared/json/json-limits";
import { type InputOf, WireField } from "@holdfast/shared/endpoint/field";
import { pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { textOf } from "../../cloud/fields.ts";
import { unsupportedPath } from "../failures.ts";

// Letters, digits and _ at both ends; inside also - . and @.
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9_.@-]*[A-Za-z0-9_])?$/;
const MAX_NAME = 512;

export const nameOf = (what: string) =>
  wire.path("name").string(`Name of the ${what}; its case matters.`);

/** Refuses what no route has. */
export function checkName(name: string): string {
  if (name.length > MAX_NAME || !NAME.test(name)) throw unsupportedPath();
  return name;
}

const MAX_STATEMENTS = 100;
const MAX_STATEMENT = 64 * 1024;

/** Kept as they are given: a list of texts, one text, or a list written as JSON in one text. */
export function statements(
  name: string,
  help: string,
  aliases: readonly string[] = [],
): WireField<readonly string[]> {
  return new WireField(
    { source: "body", name, aliases },
    {
      accepts: `a statement or a list of at most ${MAX_STATEMENTS}, each of at most ${MAX_STATEMENT} characters`,
      schema: { type: "array", items: { type: "string" } },
      convert: (input) => {
        const list = Array.isArray(input) ? input : listIn(input);
        if (list === undefined || list.length > MAX_STATEMENTS) return undefined;
        const found: string[] = [];
        for (const one of list as readonly JsonValue[]) {
          if (typeof one !== "string" || one.length > MAX_STATEMENT) return undefined;
          if (one.trim() !== "") found.push(one);
        }
        return found;
      },
    },
    help,
  );
}

function listIn(input: JsonValue): readonly JsonValue[] | undefined {
  if (typeof input !== "string") return undefined;
  if (!input.trimStart().startsWith("[")) return [input];
  try {
    const list: unknown = JSON.parse(input);
    return Array.isArray(list) ? (list as readonly JsonValue[]) : undefined;
  } catch {
    return [input];
  }
}

/** An object of texts; numbers count as theirs. */
export function settings(name: string, help: string): WireField<Readonly<Record<string, string>>> {
  return new WireField(
    { source: "body", name },
    {
      accepts: "an object of texts",
      schema: { type: "object", additionalProperties: { type: "string" } },
      convert: (input) => {
        if (!isObject(input)) return undefined;
        const found: Record<string, string> = {};
        for (const [key, value] of Object.entries(input)) {
          const text = value === undefined ? undefined : textOf(value);
          if (text === undefined || reachesPrototype(key)) return undefined;
          found[key] = text;
        }
        return found;
      },
    },
    help,
  );
}

// --- lists: all names, or a page of them ---

const PAGE = 1000;
const MAX_PAGE = 10_000;

export const listing = {
  ...pageFields(MAX_PAGE, "Only what comes after this."),
  limit: wire
    .query("limit")
    .integer("How many at most; all unless given.", { min: 1, max: MAX_PAGE })
    .optional(),
};

/** A list that was cut without being asked for would look like the whole. */
export async function listed(
  { after, limit }: InputOf<typeof listing>,
  names: (page: { readonly after?: string; readonly limit: number }) => Promise<string[]>,
): Promise<string[]> {
  const pageFrom = (from: string | undefined, max: number) =>
    names({ limit: max, ...(from === undefined ? {} : { after: from }) });
  if (limit !== undefined) return pageFrom(after, limit);
  const all: string[] = [];
  for (let page: string[], from = after; ; from = page.at(-1)) {
    page = await pageFrom(from, PAGE);
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
