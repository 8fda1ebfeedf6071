// The kinds of fields that there are on the wire: texts, numbers, lengths of time, lists, documents; what each
// accepts, and the one form in which everybody gets it.

import { parseBoolean } from "../text/boolean.ts";
import { LONGEST_DURATION, parseWholeSeconds, SECOND, showDuration } from "../text/duration.ts";
import { fold } from "../text/fold.ts";
import { isObject, isRawNumber, type JsonObject, type JsonValue } from "../json/json.ts";
import { Secret } from "../secret.ts";
import { someNames } from "../text/some-names.ts";
import type { Nanos } from "../world.ts";
import { type Field, type Kind, type Member, type Place, WireField } from "./field.ts";
import type { FieldForm } from "./field-form.ts";
import { memberNotices } from "./members.ts";
import type { Schema } from "./schema.ts";

/** How texts that mean the same are brought into one form. */
interface Spelling {
  /** Of what the handler gets, and so everybody else. */
  readonly form?: (text: string) => string;
  /** Of what rules and programs see; the handler gets it as it was given, to show it so again. */
  readonly show?: (text: string) => string;
  /** Of a field: case says nothing. */
  readonly caseless?: boolean;
}

/** Characters of a text with a form of its own, where nothing else is declared: forms are made while it is
 *  decided who may ask, so there is none without a bound that is looked at first. */
const MAX_FORMED = 16 * 1024;

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

interface Lengths {
  readonly min?: Nanos;
  readonly max?: Nanos;
  /** Words that whoever declares the field reads itself. */
  readonly or?: string;
}

