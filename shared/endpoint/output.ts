// The shape of an answer: typed, so that a handler that leaves something out does not compile, and
// with a schema, so that OpenAPI and the client's types say the same.

import type { EXPOSITION_TYPE } from "../exposition.ts";
import type { JsonObject, JsonValue } from "../json/json.ts";
import type { Schema } from "./schema.ts";
import type { StreamBody, StreamType } from "./stream.ts";

/** Without parameters: JSON has none, and there are clients that compare the whole of it. */
export const JSON_TYPE = "application/json";

export interface Output<T> {
  readonly schema: Schema;
  /** Only for the type; never there. */
  readonly sample?: T;
}

export type OutputOf<O> = O extends Output<infer T> ? T : never;

interface Optional<T> extends Output<T> {
  readonly mayBeAbsent: true;
}

type Members = Readonly<Record<string, Output<unknown> | Optional<unknown>>>;
type Absent<M extends Members> = {
  [K in keyof M]: M[K] extends { readonly mayBeAbsent: true } ? K : never;
}[keyof M];
type ObjectOf<M extends Members> = {
  readonly [K in Exclude<keyof M, Absent<M>>]: OutputOf<M[K]>;
} & { readonly [K in Absent<M>]?: OutputOf<M[K]> | undefined };

const make = <T>(schema: Schema): Output<T> => ({ schema });

export const out = {
  string: (description: string): Output<string> => make({ type: "string", description }),
  /** A value to be kept by the caller and by nobody else. */
  secret: (description: string): Output<string> =>
    make({ type: "string", format: "password", description }),
  time: (description: string): Output<string> =>
    make({ type: "string", format: "date-time", description }),
  integer: (description: string): Output<number> => make({ type: "integer", description }),
  number: (description: string): Output<number> => make({ type: "number", description }),
  boolean: (description: string): Output<boolean> => make({ type: "boolean", description }),
  oneOf: <const V extends string>(values: readonly V[], description: string): Output<V> =>
    make({ type: "string", enum: values, description }),
  list: <T>(of: Output<T>, description: string): Output<readonly T[]> =>
    make({ type: "array", items: of.schema, description }),
  mapOf: <T>(of: Output<T>, description: string): Output<Readonly<Record<string, T>>> =>
    make({ type: "object", additionalProperties: of.schema, description }),
  object: <M extends Members>(members: M, description = ""): Output<ObjectOf<M>> => {
    const required = Object.entries(members)
      .filter(([, member]) => !("mayBeAbsent" in member))
      .map(([name]) => name);
    return make({
      type: "object",
      ...(description === "" ? {} : { description }),
      properties: Object.fromEntries(
        Object.entries(members).map(([name, member]) => [name, member.schema]),
      ),
      ...(required.length === 0 ? {} : { required }), // OpenAPI 3.0 has no empty list here
    });
  },
  nullable: <T>(of: Output<T>): Output<T | null> => make({ ...of.schema, nullable: true }),
  optional: <T>(of: Output<T>): Optional<T> => ({ schema: of.schema, mayBeAbsent: true }),
  json: (description: string): Output<JsonValue> => make({ description }),
  anyObject: (description: string): Output<JsonObject> =>
    make({ type: "object", additionalProperties: true, description }),
  /** An object whose JSON the handler has as text already. */
  objectText: (description: string): Output<TextBody> =>
    make({ type: "object", additionalProperties: true, description }),
  /** No data: 204, or an envelope with nothing but warnings. */
  nothing: make<undefined>({}),
  /** The handler gives text, with one of these content types; the first is the usual one. */
  text: (contentTypes: readonly string[], description: string): Output<TextBody> =>
    make({ type: "string", format: contentTypes.join(", "), description }),
  /** The handler gives bytes while they are sent. */
  stream: (contentType: StreamType, description: string): Output<StreamBody> =>
    make({ type: "string", format: contentType, description }),
  /** Names of what lies below, folders with a slash; an empty list is answered as not found. */
  keys: (description: string): Output<KeyList> =>
    make({
      type: "object",
      description,
      properties: {
        keys: { type: "array", items: { type: "string" } },
        key_info: { type: "object" },
      },
      required: ["keys"],
    }),
};

export interface KeyList {
  readonly keys: readonly string[];
  readonly key_info?: Readonly<Record<string, JsonObject>>;
}

/** What a handler may name as the type of a text: every one that is ever sent. */
export type TextType = typeof JSON_TYPE | typeof EXPOSITION_TYPE;

/** A class and not a shape: stored data can have any members, and must never choose what it is sent as. */
export class TextBody {
  readonly contentType: TextType;
  readonly text: string;

  constructor(contentType: TextType, text: string) {
    this.contentType = contentType;
    this.text = text;
  }
}
