// `holdfast audit verify`: audit files wherever they lie, without a server.

import { type AuditFile, checkAuditFiles } from "../../signed/audit-check.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import type { UserFiles } from "../line/user-file.ts";
import { showFindings } from "./findings.ts";
import { pinOf, readKeys } from "./keys-file.ts";

export const auditVerify = command({
  name: "audit verify",
  summary: "Check audit files by their checkpoints, without a server",
  description:
    "Files may have been moved, renamed and copied, and are named in any order. Each checkpoint is a line " +
    "with a signature over the bytes since the one before it: whatever was edited, cut out or put in between " +
    "is found. Exit code 1 when something is wrong, 2 when something could not be checked, such as the last " +
    "minutes of a file that is still written.",
  examples: [
    "holdfast audit verify -keys keys.json audit.log",
    "holdfast audit verify -keys keys.json -fingerprint 3f5a… audit.log.20*",
  ],
  flags: {
    keys: flag.file("What `holdfast evidence keys -format json` printed"),
    fingerprint: flag.string("Of a key that you trust, noted when the server was initialised", "H"),
  },
  args: { files: argument.rest("Files of one or more audit devices") },
  async run({ files, out }, input) {
    if (input.files.length === 0) throw new UsageError("FILES is missing: name the audit files");
    if (input.keys === undefined) {
      throw new UsageError("-keys is missing: what `holdfast evidence keys -format json` printed");
    }
    const fingerprint = pinOf(input.fingerprint);
    const { list, problem } = readKeys(files, input.keys);
    if (list === null) {
      const about = input.keys;
      return showFindings(out, { reports: [], findings: [{ state: "bad", about, text: problem }] });
    }
    const named = input.files.map((name) => auditFile(files, name));
    const options = { keys: list.keys, fingerprint };
    return showFindings(out, { reports: [], findings: checkAuditFiles(named, options) });
  },
});

export function auditFile(files: UserFiles, name: string): AuditFile {
  return { name, lines: () => files.lines(name) };
}
