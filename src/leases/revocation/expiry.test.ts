import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { PermanentFailure, ThrottledFailure } from "@holdfast/plugin-sdk/failure";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import {
  DAY,
  HOUR,
  isThere,
  issue,
  madeLeases,
  type MadeLeases,
  MINUTE,
  now as atOnce,
  OWNER,
  pass,
  providerMount,
  queue,
  refused,
  restarted,
  SECOND,
  TEAM,
} from "../../../tests/support/made/made-leases.ts";
import { until } from "../../../tests/support/until.ts";
import { closeRoom, openRoom } from "../../../tests/support/jobs.ts";

function fails(made: MadeLeases, failure: Error): void {
  made.provider.trouble = () => {
    throw failure;
  };
}

const DOWN = new Failure("upstream", "down", "the provider is down");

test("leases are revoked when their time is over, the first first, and not before", async () => {
  const made = await madeLeases();
  const { provider } = made;
  for (const seconds of [30n, 10n, 20n])
    await issue(made, { name: `s${seconds}`, ttl: seconds * SECOND });
  await pass(made, 10n * SECOND - 1n);
  assert.deepEqual(provider.requests, []);
  await pass(made, 1n);
  await until(() => provider.requests.length === 1);
  await pass(made, 20n * SECOND);
  await until(() => made.leases.total.leases === 0);
  assert.deepEqual(provider.requests, ["s10", "s20", "s30"]);
  assert.deepEqual(made.results, ["ok", "ok", "ok"]);
});

test("one timer is armed however many leases there are, and a lease beyond 24.8 days keeps its time", async () => {
  const made = await madeLeases();
  made.mounts.set("long", providerMount(made.provider, "long", { max: 400n * DAY }));
  const before = made.world.timers.armed;
  for (let i = 0; i < 20; i++) await issue(made, { ttl: HOUR + BigInt(i) * SECOND });
  const { id } = await issue(made, { mount: "long", ttl: 32n * DAY });
  await until(() => made.world.timers.armed > before);
  assert.equal(made.world.timers.armed, before + 1);
  await pass(made, 31n * DAY);
  assert.ok(isThere(made, id));
  await pass(made, DAY);
  await until(() => !isThere(made, id));
});

test("a failed revocation is tried again after 20 to 320 s; after the sixth failure once a day", async () => {
  const made = await madeLeases();
  const { provider } = made;
  fails(made, DOWN);
  const { id } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  await until(() => provider.requests.length === 1);
  for (const pause of [20n, 40n, 80n, 160n, 320n]) {
    const tries = provider.requests.length;
    await until(() => made.leases.lookup(ROOT_NAMESPACE, id).attempts === tries);
    const { due, expires } = made.leases.lookup(ROOT_NAMESPACE, id);
    const wait = Number(due - made.leases.now()) / 1e9;
    assert.ok(Math.abs(wait - Number(pause)) <= Number(pause) / 4 + 1, `${wait} for ${pause}`);
    assert.ok(expires <= made.leases.now());
    await pass(made, due - made.leases.now() - 1n);
    assert.equal(provider.requests.length, tries);
    await pass(made, 1n);
    await until(() => provider.requests.length === tries + 1);
  }
  await until(() => made.leases.total.irrevocable === 1);
  const stuck = made.leases.lookup(ROOT_NAMESPACE, id);
  assert.equal(stuck.error, "the provider is down");
  const renew = made.leases.renewing.renew(ROOT_NAMESPACE, id, null);
  await assert.rejects(renew, refused("lease expired and could not be revoked yet"));
  await pass(made, DAY - SECOND);
  assert.equal(provider.requests.length, 6);
  await pass(made, SECOND);
  await until(() => provider.requests.length === 7);
  provider.trouble = () => {};
  await pass(made, DAY, HOUR);
  await until(() => !isThere(made, id));
  assert.deepEqual(made.leases.total, { leases: 0, irrevocable: 0 });
});

