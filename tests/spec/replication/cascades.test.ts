// Cases of docs/cases/replication.md where members of a performance set have clusters that stand in for them, with real TLS.

import assert from "node:assert/strict";
import test from "node:test";
import type { MessageOf } from "@holdfast/shared/grpc/message";
import { fence } from "../../../src/replication/joining/calls.ts";
import { storedRevokedThere } from "../../../src/replication/joining/primary-rows.ts";
import { at } from "../../support/http-client.ts";
import {
  addressOf,
  followed,
  is,
  putAt,
  standInOf,
  startCascade,
  takeOver,
  valueAt,
} from "../../support/replication/cascade.ts";
import { inSync, rejoined } from "../../support/replication/clusters.ts";
import {
  perf,
  performanceOf,
  perfStatus,
  regionInSync,
  withRoot,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

test("R-109: who stands in for a performance primary leads the set when it is promoted, in the next epoch; its secondary follows it without a token, by the log, and tells the one of before, which writes nothing more", async (t) => {
  const { a, fromB, fromC, b, c, root } = await startCascade(t);
  is(await putAt(a, "before", root), 200);
  await regionInSync(a, c);
  await inSync(a, b);
  const { cluster_id: set } = await perfStatus(a);
  const rowsTaken = () => performanceOf(c).status.reading.rows;
  const before = rowsTaken();
  for (const way of [fromB, fromC]) way.cut();
  await takeOver(b, a.opened.shares, true);
  const status = await perfStatus(b);
  assert.deepEqual(
    [status["mode"], status["state"], status["epoch"], status["cluster_id"]],
    ["primary", "running", 2, set],
  );
  assert.deepEqual(status["known_secondaries"], ["region-c"]);
  assert.equal((await b.status())["mode"], "primary");
  const id = await b.clusterId();
  await until(async () => (await followed(c)) === id);
  const led = withRoot(b, root);
  await regionInSync(led, c);
  assert.equal((await perfStatus(c))["epoch"], 2);
  assert.equal(await valueAt(c, "before", root), "1");
  is(await putAt(c, "through", root), 200); // sent on, to the new one
  assert.equal(await valueAt(b, "through", root), "1");
  assert.equal(rowsTaken(), before); // by the log: nothing was compared

  is(await putAt(a, "alone", root), 200); // it has not heard
  fromC.heal(); // the secondary reaches it, and who stands in for it does not
  await until(async () => (await perfStatus(a))["state"] === "fenced");
  const { conflicting_primary: leader, epoch } = await perfStatus(a);
  assert.deepEqual([leader, epoch], [id, 1]);
  is(await putAt(a, "refused", root), 503, "replication_fenced");
  assert.equal((await a.status())["state"], "running"); // that is another matter
  assert.equal(await followed(c), id);
});

test("R-109: planned: the one that was demoted stands in for the other afterwards, and the secondary is told where", async (t) => {
  const { a, b, c, root } = await startCascade(t);
  is(await putAt(a, "before", root), 200);
  is(await a.dr("primary/demote"), 200);
  assert.deepEqual(await perfStatus(a), { mode: "disabled" });
  await takeOver(b, a.opened.shares);
  const led = withRoot(b, root);
  const id = await b.clusterId();
  await until(async () => (await followed(c)) === id);
  await rejoined(led, a, "site-a", a.opened.shares, root);
  await inSync(led, a);
  is(await putAt(c, "after", root), 200);
  await inSync(led, a);
  await until(async () => {
    const { failover_cluster_addrs: addresses } = await perfStatus(c);
    return Array.isArray(addresses) && addresses.length === 1;
  });
  is(await led.dr("primary/demote"), 200);
  await takeOver(a, a.opened.shares);
  const back = await a.clusterId();
  await until(async () => (await followed(c)) === back);
  assert.equal((await perfStatus(a))["epoch"], 3);
  for (const path of ["before", "after"]) assert.equal(await valueAt(c, path, root), "1");
  is(await putAt(c, "again", root), 200);
});

test("R-109: update-primary with an address of the one that stands in follows it; a primary that was superseded is not taken for it", async (t) => {
  const { a, fromB, fromC, b, c, root } = await startCascade(t);
  for (const way of [fromB, fromC]) way.cut();
  const [place] = (await perfStatus(c))["failover_cluster_addrs"] as string[];
  const move = (address = "") =>
    perf(c, "secondary/update-primary", { update_primary_addrs: [address] }, root);
  is(await move(place), 502); // it only stands in yet
  await takeOver(b, a.opened.shares, true);
  is(await move(place), 200);
  const id = await b.clusterId();
  await until(async () => (await followed(c)) === id);
  assert.equal((await perfStatus(c))["primary_cluster_addr"], place);
  fromC.heal();
  is(await move(addressOf(fromC)), 502);
  assert.equal(await followed(c), id);
});

test("R-110: a secondary that has got more than who stands in for its primary goes back to what that one has, and keeps apart what it gives up", async (t) => {
  const { a, fromB, fromC, b, c, root } = await startCascade(t);
  is(await putAt(a, "kept", root), 200);
  is(await putAt(a, "changed", root, "old"), 200);
  await inSync(a, b);
  await regionInSync(a, c);
  fromB.cut();
  is(await putAt(a, "surplus", root), 200);
  is(await putAt(a, "changed", root, "new"), 200);
  is(await a.server.call("POST", "/v1/sys/rotate", { token: root }), 204); // keys go another way too
  is(await putAt(a, "under-new-key", root), 200);
  // More than who takes over writes by itself.
  for (let n = 0; n < 40; n++) is(await putAt(a, "changed", root, "new"), 200);
  await regionInSync(a, c);
  // It has told of all of them.
  const heard = async () => {
    const [one] = (await perfStatus(c))["primaries"] as readonly Record<string, unknown>[];
    return one?.["last_heartbeat"];
  };
  const before = await heard();
  performanceOf(c).upstream?.tell();
  await until(async () => (await heard()) !== before);
  const headOfBefore = a.index;
  const own = await c.server.call("POST", "/v1/auth/token/create", { token: root, body: {} });
  is(own, 200);
  const mine = String(at(own, "auth", "client_token"));
  fromC.cut();
  await takeOver(b, a.opened.shares, true);
  const id = await b.clusterId();
  await until(async () => (await followed(c)) === id);
  // What the one of before has told of is not waited for.
  await until(async () => {
    const { state, wal_lag: lag, promotable_reasons: reasons } = await perfStatus(c);
    const isBehind = Array.isArray(reasons) && reasons.includes("complete");
    return state === "stream-wals" && lag === 0 && !isBehind;
  });
  assert.ok(b.index < headOfBefore, "it has written less than was given up");
  is(await putAt(b, "later", root), 200);
  await regionInSync(withRoot(b, root), c);
  const values = ["kept", "changed", "surplus", "under-new-key", "later"].map((path) =>
    valueAt(c, path, root),
  );
  assert.deepEqual(await Promise.all(values), ["1", "old", null, null, "1"]);
  is(await c.server.call("GET", "/v1/auth/token/lookup-self", { token: mine }), 200);
  const { divergent_entries: count } = await perfStatus(c);
  assert.ok(Number(count) >= 3, JSON.stringify(count));
  const listed = await c.server.call("GET", "/v1/sys/replication/divergent", { token: root });
  is(listed, 200);
  const [tail] = at(listed, "data", "tails") as readonly { id: string; kind: string }[];
  assert.equal(tail?.kind, "performance");
  const path = `/v1/sys/replication/divergent/${tail?.id ?? ""}`;
  const read = await c.server.call("GET", path, { token: root });
  is(read, 200);
  assert.equal((at(read, "data", "entries") as unknown[]).length, count);
});

test("R-111: who stands in for a performance secondary comes to the primary in its place; the one that still runs is cut, and says so", async (t) => {
  const { a, c, toC, root } = await startCascade(t);
  const d = await standInOf(t, c, root, addressOf(toC));
  toC.cut(); // it cannot be told
  await takeOver(d, a.opened.shares, true);
  const by = withRoot(d, root);
  await regionInSync(a, by);
  const replaced = async () => JSON.stringify((await perfStatus(c))["last_sync_error"]);
  await until(async () => /promoted in the place of this/.test(await replaced()));
  assert.equal((await c.status())["state"], "running"); // nobody else has told it
  const { state, forwards_writes: sends } = await perfStatus(c);
  assert.deepEqual([state, sends], ["idle", false]);
  is(await putAt(c, "refused", root), 503);
  is(await putAt(d, "through", root), 200);
  assert.equal(await valueAt(a, "through", root), "1");
  const [member] = (await perfStatus(a))["secondaries"] as readonly Record<string, unknown>[];
  const { node_id: name, cluster_id: cluster, connection_status: link } = member ?? {};
  assert.deepEqual([name, cluster, link], ["region-c", await d.clusterId(), "connected"]);
  assert.equal((await perfStatus(d))["secondary_id"], "region-c");
});

test("a cluster that leaves with the data of a performance primary is nothing in its set", async (t) => {
  const { a, b, c, root } = await startCascade(t);
  const token = await b.operationToken(a.opened.shares);
  is(await b.dr("secondary/disable", { dr_operation_token: token }, token), 200);
  assert.deepEqual(await perfStatus(b), { mode: "disabled" });
  is(await putAt(b, "own", root), 200);
  is(await putAt(a, "shared", root), 200);
  await regionInSync(a, c);
  assert.equal(await valueAt(c, "own", root), null);
  assert.equal(await followed(c), await a.clusterId());
});

test("a cluster that stood in for a performance primary and was revoked takes nothing of the set with it: neither the primary nor its secondary believes it", async (t) => {
  const { a, b, c, root } = await startCascade(t);
  const [own, id] = await Promise.all([a.clusterId(), b.clusterId()]);
  const [place] = (await perfStatus(c))["failover_cluster_addrs"] as string[];
  const view = c.server.server.barrier.view("local/replication/performance/");
  is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  await until(() => storedRevokedThere(view).includes(id));
  const heard: MessageOf<typeof fence.response>[] = [];
  const encode = fence.response.encode.bind(fence.response);
  fence.response.encode = (value) => {
    heard.push(value);
    return encode(value);
  };
  t.after(() => {
    fence.response.encode = encode;
  });
  await takeOver(b, a.opened.shares, true);
  assert.equal((await perfStatus(b))["epoch"], 2);
  // Both have heard it.
  await until(() => [true, false].every((leads) => heard.some((one) => one.leads === leads)));
  const body = { update_primary_addrs: [place] };
  const moved = await perf(c, "secondary/update-primary", body, root);
  is(moved, 502);
  assert.match(moved.text, /the primary has revoked this cluster/);
  is(await putAt(a, "later", root), 200);
  await until(async () => (await valueAt(c, "later", root)) === "1");
  assert.deepEqual(
    heard.filter(({ accepted }) => accepted),
    [],
  );
  assert.equal(await followed(c), own);
  assert.equal((await perfStatus(a))["state"], "running");
  assert.equal((await perfStatus(c))["epoch"], 1);
});
