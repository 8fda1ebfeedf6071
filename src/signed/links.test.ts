// Each report names the one before it, and so does each checkpoint: what a key of the server has signed as following
// something else is found, though every signature is good and no number is missing.

import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import test from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import type { JsonValue } from "@holdfast/shared/json/json";
import { type AuditFile, checkAuditFiles } from "./audit-check.ts";
import { checkpointLine, regionReport } from "./audit-checkpoint.ts";
import {
  type Envelope,
  envelopeOf,
  fingerprintOf,
  openEnvelope,
  sha256,
  signedBytes,
} from "./envelope.ts";
import { checkEvidence, type Finding } from "./evidence-check.ts";
import { AUDIT_CHECKPOINT, SNAPSHOT_DRILL } from "./kinds.ts";
import { EVIDENCE_TYPE, type Report, reportBytes } from "./report.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const fingerprint = fingerprintOf(publicKey);
const MADE = report(1, null);
const OPTIONS = {
  keys: new Map([
    [fingerprint, { fingerprint, publicKey, made: MADE, root: fingerprint, until: null }],
  ]),
  fingerprint: null,
};
const OTHER = "ab".repeat(32);

function report(number: number, previous: string | null, more: Partial<Report> = {}): Report {
  return {
    kind: SNAPSHOT_DRILL.kind,
    id: `report ${number}`,
    number,
    previous,
    cluster: { id: "c", name: "c" },
    namespace: { id: "root", path: "" },
    made_at: "2026-01-01T00:00:00Z",
    period: null,
    subject: {},
    result: {},
    inputs: [],
    audit: [],
    log: null,
    software: { name: "holdfast", version: "1" },
    statement: "it is so",
    not_proven: ["everything else"],
    ...more,
  };
}

function signed(one: Report): Envelope {
  const payload = reportBytes(one);
  const sig = sign(null, signedBytes(EVIDENCE_TYPE, payload), privateKey);
  return envelopeOf(EVIDENCE_TYPE, payload, [{ keyid: fingerprint, sig }]);
}

function badOnes(findings: readonly Finding[]): string[] {
  return findings.filter(({ state }) => state === "bad").map(({ text }) => text);
}

function checkReports(reports: readonly Report[]): string[] {
  const envelopes = reports.map((one) => openEnvelope(signed(one) as unknown as JsonValue));
  const opened = envelopes.filter((one) => one !== null);
  assert.equal(opened.length, reports.length);
  return badOnes(checkEvidence(opened, OPTIONS).findings);
}

test("PV48: a report that names another one as the one before it is found", () => {
  const first = report(1, null);
  const link = sha256(reportBytes(first));
  assert.deepEqual(checkReports([first, report(2, link)]), []);
  const found = ["it names another report as the one before it"];
  assert.deepEqual(checkReports([first, report(2, OTHER)]), found);
  // The first of them may follow one that is not there.
  assert.deepEqual(checkReports([report(2, OTHER)]), []);
});

/** A file of two records, each followed by the checkpoint over what stands before it. */
function auditFile(previous: (first: Report) => string): AuditFile {
  const line = (body: string, number: number) =>
    `${body.slice(0, -1)},"number":${number},"mac":"${"0".repeat(64)}"}\n`;
  const checkpoint = (
    number: number,
    before: string | null,
    [first, last]: number[],
    text: string,
  ) => {
    const [bytes, digest] = [utf8(text).length, sha256(utf8(text))];
    const region = { first: first ?? 0, last: last ?? 0, bytes, digest };
    const about = regionReport("file/", "id", region, null);
    return report(number, before, { kind: AUDIT_CHECKPOINT.kind, ...about });
  };
  const lineOf = (one: Report, number: number) =>
    line(checkpointLine(one.made_at, "file/", signed(one)), number);
  const started = {
    type: "chain",
    event: "started",
    device: "file/",
    previous: { number: 0, mac: "" },
  };
  const one = line(JSON.stringify(started), 1);
  const first = checkpoint(1, null, [1, 1], one);
  const between = lineOf(first, 2);
  const two = line('{"type":"request"}', 3);
  const second = checkpoint(2, previous(first), [2, 3], between + two);
  const lines = [one, between, two, lineOf(second, 4)].map((text) => utf8(text));
  return { name: "a.log", lines: () => lines };
}

test("PV52: a checkpoint that names another one as the one before it is found", () => {
  const good = auditFile((first) => sha256(reportBytes(first)));
  const findings = checkAuditFiles([good], OPTIONS);
  assert.deepEqual(
    findings.map(({ state }) => state),
    ["good", "good"],
    JSON.stringify(findings),
  );
  const found = ["it names another checkpoint as the one before it"];
  assert.deepEqual(badOnes(checkAuditFiles([auditFile(() => OTHER)], OPTIONS)), found);
});
