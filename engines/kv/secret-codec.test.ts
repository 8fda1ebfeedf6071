import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hex } from "@holdfast/shared/bytes";
import { type Secret, type Version, versionOf } from "./secret.ts";
import {
  customMetadataCodec,
  hasVersionsCodec,
  secretCodec,
  versionCodec,
} from "./secret-codec.ts";

const instant = fc.bigInt({ min: 0n, max: 2n ** 62n });
const version: fc.Arbitrary<Version> = fc.record({
  created: instant,
  deletion: fc.option(instant),
  destroyed: fc.boolean(),
  exact: fc.boolean(),
  inline: fc.option(fc.uint8Array({ maxLength: 50 })),
});
const secret: fc.Arbitrary<Secret> = fc.record({
  id: fc.stringMatching(/^[0-9a-f]{24}$/),
  created: instant,
  updated: instant,
  maxVersions: fc.nat(1000),
  casRequired: fc.boolean(),
  deleteVersionAfter: instant,
  customMetadata: fc.option(
    fc.dictionary(fc.string({ minLength: 1, unit: "grapheme" }), fc.string(), {
      minKeys: 1,
      noNullPrototype: true,
    }),
  ),
  recycled: fc.boolean(),
  oldest: fc.nat(2 ** 31),
  versions: fc.array(version, { maxLength: 12 }),
});

/** With bytes that compare by what they hold. */
function plain(one: Secret): unknown {
  const versions = one.versions.map((v) => ({
    ...v,
    inline: v.inline === null ? null : [...v.inline],
  }));
  return { ...one, versions };
}

test("every record is read back as it was written", () => {
  fc.assert(
    fc.property(secret, (one) => {
      const bytes = secretCodec.encode(one);
      assert.deepEqual(plain(secretCodec.decode(bytes)), plain(one));
    }),
  );
});

test("a glance at a record says what the whole says", () => {
  fc.assert(
    fc.property(secret, (one) => {
      const bytes = secretCodec.encode(one);
      assert.equal(hasVersionsCodec.decode(bytes), one.versions.length > 0);
      assert.deepEqual(customMetadataCodec.decode(bytes), one.customMetadata);
    }),
  );
});

test("a version is found in a record as in the whole", () => {
  fc.assert(
    fc.property(secret, fc.nat(14), (one, at) => {
      const bytes = secretCodec.encode(one);
      for (const number of [0, one.oldest + at]) {
        const whole = versionOf(secretCodec.decode(bytes), number);
        const found = versionCodec(number).decode(bytes);
        assert.deepEqual(found?.version, whole?.version);
        assert.deepEqual(found?.number, whole?.number);
        if (found === null) continue;
        assert.deepEqual([found.id, found.customMetadata], [one.id, one.customMetadata]);
      }
    }),
  );
});

test("the bytes of a record are those of docs/formats/kv.md", () => {
  const one: Secret = {
    id: "000102030405060708090a0b",
    created: 1n,
    updated: 2n,
    maxVersions: 3,
    casRequired: true,
    deleteVersionAfter: 4n,
    customMetadata: { a: "b" },
    recycled: true,
    oldest: 5,
    versions: [
      { created: 6n, deletion: 7n, destroyed: true, exact: false, inline: null },
      { created: 8n, deletion: null, destroyed: false, exact: true, inline: Buffer.from("{}") },
    ],
  };
  const expected = [
    "01 03 000102030405060708090a0b 0000000000000001 0000000000000002 00000003 0000000000000004",
    "00000005 00000002 00000009 7b2261223a2262227d",
    "03 0000000000000006 0000000000000007 00000000",
    "0c 0000000000000008 0000000000000000 00000002",
    "7b7d",
  ].join("");
  assert.equal(hex(secretCodec.encode(one)), expected.replaceAll(" ", ""));
});

test("bytes of another format are no record", () => {
  assert.throws(() => secretCodec.decode(Buffer.alloc(100, 9)), /format 1/);
});
