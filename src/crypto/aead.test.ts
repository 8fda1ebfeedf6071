import assert from "node:assert/strict";
import { createHmac, createSecretKey } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { InvariantError } from "@holdfast/shared/invariant";
import { SystemRandom } from "../system/random.ts";
import type { Random } from "@holdfast/shared/world";
import {
  deriveKey,
  ENTRY_OVERHEAD,
  entryTerm,
  exportKey,
  freshKey,
  openEntry,
  sealEntry,
  secretKey,
} from "./aead.ts";

const random = new SystemRandom();
const path = "shared/kv/größe/🔑";
const text = Buffer.from("the plaintext of an entry");

/** The key 00 01 02 … 1f. */
function countingKey() {
  return secretKey(Buffer.from(Array.from({ length: 32 }, (_, i) => i)));
}

// Made with another implementation's AES-256-GCM: key 00…1f, nonce 64…6f, term 0x01020304.
const pinned = Buffer.from(
  "01020304026465666768696a6b6c6d6e6f3c73bb46098537f750163a90ae45059b62a3682aee028700ded4b7f7" +
    "615c89d015d61acf93e94b1c8f",
  "hex",
);

test("an entry has exactly the pinned bytes, and they open", () => {
  const nonce = Buffer.from("6465666768696a6b6c6d6e6f", "hex");
  assert.deepEqual(sealEntry(countingKey(), 0x01020304, path, text, nonce), pinned);
  assert.deepEqual(openEntry(countingKey(), path, pinned), text);
  assert.equal(entryTerm(pinned), 0x01020304);
});

test("ciphertext and tag agree with test case 14 of the GCM submission", () => {
  const key = secretKey(Buffer.alloc(32));
  const entry = sealEntry(key, 1, "", Buffer.alloc(16), Buffer.alloc(12));
  assert.equal(
    entry.subarray(17).toString("hex"),
    "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
  );
});

test("any plaintext, path and term come back, with the overhead as stated", () => {
  const key = freshKey(random);
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 1, max: 0xffff_ffff }),
      (plaintext, at, term) => {
        const entry = sealEntry(key, term, at, plaintext, random.bytes(12));
        assert.equal(entry.length, plaintext.length + ENTRY_OVERHEAD);
        assert.equal(entryTerm(entry), term);
        assert.deepEqual(openEntry(key, at, entry), Buffer.from(plaintext));
      },
    ),
  );
});

test("one changed bit anywhere behind the term makes the entry unreadable", () => {
  for (let bit = 4 * 8; bit < pinned.length * 8; bit++) {
    const changed = Buffer.from(pinned);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(openEntry(countingKey(), path, changed), null, `bit ${bit}`);
  }
});

test("an entry cut short or lengthened anywhere does not open", () => {
  for (let length = 0; length < pinned.length; length++) {
    assert.equal(openEntry(countingKey(), path, pinned.subarray(0, length)), null);
  }
  assert.equal(openEntry(countingKey(), path, Buffer.concat([pinned, Buffer.alloc(1)])), null);
});

test("an entry opens neither at another path nor under another key", () => {
  for (const other of ["", "shared/kv/größe/🔑/", "shared/kv/größe", "shared/kv/grösse/🔑"]) {
    assert.equal(openEntry(countingKey(), other, pinned), null);
  }
  assert.equal(openEntry(freshKey(random), path, pinned), null);
});

test("paths that UTF-8 cannot tell apart are not taken for each other", () => {
  const key = freshKey(random);
  const entry = sealEntry(key, 1, "shared/\ufffd", text, random.bytes(12));
  assert.deepEqual(openEntry(key, "shared/\ufffd", entry), text);
  assert.equal(openEntry(key, "shared/\ud800", entry), null);
  assert.throws(() => sealEntry(key, 1, "shared/\ud800", text, random.bytes(12)), InvariantError);
});

test("the term is null for what cannot be an entry", () => {
  assert.equal(entryTerm(pinned.subarray(0, ENTRY_OVERHEAD - 1)), null);
  for (let version = 0; version < 256; version++) {
    const other = Buffer.from(pinned);
    other[4] = version;
    assert.equal(entryTerm(other), version === 2 ? 0x01020304 : null);
  }
});

