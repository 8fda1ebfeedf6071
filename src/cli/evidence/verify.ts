// `holdfast evidence verify`: on any machine, without a server. What cannot be checked is told apart from what is wrong.

import { join } from "node:path";
import { text } from "@holdfast/shared/bytes";
import { AnchorSearch } from "../../signed/audit-anchors.ts";
import { readFingerprint } from "../../signed/envelope.ts";
import { checkEvidence, type EvidenceVerdict, type Finding } from "../../signed/evidence-check.ts";
import { type EvidenceFile, readEvidenceFile } from "../../signed/evidence-file.ts";
import { type KeyList, readKeyList } from "../../signed/key-list.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { type Checked, showFindings } from "./findings.ts";

const MAX_FILE = 128 * 1024 * 1024;
const MAX_AUDIT_FILES = 10_000;

export const evidenceVerify = command({
  name: "evidence verify",
  summary: "Check signed reports, without a server",
  description:
    "FILE holds what `evidence read -format json` printed: one report, or several, one after another. " +
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
      ...keyFindings,
      ...verdict.findings,
    ];
    if (input.audit !== undefined) findings.push(...anchored(context, input.audit, verdict));
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

function pinOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const fingerprint = readFingerprint(text);
  if (fingerprint === null) throw new UsageError("-fingerprint takes a SHA-256 in hex");
  return fingerprint;
}

/** Keys of their own file are trusted; those beside the reports only as far as a fingerprint vouches for them. */
function keysOf(
  { files }: Context,
  path: string | undefined,
  evidence: EvidenceFile,
  fingerprint: string | null,
): { readonly list: KeyList | null; readonly findings: Finding[] } {
  const source = path === undefined ? evidence : readEvidenceFile(files.text(path, MAX_FILE));
  const about = path ?? "keys";
  const [found, ...more] = source.keyLists;
  if (found === undefined || more.length > 0) {
    const why = found === undefined ? "no list of keys is there: give -keys FILE" : "several lists";
    const state = path === undefined && found === undefined ? "missing" : "bad";
    return { list: null, findings: [{ state, about, text: why }] };
  }
  const list = readKeyList(found);
  if (list.problem !== null) {
    return { list: null, findings: [{ state: "bad", about, text: list.problem }] };
  }
  const trusted = path !== undefined || fingerprint !== null;
  const why = "the keys came with the reports, and nothing vouches for them: give -fingerprint";
  return { list, findings: trusted ? [] : [{ state: "missing", about, text: why }] };
}

function anchored({ files }: Context, folder: string, { reports }: EvidenceVerdict): Finding[] {
  const search = new AnchorSearch(reports);
  for (const name of files.names(folder, MAX_AUDIT_FILES)) {
    search.begin();
    for (const line of files.lines(join(folder, name))) search.take(text(line).trimEnd());
  }
  return search.findings();
}
