// What the verdicts of programs come to: levels, the override, and what is told. Pure.

import type { EnforcementLevel, Judgement, PolicyResult } from "../../endpoint/judgement.ts";
import { denialText } from "./denial.ts";
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
