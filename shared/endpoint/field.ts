// A field of a request: where it stands, what it is called there, how it is read. A field turns what came
// into a typed value or refuses it by name. A refusal never repeats the value: it may be a secret in the
// wrong place.

import type { JsonValue } from "../json/json.ts";
import { type FieldForm, formOf, noteForm } from "./field-form.ts";
import { fieldInvalid as refused } from "./failures.ts";
import type { Schema } from "./schema.ts";

/** "param" is the body's member or, where the body has none, the query's parameter; "whole" is the body
 *  itself, whatever it holds besides other fields; "given" the same with what the query says, but for what that means to the server itself. */
export type Source = "path" | "query" | "body" | "param" | "whole" | "given";

export interface Field<T> {
  readonly source: Source;
  readonly name: string;
  readonly help: string;
  /** Its value is a secret: hashed in audit whatever the mount says, never shown. */
  readonly secret: boolean;
  readonly required: boolean;
  readonly schema: Schema;
  /** Other names of the same field, which older clients use. One of them is given, or none. */
  readonly aliases?: readonly string[] | undefined;
  /** Told to whoever uses one of them. Default: nothing. */
  readonly deprecation?: string | undefined;
  /** What to call it where its spelling was changed. Default: its name. */
  readonly called?: string | undefined;
  /** How names in a path are brought into their one form before anybody decides: "case": its ASCII
   *  letters become small; "place": it is a path of this server itself, and read as one. */
  readonly folds?: Folding | undefined;
  /** Null is a value of its own and takes something away, as in merge patches. Default: not given. */
  readonly clears?: boolean | undefined;
  /** The one form of all spellings that are read as the same value: what rules and programs see.
   *  Undefined for what `read` refuses, null for what is read as if it were not given. Default: as it was
   *  sent. */
  readonly canonical?: ((value: JsonValue) => JsonValue | undefined) | undefined;
  /** Whoever reads it pays no regard to case, in all of it or in part: what is denied is then denied in
   *  every case. Default: found out from its one form, see caseless.ts. */
  readonly caseless?: boolean | undefined;
  /** It is a map that may be written as a list of name=value: to rules each pair is an element. Default
   *  false. */
  readonly pairs?: boolean | undefined;
  /** What it is made of, where it is an object, or a list of such. Default: whatever the caller likes. */
  readonly members?: readonly Member[] | undefined;
  /** What to tell of a value that was taken in another spelling than it is kept, or in part. `at` is where it
   *  stands; its name, where nothing is said. Default: nothing. */
  readonly notice?: Notice | undefined;
  /** `undefined` and null: not given. */
  read(value: JsonValue | undefined): T;
}

/** What is known of a member of an object: a field is one. */
export interface Member {
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  readonly members?: readonly Member[] | undefined;
  readonly notice?: Notice | undefined;
}

export type Notice = (value: JsonValue, at?: string) => readonly string[];

export type Folding = "case" | "place";

export type Fields = Readonly<Record<string, Field<unknown>>>;
export type InputOf<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T> ? T : never;
};

export interface Place {
  readonly source: Source;
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  readonly deprecation?: string | undefined;
  readonly called?: string | undefined;
  readonly folds?: Folding | undefined;
}

export interface Kind<T> {
  readonly accepts: string; // "must be …"
  readonly schema: Schema;
  readonly secret?: boolean;
  /** Undefined when the value will not do. */
  convert(value: JsonValue): T | undefined;
  /** In JSON, equal for equal values. Default: the value itself where it is JSON, else what was sent. */
  show?(value: T): JsonValue;
  /** Each value has one spelling, which stands for itself. Default false. */
  readonly asSent?: boolean;
  readonly caseless?: boolean;
  readonly members?: readonly Member[];
  readonly notice?: Notice;
  /** How `convert` and `show` are made, where both are the word's own. */
  readonly made?: Pick<FieldForm, "word" | "bounds">;
}

/** A field that must be given, until told otherwise. */
export class WireField<T> implements Field<T> {
  readonly required = true;
  readonly #place: Place;
  readonly #kind: Kind<T>;
  readonly help: string;

