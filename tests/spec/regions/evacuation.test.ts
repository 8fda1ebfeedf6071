// A shared mount that the primary disables or moves: what a secondary has given by it is revoked there first, with what the mount has.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { at } from "../../support/http-client.ts";
import type { Cluster, ClusterOptions } from "../../support/replication/clusters.ts";
import { ask, leasesOf, mountCounting } from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  regionInSync,
  startPerformancePrimary,
  withRoot,
} from "../../support/replication/performance.ts";
import { freePort, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { ServerTime } from "../../support/servers/server-time.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { Outside } from "../../support/stores/outside.ts";
import { until } from "../../support/until.ts";

interface Two {
  readonly a: Cluster;
  readonly b: Cluster;
  /** Of each of them. */
  readonly outside: { readonly a: Outside; readonly b: Outside };
  readonly time: ServerTime | null;
  readonly way: TcpProxy;
}

/** Two regions with the mount `count`, which makes things outside; on time that the test moves, or on that of the machine. */
async function pair(t: TestContext, { isTimed = false } = {}): Promise<Two> {
  const outside = { a: new Outside(), b: new Outside() };
  const time = isTimed ? new ServerTime(BigInt(Date.now()) * 1_000_000n) : null;
  const world = time === null ? {} : { world: { clock: time.clock, timers: time } };
  const options = (of: Outside): ClusterOptions => ({
    ...world,
    engineTypes: [anyEngine(countingEngine(of))],
  });
  const clusterPort = await freePort();
  const way = await TcpProxy.before(t, clusterPort);
  const address = `https://127.0.0.1:${way.port}`;
  const a = await startPerformancePrimary(t, { ...options(outside.a), clusterPort, address });
  await mountCounting(a, "count");
  const joined = await joinedRegion(t, a, "b", options(outside.b));
  const b = withRoot(joined, a.token);
  const two = { a, b, outside, time, way };
  await timed(two, regionInSync(a, b));
  await until(async () => (await ask(b, a.token, "GET", "count/roles/r")).status === 200);
  return two;
}

/** What waits for time to pass gets on. */
async function timed<T>({ time }: Pick<Two, "time">, work: Promise<T>): Promise<T> {
  if (time === null) return await work;
  const over = work.then(
    () => true,
    () => true,
  );
  while (!(await Promise.race([over, time.passSlowly(SECOND / 10n, SECOND / 10n)]))) continue;
  return await work;
}

async function issue(cluster: Cluster, path = "count/creds/r"): Promise<string> {
  const answer = await ask(cluster, cluster.token, "GET", path);
  assert.equal(answer.status, 200, answer.text);
  return String(at(answer, "lease_id"));
}

async function isMounted(cluster: Cluster, path: string): Promise<boolean> {
  return (await ask(cluster, cluster.token, "GET", `sys/mounts/${path}`)).status === 200;
}

/** What the primary says of a mount that it disables. */
async function leasesLeft(cluster: Cluster, path: string): Promise<unknown> {
  const answer = await ask(cluster, cluster.token, "GET", `sys/mounts/${path}`);
  return answer.status === 200 ? at(answer, "data", "leases_left") : null;
}

test("a mount is disabled when its leases are revoked in every region, and until then shows how many are left", async (t) => {
  const { a, b, outside } = await pair(t);
  await issue(a);
  await issue(b);
  await issue(b);
  const letGo = outside.b.hold("revoke");
  const disabling = ask(a, a.token, "DELETE", "sys/mounts/count");
  await until(() => outside.b.reached("revoke") > 0);
  await until(async () => outside.a.objects.length === 0 && (await leasesLeft(a, "count")) === 2);
  assert.equal(outside.b.objects.length, 2);
  letGo();
  assert.ok((await disabling).status < 300);
  assert.deepEqual([outside.a.objects, outside.b.objects], [[], []]);
  assert.equal(await isMounted(a, "count"), false);
  await until(async () => !(await isMounted(b, "count")));
  assert.deepEqual(await leasesOf(b, a.token, "count/creds/r"), []);
});

test("what a region was making when the mount was disabled is undone there before the mount goes", async (t) => {
  const { a, b, outside } = await pair(t);
  const letGo = outside.b.hold("made");
  const making = ask(b, a.token, "GET", "count/creds/r");
  await until(() => outside.b.reached("made") === 1);
  const disabling = ask(a, a.token, "DELETE", "sys/mounts/count");
  // It is closed there.
  await until(async () => (await ask(b, a.token, "GET", "count/roles/r")).status !== 200);
  assert.equal(await isMounted(a, "count"), true);
  letGo();
  assert.ok((await making).status >= 400);
  assert.ok((await disabling).status < 300);
  assert.deepEqual(outside.b.objects, []);
});

test("a namespace is deleted when the leases of its mounts are revoked in every region", async (t) => {
  const { a, b, outside } = await pair(t);
  assert.ok((await ask(a, a.token, "POST", "sys/namespaces/team")).status < 300);
  const mounted = await ask(a, a.token, "POST", "team/sys/mounts/count", { type: "counting" });
  assert.equal(mounted.status, 204, mounted.text);
  const role = await ask(a, a.token, "POST", "team/count/roles/r", { ttl: 3600 });
  assert.equal(role.status, 204, role.text);
  await until(async () => (await ask(b, a.token, "GET", "team/count/roles/r")).status === 200);
  await issue(b, "team/count/creds/r");
  const letGo = outside.b.hold("revoke");
  const shared = a.server.server.barrier.view("shared/");
  const mounts = () => shared.keys("mounts/", { limit: 100 }).length;
  const before = mounts();
  assert.ok((await ask(a, a.token, "DELETE", "sys/namespaces/team")).status < 300);
  await until(() => outside.b.reached("revoke") > 0);
  assert.equal(mounts(), before);
  letGo();
  await until(() => mounts() === before - 1);
  assert.deepEqual(outside.b.objects, []);
});

test("a mount moves when its leases are revoked in every region", async (t) => {
  const { a, b, outside } = await pair(t);
  await issue(b);
  const letGo = outside.b.hold("revoke");
  const body = { from: "count", to: "counted" };
  const moving = await ask(a, a.token, "POST", "sys/remount", body);
  assert.equal(moving.status, 200, moving.text);
  await until(() => outside.b.reached("revoke") > 0);
  assert.equal(await isMounted(a, "counted"), false);
  letGo();
  await until(async () => (await isMounted(b, "counted")) && (await isMounted(a, "counted")));
  assert.deepEqual(outside.b.objects, []);
  await issue(b, "counted/creds/r");
});

test("a region that cannot be reached is not waited for, and what it has given becomes irrevocable when the mount is gone", async (t) => {
  const two = await pair(t, { isTimed: true });
  const { a, b, outside, time, way } = two;
  await timed(two, issue(b));
  way.cut();
  const disabled = await timed(two, ask(a, a.token, "DELETE", "sys/mounts/count"));
  assert.ok(disabled.status < 300, disabled.text);
  assert.equal(await isMounted(a, "count"), false);
  assert.equal(outside.b.objects.length, 1);
  way.heal();
  await timed(
    two,
    until(async () => !(await isMounted(b, "count"))),
  );
  await time!.passSlowly(2n * 60n * MINUTE, MINUTE);
  const stuck = await ask(
    b,
    a.token,
    "GET",
    "sys/leases?type=irrevocable&include_child_namespaces=true",
  );
  assert.equal(stuck.status, 200, stuck.text);
  assert.match(stuck.text, /its mount is gone/);
});
