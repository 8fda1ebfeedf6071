// Cases of docs/cases/replication.md where members of a performance set have clusters that stand in for them, on processes with disks of their own and
// real TLS between them.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { type ClusterProcess, equalProcesses } from "../../support/replication/cluster-process.ts";
import {
  is,
  joinRegionProcess,
  metricOf,
  perfStatus,
  regionFollows,
  standInProcess,
  startPerformanceProcess,
  startRegionProcess,
  takeOverProcess,
  within,
} from "../../support/replication/regions/region-process.ts";
import { TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

/** It has been told where that cluster is, which stands in for its primary. */
async function knowsStandIn(region: ClusterProcess, standIn: ClusterProcess): Promise<void> {
  const address = `https://127.0.0.1:${standIn.way.port}`;
  await until(async () => {
    const { failover_cluster_addrs: known } = await perfStatus(region);
    return Array.isArray(known) && known.includes(address);
  });
}

test("R-109: the primary is killed and who stands in for it is promoted: the region finds it by the address that it was told, without a token, and goes on by the log; the one of before is fenced when it is back", async (t) => {
  const [a, b, c] = await Promise.all([
    startPerformanceProcess(t),
    startRegionProcess(t, "a"),
    startRegionProcess(t, "c"),
  ]);
  await standInProcess(a, b, "stand-in");
  await joinRegionProcess(a, c, "region-c");
  await regionFollows(c);
  await knowsStandIn(c, b);
  is(await a.put("before", "1"), 200);
  await equalProcesses(a, b);
  await until(async () => (await c.value("before")) === "1");
  const rows = () => metricOf(c, "holdfast_replication_sync_rows_total", `kind="performance"`);
  const taken = await rows();
  const { cluster_id: set } = await perfStatus(c);
  await a.kill();
  await takeOverProcess(b, true);
  await regionFollows(c, 2);
  const led = await perfStatus(b);
  assert.deepEqual(
    [led["mode"], led["state"], led["epoch"], led["cluster_id"]],
    ["primary", "running", 2, set],
  );
  assert.equal(await rows(), taken); // nothing was compared
  await until(async () => (await c.put("through", "2")).status === 200);
  assert.equal(await b.value("through"), "2");
  await a.startAgain();
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  is(await a.put("refused", "3"), 503);
  assert.equal((await perfStatus(c))["epoch"], 2);
});

test("R-111, R-110: who stands in for a region takes its identity while that still runs, and the primary cuts the other; ahead of who then replaces the primary it goes back, and keeps apart what it gives up", async (t) => {
  const [a, b, c, d] = await Promise.all([
    startPerformanceProcess(t),
    startRegionProcess(t, "a"),
    startRegionProcess(t, "c"),
    startRegionProcess(t, "c"),
  ]);
  const fromB = await TcpProxy.before(t, a.clusterPort);
  await standInProcess(a, b, "stand-in-a", `https://127.0.0.1:${fromB.port}`);
  await joinRegionProcess(a, c, "region-c");
  await regionFollows(c);
  await standInProcess(c, d, "stand-in-c");
  await knowsStandIn(c, b);
  is(await a.put("kept", "1"), 200);
  await equalProcesses(a, b);
  await until(async () => (await c.value("kept")) === "1");

  c.way.cut(); // it cannot be told by the one that takes its place
  await takeOverProcess(d, true);
  await regionFollows(d);
  await until(async () => {
    const { last_sync_error: error, forwards_writes: sends } = await perfStatus(c);
    return /promoted in the place of this/.test(JSON.stringify(error)) && sends === false;
  });
  const [member] = (await perfStatus(a))["secondaries"] as readonly Record<string, unknown>[];
  const { local_cluster_id: own } = await perfStatus(d);
  assert.deepEqual([member?.["node_id"], member?.["cluster_id"]], ["region-c", own]);
  is(await c.put("refused", "1"), 503);
  is(await d.put("through", "1"), 200);
  assert.equal(await a.value("through"), "1");
  await knowsStandIn(d, b);
  await equalProcesses(a, b);

  fromB.cut();
  is(await a.put("surplus", "1"), 200);
  await until(async () => (await d.value("surplus")) === "1");
  await a.kill();
  await takeOverProcess(b, true);
  await regionFollows(d, 2);
  is(await b.put("later", "1"), 200);
  await until(async () => (await d.value("later")) === "1");
  assert.deepEqual(
    [await d.value("kept"), await d.value("through"), await d.value("surplus")],
    ["1", "1", null],
  );
  const [here, there] = [await perfStatus(b), await perfStatus(d)];
  assert.ok(Number(there["divergent_entries"]) >= 1);
  await until(
    async () => (await perfStatus(d))["merkle_root"] === (await perfStatus(b))["merkle_root"],
  );
  assert.equal(here["epoch"], there["epoch"]);
  const listed = await within(d, "GET", "sys/replication/divergent");
  const [tail] = at(listed, "data", "tails") as readonly { readonly kind: string }[];
  assert.equal(tail?.kind, "performance");
});
