// Whoever has seen something in one region is not answered from before it in another: cases of
// docs/cases/replication.md.

import assert from "node:assert/strict";
import test from "node:test";
import type { Answer } from "../../support/http-client.ts";
import { SECOND } from "@holdfast/shared/text/duration";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import { startServer } from "../../support/servers/test-server.ts";

const POLICY = "/v1/sys/policies/acl/p";
const body = { policy: 'path "sys/mounts" { capabilities = ["read"] }' };

function stateOf({ headers }: Answer): string {
  const state = headers["x-service-state"];
  assert.ok(typeof state === "string", "every answer has one");
  return state;
}

test("R-86: what was written in the first region is not read from before it in the second", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root: token } = regions;
  regions.hold();
  const state = stateOf(await a.call("POST", POLICY, { token, body }));
  const headers = { "X-Service-State": state };
  const early = await b.call("GET", POLICY, { token, headers });
  assert.equal(early.status, 412, early.text);
  assert.equal(early.headers["x-service-error"], "state_not_reached");
  assert.equal(early.headers["retry-after"], "1");
  assert.equal(
    (await b.call("GET", POLICY, { token })).status,
    404,
    "who does not ask is answered",
  );
  await regions.release();
  assert.equal((await b.call("GET", POLICY, { token, headers })).status, 200);
  assert.equal((await a.call("GET", POLICY, { token, headers })).status, 200, "also where it was");
});

test("R-86: with await-state it is waited for", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root: token } = regions;
  regions.hold();
  const state = stateOf(await a.call("POST", POLICY, { token, body }));
  const headers = { "X-Service-State": state, "X-Service-Inconsistent": "await-state" };
  const reading = b.call("GET", POLICY, { token, headers });
  await regions.release();
  assert.equal((await reading).status, 200);
});

test("R-86: a token that is not known yet is no bad one, for whoever says that it has seen it", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  regions.hold();
  const fields = { Type: "client", Policies: ["p"], Global: true };
  const made = await a.call("POST", "/v1/acl/token", { token: root, body: fields });
  const { SecretID: token } = made.json as { SecretID: string };
  const headers = { "X-Service-State": stateOf(made) };
  assert.equal((await b.call("GET", "/v1/acl/token/self", { token, headers })).status, 412);
  assert.equal((await b.call("GET", "/v1/acl/token/self", { token })).status, 403);
  await regions.release();
  assert.equal((await b.call("GET", "/v1/acl/token/self", { token, headers })).status, 200);
});

test("R-86: of two states both must be reached; a third is refused", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root: token } = regions;
  const first = stateOf(await a.call("GET", "/v1/sys/mounts", { token }));
  regions.hold();
  const second = stateOf(await a.call("POST", POLICY, { token, body }));
  const ask = async (state: string) =>
    (await b.call("GET", "/v1/sys/mounts", { token, headers: { "X-Service-State": state } }))
      .status;
  assert.equal(await ask(first), 200);
  assert.equal(await ask(`${first}, ${second}`), 412);
  assert.equal(
    await ask(`${first},${second},${stateOf(await b.call("GET", POLICY, { token }))}`),
    400,
  );
  await regions.release();
  assert.equal(await ask(`${first}, ${second}`), 200);
});

test("R-86: what was sent on and has not come back is not read from before it either", async (t) => {
  const regions = await twoRegions(t);
  const { b, root: token, primary } = regions;
  regions.hold();
  primary.hurries = true;
  const headers = { "X-Service-State": stateOf(await b.call("POST", POLICY, { token, body })) };
  assert.equal((await b.call("GET", POLICY, { token, headers })).status, 412);
  primary.hurries = false;
  await regions.release();
  assert.equal((await b.call("GET", POLICY, { token, headers })).status, 200);
});

