// The kinds of values that settings have. Each says in its refusal what would be accepted. Numbers
// and booleans may also be written as text, because that is what a substitution gives.

import { parseDuration } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { showName } from "../document/document-failure.ts";
import type { Value } from "../document/hcl-node.ts";
import { Refusal } from "./problem.ts";
import type { Field } from "./schema.ts";
import type { Text, Texts } from "./substitution.ts";

interface Traits {
  readonly env?: string;
  /** Default false: a new value takes effect at the next start. */
  readonly reloads?: boolean;
  /** Default false: only what was substituted is kept from being shown. */
  readonly hides?: boolean;
}

interface Declared<T> extends Traits {
  readonly form: string;
  readonly initial: T;
  readonly display: string;
  readonly appends?: boolean;
  readonly read: (value: Value, texts: Texts) => T;
}

function field<T>(help: string, declared: Declared<T>): Field<T> {
  const { env = null, reloads = false, appends = false, hides = false } = declared;
  return { kind: "field", help, ...declared, env, reloads, appends, hides };
}

/** Text that may be left out; `display` says what happens then. */
export function text(help: string, display: string, traits: Traits = {}): Field<string | null> {
  const read = (value: Value, texts: Texts) => needText(value, texts, "text").text;
  return field<string | null>(help, { form: "text", initial: null, display, read, ...traits });
}

export function textOr(help: string, initial: string, traits: Traits = {}): Field<string> {
  const read = (value: Value, texts: Texts) => needText(value, texts, "text").text;
  return field(help, { form: "text", initial, display: `\`${initial}\``, read, ...traits });
}