class Placed {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  string(
    help: string,
    { max, form, show, caseless = false }: { readonly max?: number } & Spelling = {},
  ): WireField<string> {
    if (form === undefined && show === undefined) return this.#of(textKind(max), help);
    const kind = textKind(max ?? MAX_FORMED);
    return this.#of(
      {
        ...kind,
        convert: (value) => formed(kind.convert(value), form),
        ...(show === undefined ? {} : { show }),
        asSent: false,
        caseless,
      },
      help,
    );
  }

  /** A string; a whole number counts as its digits, since one that may stand there is sent as one. */
  stringOrCount(help: string, { max }: { readonly max: number }): WireField<string> {
    const kind = textKind(max);
    return this.#of(
      {
        made: { word: "stringOrCount", bounds: { max } },
        accepts: `${kind.accepts}, or a whole number`,
        schema: { oneOf: [kind.schema, { type: "integer" }] },
        convert: (value) => {
          if (typeof value === "string") return kind.convert(value);
          const number = wholeNumber(value);
          return number === undefined ? undefined : String(number);
        },
      },
      help,
    );
  }

  /** A string that must never be shown again. */
  secret(
    help: string,
    { max, form }: { readonly max?: number } & Pick<Spelling, "form"> = {},
  ): WireField<Secret<string>> {
    const kind = textKind(max ?? (form === undefined ? undefined : MAX_FORMED));
    return this.#of(
      {
        accepts: kind.accepts,
        schema: { ...kind.schema, format: "password" },
        secret: true,
        convert: (value) => {
          const text = formed(kind.convert(value), form);
          return text === undefined ? undefined : new Secret(text);
        },
        ...(form === undefined ? { asSent: true } : { show: (secret) => secret.reveal() }),
      },
      help,
    );
  }

  /** Strings that must never be shown again: a JSON array of them. */
  secrets(help: string, { max }: { readonly max: number }): WireField<readonly Secret<string>[]> {
    return this.#of(
      {
        made: { word: "secrets", bounds: { max } },
        accepts: `a list of strings, at most ${max} of them`,
        schema: { type: "array", items: { type: "string", format: "password" } },
        secret: true,
        convert: (value) => {
          if (!Array.isArray(value) || value.length > max) return undefined;
          const texts = value.filter((one) => typeof one === "string");
          return texts.length < value.length ? undefined : texts.map((one) => new Secret(one));
        },
        show: (texts) => texts.map((one) => one.reveal()),
      },
      help,
    );
  }

  /** Known from other servers and not to be had here: whoever gives it is told why. Older clients send it
   *  empty. */
  unsupported(help: string, why: string): WireField<""> {
    return this.#of(
      {
        accepts: `left out or empty: ${why}`,
        schema: { type: "string", maxLength: 0 },
        convert: (value) => (value === "" ? "" : undefined),
        asSent: true,
      },
      help,
    );
  }

  oneOf<const V extends string>(values: readonly V[], help: string): WireField<V> {
    return this.#of(
      {
        accepts: `one of ${values.map((value) => (value === "" ? '""' : value)).join(", ")}`,
        schema: { type: "string", enum: values },
        convert: (input) => values.find((value) => value === input),
        asSent: true,
      },
      help,
    );
  }

  /** A whole number; in digits as well, which is how queries and older clients give it. */
  integer(help: string, bounds: Bounds = {}): WireField<number> {
    const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = bounds;
    return this.#of(
      {
        made: { word: "integer", bounds: { ...bounds } },
        accepts: `a whole number${range(bounds)}`,
        schema: { type: "integer", ...minmax(bounds) },
        convert: (value) => {
          const number = wholeNumber(value);
          return number === undefined || number < min || number > max ? undefined : number;
        },
      },
      help,
    );
  }

  /** Any finite number. */
  number(help: string, bounds: Bounds = {}): WireField<number> {
    const { min = -Number.MAX_VALUE, max = Number.MAX_VALUE } = bounds;
    return this.#of(
      {
        made: { word: "number", bounds: { ...bounds } },
        accepts: `a number${range(bounds)}`,
        schema: { type: "number", ...minmax(bounds) },
        convert: (value) => {
          const number = anyNumber(value);
          return number === undefined || number < min || number > max ? undefined : number;
        },
      },
      help,
    );
  }

  boolean(help: string): WireField<boolean> {
    return this.#of(
      {
        made: { word: "boolean", bounds: {} },
        accepts: "true or false",
        schema: { type: "boolean" },
        convert: (value) => (typeof value === "string" ? parseBoolean(value) : asBoolean(value)),
      },
      help,
    );
  }

  /** A number of seconds, or text such as 90s, 1.5h, 182d; an empty text is 0. Every length is told in whole
   *  seconds, and so it is given: what was cut or rounded would be told as something else than holds. */
  duration(help: string, bounds: Lengths = {}): WireField<Nanos> {
    const made = { word: "duration", bounds: digitsOf(bounds) } as const;
    return this.#of({ ...lengthKind(bounds), show: showDuration, made }, help);
  }

  /** The same, as a number of seconds. */
  seconds(help: string, bounds: Lengths = {}): WireField<number> {
    const kind = lengthKind(bounds);
    return this.#of(
      {
        ...kind,
        made: { word: "seconds", bounds: digitsOf(bounds) },
        convert: (input) => {
          const length = kind.convert(input);
          return length === undefined ? undefined : Number(length / SECOND);
        },
        show: (found) => showDuration(BigInt(found) * SECOND),
      },
      help,
    );
  }

  /** Strings: a JSON array, or one string with commas between. */
  list(
    help: string,
    { max = 1000, form, show, caseless = false }: { readonly max?: number } & Spelling = {},
  ): WireField<readonly string[]> {
    const longest = form === undefined && show === undefined ? Infinity : MAX_FORMED;
    const characters = longest === Infinity ? "" : `, of at most ${longest} characters each`;
    return this.#of(
      {
        accepts: `a list of strings, at most ${max} of them${characters}`,
        schema: { type: "array", items: { type: "string" } },
        convert: (value) => {
          const items = typeof value === "string" ? commaList(value, max + 1) : value;
          if (!Array.isArray(items) || items.length > max) return undefined;
          if (!items.every((item) => typeof item === "string")) return undefined;
          if (items.some(({ length }) => length > longest)) return undefined;
          return form === undefined ? items : items.map(form);
        },
        ...(show === undefined ? {} : { show: (items) => items.map(show) }),
        ...(form === undefined && show === undefined
          ? { made: { word: "list", bounds: { max } } }
          : {}),
        caseless,
      },
      help,
    );
  }

  /** The same for names of policies, which have no case: blanks around them are no part of them. */
  policies(
    help: string,
    { max = 1000 }: { readonly max?: number } = {},
  ): WireField<readonly string[]> {
    const list = this.list(help, { max });
    return this.#of(
      {
        made: { word: "policies", bounds: { max } },
        accepts: `a list of strings, at most ${max} of them`,
        schema: list.schema,
        convert: (value) => {
          const items = list.canonical?.(value) as readonly string[] | undefined;
          return items?.map((item) => fold(item.trim()));
        },
        notice: (value) => foldedPolicies(list.canonical?.(value)),
      },
      help,
    );
  }

  /** An object whose values are strings. */
  texts(
    help: string,
    { max = 64, maxKey = 128, maxValue = 512 } = {},
  ): WireField<Readonly<Record<string, string>>> {
    return this.#of(
      {
        made: { word: "texts", bounds: { max, maxKey, maxValue } },
        accepts:
          `an object of strings: at most ${max} members, ` +
          `names of 1 to ${maxKey} and values of up to ${maxValue} characters`,
        schema: { type: "object", additionalProperties: { type: "string" } },
        convert: (input) => {
          if (!isObject(input)) return undefined;
          const entries = Object.entries(input);
          if (entries.length > max) return undefined;
          const texts: Record<string, string> = {};
          for (const [key, value] of entries) {
            if (typeof value !== "string" || value.length > maxValue) return undefined;
            if (key.length < 1 || key.length > maxKey) return undefined;
            texts[key] = value;
          }
          return texts;
        },
      },
      help,
    );
  }

  /** An object, as it is. */
  object(help: string): WireField<JsonObject> {
    return this.#of(
      {
        accepts: "an object",
        schema: { type: "object" },
        convert: (value) => (isObject(value) ? value : undefined),
        asSent: true,
      },
      help,
    );
  }

  /** Anything. */
  json(help: string): WireField<JsonValue> {
    return this.#of(
      { accepts: "given", schema: {}, convert: (value) => value, asSent: true },
      help,
    );
  }

  /** JSON, or its text: what is no JSON is left to whoever reads it. */
  jsonOrText(
    help: string,
    {
      max = 64 * 1024,
      show,
      caseless = false,
      members,
    }: {
      readonly max?: number;
      readonly show?: (value: JsonValue) => JsonValue;
      readonly caseless?: boolean;
      readonly members?: readonly Member[];
    } = {},
  ): WireField<JsonValue> {
    const { name } = this.#place;
    return this.#of(
      {
        accepts: "given",
        schema: {},
        convert: (value) => parsedText(value, max),
        ...(show === undefined ? { made: { word: "jsonOrText", bounds: { max } } } : {}),
        ...(members === undefined
          ? {}
          : {
              members,
              notice: (value, at = name) => memberNotices(at, parsedText(value, max), members),
            }),
        ...(show === undefined ? {} : { show }),
        caseless,
      },
      help,
    );
  }

  #of<T>(kind: Kind<T>, help: string): WireField<T> {
    return new WireField(this.#place, kind, help);
  }
}

