// By which ids a filter of performance replication is made, shown and deleted: of a secondary, of its cluster before it has come, of the set.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { is, standInOf, startCascade, takeOver } from "../../support/replication/cascade.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  deleteFilter,
  filterOf,
  mountSecret,
  readFilter,
  scopeOfMount,
  secretAt,
  siftedRegion,
  withheldAt,
} from "../../support/replication/filtered.ts";
import {
  perf,
  performanceToken,
  perfStatus,
  startPerformancePrimary,
  startRegion,
  withRoot,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

/** Of nobody. */
const KEY = Buffer.from(
  generateKeyPairSync("x25519").publicKey.export({ format: "der", type: "spki" }).subarray(-32),
).toString("base64");

async function join(a: Cluster, cluster: Cluster, id = "region-b"): Promise<Cluster> {
  const token = await performanceToken(a, cluster, id);
  is(await perf(cluster, "secondary/enable", { token }), 200);
  return withRoot(cluster, a.token);
}

function pathsOf(answer: Answer): unknown {
  return at(answer, "data", "paths");
}

test("R-85 the id of the set names nobody while there is no secondary: a filter by it is refused", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  const { cluster_id: set } = (await perfStatus(a)) as { cluster_id: string };
  const refused = await filterOf(a, set, "deny", ["eu/"]);
  is(refused, 400, "filter_for_nobody");
  assert.match(refused.text, /id of its token or the id of its cluster/);
  is(await readFilter(a, set), 404);
  is(await deleteFilter(a, set), 204);
});

test("R-85 a filter that was made by the id of a cluster is that of its secondary when it comes: shown, replaced, copied and deleted by either id", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = scopeOfMount(await mountSecret(a, "eu"));
  const us = scopeOfMount(await mountSecret(a, "us"));
  const other = await startRegion(t, "b");
  const cluster = await other.clusterId();
  is(await filterOf(a, cluster, "deny", ["eu/"]), 200);
  const b = await join(a, other);
  await siftedRegion(a, b, [eu]);
  for (const id of ["region-b", cluster])
    assert.deepEqual(pathsOf(await readFilter(a, id)), ["eu/"]);
  const copied = { id: "region-c", copy_filter_from: "region-b", secondary_public_key: KEY };
  is(await perf(a, "primary/secondary-token", copied), 200);
  assert.deepEqual(pathsOf(await readFilter(a, "region-c")), ["eu/"]);
  is(await filterOf(a, "region-b", "deny", ["us/"]), 200);
  await siftedRegion(a, b, [us]);
  assert.deepEqual(pathsOf(await readFilter(a, cluster)), ["us/"]);
  is(await deleteFilter(a), 204);
  await siftedRegion(a, b);
  assert.equal(await secretAt(b, "eu"), "eu");
  assert.equal(await secretAt(b, "us"), "us");
  for (const id of ["region-b", cluster]) is(await readFilter(a, id), 404);
});

test("R-85 filters by the id of a secondary and by that of its cluster both hold when it comes, and go with its revocation", async (t) => {
  const a = await startPerformancePrimary(t);
  const scopes = [];
  for (const path of ["eu", "us", "asia"]) scopes.push(scopeOfMount(await mountSecret(a, path)));
  const [eu, us] = scopes;
  const other = await startRegion(t, "b");
  const cluster = await other.clusterId();
  is(await filterOf(a, cluster, "deny", ["eu/"]), 200);
  is(await filterOf(a, "region-b", "deny", ["us/"]), 200);
  const b = await join(a, other);
  await siftedRegion(a, b, [eu!, us!]);
  assert.deepEqual(pathsOf(await readFilter(a)), ["us/", "eu/"]);
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  for (const id of ["region-b", cluster]) is(await readFilter(a, id), 404);
});

test("R-85 where one allows and the other denies, both hold: reading the filter says so, and writing one replaces both", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  const other = await startRegion(t, "b");
  is(await filterOf(a, await other.clusterId(), "deny", ["eu/"]), 200);
  is(await filterOf(a, "region-b", "allow", ["eu/", "us/"]), 200);
  const b = await join(a, other);
  await until(async () => (await secretAt(b, "us")) === "us");
  assert.equal(await secretAt(b, "eu"), null);
  const { dynamic_filtered_mounts: mounts } = await withheldAt(a, "primary");
  const withheld = mounts as string[];
  assert.ok(withheld.includes("eu/") && withheld.includes("secret/") && !withheld.includes("us/"));
  const found = await readFilter(a);
  assert.deepEqual([at(found, "data", "mode"), pathsOf(found)], ["allow", ["eu/", "us/"]]);
  assert.match(String(at(found, "warnings")), /a second filter counts as well.*: deny eu\/;/);
  is(await filterOf(a, "region-b", "deny", ["eu/"]), 200);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.doesNotMatch((await readFilter(a)).text, /a second filter/);
});

