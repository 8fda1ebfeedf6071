// RSA keys for RS256: made, read, and signed with, in threads of their own. No other algorithm is
// offered: it is the one that every provider takes.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  sign,
} from "node:crypto";
import { asBuffer, utf8, wipe } from "@holdfast/shared/bytes";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { PublicKey } from "./key-ring.ts";

const BITS = 2048;

/** A new one. `der` is PKCS #8, and to be wiped by whoever asked for it. */
export async function newRsaKey(): Promise<{ readonly key: KeyObject; readonly der: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<KeyObject>();
  generateKeyPair("rsa", { modulusLength: BITS, publicExponent: 0x10001 }, (error, _, secret) =>
    error === null ? resolve(secret) : reject(error),
  );
  const key = await promise;
  return { key, der: key.export({ format: "der", type: "pkcs8" }) };
}

/** Takes the bytes: they are wiped. */
export function readRsaKey(der: Uint8Array): KeyObject {
  try {
    return createPrivateKey({ key: asBuffer(der), format: "der", type: "pkcs8" });
  } finally {
    wipe(der);
  }
}

/** Its public half, under the name that RFC 7638 gives it. */
export function publicHalf(key: KeyObject, made: Instant): PublicKey {
  const { n, e } = createPublicKey(key).export({ format: "jwk" });
  invariant(n !== undefined && e !== undefined, "an RSA key has a modulus and an exponent");
  const thumbprint = JSON.stringify({ e, kty: "RSA", n });
  const kid = createHash("sha256").update(thumbprint).digest("base64url");
  return { kid, n, e, made };
}

export function signRs256(key: KeyObject, text: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  sign("sha256", utf8(text), key, (error, signature) =>
    error === null ? resolve(signature) : reject(error),
  );
  return promise;
}
