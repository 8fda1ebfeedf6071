import assert from "node:assert/strict";
import test from "node:test";
import { create, createFileRegistry, fromBinary, toBinary, type Message } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { often } from "../../tests/support/often.ts";
import {
  bytes,
  bytesWithin,
  double,
  flag,
  int32,
  int64,
  list,
  mapOf,
  mapped,
  maybe,
  message,
  type MessageOf,
  part,
  text,
  uint32,
  uint64,
} from "./message.ts";

const inner = message({ name: text(1), index: uint64(2) });
const outer = message({
  name: text(1),
  raw: bytes(2),
  small: uint32(3),
  index: uint64(4),
  is: flag(5),
  one: part(6, inner),
  names: list(text(7), 5),
  many: list(part(8, inner), 5),
});
type Outer = MessageOf<typeof outer>;

/** The same tables, as the package describes messages. */
function described() {
  const field = (name: string, number: number, type: Type) => ({
    name,
    number,
    type,
    label: Label.OPTIONAL,
  });
  const nested = { typeName: ".test.Inner" };
  const file = create(FileDescriptorProtoSchema, {
    name: "test.proto",
    package: "test",
    syntax: "proto3",
    messageType: [
      { name: "Inner", field: [field("name", 1, Type.STRING), field("index", 2, Type.UINT64)] },
      {
        name: "Outer",
        field: [
          field("name", 1, Type.STRING),
          field("raw", 2, Type.BYTES),
          field("small", 3, Type.UINT32),
          field("index", 4, Type.UINT64),
          field("is", 5, Type.BOOL),
          { ...field("one", 6, Type.MESSAGE), ...nested },
          { ...field("names", 7, Type.STRING), label: Label.REPEATED },
          { ...field("many", 8, Type.MESSAGE), ...nested, label: Label.REPEATED },
        ],
      },
    ],
  });
  const schema = createFileRegistry(file, () => undefined).getMessage("test.Outer");
  assert.ok(schema !== undefined);
  return schema;
}

const texts = fc.string({ unit: "grapheme", maxLength: 20 });
const plain = { noNullPrototype: true };
const indexes = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const inners = fc.record({ name: texts, index: indexes }, plain);
const outers: fc.Arbitrary<Outer> = fc.record(
  {
    name: texts,
    raw: fc.uint8Array({ maxLength: 50 }),
    small: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    index: indexes,
    is: fc.boolean(),
    one: fc.option(inners),
    names: fc.array(texts, { maxLength: 5 }),
    many: fc.array(inners, { maxLength: 5 }),
  },
  plain,
);

const EMPTY: Outer = outer.decode(new Uint8Array(0));

test("what is written is read again, and as the package itself reads and writes it", () => {
  const schema = described();
  fc.assert(
    fc.property(outers, (value) => {
      const written = outer.encode(value);
      assert.deepEqual(outer.decode(written), value);
      const theirs = fromBinary(schema, written) as Message & Record<string, unknown>;
      assert.equal(theirs["name"], value.name);
      assert.equal(theirs["index"], value.index);
      assert.deepEqual(theirs["names"], value.names);
      assert.deepEqual(outer.decode(toBinary(schema, theirs)), value);
    }),
    { numRuns: often(200) },
  );
});

test("bytes of any kind are read or refused, and never more than that", () => {
  const near = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.tuple(outers, fc.nat(), fc.integer({ min: 0, max: 255 })).map(([value, at, byte]) => {
      const written = outer.encode(value).slice();
      if (written.length > 0) written[at % written.length] = byte;
      return written;
    }),
    fc.tuple(outers, fc.nat()).map(([value, cut]) => {
      const written = outer.encode(value);
      return written.subarray(0, cut % (written.length + 1));
    }),
  );
  fc.assert(
    fc.property(near, (sent) => {
      try {
        outer.encode(outer.decode(sent));
      } catch (error) {
        assert.ok(error instanceof Error && error.name !== "AssertionError");
        assert.ok(!/stack|memory|invalid array/i.test(error.message), error.message);
      }
    }),
    { numRuns: often(2000) },
  );
});

