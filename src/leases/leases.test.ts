import assert from "node:assert/strict";
import { test } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import {
  contextFor,
  DAY,
  HOUR,
  isThere,
  issue,
  madeLeases,
  MINUTE,
  noteWriteAhead,
  OWNER,
  pass,
  providerMount,
  refused,
  restarted,
  SECOND,
  TEAM,
} from "../../tests/support/made/made-leases.ts";
import { until } from "../../tests/support/until.ts";

test("a lease lives as its role says, or else as its mount, and never beyond the least maximum", async () => {
  const made = await madeLeases();
  made.mounts.set("short", providerMount(made.provider, "short", { usual: HOUR, max: 2n * HOUR }));
  const seconds = async (ask: Parameters<typeof issue>[1]) => {
    const { seconds: granted, warnings } = await issue(made, ask);
    return [granted, ...warnings];
  };
  assert.deepEqual(await seconds({}), [3600]);
  assert.deepEqual(await seconds({ ttl: 90n * SECOND }), [90]);
  assert.deepEqual(await seconds({ ttl: 0n }), [3600]);
  assert.deepEqual(await seconds({ ttl: 1n }), [1]);
  assert.deepEqual(await seconds({ ttl: 1_999_999_999n }), [1]);
  assert.deepEqual(await seconds({ mount: "short", ttl: DAY }), [
    7200,
    "the lifetime of 24h0m0s was cut to the maximum, 2h0m0s",
  ]);
  assert.deepEqual(await seconds({ ttl: HOUR, maxTtl: MINUTE }), [
    60,
    "the lifetime of 1h0m0s was cut to the maximum, 1m0s",
  ]);
});

test("an id is the path of its request, 24 characters, and its namespace unless that is root", async () => {
  const made = await madeLeases();
  const { id } = await issue(made, { path: "m1/creds/v1.2" });
  assert.match(id, /^m1\/creds\/v1\.2\/[0-9A-Za-z]{24}$/);
  const { id: child } = await issue(made, { namespace: TEAM });
  assert.match(child, /^m1\/creds\/r\/[0-9A-Za-z]{24}\.teamteam$/);
  assert.equal(made.leases.lookup(TEAM, child).path, "m1/creds/r");
});

test("T-D02: an id of another namespace is refused, whether or not there is such a lease", async () => {
  const made = await madeLeases();
  const { id } = await issue(made);
  const { id: child } = await issue(made, { namespace: TEAM });
  const { leases } = made;
  const signal = new AbortController().signal;
  const other = child.replace(/[0-9A-Za-z]{24}/, "0".repeat(24));
  const pairs = [
    [ROOT_NAMESPACE, child],
    [ROOT_NAMESPACE, other],
    [TEAM, id],
  ] as const;
  for (const [namespace, foreign] of pairs) {
    const denied = refused("permission denied");
    assert.throws(() => leases.lookup(namespace, foreign), denied);
    await assert.rejects(leases.renewing.renew(namespace, foreign, null), denied);
    for (const sync of [true, false]) {
      await assert.rejects(leases.revoking.revoke(namespace, foreign, { sync, signal }), denied);
      await assert.rejects(
        leases.revoking.revokePrefix(namespace, foreign, { sync, signal }),
        denied,
      );
    }
    await assert.rejects(leases.revoking.revokeForce(namespace, foreign, signal), denied);
  }
  // A prefix means what is below it in the namespace of the request.
  await leases.revoking.revokeForce(TEAM, "m1", signal);
  assert.ok(isThere(made, id));
  assert.ok(!isThere(made, child, TEAM));
});

test("T-J02: ids with dots, other alphabets and hundreds of bytes are listed and revoked alike", async () => {
  const made = await madeLeases();
  const long = "x".repeat(250);
  const paths = [
    "m1/a.b/c.d",
    "m1/schl\u00fcssel/\u9375",
    `m1/${long}/${long}`,
    "m1/it's (a) name",
  ];
  const signal = new AbortController().signal;
  for (const path of paths) {
    const { id, name } = await issue(made, { path });
    const tail = id.slice(id.lastIndexOf("/") + 1);
    assert.deepEqual(made.leases.list(ROOT_NAMESPACE, path, { limit: 10 }), [tail]);
    await made.leases.revoking.revoke(ROOT_NAMESPACE, id, { sync: true, signal });
    assert.ok(!made.provider.alive.has(name), path);
    assert.ok(!isThere(made, id));
  }
  assert.deepEqual(made.leases.list(ROOT_NAMESPACE, "", { limit: 10 }), []);
});

