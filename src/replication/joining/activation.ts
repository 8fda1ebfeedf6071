// What a secondary is handed to join: where the primary is, the authority of the set, and its own certificate with the key.
// As the object that is wrapped or encrypted. Whoever reads one believes nothing of it that it can check.

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { asBuffer, base64, fromBase64, fromBase64Url, wipe } from "@holdfast/shared/bytes";
import { isCount, isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Credentials } from "../../cluster/tls.ts";
import {
  isClusterId,
  isMemberId,
  isSetId,
  type MemberName,
  type ReplicationKind,
} from "../../cluster/names.ts";
import { verifyMember } from "../../cluster/verify.ts";
import { clusterAddressText } from "../addresses.ts";
import type { Epoch } from "../roles/role.ts";
import type { Membership } from "./membership.ts";
import { activationDamaged, primaryNewer, tokenOfOtherKind } from "./failures.ts";
import { epochProof, PROOF_BYTES, provesEpoch } from "./proofs.ts";

/** Of what replication stores and sends. A secondary must not be older than its primary. */
export const FORMAT = 1;
const MAX_CERTIFICATE = 4096;
const SCALAR_BYTES = 66;
const MAX_ADDRESS = 512;
const MAX_INDEX_DIGITS = 20;
const MAX_NAME = 128;

export interface Activation extends Membership {
  /** Where the port of the primary is: https://host:port. */
  readonly address: string;
  readonly epoch: Epoch;
}

/** Of a primary, for one member. */
export interface ActivationParts extends MemberName, Credentials {
  /** Of the authority, as PKCS #8. */
  readonly authorityKey: Uint8Array;
  readonly address: string;
  readonly epoch: Epoch;
  readonly expires: Instant;
}

const MEMBERS = [
  "ca_cert",
  "client_cert",
  "client_key",
  "cluster_id",
  "epoch",
  "epoch_cluster",
  "epoch_first",
  "epoch_proof",
  "expires_at",
  "format",
  "id",
  "mode",
  "primary_cluster_addr",
];

export function activationData(parts: ActivationParts): JsonObject {
  const { id, set, kind, address, authority, certificate, key, epoch, expires } = parts;
  return {
    id,
    cluster_id: set,
    primary_cluster_addr: address,
    ca_cert: base64(authority),
    client_cert: base64(certificate),
    client_key: keyData(key),
    mode: kind,
    epoch: epoch.number,
    epoch_cluster: epoch.cluster,
    epoch_first: epoch.first,
    epoch_proof: base64(epochProof(parts.authorityKey, { set, kind, epoch })),
    format: FORMAT,
    expires_at: showTime(expires),
  };
}

/** Throws an "invalid" Failure for what is not, member by member, what a primary of that kind makes. */
export function readActivation(
  data: unknown,
  kind: ReplicationKind,
  { now, more = [] }: { readonly now: Instant; readonly more?: readonly string[] },
): Activation {
  if (!isObject(data)) throw activationDamaged("it is no object");
  // What a later version adds is its own to announce: by its format, which is looked at first.
  if (!isCount(data["format"])) throw activationDamaged("format");
  if (data["format"] > FORMAT) throw primaryNewer();
  const names = Object.keys(data).toSorted();
  if (names.join() !== [...MEMBERS, ...more].toSorted().join()) {
    throw activationDamaged("its members are others");
  }
  if (data["mode"] !== kind) throw tokenOfOtherKind(kind);
  const id = textOf(data, "id", MAX_NAME);
  const set = textOf(data, "cluster_id", MAX_NAME);
  if (!isMemberId(id)) throw activationDamaged("id");
  if (!isSetId(set)) throw activationDamaged("cluster_id");
  const address = textOf(data, "primary_cluster_addr", MAX_ADDRESS);
  if (clusterAddressText(address) !== address) throw activationDamaged("primary_cluster_addr");
  const epoch = readEpoch(data);
  const authority = certificateIn(data, "ca_cert");
  const certificate = certificateIn(data, "client_cert");
  assertAuthority(authority, { set, kind, now });
  const peer = verifyMember(certificate, authority, { set, kind }, now);
  if ("mismatch" in peer) throw activationDamaged(`client_cert: ${peer.mismatch}`);
  if (peer.id !== id) throw activationDamaged("client_cert: it is another member's");
  if (data["expires_at"] !== showTime(peer.expires)) throw activationDamaged("expires_at");
  const proof = fromBase64(textOf(data, "epoch_proof", 2 * PROOF_BYTES));
  if (proof === null || !provesEpoch(proof, authority, { set, kind, epoch })) {
    throw activationDamaged("epoch_proof");
  }
  const key = keyIn(data["client_key"]);
  if (!certificate.checkPrivateKey(key)) throw activationDamaged("client_key");
  return {
    id,
    set,
    kind,
    address,
    epoch,
    authority: authority.raw,
    certificate: certificate.raw,
    key: key.export({ format: "der", type: "pkcs8" }),
    expires: peer.expires,
    serial: peer.serial,
  };
}

