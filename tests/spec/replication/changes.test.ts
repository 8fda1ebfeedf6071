// Changes of the role, and what comes between: failures, the seal, a start in the middle.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { nextTurn } from "../../support/fake-world.ts";
import { type Answer, at } from "../../support/http-client.ts";
import {
  type Cluster,
  type ClusterOptions,
  inSync,
  joined,
  startPrimary,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const FORCED = { force: true, address: "" };

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

test("keys of another primary that wait for the seal are given up with it", async (t) => {
  const { a, b, shares } = await pair(t, { world: HURRIED });
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
  const sealed = keeper.seal();
  const body = { token: at(made, "data", "token") };
  const moved = b.dr("secondary/update-primary", body, operation);
  await until(() => b.replication.changing);
  gate.resolve();
  await turn;
  is(await moved, 503);
  await sealed;
  await b.server.unseal(shares);
  const { role } = b.replication;
  assert.equal(role.mode === "secondary" && role.id, "site-b", "as before");
  await a.put("later", { n: "1" });
  await inSync(a, b);
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
