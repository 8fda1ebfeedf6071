// Whose id a cluster comes with: it says itself which one it is. One that is known already, here or from before this cluster led, proves
// that it is the same by what only that one has.

import { X509Certificate } from "node:crypto";
import { equalBytes } from "@holdfast/shared/bytes";
import type { Instant } from "@holdfast/shared/world";
import type { FormerPlace } from "../../cluster/hello.ts";
import { verifyMember } from "../../cluster/verify.ts";
import { formerProof, type OtherPlace, provesFormer } from "./proofs.ts";

/** By what a cluster is known. */
export interface KnownCluster {
  /** Under which it came; empty where it did not. */
  readonly id: string;
  /** The certificate of who signs for its own. Null: it is trusted no more, and nothing proves anything. */
  readonly authority: Uint8Array | null;
  /** Of its certificates. */
  readonly serials: readonly string[];
  /** Whether that authority is its own. */
  readonly hasLed: boolean;
}

/** Whether one of these shows that whoever comes to that place is the one that is known. */
export function isItself(
  { authority, serials, hasLed }: KnownCluster,
  formers: readonly FormerPlace[],
  place: OtherPlace,
  now: Instant,
): boolean {
  if (authority === null || formers.length === 0) return false;
  const signer = new X509Certificate(authority);
  return formers.some(({ certificate, proof }) => {
    if (equalBytes(certificate, authority)) return hasLed && provesFormer(proof, signer, place);
    const found = parsed(certificate);
    if (found === null) return false;
    const before = verifyMember(found, signer, place, now);
    const isKnown = !("mismatch" in before) && serials.includes(before.serial);
    return isKnown && provesFormer(proof, found, place);
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
