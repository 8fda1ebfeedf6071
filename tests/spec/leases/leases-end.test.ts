// How leases end: by time, by hand, by prefix, by force, with their owner; and what happens when the
// provider fails.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { Nanos } from "@holdfast/shared/world";
import {
  dataOf,
  DAY,
  done,
  engineServer,
  type EngineServer,
  grants,
  HOUR,
  type Issued,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";

const down = (text = "the provider is down") => new Failure("upstream", "provider-down", text);

async function issued(server: EngineServer, count: number, path = "count/creds/r") {
  return Promise.all(Array.from({ length: count }, () => server.issue(path)));
}

test("a lease ends with its time, once, and not before", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const { id, object } = await server.issue();
  await server.time.passSlowly(599n * SECOND, 30n * SECOND);
  assert.equal(await server.isThere(id), true);
  assert.equal(server.outside.has(object), true);
  await server.time.pass(2n * SECOND);
  await until(() => !server.outside.has(object));
  await until(async () => !(await server.isThere(id)));
  await server.time.passSlowly(HOUR, 10n * MINUTE);
  assert.equal(server.outside.events.filter((event) => event.object === object).length, 2);
});

test("a lease longer than a JavaScript timer does not end at once", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { id, object } = await server.issue();
  assert.equal(dataOf(await server.lookup(id))["ttl"], 768 * 3600);
  await server.time.passSlowly(3n * HOUR, HOUR);
  assert.equal(server.outside.has(object), true);
  await server.passUntil(() => !server.outside.has(object), HOUR);
  assert.ok(server.time.clock.elapsed() >= 768n * HOUR);
});

test("revoked by hand: queued and at once, known and unknown, through every door", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const doors = [
    (id: string, more: object) => server.revoke(id, more),
    (id: string, more: object) => server.ask("PUT", "sys/leases/revoke", { lease_id: id, ...more }),
    (id: string, more: object) => server.ask("POST", `sys/leases/revoke/${id}`, more),
    (id: string, more: object) => server.ask("POST", "sys/revoke", { lease_id: id, ...more }),
    (id: string, more: object) => server.ask("POST", `sys/revoke/${id}`, more),
  ];
  for (const door of doors) {
    const [queued, now] = [await server.issue(), await server.issue()];
    assert.equal((await door(queued.id, {})).status, 202);
    await until(() => !server.outside.has(queued.object));
    done(await door(now.id, { sync: true }));
    assert.equal(server.outside.has(now.object), false, "before the answer");
    assert.equal(await server.isThere(now.id), false);
    assert.equal((await door("count/creds/r/none", {})).status, 202);
    done(await door("count/creds/r/none", { sync: true }));
  }
});

test("what names nothing is told as such, by every way of revoking, and is no refusal", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const table: readonly (readonly [string, RegExp])[] = [
    ["revoke-prefix/cuont", /^nothing is mounted at cuont: nothing was revoked$/],
    ["revoke-prefix/auth/userpas", /^nothing is mounted at auth\/userpas: nothing was revoked$/],
    ["revoke-prefix/count/creds", /^no lease is below count\/creds: nothing was revoked$/],
    ["revoke-force/cuont", /^nothing is mounted at cuont: nothing was revoked$/],
    ["revoke/count/creds/r/none", /^no such lease: nothing was revoked$/],
  ];
  for (const [path, text] of table) {
    const forced = path.startsWith("revoke-force");
    const queued = await server.ask("POST", `sys/leases/${path}`);
    assert.equal(queued.status, forced ? 200 : 202);
    assert.match(String((at(queued, "warnings") as unknown[])[0]), text);
    if (forced) continue;
    const now = await server.ask("POST", `sys/leases/${path}`, { sync: true });
    assert.equal(now.status, 204);
    assert.match(String(now.headers["x-service-warning"]), text);
  }
  await server.issue();
  const some = await server.ask("POST", "sys/leases/revoke-prefix/count", { sync: true });
  assert.deepEqual([some.status, some.headers["x-service-warning"]], [204, undefined]);
});

