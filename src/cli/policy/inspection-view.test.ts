// Answers of sys/inspect/request as somebody on call reads them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { inspectionText } from "./inspection-view.ts";

const place = { name: "shop", namespace_id: "root", path: "secret/shop/*", line: 3, column: 1 };
const rule = {
  policy: "shop",
  path: "secret/shop/*",
  line: 3,
  column: 1,
  capabilities: ["list", "read"],
  policies: [place],
};

function text(found: JsonObject): string {
  const base = { sudo: false, rule: null, candidates: [], steps: [], minimal_policy: null };
  return inspectionText({ ...base, ...found }, { operation: "update", path: "secret/shop/x" });
}

test("a denial by the ACL names policy, line, what lost, and what would allow it", () => {
  const found = {
    allowed: false,
    reason:
      '"secret/shop/*" of policy "shop" on line 3, column 1 grants list, read, but not update',
    rule,
    candidates: [
      {
        path: "secret/*",
        policies: [{ ...place, name: "all", path: "secret/*", line: 9, namespace_id: "a1b2" }],
        why: "the weaker of the two: its first wildcard stands earlier",
      },
    ],
    steps: [{ kind: "acl", name: "shop", namespace_id: "root", result: "deny", message: "…" }],
    minimal_policy: 'path "secret/shop/x" {\n  capabilities = ["update"]\n}\n',
  };
  assert.equal(
    text(found),
    `DENIED: update on secret/shop/x
Because "secret/shop/*" of policy "shop" on line 3, column 1 grants list, read, but not update.

Decided by:
  shop, line 3, column 1: path "secret/shop/*" grants list, read

Matched too, and did not decide:
  a1b2/all, line 9, column 1: path "secret/*" – the weaker of the two: its first wildcard stands earlier

Smallest rule that would allow it; add it to a policy of the token:
  path "secret/shop/x" {
    capabilities = ["update"]
  }`,
  );
});

test("blocks of one label are one rule, and a suggestion says what it replaces", () => {
  const found = {
    allowed: false,
    reason: "it denies everything",
    rule: { ...rule, capabilities: ["deny"], policies: [place, { ...place, name: "no", line: 7 }] },
    minimal_policy: 'path "secret/shop/*" {}',
    minimal_policy_replaces: [place],
  };
  assert.equal(
    text(found),
    `DENIED: update on secret/shop/x
Because it denies everything.

Decided by:
  path "secret/shop/*" denies
  shop, line 3, column 1: path "secret/shop/*"
  no, line 7, column 1: path "secret/shop/*"

Smallest rule that would allow it:
  path "secret/shop/*" {}

It must stand instead of:
  shop, line 3, column 1: path "secret/shop/*"`,
  );
});

const failed = {
  kind: "egp",
  name: "hours",
  namespace_id: "root",
  level: "soft-mandatory",
  result: "fail",
  message: "Nobody changes prices at night.",
  rules: [
    { name: "main", line: 2, column: 1, value: false },
    { name: "day", line: 1, column: 1, value: null },
  ],
};
const passed = {
  kind: "rgp",
  name: "office",
  namespace_id: "root",
  level: "advisory",
  result: "pass",
  message: "Only from the office.",
  rules: [{ name: "main", line: 1, column: 1, value: true }],
};

test("governing policies are listed with what their rules came to, and whether an override helps", () => {
  const found = { allowed: false, sudo: true, reason: "governing policies deny it", rule };
  const soft = text({ ...found, steps: [passed, failed] });
  assert.equal(
    soft,
    `DENIED: update and sudo on secret/shop/x
Because egp hours (soft-mandatory) fails: main (line 2) = false, day (line 1) = error.

The ACL allows it by:
  shop, line 3, column 1: path "secret/shop/*" grants list, read

Governing policies:
  Result    Kind    Policy    Level             Rules
  ------    ----    ------    -----             -----
  pass      rgp     office    advisory          main (line 1) = true
  fail      egp     hours     soft-mandatory    main (line 2) = false, day (line 1) = error – Nobody changes prices at night.

The caller may override it: X-Service-Policy-Override: true, which is audited.`,
  );
  const hard = text({ ...found, steps: [failed, { ...failed, level: "hard-mandatory" }] });
  assert.ok(!hard.includes("Override"), hard);
  assert.match(
    hard,
    /^Because egp hours \(soft-mandatory\) fails: .*; egp hours \(hard-mandatory\) /m,
  );
  const broken = { ...failed, result: "error", message: 'no such key "team"', rules: [] };
  assert.match(text({ ...found, steps: [broken] }), /fails: no such key "team"\.$/m);
  const passing = text({ allowed: true, reason: "r", steps: [failed] });
  assert.ok(!passing.includes("Override"), passing);
});

test("what is allowed says so and no more, and nothing of the answer steers the terminal", () => {
  const found = { allowed: true, reason: "management\u001b[31m" };
  const expected = "ALLOWED: update on secret/shop/x\nBecause management\\x1b[31m.";
  assert.equal(text(found), expected);
  const odd = { ...rule, path: "a\u001b", policies: [{ ...place, name: "\u009b", path: "\n" }] };
  const steps = [{ ...failed, name: "\u001b", message: "\u0007", rules: [{ name: "\u001b" }] }];
  const all = text({ ...found, rule: odd, steps, minimal_policy: "\u001b" });
  // oxlint-disable-next-line no-control-regex -- none of them may reach a terminal
  assert.doesNotMatch(all, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});