test("T-J07: a lease that cannot be revoked is listed with its error, counted, and never dropped by itself", async () => {
  const made = await madeLeases();
  fails(made, new PermanentFailure(`gone wrong ${"x".repeat(400)}`));
  const { id } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  await until(() => made.leases.total.irrevocable === 1);
  const { stuck } = made.leases;
  const count = await stuck.count(ROOT_NAMESPACE, { children: false });
  assert.deepEqual([count.total, ...count.byMount], [1, ["fake_m1", 1]]);
  const { leases } = await stuck.list(ROOT_NAMESPACE, { children: true, limit: 10 });
  assert.deepEqual(
    leases.map(({ id: named, error }) => [named, error.length]),
    [[id, 240]],
  );
  await pass(made, 10n * DAY, DAY);
  assert.ok(isThere(made, id));
  assert.equal(made.provider.requests.length, 11);
  // What was wrong is mended: whoever knows that has them tried again.
  made.provider.trouble = () => {};
  await stuck.retry("m1");
  await until(() => !isThere(made, id));
});

test("revoking an irrevocable lease by hand clears the mark and begins its tries anew", async () => {
  for (const how of [queue, atOnce]) {
    const made = await madeLeases();
    fails(made, new PermanentFailure("never"));
    const { id } = await issue(made, { ttl: SECOND });
    await pass(made, SECOND);
    await until(() => made.leases.total.irrevocable === 1);
    fails(made, DOWN);
    const revoked = made.leases.revoking.revoke(ROOT_NAMESPACE, id, how);
    await (how.sync ? assert.rejects(revoked, refused(/the provider is down/)) : revoked);
    await until(() => made.leases.lookup(ROOT_NAMESPACE, id).attempts === 1);
    assert.deepEqual(made.leases.total, { leases: 1, irrevocable: 0 });
  }
});

test("a provider that throttles is waited for; that counts as no try and halves what runs at once", async () => {
  const made = await madeLeases();
  const { provider } = made;
  fails(made, new ThrottledFailure("slow down", 7));
  const { id } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  for (let i = 1; i <= 12; i++) {
    await until(() => provider.requests.length === i);
    await until(() => made.leases.lookup(ROOT_NAMESPACE, id).error === "slow down");
    await pass(made, 7n * SECOND);
  }
  const lease = made.leases.lookup(ROOT_NAMESPACE, id);
  assert.deepEqual([lease.attempts, lease.irrevocable], [0, false]);
  assert.ok(made.results.every((result) => result === "throttled"));

  // The mount has been slowed down to one at once; each minute gives it one more.
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.trouble = () => promise;
  for (let i = 0; i < 20; i++) await issue(made, { ttl: SECOND });
  await pass(made, 8n * SECOND);
  await until(() => provider.running === 1);
  for (let i = 0; i < 50; i++) await nextTurn();
  assert.equal(provider.running, 1);
  resolve();
  await until(() => made.leases.total.leases === 0);
});

test("eight of a mount run at once, and a mount whose engine hangs keeps no other waiting", async () => {
  const made = await madeLeases();
  const { provider } = made;
  const other = providerMount(provider, "m2");
  made.mounts.set("m2", other);
  const held = Promise.withResolvers<void>();
  provider.trouble = (name) => (name.startsWith("slow") ? held.promise : undefined);
  for (let i = 0; i < 40; i++) await issue(made, { name: `slow${i}`, ttl: SECOND });
  for (let i = 0; i < 40; i++)
    await issue(made, { name: `quick${i}`, mount: "m2", ttl: 2n * SECOND });
  await pass(made, SECOND);
  await until(() => provider.running === 8);
  await pass(made, 2n * SECOND, 10_000_000n);
  await until(() => made.leases.countOf("m2") === 0);
  assert.equal(provider.running, 8);
  assert.equal(made.leases.countOf("m1"), 40);
  held.resolve();
  await until(() => made.leases.countOf("m1") === 0);
  assert.equal(provider.busiest <= 16, true);
});

