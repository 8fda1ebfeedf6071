// Disabling a mount: the order of the steps, one that takes long, and
// what a crash between any two steps leaves to be done.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  dataOf,
  done,
  engineServer,
  type EngineServer,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

const down = () => new Failure("upstream", "provider-down", "the provider is down");

async function mountOf(
  server: EngineServer,
  path: string,
): Promise<Record<string, unknown> | undefined> {
  const mounts = dataOf(await server.ask("GET", "sys/mounts"));
  return mounts[`${path}/`] as Record<string, unknown> | undefined;
}

test("disabling revokes every lease, removes every object outside, and wipes what was stored", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  await server.counting("other");
  const leases = await Promise.all(Array.from({ length: 20 }, () => server.issue()));
  const kept = await server.issue("other/creds/r");
  assert.equal(server.outside.objects.length, 21);
  const uuid = String((await mountOf(server, "count"))?.["uuid"]);
  assert.ok(server.storedKeys(uuid).length > 0);
  done(await server.ask("DELETE", "sys/mounts/count"));
  assert.deepEqual(server.outside.objects, [kept.object], "the other mount keeps its own");
  for (const { id, object } of leases) {
    assert.equal(await server.isThere(id), false);
    assert.equal(server.outside.removals(object), 1);
  }
  assert.equal(await server.isThere(kept.id), true);
  assert.equal(await mountOf(server, "count"), undefined);
  assert.deepEqual(server.storedKeys(uuid), [], "nothing of it is left");
  // The same path again is another mount, with nothing in it.
  await server.enable("count", "counting");
  assert.equal((await server.ask("LIST", "count/roles")).status, 404);
  assert.equal((await server.ask("GET", "count/roles/r")).status, 404);
});

test("a mount that is being disabled answers nothing but revocation: 404", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  await server.issue();
  const letGo = server.outside.hold("revoke");
  const disabling = server.ask("DELETE", "sys/mounts/count");
  await until(() => server.outside.reached("revoke") === 1);
  for (const [method, path] of [
    ["GET", "count/roles/r"],
    ["GET", "count/creds/r"],
    ["POST", "count/roles/r"],
    ["DELETE", "count/roles/r"],
  ] as const) {
    const answer = await server.ask(method, path, method === "POST" ? {} : undefined);
    assert.equal(answer.status, 404, `${method} ${path}: ${answer.text}`);
  }
  // Nor can its path be taken yet.
  assert.equal((await server.ask("POST", "sys/mounts/count", { type: "kv" })).status, 409);
  letGo();
  done(await disabling);
  await server.enable("count", "kv");
});

test("every write-ahead record is rolled back first, however young", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const lease = await server.issue();
  server.outside.fail("made", down, 1);
  assert.equal((await server.ask("GET", "count/creds/r")).status, 502);
  assert.equal(server.outside.objects.length, 2, "one without a lease");
  done(await server.ask("DELETE", "sys/mounts/count"));
  assert.deepEqual(server.outside.objects, []);
  const order = server.outside.events.filter(({ did }) => did === "removed");
  assert.deepEqual(
    order.map(({ cause }) => cause),
    ["undo", "revoke"],
  );
  assert.equal(order[1]?.object, lease.object);
});

test("a lease that cannot be revoked stops it; the mount stays tainted with its cause, and a repeat goes on", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const lease = await server.issue();
  server.outside.fail("revoke", down);
  const failed = await server.ask("DELETE", "sys/mounts/count");
  assert.ok(failed.status >= 400, failed.text);
  assert.match(failed.text, /the provider is down/);
  const mount = await mountOf(server, "count");
  assert.match(JSON.stringify(mount), /the provider is down/);
  assert.equal((await server.ask("GET", "count/roles/r")).status, 404, "tainted");
  assert.equal(await server.isThere(lease.id), true);
  assert.deepEqual(server.outside.objects, [lease.object]);
  server.outside.heal();
  done(await server.ask("DELETE", "sys/mounts/count"));
  assert.deepEqual(server.outside.objects, []);
  assert.equal(await mountOf(server, "count"), undefined);
});

