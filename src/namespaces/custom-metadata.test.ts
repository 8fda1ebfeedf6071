// What fits into a namespace's metadata is said in bytes of JSON, and is never refused or taken by an estimate of them.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { checkMetadata } from "./custom-metadata.ts";

const MAX_BYTES = 8192;
const units = fc.constantFrom("a", "é", "世", "\u0001", '"', "\\", "😀", "\ud800");
const texts = (maxLength: number, minLength = 0) =>
  fc.string({ unit: units, minLength, maxLength, size: "max" });

test("metadata is taken up to its bytes as JSON, whatever its characters become there", () => {
  const members = fc.dictionary(texts(20, 1), texts(250), { maxKeys: 40, size: "max" });
  fc.assert(
    fc.property(members, (metadata) => {
      const fits = Buffer.byteLength(JSON.stringify(metadata)) <= MAX_BYTES;
      if (fits) assert.equal(checkMetadata(metadata), metadata);
      else assert.throws(() => checkMetadata(metadata), /8192 bytes in all/);
    }),
    { numRuns: 300 },
  );
});

test("one byte too many is refused", () => {
  const value = "x".repeat(490);
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, value]));
  const left = (more: string) => ({ ...metadata, more });
  const bytes = (more: string) => Buffer.byteLength(JSON.stringify(left(more)));
  const room = "x".repeat(MAX_BYTES - bytes(""));
  assert.equal(bytes(room), MAX_BYTES);
  assert.doesNotThrow(() => checkMetadata(left(room)));
  assert.throws(() => checkMetadata(left(`${room}x`)), /8192 bytes in all/);
});
