// A cluster that follows under another id than before is one secondary, and the ids that it has left are none.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { statusView } from "../../../src/cli/replication/status-view.ts";
import { storedSiblings } from "../../../src/replication/links/upstream.ts";
import { at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { viewOf } from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

async function isAlone(primary: Cluster, id: string, left: readonly string[]): Promise<void> {
  const rows = async () => (await primary.status())["secondaries"] as JsonObject[];
  await until(async () => (await rows()).some(({ state }) => state === "stream-wals"));
  const status = await primary.status();
  assert.deepEqual(
    (await rows()).map(({ node_id }) => node_id),
    [id],
  );
  assert.deepEqual([...(status["left_secondaries"] as string[])].toSorted(), left);
  const { troubled, advice } = statusView(status, 0n);
  assert.equal(troubled, false, advice.join(" "));
  for (const one of left) assert.ok(advice.join().includes(`holdfast replication revoke ${one}`));
  const { attention, reading } = primary.replication.status;
  assert.deepEqual(attention.behind, []);
  assert.deepEqual(
    reading.peers.map((peer) => peer.id),
    [id],
  );
}

test("an id that a cluster has left is named to no other secondary: nobody answers by it", async (t) => {
  const a = await startPrimary(t);
  const [b, c] = [await joined(t, a, "b"), await joined(t, a, "c")];
  for (const one of [b, c]) await inSync(a, one);
  const siblings = () => storedSiblings(viewOf(b)).map(({ id }) => id);
  await until(() => siblings().join() === "c");
  await rejoined(a, c, "c2", a.opened.shares, a.token);
  await inSync(a, c);
  await until(() => siblings().includes("c2"));
  assert.deepEqual(siblings(), ["c2"]);
});

test("who has come under three ids is waited for once, and holds the log for one of them", async (t) => {
  const a = await startPrimary(t);
  const c = await joined(t, a, "c");
  await inSync(a, c);
  for (const id of ["c2", "c4"]) {
    await rejoined(a, c, id, a.opened.shares, a.token);
    await inSync(a, c);
  }
  await isAlone(a, "c4", ["c", "c2"]);
  await a.put("x", { n: "1" });
  await until(() => a.replication.retention?.acknowledged === a.index);
  // Also where only the last has come since a start.
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  await c.replication.recover();
  await isAlone(a, "c4", ["c", "c2"]);
  // To revoke one of them is what the status says to do, and cuts nobody off.
  assert.equal((await a.dr("primary/revoke-secondary", { id: "c" })).status, 204);
  await a.put("y", { n: "1" });
  await inSync(a, c);
  await isAlone(a, "c4", ["c2"]);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  const warnings = String(at(demoted, "warnings"));
  assert.match(warnings, /everything is on: c4/);
  assert.doesNotMatch(warnings, /NOT everything/);
});
