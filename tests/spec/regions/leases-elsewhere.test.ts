// A role of a shared mount goes: leases that other regions have given by it count, and one that says nothing keeps it from going.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { ask, issued, leasesOf, mountCounting } from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  performanceOf,
  perfStatus,
  regionInSync,
  startPerformancePrimaryBehind,
  withRoot,
} from "../../support/replication/performance.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { Outside } from "../../support/stores/outside.ts";
import { until } from "../../support/until.ts";

async function pair(t: TestContext) {
  const outside = { a: new Outside(), b: new Outside() };
  const options = (of: Outside) => ({ engineTypes: [anyEngine(countingEngine(of))] });
  const { primary: a, way } = await startPerformancePrimaryBehind(t, options(outside.a));
  await mountCounting(a, "count");
  const b = withRoot(await joinedRegion(t, a, "b", options(outside.b)), a.token);
  await regionInSync(a, b);
  await until(async () => (await ask(b, a.token, "GET", "count/roles/r")).status === 200);
  return { a, b, outside, way };
}

async function remove(cluster: Cluster, query = "", role = "r"): Promise<Answer> {
  return await ask(cluster, cluster.token, "DELETE", `count/roles/${role}${query}`);
}

async function hasRole(cluster: Cluster): Promise<boolean> {
  return (await ask(cluster, cluster.token, "GET", "count/roles/r")).status === 200;
}

test("leases of a role that a secondary has given count where the role is deleted, by whoever asks for it", async (t) => {
  const { a, b } = await pair(t);
  await issued(b);
  await issued(b);
  const role = await ask(a, a.token, "POST", "count/roles/other", { ttl: 3600 });
  assert.equal(role.status, 204, role.text);
  const none = await remove(a, "", "other");
  assert.equal(none.status, 204, none.text);
  const deleted = await remove(b);
  assert.equal(deleted.status, 200, deleted.text);
  assert.match(deleted.text, /"2 leases live on"/);
  assert.equal((await leasesOf(b, b.token, "count/creds/r")).length, 2);
});

test("what a region makes by a role that is deleted meanwhile is given to nobody and ended; what it has given before the deletion came to it is counted", async (t) => {
  const { a, b, outside } = await pair(t);
  const release = outside.b.hold("made", 1);
  const half = ask(b, b.token, "GET", "count/creds/r");
  await until(() => outside.b.reached("made") === 1);
  // The second question comes when the role is deleted there: by then this one is a lease.
  const counted = performanceOf(a);
  const real = counted.leasesElsewhere.bind(counted);
  let questions = 0;
  t.mock.method(counted, "leasesElsewhere", async (question: Parameters<typeof real>[0]) => {
    const found = await real(question);
    if (++questions === 1) await issued(b);
    return found;
  });
  const deleted = await remove(a);
  assert.equal(deleted.status, 200, deleted.text);
  assert.match(deleted.text, /"1 leases live on"/);
  release();
  const refused = await half;
  assert.equal(refused.status, 400, refused.text);
  assert.equal(refused.headers["x-service-error"], "lease_role_gone");
  assert.equal((await leasesOf(b, b.token, "count/creds/r")).length, 1);
  await until(() => outside.b.objects.length === 1);
});

test("a secondary that is not reached keeps a role from being deleted, unless that is forced", async (t) => {
  const { a, b, way } = await pair(t);
  await issued(b);
  way.cut();
  await until(async () => (await perfStatus(b))["state"] !== "stream-wals");
  const refused = await remove(a);
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.headers["x-service-error"], "leases_uncounted");
  assert.ok(await hasRole(a));
  const forced = await remove(a, "?force=true");
  assert.equal(forced.status, 200, forced.text);
  assert.match(forced.text, /a region that shares this mount has not answered/);
  assert.ok(!(await hasRole(a)));
});

test("leases that are to be revoked with their role are revoked in every region", async (t) => {
  const { a, b, outside } = await pair(t);
  const here = await issued(a);
  const there = await issued(b);
  const deleted = await remove(a, "?revoke_leases=true");
  assert.equal(deleted.status, 200, deleted.text);
  await until(
    () => !outside.b.objects.includes(there.object) && !outside.a.objects.includes(here.object),
  );
});

test("a secondary counts nothing of a mount that is its own, whatever its primary says", async (t) => {
  const { a, b } = await pair(t);
  const body = { type: "counting", local: true };
  const mounted = await ask(b, b.token, "POST", "sys/mounts/own", body);
  assert.equal(mounted.status, 204, mounted.text);
  const role = await ask(b, b.token, "POST", "own/roles/r", { ttl: 3600 });
  assert.equal(role.status, 204, role.text);
  await issued(b, "own/creds/r");
  await issued(b);
  const count = async (path: string) => {
    const mount = await ask(b, b.token, "GET", `sys/mounts/${path}`);
    const question = { mount: String(at(mount, "data", "uuid")), place: "creds/r", revoke: true };
    return (await performanceOf(a).leasesElsewhere(question))?.count;
  };
  assert.equal(await count("own"), 0);
  assert.equal(await count("count"), 1);
  await until(async () => (await leasesOf(b, b.token, "count/creds/r")).length === 0);
  assert.equal((await leasesOf(b, b.token, "own/creds/r")).length, 1);
});
