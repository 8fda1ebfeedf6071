// Section K, what filters withhold: not on the wire, and not in what a region and who stands in for it have on their disks, in memory or in
// their snapshots.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { gunzipSync } from "node:zlib";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { fromHex } from "@holdfast/shared/bytes";
import { EntryCache } from "../../../src/barrier/cache.ts";
import { ask } from "../../../src/forwarding/messages.ts";
import { SqliteGenerations } from "../../../src/storage/generations/sqlite-generations.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { is, standInOf, startCascade, takeOver } from "../../support/replication/cascade.ts";
import { type Cluster, inSync, joined } from "../../support/replication/clusters.ts";
import {
  deleteFilter,
  deny,
  makeNamespace,
  mountSecret,
  request,
  scopeOfMount,
  secretAt,
  siftedRegion,
} from "../../support/replication/filtered.ts";
import {
  ask as askMount,
  issued,
  leasesOf,
  mountCounting,
} from "../../support/replication/outside-site.ts";
import {
  joinedRegion,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  startPerformancePrimaryBehind,
  withRoot,
} from "../../support/replication/performance.ts";
import { captured } from "../../support/replication/regions/said.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { Outside } from "../../support/stores/outside.ts";
import { at } from "../../support/http-client.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { until } from "../../support/until.ts";

/** Whether members were told of a mount, by its uuid or by its scope. */
function tells(t: TestContext): { readonly has: (uuid: string) => boolean } {
  const said = captured(t);
  return { has: (uuid) => said.has(uuid) || said.has(fromHex(scopeOfMount(uuid))!) };
}

/** How many requests have come by a method from here on. */
function arrivals(t: TestContext, { request: codec }: { readonly request: object }): () => number {
  const own = codec as { decode: (bytes: Uint8Array) => unknown };
  const { decode } = own;
  let count = 0;
  own.decode = (bytes) => {
    count++;
    return decode.call(own, bytes);
  };
  t.after(() => {
    own.decode = decode;
  });
  return () => count;
}

async function onDisk(
  t: TestContext,
): Promise<{ directory: string; generations: SqliteGenerations }> {
  const directory = mkdtempSync(join(tmpdir(), "filtered-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return {
    directory,
    generations: await SqliteGenerations.claim({ directory, fs: new SystemFs() }),
  };
}

/** Whether any file says it. */
function isOnDisk(directory: string, uuid: string): boolean {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  const scope = fromHex(scopeOfMount(uuid))!;
  return files
    .filter((file) => file.isFile())
    .some((file) => {
      const bytes = readFileSync(join(file.parentPath, file.name));
      return bytes.includes(uuid) || bytes.includes(scope);
    });
}

/** Every decrypted value that a cluster of this process keeps from here on, and where. */
function keptValues(t: TestContext) {
  const kept: { readonly cache: EntryCache; readonly path: string; readonly value: Uint8Array }[] =
    [];
  const own = Object.getOwnPropertyDescriptor(EntryCache.prototype, "put")!;
  const put = own.value as EntryCache["put"];
  EntryCache.prototype.put = function (this: EntryCache, path, value) {
    kept.push({ cache: this, path, value });
    put.call(this, path, value);
  };
  t.after(() => Object.defineProperty(EntryCache.prototype, "put", own));
  return kept;
}

async function regionOf(t: TestContext, a: Cluster): Promise<Cluster> {
  return withRoot(await joinedRegion(t, a), a.token);
}

test("T-K01, R-76 a filter is there before the first byte: nothing of what it withholds is ever said, whatever becomes of it", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  const us = await mountSecret(a, "us");
  await deny(a, "eu/");
  const wire = tells(t);
  const b = await regionOf(t, a);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.ok((await request(a, "POST", "eu/two", { body: { a: 1 } })).status < 300);
  assert.ok((await request(a, "POST", "us/two", { body: { a: 1 } })).status < 300);
  assert.ok((await request(a, "DELETE", "eu/one")).status < 300);
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(wire.has(eu), false);
  assert.equal(wire.has(us), true); // it would have been heard
  await deleteFilter(a);
  await siftedRegion(a, b);
  assert.equal(wire.has(eu), true);
});

