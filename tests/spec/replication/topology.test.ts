// The picture of a whole set: what each of its clusters tells of all of them, with real TLS.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { at } from "../../support/http-client.ts";
import {
  addressOf,
  is,
  standInOf,
  startCascade,
  takeOver,
} from "../../support/replication/cascade.ts";
import { type Cluster, startCluster } from "../../support/replication/clusters.ts";
import { filterOf, mountSecret } from "../../support/replication/filtered.ts";
import { perfStatus } from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

async function membersAt(cluster: Cluster, token?: string): Promise<readonly JsonObject[]> {
  const options = token === undefined ? {} : { token };
  const answer = await cluster.server.call(
    "GET",
    "/v1/sys/replication/status?topology=true",
    options,
  );
  is(answer, 200);
  return at(answer, "data", "topology", "members") as readonly JsonObject[];
}

/** Each as "name kind<name of whom it follows", in one order; those that are away with a mark. */
async function drawn(cluster: Cluster): Promise<string> {
  const members = await membersAt(cluster);
  const nameOf = (number: unknown) => {
    const found = members.find(({ member }) => member === number);
    return JSON.stringify(found?.["name"] || found?.["region"] || "-").slice(1, -1);
  };
  const lines = members.map(({ member, kind, follows, connected }) => {
    const edge =
      kind === null ? "leads" : `${JSON.stringify(kind).slice(1, -1)}<${nameOf(follows)}`;
    return `${nameOf(member)} ${edge}${connected === true ? "" : " away"}`;
  });
  return lines.toSorted().join("; ");
}

const shows = (cluster: Cluster, picture: string) =>
  until(async () => (await drawn(cluster)) === picture);

test("each of four clusters tells of all four: who leads, who follows and stands in for whom, state, lag, regions and what is withheld; and of one that is away", async (t) => {
  const { a, b, c, fromC, toC, root } = await startCascade(t);
  await mountSecret(a, "eu");
  is(await filterOf(a, "region-c", "deny", ["eu/"]), 200);
  const found = async () => {
    const answer = await a.server.call("GET", "/v1/sys/attention", { token: root });
    const items = at(answer, "data", "items") as readonly JsonObject[];
    return items.flatMap(({ code, subject }) =>
      /stand-in|bare/.test(JSON.stringify(code)) ? [subject as string] : [],
    );
  };
  await until(async () => (await found()).join() === "performance/region-c"); // nobody stands in for it
  const d = await standInOf(t, c, root, addressOf(toC));
  const whole = "a leads; region-c performance<a; site-b dr<a; stand-in dr<region-c";
  for (const cluster of [a, b, c, d]) await shows(cluster, whole);
  for (const cluster of [a, b, c, d]) {
    await until(async () => {
      const found = (await membersAt(cluster)).find(({ name }) => name === "region-c");
      const { region, state, wal_lag: lag, withheld } = found ?? {};
      return region === "c" && state === "stream-wals" && lag === 0 && withheld === 1;
    });
    const members = await membersAt(cluster);
    assert.equal(members[0]?.["this_cluster"], true);
    const leads = members.find(({ kind }) => kind === null);
    assert.deepEqual([leads?.["region"], leads?.["state"]], ["a", "running"]);
    assert.deepEqual(leads?.["leads"], ["dr", "performance"]);
  }
  // Ids are for who may know them.
  assert.ok((await membersAt(a)).every((one) => one["cluster_id"] === undefined));
  const ids = (await membersAt(a, root)).map((one) => one["cluster_id"] as string);
  const all = await Promise.all([a, b, c, d].map((one) => one.clusterId()));
  assert.deepEqual(ids.toSorted(), all.toSorted());

  // Who stands in says whose place it would take, and a region how much it is not sent.
  const [atB, atD] = [await b.status(), await d.status()];
  assert.deepEqual(atB["stands_in_for"], { mode: "primary", name: "", region: "a" });
  assert.deepEqual(atD["stands_in_for"], { mode: "secondary", name: "region-c", region: "c" });
  assert.equal((await perfStatus(c))["withheld"], 1);
  const [row] = (await perfStatus(a))["secondaries"] as readonly JsonObject[];
  assert.equal(row?.["withheld"], 1);
  const metrics = async () =>
    (await a.server.call("GET", "/v1/sys/metrics?format=prometheus", { token: root })).text;
  const ready = `holdfast_replication_stand_in_ready{region="region-c",stand_in="stand-in"}`;
  await until(async () => (await metrics()).includes(`${ready} 1`));
  assert.ok((await metrics()).includes(`holdfast_replication_withheld{secondary="region-c"} 1`));
  await until(async () => (await found()).length === 0);
  toC.cut();
  await until(async () => (await found()).join() === "performance/region-c/stand-in");
  assert.ok((await metrics()).includes(`${ready} 0`));
  toC.heal();
  await until(async () => (await found()).length === 0);

  fromC.cut();
  await shows(a, "a leads; region-c performance<a away; site-b dr<a; stand-in dr<region-c");
  // At c the primary is not reached, and what it told last is shown still; d hears it from c.
  const cut = "a leads away; region-c performance<a away; site-b dr<a; stand-in dr<region-c";
  for (const cluster of [c, d]) await shows(cluster, cut);
  const [heard] = (await membersAt(c)).filter(({ kind }) => kind === null);
  assert.ok(Number(heard?.["heard_ms_ago"]) >= 0);
});

test("after a failover the picture is that of the new primary, and the one of before says that it was replaced", async (t) => {
  const { a, b, c, fromB, fromC } = await startCascade(t);
  await shows(b, "a leads; region-c performance<a; site-b dr<a");
  for (const way of [fromB, fromC]) way.cut();
  await takeOver(b, a.opened.shares, true);
  // Of whom it has not come over is told too: the primary of before, in disaster recovery.
  const before = (members: readonly JsonObject[]) =>
    members.filter(({ state }) => state === "awaited").map(({ kind }) => kind as string);
  await until(async () => {
    const members = await membersAt(b);
    const region = members.find(({ name }) => name === "region-c");
    return region?.["connected"] === true && before(members).join() === "dr";
  });
  await until(async () => {
    const members = await membersAt(c);
    const leads = members.find(({ kind }) => kind === null);
    return leads?.["connected"] === true && before(members).join() === "dr";
  });
  for (const way of [fromB, fromC]) way.heal();
  await until(async () => (await membersAt(a))[0]?.["state"] === "fenced");
});

test("a cluster on its own is told as one, and who is told mode and state alone is told of nobody", async (t) => {
  const alone = await startCluster(t);
  const [own, ...others] = await membersAt(alone);
  assert.deepEqual([own?.["kind"], own?.["state"], own?.["leads"]], [null, "alone", []]);
  assert.deepEqual(others, []);
  const settings = { replication: { status_access: "minimal" } };
  const shy = await startCluster(t, { settings });
  const path = "/v1/sys/replication/status?topology=true";
  const answer = await shy.server.call("GET", path);
  is(answer, 200);
  assert.equal(at(answer, "data", "topology"), undefined);
  assert.equal((await membersAt(shy, shy.token)).length, 1);
});