type More = Pick<Place, "aliases" | "deprecation">;

export const wire = {
  path: (name: string, how: Pick<Place, "folds" | "called"> = {}) =>
    new Placed({ source: "path", name, ...how }),
  query: (name: string) => new Placed({ source: "query", name }),
  body: (name: string, more: More = {}) => new Placed({ source: "body", name, ...more }),
  param: (name: string, more: More = {}) => new Placed({ source: "param", name, ...more }),
  /** An object of whatever the caller likes: the name is only for those who read about it. */
  whole: (name: string, help: string) => new Placed({ source: "whole", name }).object(help),
  /** The same with the parameters of the query, for whoever reads both itself. A name stands in one of them. */
  given: (name: string, help: string) => new Placed({ source: "given", name }).object(help),
};

function textKind(max: number | undefined): Kind<string> {
  return {
    accepts: max === undefined ? "a string" : `a string of at most ${max} characters`,
    schema: max === undefined ? { type: "string" } : { type: "string", maxLength: max },
    convert: (value) =>
      typeof value === "string" && value.length <= (max ?? value.length) ? value : undefined,
    asSent: true,
  };
}

function formed(
  text: string | undefined,
  form: ((text: string) => string) | undefined,
): string | undefined {
  return text === undefined || form === undefined ? text : form(text);
}

/** Also when its text was kept because it is spelt in a way of its own: 1.50, 5.0. */
const MAX_DIGITS = 400; // a double has at most 309 before its point

