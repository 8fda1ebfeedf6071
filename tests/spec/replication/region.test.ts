// The name of a region is stored with the data: it goes where that goes, and the setting names it once.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { at } from "../../support/http-client.ts";
import { inSync, joined, startPrimary } from "../../support/replication/clusters.ts";
import {
  startServer,
  type TestServer,
  type TestServerOptions,
} from "../../support/servers/test-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

async function regionOf(server: TestServer): Promise<unknown> {
  return at(await server.call("GET", "/v1/sys/health"), "region");
}

function warnings({ lines }: TestServer): string[] {
  return lines.filter((line) => line.includes("the region has another name than configured"));
}

async function started(t: TestContext, region: string, options: TestServerOptions = {}) {
  const server = await startServer({ ...options, settings: { region } });
  t.after(() => server.stop());
  return server;
}

async function isNamed(server: TestServer, token: string, name: string): Promise<boolean> {
  const { status } = await server.call("GET", `/v1/acl/tokens?region=${name}`, { token });
  return status === 200;
}

test("a cluster keeps the name that it was initialised with; another setting is told in the log", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk, settings: { region: "north" } });
  const { shares, token } = await first.open();
  assert.equal(await regionOf(first), "north");
  assert.deepEqual(warnings(first), []);
  await first.stop();

  const again = await started(t, "south", { disk });
  const { index } = again.server.store;
  await again.unseal(shares);
  assert.equal(again.server.store.index, index, "nothing is written");
  assert.equal(await regionOf(again), "north");
  assert.deepEqual(
    [await isNamed(again, token, "north"), await isNamed(again, token, "south")],
    [true, false],
  );
  const policies = await again.call("GET", "/v1/acl/policies?region=north", { token });
  assert.equal(policies.status, 200, policies.text);
  const [line, ...more] = warnings(again);
  assert.match(line ?? "", /WARN.*region=north.*configured=south/);
  assert.deepEqual(more, []);
});

test("a store of an earlier version gets the configured name when it is first unsealed, and keeps that", async (t) => {
  const disk = new MemoryDisk();
  const old = await startServer({ disk, settings: { region: "north" } });
  const { shares } = await old.open();
  await old.server.barrier.view("local/").write((tx) => tx.delete("cluster/region"));
  await old.stop();

  const raised = await startServer({ disk, settings: { region: "east" } });
  await raised.unseal(shares);
  assert.equal(await regionOf(raised), "east");
  assert.deepEqual(warnings(raised), []);
  await raised.stop();

  const later = await started(t, "west", { disk });
  await later.unseal(shares);
  assert.equal(await regionOf(later), "east");
});

test("a DR secondary has the name of its primary's region, and keeps it when it is promoted", async (t) => {
  const a = await startPrimary(t, { settings: { region: "north" } });
  const b = await joined(t, a, "site-b", { settings: { region: "south" } });
  await inSync(a, b);
  await until(async () => (await regionOf(b.server)) === "north");
  const demoted = await a.dr("primary/demote");
  assert.equal(demoted.status, 200, demoted.text);
  await b.replication.promote({ force: false, address: "" });
  assert.equal(await regionOf(b.server), "north");
  assert.ok(await isNamed(b.server, a.token, "north"));
  assert.equal(warnings(b.server).length, 1);
  assert.equal(await regionOf(a.server), "north", "also the one that was demoted");
});

test("what a primary of an earlier version stores reaches a secondary that is open", async (t) => {
  const a = await startPrimary(t, { settings: { region: "north" } });
  const local = a.server.server.barrier.view("local/");
  const b = await joined(t, a, "site-b", { settings: { region: "south" } });
  await local.write((tx) => tx.delete("cluster/region"));
  await inSync(a, b);
  await until(async () => (await regionOf(b.server)) === "south");
  await a.server.call("POST", "/v1/sys/seal", { token: a.token });
  await a.server.unseal(a.opened.shares);
  await until(async () => (await regionOf(b.server)) === "north");
});

test("a snapshot brings the name of its region along", async (t) => {
  const north = await started(t, "north");
  const { shares, token } = await north.open();
  const { body } = await takeSnapshot(north.url, token);
  const south = await started(t, "south");
  const other = await south.open();
  const sent = await sendSnapshot(south.url, other.token, "snapshot-force", body);
  assert.equal(sent.status, 204, sent.text);
  await until(async () => {
    const answer = await south.call("GET", "/v1/sys/seal-status");
    return answer.status === 200 && at(answer, "sealed") === true;
  });
  await south.unseal(shares);
  assert.equal(await regionOf(south), "north");
  assert.equal(warnings(south).length, 1);
});