test("at most 64 run at once over all mounts", async () => {
  const made = await madeLeases();
  const { provider } = made;
  const held = Promise.withResolvers<void>();
  provider.trouble = () => held.promise;
  for (let i = 0; i < 12; i++) {
    made.mounts.set(`n${i}`, providerMount(provider, `n${i}`));
    for (let n = 0; n < 10; n++) await issue(made, { mount: `n${i}`, ttl: SECOND });
  }
  await pass(made, 2n * SECOND, 50_000_000n);
  assert.equal(provider.running, 64);
  held.resolve();
  await pass(made, SECOND, 20_000_000n);
  await until(() => made.leases.total.leases === 0);
  assert.equal(provider.busiest, 64);
});

test("an engine that does not answer is cut off at its deadline, and tried again", async () => {
  const made = await madeLeases();
  const { provider } = made;
  made.mounts.set("m1", providerMount(provider, "m1", { deadline: 90n * SECOND }));
  let notified = false;
  provider.trouble = (_name, signal) => {
    signal.addEventListener("abort", () => (notified = true));
    return new Promise<void>(() => {});
  };
  const { id } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  await until(() => provider.running === 1);
  await pass(made, 90n * SECOND - 1n);
  assert.equal(notified, false);
  await pass(made, 1n);
  await until(() => made.leases.lookup(ROOT_NAMESPACE, id).attempts === 1);
  assert.equal(notified, true);
  assert.equal(made.leases.lookup(ROOT_NAMESPACE, id).error, "the engine took longer than 90 s");
});

test("T-I07: whatever the engine fails with, the lease is kept; what a foreign error says is not told", async () => {
  const made = await madeLeases();
  for (const error of [
    DOWN,
    new TypeError("password=hunter2"),
    new Failure("invalid", "x", "no"),
  ]) {
    fails(made, error);
    const { id, name } = await issue(made);
    await assert.rejects(made.leases.revoking.revoke(ROOT_NAMESPACE, id, atOnce));
    assert.ok(isThere(made, id) && made.provider.alive.has(name));
    assert.doesNotMatch(made.leases.lookup(ROOT_NAMESPACE, id).error, /hunter2/);
  }
  assert.ok(!made.world.lines.some((line) => line.includes("hunter2")));
});

test("leases that ended while the server was down are revoked after it opens, oldest first", async () => {
  const before = await madeLeases();
  for (let i = 0; i < 100; i++) {
    await issue(before, { name: `s${String(i).padStart(3, "0")}`, ttl: BigInt(1 + i) * SECOND });
  }
  await issue(before, { name: "later", ttl: DAY });
  const made = await restarted(before, { later: HOUR });
  const { provider } = made;
  // 32 begin in any 10 ms, and no more.
  await until(() => provider.requests.length === 32);
  for (let i = 0; i < 50; i++) await nextTurn();
  assert.equal(provider.requests.length, 32);
  await pass(made, SECOND, 10_000_000n);
  await until(() => made.leases.total.leases === 1);
  assert.deepEqual(provider.requests, provider.requests.toSorted());
  assert.deepEqual([...provider.alive], ["later"]);
});

test("a crash between the end of a secret and that of its lease ends it again, without effect", async () => {
  const before = await madeLeases();
  const { name } = await issue(before, { ttl: SECOND });
  before.engine.hold();
  await before.world.timers.advance(SECOND);
  await until(() => before.provider.requests.length === 1 && before.provider.running === 0);
  const made = await restarted(before);
  await until(() => made.leases.total.leases === 0);
  assert.deepEqual(made.provider.requests, [name, name]);
});

