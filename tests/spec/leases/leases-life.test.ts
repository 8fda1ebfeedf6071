// Leases through HTTP: what an answer shows, how long they live,
// looking up and renewing, with every refusal in its words.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  dataOf,
  done,
  engineServer,
  grants,
  keysOf,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

test("an answer with a secret that ends shows its lease, whose id begins with the path", async (t) => {
  const server = await engineServer(t);
  await server.counting("some/count", { ttl: 3600 });
  const lease = await server.issue("some/count/creds/r");
  assert.match(lease.id, /^some\/count\/creds\/r\/[0-9A-Za-z]{24}$/);
  assert.deepEqual([lease.seconds, lease.renewable, lease.warnings], [3600, true, []]);
  assert.equal(server.outside.has(lease.object), true);
  await server.namespaces("team");
  await server.counting("count", {}, "team");
  const below = await server.issue("count/creds/r", { namespace: "team" });
  assert.match(below.id, /^count\/creds\/r\/[0-9A-Za-z]{24}\.[0-9A-Za-z]+$/);
  // What has none says so.
  const role = await server.ask("GET", "some/count/roles/r");
  assert.deepEqual([at(role, "lease_id"), at(role, "lease_duration")], ["", 0]);
});

test("a look-up tells what there is to know, and nothing of the secret", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const issue = await server.ask("GET", "count/creds/r");
  const id = String(at(issue, "lease_id"));
  await server.time.pass(100n * SECOND);
  const looked = await server.lookup(id);
  assert.deepEqual(dataOf(looked), {
    id,
    path: "count/creds/r",
    issue_time: "2026-01-01T00:00:00Z",
    expire_time: "2026-01-01T00:10:00Z",
    last_renewal: null,
    renewable: true,
    ttl: 500,
    namespace_path: "",
    revoke_error: "",
  });
  assert.ok(!looked.text.includes(String(at(issue, "data", "password"))));
  await server.renew(id);
  const renewed = dataOf(await server.lookup(id));
  assert.equal(renewed["last_renewal"], "2026-01-01T00:01:40Z");
  assert.equal(renewed["expire_time"], "2026-01-01T00:11:40Z");
  refused(await server.lookup("count/creds/r/none"), 400, "invalid lease");
  assert.equal((await server.ask("POST", "sys/leases/lookup", {})).status, 400);
});

test("the time that is granted: role, mount and system, each cut told", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const system = 768 * 3600;
  // role ttl and max, mount default and max, what is granted, whether a warning says so
  for (const [ttl, max_ttl, default_lease_ttl, max_lease_ttl, granted, cut] of [
    [0, 0, 0, 0, system, false],
    [60, 0, 0, 0, 60, false],
    [0, 0, 120, 0, 120, false],
    [60, 0, 120, 0, 60, false],
    [0, 30, 0, 0, 30, true],
    [60, 30, 0, 0, 30, true],
    [0, 0, 50, 100, 50, false],
    [200, 0, 50, 100, 100, true],
    [200, 300, 50, 100, 100, true],
    [60, 90, 50, 100, 60, false],
    [0, 80, 90, 100, 80, true],
    [system + 5, 0, 0, 0, system, true],
    [1, 0, 0, 0, 1, false],
  ] as const) {
    await server.role("count", { ttl, max_ttl });
    done(await server.ask("POST", "sys/mounts/count/tune", { default_lease_ttl, max_lease_ttl }));
    const row = JSON.stringify([ttl, max_ttl, default_lease_ttl, max_lease_ttl]);
    const lease = await server.issue();
    assert.equal(lease.seconds, granted, row);
    assert.equal(lease.warnings.length, cut ? 1 : 0, `${row} ${lease.warnings.join()}`);
  }
});

test("tuning changes leases issued or renewed from then on, not those that are there", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { id } = await server.issue();
  done(await server.ask("POST", "sys/mounts/count/tune", { max_lease_ttl: "1h" }));
  assert.equal(dataOf(await server.lookup(id))["ttl"], 768 * 3600);
  const renewed = await server.renew(id);
  assert.equal(at(renewed, "lease_duration"), 3600);
  assert.equal(dataOf(await server.lookup(id))["ttl"], 3600);
});

test("a renewal is counted from now, cut by the maximum counted from the issue, and told", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600, max_ttl: 1800 });
  const { id } = await server.issue();
  await server.time.pass(5n * MINUTE);
  const plain = await server.renew(id);
  assert.equal(plain.status, 200, plain.text);
  assert.equal(at(plain, "lease_id"), id);
  assert.equal(at(plain, "lease_duration"), 600);
  assert.equal(at(plain, "renewable"), true);
  assert.equal(at(plain, "data"), null);
  assert.equal(at(plain, "warnings"), null);
  const renewed = await server.renew(id, { increment: 60 });
  assert.equal(at(renewed, "lease_duration"), 60, "less than it had");
  assert.equal(at(await server.renew(id, { increment: "15m" }), "lease_duration"), 900);
  const cut = await server.renew(id, { increment: "10h" });
  assert.equal(at(cut, "lease_duration"), 1500);
  assert.equal((at(cut, "warnings") as unknown[]).length, 1);
  await server.time.pass(24n * MINUTE);
  assert.equal(at(await server.renew(id, { increment: 0 }), "lease_duration"), 60);
  assert.equal(server.outside.has((await server.issue()).object), true);
  // At the very end there is nothing left to give.
  await server.role("count", { ttl: 600, max_ttl: 1700 });
  refused(await server.renew(id), 400, /maximum lifetime reached/);
});

