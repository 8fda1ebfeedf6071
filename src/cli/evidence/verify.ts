// `holdfast evidence verify`: on any machine, without a server. What cannot be checked is told apart from what is wrong.

import { join } from "node:path";
import { text } from "@holdfast/shared/bytes";
import { AnchorSearch } from "../../signed/audit-anchors.ts";
import { checkAuditFiles } from "../../signed/audit-check.ts";
import {
  checkEvidence,
  type CheckOptions,
  type EvidenceVerdict,
  type Finding,
} from "../../signed/evidence-check.ts";
import { type EvidenceFile, readEvidenceFile } from "../../signed/evidence-file.ts";
import type { KeyList } from "../../signed/key-list.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { auditFile } from "./audit-verify.ts";
import { type Checked, showFindings } from "./findings.ts";
import { keysFrom, pinOf, readKeys } from "./keys-file.ts";

const MAX_FILE = 128 * 1024 * 1024;
const MAX_AUDIT_FILES = 10_000;

export const evidenceVerify = command({
  name: "evidence verify",
  summary: "Check signed reports, without a server",
  description:
    "FILE holds what `evidence read -format json` printed: one report, or several, one after another in the " +
    "order of their numbers, each once. " +
    "Checks signatures, that each key was signed by the one before it, that no number is missing, that " +
    "each report names the one before it, and with -audit that the audit files hold the records at which " +
    "the reports were made. Exit code 1 when something is wrong, 2 when something could not be checked.",
  examples: [
    "holdfast evidence verify -keys keys.json report.json",
    "holdfast evidence verify -keys keys.json -fingerprint 3f5a… -audit /mnt/audit reports.jsonl",
  ],
  flags: {
    keys: flag.file("What `holdfast evidence keys -format json` printed"),
    fingerprint: flag.string("Of a key that you trust, noted when the server was initialised", "H"),
    audit: flag.file("Directory with the audit files"),
  },
  args: { file: argument.required("File with one or more reports") },
  async run(context, input) {
    const { files, out } = context;
    const fingerprint = pinOf(input.fingerprint);
    const evidence = readEvidenceFile(files.text(input.file, MAX_FILE));
    const { list, findings: keyFindings } = keysOf(context, input.keys, evidence, fingerprint);
    const verdict: EvidenceVerdict =
      list === null
        ? { findings: [], reports: [] }
        : checkEvidence(evidence.envelopes, { keys: list.keys, fingerprint });
    const findings: Finding[] = [
      ...evidence.problems.map((text): Finding => ({ state: "bad", about: input.file, text })),
      ...evidence.unreadable.map((text): Finding => ({
        state: "missing",
        about: input.file,
        text,
      })),
      ...keyFindings,
      ...verdict.findings,
    ];
    if (input.audit !== undefined && list !== null) {
      const options = { keys: list.keys, fingerprint };
      for (const finding of audited(context, input.audit, verdict.reports, options)) {
        findings.push(finding);
      }
    }
    const checked: Checked = {
      reports: verdict.reports.map(({ report, digest, key }) => ({
        number: report.number,
        id: report.id,
        kind: report.kind,
        digest,
        key,
      })),
      findings,
    };
    return showFindings(out, checked);
  },
});

/** Keys of their own file are trusted; those beside the reports only as far as a fingerprint vouches for them. */
function keysOf(
  { files }: Context,
  path: string | undefined,
  { keyLists }: EvidenceFile,
  fingerprint: string | null,
): { readonly list: KeyList | null; readonly findings: Finding[] } {
  const about = path ?? "keys";
  const [found, ...more] = keyLists;
  if (path === undefined && (found === undefined || more.length > 0)) {
    const text = "there is not one list of keys beside the reports: give -keys FILE";
    return { list: null, findings: [{ state: "missing", about, text }] };
  }
  const { list, problem } = path === undefined ? keysFrom(found) : readKeys(files, path);
  if (list === null) return { list, findings: [{ state: "bad", about, text: problem }] };
  const trusted = path !== undefined || fingerprint !== null;
  const text = "the keys came with the reports, and nothing vouches for them: give -fingerprint";
  return { list, findings: trusted ? [] : [{ state: "missing", about, text }] };
}

/** The files by their own checkpoints, and the records in them that the reports name. */
function audited(
  { files }: Context,
  folder: string,
  reports: EvidenceVerdict["reports"],
  options: CheckOptions,
): Finding[] {
  const found = files
    .names(folder, MAX_AUDIT_FILES)
    .map((name) => auditFile(files, join(folder, name)));
  const search = new AnchorSearch(reports);
  for (const { lines } of found) {
    search.begin();
    for (const line of lines()) search.take(text(line).trimEnd());
  }
  return [...checkAuditFiles(found, options), ...search.findings()];
}
