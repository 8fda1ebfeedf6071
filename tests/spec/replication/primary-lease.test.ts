// A primary that stops writing when it has reached no secondary for the time of `primary_lease`: real clusters with TLS
// between them, over a way that is cut.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import {
  storedRevokedClusters,
  storedSecondaries,
} from "../../../src/replication/joining/primary-rows.ts";
import type { Answer } from "../../support/http-client.ts";
import {
  Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { PassingClock } from "../../support/servers/sealed-node.ts";
import { startServer, type TestServerOptions } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { viewOf } from "../../support/replication/siblings.ts";
import { until } from "../../support/until.ts";

const LEASE = { replication: { primary_lease: "30s" } };

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

function write(cluster: Cluster, path: string): Promise<Answer> {
  const body = { data: { a: "1" } };
  return cluster.server.call("POST", `/v1/secret/data/${path}`, { token: cluster.token, body });
}

function read(cluster: Cluster, path: string): Promise<Answer> {
  return cluster.server.call("GET", `/v1/secret/data/${path}`, { token: cluster.token });
}

const stateOf = async (cluster: Cluster) => (await cluster.status())["state"];

/** A pair whose way is cut, and the clock of the primary. */
async function parted(t: TestContext, also: (primary: Cluster) => Promise<void> = async () => {}) {
  const clock = new PassingClock();
  const kept = { settings: LEASE, world: { clock }, generations: new KeptGenerations() };
  const { primary: a, way, clusterPort } = await startPrimaryBehind(t, kept);
  is(await write(a, "x"), 200);
  const b = await joined(t, a);
  await inSync(a, b);
  await also(a);
  way.cut();
  await until(async () => (await stateOf(b)) === "idle");
  /** Another process begins with what the primary has left. */
  const crash = async (): Promise<Cluster> => {
    await a.server.crash();
    const config: TestServerOptions["config"] = (own) => ({
      ...own,
      clusterPort: { host: "127.0.0.1", port: clusterPort },
    });
    const server = await startServer({ ...kept, config });
    t.after(() => server.stop());
    return new Cluster(server, a.opened);
  };
  return { a, b, way, clock, crash };
}

async function lapsed(a: Cluster, clock: PassingClock): Promise<void> {
  clock.ahead += 31n * SECOND;
  await until(async () => (await stateOf(a)) === "lapsed");
}

test("a primary without its secondary writes for the time of its lease, then reads alone, and goes on when it is reached", async (t) => {
  const { a, b, way, clock } = await parted(t);
  is(await write(a, "y"), 200);
  await lapsed(a, clock);
  const { index } = a;
  is(await write(a, "z"), 503, "replication_lease_lapsed");
  is(await a.server.call("GET", "/v1/sys/health"), 473);
  is(await read(a, "x"), 200);
  is(await read(a, "y"), 200);
  assert.equal(a.index, index, "nothing is written, whoever wants to");
  way.heal();
  await b.replication.recover();
  await until(async () => (await stateOf(a)) === "running");
  is(await a.server.call("GET", "/v1/sys/health"), 200);
  is(await write(a, "z"), 200);
  await inSync(a, b);
});

test("an operator's change waits for a primary that is just stopping to write, and what can be read is", async (t) => {
  const { a, clock } = await parted(t);
  const { store } = a.server.server;
  const [held, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const follow = store.follow.bind(store);
  t.mock.method(store, "follow", async (...why: Parameters<typeof follow>) => {
    held.resolve();
    await free.promise;
    await follow(...why);
  });
  t.after(() => free.resolve());
  clock.ahead += 31n * SECOND;
  await held.promise;
  is(await read(a, "x"), 200);
  const demoted = a.dr("primary/demote");
  is(await read(a, "x"), 200);
  free.resolve();
  is(await demoted, 200);
  assert.equal((await a.status())["mode"], "secondary");
});

for (const how of ["sealed", "crashed"]) {
  test(`a primary that has ${how} meanwhile grants itself nothing when it is unsealed`, async (t) => {
    const { a: before, b, way, clock, crash } = await parted(t);
    const sealed = how === "sealed";
    if (sealed) is(await before.server.call("POST", "/v1/sys/seal", { token: before.token }), 204);
    const a = sealed ? before : await crash();
    clock.ahead += 31n * SECOND;
    const { store } = a.server.server;
    const meanwhile: Answer[] = [];
    const follow = store.follow.bind(store);
    t.mock.method(store, "follow", async (...why: Parameters<typeof follow>) => {
      meanwhile.push(await write(a, "w"));
      await follow(...why);
    });
    await a.server.unseal(a.opened.shares);
    assert.equal(await stateOf(a), "lapsed");
    assert.equal(meanwhile.length, 1);
    is(meanwhile[0]!, 503, "sealed");
    is(await write(a, "z"), 503, "replication_lease_lapsed");
    is(await read(a, "x"), 200);
    way.heal();
    await b.replication.recover();
    await until(async () => (await stateOf(a)) === "running");
    is(await write(a, "z"), 200);
    await inSync(a, b);
  });
}

test("where the secondary is lost for good it is revoked, and the primary goes on alone", async (t) => {
  const { a, clock } = await parted(t);
  await lapsed(a, clock);
  const cluster = storedSecondaries(viewOf(a))[0]!.clusterId;
  is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  await until(async () => (await stateOf(a)) === "running");
  is(await write(a, "z"), 200);
  const beside = a.server.server.barrier.view("local/replication/performance/");
  await until(() => storedRevokedClusters(beside).includes(cluster)); // as soon as it can be written
});

test("who is revoked while the primary has stopped is marked in the other kind before that writes again, also after a crash", async (t) => {
  const {
    a: before,
    b,
    way,
    clock,
    crash,
  } = await parted(t, async (primary) => {
    await inSync(primary, await joined(t, primary, "site-c"));
  });
  await lapsed(before, clock);
  const cluster = await b.clusterId();
  is(await before.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  assert.equal(await stateOf(before), "lapsed", "the other one is not heard of");
  const a = await crash();
  await a.server.unseal(a.opened.shares);
  assert.equal(await stateOf(a), "lapsed");
  way.heal();
  await until(async () => (await stateOf(a)) === "running");
  const beside = a.server.server.barrier.view("local/replication/performance/");
  assert.deepEqual(storedRevokedClusters(beside), [cluster]);
});

test("one that has stopped is demoted, or leaves its set, like every primary", async (t) => {
  for (const what of ["demote", "disable"]) {
    const { a, b, clock } = await parted(t);
    await lapsed(a, clock);
    is(await a.dr(`primary/${what}`), 200);
    if (what === "disable") is(await write(a, "z"), 200);
    else {
      assert.equal((await a.status())["mode"], "secondary");
      await b.replication.promote({ force: true, address: "" });
      const written = await b.server.call("POST", "/v1/secret/data/z", {
        token: a.token,
        body: { data: {} },
      });
      is(written, 200);
    }
  }
});

test("a primary that never had a secondary is not bound, and without the setting none is", async (t) => {
  const clock = new PassingClock();
  const a = await startPrimary(t, { settings: LEASE, world: { clock } });
  const token = await a.dr("primary/secondary-token", { id: "site-b" });
  is(token, 200);
  clock.ahead += 3600n * SECOND;
  is(await write(a, "x"), 200);
  assert.equal(await stateOf(a), "running");

  const other = new PassingClock();
  const { primary, way } = await startPrimaryBehind(t, { world: { clock: other } });
  await inSync(primary, await joined(t, primary));
  way.cut();
  other.ahead += 3600n * SECOND;
  is(await write(primary, "x"), 200);
  assert.equal(await stateOf(primary), "running");
});
