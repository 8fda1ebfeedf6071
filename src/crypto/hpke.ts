// HPKE (RFC 9180) in base mode, one message for one key pair of the sender's: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
// AES-256-GCM. Whoever holds the private key reads it; who sent it, it does not prove.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
} from "node:crypto";
import { alloc, asBuffer, concat, EMPTY, utf8, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";

/** Of public keys, private keys, and of what is sent along. */
export const HPKE_KEY_BYTES = 32;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;
const CIPHER = "aes-256-gcm";
const OPTIONS = { authTagLength: TAG_BYTES } as const;
const BASE_MODE = 0;
const KEM = Buffer.from("4b454d0020", "hex"); // "KEM", 0x0020
const SUITE = Buffer.from("48504b45002000010002", "hex"); // "HPKE", 0x0020, 0x0001, 0x0002
const VERSION = utf8("HPKE-v1");
// X25519 keys around their 32 bytes (RFC 8410); all lengths are fixed.
const BEFORE_PRIVATE = Buffer.from("302e020100300506032b656e04220420", "hex");
const BEFORE_PUBLIC = Buffer.from("302a300506032b656e032100", "hex");

export interface HpkeMessage {
  /** The sender's public key for this message alone. */
  readonly enc: Uint8Array;
  readonly ciphertext: Uint8Array;
}

export interface HpkeKeyPair {
  readonly privateKey: KeyObject;
  /** 32 bytes. */
  readonly publicKey: Buffer;
}

/** What both sides must say alike: `info` what the key is for, `aad` what belongs to the message. */
export interface HpkeContext {
  readonly info: Uint8Array;
  readonly aad?: Uint8Array;
}

export function makeHpkeKeys(random: Random): HpkeKeyPair {
  const privateKey = hpkePrivateKey(random.bytes(HPKE_KEY_BYTES));
  return { privateKey, publicKey: hpkePublicKey(privateKey) };
}

/** Takes over 32 bytes: they are wiped whatever happens. */
export function hpkePrivateKey(raw: Buffer): KeyObject {
  const der = alloc(BEFORE_PRIVATE.length + HPKE_KEY_BYTES);
  try {
    invariant(raw.length === HPKE_KEY_BYTES, "a private key of X25519 has 32 bytes");
    der.set(BEFORE_PRIVATE);
    der.set(raw, BEFORE_PRIVATE.length);
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    wipe(raw, der);
  }
}

/** The 32 bytes of a private key in a Buffer of their own. The caller wipes it. */
export function exportHpkeKey(key: KeyObject): Buffer {
  const der = key.export({ format: "der", type: "pkcs8" });
  try {
    const raw = alloc(HPKE_KEY_BYTES);
    raw.set(der.subarray(der.length - HPKE_KEY_BYTES));
    return raw;
  } finally {
    wipe(der);
  }
}

/** The public half of a private key: 32 bytes. */
export function hpkePublicKey(privateKey: KeyObject): Buffer {
  const der = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  return concat(der.subarray(der.length - HPKE_KEY_BYTES));
}

/** Whether something can be sealed to these bytes: no key of another length, and none of the few that
 *  lead everybody to the same secret. */
export function isHpkePublicKey(bytes: Uint8Array): boolean {
  const probe = hpkePrivateKey(alloc(HPKE_KEY_BYTES).fill(0x40));
  return agreed(probe, bytes) !== null;
}

/** Null when nothing can be sealed to this key. */
export function hpkeSeal(
  publicKey: Uint8Array,
  plaintext: Uint8Array,
  context: HpkeContext,
  random: Random,
): HpkeMessage | null {
  const { privateKey, publicKey: enc } = makeHpkeKeys(random);
  const dh = agreed(privateKey, publicKey);
  if (dh === null) return null;
  const { key, nonce } = schedule(dh, concat(enc, publicKey), context.info);
  try {
    const cipher = createCipheriv(CIPHER, key, nonce, OPTIONS);
    cipher.setAAD(context.aad ?? EMPTY);
    const body = cipher.update(plaintext);
    cipher.final(); // GCM has no last block to give; this computes the tag
    return { enc, ciphertext: concat(body, cipher.getAuthTag()) };
  } finally {
    wipe(key, nonce);
  }
}

/** The plaintext, which the caller wipes, or null: every failure looks alike. */
export function hpkeOpen(
  privateKey: KeyObject,
  { enc, ciphertext }: HpkeMessage,
  context: HpkeContext,
): Buffer | null {
  if (ciphertext.length < TAG_BYTES) return null;
  const dh = agreed(privateKey, enc);
  if (dh === null) return null;
  const { key, nonce } = schedule(dh, concat(enc, hpkePublicKey(privateKey)), context.info);
  try {
    const end = ciphertext.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, nonce, OPTIONS);
    decipher.setAAD(context.aad ?? EMPTY);
    decipher.setAuthTag(ciphertext.subarray(end));
    const plaintext = decipher.update(ciphertext.subarray(0, end));
    try {
      decipher.final(); // compares the tag, in constant time
    } catch {
      wipe(plaintext);
      return null;
    }
    return plaintext;
  } finally {
    wipe(key, nonce);
  }
}

/** Null for what is no public key, and for points of low order: their secret is zero, whoever computes it, and the runtime
 *  refuses them. */
function agreed(privateKey: KeyObject, publicKey: Uint8Array): Buffer | null {
  if (publicKey.length !== HPKE_KEY_BYTES) return null;
  const der = concat(BEFORE_PUBLIC, publicKey);
  try {
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    return diffieHellman({ privateKey, publicKey: key });
  } catch {
    return null;
  }
}

/** Wipes what was agreed on. */
function schedule(dh: Buffer, kemContext: Uint8Array, info: Uint8Array) {
  const prk = extract(KEM, EMPTY, "eae_prk", dh);
  const shared = expand(KEM, prk, "shared_secret", kemContext, HPKE_KEY_BYTES);
  const context = concat(
    Uint8Array.of(BASE_MODE),
    extract(SUITE, EMPTY, "psk_id_hash", EMPTY),
    extract(SUITE, EMPTY, "info_hash", info),
  );
  const secret = extract(SUITE, shared, "secret", EMPTY);
  const key = expand(SUITE, secret, "key", context, HPKE_KEY_BYTES);
  const nonce = expand(SUITE, secret, "base_nonce", context, NONCE_BYTES);
  wipe(dh, prk, shared, secret);
  return { key, nonce };
}

function extract(suite: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array): Buffer {
  const mac = createHmac("sha256", asBuffer(salt));
  for (const part of [VERSION, suite, utf8(label), ikm]) mac.update(part);
  return mac.digest();
}

/** At most 32 bytes, which is one block. */
function expand(
  suite: Uint8Array,
  prk: Uint8Array,
  label: string,
  info: Uint8Array,
  length: number,
): Buffer {
  const mac = createHmac("sha256", asBuffer(prk)).update(Uint8Array.of(0, length));
  for (const part of [VERSION, suite, utf8(label), info, Uint8Array.of(1)]) mac.update(part);
  return mac.digest().subarray(0, length);
}
