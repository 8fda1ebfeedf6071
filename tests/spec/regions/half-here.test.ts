// A region in which what is shared is there in part, because it is being compared: nobody is answered from that, and what is its own goes on.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import { until } from "../../support/until.ts";

test("what is shared is 503 until it is whole again; status, health and what is this region's alone are answered", async (t) => {
  const { b, root: token, primary } = await twoRegions(t);
  const ask = (method: string, path: string, body?: object): Promise<Answer> =>
    b.call(method, `/v1/${path}`, { token, ...(body === undefined ? {} : { body }) });
  const kv = { type: "kv", local: true, options: { version: "1" } };
  assert.equal((await ask("POST", "sys/mounts/own", kv)).status, 204);
  const shared = ["sys/policies/acl/default", "sys/mounts", "clouda/roles", "nothing/here"];
  const before = await Promise.all(shared.map((path) => ask("GET", path)));
  primary.isTorn = true;
  for (const path of shared) {
    const refused = await ask("GET", path);
    assert.equal(refused.status, 503, `${path}: ${refused.text}`);
    assert.equal(refused.headers["x-service-error"], "shared_half");
    assert.equal(refused.headers["retry-after"], "5");
  }
  const policy = { policy: 'path "x" { capabilities = ["read"] }' };
  assert.equal((await ask("POST", "sys/policies/acl/p", policy)).status, 503);
  for (const path of ["sys/health", "sys/seal-status", "sys/replication/status"]) {
    assert.equal((await ask("GET", path)).status, 200, path);
  }
  assert.equal((await ask("POST", "own/x", { n: "1" })).status, 204);
  assert.equal((await ask("GET", "own/x")).status, 200);
  primary.isTorn = false;
  const after = await Promise.all(shared.map((path) => ask("GET", path)));
  assert.deepEqual(
    after.map(({ status }) => status),
    before.map(({ status }) => status),
  );
});

test("a request that the region of the primary answers needs nothing that is here in part, unless its answer is wrapped here", async (t) => {
  const { b, root: token, primary } = await twoRegions(t);
  primary.isTorn = true;
  const there = await b.call("GET", "/v1/acl/tokens?region=a", { token });
  assert.equal(there.status, 200, there.text);
  const headers = { "X-Service-Wrap-TTL": "60" };
  const [path, one] = ["/v1/acl/token/self?region=a", { token, headers }];
  for (const refused of [
    await b.call("GET", path, one),
    await b.call("GET", "/v1/acl/tokens", { token }),
    await b.call("GET", "/v1/acl/tokens?region=b", { token }),
  ]) {
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.headers["x-service-error"], "shared_half");
  }
});

test("a query that waits is not answered from what is here in part, and is told so in the same word", async (t) => {
  const { a, b, root: token, primary } = await twoRegions(t);
  const first = await b.call("GET", "/v1/acl/tokens", { token });
  const index = String(first.headers["x-service-index"]);
  const waiting = b.call("GET", `/v1/acl/tokens?index=${index}&wait=5m`, { token });
  await until(async () => {
    const running = at(await b.call("GET", "/v1/sys/in-flight-req", { token }), "data");
    return JSON.stringify(running).includes("listTokens");
  });
  primary.isTorn = true;
  const body = { Type: "management", Global: true };
  assert.equal((await a.call("POST", "/v1/acl/token", { token, body })).status, 200);
  for (const answer of [await waiting, await b.call("GET", "/v1/acl/tokens", { token })]) {
    assert.equal(answer.status, 503, answer.text);
    assert.equal(answer.headers["x-service-error"], "shared_half");
  }
});