test("what is not known is passed over; what is known must be what it is", () => {
  const refused = (...sent: number[]) => assert.throws(() => outer.decode(Buffer.from(sent)));
  assert.deepEqual(outer.decode(Buffer.from([0x78, 0x05, 0x82, 0x01, 0x02, 1, 2])), EMPTY);
  refused(0x08, 0x05); // field 1 as a number
  refused(0x0a, 0x02, 0xff, 0xfe); // no UTF-8
  refused(0x0a, 0x05, 0x41); // cut
  refused(0x28); // a flag without a value
  refused(0x7b, 0x7c); // a group
  refused(0x00, 0x00); // no field
  assert.deepEqual(EMPTY.names, []);
});

test("a list has a bound, and what was decoded before does not grow", () => {
  const five = outer.encode({ ...EMPTY, names: ["a", "b", "c", "d", "e"] });
  assert.equal(outer.decode(five).names.length, 5);
  assert.throws(() => outer.decode(Buffer.concat([five, Buffer.from([0x3a, 0])])), /too long/);
  assert.throws(() => outer.encode({ ...EMPTY, names: Array.from({ length: 6 }, () => "") }));
  assert.deepEqual(outer.decode(new Uint8Array(0)).names, []);
});

test("bytes that were read do not share the message's memory", () => {
  const sent = outer.encode({ ...EMPTY, raw: Buffer.from([1, 2, 3]) });
  for (const whole of [sent, Buffer.from(sent)]) {
    const { raw } = outer.decode(whole);
    whole.fill(0);
    assert.deepEqual([...raw], [1, 2, 3]);
  }
});

test("a number that its field has no room for is not written", () => {
  const largest = { ...EMPTY, small: 2 ** 32 - 1, index: 2n ** 64n - 1n };
  assert.deepEqual(outer.decode(outer.encode(largest)), largest);
  for (const small of [-1, 1.5, 2 ** 32]) {
    assert.throws(() => outer.encode({ ...EMPTY, small }), /a number of 32 bits/);
  }
  for (const index of [-1n, 2n ** 64n]) {
    assert.throws(() => outer.encode({ ...EMPTY, index }), /a number of 64 bits/);
  }
});

test("bytes are read as bytes of their own, or as a part of the message", () => {
  const own = message({ raw: bytes(1) });
  const within = message({ raw: bytesWithin(1) });
  const raw = new Uint8Array([1, 2, 3]);
  const encoded = within.encode({ raw });
  assert.deepEqual(encoded, own.encode({ raw }));
  assert.deepEqual(new Uint8Array(within.decode(encoded).raw), raw);
  assert.equal(within.decode(encoded).raw.buffer, encoded.buffer);
  assert.notEqual(own.decode(encoded).raw.buffer, encoded.buffer);
});

const more = message({
  length: int64(1),
  code: int32(2),
  ratio: double(3),
  headers: mapOf(4, text(2), 5),
  inners: mapOf(5, part(2, inner), 5),
  is: maybe(flag(6)),
  words: maybe(text(7)),
  count: maybe(uint32(8)),
});
type More = MessageOf<typeof more>;

function describedMore() {
  const field = (name: string, number: number, type: Type) => ({
    name,
    number,
    type,
    label: Label.OPTIONAL,
  });
  const entry = (name: string, value: object) => ({
    name,
    field: [
      field("key", 1, Type.STRING),
      { name: "value", number: 2, label: Label.OPTIONAL, ...value },
    ],
    options: { mapEntry: true },
  });
  const map = (name: string, number: number, of: string) => ({
    ...field(name, number, Type.MESSAGE),
    typeName: `.test.More.${of}`,
    label: Label.REPEATED,
  });
  const optional = (name: string, number: number, type: Type, at: number) => ({
    ...field(name, number, type),
    proto3Optional: true,
    oneofIndex: at,
  });
  const file = create(FileDescriptorProtoSchema, {
    name: "more.proto",
    package: "test",
    syntax: "proto3",
    messageType: [
      { name: "Inner", field: [field("name", 1, Type.STRING), field("index", 2, Type.UINT64)] },
      {
        name: "More",
        field: [
          field("length", 1, Type.INT64),
          field("code", 2, Type.INT32),
          field("ratio", 3, Type.DOUBLE),
          map("headers", 4, "HeadersEntry"),
          map("inners", 5, "InnersEntry"),
          optional("is", 6, Type.BOOL, 0),
          optional("words", 7, Type.STRING, 1),
          optional("count", 8, Type.UINT32, 2),
        ],
        nestedType: [
          entry("HeadersEntry", { type: Type.STRING }),
          entry("InnersEntry", { type: Type.MESSAGE, typeName: ".test.Inner" }),
        ],
        oneofDecl: [{ name: "_is" }, { name: "_words" }, { name: "_count" }],
      },
    ],
  });
  const schema = createFileRegistry(file, () => undefined).getMessage("test.More");
  assert.ok(schema !== undefined);
  return schema;
}