  constructor(place: Place, kind: Kind<T>, help: string) {
    this.#place = place;
    this.#kind = kind;
    this.help = help;
    if (kind.made !== undefined) noteForm(this.#canonical, { ...kind.made, unlessEmpty: false });
  }

  get source(): Source {
    return this.#place.source;
  }

  get name(): string {
    return this.#place.name;
  }

  get secret(): boolean {
    return this.#kind.secret ?? false;
  }

  get aliases(): readonly string[] | undefined {
    return this.#place.aliases;
  }

  get deprecation(): string | undefined {
    return this.#place.deprecation;
  }

  get called(): string | undefined {
    return this.#place.called;
  }

  get folds(): Folding | undefined {
    return this.#place.folds;
  }

  get canonical(): ((value: JsonValue) => JsonValue | undefined) | undefined {
    return this.#kind.asSent === true ? undefined : this.#canonical;
  }

  get caseless(): boolean | undefined {
    return this.#kind.caseless;
  }

  get members(): readonly Member[] | undefined {
    return this.#kind.members;
  }

  get notice(): Notice | undefined {
    return this.#kind.notice;
  }

  readonly #canonical = (input: JsonValue): JsonValue | undefined => {
    const kind = this.#kind;
    const value = kind.convert(input);
    if (value === undefined) return undefined;
    return kind.show === undefined ? (isJson(value) ? value : input) : kind.show(value);
  };

  get schema(): Schema {
    return { ...this.#kind.schema, description: this.help };
  }

  read(input: JsonValue | undefined): T {
    if (input === undefined || input === null) {
      throw refused(`${this.name} is missing; it must be ${this.#kind.accepts}`);
    }
    const value = this.#kind.convert(input);
    if (value === undefined) throw refused(`${this.name} must be ${this.#kind.accepts}`);
    return value;
  }

  optional(): Field<T | undefined> {
    return this.#orElse(undefined, this.schema);
  }

  /** The same where 0, an empty text and an empty list say nothing: then it is not given, for the handler, rules
   *  and programs alike. */
  optionalUnlessEmpty(): Field<T | undefined> {
    return this.#orElse(undefined, this.schema, true);
  }

  /** `display` is how the default is told where it is not JSON by itself. */
  default(value: T, display?: JsonValue): Field<T> {
    const initial = display ?? (isPlain(value) ? value : undefined);
    return this.#orElse(
      value,
      initial === undefined ? this.schema : { ...this.schema, default: initial },
      isEmpty(value) && typeof value !== "number" && typeof value !== "bigint", // 0 may be a choice
    );
  }

  #orElse<U>(value: U, schema: Schema, unlessEmpty = false): Field<T | U> {
    const field = fieldOf(this);
    const missing = (input: JsonValue | undefined) =>
      input === undefined || input === null || (unlessEmpty && isEmpty(this.#kind.convert(input)));
    const read = (input: JsonValue | undefined) => (missing(input) ? value : this.read(input));
    // A text that has no other form is compared as it was sent.
    const canonical =
      unlessEmpty && field.canonical !== undefined
        ? (input: JsonValue) => (missing(input) ? null : field.canonical?.(input))
        : field.canonical;
    const form = formOf(field.canonical);
    if (form !== null && canonical !== undefined && canonical !== field.canonical) {
      noteForm(canonical, { ...form, unlessEmpty });
    }
    return { ...field, canonical, required: false, schema, read };
  }
}

/** What says nothing. False is a choice. */
function isEmpty(value: unknown): boolean {
  if (value === "" || value === 0 || value === 0n) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** The members of a field, which may be those of a class: to make another of. */
export function fieldOf(field: Field<unknown>): Omit<Field<unknown>, "read"> {
  return {
    source: field.source,
    name: field.name,
    help: field.help,
    secret: field.secret,
    required: field.required,
    schema: field.schema,
    aliases: field.aliases,
    deprecation: field.deprecation,
    called: field.called,
    folds: field.folds,
    clears: field.clears,
    canonical: field.canonical,
    caseless: field.caseless,
    pairs: field.pairs,
    members: field.members,
    notice: field.notice,
  };
}

/** Values that fields are read as are JSON throughout, or no JSON at all. */
function isJson(value: unknown): value is JsonValue {
  if (typeof value === "object")
    return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function isPlain(value: unknown): value is string | number | boolean | readonly string[] {
  return typeof value !== "object"
    ? typeof value !== "bigint" && value !== undefined
    : Array.isArray(value);
}
