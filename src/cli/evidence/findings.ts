// What a check without a server has found, as people and programs see it, and the exit code that follows.

import type { JsonValue } from "@holdfast/shared/json/json";
import type { Finding } from "../../signed/evidence-check.ts";
import type { Output } from "../terminal/output.ts";

export interface Checked {
  readonly reports: readonly JsonValue[];
  readonly findings: readonly Finding[];
}

const BAD = 1;
const INCOMPLETE = 2;

export async function showFindings(out: Output, { reports, findings }: Checked): Promise<number> {
  const bad = findings.some(({ state }) => state === "bad");
  const missing = findings.some(({ state }) => state === "missing");
  const result = bad ? "bad" : missing ? "incomplete" : "good";
  const data = {
    result,
    reports,
    findings: findings.map(({ state, about, text }) => ({ state, about, text })),
  };
  await out.show(data, {
    columns: ["Result", "About", "Found"],
    rows: findings.map(({ state, about, text }) => [state, about, text]),
    unbroken: ["Found"],
  });
  out.hint(SENTENCES[result]);
  return bad ? BAD : missing ? INCOMPLETE : 0;
}

const SENTENCES = {
  good: "Good: this key said so, in this order. The reports say what they do not prove.",
  incomplete: "Incomplete: nothing is wrong, and not everything could be checked.",
  bad: "Bad: this is not what the server has signed, or not in its order.",
} as const;