test("a lease and the end of the write-ahead records that it settles are one transaction", async () => {
  const made = await madeLeases();
  await noteWriteAhead(made, "w1");
  const before = made.store.index;
  await issue(made, { settles: ["w1"] });
  assert.equal(made.store.index, before + 1n);
  assert.deepEqual(made.barrier.view("local/").keys("ns/root/mounts/m1/wal/", { limit: 5 }), []);
});

test("a secret whose lease cannot be written is ended at once, and its write-ahead record stays", async () => {
  const made = await madeLeases();
  const wal = () => made.barrier.view("local/").keys("ns/root/mounts/m1/wal/", { limit: 5 }).length;
  await noteWriteAhead(made, "w1");
  const settles = ["w1"];

  made.goneOwners.add(OWNER.accessor);
  await assert.rejects(issue(made, { name: "a", settles }), refused("permission denied"));
  made.goneOwners.clear();

  const gone = new AbortController();
  gone.abort();
  const late = issue(made, { name: "b", settles, signal: gone.signal });
  await assert.rejects(late, refused("request timed out"));

  const mount = made.mounts.get("m1");
  assert.ok(mount !== undefined);
  made.mounts.set("m1", { ...mount, record: { state: { kind: "disabling" } } });
  await assert.rejects(issue(made, { name: "c", settles }), refused(/being disabled or moved/));
  made.mounts.set("m1", mount);

  // Rollback was quicker.
  await assert.rejects(issue(made, { name: "d", settles: ["w2"] }), refused("request timed out"));

  assert.deepEqual(made.provider.requests, ["a", "b", "c", "d"]);
  assert.deepEqual([...made.provider.alive], []);
  assert.deepEqual(made.leases.total, { leases: 0, irrevocable: 0 });
  assert.equal(wal(), 1);
});

test("a secret that can be neither leased nor ended is left to rollback, and the log says so", async () => {
  const made = await madeLeases();
  await noteWriteAhead(made, "w1");
  made.goneOwners.add(OWNER.accessor);
  made.provider.trouble = () => {
    throw new Failure("upstream", "down", "the provider is down");
  };
  await assert.rejects(issue(made, { settles: ["w1"] }), refused("permission denied"));
  assert.equal(made.barrier.view("local/").keys("ns/root/mounts/m1/wal/", { limit: 5 }).length, 1);
  assert.ok(made.world.lines.some((line) => /could not be ended; rollback will/.test(line)));
});

test("renewal counts from now and is cut at the maximum counted from the issue", async () => {
  const made = await madeLeases();
  const { leases, provider } = made;
  const { id } = await issue(made, { ttl: HOUR });
  const renew = async (increment: bigint | null) => {
    const { leased, warnings } = await leases.renewing.renew(ROOT_NAMESPACE, id, increment);
    return [leased.seconds, leased.renewable, ...warnings];
  };
  await pass(made, 30n * MINUTE);
  assert.deepEqual(await renew(null), [3600, true]);
  assert.deepEqual(await renew(90n * SECOND), [90, true]);
  provider.renewal = { ttl: 2n * HOUR, maxTtl: 3n * HOUR };
  assert.deepEqual(await renew(0n), [7200, true]);
  assert.deepEqual(await renew(DAY), [
    9000,
    true,
    "the lifetime of 24h0m0s was cut to the maximum, 2h30m0s",
  ]);
  // What remains is granted whole, told to the nearest second; a part of one is no cut.
  await pass(made, SECOND / 100n);
  assert.deepEqual(await renew(9000n * SECOND), [9000, true]);
  const { issued, expires } = leases.lookup(ROOT_NAMESPACE, id);
  assert.equal(expires - issued, 3n * HOUR);
  provider.renewal = { ttl: DAY, maxTtl: 3n * HOUR };
  assert.deepEqual(await renew(null), [9000, true], "nobody asked for more");
  // The engine may say that this was the last time.
  provider.renewal = { renewable: false };
  assert.deepEqual(await renew(MINUTE), [60, false]);
  await assert.rejects(renew(MINUTE), refused("lease is not renewable"));
});

test("T-J01: no increment, nor the last instant of a lease, makes it live beyond its maximum", async () => {
  const made = await madeLeases();
  const { leases, provider } = made;
  const { id } = await issue(made, { ttl: MINUTE });
  provider.renewal = { maxTtl: 2n * MINUTE };
  await pass(made, MINUTE - 1n);
  const { leased } = await leases.renewing.renew(ROOT_NAMESPACE, id, 2n ** 63n - 1n);
  assert.equal(leased.seconds, 60);
  await pass(made, MINUTE - 1_000_000n); // a millisecond is left
  const last = await leases.renewing.renew(ROOT_NAMESPACE, id, null);
  assert.equal(last.leased.seconds, 1);
  await pass(made, SECOND);
  await until(() => !isThere(made, id));
  assert.deepEqual([...provider.alive], []);
});