const maps = <T>(values: fc.Arbitrary<T>) =>
  fc.array(fc.tuple(texts, values), { maxLength: 5 }).map((pairs) => new Map(pairs));
const mores: fc.Arbitrary<More> = fc.record(
  {
    length: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    code: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    ratio: fc.double(),
    headers: maps(texts),
    inners: maps(inners),
    is: fc.option(fc.boolean()),
    words: fc.option(texts),
    count: fc.option(fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  },
  plain,
);

test("numbers with a sign, maps and what may be absent are written and read as by the package", () => {
  const schema = describedMore();
  fc.assert(
    fc.property(mores, (value) => {
      const written = more.encode(value);
      assert.deepEqual(more.decode(written), value);
      const theirs = fromBinary(schema, written) as Message & Record<string, unknown>;
      assert.equal(theirs["length"], value.length);
      assert.equal(theirs["code"], value.code);
      assert.ok(Object.is(theirs["ratio"], value.ratio));
      assert.equal(theirs["words"] ?? null, value.words);
      assert.deepEqual(more.decode(toBinary(schema, theirs)), value);
    }),
    { numRuns: often(200) },
  );
});

test("a map has a bound, the later of two values of one key counts, and the empty one is nobody's", () => {
  const none = more.decode(new Uint8Array(0));
  const one = (key: string, value: string) =>
    more.encode({ ...none, headers: new Map([[key, value]]) });
  const twice = more.decode(Buffer.concat([one("a", "1"), one("a", "2")]));
  assert.deepEqual([...twice.headers], [["a", "2"]]);
  const six = Buffer.concat(["a", "b", "c", "d", "e", "f"].map((key) => one(key, "")));
  assert.throws(() => more.decode(six), /too long/);
  assert.throws(() =>
    more.encode({
      ...none,
      headers: new Map(["a", "b", "c", "d", "e", "f"].map((key) => [key, ""])),
    }),
  );
  assert.equal(none.headers.size, 0);
  // An entry without a key or a value has their empty ones; a message in it has to be there.
  assert.deepEqual([...more.decode(Buffer.from([0x22, 0])).headers], [["", ""]]);
  assert.throws(() => more.decode(Buffer.from([0x2a, 0])), /without a value/);
});

test("a number with a sign that its field has no room for is not written", () => {
  const none = more.decode(new Uint8Array(0));
  for (const length of [2n ** 63n, -(2n ** 63n) - 1n]) {
    assert.throws(() => more.encode({ ...none, length }), /64 bits with its sign/);
  }
  for (const code of [2 ** 31, 1.5, -(2 ** 31) - 1]) {
    assert.throws(() => more.encode({ ...none, code }), /32 bits with its sign/);
  }
});

test("a value can be another than what stands on the wire", () => {
  const upper = mapped(inner, {
    read: ({ name }) => name.toUpperCase(),
    write: (name) => ({ name: name.toLowerCase(), index: 0n }),
  });
  const holder = message({ one: part(1, upper) });
  assert.deepEqual(holder.decode(holder.encode({ one: "ABC" })), { one: "ABC" });
  assert.deepEqual(inner.decode(upper.encode("ABC")), { name: "abc", index: 0n });
});
