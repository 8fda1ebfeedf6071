// What a performance secondary keeps of its primary, and what clients of either may go by after their places have changed.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import type { Cluster } from "../../support/replication/clusters.ts";
import { KeptCluster } from "../../support/replication/kept-clusters.ts";
import {
  joinedRegion,
  perf,
  performanceOf,
  performanceToken,
  perfStatus,
  regionInSync,
  startPerformancePrimary,
} from "../../support/replication/performance.ts";
import { until } from "../../support/until.ts";

const GLOBAL = { Type: "client", Policies: ["p"], Global: true };

function is(answer: Answer, status: number, code?: string): Answer {
  assert.equal(answer.status, status, answer.text);
  if (code !== undefined) assert.equal(answer.headers["x-service-error"], code);
  return answer;
}

test("A-115 the region of the primary is known after a start without it: it is out of reach, and not unknown", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await KeptCluster.start(t, { region: "b" });
  const enabled = await performanceToken(a, b.now);
  is(await perf(b.now, "secondary/enable", { token: enabled }), 200);
  b.opened = a.opened;
  await regionInSync(a, b.now);
  const { token } = a;
  const replication = async () =>
    (await b.now.server.call("GET", "/v1/acl/replication", { token })).json as Readonly<
      Record<string, unknown>
    >;
  await until(async () => (await replication())["LastSuccess"] !== null);
  await b.fail();
  await a.server.stop();
  assert.ok(await b.begin());
  const refused = await b.now.server.call("GET", "/v1/acl/tokens?region=a", { token });
  is(refused, 503, "primary_unreachable");
  assert.equal(refused.headers["retry-after"], "5");
  is(await b.now.server.call("GET", "/v1/acl/tokens?region=c", { token }), 404, "no_region_path");
  const status = await replication();
  assert.deepEqual([status["Enabled"], status["Running"]], [true, false]);
  assert.equal(status["SourceRegion"], "a");
  assert.equal(typeof status["LastSuccess"], "string");
  assert.equal((await perfStatus(b.now))["primary_region"], "a");
});

test("since when a promoted cluster writes what is shared outlives its process: engines wait from then on", async (t) => {
  const a = await startPerformancePrimary(t);
  const b = await KeptCluster.start(t, { region: "b" });
  const joining = await performanceToken(a, b.now);
  is(await perf(b.now, "secondary/enable", { token: joining }), 200);
  b.opened = a.opened;
  await regionInSync(a, b.now);
  assert.equal(performanceOf(b.now).sharedSince, null);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b.now, "secondary/promote", {}, a.token), 200);
  const { sharedSince } = performanceOf(b.now);
  assert.notEqual(sharedSince, null);
  await b.fail();
  assert.ok(await b.begin());
  assert.equal(performanceOf(b.now).sharedSince, sharedSince);
});

async function localWrites(cluster: Cluster, token: string): Promise<void> {
  for (let i = 0; i < 5; i++) {
    is(await cluster.server.call("POST", "/v1/auth/token/create", { token, body: {} }), 200);
  }
}

test("A-110 after a failover what either region tells of a token can be compared with there", async (t) => {
  const a = await startPerformancePrimary(t);
  const token = a.token;
  const b = await joinedRegion(t, a);
  await localWrites(a, token); // so that indexes differ
  const made = is(await a.server.call("POST", "/v1/acl/token", { token, body: GLOBAL }), 200);
  await regionInSync(a, b);
  is(await perf(a, "primary/demote"), 200);
  is(await perf(b, "secondary/promote", {}, token), 200);
  const joining = await performanceToken(b, a, "region-a", token);
  is(await perf(a, "secondary/update-primary", { token: joining }, token), 200);
  await regionInSync(b, a);

  const id = String(at(made, "AccessorID"));
  const path = `/v1/acl/token/${id}`;
  const indexAt = async ({ server }: Cluster, more = "") =>
    at(is(await server.call("GET", `${path}${more}`, { token }), 200), "ModifyIndex");
  const change = ({ server }: Cluster, cas: unknown, name: string, more = "") => {
    const body = { ...GLOBAL, AccessorID: id, Name: name };
    return server.call("POST", `${path}?cas=${String(cas)}${more}`, { token, body });
  };
  const [there, here] = [await indexAt(b), await indexAt(a)];
  assert.notEqual(there, here, "else nothing is compared");
  assert.equal(here, at(made, "ModifyIndex"));
  is(await change(a, there, "no"), 409, "token_modified");
  const one = is(await change(a, here, "one"), 200);
  assert.equal(at(one, "ModifyIndex"), await indexAt(a));
  is(await change(b, await indexAt(b), "two"), 200);
  await regionInSync(b, a);
  const named = "&region=b";
  is(await change(a, await indexAt(a, "?region=b"), "three", named), 200);
  await regionInSync(b, a);
  is(await a.server.call("DELETE", `${path}?cas=${String(here)}`, { token }), 409);
  is(await a.server.call("DELETE", `${path}?cas=${String(await indexAt(a))}`, { token }), 200);
  is(await b.server.call("GET", path, { token }), 404);
});
