// What stands around every mount stands around those of plugins too: headers that pass, quotas, namespaces.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { until } from "../../support/until.ts";

test("headers pass to a plugin and from it where its mount lists them, and no others", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const headers = { "X-Trace": "t1", "X-Other": "o1", Cookie: "a=b", Authorization: "Basic YTpi" };
  const ask = () => server.call("GET", "small/headers", { headers });
  const before = await ask();
  assert.deepEqual(at(before, "data", "said"), []);
  assert.equal(before.headers["x-answer"], undefined);
  await server.ok("POST", "sys/mounts/small/tune", {
    passthrough_request_headers: ["X-Trace"],
    allowed_response_headers: ["X-Answer"],
  });
  const after = await ask();
  assert.deepEqual(at(after, "data", "said"), ["X-Trace"]);
  assert.equal(after.headers["x-answer"], "one, two");
  assert.equal(after.headers["x-kept"], undefined);
  for (const refused of ["Set-Cookie", "Content-Length"]) {
    const tuned = await server.call("POST", "sys/mounts/small/tune", {
      body: { allowed_response_headers: [refused] },
    });
    assert.equal(tuned.status, 400, refused);
  }
});

test("quotas count what plugins give and are asked: one lease too many leaves nothing behind, one request too many is not made", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  await server.ok("POST", "sys/quotas/lease-count/few", { path: "small", max_leases: 1 });
  const issued = await server.ok("GET", "small/creds/usual");
  const full = await server.call("GET", "small/creds/usual");
  assert.equal(full.status, 429, full.text);
  // Of a path that has given a secret it is known beforehand, of another one it is ended.
  const other = await server.call("GET", "small/creds/other");
  assert.equal(other.status, 429, other.text);
  await until(async () => (await server.storage("objects/2")) === "ended");
  assert.equal(await server.storage("made"), "2");
  const lease = { lease_id: String(at(issued, "lease_id")), sync: true };
  await server.ok("POST", "sys/leases/revoke", lease);
  await server.ok("GET", "small/creds/usual");

  await server.ok("POST", "sys/quotas/rate-limit/slow", {
    path: "small/echo",
    rate: 1,
    interval: "1h",
  });
  assert.equal((await server.call("GET", "small/echo")).status, 200);
  const before = server.calls().filter((line) => line === "read echo").length;
  assert.equal((await server.call("GET", "small/echo")).status, 429);
  assert.equal(server.calls().filter((line) => line === "read echo").length, before);
});

test("a plugin in a namespace keeps to it: its storage, its leases, its policies; and it goes with it", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.ok("POST", "sys/namespaces/team", {});
  await server.mount("small");
  const inTeam = { namespace: "team" };
  const made = await server.call("POST", "sys/mounts/small", {
    ...inTeam,
    body: { type: "small" },
  });
  assert.equal(made.status, 204, made.text);
  const write = await server.call("POST", "small/kv/a", { ...inTeam, body: { of: "team" } });
  assert.equal(write.status, 204, write.text);
  assert.equal((await server.call("GET", "small/kv/a")).status, 404, "root has none");
  const read = await server.call("GET", "team/small/kv/a");
  assert.deepEqual(at(read, "data"), { of: "team" });

  await server.call("POST", "sys/policies/acl/reader", {
    ...inTeam,
    body: { policy: 'path "small/kv/*" { capabilities = ["read"] }' },
  });
  const token = String(
    at(
      await server.call("POST", "auth/token/create", { ...inTeam, body: { policies: ["reader"] } }),
      "auth",
      "client_token",
    ),
  );
  assert.equal((await server.call("GET", "small/kv/a", { ...inTeam, token })).status, 200);
  assert.equal((await server.call("GET", "small/kv/a", { token })).status, 403);
  assert.equal((await server.call("GET", "small/echo", { ...inTeam, token })).status, 403);

  const issued = await server.call("GET", "small/creds/usual", inTeam);
  const lease = String(at(issued, "lease_id"));
  assert.match(lease, /^small\/creds\/usual\//);
  const elsewhere = await server.call("POST", "sys/leases/lookup", { body: { lease_id: lease } });
  assert.ok(elsewhere.status >= 400, "it is no lease of root");
  const ended = await server.call("POST", "sys/leases/revoke", {
    ...inTeam,
    body: { lease_id: lease, sync: true },
  });
  assert.equal(ended.status, 204, ended.text);
  const object = await server.call("GET", "small/store/objects/1", inTeam);
  assert.equal(at(object, "data", "value"), "ended");

  await server.call("GET", "small/creds/usual", inTeam);
  const gone = await server.call("DELETE", "sys/namespaces/team");
  assert.ok(gone.status < 300, gone.text);
  await until(async () => (await server.call("LIST", "sys/namespaces")).status === 404);
  const revoked = () => server.calls().filter((line) => line === "revoke creds/usual").length;
  await until(() => revoked() === 2); // what it had given is ended with it
  assert.equal((await server.call("GET", "small/kv/a")).status, 404, "that of root goes on");
});
