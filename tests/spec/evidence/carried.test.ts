// A snapshot of other keys takes the place of the data: evidence goes along, numbers and keys go on, and a crash on the
// way changes nothing of that.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { engineServer, HOUR, MINUTE } from "../../support/servers/engine-server.ts";
import { ServerTime } from "../../support/servers/server-time.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { CLEAR, KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";
import {
  EvidenceStage,
  evidenceStage,
  lines,
  payloadOf,
  verify,
  type WireEnvelope,
} from "./evidence-stage.ts";

interface Exchanged {
  readonly stage: EvidenceStage;
  readonly kept: KeptGenerations;
  readonly before: readonly WireEnvelope[];
  /** Of the snapshot's server. */
  readonly token: string;
  readonly shares: readonly string[];
  /** The same process again, or another one on the same disk. */
  readonly on: (server: TestServer) => EvidenceStage;
  readonly start: () => Promise<TestServer>;
}

/** A server with some evidence, whose data was exchanged for that of another one; it is sealed. */
async function exchanged(t: TestContext): Promise<Exchanged> {
  const other = await evidenceStage(t);
  await other.ask("POST", "sys/mounts/kv", { type: "kv", options: { version: "1" } });
  await other.ask("POST", "kv/a", { value: "of the snapshot" });
  const { body } = await takeSnapshot(other.test.url, other.token);
  const kept = new KeptGenerations();
  const start = async () => {
    const time = new ServerTime();
    const server = await startServer({
      world: { clock: time.clock, timers: time },
      generations: kept,
    });
    t.after(() => server.stop().catch(() => {}));
    return server;
  };
  const server = await start();
  const own = await server.open();
  const stage = new EvidenceStage(server, new ServerTime(), own, other.folder);
  for (let i = 0; i < 40; i++) await stage.sign({ i });
  const before = await stage.envelopes(1, 41);
  const { status } = await sendSnapshot(server.url, own.token, "snapshot-force", body);
  assert.equal(status, 204);
  await until(async () => (await server.call("GET", "/v1/sys/seal-status")).status === 200);
  await until(() => server.server.store.unhashed !== null && server.server.keeper.sealed);
  const { token, shares } = other;
  const on = (node: TestServer) =>
    new EvidenceStage(node, new ServerTime(), { token, shares }, other.folder);
  return { stage, kept, before, token, shares, on, start };
}

test("a restore with other keys: numbers, links and keys go on, for who holds the old fingerprint too", async (t) => {
  const { stage, kept, before, shares, on } = await exchanged(t);
  const fingerprint = before[0]?.signatures[0]?.keyid ?? "";
  const secret = /PRIVATE|302e0201|MC4CAQ/;
  const inClear = kept.disk.rows.rows({ from: CLEAR, to: `${CLEAR}~`, limit: 1000 });
  assert.ok(inClear.length > 40);
  for (const { key, value } of inClear) {
    assert.ok(!key.includes("secret"), key);
    assert.doesNotMatch(Buffer.from(value).toString("latin1"), secret);
  }
  await stage.test.unseal(shares);
  assert.deepEqual(kept.clear, []);
  const now = on(stage.test);
  assert.equal(await now.sign(), 43);
  assert.deepEqual(await now.envelopes(1, 41), before, "what there was is there");
  const all = await now.envelopes(1, 43);
  const named = payloadOf(all[41]!);
  assert.deepEqual(named["result"], {
    state: "exchanged",
    previous_key: fingerprint,
    waiting: 0,
    left: 0,
  });
  const keys = now.file(await now.keys());
  // The copies from before, and what came since.
  const file = now.file(lines([...before, ...all.slice(41)]));
  for (const pinned of [[], ["-fingerprint", fingerprint]]) {
    const checked = await verify("-keys", keys, ...pinned, file);
    assert.equal(checked.code, 0, checked.all);
  }
  const list = await now.ask("LIST", "sys/evidence?limit=1000");
  assert.equal((at(list, "data", "keys") as string[]).length, 43);
});

