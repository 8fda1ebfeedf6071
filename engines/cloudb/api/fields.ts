// Kinds of fields that this engine's clients write more loosely than the rest of the house does,
// and names of roles.

import { isRawNumber, type JsonValue } from "@holdfast/shared/json/json";
import { type Source, WireField } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as failures from "../failures.ts";

const MAX_TEXT = 64 * 1024;
const MAX_ITEMS = 1000;

/** Numbers and switches count as their text. */
export function text(
  name: string,
  help: string,
  {
    source = "body",
    form = (found) => found,
    show = (found) => found,
    caseless = false,
  }: {
    readonly source?: Source;
    /** Of what the handler gets. */
    readonly form?: (found: string) => string;
    /** Of what rules and programs see alone. */
    readonly show?: (found: string) => string;
    /** Case says nothing to whoever reads it. */
    readonly caseless?: boolean;
  } = {},
): WireField<string> {
  return new WireField(
    { source, name },
    {
      show,
      caseless,
      accepts: `a string of at most ${MAX_TEXT} characters`,
      schema: { type: "string" },
      convert: (input) => {
        const found = textOf(input);
        return found === undefined || found.length > MAX_TEXT ? undefined : form(found);
      },
    },
    help,
  );
}

export function toggle(name: string, help: string, source: Source = "body"): WireField<boolean> {
  return new WireField(
    { source, name },
    {
      accepts: "true or false",
      schema: { type: "boolean" },
      convert: (input) => {
        if (input === true || input === 1 || input === "true" || input === "1") return true;
        if (input === false || input === 0 || input === "false" || input === "0") return false;
        return undefined;
      },
    },
    help,
  );
}

/** An array, or one text with commas between; items are trimmed, empty ones dropped. */
export function items(name: string, help: string): WireField<readonly string[]> {
  return new WireField(
    { source: "body", name },
    {
      accepts: `a list of strings, at most ${MAX_ITEMS} of them`,
      schema: { type: "array", items: { type: "string" } },
      convert: (input) => {
        const parts = typeof input === "string" ? input.split(",", MAX_ITEMS + 1) : input;
        if (!Array.isArray(parts) || parts.length > MAX_ITEMS) return undefined;
        const found = parts.map((part: JsonValue) => textOf(part)?.trim());
        if (found.some((item) => item === undefined)) return undefined;
        return found.filter((item) => item !== undefined && item !== "") as string[];
      },
    },
    help,
  );
}

function textOf(input: JsonValue): string | undefined {
  if (typeof input === "string") return input;
  if (isRawNumber(input)) return input.rawJSON;
  return typeof input === "number" || typeof input === "boolean" ? String(input) : undefined;
}

const NAME = /^[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?$/;
const MAX_NAME = 128;

export const nameField = wire
  .path("name", { folds: "case" })
  .string("Name of the role; the case of letters does not matter.");

/** Whether it is a role's name, in the one form that the field gives it. */
export function isRoleName(input: string): boolean {
  return input.length <= MAX_NAME && NAME.test(input);
}

/** What is no name is no path of this engine. */
export function roleName(input: string): string {
  if (!isRoleName(input)) throw failures.unsupportedPath();
  return input;
}
