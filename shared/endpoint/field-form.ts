// How the one form of a field's values is found, as data: the word of `wire` that made it and what that was told. So
// another process judges by the same form as the one that declares the field. Forms that a declaration has functions of
// its own for are not told.

import type { JsonValue } from "../json/json.ts";

type Canonical = (value: JsonValue) => JsonValue | undefined;

export interface FieldForm {
  /** A method of what `wire.body` gives. */
  readonly word: FormWord;
  /** Of numbers and counts; lengths of time as digits of nanoseconds. */
  readonly bounds: Readonly<Record<string, string | number>>;
  /** What says nothing is as if it were not given. */
  readonly unlessEmpty: boolean;
}

export const FORM_WORDS = [
  "stringOrCount",
  "integer",
  "number",
  "boolean",
  "duration",
  "seconds",
  "list",
  "policies",
  "texts",
  "secrets",
  "jsonOrText",
] as const;
export type FormWord = (typeof FORM_WORDS)[number];

/** By the very function: what somebody has put another form in the place of has none here. */
const forms = new WeakMap<Canonical, FieldForm>();

export function noteForm(canonical: Canonical, form: FieldForm): void {
  forms.set(canonical, form);
}

export function formOf(canonical: Canonical | undefined): FieldForm | null {
  return (canonical === undefined ? undefined : forms.get(canonical)) ?? null;
}
