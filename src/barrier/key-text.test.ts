// Base64 of keys without strings, against the runtime's own.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { keyFromText, keyText } from "./key-text.ts";

const any = fc.uint8Array({ maxLength: 70 });
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("keyText() is standard base64", () => {
  fc.assert(
    fc.property(any, (bytes) => {
      assert.equal(keyText(bytes).toString("latin1"), Buffer.from(bytes).toString("base64"));
    }),
    { numRuns: 1000 },
  );
});

test("every byte value in every place of a group comes back", () => {
  for (let place = 0; place < 3; place++) {
    for (let value = 0; value < 256; value++) {
      const bytes = Buffer.alloc(3);
      bytes[place] = value;
      assert.deepEqual(keyFromText(Buffer.from(bytes.toString("base64")), 3), bytes);
    }
  }
});

test("keyFromText() gives back what keyText() wrote, in memory of its own", () => {
  fc.assert(
    fc.property(any, (bytes) => {
      const read = keyFromText(keyText(bytes), bytes.length);
      assert.deepEqual(read, Buffer.from(bytes));
      assert.equal(read?.buffer.byteLength, bytes.length, "not from the shared pool");
    }),
  );
});

test("a text of another length is refused", () => {
  fc.assert(
    fc.property(key, fc.nat(80), (bytes, length) => {
      const text = keyText(bytes);
      fc.pre(length !== text.length);
      const other = Buffer.alloc(length, "A");
      text.copy(other);
      assert.equal(keyFromText(other, 32), null);
    }),
  );
});

test("a foreign character anywhere is refused: every one of the 256 bytes", () => {
  const text = keyText(Buffer.alloc(32, 0x5a));
  const digits = /^[A-Za-z0-9+/]$/;
  for (let at = 0; at < text.length; at++) {
    for (let byte = 0; byte < 256; byte++) {
      const other = Buffer.from(text);
      other[at] = byte;
      const char = String.fromCharCode(byte);
      const read = keyFromText(other, 32);
      if (at === 43) assert.equal(read !== null, char === "=", `${byte} at ${at}`);
      else if (!digits.test(char)) assert.equal(read, null, `${byte} at ${at}`);
    }
  }
});

test("bits that no byte holds must be zero: one key has one text", () => {
  fc.assert(
    fc.property(key, fc.integer({ min: 1, max: 3 }), (bytes, bits) => {
      const text = keyText(bytes);
      const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
      const last = alphabet.indexOf(String.fromCharCode(text[42]!));
      text[42] = alphabet.charCodeAt(last | bits);
      assert.equal(keyFromText(text, 32), null);
    }),
  );
});
