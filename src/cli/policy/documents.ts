// `holdfast policy fmt` and `test`: policy documents in files, without a server.

import { Failure } from "@holdfast/shared/failure";
import { onOneLine } from "../advice/refusal-text.ts";
import { command, type Context } from "../command.ts";
import { readDocument, type DocumentFile } from "./document-files.ts";
import type { Finding } from "./document-tests.ts";
import { POLICY_KINDS } from "./kinds.ts";
import { layOutPolicy } from "./layout.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { notationOf } from "./notation.ts";

export const policyFmt = command({
  name: "policy fmt",
  summary: "Bring policy documents into the common layout",
  description:
    "Files are changed in place, and those that were are named; - takes a document from standard input " +
    "and prints it. Comments are kept, the text of expressions is not touched. JSON and documents that " +
    "are one expression stay as they are. With -check nothing is written: exit code 1 when a file is " +
    "not in the layout. Needs no server.",
  examples: [
    "holdfast policy fmt *.hcl *.cel",
    "holdfast policy fmt -check policies/*",
    "holdfast policy read readonly | holdfast policy fmt -",
  ],
  flags: { check: flag.switch("Change nothing; name the files that would be") },
  args: { file: argument.rest("Files that hold documents, or - for standard input") },
  async run(context, { check, file: paths }) {
    const { out } = context;
    if (paths.length === 0) {
      throw new UsageError("FILE is missing: files to format, or - for standard input");
    }
    const changed: string[] = [];
    let failed = false;
    for (const one of paths) {
      const document = await readDocument(context, one);
      const laidOut = layOut(context, document);
      failed ||= laidOut === null;
      if (laidOut === null) continue;
      if (laidOut !== document.text) changed.push(document.from);
      if (check) continue;
      if (document.file === null) out.text(laidOut);
      else if (laidOut !== document.text) context.files.replace(document.file, laidOut);
    }
    const reported = changed.filter((from) => check || from !== "standard input");
    if (reported.length > 0) await out.show(reported, { text: reported.join("\n") });
    return failed || (check && changed.length > 0) ? 1 : 0;
  },
});

/** Null for a document that cannot be read; the others are formatted all the same. */
function layOut({ out }: Pick<Context, "out">, { from, text }: DocumentFile): string | null {
  try {
    return layOutPolicy(text, notationOf(text));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    out.error(`${from}: ${onOneLine(error.message)}`, null);
    return null;
  }
}

export const policyTest = command({
  name: "policy test",
  summary: "Check policy documents and run their tests",
  description:
    'RGPs and EGPs hold their tests: test "name" { input = {…} want = true }. ACL documents cannot; ' +
    "their cases stand in a file of their own, with path, operation, want and, where it matters, " +
    "parameters, wrap_ttl and sudo, and are put to all ACL documents given, as if one token had " +
    "them. Needs no server. Exit code 1 when a test fails or a document cannot be read.",
  examples: [
    "holdfast policy test office.cel hours.cel",
    "holdfast policy test -cases readonly-cases.hcl readonly.hcl",
    "holdfast policy test -format json policies/*",
  ],
  flags: {
    type: flag.oneOf(POLICY_KINDS, "Kind of the documents (told by their beginning)"),
    cases: flag.file("Cases for ACL documents, in HCL or JSON"),
  },
  args: { file: argument.rest("Files that hold documents, or - for standard input") },
  async run(context, { type, cases, file: paths }) {
    const { out, clock } = context;
    if (paths.length === 0) throw new UsageError("FILE is missing: documents to test");
    const documents = [];
    for (const one of paths) documents.push(await readDocument(context, one));
    // Loads the engine of programs, which `fmt` does without.
    const { testDocuments } = await import("./document-tests.ts");
    const { findings, warnings } = await testDocuments(documents, {
      kind: type ?? null,
      cases: cases === undefined ? null : await readDocument(context, cases),
      now: clock.now(),
      programs: () => import("../../program/program.ts"),
    });
    for (const warning of warnings) out.warn(warning);
    const failed = findings.filter(({ passed }) => !passed).length;
    const columns = ["Result", "Test", "Where", "Wanted", "Got", "Because"];
    if (findings.length > 0 || !out.forPeople) {
      await out.show(
        findings.map((finding) => ({ ...finding })),
        { columns, rows: findings.map(cellsOf), whole: ["Result", "Where"] },
      );
    }
    out.hint(`${count(findings.length - failed, "test")} passed, ${failed} failed.`);
    return failed > 0 ? 1 : 0;
  },
});

function cellsOf({ passed, test, file, line, want, got, because }: Finding): string[] {
  return [
    passed ? "passed" : "FAILED",
    test || "–",
    line === 0 ? file : `${file}:${line}`,
    word(want),
    word(got),
    passed || because === "" ? "–" : because,
  ];
}

function word(value: boolean | null): string {
  return value === null ? "–" : String(value);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
