// Proofs of an epoch. That of a fence only a cluster that has the keys of the set can make; that of a primary only who has
// the authority. Neither says anything without the certificate of whoever shows it.

import { createPrivateKey, type KeyObject, sign, verify } from "node:crypto";
import { asBuffer, utf8 } from "@holdfast/shared/bytes";
import { sameBytes } from "../../base/same-bytes.ts";
import type { SetName } from "../../cluster/names.ts";
import { deriveKey } from "../../crypto/aead.ts";
import { Hmac } from "../../crypto/hmac.ts";
import { partsCodec } from "../parts-codec.ts";
import type { Epoch } from "../roles/role.ts";

const FENCE = "holdfast replication fence 1";
const EPOCH = "holdfast replication epoch 1";
const FORMER = "holdfast replication former place 1";
const ENCODING = "ieee-p1363"; // of one length, unlike DER
export const PROOF_BYTES = 132; // of those that are signed

export interface ProvenEpoch extends SetName {
  readonly epoch: Epoch;
}

export function fenceProof(rootKey: KeyObject, proven: ProvenEpoch): Buffer {
  const mac = new Hmac(deriveKey(rootKey, FENCE));
  try {
    return mac.bytesOf(bytesOf(FENCE, proven));
  } finally {
    mac.wipe();
  }
}

export function provesFence(proof: Uint8Array, rootKey: KeyObject, proven: ProvenEpoch): boolean {
  return sameBytes(fenceProof(rootKey, proven), proof);
}

/** `authorityKey`: as PKCS #8. */
export function epochProof(authorityKey: Uint8Array, proven: ProvenEpoch): Buffer {
  return signed(authorityKey, bytesOf(EPOCH, proven));
}

/** `authority`: its certificate. */
export function provesEpoch(
  proof: Uint8Array,
  authority: { readonly publicKey: KeyObject },
  proven: ProvenEpoch,
): boolean {
  return isSigned(proof, authority, bytesOf(EPOCH, proven));
}

/** The cluster that has this id comes by another certificate than before. */
export interface OtherPlace extends SetName {
  /** Of that other one. */
  readonly serial: string;
  readonly clusterId: string;
}

/** `key`: of the certificate of before, as PKCS #8; of one that has led, of its authority. */
export function formerProof(key: Uint8Array, place: OtherPlace): Buffer {
  return signed(key, placeBytes(place));
}

/** `certificate`: that of before. */
export function provesFormer(
  proof: Uint8Array,
  certificate: { readonly publicKey: KeyObject },
  place: OtherPlace,
): boolean {
  return isSigned(proof, certificate, placeBytes(place));
}

/** `key`: as PKCS #8. */
function signed(key: Uint8Array, bytes: Uint8Array): Buffer {
  const own = createPrivateKey({ key: asBuffer(key), format: "der", type: "pkcs8" });
  return sign("sha512", bytes, { key: own, dsaEncoding: ENCODING });
}

function isSigned(
  proof: Uint8Array,
  { publicKey: key }: { readonly publicKey: KeyObject },
  bytes: Uint8Array,
): boolean {
  if (proof.length !== PROOF_BYTES) return false;
  return verify("sha512", bytes, { key, dsaEncoding: ENCODING }, proof);
}

function placeBytes({ set, kind, serial, clusterId }: OtherPlace): Uint8Array {
  return partsCodec.encode([FORMER, kind, set, serial, clusterId].map((part) => utf8(part)));
}

/** Each part with its length before it, so that no two of them are alike. */
function bytesOf(purpose: string, { set, kind, epoch }: ProvenEpoch): Uint8Array {
  const parts = [purpose, kind, set, String(epoch.number), epoch.cluster, epoch.first];
  return partsCodec.encode(parts.map((part) => utf8(part)));
}
