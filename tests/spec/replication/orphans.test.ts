// What a primary has made outside after it was cut off: when it follows the one that took its place, that one ends it.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { utf8 } from "@holdfast/shared/bytes";
import { bytesCodec, jsonCodec } from "@holdfast/shared/codec";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { View } from "../../../src/barrier/view.ts";
import { type Lease, leaseCodec } from "../../../src/leases/lease.ts";
import { sendOrphans } from "../../../src/replication/joining/calls.ts";
import { linkTo } from "../../../src/replication/links/dialing.ts";
import type { BroughtRow } from "../../../src/replication/links/orphans.ts";
import { trimLog } from "../../../src/storage/trimming.ts";
import { storedUpstream } from "../../../src/replication/links/upstream.ts";
import { SystemNet } from "../../../src/system/net.ts";
import { SystemRandom } from "../../../src/system/random.ts";
import { at } from "../../support/http-client.ts";
import { Cluster, rejoined } from "../../support/replication/clusters.ts";
import {
  ask,
  issued,
  leasesOf,
  mountCounting,
  OutsideSite,
} from "../../support/replication/outside-site.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { until } from "../../support/until.ts";

async function codesOf(cluster: Cluster, token: string): Promise<string[]> {
  const answer = await ask(cluster, token, "GET", "sys/attention");
  const items = at(answer, "data", "items") as { code: string }[];
  return items.map(({ code }) => code);
}

test("leases and write-ahead records of a tail that is given up are taken over by the new primary, and end; what has no mount there is counted", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const { outside } = site;
  const kept = await issued(a);
  const b = await site.secondary(a);
  await b.replication.rest(); // cut off
  const since = [await issued(a), await issued(a)];
  const gone = await issued(a);
  const revoked = await ask(a, a.token, "POST", "sys/leases/revoke", {
    lease_id: gone.id,
    sync: true,
  });
  assert.equal(revoked.status, 204, revoked.text);
  // One that was recorded and made, whose lease never came to be.
  outside.fail("made", () => new Error("the provider hangs up"), 1);
  await ask(a, a.token, "GET", "count/creds/r");
  await mountCounting(a, "newer");
  const stranger = await issued(a, "newer/creds/r");
  assert.equal(outside.objects.length, 5);

  await site.forced(a, b);
  const late = await site.timed(issuedBy(b, a.token));
  await site.followed(a, b);
  const begun = site.time.clock.elapsed();
  await site.passUntil(() => outside.objects.length === 3);
  assert.ok(site.time.clock.elapsed() - begun <= 2n * MINUTE, "at once, however young they are");
  assert.deepEqual(
    new Set(outside.objects),
    new Set([kept.object, late.object, stranger.object]),
    "what the new primary knows stays, and what nobody can end",
  );
  for (const { object } of since) assert.equal(outside.removals(object), 1);
  const leases = await leasesOf(b, a.token, "count/creds/r");
  assert.deepEqual(
    new Set(leases.map((name) => `count/creds/r/${name}`)),
    new Set([kept.id, late.id]),
  );
  await site.inSync(b, a);
  const { orphans_waiting: waiting } = await a.status();
  const { orphans_adopted: adopted, orphans_left: left } = await b.status();
  assert.deepEqual([waiting, adopted, left], [0, 3, 1]);
  assert.ok((await codesOf(b, a.token)).includes("replication.orphans"));
  for (const { server } of [a.server, b.server])
    assert.equal((await server.store.check()).ok, true);
});

test("what waits to be taken over outlives a restart, and is handed over when the primary takes it", async (t) => {
  const site = new OutsideSite(t);
  const disk = new MemoryDisk();
  const a = await site.primary({ disk });
  const { outside } = site;
  const generations = new KeptGenerations();
  const b = await site.secondary(a, { generations });
  await b.replication.rest();
  const since = await issued(a);
  await site.forced(a, b);
  await filled(site, b, a.token, generations);
  await site.followed(a, b);
  assert.equal((await a.status())["orphans_waiting"], 1);
  assert.ok(outside.has(since.object));
  assert.deepEqual(await leasesOf(b, a.token, "count/creds/r"), [], "a full disk takes nothing");

  await a.server.crash();
  const again = await restarted(t, site, disk, a);
  assert.equal((await again.status())["orphans_waiting"], 1);
  generations.free = null;
  await site.passUntil(() => !outside.has(since.object), 5n * SECOND);
  await site.passUntil(async () => (await again.status())["orphans_waiting"] === 0);
  assert.equal(outside.removals(since.object), 1);
});

