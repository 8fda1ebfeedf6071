// AES-256-GCM over single storage entries, and the keys for it. Bytes in, bytes out: which key
// belongs to which term, how often a key was used and what a failed open means are the barrier's.

import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { asBuffer, EMPTY, utf8, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";

// The one mode in the house. It authenticates: a mode that does not would let whoever writes the
// disk learn plaintext from how a bad entry fails.
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const VERSION = 0x02;
const VERSION_AT = 4;
const NONCE_AT = 5;
const NONCE_BYTES = 12;
const BODY_AT = NONCE_AT + NONCE_BYTES;
const TAG_BYTES = 16;
const MAX_TERM = 0xffff_ffff;
// Without a fixed length the runtime would accept tags cut down to 4 bytes.
const OPTIONS = { authTagLength: TAG_BYTES } as const;

/** Bytes that an entry has beyond its plaintext: term 4, version 1, nonce 12, tag 16. */
export const ENTRY_OVERHEAD: number = BODY_AT + TAG_BYTES;

/** The term in an entry's header, or null when the bytes cannot be an entry. Not authenticated:
 *  a changed term selects another key, and the entry does not open. */
export function entryTerm(bytes: Uint8Array): number | null {
  if (bytes.length < ENTRY_OVERHEAD || bytes[VERSION_AT] !== VERSION) return null;
  return asBuffer(bytes).readUInt32BE(0);
}

/**
 * Seals one entry. Layout: term (4, big-endian) | version (1) | nonce (12) | ciphertext | tag (16).
 *
 * The nonce must be fresh from Random for every call: under a repeated one, two ciphertexts give
 * away the XOR of their plaintexts and the key of the tag. Random nonces are safe for about 2^32
 * entries under one key; the keyring counts and rotates before.
 */
export function sealEntry(
  key: KeyObject,
  term: number,
  path: string,
  plaintext: Uint8Array,
  nonce: Uint8Array,
): Buffer {
  invariant(nonce.length === NONCE_BYTES, "entry nonce is not 12 bytes");
  invariant(Number.isInteger(term) && term >= 1 && term <= MAX_TERM, "entry term out of range");
  // UTF-8 writes every lone surrogate as U+FFFD: two such paths would have the same bytes.
  invariant(path.isWellFormed(), "entry path has no UTF-8 form");
  const out = Buffer.alloc(ENTRY_OVERHEAD + plaintext.length);
  out.writeUInt32BE(term, 0);
  out[VERSION_AT] = VERSION;
  out.set(nonce, NONCE_AT);
  const cipher = createCipheriv(CIPHER, key, nonce, OPTIONS);
  // The path is authenticated along with the value. Otherwise whoever can write the disk could put
  // one entry's bytes in another's place, say a management token's record over their own.
  cipher.setAAD(utf8(path));
  if (plaintext.length > 0) out.set(cipher.update(plaintext), BODY_AT); // marks hold nothing
  cipher.final(); // GCM has no last block to give; this computes the tag
  out.set(cipher.getAuthTag(), BODY_AT + plaintext.length);
  return out;
}

/**
 * The plaintext of an entry, or null. Every failure looks alike: wrong tag, wrong key, another path,
 * cut short, another version. What distinguishes them would only help someone who forges entries.
 */
export function openEntry(key: KeyObject, path: string, bytes: Uint8Array): Buffer | null {
  if (entryTerm(bytes) === null || !path.isWellFormed()) return null;
  const bodyEnd = bytes.length - TAG_BYTES;
  const nonce = bytes.subarray(NONCE_AT, BODY_AT);
  const decipher = createDecipheriv(CIPHER, key, nonce, OPTIONS);
  decipher.setAAD(utf8(path));
  decipher.setAuthTag(bytes.subarray(bodyEnd));
  const plaintext = decipher.update(bytes.subarray(BODY_AT, bodyEnd));
  try {
    decipher.final(); // compares the tag, in constant time
  } catch {
    wipe(plaintext); // unauthenticated bytes must not outlive the refusal
    return null;
  }
  return plaintext;
}

/** Takes over 32 bytes as a key: `raw` is wiped whatever happens. */
export function secretKey(raw: Buffer): KeyObject {
  try {
    invariant(raw.length === KEY_BYTES, "secret key is not 32 bytes");
    return createSecretKey(raw);
  } finally {
    wipe(raw);
  }
}

export function freshKey(random: Random): KeyObject {
  return secretKey(random.bytes(KEY_BYTES));
}

/** The 32 bytes of a key in a Buffer of their own. The caller wipes it. */
export function exportKey(key: KeyObject): Buffer {
  invariant(key.type === "secret" && key.symmetricKeySize === KEY_BYTES, "not a 32-byte key");
  return key.export();
}

/**
 * A key for one purpose, by HKDF-SHA-256 with an empty salt (the input is already a uniform key) and
 * the purpose as info. The derived key tells nothing about the one it came from.
 */
export function deriveKey(key: KeyObject, purpose: string): KeyObject {
  invariant(purpose.length > 0 && purpose.isWellFormed(), "a derived key needs a purpose");
  const derived = hkdfSync("sha256", key, EMPTY, utf8(purpose), KEY_BYTES);
  return secretKey(Buffer.from(derived)); // a view of the same memory, which is wiped
}