test("the term is read from any view of the bytes", () => {
  const shifted = new Uint8Array(pinned.length + 3);
  shifted.set(pinned, 3);
  assert.equal(entryTerm(shifted.subarray(3)), 0x01020304);
  assert.deepEqual(openEntry(countingKey(), path, shifted.subarray(3)), text);
});

test("a nonce of another length or a term outside its four bytes is a broken invariant", () => {
  const key = freshKey(random);
  for (const length of [0, 11, 13, 16]) {
    const nonce = Buffer.alloc(length);
    assert.throws(() => sealEntry(key, 1, path, text, nonce), InvariantError);
  }
  for (const term of [0, -1, 1.5, 2 ** 32, Number.NaN]) {
    assert.throws(() => sealEntry(key, term, path, text, random.bytes(12)), InvariantError);
  }
});

test("sealed bytes, opened bytes and exported keys lie in memory of their own", () => {
  const key = freshKey(random);
  const entry = sealEntry(key, 1, path, text, random.bytes(12));
  assert.equal(entry.buffer.byteLength, entry.length);
  const opened = openEntry(key, path, entry);
  assert.equal(opened?.buffer.byteLength, text.length);
  assert.equal(exportKey(key).buffer.byteLength, 32);
});

test("making a key wipes the bytes it was made of, also when they are refused", () => {
  const raw = Buffer.alloc(32, 7);
  const key = secretKey(raw);
  assert.deepEqual(raw, Buffer.alloc(32));
  assert.deepEqual(exportKey(key), Buffer.alloc(32, 7));
  const long = Buffer.alloc(33, 7);
  assert.throws(() => secretKey(long), InvariantError);
  assert.deepEqual(long, Buffer.alloc(33));
});

test("wiping an exported key leaves the key as it is", () => {
  const key = secretKey(Buffer.alloc(32, 9));
  exportKey(key).fill(0);
  assert.deepEqual(exportKey(key), Buffer.alloc(32, 9));
  assert.throws(() => exportKey(createSecretKey(Buffer.alloc(16))), InvariantError);
});

test("a fresh key is what the source gave, and a failing source gives none", () => {
  const drawn = Buffer.alloc(32, 0xa5);
  const source: Random = { bytes: () => drawn, uuid: () => assert.fail("no uuid is drawn") };
  assert.deepEqual(exportKey(freshKey(source)), Buffer.alloc(32, 0xa5));
  assert.deepEqual(drawn, Buffer.alloc(32), "and the drawn bytes are wiped");

  const failing: Random = {
    bytes: () => {
      throw new Error("no entropy");
    },
    uuid: () => assert.fail("no uuid is drawn"),
  };
  assert.throws(() => freshKey(failing), /no entropy/);
  const short: Random = { bytes: () => Buffer.alloc(31), uuid: () => failing.uuid() };
  assert.throws(() => freshKey(short), InvariantError);
});

test("a derived key is HKDF-SHA-256 with an empty salt and the purpose as info", () => {
  const derived = exportKey(deriveKey(countingKey(), "audit hash"));
  // Made with another implementation.
  assert.equal(
    derived.toString("hex"),
    "7bfa3ce1a14e2147a87400f27767292acd634cf310647e09788b8be4747590fa",
  );
  // And by RFC 5869 itself: extract with a salt of zeros, then one block of expand.
  const hmac = (key: Buffer, data: Buffer) => createHmac("sha256", key).update(data).digest();
  const extracted = hmac(Buffer.alloc(32), exportKey(countingKey()));
  const info = Buffer.from("audit hash\u0001");
  assert.deepEqual(derived, hmac(extracted, info));
});

test("keys derived for different purposes differ, and a purpose is required", () => {
  const key = freshKey(random);
  assert.notDeepEqual(exportKey(deriveKey(key, "a")), exportKey(deriveKey(key, "b")));
  assert.deepEqual(exportKey(deriveKey(key, "a")), exportKey(deriveKey(key, "a")));
  assert.throws(() => deriveKey(key, ""), InvariantError);
});
