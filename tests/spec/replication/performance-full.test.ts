// A performance secondary whose disk is nearly full: what its primary revokes is applied for as long as own revocations are, and where it cannot
// be, no global token is taken, and it says so.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import {
  joinedRegion,
  performanceOf,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { KeptGenerations } from "../../support/stores/kept-generations.ts";
import { until } from "../../support/until.ts";

const MIB = 1024 * 1024;
const SELF = "/v1/acl/token/self";

function is(answer: Answer, status: number, code?: string): void {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
}

async function newToken(cluster: Cluster, root: string, isGlobal: boolean) {
  const body = { Type: "management", Global: isGlobal };
  const made = await cluster.server.call("POST", "/v1/acl/token", { token: root, body });
  is(made, 200);
  return { secret: String(at(made, "SecretID")), accessor: String(at(made, "AccessorID")) };
}

/** Two regions, and what says how much is free where the second one keeps its data. */
async function fillingRegion(t: TestContext) {
  const generations = new KeptGenerations();
  const a = await startPerformancePrimary(t);
  const b = await joinedRegion(t, a, "b", { generations });
  await regionInSync(a, b);
  const root = a.token;
  const here = await newToken(b, root, false);
  /** From when this resolves: what is free is looked at ten times a second. */
  const free = async (bytes: number | null) => {
    generations.free = bytes;
    const body = { Type: "management" };
    const wanted = bytes === null ? 200 : 503;
    await until(async () => {
      const { status } = await b.server.call("POST", "/v1/acl/token", { token: here.secret, body });
      return status === wanted;
    });
  };
  const makeGlobal = async () => {
    const made = await newToken(a, root, true);
    await regionInSync(a, b);
    return made;
  };
  const revoke = async ({ accessor }: { readonly accessor: string }) => {
    const path = `/v1/acl/token/${accessor}`;
    assert.ok((await a.server.call("DELETE", path, { token: root })).status < 300);
  };
  const self = ({ secret }: { readonly secret: string }) =>
    b.server.call("GET", SELF, { token: secret });
  return { a, b, root, free, here, makeGlobal, revoke, self };
}

test("T-A20: what the primary revokes is revoked in a region whose disk is down to its reserve", async (t) => {
  const { a, b, free, makeGlobal, revoke, self } = await fillingRegion(t);
  const [one, two] = [await makeGlobal(), await makeGlobal()];
  await free(40 * MIB);
  await a.put("x", { n: "1" });
  await revoke(one);
  await until(() => performanceOf(b).applied >= a.index);
  is(await self(one), 403);
  is(await self(two), 200);
  await free(20 * MIB);
  await revoke(two);
  await until(() => performanceOf(b).applied >= a.index);
  is(await self(two), 403);
  assert.equal((await perfStatus(b))["state"], "stream-wals");
});

test("T-A20: a region that has no room for what the primary writes says so, and takes no global tokens until it has", async (t) => {
  const { a, b, root, free, here, makeGlobal, revoke, self } = await fillingRegion(t);
  const one = await makeGlobal();
  await free(20 * MIB);
  await a.put("x", { n: "1" });
  await revoke(one);
  await until(async () => (await perfStatus(b))["state"] === "idle");
  const { last_sync_error: error, primaries } = await perfStatus(b);
  assert.match(
    JSON.stringify(error),
    /nearly full, and what the primary writes is not applied, also what it revokes/,
  );
  assert.match(JSON.stringify(primaries), /"connected"/);
  for (const token of [one, { secret: root }])
    is(await self(token), 503, "global_tokens_unapplied");
  is(await self(here), 200);
  const replication = await b.server.call("GET", "/v1/acl/replication", { token: here.secret });
  assert.equal(at(replication, "Running"), false);
  await until(async () => {
    const [row] = (await perfStatus(a))["secondaries"] as { state: string }[];
    return row!.state === "idle";
  });
  const there = await a.server.call("GET", "/v1/sys/attention", { token: root });
  const seen = at(there, "data", "items") as { code: string; text: string; subject: string }[];
  const [behind] = seen.filter(({ code }) => code === "replication.lag");
  assert.equal(behind?.subject, "performance/region-b");
  assert.match(behind.text, /is connected and applies nothing/);
  const causes = b.server.lines.filter((line) => line.includes("replication.idle"));
  assert.equal(causes.length, 1, causes.join("\n"));
  assert.match(causes.join(), /nearly full, and what the primary writes is not applied/);
  const attention = await b.server.call("GET", "/v1/sys/attention", { token: here.secret });
  const items = at(attention, "data", "items") as { code: string; text: string }[];
  const lag = items.find(({ code }) => code === "replication.lag");
  assert.match(lag?.text ?? "", /does not stream.*nearly full/);
  await free(null);
  await regionInSync(a, b);
  is(await self(one), 403);
  is(await b.server.call("GET", SELF, { token: root }), 200);
});
