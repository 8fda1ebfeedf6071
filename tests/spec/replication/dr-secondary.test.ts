// What a node of a disaster-recovery secondary answers over HTTP.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { Standing } from "../../../src/server/ground.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { startServer } from "../../support/servers/test-server.ts";

/** A server with some data that becomes a secondary. */
async function secondary(t: TestContext) {
  let drMode: Standing["drMode"] = "disabled";
  const standing: Standing = {
    role: "active",
    get drMode() {
      return drMode;
    },
  };
  const server = await startServer({ standing });
  t.after(() => server.stop());
  const { token, shares } = await server.open();
  await server.call("POST", "/v1/sys/mounts/kv", { token, body: { type: "kv" } });
  await server.call("POST", "/v1/kv/data/x", { token, body: { data: { a: "b" } } });
  assert.equal((await server.call("GET", "/v1/kv/data/x", { token })).status, 200);
  drMode = "secondary";
  return { server, token, shares };
}

function isOfSecondary({ status, json, text }: Answer): void {
  assert.equal(status, 503, text);
  assert.deepEqual(json, { errors: ["this cluster is a disaster-recovery secondary"] });
}

test("R-25: ordinary paths say what the cluster is, before anybody looks at a token", async (t) => {
  const { server, token } = await secondary(t);
  for (const who of [token, undefined, "nobody's"]) {
    for (const [method, path] of [
      ["GET", "/v1/kv/data/x"],
      ["POST", "/v1/kv/data/x"],
      ["POST", "/v1/auth/userpass/login/me"],
      ["LIST", "/v1/sys/policies/acl"],
      ["GET", "/v1/auth/token/lookup-self"],
      ["GET", "/v1/sys/mounts"],
      ["GET", "/v1/nothing/there"],
      ["POST", "/v1/sys/generate-root/attempt"],
      ["POST", "/v1/sys/rekey/init"],
      ["POST", "/v1/sys/rotate"],
    ] as const) {
      const body = method === "POST" ? { a: "b" } : undefined;
      isOfSecondary(await server.call(method, path, { token: who, body }));
    }
    const tokens = await server.call("GET", "/v1/acl/tokens", { token: who });
    assert.equal(tokens.status, 503, tokens.text);
    assert.match(tokens.text, /this cluster is a disaster-recovery secondary/);
  }
});

test("R-25: what runs the node answers as ever, and the leader is told", async (t) => {
  const { server } = await secondary(t);
  for (const path of ["seal-status", "leader", "init", "evidence/keys"]) {
    const answer = await server.call("GET", `/v1/sys/${path}`);
    assert.equal(answer.status, 200, answer.text);
  }
  assert.equal(at(await server.call("GET", "/v1/sys/leader"), "is_self"), true);
});

test("R-25: its status and the attempt at an operation token are the same from every namespace, in both forms", async (t) => {
  const { server } = await secondary(t);
  for (const path of [
    "sys/replication/dr/status",
    "sys/replication/performance/status",
    "sys/replication/dr/secondary/generate-operation-token/attempt",
  ]) {
    const headers = { "x-service-namespace": "ns1" };
    const answers = [
      await server.call("GET", `/v1/${path}`),
      await server.call("GET", `/v1/${path}`, { headers }),
      await server.call("GET", `/v1/ns1/${path}`),
    ];
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
      path,
    );
    assert.equal(new Set(answers.map((one) => JSON.stringify(at(one, "data")))).size, 1);
  }
});

test("R-25: a token of the primary is no operation token", async (t) => {
  const { server, token } = await secondary(t);
  for (const [method, path] of [
    ["POST", "/v1/sys/seal"],
    ["GET", "/v1/sys/storage/raft/snapshot"],
    ["LIST", "/v1/sys/evidence"],
    ["GET", "/v1/sys/metrics"],
  ] as const) {
    const refused = await server.call(method, path, { token });
    assert.equal(refused.status, 403, refused.text);
    assert.equal(refused.headers["x-service-error"], "invalid_operation_token");
    const nobody = await server.call(method, path);
    assert.equal(nobody.headers["x-service-error"], "missing_operation_token");
  }
  assert.equal(server.server.keeper.sealed, false);
});

test("R-26: health is 472, or what the caller asks for", async (t) => {
  const { server } = await secondary(t);
  const health = await server.call("GET", "/v1/sys/health");
  assert.equal(health.status, 472, health.text);
  assert.equal(at(health, "replication_dr_mode"), "secondary");
  assert.equal((await server.call("HEAD", "/v1/sys/health")).status, 472);
  assert.equal((await server.call("GET", "/v1/sys/health?drsecondarycode=200")).status, 200);
  assert.equal((await server.call("GET", "/v1/sys/health?drsecondarycode=x")).status, 400);
});

test("R-28: a sealed one is sealed before it is anything else", async (t) => {
  const { server, shares } = await secondary(t);
  await server.server.keeper.seal();
  const health = await server.call("GET", "/v1/sys/health");
  assert.equal(health.status, 503);
  const modes = ["replication_dr_mode", "replication_performance_mode"];
  for (const mode of modes) assert.equal(at(health, mode), "unknown", mode);
  const answer = await server.call("GET", "/v1/kv/data/x");
  assert.deepEqual(answer.json, { errors: ["service is sealed"] });
  await server.unseal(shares);
  assert.equal((await server.call("GET", "/v1/sys/health")).status, 472);
});

test("R-25: what only a primary does is refused by its own text, and a method that it does not have is 405, whoever asks", async (t) => {
  const { server, token } = await secondary(t);
  const paths = ["enable", "demote", "disable", "secondary-token", "revoke-secondary"];
  for (const who of [token, undefined, "nobody's"]) {
    for (const path of [...paths, "operator-ticket"].map((one) => `dr/primary/${one}`)) {
      for (const method of ["POST", "PUT"]) {
        const body = {};
        const answer = await server.call(method, `/v1/sys/replication/${path}`, {
          token: who,
          body,
        });
        assert.equal(answer.status, 400, answer.text);
      }
      for (const method of ["GET", "DELETE", "LIST"]) {
        const answer = await server.call(method, `/v1/sys/replication/${path}`, { token: who });
        assert.equal(answer.status, 405, `${method} ${path}: ${answer.text}`);
      }
    }
    isOfSecondary(
      await server.call("GET", "/v1/sys/replication/dr/primary/nothing", { token: who }),
    );
  }
});
