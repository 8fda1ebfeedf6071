// Bytes: memory of their own, strict decoding, comparison.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import * as b from "./bytes.ts";

const anyBytes = fc.uint8Array({ maxLength: 100 });

/** Node cuts small buffers from a shared pool; one of its own starts at 0 and fills its memory. */
function ownsItsMemory(buffer: Buffer): boolean {
  return buffer.byteOffset === 0 && buffer.buffer.byteLength === buffer.length;
}

test("alloc(), concat(), fromHex() and fromBase64() never use the shared pool", () => {
  assert.ok(ownsItsMemory(b.alloc(32)));
  assert.ok(ownsItsMemory(b.concat(Buffer.alloc(3), Buffer.alloc(4))));
  assert.ok(ownsItsMemory(b.fromHex("00ff")!));
  assert.ok(ownsItsMemory(b.fromBase64("AAECAw==")!));
});

test("concat() joins in order and shares memory with no part", () => {
  const part = Buffer.from([1, 2]);
  const joined = b.concat(part, b.EMPTY, Uint8Array.of(3));
  part.fill(9);
  assert.deepEqual([...joined], [1, 2, 3]);
  assert.equal(b.concat().length, 0);
});

test("wipe() zeroes every part and passes over absent ones", () => {
  const parts = [Buffer.alloc(4, 1), new Uint8Array([5, 6])] as const;
  b.wipe(parts[0], null, undefined, parts[1]);
  assert.deepEqual([...parts[0], ...parts[1]], [0, 0, 0, 0, 0, 0]);
});

test("asBuffer() is a view of the same memory, also of a part of an array", () => {
  const whole = Uint8Array.of(1, 2, 3, 4);
  const view = b.asBuffer(whole.subarray(1, 3));
  assert.deepEqual([...view], [2, 3]);
  view[0] = 9;
  assert.equal(whole[1], 9);
});

test("hex, base64 and text survive a round trip", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      assert.deepEqual(new Uint8Array(b.fromHex(b.hex(bytes))!), bytes);
      const encoded = b.base64(bytes);
      assert.deepEqual(new Uint8Array(b.fromBase64(encoded)!), bytes);
      assert.deepEqual(new Uint8Array(b.fromBase64(encoded.replace(/=+$/, ""))!), bytes);
    }),
  );
  fc.assert(fc.property(fc.string({ unit: "binary" }), (s) => b.text(b.utf8(s)) === s));
});

test("numbers of 64 bits are written and read as the runtime does it", () => {
  const around = fc.integer({ min: 0, max: 5 });
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), around, (value, at) => {
      const ours = Buffer.alloc(16, 7);
      const theirs = Buffer.alloc(16, 7);
      b.writeInt64(ours, value, at);
      theirs.writeBigInt64BE(value, at);
      assert.deepEqual(ours, theirs);
      assert.equal(b.readInt64(ours, at), value);
      b.writeUint64(ours, BigInt.asUintN(64, value), at);
      assert.deepEqual(ours, theirs);
    }),
  );
});

test("numbers of more than 64 bits, and places outside of the bytes, are refused", () => {
  const bytes = Buffer.alloc(9);
  for (const value of [1n << 63n, -(1n << 63n) - 1n]) {
    assert.throws(() => b.writeInt64(bytes, value, 0), RangeError);
  }
  for (const value of [1n << 64n, -1n]) {
    assert.throws(() => b.writeUint64(bytes, value, 0), RangeError);
  }
  for (const at of [-1, 2, Number.NaN]) {
    assert.throws(() => b.writeInt64(bytes, 1n, at), RangeError);
    assert.throws(() => b.readInt64(bytes, at), RangeError);
  }
  assert.deepEqual(bytes, Buffer.alloc(9));
});

test("fromHex() refuses odd lengths and foreign characters instead of stopping early", () => {
  for (const bad of ["0", "0g", "0x00", " 00", "00\n", "é0"]) assert.equal(b.fromHex(bad), null);
  assert.deepEqual([...b.fromHex("0aFF")!], [10, 255]);
});

test("fromBase64() refuses what is not whole standard base64", () => {
  const bad = ["A", "AAAAA", "AA=", "AAA==", "=", "==", "====", "A===", "AA==AA==", "AA-_", "AA A"];
  for (const text of [...bad, "AAAA\n", "AAAA=", "AAAA=="]) {
    assert.equal(b.fromBase64(text), null, JSON.stringify(text));
  }
  assert.equal(b.fromBase64("")?.length, 0);
});

test("fromBase64() takes texts of many megabytes", () => {
  assert.equal(b.fromBase64("A".repeat(12 * 2 ** 20))?.length, 9 * 2 ** 20);
});

test("fromBase64Url() takes one spelling of any bytes, and nothing that Node would pass over", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const encoded = b.asBuffer(bytes).toString("base64url");
      const read = b.fromBase64Url(encoded);
      assert.ok(read !== null && ownsItsMemory(read));
      assert.deepEqual(new Uint8Array(read), bytes);
    }),
  );
  const digit = fc.nat(63).map((at) =>
    Buffer.from([at << 2])
      .toString("base64url")
      .charAt(0),
  );
  const other = fc.constantFrom("=", "==", " ", "\t", "\n", "+", "/", ".", "é", "\0");
  const part = fc.oneof({ arbitrary: digit, weight: 9 }, other);
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const text = parts.join("");
      const read = b.fromBase64Url(text);
      const isTheOne = Buffer.from(text, "base64url").toString("base64url") === text;
      assert.equal(read?.toString("base64url") ?? null, isTheOne ? text : null);
    }),
    { numRuns: 2000 },
  );
});

test("equalBytes() agrees with equality, whatever the lengths", () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, (x, y) => {
      const equal = b.hex(x) === b.hex(y);
      assert.equal(b.equalBytes(x, y), equal);
      assert.ok(b.equalBytes(x, Uint8Array.from(x)));
    }),
  );
});

test("GrowingBytes keeps what comes, in however many pieces, and shares memory with none", () => {
  const growing = new b.GrowingBytes();
  assert.deepEqual([growing.length, growing.bytes.length], [0, 0]);
  const piece = Buffer.alloc(1);
  for (let i = 0; i < 300_000; i++) {
    piece[0] = i % 251;
    growing.add(piece);
  }
  growing.add(Buffer.alloc(700_000, 252));
  growing.add(new Uint8Array(0));
  assert.equal(growing.length, 1_000_000);
  const all = growing.bytes;
  assert.equal(all.length, 1_000_000);
  assert.ok(all.subarray(0, 300_000).every((byte, i) => byte === i % 251));
  assert.ok(all.subarray(300_000).every((byte) => byte === 252));
});
