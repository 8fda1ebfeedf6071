// An Ed25519 key that signs evidence: made from 32 random bytes, kept as PKCS #8.

import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { alloc, asBuffer, fromHex, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Random } from "@holdfast/shared/world";
import { fingerprintOf, signedBytes } from "../signed/envelope.ts";

/** What stands in front of the seed (RFC 8410). */
const PKCS8 = fromHex("302e020100300506032b657004220420");

export interface SigningKey {
  readonly fingerprint: string;
  /** In PEM. */
  readonly publicKey: string;
  readonly secret: KeyObject;
}

/** A new one. `der` is to be wiped by whoever asked for it. */
export function newSigningKey(random: Pick<Random, "bytes">): {
  readonly key: SigningKey;
  readonly der: Buffer;
} {
  invariant(PKCS8 !== null, "the prefix is hex");
  const der = alloc(PKCS8.length + 32);
  const seed = random.bytes(32);
  der.set(PKCS8);
  der.set(seed, PKCS8.length);
  wipe(seed);
  return { key: readSigningKey(der), der };
}

export function readSigningKey(der: Uint8Array): SigningKey {
  const secret = createPrivateKey({ key: asBuffer(der), format: "der", type: "pkcs8" });
  const half = createPublicKey(secret);
  const publicKey = half.export({ format: "pem", type: "spki" });
  return { fingerprint: fingerprintOf(half), publicKey: publicKey.toString(), secret };
}

export function signedBy(
  { fingerprint, secret }: SigningKey,
  payloadType: string,
  payload: Uint8Array,
): { readonly keyid: string; readonly sig: Buffer } {
  return { keyid: fingerprint, sig: sign(null, signedBytes(payloadType, payload), secret) };
}

/** The same in a thread of its own: for whoever others wait for. */
export function signedLater(
  { fingerprint, secret }: SigningKey,
  payloadType: string,
  payload: Uint8Array,
): Promise<{ readonly keyid: string; readonly sig: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ keyid: string; sig: Buffer }>();
  sign(null, signedBytes(payloadType, payload), secret, (error, sig) =>
    error === null ? resolve({ keyid: fingerprint, sig }) : reject(error),
  );
  return promise;
}
