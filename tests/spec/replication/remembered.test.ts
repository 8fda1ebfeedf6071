// What a secondary still tells after it was started anew while its primary is away.

import assert from "node:assert/strict";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import {
  Cluster,
  inSync,
  joined,
  ShiftedClock,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";

/** In milliseconds; NaN where there was none. */
function heartbeatOf(status: JsonObject): number {
  const [primary] = status["primaries"] as { readonly last_heartbeat: string | null }[];
  return Date.parse(primary?.last_heartbeat ?? "");
}

test("it tells what was heard of the primary before, and when its trees were looked at", async (t) => {
  const generations = new KeptGenerations();
  const { primary: a, way } = await startPrimaryBehind(t);
  await a.put("x", { n: "1" });
  const before = await joined(t, a, "site-b", { generations });
  await inSync(a, before);
  await until(async () => heartbeatOf(await before.status()) > 0);
  const token = await before.operationToken(a.opened.shares);
  assert.equal((await before.dr("secondary/merkle-check", {}, token)).status, 200);
  assert.equal((await before.dr("secondary/reindex", {}, token)).status, 200);
  await until(async () => (await before.status())["last_reindex_epoch"] !== "0");
  const earlier = await before.status();
  const index = Number(before.index);
  way.cut();
  await before.server.stop();
  const clusterPort = { host: "127.0.0.1", port: 0 };
  const server = await startServer({
    generations,
    config: (config) => ({ ...config, clusterPort }),
  });
  t.after(() => server.stop());
  await server.unseal(a.opened.shares);
  const after = await new Cluster(server, a.opened).status();
  const [primary] = after["primaries"] as JsonObject[];
  assert.equal(primary?.["connection_status"], "disconnected");
  assert.ok(heartbeatOf(after) > heartbeatOf(earlier) - 1000); // one by the steady clock
  assert.ok(Number(primary?.["replication_primary_canary_age_ms"]) > 0);
  assert.deepEqual([after["last_remote_wal"], after["wal_lag"]], [index, 0]);
  for (const field of ["last_corruption_check_epoch", "last_reindex_epoch"]) {
    assert.notEqual(earlier[field], "0");
    assert.equal(after[field], earlier[field]);
  }
});

/** The checks that do not hold. */
async function failed({ replication }: Cluster): Promise<string[]> {
  const { checks } = await replication.rehearse("");
  return checks.flatMap(({ name, ok }) => (ok ? [] : [name]));
}

test("that its data differs from the primary's it knows also after a start, until the two are compared and equal", async (t) => {
  const generations = new KeptGenerations();
  const { primary: a, way } = await startPrimaryBehind(t);
  const before = await joined(t, a, "site-b", { generations });
  await inSync(a, before);
  way.cut();
  await until(async () => (await before.status())["state"] === "idle");
  const view = before.server.server.barrier.view("core/replication/dr/");
  const at = showTime(BigInt(Date.now()) * 1_000_000n);
  const row = { announced: String(before.index), at, differs: true };
  await view.write((tx) => tx.put("heard", row, jsonCodec<typeof row>()));
  await before.server.crash(); // it does not even say goodbye
  const server = await startServer({ generations });
  t.after(() => server.stop());
  await server.unseal(a.opened.shares);
  const b = new Cluster(server, a.opened);
  assert.ok((await failed(b)).includes("equal"));
  const { corrupted_merkle_tree: corrupted, promotable_reasons: reasons } = await b.status();
  assert.equal(corrupted, true);
  assert.ok((reasons as string[]).includes("equal"));
  way.heal();
  await b.replication.recover();
  await until(() => !b.replication.unpromotable.includes("equal"));
  assert.ok(!(await failed(b)).includes("equal"));
  assert.equal((await b.status())["corrupted_merkle_tree"], false);
});

test("rows of several indexes keep it from being promoted also where it follows nobody any more", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  const view = b.server.server.barrier.view("core/replication/dr/");
  const row = { index: String(b.index + 10n) };
  await view.write((tx) => tx.put("mark", row, jsonCodec<typeof row>()));
  await b.replication.forgetPrimary();
  assert.ok((await failed(b)).includes("whole"));
  assert.deepEqual(view.keys("heard", { limit: 1 }), ["heard"]);
  await b.replication.promote({ force: true, address: "" });
  assert.equal(
    view.get("mark", jsonCodec<typeof row>()),
    null,
    "its rows are its own from here on",
  );
  assert.deepEqual(view.keys("heard", { limit: 1 }), [], "and what it had heard is another's");
});

test("a clock of the wall that is set does not make what was just heard of the primary an hour old", async (t) => {
  const clock = new ShiftedClock();
  const { primary: a } = await startPrimaryBehind(t);
  const b = await joined(t, a, "site-b", { world: { clock } });
  await inSync(a, b);
  await until(async () => heartbeatOf(await b.status()) > 0);
  clock.ahead = 3600n * 1_000_000_000n;
  const status = await b.status();
  const age = Number(clock.now() / 1_000_000n) - heartbeatOf(status);
  assert.ok(age < 600_000, `${age} ms`);
});
