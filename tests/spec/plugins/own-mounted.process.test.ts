import assert from "node:assert/strict";
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
