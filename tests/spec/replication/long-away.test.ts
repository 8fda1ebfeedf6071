// Secondaries of both kinds that are away for thirty days, and for longer than their certificates are good: the log that they would go on by
// is gone, and the primary shows another certificate. They come back by a comparison, and nothing of what they have is copied anew.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { hex } from "@holdfast/shared/bytes";
import { DAY, HOUR, MINUTE } from "@holdfast/shared/text/duration";
import { CERTIFICATE_LIFE } from "../../../src/cluster/authority.ts";
import type { ReplicationKind } from "../../../src/cluster/names.ts";
import { storedMembership } from "../../../src/replication/joining/membership.ts";
import { storedMaterial } from "../../../src/replication/joining/primary-rows.ts";
import { addressOf, is } from "../../support/replication/cascade.ts";
import { type Cluster, inSync, joined, rejoined } from "../../support/replication/clusters.ts";
import {
  filterOf,
  mountSecret,
  request,
  scopeOfMount,
  secretAt,
  siftedRegion,
} from "../../support/replication/filtered.ts";
import { PassingWorld } from "../../support/replication/regions/passing-world.ts";
import {
  joinedRegion,
  perf,
  performanceOf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
  withRoot,
} from "../../support/replication/performance.ts";
import { freePort, TcpProxy } from "../../support/replication/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const SECRETS = 60;
const BOUND = { timeout: 300_000 };

interface Stage {
  readonly world: PassingWorld;
  readonly a: Cluster;
  /** Of disaster recovery. */
  readonly b: Cluster;
  /** Has everything that is shared. */
  readonly c: Cluster;
  /** Is not sent eu/. */
  readonly d: Cluster;
  readonly eu: string;
  readonly ways: readonly TcpProxy[];
}

/** All of them in sync. `behind`: how much is to pass until it is as late as at the machine. */
async function start(t: TestContext, behind: bigint): Promise<Stage> {
  const world = new PassingWorld(behind);
  const clusterPort = await freePort();
  const ways = [
    await TcpProxy.before(t, clusterPort),
    await TcpProxy.before(t, clusterPort),
  ] as const;
  const logRetention = { minEntries: 1n, bytes: 400_000n }; // looked at after a sixteenth of it
  const a = await startPerformancePrimary(t, {
    world,
    logRetention,
    clusterPort,
    address: addressOf(ways[0]),
  });
  is(await a.dr("primary/enable", { primary_cluster_addr: addressOf(ways[1]) }), 200);
  const eu = await mountSecret(a, "eu");
  await mountSecret(a, "us");
  for (let i = 0; i < SECRETS; i++) await a.put(`s-${i}`, { n: "1" });
  is(await filterOf(a, "region-d", "deny", ["eu/"]), 200);
  const b = await joined(t, a, "site-b", { world });
  const c = withRoot(await joinedRegion(t, a, "c", { world }), a.token);
  const d = withRoot(await joinedRegion(t, a, "d", { world }), a.token);
  const stage = { world, a, b, c, d, eu, ways };
  await allInSync(stage);
  return stage;
}

async function allInSync({ a, b, c, d, eu }: Stage): Promise<void> {
  await inSync(a, b);
  await regionInSync(a, c);
  await siftedRegion(a, d, [scopeOfMount(eu)]);
}

/** What each has counted of how it came by what it has. */
function counted({ b, c, d }: Stage) {
  return [b.replication, performanceOf(c), performanceOf(d)].map(({ status }) => {
    const { resumed, rows } = status.reading;
    return { trimmed: resumed.find(({ result }) => result === "trimmed")?.count ?? 0, rows };
  });
}

/** They are away, and the primary works on until nothing of its log is left that they have not. */
async function away(stage: Stage, length: bigint, step: bigint): Promise<void> {
  const { world, a, b, c, d, ways } = stage;
  const reached = [b.index, performanceOf(c).applied, performanceOf(d).applied];
  for (const way of ways) way.cut();
  await world.pass(length / 2n, step);
  await a.put("s-0", { n: "2" });
  is(await request(a, "POST", "eu/one", { body: { of: "eu, later" } }), 204);
  is(await request(a, "DELETE", "secret/metadata/s-1"), 204);
  await world.pass(length - length / 2n, step);
  const value = "x".repeat(30_000);
  await until(async () => {
    await a.put("large", { value });
    const { first } = a.server.server.store.tail!;
    return reached.every((index) => first > index + 1n);
  });
}

