// Cases of docs/cases/replication.md: secondaries that do not have everything yet, and what promoting them costs; and a
// primary whose data is restored while it has secondaries.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import {
  type Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";

const KIB = 1024;
const LARGE = { text: "x".repeat(64 * KIB) };

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

function read(cluster: Cluster, token: string, path: string): Promise<Answer> {
  return cluster.server.call("GET", `/v1/secret/data/${path}`, { token });
}

test("R-46: one that has not copied everything is not promoted, stays what it is, and goes on copying", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  for (let i = 0; i < 40; i++) await a.put(`x-${i}`, LARGE);
  way.limit(300 * KIB); // enough to be taken, and seconds for the data
  const b = await joined(t, a);
  const body = { dr_operation_token: await b.operationToken(a.opened.shares) };
  const refused = await b.dr("secondary/promote", body);
  is(refused, 400, "replication_promotion_refused");
  assert.match(refused.text, /check \\"(?:copied|keys)\\"/); // by then some of it may have come
  // Between two states nobody leads, and with nothing nobody either, whatever it costs.
  const forced = await b.dr("secondary/promote", { ...body, force: true });
  is(forced, 400, "replication_promotion_refused");
  const { role } = b.replication;
  assert.ok(role.mode === "secondary" && !role.copied && role.promoting === null);
  way.heal();
  await inSync(a, b);
  is(await a.dr("primary/demote"), 200);
  is(await b.dr("secondary/promote", body), 200);
  for (const i of [0, 39]) is(await read(b, a.token, `x-${i}`), 200);
});

test("R-48: one whose disk is full is behind: it is promoted with force alone, and says exactly which entries are lost", async (t) => {
  const generations = new KeptGenerations();
  const a = await startPrimary(t, { world: HURRIED });
  await a.put("before", { n: "1" });
  const b = await joined(t, a, "site-b", { world: HURRIED, generations });
  await inSync(a, b);
  generations.free = 1000; // what is left is kept for what must be written
  for (let i = 0; !/nearly full/.test(JSON.stringify(await b.status())); i++) {
    await a.put(`filling-${i % 5}`, { n: "1" });
  }
  const last = b.index;
  for (let i = 0; i < 3; i++) await a.put(`lost-${i}`, LARGE);
  const lost = { from: last + 1n, to: a.index };
  const body = { dr_operation_token: await b.operationToken(a.opened.shares) };
  await until(async () => (await b.status())["wal_lag"] === Number(lost.to - last));
  const early = await b.dr("secondary/promote", body);
  is(early, 503, "replication_promotion_early");
  const rehearsed = await b.dr("secondary/promote", { ...body, dry_run: true });
  is(rehearsed, 200);
  assert.deepEqual(
    [at(rehearsed, "data", "lost_from"), at(rehearsed, "data", "lost_to")],
    [Number(lost.from), Number(lost.to)],
  );
  const forced = await b.dr("secondary/promote", { ...body, force: true });
  is(forced, 200);
  const warnings = (at(forced, "warnings") as string[]).join("\n");
  assert.match(
    warnings,
    new RegExp(`"complete": entries ${lost.from} to ${lost.to} of the primary`),
  );
  assert.match(warnings, /without the check "primary-gone"/);
  generations.free = null;
  is(await read(b, a.token, "before"), 200);
  for (let i = 0; i < 3; i++) is(await read(b, a.token, `lost-${i}`), 404);
});

test("R-126: a restore on a primary brings its secondaries to the restored state, by a comparison", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  for (let i = 0; i < 20; i++) await a.put(`kept-${i}`, { n: "1" });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const { body: archive } = await takeSnapshot(a.server.url, a.token);
  for (let i = 0; i < 20; i++) await a.put(`kept-${i}`, { n: "2" });
  await a.put("later", { n: "1" });
  await inSync(a, b);
  const lineage = a.server.server.store.timeline!.lineage;
  const sent = await sendSnapshot(a.server.url, a.token, "snapshot", archive);
  assert.equal(sent.status, 204, sent.text);
  await until(async () => {
    const status = await a.server.call("GET", "/v1/sys/storage/raft/restore-status", {
      token: a.token,
    });
    return status.status === 200 && at(status, "data", "state") === "done";
  });
  assert.notEqual(a.server.server.store.timeline!.lineage, lineage);
  assert.equal((await a.status())["mode"], "primary", "its role is not of the snapshot");
  await until(() => b.server.server.store.timeline!.lineage !== lineage);
  await inSync(a, b);
  await a.put("after", { n: "1" });
  await inSync(a, b);
  is(await a.dr("primary/demote"), 200);
  await b.replication.promote({ force: false, address: "" });
  for (let i = 0; i < 20; i++)
    assert.equal(at(await read(b, a.token, `kept-${i}`), "data", "data", "n"), "1");
  is(await read(b, a.token, "later"), 404);
  is(await read(b, a.token, "after"), 200);
});
