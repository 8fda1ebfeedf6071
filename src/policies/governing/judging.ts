// What the verdicts of programs come to: levels, the override, and what is told. Pure.

import type { EnforcementLevel, Judgement, PolicyResult } from "../../endpoint/judgement.ts";
import type { Verdict } from "../../program/program.ts";
import type { Governor } from "./governing-places.ts";

export interface Judged {
  readonly policy: Governor;
  readonly level: EnforcementLevel;
  readonly verdict: Verdict;
}

export interface Telling {
  /** Asked for by somebody who may. */
  readonly override: boolean;
  /** The denial shows which rules failed. */
  readonly trace: boolean;
  /** Ids of the namespaces above the caller's: what their policies are called is not its business. */
  readonly above?: ReadonlySet<string>;
}

export function conclude(
  judged: readonly Judged[],
  { override, trace, above = NOBODY }: Telling,
): Judgement {
  const failed = judged.filter(({ verdict }) => !verdict.passed);
  const denying = failed.filter(
    ({ level }) => level === "hard-mandatory" || (level === "soft-mandatory" && !override),
  );
  const allowed = denying.length === 0;
  // All that failed are told, those too that an override would have let pass.
  const mandatory = failed
    .filter(({ level }) => level !== "advisory")
    .map(({ policy: { kind, ...policy }, verdict }) => {
      const isAbove = above.has(policy.namespaceId);
      return { kind, qualifiedName: isAbove ? null : qualified(policy), verdict };
    });
  return {
    allowed,
    results: judged.map(resultOf),
    overrideNeeded: failed.some(({ level }) => level === "soft-mandatory"),
    warnings: failed.flatMap(({ policy, level }) =>
      level === "advisory" ? [`advisory ${policy.kind} policy ${named(policy, above)} failed`] : [],
    ),
    denial: allowed ? "" : denialText(mandatory, trace),
  };
}

const NOBODY: ReadonlySet<string> = new Set();

function named(policy: Governor, above: ReadonlySet<string>): string {
  return above.has(policy.namespaceId) ? "of a namespace above" : `"${qualified(policy)}"`;
}

/** The namespace's id in front, as traces and logs show it. */
export function qualified({ namespaceId, name }: Omit<Governor, "kind">): string {
  return `${namespaceId}/${name}`;
}

/** Of a program that does not compile any more: it fails at its level. */
export function brokenVerdict(problem: string): Verdict {
  return { passed: false, error: problem, description: "", rules: [], steps: 0 };
}

function resultOf({ policy, level, verdict }: Judged): PolicyResult {
  return { ...policy, level, passed: verdict.passed, error: verdict.error };
}

// --- denial ---

// What a caller reads whose request governing policies refused. Rule names, positions
// and true or false, never values: a denial must not tell metadata of other objects.

export interface FailedProgram {
  readonly kind: "rgp" | "egp";
  /** Namespace id and name: `root/business-hrs`. Null for one that the caller may not know of. */
  readonly qualifiedName: string | null;
  readonly verdict: Verdict;
}

/** One text for all of them, with "permission denied" last. */
export function denialText(failed: readonly FailedProgram[], trace: boolean): string {
  const items = [...failed.map((program) => denial(program, trace)), "permission denied"];
  const count = items.length === 1 ? "1 error" : `${items.length} errors`;
  return `${count} occurred:\n${items.map((item) => `\t* ${item}\n`).join("")}\n`;
}

function denial({ kind, qualifiedName, verdict }: FailedProgram, trace: boolean): string {
  if (qualifiedName === null) {
    return `${kind} standard policy of a namespace above evaluation resulted in denial.`;
  }
  const name = `"${qualifiedName}"`;
  const sentence = `${kind} standard policy ${name} evaluation resulted in denial.`;
  if (!trace) return sentence;
  const rules = verdict.rules.map(({ name: rule, line, column, value }) => {
    return `\nRule "${rule}" (${qualifiedName}:${line}:${column}) = ${value ?? "error"}`;
  });
  return (
    `${sentence}\n\nThe specific error was:\n${verdict.error ?? "<nil>"}\n\n` +
    `A trace of the execution for policy ${name} is available:\n\n` +
    `Result: false\n\nDescription: ${verdict.description === "" ? "<none>" : verdict.description}\n` +
    rules.join("")
  );
}
