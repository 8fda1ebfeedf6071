// A nearly full disk refuses what needs room, and says what still works: each of that is held here
// through HTTP.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { engineServer, SECOND } from "../support/servers/engine-server.ts";
import { at } from "../support/http-client.ts";
import { WatchedEngine } from "../support/stores/watched-engine.ts";

const MIB = 1024 * 1024;

/** A server, and what says how many bytes are free from now on. */
async function fillingServer(t: TestContext) {
  let disk: WatchedEngine | null = null;
  const server = await engineServer(t, { engine: (inner) => (disk = new WatchedEngine(inner)) });
  const free = async (bytes: number) => {
    assert.ok(disk !== null);
    disk.free = bytes;
    await server.time.passSlowly(SECOND, SECOND);
  };
  return { server, free };
}

test("on a nearly full disk roles and policies can be deleted", async (t) => {
  const { server, free } = await fillingServer(t);
  await server.must("POST", "sys/auth/ci", { type: "approle" });
  await server.must("POST", "auth/ci/role/web", { token_policies: "web" });
  await server.must("POST", "auth/ci/role/web/secret-id", {});
  await server.must("POST", "sys/policies/acl/web", { policy: 'path "a" { policy = "read" }' });
  await free(60 * MIB);
  for (const path of ["auth/ci/role/web", "sys/policies/acl/web"]) {
    await server.must("DELETE", path);
    assert.equal((await server.ask("GET", path)).status, 404, path);
  }
});

test("on a nearly full disk every way to delete a secret works, and nothing brings one back", async (t) => {
  const { server, free } = await fillingServer(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/config", { recycle_window: "24h" });
  for (const name of ["newest", "chosen", "destroyed", "whole", "one", "two"]) {
    await server.must("POST", `kv/data/${name}`, { data: { a: "1" } });
  }
  await free(60 * MIB);
  const refused = await server.ask("POST", "kv/data/newest", { data: { a: "2" } });
  assert.equal(refused.status, 503);
  assert.match(refused.text, /nearly full: .* reads, deletions and revocations/);

  await server.must("DELETE", "kv/data/newest");
  await server.must("POST", "kv/delete/chosen", { versions: [1] });
  await server.must("PUT", "kv/destroy/destroyed", { versions: [1] });
  await server.must("DELETE", "kv/metadata/whole");
  for (const name of ["newest", "chosen", "destroyed", "whole"]) {
    assert.equal((await server.ask("GET", `kv/data/${name}`)).status, 404, name);
  }
  const back = await server.ask("POST", "kv/undelete/newest", { versions: [1] });
  assert.equal(back.status, 503, "it is no deletion");

  await free(20 * MIB);
  const late = await server.ask("DELETE", "kv/data/one");
  assert.equal(late.status, 503, "the rest of the reserve is for revocations");
  await server.must("DELETE", "kv/metadata/one");
  await free(200 * MIB);
  await server.must("DELETE", "kv/data/two");
  assert.equal(at(await server.ask("GET", "kv/data/two"), "data", "data"), null);
});
