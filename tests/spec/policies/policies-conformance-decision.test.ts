// The table of docs/cases/policies.md at the decision function.

import assert from "node:assert/strict";
import test from "node:test";
import { CompiledAcl } from "../../../src/acl/compile.ts";
import { capabilitiesOn, decide } from "../../../src/acl/decide.ts";
import { parseAclDocument } from "../../../src/acl/document.ts";
import { nameOf, policyRows } from "./policy-rows.ts";

const SECOND = 1_000_000_000n;

function compiled(texts: readonly string[]): CompiledAcl {
  const policies = texts.map((text, i) => ({
    name: `p${i}`,
    namespaceId: "root",
    document: parseAclDocument(text),
    written: 1n,
    expires: null,
  }));
  return CompiledAcl.compile(policies, { now: 0n });
}

for (const row of policyRows) {
  test(nameOf(row), () => {
    const { operation: capability, path, sudo, data, wrap } = row;
    const wrapTtl = wrap === null ? null : BigInt(wrap) * SECOND;
    const question = { capability, path, sudo, data, wrapTtl };
    // The order of policies never matters.
    for (const texts of [row.policies, row.policies.toReversed()]) {
      const { allowed, granting } = decide(compiled(texts), question);
      assert.equal(allowed, row.want === "allow");
      assert.equal(granting.length > 0, allowed, "a grant names its policies, a denial none");
    }
  });
}

test("the table has every case from 1 to 75 but 46, which asks no policy, and the 13 examples", () => {
  const ids = new Set(policyRows.map(({ id }) => id.split(" ")[0]));
  const cases = Array.from({ length: 75 }, (_, i) => String(i + 1)).filter((id) => id !== "46");
  const examples = Array.from({ length: 13 }, (_, i) => `e${i + 1}`);
  assert.deepEqual(
    [...cases, ...examples].filter((id) => !ids.has(id)),
    [],
  );
});

test("40: capabilities of shorthand and list add up, sudo among them", () => {
  const row = policyRows.find(({ id }) => id === "40");
  assert.ok(row !== undefined);
  assert.deepEqual(capabilitiesOn(compiled(row.policies), row.path), [
    "list",
    "read",
    "sudo",
    "update",
  ]);
});

test("83: a document in JSON decides as the same one in HCL does", () => {
  const hcl = `path "secret/*" { capabilities = ["read", "list"] }
path "secret/+/x" { policy = "write"
  allowed_parameters = { a = ["1", 2, true], "*" = [] }
  required_parameters = ["a"]
  max_wrapping_ttl = 90 }
path "secret/locked" { capabilities = ["deny"] }
path "secret/locked" { capabilities = ["read"] }`;
  const json = JSON.stringify({
    path: [
      { "secret/*": { capabilities: ["read", "list"] } },
      {
        "secret/+/x": {
          policy: "write",
          allowed_parameters: { a: ["1", 2, true], "*": [] },
          required_parameters: ["a"],
          max_wrapping_ttl: 90,
        },
      },
      { "secret/locked": { capabilities: ["deny"] } },
      { "secret/locked": { capabilities: ["read"] } },
    ],
  });
  const both = [compiled([hcl]), compiled([json])];
  const seen = new Set<boolean>();
  for (const path of ["secret/a", "secret/a/x", "secret/locked", "secret/", "other"]) {
    for (const capability of ["read", "update", "list", "delete"] as const) {
      for (const data of [{}, { a: "1" }, { a: 2 }, { a: "no" }, { a: true, b: 1 }]) {
        for (const wrapTtl of [null, 90n * SECOND, 91n * SECOND]) {
          const question = { path, capability, sudo: false, data, wrapTtl };
          const [one, other] = both.map((acl) => decide(acl, question).allowed);
          assert.equal(one, other, `${capability} ${path}`);
          seen.add(one === true);
        }
      }
    }
  }
  assert.equal(seen.size, 2, "some are allowed and some denied");
});
