import assert from "node:assert/strict";
import test from "node:test";
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { StructSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import type { JsonObject } from "@holdfast/shared/json/json";
import { often } from "./support/often.ts";
import { NO_TIME, struct, timestamp } from "@holdfast/plugin-sdk/wire/known-types";

const objects = fc
  .dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ maxDepth: 4 }), {
    noNullPrototype: true,
  })
  .filter((value) => !/-0|__proto__/.test(JSON.stringify(value))) as fc.Arbitrary<JsonObject>;

test("JSON is written and read as by the package, empty values too", () => {
  const value: JsonObject = {
    b: true,
    f: false,
    l: [null, "x", 0, [], {}],
    n: null,
    num: -1.5,
    o: { e: "" },
    z: 0,
  };
  assert.deepEqual(struct.decode(struct.encode(value)), value);
  fc.assert(
    fc.property(objects, (value) => {
      const written = struct.encode(value);
      assert.deepEqual(struct.decode(written), value);
      assert.deepEqual(toJson(StructSchema, fromBinary(StructSchema, written)), value);
      assert.deepEqual(
        struct.decode(toBinary(StructSchema, fromJson(StructSchema, value as never))),
        value,
      );
    }),
    { numRuns: often(200) },
  );
});

test("what nests without end, a value that is none, and one that is two are refused", () => {
  let deep: JsonObject = {};
  for (let i = 0; i < 60; i++) deep = { a: deep };
  assert.deepEqual(struct.decode(struct.encode(deep)), deep);
  for (let i = 0; i < 10; i++) deep = { a: deep };
  assert.throws(() => struct.decode(struct.encode(deep)), /too deep/);
  assert.deepEqual(struct.decode(struct.encode({ a: 1 })), { a: 1 }, "and nothing is left of it");
  const entry = (...value: number[]) =>
    Buffer.from([0x0a, 3 + 2 + value.length, 0x0a, 1, 0x61, 0x12, value.length, ...value]);
  assert.deepEqual(struct.decode(entry(0x20, 1)), { a: true });
  assert.throws(() => struct.decode(entry()), /one value/);
  assert.throws(() => struct.decode(entry(0x20, 1, 0x08, 0)), /one value/);
});

test("a time is nanoseconds since 1970, before it too, and has four digits of a year", () => {
  const times = fc.bigInt({ min: NO_TIME, max: 253_402_300_799_999_999_999n });
  fc.assert(
    fc.property(times, (at) => {
      const written = timestamp.encode(at);
      assert.equal(timestamp.decode(written), at);
      const { seconds, nanos } = fromBinary(TimestampSchema, written);
      assert.equal(seconds * 1_000_000_000n + BigInt(nanos), at);
      assert.ok(nanos >= 0);
    }),
    { numRuns: often(200) },
  );
  assert.throws(() => timestamp.encode(NO_TIME - 1n), /four digits/);
  for (const [seconds, nanos] of [
    [-62_135_596_801n, 0],
    [253_402_300_800n, 0],
    [0n, -1],
    [0n, 1_000_000_000],
  ] as const) {
    const sent = toBinary(TimestampSchema, create(TimestampSchema, { seconds, nanos }));
    assert.throws(() => timestamp.decode(sent), /no time/);
  }
});