test("a provider that is gone for good does not keep a mount: revoke-force, then disable", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const lease = await server.issue();
  server.outside.fail("revoke", down);
  assert.ok((await server.ask("DELETE", "sys/mounts/count")).status >= 400);
  const forced = await server.ask("POST", "sys/leases/revoke-force/count");
  assert.equal(forced.status, 200, forced.text);
  assert.equal((at(forced, "warnings") as unknown[]).length, 1);
  done(await server.ask("DELETE", "sys/mounts/count"));
  assert.deepEqual(server.outside.objects, [lease.object], "what may remain was told");
});

test("one that takes longer than a minute goes on in the background and says how far it is", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (let i = 0; i < 12; i++) await server.issue();
  const letGo = server.outside.hold("revoke");
  const answering = server.ask("DELETE", "sys/mounts/count");
  await until(() => server.outside.reached("revoke") === 8);
  await server.time.pass(60n * SECOND);
  const answer = await answering;
  assert.equal(answer.status, 202, answer.text);
  assert.deepEqual(at(answer, "data"), { state: "disabling", leases_left: 12 });
  const mount = await mountOf(server, "count");
  assert.deepEqual([mount?.["state"], mount?.["leases_left"]], ["disabling", 12]);
  // Asking again waits again and reports again.
  const again = server.ask("DELETE", "sys/mounts/count");
  letGo();
  done(await again);
  assert.deepEqual(server.outside.objects, []);
  assert.equal(server.outside.removals(), 12);
});

test("it goes on after a crash, wherever that was", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (let i = 0; i < 10; i++) await server.issue();
  server.outside.hold("revoke"); // never let go: the process dies with it
  void server.ask("DELETE", "sys/mounts/count").catch(() => {});
  await until(() => server.outside.reached("revoke") === 8);
  await server.crash();
  await until(async () => (await mountOf(server, "count")) === undefined);
  assert.deepEqual(server.outside.objects, []);
  assert.equal(server.outside.removals(), 10);
  await server.enable("count", "kv");
});

test("what disabling would leave behind outside is named, and refused unless abandoned", async (t) => {
  let left: string | null = "2 static roles";
  const server = await engineServer(t, { counting: { abandoned: () => left } });
  await server.counting("count");
  const refusal = await server.ask("DELETE", "sys/mounts/count");
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /2 static roles/);
  assert.equal((await server.ask("GET", "count/roles/r")).status, 200, "nothing was begun");
  const abandoned = await server.ask("DELETE", "sys/mounts/count?abandon=true");
  assert.equal(abandoned.status, 200, abandoned.text);
  assert.match(String(at(abandoned, "warnings", 0)), /2 static roles/);
  left = null;
  assert.equal(await mountOf(server, "count"), undefined);
});

test("sealing in the middle stops it in order, and unsealing takes it up again", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (let i = 0; i < 3; i++) await server.issue();
  server.outside.fail("revoke", down);
  await server.ask("DELETE", "sys/mounts/count");
  done(await server.ask("POST", "sys/seal"));
  server.outside.heal();
  await server.test.unseal(server.shares);
  // Either it goes on by itself, or the operator repeats what failed.
  await server.ask("DELETE", "sys/mounts/count");
  await until(async () => (await mountOf(server, "count")) === undefined);
  assert.deepEqual(server.outside.objects, []);
});

test("deleting a namespace revokes what its mounts have issued before anything is forgotten", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  await server.counting("count", {}, "team");
  for (let i = 0; i < 5; i++) await server.issue("count/creds/r", { namespace: "team" });
  server.outside.fail("made", down, 1);
  await server.ask("GET", "count/creds/r", undefined, { namespace: "team" });
  assert.equal(server.outside.objects.length, 6);
  assert.equal((await server.ask("DELETE", "sys/namespaces/team")).status, 202);
  await server.passUntil(() => server.outside.objects.length === 0);
  assert.equal(server.outside.removals(), 6);
  await server.passUntil(
    async () => (await server.ask("GET", "sys/namespaces/team")).status === 404,
  );
});
