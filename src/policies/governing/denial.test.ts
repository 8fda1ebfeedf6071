import assert from "node:assert/strict";
import { test } from "node:test";
import { denialText } from "./judging.ts";
import type { Verdict } from "../../program/program.ts";

const VERDICT: Verdict = {
  passed: false,
  error: null,
  description: "",
  rules: [
    { name: "main", line: 12, column: 1, value: false },
    { name: "workhours", line: 7, column: 1, value: false },
  ],
  steps: 3,
};

test("a denial reads as contracted, to the last line break", () => {
  const failed = [{ kind: "egp", qualifiedName: "root/business-hrs", verdict: VERDICT }] as const;
  assert.equal(
    denialText(failed, true),
    '2 errors occurred:\n\t* egp standard policy "root/business-hrs" evaluation resulted in denial.\n\nThe specific error was:\n<nil>\n\nA trace of the execution for policy "root/business-hrs" is available:\n\nResult: false\n\nDescription: <none>\n\nRule "main" (root/business-hrs:12:1) = false\nRule "workhours" (root/business-hrs:7:1) = false\n\t* permission denied\n\n',
  );
});

test("an error and a description stand in their places, and a rule that failed says so", () => {
  const verdict: Verdict = {
    ...VERDICT,
    error: "1:16: field not found: team",
    description: "Only ops",
    rules: [{ name: "main", line: 1, column: 1, value: null }],
  };
  const text = denialText([{ kind: "rgp", qualifiedName: "root/ops", verdict }], true);
  assert.match(text, /The specific error was:\n1:16: field not found: team\n\n/);
  assert.match(text, /Description: Only ops\n\nRule "main" \(root\/ops:1:1\) = error\n/);
});

test("without a trace only the sentences are left, one for each policy", () => {
  const failed = (["rgp", "egp"] as const).map((kind) => ({
    kind,
    qualifiedName: `root/${kind}`,
    verdict: VERDICT,
  }));
  assert.equal(
    denialText(failed, false),
    '3 errors occurred:\n\t* rgp standard policy "root/rgp" evaluation resulted in denial.\n\t* egp standard policy "root/egp" evaluation resulted in denial.\n\t* permission denied\n\n',
  );
});
