// What a cluster that takes the place of another goes on with: the time of leases, and records of work that may still be under
// way at the other one.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { anyEngine, type Leading } from "@holdfast/plugin-sdk/engine";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { ask, issued, OutsideSite } from "../../support/replication/outside-site.ts";
import { startServer } from "../../support/servers/test-server.ts";
import { countingEngine } from "../../support/stores/counting-engine.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";

const STEP = 5n * SECOND;

async function promoted(b: Cluster, shares: readonly string[]): Promise<void> {
  const token = await b.operationToken(shares);
  const answer = await b.dr("secondary/promote", { force: true }, token);
  assert.equal(answer.status, 200, answer.text);
}

test("leases go on by the time of the log; a wall that is ahead is believed five minutes later", async (t) => {
  await goesOn(t, async (a) => a.put("x", { n: "1" }));
});

test("after a copy, of which there is no log, they go on by the time that the primary has told", async (t) => {
  await goesOn(t, async () => {});
});

async function goesOn(t: TestContext, write: (a: Cluster) => Promise<void>): Promise<void> {
  const site = new OutsideSite(t);
  const { time, outside } = site;
  const led: Leading[] = [];
  const watching = anyEngine({
    ...countingEngine(outside, { type: "watching" }),
    lead: (_: unknown, leading: Leading) => void led.push(leading),
  });
  const { engineTypes = [] } = site.options();
  const a = await site.primary({ engineTypes: [...engineTypes, watching] });
  const mounted = await ask(a, a.token, "POST", "sys/mounts/watching", { type: "watching" });
  assert.equal(mounted.status, 204, mounted.text);
  assert.deepEqual(led, [{ tookOverAt: null }]);
  const lease = await issued(a);
  let ahead = 0n;
  const now = (): Instant => time.clock.now() + ahead;
  const clock = { now, elapsed: () => time.clock.elapsed() };
  const b = await site.secondary(a, {
    engineTypes: [...engineTypes, watching],
    world: { clock, timers: time },
  });
  led.length = 0;
  ahead = 2n * HOUR; // somebody sets its clock
  await write(a);
  // Nothing is written after that: what has passed counts.
  await site.passUntil(passed(site, 10n * MINUTE), STEP);
  await site.inSync(a, b);
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  const took = now();
  await promoted(b, a.opened.shares);
  assert.deepEqual(led, [{ tookOverAt: took }]);
  const seconds = async () => {
    const answer = await ask(b, a.token, "POST", "sys/leases/lookup", { lease_id: lease.id });
    return answer.status === 200 ? Number(at(answer, "data", "ttl")) : null;
  };
  const left = await seconds();
  assert.ok(left !== null && left > 2940 && left <= 3000, String(left));
  await site.passUntil(passed(site, 4n * MINUTE), STEP);
  assert.ok(outside.has(lease.object), "an hour that the wall is ahead ends nothing");
  await site.passUntil(() => !outside.has(lease.object), STEP);
  assert.ok(now() - took <= 7n * MINUTE);
}

test("a write-ahead record that is old enough is undone at once; a young one has its whole time from the promotion on, also after a restart", async (t) => {
  for (const { age, from, to } of [
    { age: 11n * MINUTE, from: 0n, to: 2n * MINUTE },
    { age: 4n * MINUTE, from: 10n * MINUTE, to: 13n * MINUTE },
  ]) {
    const site = new OutsideSite(t);
    const { outside, time } = site;
    const generations = new KeptGenerations();
    const a = await site.primary();
    const b = await site.secondary(a, { generations });
    outside.fail("made", () => new Error("the provider hangs up"), 1);
    await ask(a, a.token, "GET", "count/creds/r");
    assert.equal(outside.objects.length, 1);
    await site.inSync(a, b);
    await a.server.crash();
    await site.passUntil(passed(site, age), STEP);
    await promoted(b, a.opened.shares);
    const took = time.clock.elapsed();
    if (from > 0n) {
      await site.passUntil(passed(site, 7n * MINUTE), STEP);
      await b.server.crash();
      await restarted(t, site, generations, a);
    }
    await site.passUntil(() => outside.objects.length === 0, STEP);
    const after = time.clock.elapsed() - took;
    assert.ok(after >= from && after <= to, `after ${after / SECOND} seconds`);
  }
});

/** Holds when so much time has gone by from now on. */
function passed({ time }: OutsideSite, length: Nanos): () => boolean {
  const end = time.clock.elapsed() + length;
  return () => time.clock.elapsed() >= end;
}

async function restarted(
  t: TestContext,
  site: OutsideSite,
  generations: KeptGenerations,
  { opened }: Cluster,
): Promise<void> {
  const clusterPort = { host: "127.0.0.1", port: 0 };
  const server = await startServer({
    ...site.options({ generations }),
    config: (config) => ({ ...config, clusterPort }),
  });
  t.after(() => server.stop());
  await server.unseal(opened.shares);
}
