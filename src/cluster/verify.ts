// Whether a certificate is one that we would have made for this very peer. TLS asks less: any certificate of the
// authority, for any use and any name, would pass there.

import { createHash, type X509Certificate } from "node:crypto";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import {
  type DialledName,
  hostOf,
  isMemberId,
  type MemberName,
  type SetName,
  uriOf,
} from "./names.ts";

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

/** A member as its certificate proves it. */
export interface Peer extends MemberName {
  readonly serial: string;
  readonly expires: Instant;
  /** Of its certificate; not there where none was shown. */
  readonly digest?: string;
  /** The address that it comes from; not there where nothing is known of it. */
  readonly from?: string;
}

/** Why it is not one, for the log. */
export interface Mismatch {
  readonly mismatch: string;
}

export function verifyMember(
  certificate: X509Certificate,
  authority: X509Certificate,
  { set, kind }: SetName,
  now: Instant,
): Peer | Mismatch {
  const wrong = whyNot(certificate, authority, CLIENT_AUTH, now);
  if (wrong !== null) return { mismatch: wrong };
  const id = certificate.subject.startsWith("CN=") ? certificate.subject.slice(3) : "";
  if (!isMemberId(id)) return { mismatch: "it names no member" };
  if (certificate.subjectAltName !== `URI:${uriOf({ set, kind, id })}`) {
    return { mismatch: "it is for another set, kind or member" };
  }
  const digest = digestOf(certificate.raw);
  return { set, kind, id, serial: serialOf(certificate), expires: expiryOf(certificate), digest };
}

/** Null where it is the port of that set. */
export function verifyServer(
  certificate: X509Certificate,
  authority: X509Certificate,
  of: SetName,
  now: Instant,
): string | null {
  const host = hostOf(of);
  const wrong = whyNot(certificate, authority, SERVER_AUTH, now);
  if (wrong !== null) return wrong;
  const isFor =
    certificate.subject === `CN=${host}` && certificate.subjectAltName === `DNS:${host}`;
  return isFor ? null : "it is for another set or kind";
}

/** Null where it is the member of that set that was meant. */
export function verifyBeside(
  certificate: X509Certificate,
  authority: X509Certificate,
  { set, kind, serials = [], digests = [] }: DialledName,
  now: Instant,
): string | null {
  const found = verifyMember(certificate, authority, { set, kind }, now);
  if ("mismatch" in found) return found.mismatch;
  const isMeant = isAmong({ serials, digests }, found.serial, found.digest);
  return isMeant ? null : "it is another member's, or one of before";
}

/** Certificates by their serials, and the digest of each in the same order: empty where that one's is not known, and none at all where
 *  none is. */
export interface KnownCertificates {
  readonly serials: readonly string[];
  readonly digests: readonly string[];
}

/** Whether that certificate is one of these, as far as they are known. Whoever has the authority chooses serials, and not digests. */
export function isAmong(
  { serials, digests }: KnownCertificates,
  serial: string,
  digest: string | undefined,
): boolean {
  const place = serials.indexOf(serial);
  if (place < 0) return false;
  if (digests.length === 0) return true;
  // Not one for each: nobody says whose they are.
  if (digests.length !== serials.length) return digest !== undefined && digests.includes(digest);
  return digests[place] === "" || digests[place] === digest;
}

/** `der`: a certificate. SHA-256 of it. */
export function digestOf(der: Uint8Array): string {
  return createHash("sha256").update(der).digest("hex");
}

function whyNot(
  certificate: X509Certificate,
  authority: X509Certificate,
  usage: string,
  now: Instant,
): string | null {
  if (certificate.ca) return "it is an authority's";
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey)) {
    return "another authority has signed it";
  }
  const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey;
  if (asymmetricKeyType !== "ec" || asymmetricKeyDetails?.namedCurve !== "secp521r1") {
    return "its key is of another kind";
  }
  if (certificate.keyUsage?.join() !== usage) return "it is for another use";
  if (instantOf(certificate.validFromDate) > now) return "it is not valid yet";
  return expiryOf(certificate) < now ? "it has expired" : null;
}

/** Without zeros before it, whoever has written it down. */
export function serialOf(certificate: X509Certificate): string {
  return BigInt(`0x${certificate.serialNumber}`).toString(16);
}

function expiryOf(certificate: X509Certificate): Instant {
  return instantOf(certificate.validToDate);
}

function instantOf(date: Date): Instant {
  return BigInt(date.getTime()) * MILLISECOND;
}