test("where the log does not reach back to the fork, everything is compared, and what is outside is handed over all the same", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const kept = await issued(a);
  const b = await site.secondary(a);
  await b.replication.rest();
  const since = await issued(a);
  for (let i = 0; i < 4; i++) await a.put("x", { n: String(i) });
  const { store } = a.server.server;
  const world = { clock: site.time.clock, timers: site.time };
  const retention = { minEntries: 1n, age: 0n, acknowledged: null };
  await site.passUntil(async () => (await trimLog(store, world, retention)) > 0);
  await site.forced(a, b);
  await site.followed(a, b);
  await site.passUntil(() => !site.outside.has(since.object));
  assert.ok(site.outside.has(kept.object));
  await site.inSync(b, a);
  assert.deepEqual(
    (await leasesOf(b, a.token, "count/creds/r")).map((name) => `count/creds/r/${name}`),
    [kept.id],
  );
  assert.deepEqual(
    [(await b.status())["orphans_adopted"], (await b.status())["orphans_left"]],
    [1, 0],
  );
});

test("one that has never led brings nothing back: what the primary has ended while it was away has ended once", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const [kept, gone] = [await issued(a), await issued(a)];
  const b = await site.secondary(a);
  await b.replication.rest();
  const body = { lease_id: gone.id, sync: true };
  const revoked = await ask(a, a.token, "POST", "sys/leases/revoke", body);
  assert.equal(revoked.status, 204, revoked.text);
  for (let i = 0; i < 4; i++) await a.put("x", { n: String(i) });
  const { store } = a.server.server;
  const world = { clock: site.time.clock, timers: site.time };
  const retention = { minEntries: 1n, age: 0n, acknowledged: null };
  await site.passUntil(async () => (await trimLog(store, world, retention)) > 0);
  // With a token of the primary: that one says that what only this cluster has is given up.
  await rejoined(a, b, "site-b2", a.opened.shares, a.token);
  await site.passUntil(async () => (await b.status())["state"] === "stream-wals");
  await site.inSync(a, b);
  await site.passUntil(async () => (await b.status())["orphans_waiting"] === 0);
  assert.equal((await a.status())["orphans_adopted"], 0);
  assert.equal(site.outside.removals(gone.object), 1);
  assert.ok(site.outside.has(kept.object));
});

test("who leads again before anybody has taken them over takes over its own", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const generations = new KeptGenerations();
  const b = await site.secondary(a, { generations });
  await b.replication.rest();
  const since = await issued(a);
  await site.forced(a, b);
  await filled(site, b, a.token, generations);
  await site.followed(a, b);
  await site.inSync(b, a);
  assert.equal((await a.status())["orphans_waiting"], 1);
  const token = await a.operationToken(a.opened.shares);
  const demoted = await b.dr("primary/demote", {}, a.token);
  assert.equal(demoted.status, 200, demoted.text);
  const promoted = await a.dr("secondary/promote", {}, token);
  assert.equal(promoted.status, 200, promoted.text);
  await site.passUntil(() => !site.outside.has(since.object));
  const { orphans_adopted: adopted } = await a.status();
  assert.equal(adopted, 1);
  await until(async () => (await leasesOf(a, a.token, "count/creds/r")).length === 0);
});

