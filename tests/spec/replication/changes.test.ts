// Changes of the role, and what comes between: failures, the seal, a start in the middle.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { ClusterPort } from "../../../src/cluster/port.ts";
import type { SetToServe } from "../../../src/cluster/port-set.ts";
import type { KeyBundle } from "../../../src/replication/joining/key-bundle.ts";
import { putMark, storedMark } from "../../../src/replication/stream/mark.ts";
import { storedUpstream } from "../../../src/replication/links/upstream.ts";
import { isFenced } from "../../../src/replication/roles/role.ts";
import { nextTurn } from "../../support/fake-world.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  Cluster,
  type ClusterOptions,
  inSync,
  joined,
  rejoined,
  ShiftedClock,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { issued, leasesOf, OutsideSite } from "../../support/replication/outside-site.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };
const [MARK, ROLE] = ["core/replication/dr/mark", "core/replication/dr/role"];

function is(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
}

async function pair(t: TestContext, options: ClusterOptions = {}) {
  const a = await startPrimary(t, options);
  await a.put("x", { n: "1" });
  const b = await joined(t, a, "site-b", options);
  await inSync(a, b);
  return { a, b, shares: a.opened.shares };
}

const TAKING = {
  promote: (b: Cluster) => b.replication.promote(FORCED),
  disable: (b: Cluster) => b.replication.disableSecondary(),
};

for (const [name, take] of Object.entries(TAKING)) {
  test(`${name}: who takes the data for its own makes a new data key, or where that fails when it is unsealed next`, async (t) => {
    for (const isLate of [false, true]) {
      const { b, shares } = await pair(t);
      const { barrier, keeper } = b.server.server;
      const { term } = barrier.keyStatus;
      const failing = t.mock.method(barrier, "rotate", async () => {
        throw new Error("no power");
      });
      if (!isLate) failing.mock.restore();
      await take(b);
      failing.mock.restore();
      assert.equal(barrier.keyStatus.term, isLate ? term : term + 1);
      for (let i = 0; i < 2; i++) {
        await keeper.seal();
        await b.server.unseal(shares);
        assert.equal(barrier.keyStatus.term, term + 1, "and one it is");
      }
    }
  });
}

test("the seal waits for a change of the role, which does not wait for the seal", async (t) => {
  const { a, b, shares } = await pair(t);
  const { barrier, keeper } = b.server.server;
  const [begun, going] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
  t.mock.method(barrier, "rotate", () => {
    begun.resolve();
    return going.promise;
  });
  const order: string[] = [];
  const promoted = b.replication.promote(FORCED).then(() => order.push("promoted"));
  await begun.promise;
  const sealed = keeper.seal().then(() => order.push("sealed"));
  await until(() => keeper.sealed);
  for (let i = 0; i < 200; i++) await nextTurn(); // enough for a seal that waits for nobody
  going.resolve(0);
  await Promise.all([promoted, sealed]);
  assert.deepEqual(order, ["promoted", "sealed"]);
  await b.server.unseal(shares);
  assert.equal((await b.status())["mode"], "primary");
  is(await b.server.call("GET", "/v1/secret/data/x", { token: a.token }), 200);
});

test("one that is fenced and sealed right after it does nothing more at the cluster port", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const b = await site.secondary(a);
  await b.replication.promote(FORCED);
  await until(() => isFenced(a.replication.role)); // no time has passed since
  await a.server.server.keeper.seal();
  await site.time.passSlowly(SECOND, SECOND / 10n);
  const late = a.server.lines.filter((line) => line.includes("a fenced primary still serves"));
  assert.deepEqual(late, []);
});

