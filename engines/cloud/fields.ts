// Kinds of fields that clients of the cloud engines write more loosely than the rest of the house does:
// numbers and switches as texts, texts as numbers.

import { DAY } from "@holdfast/shared/text/duration";
import { isRawNumber, type JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import { type Source, WireField } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";

const MAX_TEXT = 64 * 1024;
const MAX_ITEMS = 1000;
/** A hundred years: what is longer is a mistake, and would not fit the dates of the providers. */
const LONGEST = 100n * 365n * DAY;

/** Numbers and switches count as their text. */
export function text(
  name: string,
  help: string,
  source: Source = "body",
  max = MAX_TEXT,
  show: (found: string) => string = (found) => found,
): WireField<string> {
  return new WireField({ source, name }, { ...textKind(max), show }, help);
}

/** The same without blanks around it, and as `form` has it; `show` gives what rules and programs see. */
export function trimmed(
  name: string,
  help: string,
  max = MAX_TEXT,
  form: (text: string) => string = (found) => found,
  show: (text: string) => string = (found) => found,
  caseless = false,
): WireField<string> {
  const { accepts, schema, convert } = textKind(max);
  const trim = (input: JsonValue) => {
    const found = convert(input);
    return found === undefined ? undefined : form(found.trim());
  };
  const kind = { accepts, schema, convert: trim, show, caseless };
  return new WireField({ source: "body", name }, kind, help);
}

/** A text that must never be shown again. */
export function secretText(name: string, help: string, max = MAX_TEXT): WireField<Secret<string>> {
  const { accepts, schema, convert } = textKind(max);
  return new WireField(
    { source: "body", name },
    {
      accepts,
      schema: { ...schema, format: "password" },
      secret: true,
      convert: (input) => {
        const found = convert(input);
        return found === undefined ? undefined : new Secret(found);
      },
      show: (found) => found.reveal(),
    },
    help,
  );
}

export function toggle(name: string, help: string, source: Source = "body"): WireField<boolean> {
  return new WireField(
    { source, name },
    { accepts: "true or false", schema: { type: "boolean" }, convert: switchOf },
    help,
  );
}

/** A switch of a query: there without a value, it is on. */
export function flag(name: string, help: string): WireField<boolean> {
  return new WireField(
    { source: "param", name },
    {
      accepts: "true or false, or there without a value",
      schema: { type: "boolean" },
      convert: (input) => (input === "" ? true : switchOf(input)),
    },
    help,
  );
}

/** In whole seconds. */
export function seconds(name: string, help: string): WireField<number> {
  return wire.body(name).seconds(help, { max: LONGEST });
}

/** An array, or one text with commas between; items are trimmed, empty ones dropped. */
export function items(name: string, help: string, max = MAX_ITEMS): WireField<readonly string[]> {
  return new WireField(
    { source: "body", name },
    {
      accepts: `a list of strings, at most ${max} of them`,
      schema: { type: "array", items: { type: "string" } },
      convert: (input) => {
        const whole = Array.isArray(input) ? input : textOf(input)?.split(",", max + 1);
        if (whole === undefined || whole.length > max) return undefined;
        const found: string[] = [];
        for (const part of whole as readonly JsonValue[]) {
          const item = textOf(part);
          if (item === undefined) return undefined;
          if (item.trim() !== "") found.push(item.trim());
        }
        return found;
      },
    },
    help,
  );
}

/** Undefined for what is no text, number or switch. */
export function textOf(input: JsonValue): string | undefined {
  if (typeof input === "string") return input;
  if (isRawNumber(input)) return input.rawJSON;
  return typeof input === "number" || typeof input === "boolean" ? String(input) : undefined;
}

function textKind(max: number) {
  return {
    accepts: `a string of at most ${max} characters`,
    schema: { type: "string" as const, maxLength: max },
    convert: (input: JsonValue) => {
      const found = textOf(input);
      return found === undefined || found.length > max ? undefined : found;
    },
  };
}

function switchOf(input: JsonValue): boolean | undefined {
  if (input === true || input === 1 || input === "true" || input === "1") return true;
  if (input === false || input === 0 || input === "false" || input === "0") return false;
  return undefined;
}
