// What a caller reads whose request governing policies refused. Rule names, positions
// and true or false, never values: a denial must not tell metadata of other objects.

import type { Verdict } from "../../program/program.ts";

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