function readEpoch(data: JsonObject): Epoch {
  const number = data["epoch"];
  if (!isCount(number) || number === 0) throw activationDamaged("epoch");
  const first = textOf(data, "epoch_first", MAX_INDEX_DIGITS);
  if (!/^\d+$/.test(first)) throw activationDamaged("epoch_first");
  const cluster = textOf(data, "epoch_cluster", MAX_NAME);
  if (!isClusterId(cluster)) throw activationDamaged("epoch_cluster");
  return { number, cluster, first };
}

function textOf(data: JsonObject, name: string, max: number): string {
  const value = data[name];
  if (typeof value !== "string" || value === "" || value.length > max) {
    throw activationDamaged(name);
  }
  return value;
}

function certificateIn(data: JsonObject, name: string): X509Certificate {
  const der = fromBase64(textOf(data, name, 2 * MAX_CERTIFICATE));
  try {
    if (der !== null && der.length <= MAX_CERTIFICATE) {
      const certificate = new X509Certificate(der);
      if (certificate.raw.equals(der)) return certificate; // it passes over what stands behind
    }
  } catch {
    // As below.
  }
  throw activationDamaged(name);
}

/** It is the only one that is trusted afterwards; that it is the right one the token itself vouches for. */
function assertAuthority(
  authority: X509Certificate,
  { set, kind, now }: { set: string; kind: ReplicationKind; now: Instant },
): void {
  const { publicKey } = authority;
  const isOne =
    authority.ca &&
    authority.subject === `CN=Holdfast ${kind} ${set}` &&
    authority.checkIssued(authority) &&
    publicKey.asymmetricKeyType === "ec" &&
    publicKey.asymmetricKeyDetails?.namedCurve === "secp521r1" &&
    authority.verify(publicKey);
  const from = BigInt(authority.validFromDate.getTime()) * MILLISECOND;
  const to = BigInt(authority.validToDate.getTime()) * MILLISECOND;
  if (!isOne) throw activationDamaged("ca_cert: it is no authority of that set");
  if (now < from || now > to) throw activationDamaged("ca_cert: it is not valid now");
}

// --- the key of the certificate ---

function keyData(pkcs8: Uint8Array): JsonObject {
  const key = createPrivateKey({ key: asBuffer(pkcs8), format: "der", type: "pkcs8" });
  const { x = "", y = "", d = "" } = key.export({ format: "jwk" });
  return { type: "p521", x, y, d };
}

function keyIn(value: JsonValue | undefined): KeyObject {
  const names = isObject(value) ? Object.keys(value).toSorted().join() : "";
  if (!isObject(value) || names !== "d,type,x,y" || value["type"] !== "p521") {
    throw activationDamaged("client_key");
  }
  const { x, y, d } = value;
  if (!isScalar(x) || !isScalar(y) || !isScalar(d)) throw activationDamaged("client_key");
  try {
    return createPrivateKey({ key: { kty: "EC", crv: "P-521", x, y, d }, format: "jwk" });
  } catch {
    throw activationDamaged("client_key");
  }
}

function isScalar(value: JsonValue | undefined): value is string {
  if (typeof value !== "string" || value.length > 2 * SCALAR_BYTES) return false;
  const bytes = fromBase64Url(value);
  wipe(bytes);
  return bytes?.length === SCALAR_BYTES;
}