test("R-86: how far a region is can be looked at with any state, reached or not", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root: token } = regions;
  regions.hold();
  const state = stateOf(await a.call("POST", POLICY, { token, body }));
  for (const path of [
    "/v1/sys/replication/status",
    "/v1/sys/replication/dr/status",
    "/v1/sys/replication/performance/status",
    "/v1/acl/replication",
    "/v1/sys/health",
    "/v1/sys/seal-status",
  ]) {
    for (const seen of [state, "x"]) {
      const answer = await b.call("GET", path, { token, headers: { "X-Service-State": seen } });
      assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    }
  }
});

test("R-87: a state that nobody of the set has told is refused, and health is answered all the same", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const sealed = await server.call("GET", "/v1/sys/seal-status");
  assert.equal(sealed.headers["x-service-state"], undefined, "nothing is known of a sealed one");
  const { token } = await server.open();
  const state = stateOf(await server.call("GET", "/v1/sys/mounts", { token }));
  const ask = (text: string, path = "/v1/sys/mounts") =>
    server.call("GET", path, { token, headers: { "X-Service-State": text } });
  assert.equal((await ask(state)).status, 200);
  for (const forged of ["x", `${state}A`, state.replace(/^./, "B"), state.toLowerCase()]) {
    const refused = await ask(forged);
    assert.equal(refused.status, 400, forged);
    assert.equal(refused.headers["x-service-error"], "state_unknown");
    assert.ok(!refused.text.includes(forged));
  }
  assert.equal((await ask("x", "/v1/sys/health")).status, 200);
});

test("R-88: nothing is handed on because a header wants it", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const ask = async (headers: Record<string, string>) =>
    (await server.call("GET", "/v1/sys/mounts", { token, headers })).status;
  assert.equal(await ask({ "X-Service-Inconsistent": "forward-active-node" }), 400);
  assert.equal(await ask({ "X-Service-Forward": "active-node" }), 400);
  assert.equal(await ask({ "X-Service-Inconsistent": "fail" }), 200);
  assert.equal(await ask({ "X-Service-Inconsistent": "await-state" }), 200);
});

test("R-88: where the configuration says so the headers are taken; the node that answers is the active one", async (t) => {
  const settings = { replication: { allow_forwarding_via_header: true } };
  const regions = await twoRegions(t, { b: { settings } });
  const { a, b, root: token } = regions;
  const ask = (headers: Record<string, string>) => b.call("GET", POLICY, { token, headers });
  await a.call("POST", POLICY, { token, body });
  await regions.apply();
  assert.equal((await ask({ "X-Service-Forward": "active-node" })).status, 200);
  const other = await ask({ "X-Service-Forward": "elsewhere" });
  assert.equal(other.status, 400);
  assert.match(other.text, /active-node/);
  assert.ok(!other.text.includes("elsewhere"));
  const odd = await ask({ "X-Service-Inconsistent": "perhaps" });
  assert.equal(odd.status, 400);
  assert.match(odd.text, /fail, forward-active-node or await-state/);
  regions.hold();
  const state = stateOf(await a.call("POST", POLICY, { token, body }));
  const inconsistent = {
    "X-Service-Inconsistent": "forward-active-node",
    "X-Service-State": state,
  };
  assert.equal((await ask(inconsistent)).status, 412, "it has no more than it has");
  await regions.release();
  assert.equal((await ask(inconsistent)).status, 200);
});

test("best_effort_wal_wait says for how long await-state waits", async (t) => {
  const settings = { replication: { best_effort_wal_wait: "7s" } };
  const regions = await twoRegions(t, { b: { settings } });
  const { a, b, root: token, primary } = regions;
  regions.hold();
  primary.hurries = true;
  const state = stateOf(await a.call("POST", POLICY, { token, body }));
  const headers = { "X-Service-State": state, "X-Service-Inconsistent": "await-state" };
  assert.equal((await b.call("GET", POLICY, { token, headers })).status, 412);
  assert.equal(primary.waited, 7n * SECOND);
});
