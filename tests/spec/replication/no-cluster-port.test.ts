// Clusters without a cluster port, which nobody can come to: a secondary that could not take over, and a primary that lost its own.

import assert from "node:assert/strict";
import test from "node:test";
import { statusView } from "../../../src/cli/replication/status-view.ts";
import { at } from "../../support/http-client.ts";
import {
  Cluster,
  inSync,
  joined,
  startCluster,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";

async function portless(cluster: Cluster, token: string): Promise<string[]> {
  const answer = await cluster.server.call("GET", "/v1/sys/attention", { token });
  assert.equal(answer.status, 200, answer.text);
  const items = at(answer, "data", "items") as { code: string; subject: string; text: string }[];
  const found = items.filter(({ code }) => code === "replication.no-port");
  return found.map(({ subject, text }) => `${subject}: ${text}`);
}

async function statusText(cluster: Cluster): Promise<string> {
  const { view, advice, troubled } = statusView(await cluster.status(), 0n);
  assert.equal(troubled, true);
  return JSON.stringify([view, advice]);
}

test("a disaster-recovery secondary without a cluster port is told of by both sides: it cannot be promoted", async (t) => {
  const a = await startPrimary(t);
  const c = await joined(t, a, "site-c");
  await inSync(a, c);
  const b = await joined(t, a, "site-b", { clusterPort: null });
  await inSync(a, b);
  assert.deepEqual(await portless(a, a.token), [
    "site-b: a secondary has no cluster port: it cannot be promoted",
  ]);
  assert.deepEqual(await portless(b, await b.operationToken(a.opened.shares)), [
    ": this secondary has no cluster port: it cannot be promoted",
  ]);
  assert.equal((await b.status())["cluster_port"], false);
  assert.equal((await c.status())["cluster_port"], undefined);
  assert.match(
    await statusText(b),
    /\["Cluster Port","none: it cannot be promoted"\].*cluster_address/,
  );
  assert.equal(statusView(await c.status(), 0n).troubled, false);
});

test("a primary that has lost its cluster port says that nobody can come, and sends nobody for tokens", async (t) => {
  const generations = new KeptGenerations();
  const before = await startCluster(t, { generations });
  assert.equal((await before.dr("primary/enable")).status, 200);
  assert.deepEqual(await portless(before, before.token), []);
  await before.server.stop();
  const server = await startServer({ generations });
  t.after(() => server.stop());
  await server.unseal(before.opened.shares);
  const a = new Cluster(server, before.opened);
  assert.deepEqual(await portless(a, a.token), [
    ": this primary has no cluster port: no other cluster can follow it",
  ]);
  const text = await statusText(a);
  assert.match(
    text,
    /\["Cluster Address","none.*\["Secondaries","none can come"\].*cluster_address/,
  );
  assert.doesNotMatch(text, /public-key/);
});
