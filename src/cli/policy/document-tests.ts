// Tests of policy documents, run without a server: those inside RGPs and EGPs, and cases for ACL
// documents. Reading a document is a test of it as well.

import { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import { readAclCases, runAclCases, type NamedDocument } from "../../acl/cases.ts";
import { parseAclDocument } from "../../acl/document.ts";
import type * as programs from "../../program/program.ts";
import { isProgramJson, notationOf } from "./notation.ts";
import type { DocumentFile } from "./document-files.ts";
import type { PolicyKind } from "./kinds.ts";
import { onOneLine } from "../advice/refusal-text.ts";

const UNFILLED = "rules with {{…}} are left out, since there is no token to fill them in";

export interface Finding {
  readonly file: string;
  /** 0 where it is about the whole document. */
  readonly line: number;
  readonly test: string;
  readonly passed: boolean;
  readonly want: boolean | null;
  readonly got: boolean | null;
  /** Why: what decided, or what went wrong. */
  readonly because: string;
}

interface Tested {
  readonly findings: readonly Finding[];
  /** What is legal and probably not meant, and documents that nothing was asked of. */
  readonly warnings: readonly string[];
}

type Programs = typeof programs;

interface TestOptions {
  /** Null: told by each document itself. */
  readonly kind: PolicyKind | null;
  readonly cases: DocumentFile | null;
  readonly now: Instant;
  /** Loaded when the first program comes up. */
  readonly programs: () => Promise<Programs>;
}

export async function testDocuments(
  documents: readonly DocumentFile[],
  { kind, cases, now, ...options }: TestOptions,
): Promise<Tested> {
  const findings: Finding[] = [];
  const warnings: string[] = [];
  const acls: NamedDocument[] = [];
  for (const file of documents) {
    const { from } = file;
    try {
      if (isAcl(file.text, kind)) {
        const document = parseAclDocument(file.text);
        acls.push({ name: from, document });
        warnings.push(...document.warnings.map((warning) => `${from}: ${warning}`));
        if (document.templated) warnings.push(`${from}: ${UNFILLED}`);
      } else {
        const tested = testProgram(await options.programs(), file);
        findings.push(...tested.findings);
        warnings.push(...tested.warnings);
      }
    } catch (error) {
      findings.push(unreadable(from, error));
    }
  }
  if (cases === null) {
    warnings.push(...acls.map(({ name }) => `${name}: nothing is tested; give cases with -cases`));
  } else findings.push(...testAcls(acls, cases, now));
  return { findings, warnings };
}

function isAcl(text: string, kind: PolicyKind | null): boolean {
  if (kind !== null) return kind === "acl";
  const notation = notationOf(text);
  return notation === "hcl" || (notation === "json" && !isProgramJson(text));
}

function testProgram({ parseProgram, runTests }: Programs, { from, text }: DocumentFile): Tested {
  const program = parseProgram(text);
  const findings = runTests(program).map(({ name, line, passed, want, got, error }) => {
    const because = error === null ? "" : `error: ${error}`;
    return { file: from, line, test: name, passed, want, got, because };
  });
  const warnings = program.warnings.map((warning) => `${from}: ${warning}`);
  if (findings.length === 0) warnings.push(`${from}: it holds no test`);
  return { findings, warnings };
}

function testAcls(acls: readonly NamedDocument[], cases: DocumentFile, now: Instant): Finding[] {
  const { from } = cases;
  try {
    const outcomes = runAclCases(acls, readAclCases(cases.text), now);
    return outcomes.map(({ name, ...rest }) => ({ file: from, test: name, ...rest }));
  } catch (error) {
    return [unreadable(from, error)];
  }
}

function unreadable(file: string, error: unknown): Finding {
  if (!(error instanceof Failure)) throw error;
  const because = onOneLine(error.message);
  const [, line] = /\b(?:At |policy: |on line )(\d+)/.exec(because) ?? [];
  const none = { want: null, got: null, passed: false };
  return { file, line: Number(line ?? 0), test: "", because, ...none };
}
