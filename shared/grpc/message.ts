// Messages as protobuf, from a table of their fields, so that there is neither a generator nor what it would generate. Single
// values are read by the package's reader. They are written here: how long a message gets is known before, so that its bytes
// are allocated once, which is most of what a small message costs. What the table does not know is passed over, as the
// format wants it; what it knows must be as the table says.

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { EMPTY } from "../bytes.ts";
import { invariant } from "../invariant.ts";
import { OwnError } from "../failure.ts";
import type { Codec } from "./method.ts";

export interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  /** What it is where nothing came; this is not written. */
  readonly empty: T;
  readonly isEmpty: (value: T) => boolean;
  /** Bytes that it takes, with its tag, which a list repeats. */
  readonly size: (value: T) => number;
  readonly write: (out: Out, value: T) => void;
  readonly read: (reader: BinaryReader, before: T) => T;
}

type Fields = Readonly<Record<string, Field<never>>>;
/** What a table of fields describes. */
export type MessageOf<C> = C extends Codec<infer T> ? T : never;

/** The package's own would put a mark in the place of what is no text, and drop one at its beginning. */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const decodeText = (text: Uint8Array) => strict.decode(text);

const utf8 = new TextEncoder();

export class MalformedMessage extends OwnError {}

/** What is written, into bytes that are as many as it takes. */
class Out {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
  }

  number(value: number): void {
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) {
      this.bytes[this.at++] = (left % 0x80) + 0x80;
    }
    this.bytes[this.at++] = left;
  }

  large(value: bigint): void {
    if (value <= Number.MAX_SAFE_INTEGER) return this.number(Number(value));
    let left = value;
    for (; left >= 0x80n; left >>= 7n) this.bytes[this.at++] = Number(left & 0x7fn) + 0x80;
    this.bytes[this.at++] = Number(left);
  }

  double(value: number): void {
    new DataView(this.bytes.buffer).setFloat64(this.at, value, true);
    this.at += 8;
  }

  raw(value: Uint8Array): void {
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  text(value: string): void {
    this.at += utf8.encodeInto(value, this.bytes.subarray(this.at)).written;
  }
}

function sizeOfNumber(value: number): number {
  let size = 1;
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) size++;
  return size;
}

function sizeOfLarge(value: bigint): number {
  if (value <= Number.MAX_SAFE_INTEGER) return sizeOfNumber(Number(value));
  let size = 1;
  for (let left = value; left >= 0x80n; left >>= 7n) size++;
  return size;
}

const tagOf = (number: number, wireType: WireType) => number * 8 + wireType;
const withLength = (tag: number, length: number) =>
  sizeOfNumber(tag) + sizeOfNumber(length) + length;

/** One that can be a part of another. */
export interface MessageCodec<T> extends Codec<T> {
  size(value: T): number;
  write(out: Out, value: T): void;
}

export function message<const F extends Record<string, unknown>>(fields: {
  readonly [K in keyof F]: Field<F[K]>;
}): MessageCodec<F> {
  const named = Object.entries(fields as unknown as Fields);
  const byNumber = new Map(named.map(([name, field]) => [field.number, { name, field }]));
  invariant(byNumber.size === named.length, "no number stands for two fields");
  const empty = Object.fromEntries(named.map(([name, field]) => [name, field.empty]));
  const size = (value: F) => {
    let sum = 0;
    for (const [name, field] of named) {
      const one = value[name] as never;
      if (!field.isEmpty(one)) sum += field.size(one);
    }
    return sum;
  };
  const write = (out: Out, value: F) => {
    for (const [name, field] of named) {
      const one = value[name] as never;
      if (!field.isEmpty(one)) field.write(out, one);
    }
  };
  return {
    size,
    write,
    encode(value) {
      const out = new Out(size(value));
      write(out, value);
      invariant(out.at === out.bytes.length, "a message is as long as its parts");
      return out.bytes;
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
  const tag = tagOf(number, WireType.LengthDelimited);
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: "",
    isEmpty: (value) => value === "",
    size: (value) => withLength(tag, Buffer.byteLength(value)),
    write: (out, value) => {
      const length = Buffer.byteLength(value);
      out.number(tag);
      out.number(length);
      out.text(value);
    },
    read: (reader) => reader.string(),
  };
}

/** Read as bytes of their own: a few of them must not keep the whole message in memory. */
export function bytes(number: number): Field<Uint8Array> {
  const tag = tagOf(number, WireType.LengthDelimited);
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: EMPTY,
    isEmpty: (value) => value.length === 0,
    size: (value) => withLength(tag, value.length),
    write: (out, value) => {
      out.number(tag);
      out.number(value.length);
      out.raw(value);
    },
    read: (reader) => new Uint8Array(reader.bytes()), // a Buffer's slice would not be
  };
}