test("R-85 what was denied by the id of a cluster stays so when that comes by another id as well", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = scopeOfMount(await mountSecret(a, "eu"));
  const other = await startRegion(t, "b");
  is(await filterOf(a, await other.clusterId(), "deny", ["eu/"]), 200);
  const b = await join(a, other);
  await siftedRegion(a, b, [eu]);
  const token = await performanceToken(a, b, "region-b2");
  is(await perf(b, "secondary/update-primary", { token }), 200);
  await until(async () => (await perfStatus(b))["secondary_id"] === "region-b2");
  await siftedRegion(a, b, [eu]);
  assert.equal(await secretAt(b, "eu"), null);
  assert.deepEqual(pathsOf(await readFilter(a, "region-b2")), ["eu/"]);
});

test("R-111, R-85 who stands in for a secondary is not sent what was denied by the id of the cluster that it stands in for", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = scopeOfMount(await mountSecret(a, "eu"));
  const other = await startRegion(t, "c");
  is(await filterOf(a, await other.clusterId(), "deny", ["eu/"]), 200);
  const c = await join(a, other, "region-c");
  await siftedRegion(a, c, [eu]);
  const d = await standInOf(t, c, a.token);
  await takeOver(d, a.opened.shares, true);
  const by = withRoot(d, a.token);
  const id = await d.clusterId();
  await until(async () => {
    const found = (await perfStatus(a))["secondaries"] as readonly Record<string, unknown>[];
    return found.some(
      (one) => one["cluster_id"] === id && one["connection_status"] === "connected",
    );
  });
  await siftedRegion(a, by, [eu]);
  assert.deepEqual(pathsOf(await readFilter(a, id)), ["eu/"]);
});

test("R-85 a primary in whose place its stand-in was promoted says so where filters are asked for", async (t) => {
  const { a, b, fromB } = await startCascade(t);
  fromB.cut();
  await takeOver(b, a.opened.shares, true);
  fromB.heal();
  await until(async () => (await a.status())["state"] === "fenced");
  is(await readFilter(a, "region-c"), 400, "replication_fenced_altogether");
  is(await filterOf(a, "region-c", "deny", ["secret/"]), 400, "replication_fenced_altogether");
  is(await deleteFilter(a, "region-c"), 400, "replication_fenced_altogether");
});

test("R-79 a filter has 4,096 paths at most", async (t) => {
  const a = await startPerformancePrimary(t);
  const many = (count: number) => filterOf(a, "region-b", "deny", Array(count).fill("secret/"));
  is(await many(4096), 200);
  const refused = await many(4097);
  is(refused, 400);
  assert.match(refused.text, /4096/);
});

test("each change of a filter is a line of the log: set, copied, deleted, and purged with its secondary", async (t) => {
  const a = await startPerformancePrimary(t);
  await mountSecret(a, "eu");
  is(await perf(a, "primary/secondary-token", { id: "region-b", secondary_public_key: KEY }), 200);
  is(await filterOf(a, "region-b", "deny", ["eu/"]), 200);
  const copied = { id: "region-c", copy_filter_from: "region-b", secondary_public_key: KEY };
  is(await perf(a, "primary/secondary-token", copied), 200);
  is(await deleteFilter(a, "region-c"), 204);
  is(await deleteFilter(a, "region-c"), 204); // of which nothing is to be said
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  const lines = a.server.lines.filter((line) => line.includes("replication.filter-changed"));
  const changes = lines.map((line) => /secondary=(\S+) change=(\S+)/.exec(line)?.slice(1));
  assert.deepEqual(changes, [
    ["region-b", "set"],
    ["region-c", "copied"],
    ["region-c", "deleted"],
    ["region-b", "purged"],
  ]);
  assert.match(lines[0] ?? "", /mode=deny paths=1/);
});