test("receipts go along: they can still be read, and are signed for by the report that ended the old row of keys", async (t) => {
  const source = await engineServer(t);
  const { body } = await takeSnapshot(source.test.url, source.root);
  const server = await engineServer(t, { generations: new KeptGenerations() });
  await server.counting("count", { ttl: 600 });
  const { id } = await server.issue();
  await server.revoke(id, { sync: true });
  const receipt = at(await server.must("GET", `sys/evidence/receipts/${id}`), "data");
  const { url } = server.test;
  assert.equal((await sendSnapshot(url, server.root, "snapshot-force", body)).status, 204);
  const { server: node } = server.test;
  await until(() => node.store.unhashed !== null && node.keeper.sealed);
  await until(async () => (await server.test.call("GET", "/v1/sys/seal-status")).status === 200);
  await server.test.unseal(source.shares);
  server.root = source.root;
  assert.deepEqual(at(await server.must("GET", `sys/evidence/receipts/${id}`), "data"), receipt);
  await server.time.passSlowly(2n * HOUR, 10n * MINUTE);
  const known = at(await server.must("LIST", "sys/evidence"), "data", "key_info");
  const kinds = Object.values(known as object).map(({ kind }: { kind: string }) => kind);
  assert.deepEqual(kinds, ["evidence.key", "evidence.key"]);
  // Those that come from here on are signed for as ever.
  await server.counting("count", { ttl: 600 });
  const next = await server.issue();
  await server.revoke(next.id, { sync: true });
  await server.passUntil(
    async () =>
      Object.values(at(await server.must("LIST", "sys/evidence"), "data", "key_info") as object)
        .length === 3,
  );
  const report = at(await server.must("GET", "sys/evidence/3"), "data", "report", "subject");
  assert.deepEqual(report, { leases: 1, first: next.id, last: next.id });
});

test("the power fails at any commit before everything is taken in: no number twice, nothing lost, the keys say that they broke", async (t) => {
  const { stage, kept, before, shares, on, start } = await exchanged(t);
  await stage.test.stop();
  const reset = kept.saved();
  let cuts = 0;
  for (let isCut = true; isCut; cuts++) {
    reset();
    const first = await start();
    kept.left = cuts;
    for (const key of shares) {
      await first.call("POST", "/v1/sys/unseal", { body: { key } }).catch(() => null);
    }
    isCut = kept.left < 0;
    await first.crash();
    kept.left = Infinity;
    const second = await start();
    await second.unseal(shares);
    assert.deepEqual(kept.clear, []);
    const now = on(second);
    assert.equal(await now.sign(), 44);
    const all = await now.envelopes(1, 44);
    assert.deepEqual(all.slice(0, 41), before);
    assert.equal((payloadOf(all[42]!)["result"] as { state: string }).state, "broken");
    const keys = now.file(await now.keys());
    const checked = await verify("-keys", keys, now.file(lines([...before, ...all.slice(41)])));
    assert.equal(checked.code, 0, checked.all);
    await second.stop();
  }
  assert.ok(cuts > 6, String(cuts));
});

test("what was changed on the disk meanwhile is not taken for evidence, and numbers go on all the same", async (t) => {
  for (const victim of ["rows/reports/000000000007", "rows/head"]) {
    const { stage, kept, before, shares, on } = await exchanged(t);
    kept.change(CLEAR + victim);
    await stage.test.unseal(shares);
    assert.deepEqual(kept.clear, []);
    assert.ok(stage.test.lines.some((line) => line.includes("evidence.lost")));
    const now = on(stage.test);
    assert.equal(await now.sign(), 43, victim);
    const keys = now.file(await now.keys());
    const gone = await now.test.call("GET", "/v1/sys/evidence/7", { token: now.token });
    assert.equal(gone.status, 404);
    const after = await now.envelopes(42, 43);
    const file = now.file(lines([...before, ...after]));
    // The key that goes on was in memory: one byte on the disk does not cost its link.
    const fingerprint = before[0]?.signatures[0]?.keyid ?? "";
    const checked = await verify("-keys", keys, "-fingerprint", fingerprint, file);
    assert.equal(checked.code, 0, checked.all);
  }
});

