// Whoever applies shared rows of another cluster has one list of what follows from them: every room puts its own there.

import assert from "node:assert/strict";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { tokenCodec } from "../../src/tokens/token.ts";
import { startServer } from "../support/servers/test-server.ts";
import { withoutFollower } from "../support/stores/key-table.ts";

test("what follows from shared records, by the table of keys, has a follower in the house; one that was forgotten is found", async () => {
  const server = await startServer();
  const { folders } = server.server.followers;
  assert.deepEqual(withoutFollower(folders), []);
  for (const folder of folders) {
    const others = folders.filter((one) => one !== folder);
    assert.ok(withoutFollower(others).length > 0, folder);
  }
  assert.deepEqual(withoutFollower([...folders, "quotas/"]), ["quotas/: nothing follows from it"]);
  const planted = [
    ["shared/lamps/:x", "core"],
    ["local/lamps/by-age/:x/:x", "core", "shared/lamps/:x"],
    ["local/lamps/lit/:x", "core", "shared/lanterns/:x"],
  ] as const;
  assert.deepEqual(withoutFollower([], planted), [
    "local/lamps/by-age/:x/:x: nobody follows lamps/",
    "local/lamps/lit/:x: there are no records shared/lanterns/:x",
  ]);
  await server.stop();
});

test("a server that is sent the end of a token by its list ends what hangs on it", async () => {
  const server = await startServer();
  const { token } = await server.open();
  const body = { Type: "client", Policies: ["p"], Global: true };
  const answer = await server.call("POST", "/v1/acl/token", { token, body });
  assert.equal(answer.status, 200);
  const { store, barrier, followers, tokens } = server.server;
  const shared = barrier.view("shared/");
  const [key = ""] = shared
    .keys("ns/root/tokens/by-accessor/", { limit: 100 })
    .filter((one) => shared.get(one, tokenCodec)?.type === "client");
  const accessor = key.slice(key.lastIndexOf("/") + 1);
  const own = () =>
    barrier
      .view("local/")
      .keys("", { limit: 10_000 })
      .filter((one) => one.includes(accessor));
  assert.ok(own().length > 0 && shared.get(key, bytesCodec) !== null);
  store.leaveShared(true);
  const scope = new Uint8Array(16);
  await store.writeApplied((tx) => {
    followers.apply(tx, { key: `shared/${key}`, value: null, scope });
  });
  assert.deepEqual(own(), []);
  assert.equal(tokens.byAccessor("root", accessor), null);
  await server.stop();
});