test("one that is fenced and cannot stop serving at once tries again, and then tells its secondaries who leads", async (t) => {
  const { a, b } = await pair(t, { world: HURRIED });
  const c = await joined(t, a, "site-c", { world: HURRIED });
  await inSync(a, c);
  const serve = Reflect.get(ClusterPort.prototype, "serve") as (set: SetToServe) => void;
  let failures = 0;
  t.mock.method(ClusterPort.prototype, "serve", function (this: ClusterPort, set: SetToServe) {
    const isSuperseded = set.table.size === 1 && set.beside !== true;
    if (isSuperseded && failures++ === 0) throw new Error("no port");
    serve.call(this, set);
  });
  await b.replication.promote(FORCED);
  await until(async () => /was promoted: follow/.test(JSON.stringify(await c.status())));
  assert.equal(failures, 2);
});

/** A request to follow the same primary with another token waits for its turn with the seal, until `open` is called. */
async function waiting({ a, b, shares }: Awaited<ReturnType<typeof pair>>, meanwhile = () => {}) {
  const { keeper } = b.server.server;
  const operation = await b.operationToken(shares);
  const key = await b.dr("secondary/generate-public-key", {}, operation);
  const made = await a.dr("primary/secondary-token", {
    id: "site-b2",
    secondary_public_key: at(key, "data", "secondary_public_key"),
  });
  is(made, 200);
  const gate = Promise.withResolvers<void>();
  const turn = keeper.undisturbed(() => gate.promise);
  meanwhile();
  const body = { token: at(made, "data", "token") };
  const moved = b.dr("secondary/update-primary", body, operation);
  await until(() => b.replication.changing);
  const open = async () => {
    gate.resolve();
    await turn;
  };
  return { moved, open };
}

function idOf({ replication: { role } }: Cluster): string {
  return role.mode === "secondary" ? role.id : role.mode;
}

test("keys of another primary that wait for the seal are given up with it", async (t) => {
  const clusters = await pair(t, { world: HURRIED });
  const { a, b, shares } = clusters;
  let sealed = Promise.resolve();
  const { moved, open } = await waiting(clusters, () => {
    sealed = b.server.server.keeper.seal();
  });
  await open();
  is(await moved, 503);
  await sealed;
  await b.server.unseal(shares);
  assert.equal(idOf(b), "site-b", "as before");
  await a.put("later", { n: "1" });
  await inSync(a, b);
});

test("they are not taken later either, where the cluster goes on after its rest", async (t) => {
  const clusters = await pair(t);
  const { b } = clusters;
  const { barrier, keeper } = b.server.server;
  const taking = t.mock.method(barrier, "takeOver");
  const { moved, open } = await waiting(clusters);
  await b.replication.settle();
  is(await moved, 503);
  await open();
  await keeper.undisturbed(async () => {}); // those before it have had their turns
  assert.equal(taking.mock.callCount(), 0);
  assert.equal(idOf(b), "site-b");
});

test("keys of a primary that was reached, and is superseded by then, are not taken: who is followed is followed on", async (t) => {
  const { a, b } = await pair(t);
  const { barrier } = b.server.server;
  const upstream = storedUpstream(barrier.view("core/replication/dr/"), "dr");
  const { role } = b.replication;
  assert.ok(upstream !== null && role.mode === "secondary");
  const taking = t.mock.method(barrier, "takeOver", async () => false);
  const { set, address, epoch } = role;
  const joining = { set, id: "site-b2", address, epoch: { ...epoch, number: epoch.number - 1 } };
  const bundle = {} as KeyBundle; // nobody is to look at it
  const moved = b.replication.updatePrimary(
    joining,
    { upstream, bundle },
    { force: false, also: () => {} },
  );
  await assert.rejects(moved, { code: "replication-epoch-superseded" });
  assert.equal(taking.mock.callCount(), 0);
  taking.mock.restore();
  assert.equal(idOf(b), "site-b");
  await a.put("later", { n: "1" });
  await inSync(a, b);
});

