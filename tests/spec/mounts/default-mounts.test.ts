// What initialisation mounts by itself: once, as configured.

import assert from "node:assert/strict";
import test from "node:test";
import {
  engineServer,
  type EngineServer,
  dataOf,
  done,
  refused,
} from "../../support/servers/engine-server.ts";

async function mountsOf(server: EngineServer) {
  const all = dataOf(await server.ask("GET", "sys/mounts")) as Readonly<
    Record<string, Readonly<Record<string, unknown>>>
  >;
  return { paths: Object.keys(all).filter((path) => path.startsWith("cloud")), all };
}

test("M1: a new server has clouda/ and cloudb/, with accessors by their types", async (t) => {
  const server = await engineServer(t);
  const { paths, all } = await mountsOf(server);
  assert.deepEqual(paths, ["clouda/", "cloudb/"]);
  for (const type of ["clouda", "cloudb"]) {
    assert.equal(all[`${type}/`]?.["type"], type);
    assert.match(String(all[`${type}/`]?.["accessor"]), new RegExp(`^${type}_[0-9a-f]{8}$`));
  }
});

test("M3: a default mount that was disabled stays away after a restart", async (t) => {
  const server = await engineServer(t);
  const accessor = (await mountsOf(server)).all["clouda/"]?.["accessor"];
  done(await server.ask("DELETE", "sys/mounts/cloudb"));
  await server.crash();
  const { paths, all } = await mountsOf(server);
  assert.deepEqual(paths, ["clouda/"]);
  assert.equal(all["clouda/"]?.["accessor"], accessor);
});

test("default_mounts says which there are, and has no effect later", async (t) => {
  const settings = { default_mounts: ["cloudb"] };
  const server = await engineServer(t, { settings });
  assert.deepEqual((await mountsOf(server)).paths, ["cloudb/"]);
  const none = await engineServer(t, { settings: { default_mounts: [] } });
  assert.deepEqual((await mountsOf(none)).paths, []);
  await none.enable("clouda", "clouda");
  assert.deepEqual((await mountsOf(none)).paths, ["clouda/"]);
});

test("older names of the types are accepted under api.compat, and not without it", async (t) => {
  const server = await engineServer(t);
  await server.enable("team/aws", "aws");
  await server.enable("team/azure", "azure");
  const { all } = await mountsOf(server);
  assert.deepEqual(
    ["team/aws/", "team/azure/"].map((path) => all[path]?.["type"]),
    ["clouda", "cloudb"],
  );
  assert.match(String(all["team/aws/"]?.["accessor"]), /^clouda_/);
  const strict = await engineServer(t, { settings: { api: { compat: false } } });
  for (const type of ["aws", "azure"]) {
    refused(await strict.ask("POST", "sys/mounts/x", { type }), 400, /clouda, cloudb/);
  }
});

test("an accessor stays the same when its mount moves", async (t) => {
  const server = await engineServer(t);
  const accessor = (await mountsOf(server)).all["clouda/"]?.["accessor"];
  await server.must("POST", "sys/remount", { from: "clouda", to: "team/a" });
  await server.passUntil(async () => (await mountsOf(server)).all["team/a/"] !== undefined);
  assert.equal((await mountsOf(server)).all["team/a/"]?.["accessor"], accessor);
});
