// Checks evidence with nothing but the envelopes and a list of keys: signatures, which key may have signed which
// number, the order of numbers, and that each report names the one before it. For the command line, and for
// whoever has no server at hand.

import { isSignedBy, type OpenEnvelope, sha256 } from "./envelope.ts";
import { AUDIT_CHECKPOINT } from "./kinds.ts";
import type { KnownKey } from "./key-list.ts";
import { EVIDENCE_TYPE, readReport, type Report } from "./report.ts";

/** "bad": it is not what the server signed. "missing": it could not be checked to the end. */
export interface Finding {
  readonly state: "good" | "bad" | "missing";
  readonly about: string;
  readonly text: string;
}

export interface CheckedReport {
  readonly report: Report;
  readonly digest: string;
  /** Fingerprint of the key that signed it. */
  readonly key: string;
}

export interface EvidenceVerdict {
  readonly findings: readonly Finding[];
  /** Those with a good signature, in the order of their numbers. */
  readonly reports: readonly CheckedReport[];
}

export interface CheckOptions {
  readonly keys: ReadonlyMap<string, KnownKey>;
  /** A key that is trusted: all others must be linked with it. Null: the list is trusted as it is. */
  readonly fingerprint: string | null;
}

export function checkEvidence(
  envelopes: readonly OpenEnvelope[],
  options: CheckOptions,
): EvidenceVerdict {
  const findings: Finding[] = [...pinFindings(options)];
  const reports: CheckedReport[] = [];
  const digests = new Set<string>();
  let highest: Report | null = null;
  for (const [i, envelope] of envelopes.entries()) {
    const checked = checkOne(envelope, options);
    if (typeof checked === "string") {
      findings.push(bad(`envelope ${i + 1}`, checked));
      continue;
    }
    const { report, digest } = checked;
    if (digests.has(digest)) {
      findings.push(bad(nameOf(report), "it is there more than once"));
      continue;
    }
    digests.add(digest);
    reports.push(checked);
    if (highest === null || report.number >= highest.number) highest = report;
    else
      findings.push(bad(nameOf(report), `it is out of order: it stands after ${highest.number}`));
  }
  reports.sort((a, b) => a.report.number - b.report.number);
  for (const { report, key } of reports) {
    findings.push({
      state: "good",
      about: nameOf(report),
      text: `${report.kind} of ${report.made_at}, signed by ${key}`,
    });
  }
  return { findings: findings.concat(orderFindings(reports)), reports };
}

/** The report in an envelope, or what is wrong with it. */
export function checkOne(
  envelope: OpenEnvelope,
  { keys, fingerprint }: CheckOptions,
): CheckedReport | string {
  if (envelope.payloadType !== EVIDENCE_TYPE) return "it is of another type";
  const report = readReport(envelope.payload);
  if (report === null) return "its payload is no report";
  const signer = envelope.signatures
    .map(({ keyid }) => keys.get(keyid))
    .find((key) => key !== undefined);
  if (signer === undefined) return "it is signed by a key that is not in the list";
  if (!isSignedBy(envelope, signer)) return "its signature is not that of its bytes";
  // Checkpoints of audit have numbers of their own.
  if (report.kind !== AUDIT_CHECKPOINT.kind) {
    if (report.number < signer.made.number) return "its key was made after it";
    if (signer.until !== null && report.number > signer.until) return "its key was gone by then";
  }
  const pinned = fingerprint === null ? null : keys.get(fingerprint);
  if (pinned !== null && pinned?.root !== signer.root) {
    return "its key has no link with the key of the given fingerprint";
  }
  return { report, digest: sha256(envelope.payload), key: signer.fingerprint };
}

function pinFindings({ keys, fingerprint }: CheckOptions): Finding[] {
  if (fingerprint === null || keys.has(fingerprint)) return [];
  return [bad("keys", "no key in the list has the given fingerprint")];
}

function orderFindings(reports: readonly CheckedReport[]): Finding[] {
  const findings: Finding[] = [];
  for (const [i, { report }] of reports.entries()) {
    if (report.kind === AUDIT_CHECKPOINT.kind) {
      const text = "it belongs to an audit file: see `holdfast audit verify`";
      findings.push(bad(nameOf(report), text));
    }
    const before = reports[i - 1];
    if (before === undefined) continue;
    const [last, next] = [before.report.number, report.number];
    if (next === last) findings.push(bad(nameOf(report), "two reports have this number"));
    else if (next > last + 1) {
      const which = next === last + 2 ? `${last + 1} is` : `${last + 1} to ${next - 1} are`;
      findings.push({ state: "missing", about: nameOf(report), text: `${which} not there` });
    } else if (report.previous !== before.digest) {
      findings.push(bad(nameOf(report), "it names another report as the one before it"));
    }
  }
  return findings;
}

function nameOf({ number }: Report): string {
  return `evidence ${number}`;
}

function bad(about: string, text: string): Finding {
  return { state: "bad", about, text };
}