test("sealing cuts off what runs and leaves the lease; unsealing goes on", async () => {
  const made = await madeLeases();
  const { provider, leases } = made;
  const before = made.world.timers.armed;
  provider.trouble = () => new Promise(() => {});
  const { id } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  await until(() => provider.running === 1);
  await closeRoom(leases);
  assert.equal(made.world.timers.armed, before);
  provider.trouble = () => {};
  openRoom(leases);
  assert.equal(leases.lookup(ROOT_NAMESPACE, id).attempts, 0);
  await until(() => !isThere(made, id));
});

test("T-J08: no clock that is set lengthens a lease, and none ends them all at once", async () => {
  const made = await madeLeases();
  const { clock } = made.world;
  const { id } = await issue(made, { ttl: HOUR });
  const start = clock.now();
  clock.jump(start - HOUR);
  await pass(made, 10n * MINUTE, MINUTE);
  clock.jump(start + 3650n * DAY);
  await pass(made, 4n * MINUTE, MINUTE);
  assert.ok(isThere(made, id), "a step of the clock is not believed at once");
  clock.jump(start - HOUR);
  await pass(made, 46n * MINUTE - SECOND, MINUTE);
  assert.ok(isThere(made, id));
  await pass(made, SECOND);
  await until(() => !isThere(made, id));
});

test("T-J08: a clock that stays ahead is believed, as after a machine was suspended", async () => {
  const made = await madeLeases();
  const { clock } = made.world;
  const { id } = await issue(made, { ttl: HOUR });
  clock.jump(clock.now() + 8n * HOUR);
  await pass(made, 7n * MINUTE, MINUTE);
  await until(() => !isThere(made, id));
});

test("T-J08: a clock that was set back before a restart does not lengthen a lease", async () => {
  const before = await madeLeases();
  const { id } = await issue(before, { ttl: HOUR });
  await pass(before, 30n * MINUTE, MINUTE);
  await issue(before, { ttl: DAY }); // the last that was written
  const made = await restarted(before, { later: -5n * HOUR });
  await pass(made, 30n * MINUTE, MINUTE);
  await until(() => !isThere(made, id));
});

test("a lease that cannot be read keeps no other from being revoked", async () => {
  const made = await madeLeases();
  const { id: bad } = await issue(made, { ttl: SECOND });
  const { id: good } = await issue(made, { ttl: 2n * SECOND });
  await made.store.settled();
  await made.store.write((tx) => {
    tx.put(`local/leases/records/root/${bad}`, new Uint8Array(64));
  });
  await pass(made, 2n * SECOND);
  await until(() => !isThere(made, good));
  assert.ok(made.world.lines.some((line) => /a lease cannot be read/.test(line)));
  const warnings = await made.leases.revoking.revokeForce(ROOT_NAMESPACE, "m1", atOnce.signal);
  assert.deepEqual(warnings, [`${bad}: its record cannot be read; what it stands for may remain`]);
  await made.leases.revokeMount("m1", atOnce.signal, () => {});
  assert.equal(made.leases.countOf("m1"), 0);
});

test("leases of a token that ends are revoked, in whatever namespace, and no others", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 40; i++) await issue(made);
  await issue(made, { namespace: TEAM, name: "team" });
  await issue(made, { name: "other", accessor: "b0000000-0000-4000-8000-000000000002" });
  await made.barrier.view("local/").write((tx) => made.leases.ends(tx, OWNER));
  await pass(made, 100_000_000n, 10_000_000n);
  await until(() => made.leases.total.leases === 1);
  assert.deepEqual([...made.provider.alive], ["other"]);
});

test("T-D04: the end of a token is sure to end its leases: a crash right after it changes nothing", async () => {
  const before = await madeLeases();
  for (let i = 0; i < 20; i++) await issue(before);
  await closeRoom(before.leases);
  await before.barrier.view("local/").write((tx) => before.leases.ends(tx, OWNER));
  const made = await restarted(before);
  await until(() => made.leases.total.leases === 0);
  assert.equal(made.provider.alive.size, 0);
});