test("a member that brings what it likes changes no lease of the primary, no other row, and not the time of leases", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const kept = await issued(a);
  const b = await site.secondary(a);
  const local = a.server.server.barrier.view("local/");
  const key = `leases/records/root/${kept.id}`;
  const lease = leaseCodec.decode(local.get(key, bytesCodec)!);
  const uuid = lease.mountUuid;
  const bring = (...rows: readonly BroughtRow[]) => handOver(site, b, rows);
  const named = (name: string, change: Partial<Lease> = {}): BroughtRow => {
    const id = `count/creds/r/${name.padEnd(24, "x")}`;
    return {
      key: `leases/records/root/${id}`,
      value: leaseCodec.encode({ ...lease, id, ...change }),
    };
  };
  const before = keysOf(local);
  const due = leaseCodec.encode({ ...lease, expires: 1n, due: 1n, ending: "revoke" });
  const known = { key, value: due };
  const record = utf8(
    JSON.stringify({ kind: "object", data: { object: kept.object }, created: "1" }),
  );
  const wal = `ns/root/mounts/${uuid}/wal/`;
  const refused: BroughtRow[] = [
    named("another", { id: kept.id }),
    named("elsewhere", { namespaceId: "other" }),
    named("mount", { mountUuid: "6f1f2a34-0f0e-4f4c-8a55-1d2f3b4c5d6e" }),
    named("slash", { owner: { namespaceId: "root", accessor: "a/b" } }),
    { ...named("text"), value: utf8("no lease") },
    { ...named("bare"), value: utf8("{}") },
    { key: `leases/records/root/${kept.id}/more`, value: due },
    { key: `leases/counts/${uuid}`, value: utf8('{"leases":0,"irrevocable":0,"seen":"9"}') },
    { key: `ns/root/mounts/${uuid}/data/roles/r`, value: record },
    { key: `${wal}not-an-id`, value: record },
    { key: `${wal}0b8e2f3e-0000-4000-8000-000000000001`, value: utf8('{"kind":"object"}') },
    { key: "ns/root/mounts/gone/wal/0b8e2f3e-0000-4000-8000-000000000001", value: record },
    { key: "../shared/x", value: record },
  ];
  assert.deepEqual(await bring(known, ...refused), { adopted: 0, known: 1, left: refused.length });
  assert.deepEqual(keysOf(local), before);
  assert.deepEqual(leaseCodec.decode(local.get(key, bytesCodec)!), lease);
  const answer = await bring(known, ...refused);
  assert.deepEqual(answer, { adopted: 0, known: 1, left: refused.length });
  assert.equal((await a.status())["orphans_left"], refused.length, "brought again, it counts once");

  const odd = `${wal}0b8e2f3e-0000-4000-8000-000000000002`;
  const strange = { kind: "object", data: { object: "none" }, created: "1", nextTry: "9" };
  const taken = await bring({ key: odd, value: utf8(JSON.stringify(strange)) });
  assert.deepEqual(taken, { adopted: 1, known: 0, left: 0 });
  // Engines tell by its time what was made then.
  const { nextTry: _, ...whole } = strange;
  assert.deepEqual(local.get(odd, jsonCodec()), { ...whole, abandoned: true });

  // What is taken over says nothing of the time that other leases go by.
  const now = a.server.server.barrier.view("local/");
  const future = 10n ** 19n - 1n;
  const release = site.outside.hold("revoke");
  const ahead = named("ahead", { issued: future, expires: future, internal: { object: "none" } });
  assert.deepEqual(await bring(ahead, ahead), { adopted: 1, known: 0, left: 1 });
  const count = now.get(`leases/counts/${uuid}`, jsonCodec<{ leases: number; seen: string }>());
  assert.equal(count?.leases, 2);
  assert.ok(BigInt(count.seen) <= site.time.clock.now());
  release();
  await site.passUntil(async () => (await leasesOf(a, a.token, "count/creds/r")).length === 1);
  assert.ok(site.outside.has(kept.object));

  const revoked = await a.dr("primary/revoke-secondary", { id: "site-b" });
  assert.equal(revoked.status, 204, revoked.text);
  await assert.rejects(bring(named("late")));
});

/** With the certificate and the keys of a secondary, over its own link. */
async function handOver(site: OutsideSite, member: Cluster, rows: readonly BroughtRow[]) {
  const { barrier } = member.server.server;
  const upstream = storedUpstream(barrier.view("core/replication/dr/"), "dr");
  const { role } = member.replication;
  assert.ok(upstream !== null && role.mode === "secondary");
  const world = { clock: site.time.clock, timers: site.time, net: new SystemNet() };
  const link = linkTo(role.address, upstream.member, world);
  try {
    const epoch = role.epoch.number;
    await link.open({ clusterId: await member.clusterId(), version: "1.2.3", epoch });
    const by = { epoch, rootKey: barrier.rootKey, random: new SystemRandom() };
    return await sendOrphans(link, upstream.member, rows, by);
  } finally {
    await link.close();
  }
}

function keysOf(view: View): string[] {
  return view.keys("", { limit: 10_000 });
}

/** Its disk is nearly full, and it has noticed. */
async function filled(
  site: OutsideSite,
  cluster: Cluster,
  token: string,
  generations: KeptGenerations,
): Promise<void> {
  generations.free = 1 << 20;
  await site.passUntil(async () => {
    const written = await ask(cluster, token, "POST", "secret/data/more", { data: { n: "1" } });
    return written.status >= 500;
  });
}

/** The process of a cluster begins anew, and is unsealed. */
async function restarted(
  t: TestContext,
  site: OutsideSite,
  disk: MemoryDisk,
  { opened }: Cluster,
): Promise<Cluster> {
  const clusterPort = { host: "127.0.0.1", port: 0 };
  const server = await startServer({
    ...site.options({ disk }),
    config: (config) => ({ ...config, clusterPort }),
  });
  t.after(() => server.stop());
  await server.unseal(opened.shares);
  return new Cluster(server, opened);
}

async function issuedBy(cluster: Cluster, token: string) {
  const answer = await ask(cluster, token, "GET", "count/creds/r");
  assert.equal(answer.status, 200, answer.text);
  return { id: String(at(answer, "lease_id")), object: String(at(answer, "data", "object")) };
}