/** By the log that is gone nobody goes on: each has compared, and taken little more than what had changed. */
async function cameByDiff(stage: Stage, before: ReturnType<typeof counted>): Promise<void> {
  const { a, c, d } = stage;
  await allInSync(stage);
  for (const [i, now] of counted(stage).entries()) {
    assert.ok(now.trimmed > before[i]!.trimmed, `${i} has not compared`);
    const rows = now.rows - before[i]!.rows;
    assert.ok(rows > 0 && rows < SECRETS, `${i} has taken ${rows} rows`);
  }
  for (const one of [c, d]) {
    assert.equal((await perfStatus(one))["corrupted_merkle_tree"], false);
    const { ok } = await one.server.server.store.check({ deep: true });
    assert.ok(ok);
  }
  const { filters } = await performanceOf(a).primary();
  const { tree } = await filters.of("region-d")!.view();
  const rootOf = ({ server }: Cluster) => hex(server.server.store.trees.shared.root());
  assert.equal(rootOf(c), rootOf(a));
  assert.equal(rootOf(d), hex(tree.root()));
  assert.notEqual(rootOf(d), rootOf(a));
  assert.equal(await secretAt(c, "eu"), "eu, later");
  assert.equal(await secretAt(d, "eu"), null);
}

/** What is written goes everywhere again, by the log, and what a region is asked to write goes to the primary. */
async function goesOn(stage: Stage): Promise<void> {
  const { a, c, d } = stage;
  const before = counted(stage);
  await a.put("later", { n: "1" });
  await until(async () => {
    const answers = await Promise.all(
      [c, d].map((one) => request(one, "GET", "secret/data/later")),
    );
    return answers.every(({ status }) => status === 200);
  });
  for (const one of [c, d])
    is(await request(one, "POST", "us/one", { body: { of: "later" } }), 204);
  assert.equal(await secretAt(a, "us"), "later");
  await allInSync(stage);
  assert.deepEqual(counted(stage), before);
}

/** Of the certificate that a primary shows at its port, in each kind. */
function serversOf({ server }: Cluster): string[] {
  const { barrier } = server.server;
  return KINDS.map(([kind, rows]) => storedMaterial(barrier.view(rows), kind)!.server.serial);
}

const KINDS: readonly (readonly [ReplicationKind, string])[] = [
  ["dr", "core/replication/dr/"],
  ["performance", "local/replication/performance/"],
];

/** When the certificates of the three end. */
function ends({ b, c, d }: Stage): bigint[] {
  const of = ({ server }: Cluster, [kind, rows]: (typeof KINDS)[number]) =>
    storedMembership(server.server.barrier.view(rows), kind)!.expires;
  return [of(b, KINDS[0]!), of(c, KINDS[1]!), of(d, KINDS[1]!)];
}

test(
  "thirty days away, the log gone, and the primary's certificate another one: secondaries of both kinds come back by a comparison",
  BOUND,
  async (t) => {
    const stage = await start(t, (230n + 30n) * DAY);
    const { a, world } = stage;
    await world.pass(230n * DAY);
    await allInSync(stage);
    const [certificates, ending] = [serversOf(a), ends(stage)];
    const before = counted(stage);
    await away(stage, 30n * DAY, 12n * HOUR);
    const now = serversOf(a);
    for (const [i, serial] of certificates.entries()) assert.notEqual(now[i], serial);
    assert.deepEqual(ends(stage), ending); // nobody was there who could have renewed it
    for (const way of stage.ways) way.heal();
    await world.pass(MINUTE);
    await cameByDiff(stage, before);
    await world.pass(MINUTE);
    // Two thirds of their own were over as well.
    await until(() => ends(stage).every((end, i) => end > ending[i]!));
    await goesOn(stage);
  },
);

test(
  "away for longer than their certificates are good, secondaries are refused, and come back with another token for the same id: by a comparison too",
  BOUND,
  async (t) => {
    // What is issued in the end is good from a day before on.
    const stage = await start(t, CERTIFICATE_LIFE - 12n * HOUR);
    const { a, b, c, d, world } = stage;
    const before = counted(stage);
    await away(stage, CERTIFICATE_LIFE + 6n * HOUR, 5n * DAY);
    for (const way of stage.ways) way.heal();
    await world.pass(MINUTE);
    await until(async () => {
      const said = [await b.status(), await perfStatus(c), await perfStatus(d)];
      return said.every(({ last_sync_error: why }) =>
        /certificate of this secondary has ended/.test(JSON.stringify(why)),
      );
    });
    assert.equal(await secretAt(c, "eu"), "eu"); // it serves what it has
    is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
    await rejoined(a, b, "site-b", a.opened.shares, a.token);
    for (const [one, id] of [
      [c, "region-c"],
      [d, "region-d"],
    ] as const) {
      is(await perf(a, "primary/revoke-secondary", { id }), 204);
      // A filter goes with the secondary that is revoked.
      if (one === d) is(await filterOf(a, id, "deny", ["eu/"]), 200);
      const token = await performanceToken(a, one, id, a.token);
      is(await perf(one, "secondary/update-primary", { token }), 200);
    }
    await cameByDiff(stage, before);
    await goesOn(stage);
  },
);