test("a demotion waits for the requests that are being answered: what they have made outside has its lease, on the other side too", async (t) => {
  const site = new OutsideSite(t);
  const a = await site.primary();
  const b = await site.secondary(a);
  const release = site.outside.hold("made");
  const issuing = issued(a);
  await until(() => site.outside.objects.length === 1);
  const demoting = a.dr("primary/demote");
  await until(() => a.replication.changing);
  for (let i = 0; i < 200; i++) await nextTurn(); // enough for one that waits for nobody
  release();
  const { id } = await site.timed(issuing);
  is(await site.timed(demoting), 200);
  await b.replication.promote(NOT_FORCED);
  const leases = await leasesOf(b, a.token, "count/creds/r");
  assert.deepEqual(
    leases.map((name) => `count/creds/r/${name}`),
    [id],
  );
});

test("that all was copied is written together with that the rows are of one index", async (t) => {
  const generations = new KeptGenerations();
  const writes: Record<string, boolean>[] = []; // whether each row is there afterwards
  generations.seen = (data) => {
    const own = data.filter(({ key }) => [MARK, ROLE].includes(key));
    writes.push(Object.fromEntries(own.map(({ key, value }) => [key, value !== null])));
  };
  const a = await startPrimary(t);
  const b = await joined(t, a, "site-b", { generations });
  await inSync(a, b);
  const settled = writes.filter((row) => row[MARK] === false);
  assert.deepEqual(settled, [{ [MARK]: false, [ROLE]: true }]);
  const { role } = b.replication;
  assert.ok(role.mode === "secondary" && role.copied);
});

test("a change that fails at its first step leaves a secondary that follows", async (t) => {
  const { a, b } = await pair(t);
  const { store } = b.server.server;
  const failures = {
    promote: () => b.replication.promote(FORCED),
    disable: () => b.replication.disableSecondary(),
    forget: () => b.replication.forgetPrimary(),
  };
  for (const [name, change] of Object.entries(failures)) {
    const failing = t.mock.method(store, "write", async () => {
      throw new Error("no power");
    });
    await assert.rejects(change(), /no power/);
    failing.mock.restore();
    await a.put(name, { n: "1" });
    await inSync(a, b);
    assert.equal(b.replication.mode, "secondary");
  }
});

test("one whose data is between two states does not leave its set with it", async (t) => {
  const { b } = await pair(t);
  const { store } = b.server.server;
  const half = { kind: "adopt", cursor: "", head: store.headBytes! };
  const adopting = t.mock.getter(store, "adopting", () => half);
  await assert.rejects(b.replication.disableSecondary(), /between two states/);
  adopting.mock.restore();
  assert.equal(b.replication.role.mode, "secondary");
  await b.replication.disableSecondary();
  assert.equal(b.replication.role.mode, "disabled");
});

test("one whose rows are newer than its log does not leave its set with them, but for who is promoted by force", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a, "site-b");
  await a.put("x", { n: "1" });
  await inSync(a, b);
  const { barrier, store, keeper } = b.server.server;
  way.cut();
  await until(async () => (await b.status())["connection_state"] === "transient_failure");
  const own = barrier.view("core/replication/dr/");
  await own.write((tx) => putMark(tx, store.index + 5n), { essential: true });
  await keeper.seal();
  await b.server.unseal(a.opened.shares); // whoever receives reads it when it begins
  await assert.rejects(b.replication.disableSecondary(), /newer than the log/);
  assert.equal(b.replication.role.mode, "secondary");
  await b.replication.promote(FORCED);
  await b.replication.disablePrimary();
  assert.equal(b.replication.role.mode, "disabled");
  assert.equal(storedMark(own), null);
});

test("a promotion that cannot begin its epoch leaves a secondary that follows, or where that fails a sealed one", async (t) => {
  const { a, b, shares } = await pair(t);
  const { store, keeper } = b.server.server;
  const fails = async () => {
    throw new Error("no power");
  };
  const beginning = t.mock.method(store, "startEpoch", fails);
  await assert.rejects(b.replication.promote(FORCED), /no power/);
  await a.put("later", { n: "1" });
  await inSync(a, b);
  const following = t.mock.method(store, "follow", fails);
  await assert.rejects(b.replication.promote(FORCED), /no power/);
  await until(() => keeper.sealed);
  for (const mocked of [beginning, following]) mocked.mock.restore();
  await b.server.unseal(shares);
  await a.put("last", { n: "1" });
  await inSync(a, b);
});

