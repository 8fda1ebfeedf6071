// `holdfast policy test`

import type { Programs } from "../../program/program.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { readDocument } from "../policy-files.ts";
import { POLICY_KINDS } from "../policy-kinds.ts";
import { testDocuments, type Finding } from "../policy-tests.ts";
import { UsageError } from "../usage-error.ts";

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
  async run(context, { type, cases, file: given }) {
    const { out, clock } = context;
    if (given.length === 0) throw new UsageError("FILE is missing: documents to test");
    const documents = [];
    for (const one of given) documents.push(await readDocument(context, one));
    const { findings, warnings } = await testDocuments(documents, {
      kind: type ?? null,
      cases: cases === undefined ? null : await readDocument(context, cases),
      now: clock.now(),
      programs: loadedOnce(),
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

function loadedOnce(): () => Promise<Programs> {
  let loaded: Promise<Programs> | null = null;
  return () => (loaded ??= import("../../program/load.ts").then((door) => door.loadPrograms()));
}
