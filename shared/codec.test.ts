// Codecs give back what they were given.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { bytesCodec, jsonCodec } from "./codec.ts";

test("bytesCodec hands bytes through without a copy", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  assert.equal(bytesCodec.encode(bytes), bytes);
  assert.equal(bytesCodec.decode(bytes), bytes);
});

test("jsonCodec gives back every record that JSON can hold", () => {
  const codec = jsonCodec<unknown>();
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const same = JSON.parse(JSON.stringify(value)) as unknown; // JSON has no −0
      assert.deepEqual(codec.decode(codec.encode(value)), same);
    }),
  );
});

test("jsonCodec throws on bytes that are no JSON", () => {
  assert.throws(() => jsonCodec<unknown>().decode(Buffer.from("{")), SyntaxError);
});