test("each refusal of a renewal in its own words, and through every door", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const doors = [
    (id: string) => server.renew(id),
    (id: string) => server.ask("PUT", "sys/leases/renew", { lease_id: id }),
    (id: string) => server.ask("POST", `sys/leases/renew/${id}`, {}),
    (id: string) => server.ask("POST", "sys/renew", { lease_id: id }),
    (id: string) => server.ask("POST", `sys/renew/${id}`, {}),
  ];
  const each = async (id: string, text: string | RegExp) => {
    for (const door of doors) refused(await door(id), 400, text);
  };
  await each("count/creds/r/nothing", "lease not found");
  const good = await server.issue();
  for (const door of doors) assert.equal(at(await door(good.id), "lease_id"), good.id);
  await server.role("count", { ttl: 60, renewable: false });
  const plain = await server.issue();
  assert.equal(plain.renewable, false);
  await each(plain.id, "lease is not renewable");
  await server.role("count", { ttl: 60, fixed: true });
  const fixed = await server.issue();
  assert.equal(fixed.renewable, false, "no renewal at all");
  await each(fixed.id, "lease is not renewable");
  const deleted = await server.ask("DELETE", "count/roles/r");
  assert.deepEqual(at(deleted, "warnings"), ["3 leases live on"]);
  await each(good.id, 'role "r" no longer exists; lease cannot be renewed');
  assert.equal(await server.isThere(good.id), true, "it lives on to its end");
  // Over, and its revocation is held up: no way back.
  const letGo = server.outside.hold("revoke");
  await server.time.pass(61n * SECOND);
  await until(() => server.outside.reached("revoke") === 3);
  await each(good.id, "lease expired");
  letGo();
});

test("a role that turned not renewable takes that from its leases at the next renewal", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const { id } = await server.issue();
  await server.role("count", { ttl: 60, renewable: false });
  assert.equal(at(await server.renew(id), "renewable"), false);
  refused(await server.renew(id), 400, "lease is not renewable");
});

test("an engine that fails to renew leaves the lease as it was", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const { id } = await server.issue();
  await server.time.pass(MINUTE);
  server.outside.fail("renew", () => new Failure("upstream", "down", "the provider is down"), 1);
  refused(await server.renew(id), 502, /the provider is down/);
  assert.equal(dataOf(await server.lookup(id))["ttl"], 540);
});

test("leases are listed one level down, with pages, and only with sudo", async (t) => {
  const server = await engineServer(t);
  await server.enable("count", "counting");
  for (const role of ["a", "b", "b/c"]) await server.must("POST", `count/roles/${role}`, {});
  const ids = new Map<string, string>();
  for (const role of ["a", "b", "b/c"]) {
    ids.set(role, (await server.issue(`count/creds/${role}`)).id);
  }
  const list = (prefix: string) => server.ask("LIST", `sys/leases/lookup/${prefix}`);
  const last = (role: string) => ids.get(role)?.split("/").at(-1);
  assert.deepEqual(keysOf(await server.ask("LIST", "sys/leases/lookup")), ["count/"]);
  assert.deepEqual(keysOf(await list("count/")), ["creds/"]);
  assert.deepEqual(keysOf(await list("count/creds")), ["a/", "b/"]);
  assert.deepEqual(keysOf(await list("count/creds/a/")), [last("a")]);
  const below = keysOf(await list("count/creds/b/")) as string[];
  assert.deepEqual(below.toSorted(), ["c/", String(last("b"))].toSorted());
  const first = keysOf(await list("count/creds/b/?limit=1")) as string[];
  assert.equal(first.length, 1);
  const rest = keysOf(await list(`count/creds/b/?after=${first[0]}`)) as string[];
  assert.deepEqual([...first, ...rest], below);
  assert.equal((await list("none/")).status, 404);
  const lister = await server.client(grants("sys/leases/lookup/*", "list"));
  const asLister = { token: lister };
  refused(
    await server.ask("LIST", "sys/leases/lookup/count", undefined, asLister),
    403,
    "permission denied",
  );
});

test("with the default policy one renews and looks up by id what one was given", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const token = await server.client(grants("count/creds/r", "read"));
  const { id } = await server.issue("count/creds/r", { token });
  assert.equal((await server.lookup(id, { token })).status, 200);
  assert.equal((await server.renew(id, {}, { token })).status, 200);
  refused(await server.revoke(id, {}, { token }), 403, "permission denied");
});

test("leases outlive a crash with everything about them", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 3600 });
  const { id, object } = await server.issue();
  await server.time.pass(MINUTE);
  const before = dataOf(await server.lookup(id));
  await server.crash();
  assert.deepEqual(dataOf(await server.lookup(id)), before);
  assert.equal(at(await server.renew(id), "lease_duration"), 3600);
  await server.passUntil(() => !server.outside.has(object), MINUTE);
  assert.equal(await server.isThere(id), false);
});
