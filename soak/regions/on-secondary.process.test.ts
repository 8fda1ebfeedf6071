// That tests of the API which run against a secondary notice one that is not as it should be; all of them: npm run soak -- on-secondary.

import assert from "node:assert/strict";
import { test } from "node:test";
import { onSecondary, wrongOf } from "./on-secondary.ts";

test("a secondary that stores records and nothing that follows from them is noticed", async () => {
  const only = "tests/spec/acl/acl-tokens-list.test.ts";
  const result = await onSecondary({ only, say: () => {}, plant: "no-followers" });
  assert.equal(result.ok, false);
});

test("a difference that is not declared is a finding, and so is one that is none any more", () => {
  const row = { file: "tests/a.test.ts", test: "one", why: "so" };
  const failed = [{ file: "tests/a.test.ts", name: "one", message: "x" }];
  assert.deepEqual(wrongOf(["tests/a.test.ts"], failed, [row]), []);
  assert.equal(wrongOf(["tests/a.test.ts"], failed, []).length, 1);
  assert.equal(wrongOf(["tests/a.test.ts"], [], [row]).length, 1);
  assert.deepEqual(wrongOf(["tests/b.test.ts"], [], [row]), [], "it was not run");
});