test("what the primary has told of, and is not here, stays missing when replication begins anew", async (t) => {
  const generations = new KeptGenerations();
  const { primary: a, way } = await startPrimaryBehind(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED, generations });
  await inSync(a, b);
  generations.free = 1000;
  for (let i = 0; !/nearly full/.test(JSON.stringify(await b.status())); i++) {
    await a.put(`filling-${i % 5}`, { n: "1" });
  }
  await a.put("lost", { n: "1" });
  const { index } = a;
  await until(async () => (await b.status())["wal_lag"] === Number(index - b.index));
  way.cut();
  await b.replication.recover();
  const { lost } = await b.replication.rehearse("");
  assert.deepEqual(lost, { from: b.index + 1n, to: index });
});

test("it stays missing after a start too, and whoever follows anew does not miss it", async (t) => {
  const generations = new KeptGenerations();
  const a = await startPrimary(t);
  const before = await joined(t, a, "site-b", { generations });
  await inSync(a, before);
  const { barrier } = before.server.server;
  const view = barrier.view("core/replication/dr/");
  const codec = jsonCodec<{ announced: string; at: string }>();
  await until(() => view.get("heard", codec) !== null);
  const announced = a.index + 100n;
  const at = showTime(BigInt(Date.now()) * 1_000_000n - HOUR);
  const row = { announced: String(announced), at };
  await view.write((tx) => tx.put("heard", row, codec));
  await before.server.crash(); // it does not even say goodbye
  const clusterPort = { host: "127.0.0.1", port: 0 };
  const server = await startServer({
    generations,
    config: (config) => ({ ...config, clusterPort }),
  });
  t.after(() => server.stop());
  await server.unseal(a.opened.shares);
  const b = new Cluster(server, a.opened);
  const { lost } = await b.replication.rehearse("");
  assert.deepEqual(lost, { from: b.index + 1n, to: announced });
  await rejoined(a, b, "site-b2", a.opened.shares);
  await inSync(a, b);
  assert.equal((await b.replication.rehearse("")).lost, null);
});

test("a primary is not silent because somebody sets the clock", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const clock = new ShiftedClock();
  const b = await joined(t, a, "site-b", { world: { clock } });
  await inSync(a, b);
  await until(async () => (await b.server.call("GET", "/v1/sys/health")).status === 472);
  const token = await b.operationToken(a.opened.shares);
  way.cut();
  await until(async () => (await b.status())["connection_state"] !== "ready");
  clock.ahead = HOUR;
  const refused = await b.dr("secondary/promote", {}, token);
  is(refused, 400);
  assert.match(refused.text, /primary-gone/);
});

const NOT_FORCED = { force: false, address: "" };

test("who was demoted and is promoted again is whom its secondaries follow, by themselves", async (t) => {
  const { a, b } = await pair(t, { world: HURRIED });
  await a.replication.demote();
  await until(() => b.replication.role.mode === "secondary" && b.replication.role.final !== null);
  const { warnings } = await a.replication.promote(NOT_FORCED);
  assert.match(warnings.join(), /secondaries follow it by themselves/);
  await a.put("y", { n: "2" });
  await inSync(a, b);
  const { role } = b.replication;
  assert.ok(role.mode === "secondary" && role.epoch.number === 2 && role.final === null);
  await assert.rejects(b.replication.promote(NOT_FORCED), /primary/);
});

test("where both are promoted after a demotion, one of them leads in the end", async (t) => {
  const { a, b } = await pair(t, { world: HURRIED });
  await a.replication.demote();
  await until(() => b.replication.role.mode === "secondary" && b.replication.role.final !== null);
  await b.replication.promote(NOT_FORCED);
  await a.replication.promote(FORCED);
  const isLeading = ({ replication: { role } }: Cluster) =>
    role.mode === "primary" && !isFenced(role);
  await until(() => [a, b].filter(isLeading).length === 1);
});
