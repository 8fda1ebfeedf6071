// A region whose shared rows are of different indexes of its primary, which it does not reach: nobody is answered from them, whatever
// becomes of the link, and it is status.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { placesIn } from "../../../src/replication/applied/applied-place.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { standInOf, startCascade, takeOver } from "../../support/replication/cascade.ts";
import { type Cluster, inSync } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  perf,
  performanceToken,
  performanceOf,
  perfStatus,
  regionInSync,
  startPerformancePrimaryBehind,
  withRoot,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

/** As a comparison leaves it that was cut off in the middle. Whoever receives reads it when it begins anew. */
async function tear({ server: { server } }: Cluster): Promise<void> {
  const { barrier, store } = server;
  const below = "replication/performance/";
  const views = { own: barrier.view(`core/${below}`), view: barrier.view(`local/${below}`) };
  const places = placesIn(views);
  await store.writeApplied((tx) => {
    const before = places.readIn(tx)!;
    places.put(tx, { ...before, half: { kind: "diff" } }, before);
  });
}

async function tornRegion(t: TestContext) {
  const { primary: a, way } = await startPerformancePrimaryBehind(t);
  const settings = { replication: { best_effort_wal_wait: "20ms" } }; // nobody waits for what does not come
  const b = await joinedRegion(t, a, "b", { settings });
  const root = a.token;
  await a.put("x", { n: "1" });
  await regionInSync(a, b);
  way.cut();
  await until(async () => (await perfStatus(b))["forwards_writes"] === false);
  await tear(b);
  const read = () => b.server.call("GET", "/v1/secret/data/x", { token: root });
  return { a, b, way, root, read };
}

test("what is here in part stays refused when nobody is followed any more, and is not left with, nor promoted by force; a comparison mends it", async (t) => {
  const { a, b, way, root, read } = await tornRegion(t);
  is(await read(), 503, "shared_half");
  is(await perf(b, "secondary/disable", {}, root), 400, "replication_half_copied");
  is(await read(), 503, "shared_half");
  is(await perf(b, "secondary/update-primary", { token: "" }, root), 200);
  is(await read(), 503, "shared_half");
  const forced = await perf(b, "secondary/promote", { force: true }, root);
  is(forced, 400, "replication_promotion_refused");
  assert.match(forced.text, /check \\"whole\\": the data is between two states[^;]*"/); // without a hint at force
  const tried = await perf(b, "secondary/promote", { dry_run: true }, root);
  assert.equal(at(tried, "data", "ready_with_force"), false);
  is(await perf(b, "secondary/disable", {}, root), 400, "replication_half_copied");
  const { server } = b.server;
  await server.keeper.seal();
  await b.server.unseal(a.opened.shares);
  is(await read(), 503, "shared_half");
  is(await perf(a, "primary/revoke-secondary", { id: "region-b" }), 204);
  way.heal();
  const token = await performanceToken(a, b, "region-b", root);
  is(await perf(b, "secondary/update-primary", { token }, root), 200);
  await regionInSync(a, b);
  is(await read(), 200);
});

test("a region that is cut off in the middle of a comparison tells of it: status and attention, until it is over", async (t) => {
  const { a, b, way, root, read } = await tornRegion(t);
  const status = async () => {
    const answer = await b.server.call("GET", "/v1/sys/attention", { token: root });
    is(answer, 200);
    const items = at(answer, "data", "items") as readonly { code: string; subject: string }[];
    return items.filter(({ code }) => code === "replication.torn").map(({ subject }) => subject);
  };
  assert.equal((await perfStatus(b))["serves_shared"], false);
  assert.deepEqual(await status(), ["performance"]);
  is(await b.server.call("POST", "/v1/sys/replication/recover", { token: root }), 200);
  assert.equal((await perfStatus(b))["serves_shared"], false);
  way.heal();
  await regionInSync(a, b);
  await until(async () => (await perfStatus(b))["serves_shared"] === true);
  assert.deepEqual(await status(), []);
  is(await read(), 200);
});

test("who stands in for a region that was lost in the middle of a comparison has its rows, and knows that they are of different indexes: it serves none of them before it has compared, and leaves with none", async (t) => {
  const { a, fromC, fromB, c, root } = await startCascade(t);
  await a.put("x", { n: "1" });
  await regionInSync(a, c);
  const d = await standInOf(t, c, root);
  for (const way of [fromC, fromB]) way.cut(); // nobody else is there whom it could compare with
  await tear(c);
  await inSync(withRoot(c, root), d);
  const token = await d.operationToken(a.opened.shares);
  const body = { dr_operation_token: token };
  is(await d.dr("secondary/disable", body, token), 400, "replication_half_copied");
  await c.server.server.keeper.seal();
  await takeOver(d, a.opened.shares, true);
  const read = () => d.server.call("GET", "/v1/secret/data/x", { token: root });
  is(await read(), 503, "shared_half");
  assert.equal((await perfStatus(d))["serves_shared"], false);
  const forced = await perf(d, "secondary/promote", { force: true }, root);
  is(forced, 400, "replication_promotion_refused");
  is(await perf(d, "secondary/disable", {}, root), 400, "replication_half_copied");
  fromC.heal();
  await regionInSync(a, withRoot(d, root));
  is(await read(), 200);
  assert.equal((await perfStatus(d))["serves_shared"], true);
  assert.equal(performanceOf(d).wasTorn, false);
});
