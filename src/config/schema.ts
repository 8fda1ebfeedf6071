// How settings are declared: fields with a value, sections, blocks with labels, and keys that are
// refused by name. Reader, manual, defaults and the types of the result derive from a declaration;
// settings.ts has the only one.

import type { Value } from "../document/hcl-node.ts";
import type { BodyShape } from "../document/document-shape.ts";
import type { Place } from "./problem.ts";
import type { Texts } from "./substitution.ts";

export interface Field<T> {
  readonly kind: "field";
  /** How the manual names what is accepted. */
  readonly form: string;
  readonly help: string;
  readonly initial: T;
  /** The default as the manual shows it. */
  readonly display: string;
  /** The variable of the environment that overrides it; only at top level. */
  readonly env: string | null;
  /** Whether a new value is taken over on SIGHUP, or only at the next start. */
  readonly reloads: boolean;
  /** Lists of several files are joined; of anything else the last one counts. */
  readonly appends: boolean;
  /** Never shown again, wherever it came from. */
  readonly hides: boolean;
  /** Throws Refusal. */
  read(value: Value, texts: Texts): T;
}

/** A block without labels. */
export interface Section<F extends Fields = Fields> {
  readonly kind: "section";
  readonly help: string;
  readonly fields: F;
}

/** Blocks whose first label chooses among sections; a second label is a name. */
export interface Blocks<K extends Kinds = Kinds> {
  readonly kind: "blocks";
  readonly labels: 1 | 2;
  readonly help: string;
  /** "each": one more of its kind. "last": the last one counts. "name": the last of each name. */
  readonly repeat: "each" | "last" | "name";
  readonly kinds: K;
}

/** A key that is known and not accepted: nothing is ever taken and ignored. */
export interface Absent {
  readonly kind: "absent";
  readonly why: string;
}

export type Entry = Field<unknown> | Section | Blocks | Absent;
export type Fields = { readonly [key: string]: Entry };
export type Kinds = { readonly [type: string]: Section | Absent };

/** What a body came to: every value there, given or by default. */
export interface Settled<F> {
  readonly values: Values<F>;
  /** Where the key was given; null when it has its default. */
  place(key: keyof F & string): Place | null;
}

export type Values<F> = {
  readonly [K in keyof F as F[K] extends Absent ? never : K]: ValueOf<F[K]>;
};

type ValueOf<E> =
  E extends Field<infer T>
    ? T
    : E extends Section<infer F>
      ? Settled<F>
      : E extends Blocks<infer K>
        ? readonly SettledBlock<K>[]
        : never;

export type SettledBlock<K> = {
  [T in keyof K & string]: K[T] extends Section<infer F>
    ? {
        readonly type: T;
        readonly name: string; // the second label; empty without one
        readonly place: Place;
        readonly body: Settled<F>;
      }
    : never;
}[keyof K & string];

export function section<F extends Fields>(help: string, fields: F): Section<F> {
  return { kind: "section", help, fields };
}

export function blocks<K extends Kinds>(
  help: string,
  form: { readonly labels: 1 | 2; readonly repeat: Blocks["repeat"] },
  kinds: K,
): Blocks<K> {
  return { kind: "blocks", help, ...form, kinds };
}

/** For what is planned, or known from servers of the same kind. */
export function absent(why: string): Absent {
  return { kind: "absent", why };
}

export function entryOf(fields: Fields, key: string): Entry | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined; // a key may be "constructor"
}

/** Which keys are blocks, for the parsers. */
export function shapeOf(fields: Fields): BodyShape {
  const shape = new Map<string, { labels: number; body: BodyShape }>();
  for (const [key, entry] of Object.entries(fields)) {
    if (entry.kind === "section") shape.set(key, { labels: 0, body: shapeOf(entry.fields) });
    if (entry.kind !== "blocks") continue;
    const bodies = Object.values(entry.kinds).map((kind) =>
      kind.kind === "absent" ? [] : [...shapeOf(kind.fields)],
    );
    shape.set(key, { labels: entry.labels, body: new Map(bodies.flat()) });
  }
  return shape;
}