test("at once and the provider fails: the cause is told and the lease stays", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { id, object } = await server.issue();
  server.outside.fail("revoke", () => down(), 1);
  refused(await server.revoke(id, { sync: true }), 502, /the provider is down/);
  assert.equal(await server.isThere(id), true);
  assert.equal(server.outside.has(object), true);
  done(await server.revoke(id, { sync: true }));
  assert.equal(server.outside.has(object), false);
});

test("by prefix: everything below and nothing beside; a whole id is that one", async (t) => {
  const server = await engineServer(t);
  await server.enable("count", "counting");
  for (const role of ["a", "ab", "a/b"]) await server.must("POST", `count/roles/${role}`, {});
  const of = async (role: string) => issued(server, 3, `count/creds/${role}`);
  const [a, ab, deep] = [await of("a"), await of("ab"), await of("a/b")];
  const sync = { sync: true };
  const prefix = (path: string, body: object = sync) =>
    server.ask("POST", `sys/leases/revoke-prefix/${path}`, body);
  const [one] = a;
  assert.ok(one !== undefined);
  done(await prefix(one.id));
  assert.equal(server.outside.objects.length, 8);
  done(await prefix("count/creds/a"));
  assert.deepEqual(server.outside.objects.toSorted(), ab.map(({ object }) => object).toSorted());
  for (const { id } of [...a, ...deep]) assert.equal(await server.isThere(id), false);
  assert.equal((await prefix("count/creds", {})).status, 202);
  await until(() => server.outside.objects.length === 0);
  done(await prefix("count/creds"));
  // The old path means the same.
  await of("a");
  done(await server.ask("POST", "sys/revoke-prefix/count/creds/a", sync));
  assert.deepEqual(server.outside.objects, []);
});

test("by prefix at once, and one fails: it stops there and says how far it got", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  await issued(server, 5);
  let reached = 0;
  server.outside.happen("revoke", () => {
    if (++reached === 3) throw down();
  });
  const answer = await server.ask("POST", "sys/leases/revoke-prefix/count", { sync: true });
  assert.ok(answer.status === 502 || answer.status === 400, answer.text);
  assert.match(answer.text, /the provider is down/);
  assert.match(answer.text, /\d/);
  assert.ok(server.outside.objects.length >= 1);
  server.outside.heal();
  done(await server.ask("POST", "sys/leases/revoke-prefix/count", { sync: true }));
  assert.deepEqual(server.outside.objects, []);
});

test("by force: forgotten whatever the provider says, one warning for each that may remain", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const leases = await issued(server, 3);
  server.outside.fail("revoke", () => down());
  const forced = await server.ask("POST", "sys/leases/revoke-force/count");
  assert.equal(forced.status, 200, forced.text);
  const warnings = at(forced, "warnings") as string[];
  assert.equal(warnings.length, 3);
  for (const { id } of leases) {
    assert.ok(
      warnings.some((warning) => warning.includes(id)),
      id,
    );
    assert.equal(await server.isThere(id), false);
  }
  server.outside.heal();
  const more = await issued(server, 2);
  done(await server.ask("POST", "sys/revoke-force/count"));
  for (const { object } of more) assert.equal(server.outside.has(object), false);
});

test("prefix, force, the listing of all and the list need sudo", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { id } = await server.issue();
  const every = ["create", "read", "update", "delete", "list"];
  const token = await server.client(grants("sys/*", ...every));
  for (const [method, path, body] of [
    ["POST", "sys/leases/revoke-prefix/count", {}],
    ["POST", "sys/leases/revoke-force/count", {}],
    ["POST", "sys/revoke-prefix/count", {}],
    ["POST", "sys/revoke-force/count", {}],
    ["GET", "sys/leases?type=irrevocable", undefined],
    ["LIST", "sys/leases/lookup/count", undefined],
  ] as const) {
    refused(await server.ask(method, path, body, { token }), 403, "permission denied");
  }
  assert.equal(await server.isThere(id), true);
  assert.equal((await server.revoke(id, { sync: true }, { token })).status, 204);
});