function anyNumber(value: JsonValue): number | undefined {
  const digits =
    typeof value === "string" && value.length <= MAX_DIGITS && /^-?\d+(\.\d+)?$/.test(value);
  const number = isRawNumber(value) ? Number(value.rawJSON) : digits ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

function wholeNumber(value: JsonValue): number | undefined {
  const text = isRawNumber(value) ? value.rawJSON.replace(/\.0+$/, "") : value;
  if (typeof text === "string" && /^-?\d{1,15}$/.test(text)) return Number(text) + 0; // no -0
  return typeof text === "number" && Number.isSafeInteger(text) ? text : undefined;
}

function digitsOf({ min, max }: Lengths): FieldForm["bounds"] {
  return {
    ...(min === undefined ? {} : { min: String(min) }),
    ...(max === undefined ? {} : { max: String(max) }),
  };
}

/** A field of the same name that finds the same form; what it says of itself is no part of it. Null for what nobody here makes. */
export function fieldOfForm(name: string, form: FieldForm): Field<unknown> | null {
  const made = placedForm(wire.body(name), form);
  if (made === null) return null;
  return form.unlessEmpty ? made.optionalUnlessEmpty() : made.optional();
}

function placedForm(placed: Placed, { word, bounds }: FieldForm): WireField<unknown> | null {
  const number = (of: string) => {
    const bound = bounds[of];
    return typeof bound === "number" ? { [of]: bound } : {};
  };
  const length = (of: string) => {
    const bound = bounds[of];
    return typeof bound === "string" && /^-?\d{1,20}$/.test(bound) ? { [of]: BigInt(bound) } : {};
  };
  const { max } = bounds;
  switch (word) {
    case "integer":
      return placed.integer("", { ...number("min"), ...number("max") });
    case "number":
      return placed.number("", { ...number("min"), ...number("max") });
    case "boolean":
      return placed.boolean("");
    case "duration":
      return placed.duration("", { ...length("min"), ...length("max") });
    case "seconds":
      return placed.seconds("", { ...length("min"), ...length("max") });
    case "list":
      return placed.list("", number("max"));
    case "policies":
      return placed.policies("", number("max"));
    case "texts":
      return placed.texts("", { ...number("max"), ...number("maxKey"), ...number("maxValue") });
    case "jsonOrText":
      return placed.jsonOrText("", number("max"));
    case "secrets":
      return typeof max === "number" ? placed.secrets("", { max }) : null;
    case "stringOrCount":
      return typeof max === "number" ? placed.stringOrCount("", { max }) : null;
  }
}

function lengthKind({ min, max = LONGEST_DURATION, or }: Lengths): Kind<Nanos> {
  const above = min === undefined ? "" : `, at least ${showDuration(min)}`;
  return {
    accepts:
      "a number of seconds, or a duration in whole seconds such as 90s, 1h30m or 182d" +
      `${above}, at most ${showDuration(max)}${or === undefined ? "" : `, or ${or}`}`,
    schema: { oneOf: [{ type: "string", format: "duration" }, { type: "integer" }] },
    convert: (input) => {
      const length = input === "" ? 0n : parseWholeSeconds(input);
      if (length === undefined || length > max) return undefined;
      return min !== undefined && length < min ? undefined : length;
    },
  };
}

/** At most so many: a text of a million commas would be a million strings before they are counted. */
function commaList(text: string, max: number): string[] {
  return text === "" ? [] : text.split(",", max).map((item) => item.trim());
}

function range({ min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return `, at least ${min}`;
  return max === undefined ? "" : `, at most ${max}`;
}

function minmax({ min, max }: Bounds): Schema {
  return {
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  };
}

/** What to tell of names of policies that were not spelt as they are kept. */
export function foldedPolicies(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value)) return [];
  const names = value.filter((name) => typeof name === "string").map((name) => name.trim());
  const folded = names.filter((name) => fold(name) !== name).map(fold);
  if (folded.length === 0) return [];
  return [`policy names were converted to lower case: ${someNames([...new Set(folded)])}`];
}

const MAX_DEPTH = 32; // as of bodies

/** Brackets in texts count too: that is no document that anybody writes. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const char of text) {
    if (char === "[" || char === "{") depth++;
    else if (char === "]" || char === "}") depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function parsedText(value: JsonValue, max: number): JsonValue {
  if (typeof value !== "string" || value.length > max || isDeep(value)) return value;
  try {
    return JSON.parse(value) as JsonValue; // by definition
  } catch {
    return value;
  }
}

function asBoolean(value: JsonValue): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}
