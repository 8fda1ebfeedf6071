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
