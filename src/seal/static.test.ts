import assert from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import { exportKey } from "../crypto/aead.ts";
import { failure } from "../../tests/support/servers/sealed-node.ts";
import { readStaticKey } from "./static.ts";

const key = Buffer.from(Uint8Array.from({ length: 32 }, (_, i) => (i * 91 + 3) % 256));
const hex = key.toString("hex");
const base64 = key.toString("base64");

const readable: readonly [name: string, input: Buffer][] = [
  ["32 bytes as they are", Buffer.from(key)],
  ["32 bytes that look like text", utf8("0123456789abcdef0123456789abcdef")],
  ["hex", utf8(hex)],
  ["hex in capitals with a line break", utf8(`${hex.toUpperCase()}\r\n`)],
  ["base64", utf8(base64)],
  ["base64 without padding, with white space", utf8(` \t${base64.replace("=", "")}\n`)],
];
for (const [name, input] of readable) {
  test(`a static key is read from ${name}, and the input is wiped`, () => {
    const expected = input.length === 32 ? Buffer.from(input) : key;
    assert.deepEqual(exportKey(readStaticKey(input)), expected);
    assert.ok(input.every((byte) => byte === 0));
  });
}

const unreadable: readonly [name: string, input: Buffer][] = [
  ["nothing", Buffer.alloc(0)],
  ["31 bytes", Buffer.alloc(31, 200)],
  ["33 bytes", Buffer.alloc(33, 200)],
  ["hex with a bad digit", utf8(`${hex.slice(0, 63)}g`)],
  ["hex with a bad first digit", utf8(`/${hex.slice(1)}`)],
  ["62 digits of hex", utf8(hex.slice(2))],
  ["base64 of 31 bytes", utf8(key.subarray(1).toString("base64"))],
  ["base64 with a bad digit", utf8(`-${base64.slice(1)}`)],
  ["two keys", utf8(`${hex}\n${hex}`)],
];
for (const [name, input] of unreadable) {
  test(`${name} is no static key, and is wiped`, () => {
    const says = "the key of a static seal must be 32 bytes: as they are, in hex, or in base64";
    assert.throws(() => readStaticKey(input), failure("invalid", says));
    assert.ok(input.every((byte) => byte === 0));
  });
}

test("every pair of hex digits is read, and nothing else is a digit", () => {
  for (let byte = 0; byte < 256; byte++) {
    const pair = byte.toString(16).padStart(2, "0");
    for (const text of [pair, pair.toUpperCase()]) {
      assert.deepEqual(exportKey(readStaticKey(utf8(text.repeat(32)))), Buffer.alloc(32, byte));
    }
    const digit = String.fromCharCode(byte);
    if (/[0-9a-fA-F\s]/.test(digit)) continue;
    const input = Buffer.alloc(64, "0");
    input[31] = byte;
    assert.throws(() => readStaticKey(input), failure("invalid", /static seal/));
  }
});