test("what cannot be renewed is refused in a fixed order", async () => {
  const made = await madeLeases();
  const { leases, provider } = made;
  const renew = (id: string) => leases.renewing.renew(ROOT_NAMESPACE, id, null);
  await assert.rejects(renew("m1/creds/r/000000000000000000000000"), refused("lease not found"));
  await assert.rejects(renew("nothing like an id"), refused("lease not found"));
  const { id: fixed, renewable } = await issue(made, { secretType: "fixed" });
  assert.equal(renewable, false);
  await assert.rejects(renew(fixed), refused("lease is not renewable"));
  const { id: never } = await issue(made, { renewable: false });
  await assert.rejects(renew(never), refused("lease is not renewable"));
  const { id: capped } = await issue(made, { ttl: HOUR });
  await pass(made, MINUTE);
  provider.renewal = { maxTtl: MINUTE };
  await assert.rejects(renew(capped), refused("maximum lifetime reached"));
  provider.renewal = new Failure("invalid", "role-gone", 'role "r" no longer exists');
  await assert.rejects(renew(capped), refused('role "r" no longer exists'));
  assert.ok(isThere(made, capped));
  provider.trouble = () => {
    throw new Failure("upstream", "down", "the provider is down");
  };
  const { id: over } = await issue(made, { ttl: SECOND });
  await pass(made, SECOND);
  await assert.rejects(renew(over), refused("lease expired"));
});

test("a lease that begins to be revoked while its engine renews it is not renewed", async () => {
  const made = await madeLeases();
  const { leases, provider } = made;
  const { id, name } = await issue(made, { ttl: MINUTE });
  const { promise, resolve } = Promise.withResolvers<void>();
  provider.trouble = () => promise;
  const signal = new AbortController().signal;
  const revoked = leases.revoking.revoke(ROOT_NAMESPACE, id, { sync: true, signal });
  await until(() => provider.running === 1);
  await assert.rejects(leases.renewing.renew(ROOT_NAMESPACE, id, null), refused("lease expired"));
  resolve();
  await revoked;
  assert.ok(!provider.alive.has(name) && !isThere(made, id));
});

test("counts are there at once after a restart", async () => {
  let made = await madeLeases();
  made.mounts.set("m2", providerMount(made.provider, "m2"));
  for (let i = 0; i < 5; i++) await issue(made);
  await issue(made, { mount: "m2" });
  assert.deepEqual([made.leases.countOf("m1"), made.leases.countOf("m2")], [5, 1]);
  made = await restarted(made);
  assert.deepEqual([made.leases.countOf("m1"), made.leases.countOf("m2")], [5, 1]);
  assert.deepEqual(made.leases.total, { leases: 6, irrevocable: 0 });
  const left: number[] = [];
  const { signal } = new AbortController();
  await made.leases.revokeMount("m1", signal, (count) => void left.push(count));
  assert.deepEqual(left, [0]);
  assert.deepEqual([made.leases.countOf("m1"), made.leases.countOf("m2")], [0, 1]);
});

test("lists show names one level down, in pages", async () => {
  const made = await madeLeases();
  const { leases } = made;
  for (const path of ["m1/creds/a", "m1/creds/b", "m1/sts/a"]) await issue(made, { path });
  assert.deepEqual(leases.list(ROOT_NAMESPACE, "", { limit: 9 }), ["m1/"]);
  assert.deepEqual(leases.list(ROOT_NAMESPACE, "m1", { limit: 9 }), ["creds/", "sts/"]);
  assert.deepEqual(leases.list(ROOT_NAMESPACE, "m1/creds", { limit: 1 }), ["a/"]);
  assert.deepEqual(leases.list(ROOT_NAMESPACE, "m1/creds", { limit: 9, after: "a/" }), ["b/"]);
  assert.deepEqual(leases.list(TEAM, "m1", { limit: 9 }), []);
});

test("only mounts can issue, and only for the caller's namespace", async () => {
  const made = await madeLeases();
  const context = contextFor(made, { namespace: TEAM });
  const offer = { secretType: "name", internal: { name: "x" } };
  const { leased } = await made.leases.issue(offer, context);
  assert.ok(leased.id.endsWith(".teamteam"));
  await assert.rejects(made.leases.issue(offer, { ...context, mount: null }));
});
