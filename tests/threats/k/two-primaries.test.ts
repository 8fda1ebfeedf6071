// Section K about two primaries: of those that were promoted while they could not see each other one leads in the end, the
// others write nothing any more and say who leads, and what they wrote alone is merged by nobody.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  rejoined,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };
const WORLD = { world: HURRIED };

function put(cluster: Cluster, token: string, path: string): Promise<Answer> {
  const body = { data: { n: "1" } };
  return cluster.server.call("POST", `/v1/secret/data/${path}`, { token, body });
}

async function stateOf(cluster: Cluster): Promise<unknown> {
  return (await cluster.status())["state"];
}

/** Which of the two that are promoted has more of the old log; of equals the name decides. */
for (const ahead of ["none", "first", "second"] as const) {
  test(`T-K08: two secondaries are promoted at once, ${ahead} knew more: one leads, the other and the old primary name it`, async (t) => {
    const { primary: a, way } = await startPrimaryBehind(t, WORLD);
    const { token } = a;
    const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
    await a.put("x", { n: "1" });
    await inSync(a, b);
    await inSync(a, c);
    const behind = ahead === "first" ? c : ahead === "second" ? b : null;
    const other = behind === b ? c : b;
    if (behind !== null) {
      await behind.replication.rest(); // its way is cut first
      await a.put("more", { n: "1" });
      await inSync(a, other);
    }
    way.cut();
    await until(async () => (await stateOf(other)) === "idle");
    for (const one of [b, c]) {
      const view = one.server.server.barrier.view("core/replication/dr/");
      await view.write((tx) => tx.delete("siblings")); // they do not reach each other either
    }
    for (const one of [b, c]) await one.replication.promote(FORCED);
    for (const one of [a, b, c]) assert.equal((await put(one, token, "apart")).status, 200);
    const [nameB, nameC] = [await b.clusterId(), await c.clusterId()];
    const winner = ahead === "none" ? (nameB < nameC ? b : c) : other;
    const loser = winner === b ? c : b;
    way.heal();
    await until(async () => (await stateOf(a)) === "fenced" && (await stateOf(loser)) === "fenced");
    const name = winner === b ? nameB : nameC;
    await until(async () => (await a.status())["conflicting_primary"] === name);
    assert.equal((await loser.status())["conflicting_primary"], name);
    for (const one of [a, loser]) {
      assert.equal((await put(one, token, "refused")).status, 503);
      const read = await one.server.call("GET", "/v1/secret/data/x", { token });
      assert.equal(read.status, 200, "it still reads");
    }
    assert.equal(await stateOf(winner), "running");
    assert.equal((await put(winner, token, "only-here")).status, 200);
    // What the loser wrote alone is given up where somebody says so, kept, and merged by nobody.
    const { index } = loser;
    assert.equal((await loser.dr("primary/demote", {}, token)).status, 200);
    await rejoined(winner, loser, "back", a.opened.shares, token);
    await inSync(winner, loser);
    const [tail] = loser.replication.divergent.tails();
    assert.equal(tail?.head, index);
    const read = await winner.server.call("GET", "/v1/secret/data/only-here", { token });
    assert.equal(at(read, "data", "data", "n"), "1");
  });
}

test("T-K08, R-64: a secondary of a primary that was superseded is told so, and is sent nothing", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const { token } = a;
  const [b, d] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-d", WORLD)];
  await inSync(a, b);
  await inSync(a, d);
  await b.replication.promote(FORCED);
  await until(async () => (await stateOf(a)) === "fenced");
  const before = d.index;
  assert.equal((await put(b, token, "later")).status, 200);
  await until(async () =>
    /another cluster of the set was promoted/.test(JSON.stringify(await d.status())),
  );
  assert.equal(d.index, before);
  assert.equal(await stateOf(d), "idle");
  // It stays so after a restart of the old primary, which has nothing to send and says so again.
  await a.server.server.keeper.seal();
  await a.server.unseal(a.opened.shares);
  assert.equal(await stateOf(a), "fenced");
  await d.replication.recover();
  await until(async () =>
    /another cluster of the set was promoted/.test(JSON.stringify(await d.status())),
  );
  way.cut();
});
