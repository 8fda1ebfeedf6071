// The envelope of everything that the server signs (DSSE 1.0): the bytes that are meant, their type, and Ed25519
// signatures over both. The type is part of what is signed, so that nothing signed as one thing can be shown as
// another; and whoever checks works on the bytes as they came, never on JSON that was written again.

import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { asBuffer, base64, concat, fromBase64, utf8 } from "@holdfast/shared/bytes";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";

export interface Signature {
  /** Fingerprint of the key. */
  readonly keyid: string;
  readonly sig: string; // base64
}

/** As it is written and sent. */
export interface Envelope {
  readonly payload: string; // base64
  readonly payloadType: string;
  readonly signatures: readonly Signature[];
}

/** An envelope that was read, of which nothing is proven yet. */
export interface OpenEnvelope {
  readonly payload: Buffer;
  readonly payloadType: string;
  readonly signatures: readonly { readonly keyid: string; readonly sig: Buffer }[];
}

const MAX_SIGNATURES = 16;

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** SHA-256 over the public key as DER (SubjectPublicKeyInfo), in hex: what `openssl pkey -pubin -outform DER` gives. */
export function fingerprintOf(publicKey: KeyObject): string {
  return sha256(publicKey.export({ format: "der", type: "spki" }));
}

/** An Ed25519 public key from PEM, or null: any other kind is none. */
export function readPublicKey(pem: string): KeyObject | null {
  try {
    const key = createPublicKey({ key: pem, format: "pem" });
    return key.asymmetricKeyType === "ed25519" && pem.includes("PUBLIC KEY") ? key : null;
  } catch {
    return null;
  }
}

/** The bytes that are signed: lengths stand in front, so that no two inputs give the same. */
export function signedBytes(payloadType: string, payload: Uint8Array): Buffer {
  const type = utf8(payloadType);
  return concat(
    utf8(`DSSEv1 ${type.length} `),
    type,
    utf8(` ${payload.length} `),
    asBuffer(payload),
  );
}

export function envelopeOf(
  payloadType: string,
  payload: Uint8Array,
  signatures: readonly { readonly keyid: string; readonly sig: Uint8Array }[],
): Envelope {
  return {
    payload: base64(payload),
    payloadType,
    signatures: signatures.map(({ keyid, sig }) => ({ keyid, sig: base64(sig) })),
  };
}

/** Null for what is no envelope. */
export function openEnvelope(value: JsonValue | undefined): OpenEnvelope | null {
  if (!isObject(value)) return null;
  const { payload, payloadType, signatures } = value;
  if (typeof payload !== "string" || typeof payloadType !== "string") return null;
  if (!Array.isArray(signatures) || signatures.length > MAX_SIGNATURES) return null;
  const bytes = readBase64(payload);
  if (bytes === null) return null;
  const read = signatures.map((one: JsonValue) => {
    if (!isObject(one) || typeof one["keyid"] !== "string" || typeof one["sig"] !== "string") {
      return null;
    }
    const sig = readBase64(one["sig"]);
    return sig === null ? null : { keyid: one["keyid"], sig };
  });
  const known = read.filter((one) => one !== null);
  if (known.length !== read.length) return null;
  return { payload: bytes, payloadType, signatures: known };
}

/** In its one form: otherwise a text could be changed in its last bits, and mean the same. */
function readBase64(text: string): Buffer | null {
  const bytes = fromBase64(text);
  return bytes === null || base64(bytes) !== text ? null : bytes;
}

/** Whether there is a good signature of this key. */
export function isSignedBy(
  { payload, payloadType, signatures }: OpenEnvelope,
  key: { readonly fingerprint: string; readonly publicKey: KeyObject },
): boolean {
  const own = signatures.filter(({ keyid }) => keyid === key.fingerprint);
  if (own.length !== 1) return false;
  return verify(null, signedBytes(payloadType, payload), key.publicKey, own[0]!.sig);
}

const FINGERPRINT = /^[0-9a-f]{64}$/;

/** As people write it: with colons, in capitals, with the name of the hash in front. Null for anything else. */
export function readFingerprint(text: string): string | null {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^sha-?256:/, "")
    .replaceAll(":", "");
  return FINGERPRINT.test(plain) ? plain : null;
}
