// The catalog of two regions that share data: what is registered in the second is written by the first, from its own plugin
// directory, and both reload by one order.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { PluginPlace } from "../../support/plugins/plugin-place.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";
import { until } from "../../support/until.ts";

const AT = "/v1/sys/plugins/catalog/secret/small";

test("a region registers, pins and deletes at its primary, keeps its own processes, and reloads what it is told to", async (t) => {
  const place = new PluginPlace();
  const settings = {
    plugin_directory: place.directory,
    plugin_tmpdir: place.temporary,
    plugin_isolation: "none",
  };
  const { a, b, root: token } = await twoRegions(t, { a: { settings }, b: { settings } });
  t.after(() => place.remove());
  const ask = async (server: TestServer, method: string, path: string, body?: object) => {
    const answer = await server.call(method, path, {
      token,
      ...(body === undefined ? {} : { body }),
    });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const sha256 = place.putSmall();
  await ask(b, "POST", AT, { sha256, command: "small.mjs", version: "v1.2.3" });
  for (const server of [a, b]) {
    assert.equal(at(await ask(server, "GET", AT), "data", "sha256"), sha256);
  }
  await ask(b, "POST", "/v1/sys/plugins/pins/secret/small", { version: "v1.2.3" });
  assert.equal(
    at(await ask(a, "GET", "/v1/sys/plugins/pins/secret/small"), "data", "version"),
    "v1.2.3",
  );
  await ask(b, "DELETE", "/v1/sys/plugins/pins/secret/small");
  await ask(b, "POST", "/v1/sys/plugins/runtimes/catalog/container/box", {});
  assert.equal(
    at(await ask(a, "GET", "/v1/sys/plugins/runtimes/catalog/container/box"), "data", "name"),
    "box",
  );

  await ask(b, "POST", "/v1/sys/mounts/own", { type: "small", local: true });
  const pid = async () => Number(at(await ask(b, "GET", "/v1/own/pid"), "data", "pid"));
  const first = await pid();
  const processes = async (server: TestServer) =>
    (at(await ask(server, "GET", AT), "data", "processes") as object[]).length;
  assert.deepEqual([await processes(a), await processes(b)], [0, 1]);
  const here = await ask(b, "POST", "/v1/sys/plugins/reload/backend", { mounts: "own/" });
  assert.equal(here.status, 200);
  const second = await pid();
  assert.notEqual(second, first);
  const all = await ask(b, "POST", "/v1/sys/plugins/reload/backend", {
    plugin: "small",
    scope: "global",
  });
  assert.equal(all.status, 202);
  const status = `/v1/sys/plugins/reload/backend/status?reload_id=${String(at(all, "data", "reload_id"))}`;
  const mounts = async (server: TestServer) => {
    const results = at(await ask(server, "GET", status), "data", "results") as Record<
      string,
      { mounts: object[] }
    >;
    return Object.values(results)[0]?.mounts ?? null;
  };
  await until(async () => (await mounts(a)) !== null && (await mounts(b)) !== null);
  assert.deepEqual(await mounts(a), []);
  assert.deepEqual(await mounts(b), [{ path: "own/", error: "" }]);
  assert.notEqual(await pid(), second);
  await ask(b, "DELETE", `${AT}?version=v1.2.3`);
  assert.equal((await a.call("GET", AT, { token })).status, 404);
});

test("a mount of a plugin that two regions share: one storage, keys of its own in each, and leases where they were given", async (t) => {
  const place = new PluginPlace();
  const settings = {
    plugin_directory: place.directory,
    plugin_tmpdir: place.temporary,
    plugin_isolation: "none",
  };
  const { a, b, root: token } = await twoRegions(t, { a: { settings }, b: { settings } });
  t.after(() => place.remove());
  const call = (server: TestServer, method: string, path: string, body?: object) =>
    server.call(method, `/v1/${path}`, { token, ...(body === undefined ? {} : { body }) });
  const ok = async (server: TestServer, method: string, path: string, body?: object) => {
    const answer = await call(server, method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  await ok(a, "POST", "sys/plugins/catalog/secret/small", {
    sha256: place.putSmall(),
    command: "small.mjs",
  });
  await ok(b, "POST", "sys/mounts/both", { type: "small" });
  for (const server of [a, b]) {
    await until(async () => (await call(server, "GET", "both/pid")).status === 200);
  }
  const pids = await Promise.all([a, b].map((server) => ok(server, "GET", "both/pid")));
  assert.notEqual(at(pids[0]!, "data", "pid"), at(pids[1]!, "data", "pid"), "each runs its own");

  // Written in the second, by the first, and read in both.
  await ok(b, "POST", "both/kv/a", { by: "b" });
  for (const server of [a, b]) {
    assert.deepEqual(at(await ok(server, "GET", "both/kv/a"), "data"), { by: "b" });
  }
  await ok(a, "POST", "both/kv/a", { by: "a" });
  await until(async () => at(await ok(b, "GET", "both/kv/a"), "data", "by") === "a");

  // What it says to be local stays where it was written.
  await ok(a, "POST", "both/store/here/x", { value: "of a" });
  assert.equal(at(await ok(a, "GET", "both/store/here/x"), "data", "value"), "of a");
  assert.equal(at(await ok(b, "GET", "both/store/here/x"), "data", "value"), null);

  const issued = await ok(b, "GET", "both/creds/usual");
  const lease = { lease_id: String(at(issued, "lease_id")), sync: true };
  await ok(b, "POST", "sys/leases/revoke", lease);
  const number = String(at(issued, "data", "object"));
  await until(
    async () => at(await ok(a, "GET", `both/store/objects/${number}`), "data", "value") === "ended",
  );
  await ok(b, "DELETE", "sys/mounts/both");
  for (const server of [a, b]) {
    await until(async () => (await call(server, "GET", "both/kv/a")).status === 404);
  }
});
