// Section K on a disaster-recovery secondary: what it answers whom, what its status tells, and what its operation tokens are
// good for. Whole servers, with real TLS between them.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { drOperationOf, isOfCopying, isOfDrSecondary } from "@holdfast/shared/endpoint/access";
import { everyEndpoint } from "../../../src/surface.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { type Cluster, inSync, joined, startPrimary } from "../../support/replication/clusters.ts";

const DR = "/v1/sys/replication/dr";
const ATTEMPT = `${DR}/secondary/generate-operation-token`;

async function pair(t: TestContext): Promise<{ readonly a: Cluster; readonly b: Cluster }> {
  const a = await startPrimary(t);
  await a.put("x", { n: "1" });
  const b = await joined(t, a);
  await inSync(a, b);
  return { a, b };
}

function pathOf(path: string): string {
  return `/v1${path.replaceAll(/:[a-z]+\+?/gi, "x")}`;
}

/** What anybody may do there: to see how the node is, and to unseal it. */
const ANSWERED = [
  "GET /sys/evidence/keys",
  "GET /sys/health",
  "GET /sys/init",
  "GET /sys/leader",
  "GET /sys/replication/dr/status",
  "GET /sys/replication/performance/status",
  "GET /sys/replication/status",
  "GET /sys/seal-status",
];

test("T-K02: a secondary answers its own routes, status and health, and nothing else; what changes it needs an operation token", async (t) => {
  const { a, b } = await pair(t);
  const { store } = b.server.server;
  const before = b.index;
  const answered = new Set<string>();
  for (const { method, path, access } of everyEndpoint) {
    const name = `${method} ${path}`;
    if (name === "POST /sys/unseal") continue; // of the node, and open wherever it is
    const body = method === "GET" || method === "LIST" ? undefined : {};
    for (const token of [undefined, a.token, b.token, "nobody's"]) {
      const answer = await b.server.call(method, pathOf(path), { token, body });
      const { status, text } = answer;
      // What runs a first copy alone is none of its routes.
      if (isOfCopying(access)) assert.equal(status, 503, `${name}: ${text}`);
      else if (drOperationOf(access) !== null) assert.equal(status, 403, `${name}: ${text}`);
      else if (isOfDrSecondary(access)) continue; // the ceremony itself: below
      else if (access.kind === "open") {
        if (status < 300 || status === 472) answered.add(name);
      } else assert.ok(status === 503 || status === 400, `${name}: ${status} ${text}`);
    }
  }
  assert.deepEqual([...answered].toSorted(), ANSWERED);
  assert.deepEqual([b.index, store.following], [before, true], "nothing was changed");
  assert.equal((await b.status())["mode"], "secondary");
  // Cancelled attempts and tokens of nobody open nothing either.
  for (const dr_operation_token of ["", "x", a.token, b.token]) {
    for (const operation of ["promote", "disable", "update-primary", "recover"]) {
      const refused = await b.dr(`secondary/${operation}`, { dr_operation_token }, "");
      assert.equal(refused.status, 403, `${operation}: ${refused.text}`);
    }
  }
});

test("T-K13: status tells anybody its documented fields: no versions, and no ids of clusters beyond them", async (t) => {
  const { a, b } = await pair(t);
  const [own, other] = [await a.clusterId(), await b.clusterId()];
  for (const [cluster, hidden] of [
    [a, own], // that of a secondary is a documented field of its primary
    [b, `${own} ${other}`],
  ] as const) {
    const status = await cluster.status();
    const text = JSON.stringify(status);
    const names = Array.from(text.matchAll(/"(\w+)":/g), ([, name = ""]) => name);
    assert.ok(names.length > 15);
    const telling = names.filter((name) => /version|local_cluster_id|token|secret|_key/.test(name));
    assert.deepEqual(telling, []);
    assert.ok(!text.includes("1.2.3"), "no version of anything");
    for (const id of [...hidden.split(" "), a.token, ...a.opened.shares]) {
      assert.ok(!text.includes(id), `${id} in ${text}`);
    }
  }
  const { secondaries } = (await a.status()) as { secondaries: object[] };
  for (const one of secondaries) assert.ok(!("version" in one));
  // Of a namespace that is there and one that is not it tells the same.
  const seen = (namespace: string) =>
    b.server.call("GET", `${DR}/status`, { namespace }).then(({ status }) => status);
  assert.equal(await seen("team/"), await seen("nowhere/"));
});

test("T-F13: of an operation token there is one attempt, with its nonce; it opens what it is for until it is deleted", async (t) => {
  const { a, b } = await pair(t);
  const [key] = a.opened.shares;
  const attempt = (method: string, body?: object): Promise<Answer> =>
    b.server.call(method, `${ATTEMPT}/attempt`, { body });
  const begun = await attempt("POST", {});
  assert.equal(begun.status, 200, begun.text);
  const otp = String(at(begun, "otp"));
  const again = await attempt("POST", {});
  assert.equal(again.status, 400, again.text);
  const looked = await attempt("GET");
  for (const { text } of [again, looked]) assert.ok(!text.includes(otp), "the pad is told once");
  for (const nonce of [undefined, "", "11111111-2222-4333-8444-555555555555"]) {
    const body = { key, nonce };
    const answer = await b.server.call("POST", `${ATTEMPT}/update`, { body });
    assert.equal(answer.status, 400, answer.text);
    assert.ok(!answer.text.includes(otp));
  }
  assert.equal((await attempt("DELETE")).status, 204);
  const token = await b.operationToken(a.opened.shares);
  // Good for what is done on a secondary, and for nothing else, there or on the primary.
  const dry = { dr_operation_token: token, dry_run: true };
  assert.equal((await b.dr("secondary/promote", dry, "")).status, 200);
  for (const { method, path, access } of everyEndpoint) {
    if (access.kind === "open" || drOperationOf(access) !== null || isOfDrSecondary(access))
      continue;
    const body = method === "GET" || method === "LIST" ? undefined : {};
    const { status, text } = await b.server.call(method, pathOf(path), { token, body });
    assert.ok(status === 503 || status === 400, `${method} ${path}: ${status} ${text}`);
  }
  assert.equal((await a.server.call("GET", "/v1/sys/mounts", { token })).status, 403);
  const deleted = await b.dr("secondary/operation-token/delete", dry, "");
  assert.ok(deleted.status < 300, deleted.text);
  assert.equal((await b.dr("secondary/promote", dry, "")).status, 403);
});
