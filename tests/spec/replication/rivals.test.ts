// A primary that may not be the only one: its status says so, and goes on saying so.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { statusView } from "../../../src/cli/replication/status-view.ts";
import { storedSiblings } from "../../../src/replication/links/upstream.ts";
import { at } from "../../support/http-client.ts";
import {
  type Cluster,
  inSync,
  joined,
  startPrimary,
  startPrimaryBehind,
} from "../../support/replication/clusters.ts";
import { HURRIED } from "../../support/replication/hurried-world.ts";
import { until } from "../../support/until.ts";

const WORLD = { world: HURRIED };

/** Of attention: whom it is about, and what is the matter. */
async function conflicts({ server }: Cluster, token: string): Promise<string[]> {
  const answer = await server.call("GET", "/v1/sys/attention", { token });
  assert.equal(answer.status, 200, answer.text);
  const items = at(answer, "data", "items") as Record<"code" | "subject" | "text", string>[];
  return items
    .filter(({ code }) => code === "replication.conflict")
    .map(({ subject, text }) => `${subject}: ${text}`);
}

test("an old primary that is back hears from its secondary that another one leads, and says so", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t, WORLD);
  const [b, c] = [await joined(t, a, "site-b", WORLD), await joined(t, a, "site-c", WORLD)];
  for (const one of [b, c]) {
    await inSync(a, one);
    const view = one.server.server.barrier.view("core/replication/dr/");
    await until(() => storedSiblings(view).some(({ addresses }) => addresses.length > 0));
  }
  way.cut();
  for (const one of [b, c]) await until(async () => (await one.status())["state"] === "idle");
  await b.replication.promote({ force: true, address: "" });
  const leader = await b.clusterId();
  await until(async () => (await c.status())["conflicting_primary"] === leader);
  await b.server.crash(); // it tells the old one nothing
  way.heal();
  await c.replication.recover();
  const row = async () => {
    const { secondaries } = await a.status();
    return (secondaries as JsonObject[]).find(({ node_id }) => node_id === "site-c");
  };
  await until(async () => (await row())?.["later_primary"] === leader);
  assert.deepEqual(
    [(await row())?.["later_epoch"], (await row())?.["later_primary_name"]],
    [2, "site-b"],
  );
  assert.equal((await a.status())["state"], "running", "that is for who leads to say");
  const { troubled, advice } = statusView(await a.status(), 0n);
  assert.equal(troubled, true);
  const said = advice.join(" ");
  assert.match(said, /site-c knows of a later primary.*epoch 2.*Nothing should be written here/);
  assert.ok(said.includes(leader) && !said.includes("wait until it streams"), said);
  const [finding, ...more] = await conflicts(a, a.token);
  assert.match(
    String(finding),
    new RegExp(`^site-c: .*later primary, site-b \\(cluster ${leader}\\), of epoch 2`),
  );
  assert.deepEqual(more, []);
});

test("one that was revoked and promoted by force is warned of, and names the other until it is demoted, also after a start", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a);
  await inSync(a, b);
  const token = await b.operationToken(a.opened.shares);
  assert.equal((await a.dr("primary/revoke-secondary", { id: "site-b" })).status, 204);
  await until(async () => /revoked/.test(JSON.stringify(await b.status())));
  const other = await a.clusterId();
  const promoted = await b.dr("secondary/promote", { force: true }, token);
  assert.equal(promoted.status, 200, promoted.text);
  assert.match(String(at(promoted, "warnings")), new RegExp(`cluster ${other} has refused`));
  const names = async () => {
    const status = await b.status();
    assert.deepEqual([status["state"], status["conflicting_primary"]], ["running", other]);
    const { troubled, advice } = statusView(status, 0n);
    assert.equal(troubled, true);
    assert.match(advice.join(" "), new RegExp(`^Cluster ${other} had revoked this one`));
    assert.match(String(await conflicts(b, a.token)), new RegExp(`^: cluster ${other}`));
  };
  await names();
  await b.server.server.keeper.seal();
  await b.server.unseal(a.opened.shares);
  await names();
  const demoted = await b.dr("primary/demote", {}, a.token);
  assert.equal(demoted.status, 200, demoted.text);
  assert.equal((await b.status())["conflicting_primary"], undefined);
});

test("one that is promoted in the place of a primary that took it names nobody", async (t) => {
  const { primary: a, way } = await startPrimaryBehind(t);
  const b = await joined(t, a);
  await inSync(a, b);
  way.cut();
  await until(async () => (await b.status())["state"] === "idle");
  await b.replication.promote({ force: true, address: "" });
  assert.equal((await b.status())["conflicting_primary"], undefined);
  assert.deepEqual(await conflicts(b, a.token), []);
});

test("a fenced primary whose role is ended says who leads, and where that one is: it writes again beside it", async (t) => {
  const a = await startPrimary(t, WORLD);
  const b = await joined(t, a, "site-b", WORLD);
  await inSync(a, b);
  await b.replication.promote({ force: true, address: "" });
  await until(async () => (await a.status())["state"] === "fenced");
  const ended = await a.dr("primary/disable", {});
  assert.equal(ended.status, 200, ended.text);
  const leader = await b.clusterId();
  assert.match(
    String(at(ended, "warnings")),
    new RegExp(
      `site-b \\(cluster ${leader}\\) at \\S*127\\.0\\.0\\.1\\S* leads the set in epoch 2`,
    ),
  );
});
