// That the crash matrix of databases catches what it is for; the matrix itself is npm run soak -- database-crash.

import assert from "node:assert/strict";
import { test } from "node:test";
import { databaseCrash } from "./database-crash.ts";

test("the matrix notices a user that is left behind at the database, and takes a good engine for one", async () => {
  const options = { stride: 3, only: "issue", say: () => {} };
  const bad = await databaseCrash({ ...options, plant: "no-rollback" });
  assert.equal(bad.ok, false);
  assert.match(bad.detail ?? "", /issue, after call 1: there are 1 users for 0 leases/);
  const good = await databaseCrash(options);
  assert.equal(good.ok, true, good.detail ?? "");
});