test("T-K01, R-77 what is withheld from a region that has it goes from its disk, its log and from who stands in for it", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  const disk = await onDisk(t);
  const b = withRoot(await joinedRegion(t, a, "b", { generations: disk.generations }), a.token);
  await regionInSync(a, b);
  const enabled = await b.dr("primary/enable");
  assert.equal(enabled.status, 200, enabled.text);
  const below = await onDisk(t);
  const d = await joined(t, b, "stand-in", { generations: below.generations });
  await inSync(b, d);
  assert.equal(isOnDisk(disk.directory, eu), true);
  assert.equal(isOnDisk(below.directory, eu), true);
  await deny(a, "eu/");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await secretAt(b, "eu"), null);
  await until(() => !isOnDisk(disk.directory, eu));
  await inSync(b, d);
  // Whatever is written next takes the rest with it.
  await until(async () => {
    assert.ok((await request(b, "POST", "cubbyhole/x", { body: { a: 1 } })).status < 300);
    return !isOnDisk(below.directory, eu);
  });
  await inSync(b, d);
});

test("T-K01 what is withheld from a region is in no snapshot that it takes from then on, and its values are wiped from what it keeps of decrypted ones", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  const us = await mountSecret(a, "us");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  const isInSnapshot = async (uuid: string) => {
    const { status, body } = await takeSnapshot(b.server.url, a.token);
    assert.equal(status, 200);
    const bytes = gunzipSync(body);
    return bytes.includes(uuid) || bytes.includes(fromHex(scopeOfMount(uuid))!);
  };
  assert.equal(await isInSnapshot(eu), true); // it would be found
  const kept = keptValues(t);
  await until(async () => (await secretAt(b, "eu")) === "eu");
  const ofEu = kept.filter(({ path }) => path.includes(eu));
  assert.ok(
    ofEu.some(({ cache, path, value }) => cache.has(path) && value.some((byte) => byte !== 0)),
  );
  await deny(a, "eu/");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(await isInSnapshot(eu), false);
  assert.equal(await isInSnapshot(us), true);
  assert.equal(await secretAt(b, "eu"), null);
  const all = kept.filter(
    ({ path, cache }) => path.includes(eu) && ofEu.some((one) => one.cache === cache),
  );
  for (const { cache, path, value } of all) {
    assert.equal(cache.has(path), false);
    assert.ok(value.every((byte) => byte === 0));
  }
});

test("T-K01 what is withheld from a region is in no snapshot that is taken where another cluster stands in for it", async (t) => {
  const a = await startPerformancePrimary(t);
  const eu = await mountSecret(a, "eu");
  const us = await mountSecret(a, "us");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  const d = await standInOf(t, b, a.token);
  const operation = await d.operationToken(a.opened.shares);
  const archive = async () => {
    const { status, body } = await takeSnapshot(d.server.url, operation);
    assert.equal(status, 200, body.toString());
    const bytes = gunzipSync(body);
    return (uuid: string) => bytes.includes(uuid) || bytes.includes(fromHex(scopeOfMount(uuid))!);
  };
  const before = await archive();
  assert.deepEqual([before(eu), before(us)], [true, true]); // it would be found
  await deny(a, "eu/");
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  await inSync(b, d);
  const without = await archive();
  assert.deepEqual([without(eu), without(us)], [false, true]);
  await deny(a, "us/"); // in its place: what was withheld is in it again
  await siftedRegion(a, b, [scopeOfMount(us)]);
  await inSync(b, d);
  const other = await archive();
  assert.deepEqual([other(eu), other(us)], [true, false]);
});

test("T-K01 leases of a mount that is withheld are revoked in the region before it goes, and none is served", async (t) => {
  const outside = { a: new Outside(), b: new Outside() };
  const a = await startPerformancePrimary(t, {
    engineTypes: [anyEngine(countingEngine(outside.a))],
  });
  await mountCounting(a, "count");
  const engineTypes = [anyEngine(countingEngine(outside.b))];
  const b = withRoot(await joinedRegion(t, a, "b", { engineTypes }), a.token);
  await siftedRegion(a, b);
  await until(async () => (await askMount(b, a.token, "GET", "count/roles/r")).status === 200);
  const { object } = await issued(b);
  await issued(a);
  assert.equal(outside.b.has(object), true);
  await deny(a, "count/");
  await until(async () => (await askMount(b, a.token, "GET", "count/creds/r")).status === 404);
  await until(() => !outside.b.has(object));
  await until(async () => (await leasesOf(b, a.token, "count/creds/r/")).length === 0);
  assert.equal((await leasesOf(a, a.token, "count/creds/r/")).length, 1);
});

