// Requests to the token API as HTTP has them: verbs, credentials, targets, words of refusals.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  refused,
  succeeded,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";

test("every verb that a path does not have is 405 and says which it has", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  for (const [path, allow] of [
    ["tokens", "GET, HEAD"],
    ["token", "POST, PUT"],
    ["token/self", "GET, HEAD"],
    [`token/${AccessorID}`, "DELETE, GET, HEAD, POST, PUT"],
    ["bootstrap", "POST, PUT"],
    ["policies", "GET, HEAD"],
    ["policy/readonly", "DELETE, GET, HEAD, POST, PUT"],
    ["replication", "GET, HEAD"],
  ] as const) {
    for (const verb of ["PATCH", "OPTIONS", "TRACE", "PROPFIND", "LINK", "SEARCH", "LIST"]) {
      const answer = await server.manage(verb, `/v1/acl/${path}`);
      refused(answer, 405, "Invalid method", "method_not_allowed");
      const methods = String(answer.headers["allow"]).split(", ").toSorted().join(", ");
      assert.equal(methods, allow, `${verb} ${path}`);
    }
  }
  denied(await server.ask("TRACE", "/v1/acl/tokens"));
});

test("HEAD is answered like GET, without a body", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  for (const path of ["tokens", "token/self", `token/${AccessorID}`, "policies"]) {
    const [head, get] = [
      await server.manage("HEAD", `/acl/${path}`),
      await server.manage("GET", `/acl/${path}`),
    ];
    assert.deepEqual([head.status, head.text], [200, ""]);
    assert.equal(head.headers["x-service-index"], get.headers["x-service-index"]);
  }
  assert.equal((await server.ask("HEAD", "/acl/tokens")).status, 403);
  const headers = { "X-Service-Wrap-TTL": "60s" };
  const before = (await server.stubs()).length;
  assert.equal((await server.manage("HEAD", "/acl/token/self", { headers })).status, 200);
  assert.equal((await server.stubs()).length, before, "nobody would get the wrapping");
});

test("bootstrap takes no notice of credentials, however many and whatever they are", async (t) => {
  for (const headers of [
    { "X-Service-Token": "one", "X-Nomad-Token": "two" },
    { "X-Service-Token": "one", Authorization: "Bearer two" },
    { "X-Service-Token": "\u00e4\u00f6" },
    { Authorization: "Bearer one two" },
    { "X-Service-Token": "x".repeat(9000) },
  ]) {
    const server = await unclaimedServer(t);
    tokenOf(await server.ask("POST", "/acl/bootstrap", { headers }));
    const listed = await server.ask("GET", "/acl/tokens", { headers });
    assert.ok([400, 403, 431].includes(listed.status), listed.text);
  }
});

test("credentials: empty ones are none, UUIDs have no case, and what nobody can have is not known", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const self = (headers: Record<string, string>) =>
    server.ask("GET", "/acl/token/self", { headers });
  for (const headers of [
    { "X-Service-Token": "", Authorization: `Bearer ${SecretID}` },
    { "X-Nomad-Token": "", "X-Service-Token": SecretID },
    { "X-Nomad-Token": SecretID.toUpperCase(), "X-Service-Token": SecretID },
  ]) {
    assert.equal(tokenOf(await self(headers)).SecretID, SecretID);
  }
  denied(await self({ "X-Service-Token": "\u00e4" }));
  refused(
    await self({ "X-Service-Token": SecretID, "X-Nomad-Token": UNKNOWN }),
    400,
    /twice, with different values/,
    "invalid_parameter",
  );
});

test("words of refusals have one spelling, wherever the request was refused", async (t) => {
  const server = await aclServer(t);
  const answers = [
    await server.manage("GET", "/acl/token/a%2Fb"),
    await server.manage("GET", "/v1/sys/a%2Fb"),
    await server.manage("POST", "/v1/sys/init", { body: {} }),
    await server.ask("GET", "/v1/sys/mounts"),
    await server.ask("GET", "/v1/sys/mounts", { headers: { Host: "evil.example" } }),
    await server.manage("GET", "/acl/tokens?filter=("),
    await server.manage("POST", "/v1/sys/mounts/x", { body: { type: 5 } }),
    await server.manage("GET", "/acl/tokens/"),
  ];
  for (const { status, headers, text } of answers) {
    assert.ok(status >= 400, text);
    assert.match(String(headers["x-service-error"]), /^[a-z]+(_[a-z]+)*$/, text);
  }
  succeeded(await server.list());
});
