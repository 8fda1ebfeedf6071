import assert from "node:assert/strict";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

test("a plugin is mounted, written, read, listed and deleted, and its mount says what runs", async (t) => {
  const server = await PluginServer.start(t);
  const entry = await server.register();
  assert.equal((await server.mount("small")).status, 204);
  const { status } = await server.call("GET", "small/kv/a");
  assert.equal(status, 404);
  await server.ok("POST", "small/kv/a", { value: "one", number: 1 });
  await server.ok("POST", "small/kv/b/c", { value: "two" });
  assert.deepEqual(await server.data("small/kv/a"), { value: "one", number: 1 });
  assert.deepEqual(at(await server.ok("LIST", "small/kv"), "data", "keys"), ["a", "b/"]);
  assert.deepEqual(at(await server.ok("GET", "small/kv/?list=true"), "data", "keys"), ["a", "b/"]);
  await server.ok("DELETE", "small/kv/a");
  assert.equal((await server.call("GET", "small/kv/a")).status, 404);
  const mount = at(await server.ok("GET", "sys/mounts/small"), "data") as Record<string, unknown>;
  assert.equal(mount["running_plugin_version"], "v1.2.3");
  assert.equal(mount["running_sha256"], entry.sha256);
  assert.equal(mount["type"], "small");
  await server.ok("DELETE", "sys/mounts/small");
  assert.deepEqual(server.calls().slice(0, 4), [
    "setup ",
    "initialize",
    "read kv/a",
    "exists kv/a",
  ]);
  assert.deepEqual(server.calls().slice(-2), ["rollback ", "cleanup"]);
});

test("what a plugin is not: unknown, of another kind, refusing its options; nothing is mounted then", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.register({ type: "auth", name: "way-in", args: ["--auth"] });
  await server.register({ name: "wrong-kind", args: ["--auth"] });
  const refused = async (type: string, more: object = {}) => {
    const answer = await server.call("POST", "sys/mounts/x", { body: { type, ...more } });
    assert.equal(answer.status, 400, answer.text);
    assert.equal((await server.call("GET", "sys/mounts/x")).status, 400, "nothing is mounted");
    return (errorsOf(answer) as string[]).join();
  };
  assert.match(await refused("nothing"), /^plugin not found in the catalog: nothing/);
  assert.match(
    await refused("small", { plugin_version: "v9.0.0" }),
    /^plugin not found in the catalog: small, version=v9.0.0/,
  );
  assert.match(await refused("way-in"), /cannot mount "way-in" of type "auth" as a secret backend/);
  assert.match(await refused("wrong-kind"), /cannot mount "wrong-kind" of type "auth"/);
  assert.match(
    await refused("small", { options: { refuses: "setup" } }),
    /does not like its options/,
  );
  assert.match(
    await refused("small", { options: { refuses: "initialize" } }),
    /does not want to begin/,
  );
  assert.equal((await server.mount("y", { type: "plugin", plugin_name: "small" })).status, 204);
  await server.ok("POST", "y/kv/a", { value: "one" });
});