/** Read as a part of the message, all of which is in memory as long as this is: for what comes and goes with the rest of it. */
export function bytesWithin(number: number): Field<Uint8Array> {
  return { ...bytes(number), read: (reader) => reader.bytes() };
}

export function uint32(number: number): Field<number> {
  const tag = tagOf(number, WireType.Varint);
  return {
    number,
    wireType: WireType.Varint,
    empty: 0,
    isEmpty: (value) => value === 0,
    size: (value) => {
      invariant(Number.isInteger(value) && value >= 0 && value < 2 ** 32, "a number of 32 bits");
      return sizeOfNumber(tag) + sizeOfNumber(value);
    },
    write: (out, value) => {
      out.number(tag);
      out.number(value);
    },
    read: (reader) => reader.uint32(),
  };
}

/** Indexes, and times in nanoseconds. */
export function uint64(number: number): Field<bigint> {
  const tag = tagOf(number, WireType.Varint);
  return {
    number,
    wireType: WireType.Varint,
    empty: 0n,
    isEmpty: (value) => value === 0n,
    size: (value) => {
      invariant(value >= 0n && value < 1n << 64n, "a number of 64 bits");
      return sizeOfNumber(tag) + sizeOfLarge(value);
    },
    write: (out, value) => {
      out.number(tag);
      out.large(value);
    },
    read: (reader) => BigInt(reader.uint64()),
  };
}

/** Lengths of time and points in it, of others. What is below zero takes ten bytes. */
export function int64(number: number): Field<bigint> {
  const unsigned = uint64(number);
  const wrapped = (value: bigint) => {
    invariant(BigInt.asIntN(64, value) === value, "a number of 64 bits with its sign");
    return BigInt.asUintN(64, value);
  };
  return {
    ...unsigned,
    size: (value) => unsigned.size(wrapped(value)),
    write: (out, value) => unsigned.write(out, wrapped(value)),
    read: (reader) => BigInt(reader.int64()),
  };
}

/** Numbers of others that may be below zero, and words that are numbers on the wire. */
export function int32(number: number): Field<number> {
  const large = int64(number);
  return {
    number,
    wireType: WireType.Varint,
    empty: 0,
    isEmpty: (value) => value === 0,
    size: (value) => {
      invariant((value | 0) === value, "a number of 32 bits with its sign");
      return large.size(BigInt(value));
    },
    write: (out, value) => large.write(out, BigInt(value)),
    read: (reader) => reader.int32(),
  };
}

export function double(number: number): Field<number> {
  const tag = tagOf(number, WireType.Bit64);
  return {
    number,
    wireType: WireType.Bit64,
    empty: 0,
    isEmpty: (value) => Object.is(value, 0), // the zero with a sign is another
    size: () => sizeOfNumber(tag) + 8,
    write: (out, value) => {
      out.number(tag);
      out.double(value);
    },
    read: (reader) => reader.double(),
  };
}