test("a failed revocation is tried again after 20, 40, 80, 160 and 320 s; after the sixth it is irrevocable", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const { id, object } = await server.issue();
  const long = `no ${"x".repeat(500)}`;
  const tries = () => server.outside.reached("revoke");
  const times: Nanos[] = [];
  server.outside.happen("revoke", () => {
    times.push(server.time.clock.elapsed());
    throw down(long);
  });
  for (let second = 0; second < 1000; second++) await server.time.passSlowly(SECOND, SECOND);
  assert.equal(times.length, 6);
  for (const [n, wait] of [20n, 40n, 80n, 160n, 320n].entries()) {
    const waited = times[n + 1]! - times[n]!;
    const seconds = `${waited / SECOND} s instead of ${wait} s`;
    assert.ok(waited >= (wait * SECOND * 75n) / 100n, seconds);
    assert.ok(waited <= (wait * SECOND * 125n) / 100n + 2n * SECOND, seconds);
  }
  const count = async () =>
    dataOf(await server.ask("GET", "sys/leases/count?type=irrevocable"))["lease_count"];
  await until(async () => (await count()) === 1);
  const error = String(dataOf(await server.lookup(id))["revoke_error"]);
  assert.ok(error.length <= 240, `${error.length}`);
  assert.match(error, /no xxx/);
  refused(await server.renew(id), 400, "lease expired and could not be revoked yet");
  const counted = dataOf(await server.ask("GET", "sys/leases/count?type=irrevocable"));
  assert.deepEqual(Object.values(counted["counts"] as object), [1]);
  const listed = dataOf(await server.ask("GET", "sys/leases?type=irrevocable"));
  assert.equal(listed["lease_count"], 1);
  const [row] = listed["leases"] as Record<string, unknown>[];
  assert.deepEqual(Object.keys(row ?? {}).toSorted(), ["error", "lease_id", "mount_id"]);
  assert.equal(row?.["lease_id"], id);
  // Not tried meanwhile, but once a day.
  await server.time.passSlowly(20n * HOUR, HOUR);
  assert.equal(tries(), 6);
  server.outside.heal();
  await server.time.passSlowly(12n * HOUR, HOUR);
  await server.passUntil(() => !server.outside.has(object), MINUTE);
  await until(async () => (await count()) === 0);
});

test("revoking an irrevocable lease by hand clears the mark and tries again", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const { id, object } = await server.issue();
  server.outside.fail("revoke", () => down());
  await server.passUntil(
    async () => dataOf(await server.ask("GET", "sys/leases?type=irrevocable"))["lease_count"] === 1,
  );
  server.outside.heal();
  assert.equal((await server.revoke(id)).status, 202);
  await until(() => !server.outside.has(object));
  assert.equal(await server.isThere(id), false);
});

test("throttling does not count as a failure: it waits as told, and never becomes irrevocable", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const { object } = await server.issue();
  const throttled = () =>
    new Failure("rate-limited", "provider-throttles", "slow down", { retryAfter: 300 });
  server.outside.fail("revoke", throttled);
  await server.time.pass(61n * SECOND);
  await until(() => server.outside.reached("revoke") === 1);
  await server.passUntil(() => server.outside.reached("revoke") > 8, MINUTE);
  const counted = dataOf(await server.ask("GET", "sys/leases/count?type=irrevocable"));
  assert.equal(counted["lease_count"], 0);
  server.outside.heal();
  await server.passUntil(() => !server.outside.has(object), MINUTE);
});

test("at most eight revocations run at once for one mount, and another mount is not kept waiting", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  await server.counting("other", { ttl: 60 });
  await issued(server, 30);
  const letGo = server.outside.hold("revoke", 8); // the first mount's eight hang
  assert.equal((await server.ask("POST", "sys/leases/revoke-prefix/count", {})).status, 202);
  await until(() => server.outside.reached("revoke") === 8);
  const { id } = await server.issue("other/creds/r");
  done(await server.revoke(id, { sync: true }));
  for (let i = 0; i < 10; i++) await server.ask("GET", "sys/health");
  assert.equal(server.outside.reached("revoke"), 9, "eight of the one, one of the other");
  letGo();
  await until(() => server.outside.objects.length === 0);
  assert.ok(server.outside.busiest <= 9, `${server.outside.busiest}`);
});

