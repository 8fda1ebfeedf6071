// Whether certificate files are what a listener needs: readable, a pair, valid now. The words of a
// library on what it could not read may quote a key, so they are not passed on.

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { wipe } from "@holdfast/shared/bytes";
import { DAY } from "@holdfast/shared/text/duration";
import { describe } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { TlsConfig } from "../../config/config.ts";
import type { Files } from "../../config/documents.ts";

const MAX_FILE = 2 ** 20;
const SOON = 14n * DAY;

export interface CertificateReport {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** What was found, for the table. */
  readonly found: string;
}

export function checkCertificates(tls: TlsConfig, files: Files, now: Instant): CertificateReport {
  const problems: string[] = [];
  const warnings: string[] = [];
  const certificate = read(tls.certFile, files, problems, (bytes) => new X509Certificate(bytes));
  const key = read(tls.keyFile, files, problems, (bytes): KeyObject => createPrivateKey(bytes));
  if (certificate !== null && key !== null && !certificate.checkPrivateKey(key)) {
    problems.push(`${tls.keyFile} is not the key of ${tls.certFile}`);
  }
  if (certificate !== null) {
    const { outside, soon } = timeOf(certificate, tls.certFile, now);
    if (outside !== null) problems.push(outside);
    if (soon !== null) warnings.push(soon);
  }
  if (tls.clientCaFile !== null) {
    read(tls.clientCaFile, files, problems, (bytes) => new X509Certificate(bytes));
  }
  const mode = key === null ? 0 : (files.info(tls.keyFile)?.mode ?? 0);
  if ((mode & 0o007) !== 0) warnings.push(`${tls.keyFile} is open to every user; chmod o= it`);
  const found = certificate === null ? "" : `${nameOf(certificate)}, until ${certificate.validTo}`;
  return { problems, warnings, found };
}

/** What clients will say of the time of a certificate that is in use all the same; null where nothing. */
export function certificateTime(tls: TlsConfig, files: Files, now: Instant): string | null {
  const unread: string[] = []; // told by whoever uses it
  const certificate = read(tls.certFile, files, unread, (bytes) => new X509Certificate(bytes));
  if (certificate === null) return null;
  const { outside, soon } = timeOf(certificate, tls.certFile, now);
  return outside === null ? soon : `${outside}: clients refuse it`;
}

function timeOf(
  { validFrom, validTo }: X509Certificate,
  path: string,
  now: Instant,
): { readonly outside: string | null; readonly soon: string | null } {
  const [from, to] = [instant(validFrom), instant(validTo)];
  if (now < from) return { outside: `${path} is not valid before ${validFrom}`, soon: null };
  if (now > to) return { outside: `${path} expired on ${validTo}`, soon: null };
  return { outside: null, soon: to - now < SOON ? `${path} expires on ${validTo}` : null };
}

function read<T>(
  path: string,
  files: Files,
  problems: string[],
  parse: (bytes: Buffer) => T,
): T | null {
  let bytes: Buffer | null;
  try {
    bytes = files.read(path, MAX_FILE);
  } catch (error) {
    problems.push(describe(error));
    return null;
  }
  try {
    if (bytes !== null) return parse(bytes);
    problems.push(`there is no file ${path}`);
  } catch {
    problems.push(`${path} does not hold what is expected there, in PEM, without a passphrase`);
  } finally {
    wipe(bytes);
  }
  return null;
}

function instant(text: string): Instant {
  return BigInt(Date.parse(text)) * 1_000_000n;
}

function nameOf({ subjectAltName, subject }: X509Certificate): string {
  return subjectAltName ?? subject.replaceAll("\n", ", ");
}
