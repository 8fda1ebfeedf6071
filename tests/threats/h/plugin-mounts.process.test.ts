// What mounts of plugins let nobody do.

import assert from "node:assert/strict";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";
import { until } from "../../support/until.ts";

test("T-A18: no caller reaches what only the server asks of a plugin: revoking, renewing, rolling back", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  for (const method of ["REVOKE", "RENEW", "ROLLBACK", "HELP"]) {
    const answer = await server.call(method, "small/creds/usual").catch(() => null);
    assert.ok(
      answer === null || [400, 405, 501].includes(answer.status),
      `${method} ${answer?.status}`,
    );
  }
  const body = { operation: "revoke", secret: { internal_data: '{"number":1}' } };
  const headers = { "X-HTTP-Method-Override": "REVOKE" };
  assert.equal((await server.call("POST", "small/echo", { body, headers })).status, 400);
  const echoed = await server.call("POST", "small/echo", { body });
  assert.equal(at(echoed, "data", "operation"), "update");
  assert.deepEqual(at(echoed, "data", "sent"), body, "it is data like any other");
  assert.deepEqual(at(echoed, "data", "headers"), {});
  const operations = server.calls().map((line) => line.split(" ")[0]);
  for (const word of ["revoke", "renew", "rollback"]) assert.ok(!operations.includes(word), word);
});

test("T-H11: no credential reaches a plugin, whatever headers its mount lets pass", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  for (const name of ["Authorization", "X-Service-Token", "Cookie", "X-Vault-Token"]) {
    const config = { passthrough_request_headers: [name] };
    assert.equal((await server.mount("small", { config })).status, 400, name);
  }
  const config = { passthrough_request_headers: ["x-mine", "X-Other"] };
  assert.equal((await server.mount("small", { config })).status, 204);
  const headers = {
    "X-MINE": "one",
    Cookie: "a=b",
    Authorization: `Bearer ${server.opened.token}`,
  };
  const echoed = await server.call("POST", "small/echo", { body: {}, headers, token: undefined });
  assert.equal(echoed.status, 200, echoed.text);
  assert.deepEqual(at(echoed, "data", "headers"), { "X-Mine": ["one"] });
  assert.ok(!echoed.text.includes(server.opened.token));
});

test("T-H11: what stands for a caller's token opens nothing, and is another one at each mount", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  for (const mount of ["small", "other"]) assert.equal((await server.mount(mount)).status, 204);
  const stampAt = async (mount: string) =>
    String(at(await server.ok("GET", `${mount}/echo`), "data", "client_token"));
  const stamp = await stampAt("small");
  assert.match(stamp, /^[0-9a-f]{40}$/);
  assert.equal(await stampAt("small"), stamp);
  assert.notEqual(
    await stampAt("other"),
    stamp,
    "two plugins cannot tell that it was the same one",
  );
  assert.equal((await server.call("GET", "small/echo", { token: stamp })).status, 403);
});

test("T-H04: a plugin whose file has another sum is not mounted and not started again and again", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  server.place.putSmall("small.mjs", "another");
  const pid = await server.pid();
  process.kill(pid, "SIGKILL");
  await server.noticed(pid);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => server.call("GET", "small/kv/a")),
  );
  for (const answer of answers) {
    assert.equal(answer.status, 502);
    assert.match((errorsOf(answer) as string[]).join(), /checksums did not match/);
  }
  assert.equal(server.calls().filter((line) => line.startsWith("setup")).length, 1);
  assert.equal((await server.mount("other")).status, 400);
});

test("T-H14: a plugin that hangs or floods its log keeps nobody else waiting, and is told when its callers are gone", async (t) => {
  const server = await PluginServer.start(t, { listener: { maxRequestDuration: 5_000_000_000n } });
  await server.register();
  await server.mount("small");
  await server.ok("POST", "sys/mounts/kv", { type: "kv", options: { version: "1" } });
  const hanging = Array.from({ length: 20 }, () => server.call("GET", "small/never"));
  await until(() => server.calls().filter((line) => line === "read never").length === 20);
  await server.ok("POST", "kv/a", { value: "one" });
  await server.ok("GET", "kv/a");
  await server.ok("GET", "small/echo");
  for (const late of await Promise.all(hanging)) assert.equal(late.status, 503);
  await until(() => server.calls().filter((line) => line === "aborted").length === 20);
});

test("T-H17: a plugin that is registered no more is not started, also not after a restart, and keeps the server from nothing", async (t) => {
  const server = await PluginServer.start(t);
  const entry = await server.register();
  await server.mount("small");
  await server.test.server.plugins.catalog.delete(entry);
  const pid = await server.pid();
  process.kill(pid, "SIGKILL");
  await server.noticed(pid);
  assert.equal((await server.call("GET", "small/kv/a")).status, 502);
  await server.ok("POST", "sys/seal");
  await server.test.unseal(server.opened.shares);
  assert.equal((await server.call("GET", "small/kv/a")).status, 503);
  assert.equal((await server.mount("other")).status, 400);
  await server.ok("GET", "sys/health");
  assert.equal(server.calls().filter((line) => line.startsWith("setup")).length, 1);
});
