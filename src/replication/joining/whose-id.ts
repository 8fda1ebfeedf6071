// Whose id a cluster comes with: it says itself which one it is. One that is known already, here or from before this cluster led, proves
// that it is the same by what only that one has.

import { X509Certificate } from "node:crypto";
import { equalBytes } from "@holdfast/shared/bytes";
import type { Instant } from "@holdfast/shared/world";
import type { FormerPlace } from "../../cluster/hello.ts";
import { digestOf, isAmong, serialOf, verifyMember } from "../../cluster/verify.ts";
import { formerProof, type OtherPlace, provesFormer } from "./proofs.ts";

/** By what a cluster is known. */
export interface KnownCluster {
  /** Under which it came; empty where it did not. */
  readonly id: string;
  /** The certificate of who signs for its own. Null: it is trusted no more, and nothing proves anything. */
  readonly authority: Uint8Array | null;
  /** Of its certificates. */
  readonly serials: readonly string[];
  /** And the digest of each, empty where it is not known; none where none is. */
  readonly digests: readonly string[];
  /** Whether that authority is its own. */
  readonly hasLed: boolean;
}

/** Whether one of these shows that whoever comes to that place is the one that is known. */
export function isItself(
  { authority, serials, digests, hasLed }: KnownCluster,
  formers: readonly FormerPlace[],
  place: OtherPlace,
  now: Instant,
): boolean {
  if (authority === null || formers.length === 0) return false;
  const signer = new X509Certificate(authority);
  // Whoever comes may show what it likes: signatures are looked at last.
  const own = formers.find(({ certificate }) => equalBytes(certificate, authority));
  if (hasLed && own !== undefined && provesFormer(own.proof, signer, place)) return true;
  if (serials.length === 0) return false;
  return formers.some(({ certificate, proof }) => {
    const found = parsed(certificate);
    if (found === null) return false;
    if (!isAmong({ serials, digests }, serialOf(found), digestOf(certificate))) return false;
    const isMember = !("mismatch" in verifyMember(found, signer, place, now));
    return isMember && provesFormer(proof, found, place);
  });
}

/** What shows that a cluster had this certificate: of a member, or of the authority with which it led. */
export function formerPlace(
  { certificate, key }: { readonly certificate: Uint8Array; readonly key: Uint8Array },
  place: OtherPlace,
): FormerPlace {
  return { certificate, proof: formerProof(key, place) };
}

function parsed(der: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(der);
  } catch {
    return null;
  }
}
