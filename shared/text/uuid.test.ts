// UUIDs: text and bytes, and the six bits that are not random.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { InvariantError } from "../invariant.ts";
import { formatUuid, isUuid, uuidBytes, uuidText } from "./uuid.ts";

const sixteen = fc.uint8Array({ minLength: 16, maxLength: 16 });

test("formatUuid() sets version and variant and leaves its input alone", () => {
  const zeros = new Uint8Array(16);
  const ones = new Uint8Array(16).fill(0xff);
  assert.equal(formatUuid(zeros), "00000000-0000-4000-8000-000000000000");
  assert.equal(formatUuid(ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
  assert.deepEqual(ones, new Uint8Array(16).fill(0xff));
});

test("bytes survive the round trip through text, in either case", () => {
  fc.assert(
    fc.property(sixteen, (bytes) => {
      const text = uuidText(bytes);
      assert.ok(isUuid(text));
      assert.deepEqual(new Uint8Array(uuidBytes(text)!), bytes);
      assert.deepEqual(new Uint8Array(uuidBytes(text.toUpperCase())!), bytes);
    }),
  );
});

test("what is not exactly 8-4-4-4-12 hexadecimal digits is no UUID", () => {
  const good = "c8427da3-8cf6-48b2-beaf-9bb747302196";
  const bad = [
    "",
    good.slice(1),
    `${good}0`,
    `${good}\n`,
    ` ${good}`,
    `{${good}}`,
    good.replaceAll("-", ""),
    good.replace("c", "g"),
    good.replace("-", "_"),
    "c8427da38-cf6-48b2-beaf-9bb747302196",
  ];
  assert.ok(isUuid(good));
  for (const text of bad) {
    assert.equal(isUuid(text), false, text);
    assert.equal(uuidBytes(text), null, text);
  }
});

test("uuidText() takes 16 bytes and nothing else", () => {
  for (const length of [0, 15, 17]) {
    assert.throws(() => uuidText(new Uint8Array(length)), InvariantError);
  }
});
