// A mount moves, in the background, within its namespace and across; its uuid, its
// accessor and its data move with it, its leases do not.

import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  dataOf,
  engineServer,
  type EngineServer,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

async function moved(server: EngineServer, from: string, to: string, namespace?: string) {
  const options = { namespace };
  const begun = await server.ask("POST", "sys/remount", { from, to }, options);
  assert.equal(begun.status, 200, begun.text);
  const id = String(at(begun, "data", "migration_id"));
  const status = async () => {
    const answer = await server.ask("GET", `sys/remount/status/${id}`, undefined, options);
    const data = dataOf(answer);
    assert.equal(data["migration_id"], id);
    return data["migration_info"] as Record<string, unknown>;
  };
  await until(async () => (await status())["status"] !== "in-progress");
  return status();
}

test("a mount answers at its new path with its data, and no longer at the old one", async (t) => {
  const server = await engineServer(t);
  await server.enable("secret", "kv");
  await server.must("POST", "secret/data/app", { data: { a: "1" } });
  const before = dataOf(await server.ask("GET", "sys/mounts/secret"));
  const info = await moved(server, "secret", "kv/old");
  assert.deepEqual(info, {
    source_mount: "secret/",
    target_mount: "kv/old/",
    status: "success",
  });
  const read = await server.ask("GET", "kv/old/data/app");
  assert.deepEqual(dataOf(read)["data"], { a: "1" });
  assert.equal((await server.ask("GET", "secret/data/app")).status, 404);
  assert.deepEqual(dataOf(await server.ask("GET", "sys/mounts/kv/old")), before);
  assert.equal((await server.ask("GET", "sys/mounts/secret")).status, 400);
  await server.enable("secret", "kv");
  absent(await server.ask("GET", "secret/data/app"));
});

test("the leases of a mount that moves are revoked", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const leases = [await server.issue(), await server.issue()];
  assert.equal((await moved(server, "count", "counted"))["status"], "success");
  assert.deepEqual(server.outside.objects, []);
  for (const { id } of leases) assert.equal(await server.isThere(id), false);
  const lease = await server.issue("counted/creds/r");
  assert.match(lease.id, /^counted\/creds\/r\//);
});

test("a mount moves across namespaces by full paths", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("one", "two");
  await server.enable("kv", "kv", {}, "one");
  await server.must("POST", "kv/data/app", { data: { a: "1" } }, { namespace: "one" });
  assert.equal((await moved(server, "one/kv", "two/store"))["status"], "success");
  const read = await server.ask("GET", "store/data/app", undefined, { namespace: "two" });
  assert.deepEqual(dataOf(read)["data"], { a: "1" });
  const gone = await server.ask("GET", "kv/data/app", undefined, { namespace: "one" });
  assert.equal(gone.status, 404);
  // It is the new namespace's in every way: it goes with it, and not with the old one.
  assert.equal((await server.ask("DELETE", "sys/namespaces/one")).status, 202);
  await until(async () => (await server.ask("GET", "sys/namespaces/one")).status === 404);
  const still = await server.ask("GET", "store/data/app", undefined, { namespace: "two" });
  assert.deepEqual(dataOf(still)["data"], { a: "1" });
});

test("what cannot move is refused, and nothing has moved", async (t) => {
  const server = await engineServer(t);
  await server.enable("a", "kv");
  await server.enable("b", "kv");
  await server.namespaces("team");
  for (const [from, to] of [
    ["cubbyhole", "c"],
    ["sys", "c"],
    ["auth/token", "auth/t"],
    ["a", "b"],
    ["a", "b/c"],
    ["a", "sys/c"],
    ["a", "cubbyhole/c"],
    ["a", "auth/c"],
    ["a", "team"],
    ["none", "c"],
    ["a", "none-such-namespace/../c"],
  ] as const) {
    const answer = await server.ask("POST", "sys/remount", { from, to });
    assert.equal(answer.status, 400, `${from} to ${to}: ${answer.text}`);
  }
  assert.equal((await server.ask("GET", "sys/mounts/a")).status, 200);
  assert.equal((await server.ask("GET", "sys/mounts/c")).status, 400);
  const unknown = "sys/remount/status/11111111-2222-4333-8444-555555555555";
  assert.ok([400, 404].includes((await server.ask("GET", unknown)).status));
});
