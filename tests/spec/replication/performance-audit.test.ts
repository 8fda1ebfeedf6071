// Audit devices are shared, and may not open on the machines of another region: that region goes on, and says so.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  regionInSync,
  startPerformancePrimary,
  startRegion,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

test("a shared audit device that opens at the primary alone does not stop a performance secondary, over a start neither; one of its own does", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a);
  await regionInSync(a, b);
  const token = a.token;
  const audited = async (cluster: Cluster, path: string, local: boolean) => {
    const file_path = join(cluster.server.auditDirectory, `${path}.log`);
    const body = { type: "file", local, options: { file_path } };
    is(await cluster.server.call("POST", `/v1/sys/audit/${path}`, { token, body }), 204);
    return file_path;
  };
  const write = (name: string) =>
    b.server.call("POST", `/v1/secret/data/${name}`, { token, body: { data: { n: "1" } } });
  const codes = async () => {
    const answer = await b.server.call("GET", "/v1/sys/attention", { token });
    is(answer, 200);
    return (at(answer, "data", "items") as { code: string; text: string }[]).map(
      ({ code, text }) => `${code}: ${text}`,
    );
  };
  await audited(a, "shared", false);
  await regionInSync(a, b);
  is(await write("x"), 200);
  const found = (await codes()).join("\n");
  assert.match(found, /audit\.none: no audit device of the primary opens here/);
  assert.match(found, /audit\.failing/);
  is(await b.server.call("POST", "/v1/sys/seal", { token }), 204);
  await b.server.unseal(a.opened.shares);
  await regionInSync(a, b);
  is(await write("y"), 200);

  // It would be needed from the promotion on.
  const tried = await perf(b, "secondary/promote", { dry_run: true }, token);
  const checks = at(tried, "data", "checks") as { name: string; ok: boolean }[];
  assert.equal(checks.find(({ name }) => name === "audit")?.ok, false);

  const file = await audited(b, "own", true);
  await until(async () => !(await codes()).join("\n").includes("audit.none"));
  is(await write("z"), 200);
  assert.match(readFileSync(file, "utf8"), /secret\/data\/z/);
});

test("who is made a performance secondary is warned of audit devices that come along, and in a dry run too", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await startRegion(t, "b");
  const token = await performanceToken(a, b, "region-b");
  const tried = await perf(b, "secondary/enable", { token, dry_run: true });
  const joined = await perf(b, "secondary/enable", { token });
  for (const answer of [tried, joined]) {
    is(answer, 200);
    const warnings = JSON.stringify(at(answer, "warnings"));
    assert.match(warnings, /audit devices of the primary come along/);
    assert.match(warnings, /declares no audit device/);
  }
});
