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
export const EPOCH_PROOF_BYTES = 132;
const FORMER_PROOF_BYTES = 132;

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
  const key = createPrivateKey({ key: asBuffer(authorityKey), format: "der", type: "pkcs8" });
  return sign("sha512", bytesOf(EPOCH, proven), { key, dsaEncoding: ENCODING });
}

/** `authority`: its certificate. */
export function provesEpoch(
  proof: Uint8Array,
  authority: { readonly publicKey: KeyObject },
  proven: ProvenEpoch,
): boolean {
  if (proof.length !== EPOCH_PROOF_BYTES) return false;
  const key = authority.publicKey;
  return verify("sha512", bytesOf(EPOCH, proven), { key, dsaEncoding: ENCODING }, proof);
}

/** The cluster that has this id comes by another certificate than before. */
export interface OtherPlace extends SetName {
  /** Of that other one. */
  readonly serial: string;
  readonly clusterId: string;
}

/** `key`: of the certificate of before, as PKCS #8. */
export function formerProof(key: Uint8Array, place: OtherPlace): Buffer {
  const own = createPrivateKey({ key: asBuffer(key), format: "der", type: "pkcs8" });
  return sign("sha512", placeBytes(place), { key: own, dsaEncoding: ENCODING });
}

/** `certificate`: that of before. */
export function provesFormer(
  proof: Uint8Array,
  certificate: { readonly publicKey: KeyObject },
  place: OtherPlace,
): boolean {
  if (proof.length !== FORMER_PROOF_BYTES) return false;
  const key = certificate.publicKey;
  return verify("sha512", placeBytes(place), { key, dsaEncoding: ENCODING }, proof);
}

function placeBytes({ set, kind, serial, clusterId }: OtherPlace): Uint8Array {
  return partsCodec.encode([FORMER, kind, set, serial, clusterId].map((part) => utf8(part)));
}

/** Each part with its length before it, so that no two of them are alike. */
function bytesOf(purpose: string, { set, kind, epoch }: ProvenEpoch): Uint8Array {
  const parts = [purpose, kind, set, String(epoch.number), epoch.cluster, epoch.first];
  return partsCodec.encode(parts.map((part) => utf8(part)));
}