export function flag(number: number): Field<boolean> {
  const tag = tagOf(number, WireType.Varint);
  return {
    number,
    wireType: WireType.Varint,
    empty: false,
    isEmpty: (value) => !value,
    size: () => sizeOfNumber(tag) + 1,
    write: (out, value) => {
      out.number(tag);
      out.number(Number(value));
    },
    read: (reader) => reader.bool(),
  };
}

/** One that is there or not: what it is where nothing came is a value too. Of several that cannot be there together, too. */
export function maybe<T>(field: Field<T>): Field<T | null> {
  const { number, wireType } = field;
  return {
    number,
    wireType,
    empty: null,
    isEmpty: (value) => value === null,
    size: (value) => (value === null ? 0 : field.size(value)),
    write: (out, value) => {
      if (value !== null) field.write(out, value);
    },
    read: (reader) => field.read(reader, field.empty),
  };
}

const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>();

/** Values by a text, at most `max`. `value` has number 2. Of one text that comes twice the later value counts. */
export function mapOf<T>(
  number: number,
  value: Field<T>,
  max: number,
): Field<ReadonlyMap<string, NonNullable<T>>> {
  invariant(value.number === 2, "the value of an entry has number 2");
  // Both are written where they are empty as well, as others do; readers take either.
  const always = <V>(field: Field<V>): Field<V> => ({ ...field, isEmpty: () => false });
  const entry = message<{ key: string; value: T }>({ key: always(text(1)), value: always(value) });
  const one = part(number, entry);
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: NO_ENTRIES,
    isEmpty: (values) => values.size === 0,
    size: (values) => {
      invariant(values.size <= max, "a map has a bound");
      let sum = 0;
      for (const [key, of] of values) sum += one.size({ key, value: of });
      return sum;
    },
    write: (out, values) => {
      for (const [key, of] of values) one.write(out, { key, value: of });
    },
    read: (reader, before) => {
      const found = one.read(reader, null);
      if (found === null || before.size >= max)
        throw new MalformedMessage("a map that is too long");
      const { value: of } = found;
      if (of === null || of === undefined) throw new MalformedMessage("an entry without a value");
      const own = before.size === 0 ? new Map<string, NonNullable<T>>() : before;
      (own as Map<string, NonNullable<T>>).set(found.key, of);
      return own;
    },
  };
}

/** The same bytes as other values. Both ways may throw: reading on what is no such value. */
export function mapped<T, U>(
  codec: MessageCodec<T>,
  { read, write }: { readonly read: (value: T) => U; readonly write: (value: U) => T },
): MessageCodec<U> {
  return {
    size: (value) => codec.size(write(value)),
    write: (out, value) => codec.write(out, write(value)),
    encode: (value) => codec.encode(write(value)),
    decode: (sent) => read(codec.decode(sent)),
  };
}

/** One that is a part of itself. */
export function lazily<T>(codec: () => MessageCodec<T>): MessageCodec<T> {
  return {
    size: (value) => codec().size(value),
    write: (out, value) => codec().write(out, value),
    encode: (value) => codec().encode(value),
    decode: (sent) => codec().decode(sent),
  };
}

/** Null where it is not there, which is not the same as one without a value. */
export function part<T>(number: number, codec: MessageCodec<T>): Field<T | null> {
  const tag = tagOf(number, WireType.LengthDelimited);
  return {
    number,
    wireType: WireType.LengthDelimited,
    empty: null,
    isEmpty: (value) => value === null,
    size: (value) => (value === null ? 0 : withLength(tag, codec.size(value))),
    write: (out, value) => {
      if (value === null) return;
      out.number(tag);
      out.number(codec.size(value));
      codec.write(out, value);
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
    size: (values) => {
      invariant(values.length <= max, "a list has a bound");
      let sum = 0;
      for (const value of values) sum += field.size(value);
      return sum;
    },
    write: (out, values) => {
      for (const value of values) field.write(out, value);
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
