// What a secondary still tells after it was started anew while its primary is away.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Cluster, inSync, joined, startPrimaryBehind } from "../../support/replication/clusters.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";

/** In milliseconds; NaN where there was none. */
function heartbeatOf(status: JsonObject): number {
  const [primary] = status["primaries"] as { readonly last_heartbeat: string | null }[];
  return Date.parse(primary?.last_heartbeat ?? "");
}

test("it tells what was heard of the primary before, and when its trees were looked at", async (t) => {
  const generations = new KeptGenerations();
  const { primary: a, way } = await startPrimaryBehind(t);
  await a.put("x", { n: "1" });
  const before = await joined(t, a, "site-b", { generations });
  await inSync(a, before);
  await until(async () => heartbeatOf(await before.status()) > 0);
  const token = await before.operationToken(a.opened.shares);
  assert.equal((await before.dr("secondary/merkle-check", {}, token)).status, 200);
  assert.equal((await before.dr("secondary/reindex", {}, token)).status, 200);
  await until(async () => (await before.status())["last_reindex_epoch"] !== "0");
  const earlier = await before.status();
  const index = Number(before.index);
  way.cut();
  await before.server.stop();
  const clusterPort = { host: "127.0.0.1", port: 0 };
  const server = await startServer({
    generations,
    config: (config) => ({ ...config, clusterPort }),
  });
  t.after(() => server.stop());
  await server.unseal(a.opened.shares);
  const after = await new Cluster(server, a.opened).status();
  const [primary] = after["primaries"] as JsonObject[];
  assert.equal(primary?.["connection_status"], "disconnected");
  assert.ok(heartbeatOf(after) > heartbeatOf(earlier) - 1000); // one by the steady clock
  assert.ok(Number(primary?.["replication_primary_canary_age_ms"]) > 0);
  assert.deepEqual([after["last_remote_wal"], after["wal_lag"]], [index, 0]);
  for (const field of ["last_corruption_check_epoch", "last_reindex_epoch"]) {
    assert.notEqual(earlier[field], "0");
    assert.equal(after[field], earlier[field]);
  }
});
