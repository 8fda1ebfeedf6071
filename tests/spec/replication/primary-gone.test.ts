// That a primary is gone is known, and never assumed: without force nobody is promoted beside one that lives.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const FOLLOW = /update-primary .*with a token of the cluster that leads/;
const FORCED = { force: true, address: "" };

/** Neither is it promoted nor does a rehearsal say so. Gives the reason. */
async function refused(cluster: Cluster, token: string, next = FOLLOW): Promise<string> {
  const rehearsal = await cluster.dr("secondary/promote", { dry_run: true }, token);
  assert.equal(at(rehearsal, "data", "ready"), false, rehearsal.text);
  assert.match(rehearsal.text, next);
  const answer = await cluster.dr("secondary/promote", {}, token);
  is(answer, 400, "replication_promotion_refused");
  assert.match(answer.text, /primary-gone/);
  const { mode, promotable_reasons } = await cluster.status();
  assert.deepEqual([mode, promotable_reasons], ["secondary", ["primary-gone"]]);
  return answer.text;
}

/** For how many seconds the primary was not heard of. */
async function unheard(cluster: Cluster): Promise<number> {
  const [primary] = (await cluster.status())["primaries"] as JsonObject[];
  return Number(primary?.["replication_primary_canary_age_ms"]) / 1000;
}

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

test("a fenced primary that was demoted still knows who leads, also after a start, and is promoted beside it by force alone", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote(FORCED);
  way.heal();
  await until(async () => (await a.status())["state"] === "fenced");
  is(await a.dr("primary/demote"), 200);
  assert.equal((await a.status())["seal_source"], "own");
  const token = await a.operationToken(a.opened.shares);
  const leader = await b.clusterId();
  assert.ok((await refused(a, token)).includes(leader));
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  assert.ok((await refused(a, token)).includes(leader));
  const forced = await a.dr("secondary/promote", { force: true }, token);
  is(forced, 200);
  assert.match(forced.text, /promoted without the check/);
});

test("to forget a primary does not make it gone; one that was demoted before is", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  is(await b.dr("secondary/update-primary", { token: "" }, token), 200);
  assert.equal((await b.status())["seal_source"], "primary", "its shares are the primary's");
  assert.ok((await refused(b, token)).includes(await a.clusterId()));
  await a.put("later", { n: "1" });

  const c = await joined(t, a, "site-c");
  await inSync(a, c);
  is(await a.dr("primary/demote"), 200);
  const other = await c.operationToken(a.opened.shares);
  is(await c.dr("secondary/update-primary", { token: "" }, other), 200);
  is(await c.dr("secondary/promote", {}, other), 200);
});

test("a secondary that was revoked takes no silence for an end, also when its primary has ended since", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  is(await a.dr("primary/revoke-secondary", { id: "site-b" }), 204);
  await until(async () => /revoked/.test(JSON.stringify(await b.status())));
  await until(async () => (await unheard(b)) > 16);
  assert.match(await refused(b, token), /does not take this cluster.*revoked/);
  await b.server.server.keeper.seal();
  await b.server.unseal(a.opened.shares);
  assert.match(await refused(b, token), /does not take this cluster.*revoked/);
  await a.server.crash();
  assert.match(await refused(b, token), /does not take this cluster.*revoked/);
});

test("a secondary whose primary has ended replication is not promoted beside it without force, also after a start", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  is(await a.dr("primary/disable"), 200);
  await until(async () => (await unheard(b)) > 20);
  const why = /has disabled replication and goes on by itself.*two of everything/;
  const keeps = async () => {
    assert.match(
      await refused(
        b,
        token,
        /"next":\["here, where the primary of before.* is to go on: stop this server/,
      ),
      why,
    );
    assert.match((await b.status())["last_sync_error"] as string, why);
  };
  await keeps();
  await b.server.server.keeper.seal();
  await b.server.unseal(a.opened.shares);
  await keeps();
  await a.server.crash();
  await keeps();
});

test("a secondary of a primary that was superseded is told so, and does not become a third one", async (t) => {
  const a = await startPrimary(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  const c = await joined(t, a, "site-c", { world: HURRIED });
  await inSync(a, b);
  await inSync(a, c);
  const token = await c.operationToken(a.opened.shares);
  await b.replication.promote(FORCED);
  await until(async () => /was promoted: follow/.test(JSON.stringify(await c.status())));
  const leader = await b.clusterId();
  await until(async () => (await c.status())["conflicting_primary"] === leader);
  assert.ok((await refused(c, token)).includes(leader));
  // Nor when that one is gone, and silent for long, and it was started anew.
  await a.server.crash();
  const before = await unheard(c);
  await until(async () => (await unheard(c)) > before + 20);
  assert.ok((await refused(c, token)).includes(leader));
  await c.server.server.keeper.seal();
  await c.server.unseal(a.opened.shares);
  assert.ok((await refused(c, token)).includes(leader));
  await rejoined(b, c, "site-c", a.opened.shares, a.token);
  await inSync(b, c);
  assert.equal((await c.status())["conflicting_primary"], undefined);
});

test("a primary that is back while its secondary still waits to call it is not gone", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  for (const dry_run of [true, false]) {
    way.cut();
    await until(async () => (await b.status())["promotable"] === true);
    const { accepted } = way;
    await until(() => way.accepted > accepted); // the next call is far off
    way.heal();
    await a.put("back", { n: "1" });
    const answer = await b.dr("secondary/promote", { dry_run }, token);
    if (dry_run) assert.equal(at(answer, "data", "ready"), false, answer.text);
    else is(answer, 400, "replication_promotion_refused");
    assert.match(answer.text, /the primary (was heard of|is alive)/);
    await inSync(a, b); // it has connected at once
  }
});

test("a primary that was started again is followed within seconds, however long its secondary would wait", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, { world: HURRIED });
  const b = await joined(t, a, "site-b", { world: HURRIED });
  await inSync(a, b);
  await a.server.server.keeper.seal();
  const { accepted } = way;
  await until(() => way.accepted >= accepted + 6); // the next is half a minute away
  const { clock } = HURRIED;
  const began = clock.elapsed();
  await a.server.unseal(a.opened.shares);
  await inSync(a, b);
  const took = clock.elapsed() - began;
  assert.ok(took < 12n * SECOND, String(took));
});

for (const how of ["cut off", "mute"]) {
  test(`a primary that is ${how} is gone after its silence, though it is called once more`, async (t) => {
    const { primary: a, way } = await startPrimaryBehind(t, { world: HURRIED });
    const b = await joined(t, a, "site-b", { world: HURRIED });
    await inSync(a, b);
    const token = await b.operationToken(a.opened.shares);
    if (how === "mute") way.hold("back");
    else way.cut();
    await until(async () => (await b.status())["promotable"] === true);
    is(await b.dr("secondary/promote", {}, token), 200);
  });
}

test("a rehearsal is refused for an address that the promotion would be refused for", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  for (const dry_run of [true, false]) {
    const body = { dry_run, force: true, primary_cluster_addr: "foo" };
    is(await b.dr("secondary/promote", body, token), 400, "replication_address_unusable");
  }
  assert.equal((await b.status())["mode"], "secondary");
});