/** A value that must come from the environment or a file, and is kept from being printed. */
export function secret(help: string): Field<Secret<string> | null> {
  const form = "text with `${env:…}` or `${file:…}`";
  const read = (value: Value, texts: Texts) => {
    const { text: found, hidden } = needText(value, texts, "text");
    if (hidden) return new Secret(found);
    const problem =
      "a secret does not belong in this file; put ${env:NAME} or ${file:/path} in its place";
    throw new Refusal(value.position, problem);
  };
  return field<Secret<string> | null>(help, { form, initial: null, display: "none", read });
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

export function flag(help: string, initial: boolean, traits?: Traits): Field<boolean>;
export function flag(help: string, initial: null, display: string): Field<boolean | null>;
export function flag(
  help: string,
  initial: boolean | null,
  more: Traits | string = {},
): Field<boolean | null> {
  const read = (value: Value, texts: Texts) => {
    if (value.kind === "bool") return value.value;
    // 0 and 1 as numbers are common in files for other servers.
    const text =
      value.kind === "string" ? texts.of(value).text : value.kind === "number" ? value.text : "";
    const found = FLAGS.get(text.trim().toLowerCase());
    if (found === undefined) throw new Refusal(value.position, "expected true or false");
    return found;
  };
  const display = typeof more === "string" ? more : `\`${initial}\``;
  const traits = typeof more === "string" ? {} : more;
  return field(help, { form: "boolean", initial, display, read, ...traits });
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

export function count(help: string, initial: number, range: Range): Field<number> {
  const form = "number";
  const accepted = `a whole number from ${range.from} to ${range.to}`;
  const read = (value: Value, texts: Texts) => {
    const digits = numeric(value, texts);
    const number = digits !== null && /^[0-9]{1,15}$/.test(digits) ? Number(digits) : -1;
    if (number >= range.from && number <= range.to) return number;
    throw new Refusal(value.position, `expected ${accepted}`);
  };
  return field(help, { form, initial, display: `\`${initial}\``, read });
}

/** Number of a user; null where none is set. */
export function userNumber(help: string, display: string): Field<number | null> {
  const read = (value: Value, texts: Texts) => {
    const digits = numeric(value, texts);
    const number = digits !== null && /^[0-9]{1,10}$/.test(digits) ? Number(digits) : -1;
    if (number >= 0 && number < 2 ** 32 - 1) return number;
    throw new Refusal(value.position, "expected the number of a user");
  };
  return field<number | null>(help, { form: "number", initial: null, display, read });
}

/** Permissions of a file, which are written in octal digits everywhere. */
export function octal(help: string, initial: number): Field<number> {
  const read = (value: Value, texts: Texts) => {
    const digits = value.kind === "string" ? texts.of(value).text : "";
    if (/^0?[0-7]{3}$/.test(digits)) return Number.parseInt(digits, 8);
    throw new Refusal(value.position, 'expected permissions as text in octal, such as "0755"');
  };
  const display = `\`0${initial.toString(8)}\``;
  return field(help, { form: "octal text", initial, display, read });
}

const SIZES: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["B", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
]);

export function size(help: string, initial: number, range: Range): Field<number> {
  const read = (value: Value, texts: Texts) => {
    const found = numeric(value, texts)?.trim() ?? "";
    const [, digits = "", unit = ""] = /^([0-9]{1,15}) ?([A-Za-z]*)$/.exec(found) ?? [];
    const bytes = digits === "" ? -1 : Number(digits) * (SIZES.get(unit) ?? -1);
    if (bytes >= range.from && bytes <= range.to) return bytes;
    const accepted = `a number of bytes, or text with B, KiB, MiB or GiB`;
    const bounds = `from ${showSize(range.from)} to ${showSize(range.to)}`;
    throw new Refusal(value.position, `expected ${accepted}, ${bounds}`);
  };
  return field(help, { form: "size", initial, display: `\`${showSize(initial)}\``, read });
}

export function showSize(bytes: number): string {
  for (const unit of ["GiB", "MiB", "KiB"]) {
    const factor = SIZES.get(unit) ?? 1;
    if (bytes >= factor && bytes % factor === 0) return `${bytes / factor} ${unit}`;
  }
  return `${bytes}`;
}

/** `initial` and the bounds as they would be written. */
export function duration(
  help: string,
  initial: string,
  range: { readonly from: string; readonly to: string },
  traits: Traits = {},
): Field<Nanos> {
  const [from, to] = [parseDuration(range.from), parseDuration(range.to)];
  const read = (value: Value, texts: Texts) => {
    const found = numeric(value, texts);
    const nanos = found === null ? null : asDuration(found.trim());
    if (nanos !== null && nanos >= from && nanos <= to) return nanos;
    const accepted = 'text such as "90s" or "1h30m", or whole seconds';
    const bounds = `from ${range.from} to ${range.to}`;
    throw new Refusal(value.position, `expected a duration: ${accepted}, ${bounds}`);
  };
  const form = "duration";
  return field(help, {
    form,
    initial: parseDuration(initial),
    display: `\`${initial}\``,
    read,
    ...traits,
  });
}

function asDuration(text: string): Nanos | null {
  try {
    return parseDuration(text);
  } catch {
    return null; // its message would show the text
  }
}

export function oneOf<const T extends string>(
  help: string,
  choices: readonly T[],
  initial: T,
  traits?: Traits,
): Field<T>;
export function oneOf<const T extends string>(
  help: string,
  choices: readonly T[],
  initial: null,
  display: string,
): Field<T | null>;
export function oneOf<const T extends string>(
  help: string,
  choices: readonly T[],
  initial: T | null,
  more: Traits | string = {},
): Field<T | null> {
  const names = choices.map((choice) => `\`${choice}\``);
  const read = (value: Value, texts: Texts) => {
    const found = value.kind === "string" ? texts.of(value).text : null;
    const choice = choices.find((one) => one === found);
    if (choice !== undefined) return choice;
    throw new Refusal(value.position, `expected one of ${choices.map(showName).join(", ")}`);
  };
  const display = typeof more === "string" ? more : `\`${initial}\``;
  const traits = typeof more === "string" ? {} : more;
  return field<T | null>(help, { form: names.join(", "), initial, display, read, ...traits });
}

const LIST = "list of text";

/** A list of texts, or one text. Lists of several files are joined. */
export function list(help: string, display: string, traits: Traits = {}): Field<readonly string[]> {
  const initial: readonly string[] = [];
  return field(help, { form: LIST, initial, display, read: textsOf, appends: true, ...traits });
}

/** One that may be emptied: of several files the last counts. */
export function listOr(help: string, initial: readonly string[]): Field<readonly string[]> {
  const display = initial.map((one) => `\`${one}\``).join(", ");
  return field(help, { form: LIST, initial, display, read: textsOf });
}

function textsOf(value: Value, texts: Texts): readonly string[] {
  const elements = value.kind === "list" ? value.elements : [value];
  return elements.map((element) => needText(element, texts, "a list of texts").text);
}

export type Table = ReadonlyMap<string, string>;

/** Names with texts; numbers and booleans count as the text they are written in. */
export function table(help: string, traits: Traits = {}): Field<Table> {
  const read = (value: Value, texts: Texts): Table =>
    new Map(
      members(value, "an object with texts as its values").map(({ name, value: inner }) => [
        name,
        plainText(inner, texts),
      ]),
    );
  const initial: Table = new Map();
  return field(help, { form: "object of text", initial, display: "none", read, ...traits });
}

/** By status, header and value: `{ "4xx" = { "X-Name" = ["value"] } }`. */
export type HeaderTable = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

export function headers(help: string, traits: Traits = {}): Field<HeaderTable> {
  const read = (value: Value, texts: Texts): HeaderTable =>
    new Map(
      members(value, "an object by status").map(({ name, value: inner }) => [
        name,
        new Map(
          members(inner, "an object of headers").map((header) => [
            header.name,
            (header.value.kind === "list" ? header.value.elements : [header.value]).map(
              (element) => needText(element, texts, "a text or a list of texts").text,
            ),
          ]),
        ),
      ]),
    );
  const initial: HeaderTable = new Map();
  const form = "object by status of headers";
  return field(help, { form, initial, display: "none", read, ...traits });
}

function members(value: Value, accepted: string): { name: string; value: Value }[] {
  if (value.kind !== "object") throw new Refusal(value.position, `expected ${accepted}`);
  return value.body.items.map((item) => {
    if (item.kind === "attribute") return { name: item.key.text, value: item.value };
    throw new Refusal(item.position, `expected ${accepted}, not a block with labels`);
  });
}

function needText(value: Value, texts: Texts, accepted: string): Text {
  if (value.kind !== "string") throw new Refusal(value.position, `expected ${accepted}`);
  return texts.of(value);
}

/** The digits of a number, or a text that may hold some. */
function numeric(value: Value, texts: Texts): string | null {
  if (value.kind === "number") return value.text;
  return value.kind === "string" ? texts.of(value).text : null;
}

function plainText(value: Value, texts: Texts): string {
  if (value.kind === "number") return value.text;
  if (value.kind === "bool") return String(value.value);
  return needText(value, texts, "a text, a number or a boolean").text;
}
