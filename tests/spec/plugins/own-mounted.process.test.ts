import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { served } from "../../support/plugins/child-type.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

test("an engine of our own SDK is mounted as a plugin: its declarations judge, document and refuse as built in", async (t) => {
  const server = await PluginServer.start(t);
  const sha256 = server.place.put(
    "kvp",
    served({ file: "engines/kv/kv.ts", exported: "kvEngine" }),
  );
  await server.register({ name: "kvp", command: "kvp", args: [], sha256 });
  await server.ok("POST", "sys/mounts/kvp", { type: "kvp", options: { version: "2" } });
  const write = (body: object) => server.call("POST", "kvp/data/a", { body });
  assert.equal((await write({ data: { x: 1 }, options: { cas: 0 } })).status, 200);
  const mismatch = await write({ data: { x: 2 }, options: { cas: 0 } });
  assert.equal(mismatch.status, 400);
  assert.match((errorsOf(mismatch) as string[]).join(), /the current version is 1/);
  assert.deepEqual(at(await server.ok("GET", "kvp/data/a"), "data", "data"), { x: 1 });
  assert.equal((await server.call("GET", "kvp/data/none")).status, 404);
  const help = await server.ok("GET", "kvp/data/a?help=1");
  assert.match(help.text, /Read a version of a secret/);
  const document = await server.ok("GET", "sys/internal/specs/openapi");
  const paths = Object.keys((document.json as { paths: object }).paths);
  assert.ok(paths.includes("/kvp/data/{path}"), paths.filter((path) => /kvp/.test(path)).join());
  const refused = await server.call("POST", "sys/mounts/x", {
    body: { type: "kvp", options: { version: "7" } },
  });
  assert.equal(refused.status, 400, refused.text);
});

test("what an engine of our own SDK has made is ended where its answer is refused, and no key is too honest to be answered or kept", async (t) => {
  const server = await PluginServer.start(t);
  const folder = join(server.place.base, "things");
  const file = { file: "tests/support/plugins/thing-engine.ts", exported: "thingEngine" };
  const sha256 = server.place.put("things", served(file));
  await server.register({ name: "things", command: "things", args: [], sha256 });
  await server.ok("POST", "sys/mounts/things", { type: "things", options: { folder } });
  await server.ok("POST", "things/roles/a", {});
  const issued = await server.ok("GET", "things/creds/a");
  assert.equal((at(issued, "data") as Record<string, unknown>)["constructor"], "somebody");
  assert.equal(readdirSync(folder).length, 1);
  const lease = { lease_id: String(at(issued, "lease_id")), sync: true };
  await server.ok("POST", "sys/leases/revoke", lease);
  assert.deepEqual(readdirSync(folder), [], "it was kept with the lease");
  const large = await server.call("GET", `things/creds/a?pad=${5 * 1024 * 1024}`);
  assert.equal(large.status, 502, large.text.slice(0, 200));
  assert.deepEqual(readdirSync(folder), []);
});

test("a secret that an engine of our own SDK gives where it declares none is refused, and ended", async (t) => {
  const server = await PluginServer.start(t);
  const folder = join(server.place.base, "things");
  const file = { file: "tests/support/plugins/thing-engine.ts", exported: "secretiveThings" };
  const sha256 = server.place.put("things", served(file));
  await server.register({ name: "things", command: "things", args: [], sha256 });
  await server.ok("POST", "sys/mounts/things", { type: "things", options: { folder } });
  await server.ok("POST", "things/roles/a", {});
  const refused = await server.call("GET", "things/creds/a");
  assert.equal(refused.status, 502, refused.text);
  assert.match(refused.text, /gave a secret where it declares none/);
  assert.deepEqual(readdirSync(folder), []);
});
