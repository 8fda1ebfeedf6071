// of docs/cases/replication.md on processes between which packets are dropped and nobody is told: no connection ends, and none carries
// anything. Whatever was revoked meanwhile ends soon after the way is whole again, and writes go on.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { at } from "../../support/http-client.ts";
import { suiteEnds } from "../../support/replication/case-suite.ts";
import type { ClusterProcess } from "../../support/replication/cluster-process.ts";
import { done } from "../../support/replication/regions/region-calls.ts";
import {
  is,
  joinRegionProcess,
  perfStatus,
  regionFollows,
  startPerformanceProcess,
  startRegionProcess,
} from "../../support/replication/regions/region-process.ts";
import { until } from "../../support/until.ts";

const WITHIN_MS = 5000;
const ends = suiteEnds();
let a: ClusterProcess;
let b: ClusterProcess;
let c: ClusterProcess;

before(async () => {
  [a, b, c] = await Promise.all([
    startPerformanceProcess(ends),
    startRegionProcess(ends, "b"),
    startRegionProcess(ends, "c"),
  ]);
  await Promise.all([joinRegionProcess(a, b, "region-b"), joinRegionProcess(a, c, "region-c")]);
  await Promise.all([regionFollows(b), regionFollows(c)]);
});

/** A token that is good in all regions. */
async function globalToken(): Promise<{ readonly secret: string; readonly accessor: string }> {
  const body = { Type: "management", Global: true };
  const made = await done(a.call("POST", "/v1/acl/token", { token: a.token, body }));
  const token = { secret: String(at(made, "SecretID")), accessor: String(at(made, "AccessorID")) };
  for (const one of [b, c]) await until(async () => (await statusOf(one, token.secret)) === 200);
  return token;
}

async function statusOf(cluster: ClusterProcess, token: string): Promise<number> {
  return (await cluster.call("GET", "/v1/acl/token/self", { token })).status;
}

/** How long it takes until the token is dead and writes go on in both regions. */
async function recovery(secret: string, name: string): Promise<number> {
  const begun = performance.now();
  a.way.heal();
  await Promise.all(
    [b, c].map(async (one) => {
      await until(async () => (await statusOf(one, secret)) === 403);
      await until(async () => (await one.put(`${name}-${one.clusterPort}`, "1")).status === 200);
    }),
  );
  return performance.now() - begun;
}

async function revoke(accessor: string): Promise<void> {
  await done(a.call("DELETE", `/v1/acl/token/${accessor}`, { token: a.token }));
}

test("R-68, R-73: before anybody has noticed: a write that was sent on meanwhile is lost and said to be, and neither half done nor done later", async (t) => {
  const { secret, accessor } = await globalToken();
  a.way.drop();
  await revoke(accessor);
  const index = async () => Number((await perfStatus(a))["last_performance_wal"]);
  const before = await index();
  const writing = b.put("lost", "1");
  // An echo of each has gone, and nothing has come back: both call beside the connection that they have.
  const { accepted } = a.way;
  await until(() => a.way.accepted >= accepted + 2);
  for (const one of [b, c]) {
    assert.equal(await statusOf(one, secret), 200, "what it knows last");
    assert.equal((await perfStatus(one))["connection_state"], "ready");
  }
  const took = await recovery(secret, "before");
  const lost = await writing;
  is(lost, 503, "primary_lost");
  assert.ok(took < WITHIN_MS, `${took} ms`);
  t.diagnostic(`${took.toFixed()} ms`);
  for (const one of [a, b, c]) assert.equal(await one.value("lost"), null);
  assert.equal(await index(), before + 2, "the two writes of after, and no part of another");
});

test("R-68, R-73: after all have given it up: writes are refused at once, and the worst moment to heal is when a call has just begun", async (t) => {
  const { secret, accessor } = await globalToken();
  a.way.drop();
  await revoke(accessor);
  for (const one of [b, c]) {
    await until(async () => (await perfStatus(one))["forwards_writes"] === false);
    is(await one.put("refused", "1"), 503, "primary_unreachable");
  }
  const { accepted } = a.way;
  await until(() => a.way.accepted > accepted + 1);
  const took = await recovery(secret, "after");
  assert.ok(took < WITHIN_MS, `${took} ms`);
  t.diagnostic(`${took.toFixed()} ms`);
  for (const one of [a, b, c]) assert.equal(await one.value("refused"), null);
});
