// Who was in the set before a failover, and does not follow the new primary yet, is named by its status.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { at } from "../../support/http-client.ts";
import { type Cluster, inSync, rejoined } from "../../support/replication/clusters.ts";
import { FORCED, parted } from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

async function awaited(cluster: Cluster): Promise<JsonObject[]> {
  return ((await cluster.status())["awaited_members"] ?? []) as JsonObject[];
}

const whose = (all: readonly JsonObject[]) => all.map((one) => [one["node_id"], one["was"]]);

test("a new primary names the one before and its other secondaries until each has come, or was revoked", async (t) => {
  const { a, b, c } = await parted(t);
  assert.deepEqual(await awaited(b), []);
  await b.replication.promote(FORCED);
  const former = await a.clusterId();
  const BOTH = [
    [former, "primary"],
    ["site-c", "secondary"],
  ];
  const all = await awaited(b);
  assert.deepEqual(whose(all), BOTH);
  const attention = async () => {
    const answer = await b.server.call("GET", "/v1/sys/attention", { token: a.token });
    const items = at(answer, "data", "items") as { code: string; subject: string }[];
    return items.filter(({ code }) => code === "replication.awaited").map((one) => one.subject);
  };
  assert.deepEqual(new Set(await attention()), new Set([await a.clusterId(), "site-c"]));
  assert.deepEqual(
    all.map((one) => one["cluster_id"]),
    [await a.clusterId(), await c.clusterId()],
  );
  for (const one of all) {
    const { since, cluster_address: where } = one as Record<string, string>;
    assert.ok(Math.abs(Date.parse(since ?? "") - Date.now()) < 3_600_000, since ?? "");
    assert.match(where ?? "", /^https:/);
  }
  // The other secondary hears of it, and does not follow by that.
  await until(async () => (await awaited(b))[1]?.["informed"] === true);
  assert.equal((await awaited(b))[0]?.["informed"], false);
  // A start changes nothing.
  await b.server.server.keeper.seal();
  await b.server.unseal(a.opened.shares);
  assert.deepEqual(whose(await awaited(b)), BOTH);
  await rejoined(b, c, "site-c", a.opened.shares, a.token);
  await inSync(b, c);
  assert.deepEqual(whose(await awaited(b)), [[former, "primary"]]);
  const gone = await b.dr("primary/revoke-secondary", { id: former }, a.token);
  assert.equal(gone.status, 204, gone.text);
  assert.equal((await b.status())["awaited_members"], undefined);
  assert.deepEqual(await attention(), []);
});