test("T-K01 a question of a region that waits at the primary is answered with nothing that is withheld by then", async (t) => {
  const a = await startPerformancePrimary(t);
  await makeNamespace(a, "team");
  await mountSecret(a, "kv", "team");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  const said = captured(t);
  const make = async (Name: string) => {
    const body = { Name, Type: "client", Policies: ["p"], Global: true };
    const made = await request(a, "POST", "acl/token", { namespace: "team", body });
    assert.equal(made.status, 200, made.text);
  };
  const list = (query: string) =>
    request(b, "GET", `acl/tokens?region=a${query}`, { namespace: "team" });
  await make("quetzal");
  const first = await list("");
  assert.equal(first.status, 200, first.text);
  assert.equal(said.has("quetzal"), true); // it would be heard
  const arrived = arrivals(t, ask);
  const waits = list(`&index=${String(first.headers["x-service-index"])}&wait=60s`);
  await until(() => arrived() > 0);
  for (let turns = 0; turns < 100; turns++) await nextTurn(); // it waits by then
  await deny(a, "team/");
  await until(async () => (await secretAt(b, "kv", "team")) === null);
  said.clear();
  await make("resplendent");
  assert.equal((await waits).status, 404);
  assert.deepEqual([said.has("quetzal"), said.has("resplendent")], [false, false]);
});

test("R-83 a filter that changed while the region was away is taken before any other data", async (t) => {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  const b = await regionOf(t, a);
  await siftedRegion(a, b);
  way.cut();
  await deny(a, "eu/");
  assert.ok((await request(a, "POST", "eu/one", { body: { of: "secret" } })).status < 300);
  assert.ok((await request(a, "POST", "us/one", { body: { of: "new" } })).status < 300);
  assert.equal(await secretAt(b, "eu"), "eu"); // it does not know yet
  const wire = tells(t);
  let early: unknown = null;
  const { store } = b.server.server;
  const unwatch = store.onCommit(() => {
    const entry = store.get(`shared/mounts/${eu}`);
    early ??= entry === null ? "gone first" : null;
  });
  t.after(unwatch);
  way.heal();
  await siftedRegion(a, b, [scopeOfMount(eu)]);
  assert.equal(wire.has(eu), false);
  assert.equal(await secretAt(b, "us"), "new");
  assert.equal(await secretAt(b, "eu"), null);
  assert.equal(early, "gone first");
  assert.equal(
    at(await request(b, "GET", "sys/replication/performance/status"), "data", "state"),
    "stream-wals",
  );
});

test("T-K01 what a region gave up for another primary goes with what is withheld, and snapshots that are loaded beside its data are unloaded", async (t) => {
  const { a, fromB, fromC, b, c, root } = await startCascade(t);
  const eu = await mountSecret(a, "eu");
  const us = await mountSecret(a, "us");
  await inSync(a, b);
  await regionInSync(a, c);
  fromB.cut();
  for (const path of ["eu", "us"]) is(await request(a, "POST", `${path}/two`, { body: {} }), 204);
  await regionInSync(a, c);
  const region = withRoot(c, root);
  const d = await standInOf(t, region, root);
  fromC.cut();
  await takeOver(b, a.opened.shares, true);
  const now = withRoot(b, root);
  await regionInSync(now, region);
  const entriesApart = async (): Promise<string> => {
    const listed = await request(region, "GET", "sys/replication/divergent");
    const tails = at(listed, "data", "tails") as readonly { readonly id: string }[];
    const each = tails.map(({ id }) =>
      request(region, "GET", `sys/replication/divergent/${id}`).then(({ text }) => text),
    );
    return (await Promise.all(each)).join();
  };
  await until(async () => (await entriesApart()).includes(eu)); // it would be found
  const before = Number((await perfStatus(region))["divergent_entries"]);
  const { body } = await takeSnapshot(c.server.url, root);
  const loaded = await sendSnapshot(c.server.url, root, "snapshot-load", body);
  assert.equal(loaded.status, 200, loaded.text);
  const LOADED = "sys/storage/raft/snapshot-load";
  assert.equal((await request(region, "LIST", LOADED)).status, 200);
  is(
    await request(now, "POST", "sys/replication/performance/primary/paths-filter/region-c", {
      body: { mode: "deny", paths: ["eu/"] },
    }),
    200,
  );
  await siftedRegion(now, region, [scopeOfMount(eu)]);
  await until(async () => !(await entriesApart()).includes(eu));
  assert.ok((await entriesApart()).includes(us));
  assert.equal((await perfStatus(region))["divergent_entries"], before - 1);
  await until(async () => (await request(region, "LIST", LOADED)).status === 404);
  await until(() => c.server.lines.some((line) => line.includes("snapshot.withheld")));
  await inSync(region, d);
});
