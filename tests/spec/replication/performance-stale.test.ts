// Global tokens where they are good for so long only (max_global_token_staleness), while the primary of what is shared changes.

import assert from "node:assert/strict";
import test from "node:test";
import type { Answer } from "../../support/http-client.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

const BOUND = { settings: { replication: { max_global_token_staleness: "10m" } } };

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

test("T-A20, R-53: a planned failover is gone through with global tokens: who was demoted has written what is there itself, over a start too", async (t) => {
  const a = await startPerformancePrimary(t, BOUND);
  const b = await joinedRegion(t, a, "b", BOUND);
  await regionInSync(a, b);
  const root = a.token;
  const mounts = () => a.server.call("GET", "/v1/sys/mounts", { token: root });
  is(await perf(a, "primary/demote"), 200);
  is(await mounts(), 200);
  is(await perf(a, "secondary/promote", { dry_run: true }), 200);
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  is(await mounts(), 200);
  is(await perf(b, "secondary/promote", {}, root), 200);
  const token = await performanceToken(b, a, "region-a", root);
  is(await perf(a, "secondary/update-primary", { token }), 200);
  is(await mounts(), 200); // also before anything was heard of the next one
  await regionInSync(b, a);
  is(await mounts(), 200);
});

test("T-A20: a primary in whose place another was promoted takes global tokens from then on as one that is cut off", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t, BOUND);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  way.cut();
  is(await perf(b, "secondary/promote", { force: true }, a.token), 200);
  way.heal();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await a.server.call("GET", "/v1/sys/mounts", { token: a.token }), 200);
  is(await perf(a, "primary/demote"), 200);
  is(await a.server.call("GET", "/v1/sys/mounts", { token: a.token }), 200);
});
