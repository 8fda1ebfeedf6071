// A nearly full disk refuses what needs room, and says what still works: each of that is held here
// through HTTP.

import assert from "node:assert/strict";
import { test } from "node:test";
import { engineServer, SECOND } from "../support/engine-server.ts";
import { at } from "../support/http-client.ts";
import { WatchedEngine } from "../support/watched-engine.ts";

const MIB = 1024 * 1024;

test("on a nearly full disk every way to delete a secret works, and nothing brings one back", async (t) => {
  let disk: WatchedEngine | null = null;
  const server = await engineServer(t, { engine: (inner) => (disk = new WatchedEngine(inner)) });
  const free = async (bytes: number) => {
    assert.ok(disk !== null);
    disk.free = bytes;
    await server.time.passSlowly(SECOND, SECOND);
  };
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