test("a token takes its leases with it: deleted, revoked with its parent, and expired", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const rules = grants("count/creds/r", "read") + grants("auth/token/create", "update");
  const gone = async (secret: string, end: () => Promise<unknown>) => {
    const leases: Issued[] = [];
    for (let i = 0; i < 3; i++) leases.push(await server.issue("count/creds/r", { token: secret }));
    await end();
    await server.passUntil(() => leases.every(({ object }) => !server.outside.has(object)), SECOND);
    for (const { id } of leases) await until(async () => !(await server.isThere(id)));
  };
  const keeper = await server.issue();
  const first = await server.clientToken(rules);
  await gone(first.secret, () => server.must("DELETE", `acl/token/${first.accessor}`));
  const second = await server.clientToken(rules);
  await gone(second.secret, () =>
    server.must("POST", "auth/token/revoke-accessor", { accessor: second.accessor }),
  );
  const parent = await server.clientToken(rules);
  const child = await server.must("POST", "auth/token/create", {}, { token: parent.secret });
  await gone(String(at(child, "auth", "client_token")), () =>
    server.must("POST", "auth/token/revoke", { token: parent.secret }),
  );
  const brief = await server.clientToken(rules, { ttl: "10m" });
  await gone(brief.secret, () => server.time.passSlowly(11n * MINUTE, 20n * SECOND));
  assert.equal(await server.isThere(keeper.id), true);
  assert.deepEqual(server.outside.objects, [keeper.object]);
});

test("what fell due while the process was down is revoked after unsealing", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  await issued(server, 40);
  await server.role("count", { ttl: 3600 * 24 });
  const later = await server.issue();
  await server.die();
  server.time.clock.pass(2n * HOUR);
  await server.restart();
  await server.passUntil(() => server.outside.objects.length === 1, SECOND);
  assert.deepEqual(server.outside.objects, [later.object]);
  assert.equal(server.outside.removals(), 40);
  assert.ok(server.outside.busiest <= 8);
});

test("tidy removes what has lost its owner and leaves the rest", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const { id } = await server.issue();
  const tidied = await server.ask("POST", "sys/leases/tidy");
  assert.equal(tidied.status, 202, tidied.text);
  assert.equal((at(tidied, "warnings") as unknown[]).length, 1);
  await server.time.pass(DAY / 24n);
  assert.equal(await server.isThere(id), true);
});

test("counts and lists of what is stuck need a type, and know child namespaces", async (t) => {
  const server = await engineServer(t);
  const count = await server.ask("GET", "sys/leases/count?type=irrevocable");
  assert.deepEqual(dataOf(count), { lease_count: 0, counts: {} });
  assert.equal((await server.ask("GET", "sys/leases/count")).status, 400);
  assert.equal((await server.ask("GET", "sys/leases/count?type=green")).status, 400);
  assert.equal((await server.ask("GET", "sys/leases?type=irrevocable&limit=none")).status, 200);
  assert.equal((await server.ask("GET", "sys/leases?type=irrevocable&limit=five")).status, 400);
});

test("metrics say how many leases there are, and what became of revocations", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const leases = await issued(server, 4);
  const metrics = async (name: string): Promise<number> => {
    const { text } = await server.ask("GET", "sys/metrics?format=prometheus");
    const lines = text.split("\n").filter((line) => line.startsWith(`holdfast_${name}`));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  assert.equal(await metrics("leases{"), 4);
  done(await server.revoke(leases[0]?.id ?? "", { sync: true }));
  assert.equal(await metrics("leases{"), 3);
  assert.equal(await metrics("lease_revocations_total{"), 1);
  server.outside.fail("revoke", () => down(), 1);
  assert.equal((await server.revoke(leases[1]?.id ?? "", { sync: true })).status, 502);
  assert.equal(await metrics("lease_revocations_total{"), 2, "one of each result");
  await server.crash();
  assert.equal(await metrics("leases{"), 3, "also after a crash");
});