test("the process that made the exchange knows what was signed last; another one has to believe what lies there", async (t) => {
  for (const restarts of [false, true]) {
    const { stage, kept, shares, on, start } = await exchanged(t);
    kept.change(`${CLEAR}letter`);
    if (restarts) await stage.test.stop();
    const node = restarts ? await start() : stage.test;
    await node.unseal(shares);
    assert.equal(
      node.lines.some((line) => line.includes("evidence.lost")),
      restarts,
    );
    assert.equal(await on(node).sign(), restarts ? 2 : 43);
  }
});

test("evidence of another server in its place is none of ours, and none at all is told: numbers go on", async (t) => {
  const foreign = await exchanged(t);
  for (const put of [foreign.kept.rows(), []]) {
    const { stage, kept, before, shares, on } = await exchanged(t);
    kept.replaceClear(put);
    await stage.test.unseal(shares);
    assert.deepEqual(kept.clear, []);
    assert.ok(stage.test.lines.some((line) => line.includes("evidence.lost")));
    const now = on(stage.test);
    assert.equal(await now.sign(), 43);
    const read = await now.test.call("GET", "/v1/sys/evidence/1", { token: now.token });
    assert.equal(read.status, 404, "what is not ours is not shown");
    const keys = now.file(await now.keys());
    const fingerprint = before[0]?.signatures[0]?.keyid ?? "";
    const after = await now.envelopes(42, 43);
    const file = now.file(lines([...before, ...after]));
    assert.equal((await verify("-keys", keys, "-fingerprint", fingerprint, file)).code, 0);
    const named = payloadOf(after[0]!)["result"];
    const exchange = { state: "exchanged", previous_key: fingerprint };
    assert.deepEqual(named, { ...exchange, waiting: 0, left: 0 });
  }
});

test("who can write to the disk brings no evidence to a store that was never exchanged, and no key that signs", async (t) => {
  const foreign = await exchanged(t);
  const planted = [...foreign.kept.rows()];
  const fingerprint = foreign.before[0]?.signatures[0]?.keyid ?? "";
  planted.push({
    key: `${CLEAR}rows/secrets/${fingerprint}`,
    value: Buffer.from("a private half"),
  });
  const kept = new KeptGenerations();
  const start = async () => {
    const server = await startServer({ generations: kept });
    t.after(() => server.stop().catch(() => {}));
    return server;
  };
  const first = await start();
  const opened = await first.open();
  const own = new EvidenceStage(first, new ServerTime(), opened, foreign.stage.folder);
  await own.sign();
  const [before, keys] = [await own.envelopes(1, 2), await own.keys()];
  await first.stop();
  kept.replaceClear(planted);
  const second = await start();
  await second.unseal(opened.shares);
  assert.deepEqual(kept.clear, []);
  assert.ok(second.lines.some((line) => line.includes("evidence.refused")));
  const now = new EvidenceStage(second, new ServerTime(), opened, foreign.stage.folder);
  assert.equal(await now.sign(), 3);
  assert.deepEqual(await now.envelopes(1, 2), before);
  assert.deepEqual(await now.keys(), keys);
});

test("a private half that lies in clear is never the one that signs, also where the evidence of a store is gone", async (t) => {
  const { stage, kept, shares, on, start } = await exchanged(t);
  await stage.test.stop();
  const fingerprint = "ab".repeat(32);
  kept.replaceClear([
    ...kept.rows(),
    { key: `${CLEAR}rows/secrets/${fingerprint}`, value: Buffer.from("a private half") },
  ]);
  const node = await start();
  await node.unseal(shares);
  assert.deepEqual(kept.clear, []);
  const now = on(node);
  await now.sign();
  assert.deepEqual(kept.disk.rows.get(`core/evidence/secrets/${fingerprint}`), null);
});
