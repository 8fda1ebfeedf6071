// That the crash matrix catches what it is for; the matrix itself is npm run soak -- cloud-crash.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cloudCrash } from "./cloud-crash.ts";

test("the matrix notices what is left behind at a provider, and takes a good engine for one", async () => {
  const options = { stride: 3, only: "issue clouda", say: () => {} };
  const bad = await cloudCrash({ ...options, plant: "no-rollback" });
  assert.equal(bad.ok, false);
  assert.match(bad.detail ?? "", /cloud A has 1 users for 0 leases/);
  const good = await cloudCrash(options);
  assert.equal(good.ok, true, good.detail ?? "");
});
