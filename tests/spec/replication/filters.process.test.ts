// Cases of docs/cases/replication.md on filters of performance replication, on processes with disks of their own and real TLS between them: a primary, a
// region, and one that stands in for the region.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { equalProcesses } from "../../support/replication/cluster-process.ts";
import type { ClusterProcess } from "../../support/replication/cluster-process.ts";
import {
  is,
  isOnDiskOf,
  joinRegionProcess,
  metricOf,
  mountAt,
  perf,
  perfStatus,
  regionFollows,
  secretOf,
  standInProcess,
  startPerformanceProcess,
  startRegionProcess,
  within,
} from "../../support/replication/regions/region-process.ts";
import { until } from "../../support/until.ts";

const ID = "region-c";

function filter(cluster: ClusterProcess, mode: string, paths: readonly string[], id = ID) {
  return perf(cluster, `primary/paths-filter/${id}`, { mode, paths });
}

function readFilter(cluster: ClusterProcess, id = ID) {
  return perf(cluster, `primary/paths-filter/${id}`, {}, "GET");
}

async function withheld(cluster: ClusterProcess, side: "primary" | "secondary") {
  return at(await perf(cluster, `${side}/dynamic-filter/${ID}`, {}, "GET"), "data");
}

const rowsTaken = (cluster: ClusterProcess) =>
  metricOf(cluster, "holdfast_replication_sync_rows_total", `kind="performance"`);

test("R-76, R-77, R-78, R-81, R-82, R-83: what is withheld is not on the disks of a region and of who stands in for it, before the first copy, while it runs, and when it comes back; without the filter it is there, and nothing else is fetched", async (t) => {
  const [a, c, d] = await Promise.all([
    startPerformanceProcess(t),
    startRegionProcess(t, "c"),
    startRegionProcess(t, "c"),
  ]);
  const [eu, us] = [await mountAt(a, "eu"), await mountAt(a, "us")];
  for (let i = 0; i < 60; i++) {
    assert.ok((await within(a, "POST", `us/n${i}`, "", { of: "us" })).status < 300);
  }

  const made = await filter(a, "deny", ["eu/"]);
  is(made, 200);
  assert.match(String(at(made, "warnings")), /no secondary is known by this id yet/);
  await joinRegionProcess(a, c, ID);
  await regionFollows(c);
  await standInProcess(c, d, "stand-in");
  assert.deepEqual([await secretOf(c, "us"), await secretOf(c, "eu")], ["us", null]);
  for (const one of [c, d]) {
    assert.equal(isOnDiskOf(one, us), true); // it would be found
    assert.equal(isOnDiskOf(one, eu), false);
  }

  const before = Number(await rowsTaken(c));
  is(await perf(a, `primary/paths-filter/${ID}`, {}, "DELETE"), 204);
  await until(async () => (await secretOf(c, "eu")) === "eu");
  await regionFollows(c);
  const taken = Number(await rowsTaken(c)) - before;
  assert.ok(taken > 0 && taken < 30, `${taken} rows`); // of more than sixty
  await equalProcesses(c, d);
  assert.deepEqual([isOnDiskOf(c, eu), isOnDiskOf(d, eu)], [true, true]);

  is(await filter(a, "deny", ["eu/"]), 200);
  await until(async () => (await secretOf(c, "eu")) === null);
  await regionFollows(c);
  assert.equal(await secretOf(c, "us"), "us");
  assert.equal(await secretOf(a, "eu"), "eu");
  // Whatever is written next takes the rest with it, from both disks.
  await until(async () => {
    assert.ok((await within(c, "POST", "cubbyhole/x", "", { a: "1" })).status < 300);
    return !isOnDiskOf(c, eu) && !isOnDiskOf(d, eu);
  });
  await equalProcesses(c, d);
  const checked = await within(c, "POST", "sys/replication/merkle-check", "", {});
  is(checked, 200);
  assert.equal((await perfStatus(c))["corrupted_merkle_tree"], false);

  const moved = await within(a, "POST", "sys/remount", "", { from: "eu", to: "europe" });
  assert.ok(moved.status < 300, moved.text);
  await until(async () => (await secretOf(a, "europe")) === "eu");
  assert.match(String(at(await readFilter(a), "warnings")), /eu\/ is europe\/ now/);
  assert.equal(await secretOf(c, "europe"), null);

  assert.ok((await within(a, "POST", "sys/namespaces/ns1", "", {})).status < 300);
  is(await filter(a, "deny", ["europe/", "ns1/"]), 200);
  await mountAt(a, "kv", "ns1");
  const expected = {
    dynamic_filtered_mounts: ["europe/", "ns1/kv/"],
    dynamic_filtered_namespaces: ["ns1/"],
  };
  assert.deepEqual(await withheld(a, "primary"), expected);
  await until(async () => {
    return JSON.stringify(await withheld(c, "secondary")) === JSON.stringify(expected);
  });
  assert.equal(await secretOf(c, "kv", "ns1"), null);

  await c.kill();
  is(await filter(a, "deny", ["us/"]), 200);
  const late = await mountAt(a, "late");
  await c.startAgain();
  // Whoever sees what was written since sees nothing of what is withheld since.
  await until(async () => {
    const hasCome = (await secretOf(c, "late")) === "late";
    if (hasCome) assert.equal(await secretOf(c, "us"), null);
    return hasCome;
  });
  await until(async () => (await secretOf(c, "europe")) === "eu");
  assert.equal(isOnDiskOf(c, late), true);
});

test("R-79, R-80, R-84, R-85: what a filter may name and by whom, how it is read and deleted, and that who is not sent everything is promoted by force alone", async (t) => {
  const [a, c] = await Promise.all([startPerformanceProcess(t), startRegionProcess(t, "c")]);
  await mountAt(a, "eu");
  const local = { type: "kv", local: true };
  assert.ok((await within(a, "POST", "sys/mounts/own", "", local)).status < 300);
  const refused: readonly [string, string][] = [
    ["deny", "nowhere/"],
    ["deny", "eu/one"],
    ["deny", "own/"],
    ["deny", "sys/"],
    ["sometimes", "eu/"],
  ];
  for (const [mode, path] of refused) is(await filter(a, mode, [path]), 400);
  is(await readFilter(a), 404);
  is(await filter(a, "deny", ["eu"]), 200);
  assert.deepEqual(at(await readFilter(a), "data"), { id: ID, mode: "deny", paths: ["eu/"] });
  is(await perf(a, `primary/paths-filter/${ID}`, {}, "DELETE"), 204);
  is(await readFilter(a), 404);

  await joinRegionProcess(a, c, ID);
  await regionFollows(c);
  const status = await perfStatus(c);
  const [physical, set] = [status["local_cluster_id"] as string, status["cluster_id"] as string];
  for (const id of [ID, physical, set]) is(await filter(a, "deny", ["eu/"], id), 200);
  await until(async () => (await secretOf(c, "eu")) === null);
  is(await perf(a, "primary/secondary-token", { id: "region-x" }), 200);
  is(await filter(a, "deny", ["eu/"], set), 400);
  is(await filter(a, "deny", ["eu/"], physical), 200);

  is(await perf(a, "primary/demote"), 200);
  await until(async () => {
    const answer = await perf(c, "secondary/promote");
    is(answer, 400);
    return /a filter withholds/.test(answer.text);
  });
  const forced = await perf(c, "secondary/promote", { force: true });
  is(forced, 200);
  assert.match(String(at(forced, "warnings")), /a filter withholds 1 mount/);
});
