// Messages as protobuf, from a table of their fields. The bytes are the package's business, its reader and writer of
// single values; what is here is the table, so that there is neither a generator nor what it would generate. What
// the table does not know is passed over, as the format wants it; what it knows must be as the table says.

import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { EMPTY } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import { OwnError } from "@holdfast/shared/failure";
import type { Codec } from "./method.ts";

export interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  /** What it is where nothing came; this is not written. */
  readonly empty: T;
  readonly isEmpty: (value: T) => boolean;
  /** With its tag, which a list repeats. */
  readonly write: (writer: BinaryWriter, value: T) => void;
  readonly read: (reader: BinaryReader, before: T) => T;
}

type Fields = Readonly<Record<string, Field<never>>>;
/** What a table of fields describes. */
export type MessageOf<C> = C extends Codec<infer T> ? T : never;

/** The package's own would put a mark in the place of what is no text, and drop one at its beginning. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decodeText = (text: Uint8Array) => strict.decode(text);

class MalformedMessage extends OwnError {}

export function message<const F extends Record<string, unknown>>(fields: {
  readonly [K in keyof F]: Field<F[K]>;
}): Codec<F> {
  const named = Object.entries(fields as unknown as Fields);
  const byNumber = new Map(named.map(([name, field]) => [field.number, { name, field }]));
  invariant(byNumber.size === named.length, "no number stands for two fields");
  const empty = Object.fromEntries(named.map(([name, field]) => [name, field.empty]));
  return {
    encode(value) {
      const writer = new BinaryWriter();
      const values = value as Readonly<Record<string, never>>;
      for (const [name, field] of named) {
        const one = values[name] as never;
        if (!field.isEmpty(one)) field.write(writer, one);
      }
      return writer.finish();
    },
    decode(bytes) {
      const reader = new BinaryReader(bytes, decodeText);
      const found: Record<string, unknown> = { ...empty };
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        const known = byNumber.get(number);
        if (known === undefined) pass(reader, wireType);
        else if (wireType !== known.field.wireType)
          throw new MalformedMessage("a field of another type");
        else found[known.name] = known.field.read(reader, found[known.name] as never);
        if (reader.pos > reader.len) throw new MalformedMessage("the message is cut");
      }
      return found as F;
    },
  };
}

/** Groups are of another age, and nest. */
function pass(reader: BinaryReader, wireType: WireType): void {
  if (wireType === WireType.StartGroup || wireType === WireType.EndGroup) {
    throw new MalformedMessage("a group");
  }
  reader.skip(wireType);
}

export function text(number: number): Field<string> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: "",
    isEmpty: (value) => value === "",
    write: (writer, value) => writer.tag(number, WireType.LengthDelimited).string(value),
    read: (reader) => reader.string(),
  };
}

/** Read as bytes of their own: a few of them must not keep the whole message in memory. */
export function bytes(number: number): Field<Uint8Array> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: EMPTY,
    isEmpty: (value) => value.length === 0,
    write: (writer, value) => writer.tag(number, WireType.LengthDelimited).bytes(value),
    read: (reader) => reader.bytes().slice(),
  };
}

export function uint32(number: number): Field<number> {
  return {
    number,
    wireType: WireType.Varint,
    empty: 0,
    isEmpty: (value) => value === 0,
    write: (writer, value) => writer.tag(number, WireType.Varint).uint32(value),
    read: (reader) => reader.uint32(),
  };
}

/** Indexes, and times in nanoseconds. */
export function uint64(number: number): Field<bigint> {
  return {
    number,
    wireType: WireType.Varint,
    empty: 0n,
    isEmpty: (value) => value === 0n,
    write: (writer, value) => writer.tag(number, WireType.Varint).uint64(value),
    read: (reader) => BigInt(reader.uint64()),
  };
}

export function flag(number: number): Field<boolean> {
  return {
    number,
    wireType: WireType.Varint,
    empty: false,
    isEmpty: (value) => !value,
    write: (writer, value) => writer.tag(number, WireType.Varint).bool(value),
    read: (reader) => reader.bool(),
  };
}

/** Null where it is not there, which is not the same as one without a value. */
export function part<T>(number: number, codec: Codec<T>): Field<T | null> {
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: null,
    isEmpty: (value) => value === null,
    write: (writer, value) => {
      if (value !== null) writer.tag(number, WireType.LengthDelimited).bytes(codec.encode(value));
    },
    read: (reader) => codec.decode(reader.bytes()),
  };
}

/** At most `max`: two bytes on the wire may be an object here. Of fields that have a length; numbers would be packed. */
export function list<T>(field: Field<T>, max: number): Field<readonly NonNullable<T>[]> {
  invariant(field.wireType === WireType.LengthDelimited, "numbers in lists would be packed");
  return {
    number: field.number,
    wireType: field.wireType,
    empty: [],
    isEmpty: (values) => values.length === 0,
    write: (writer, values) => {
      invariant(values.length <= max, "a list has a bound");
      for (const value of values) field.write(writer, value);
    },
    read: (reader, before) => {
      if (before.length >= max) throw new MalformedMessage("a list that is too long");
      const value = field.read(reader, field.empty) as NonNullable<T>;
      // The one that decoding began with is everybody's; from the second on it is this message's own.
      if (before.length === 0) return [value];
      (before as NonNullable<T>[]).push(value);
      return before;
    },
  };
}
