import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { ThrottledFailure } from "@holdfast/plugin-sdk/failure";
import {
  HOUR,
  isThere,
  issue,
  madeLeases,
  now as atOnce,
  OWNER,
  pass,
  queue,
  refused,
  restarted,
  SECOND,
  TEAM,
} from "../../../tests/support/made/made-leases.ts";
import { until } from "../../../tests/support/until.ts";
import { closeRoom, openRoom } from "../../../tests/support/jobs.ts";

const { signal } = new AbortController();

function refuse(...names: readonly string[]) {
  return (name: string) => {
    if (names.includes(name)) throw new Failure("upstream", "down", `cannot remove ${name}`);
  };
}

test("a queued revocation ends the lease at once and its secret soon; with sync both are over", async () => {
  const made = await madeLeases();
  const { revoking } = made.leases;
  const { id, name } = await issue(made);
  await revoking.revoke(ROOT_NAMESPACE, id, queue);
  assert.ok(
    !isThere(made, id) || made.leases.lookup(ROOT_NAMESPACE, id).expires <= made.leases.now(),
  );
  await until(() => !isThere(made, id));
  assert.ok(!made.provider.alive.has(name));
  const second = await issue(made);
  await revoking.revoke(ROOT_NAMESPACE, second.id, atOnce);
  assert.ok(!made.provider.alive.has(second.name) && !isThere(made, second.id));
});

test("what is not there is revoked already", async () => {
  const made = await madeLeases();
  const { revoking } = made.leases;
  for (const id of ["m1/creds/r/000000000000000000000000", "anything", "a//b", "/", "\u0000"]) {
    for (const how of [queue, atOnce])
      assert.equal(await revoking.revoke(ROOT_NAMESPACE, id, how), false);
  }
  for (const how of [queue, atOnce])
    assert.equal(await revoking.revokePrefix(ROOT_NAMESPACE, "m9/x", how), false);
  assert.equal(await revoking.revokeForce(ROOT_NAMESPACE, "m9", signal), null);
  assert.deepEqual(made.provider.requests, []);
});

test("a revocation that is waited for and fails says why; it is tried again by itself", async () => {
  const made = await madeLeases();
  const { id, name } = await issue(made);
  made.provider.trouble = refuse(name);
  await assert.rejects(made.leases.revoking.revoke(ROOT_NAMESPACE, id, atOnce), (error) => {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, "upstream");
    assert.match(error.message, new RegExp(`will be tried again: cannot remove ${name}$`));
    return true;
  });
  assert.ok(isThere(made, id));
  made.provider.trouble = () => {};
  await pass(made, 30n * SECOND);
  await until(() => !isThere(made, id));
});

test("many who ask for the end of one lease share one revocation", async () => {
  const made = await madeLeases();
  const held = Promise.withResolvers<void>();
  made.provider.trouble = () => held.promise;
  const { id } = await issue(made);
  const all = Array.from({ length: 20 }, () =>
    made.leases.revoking.revoke(ROOT_NAMESPACE, id, atOnce),
  );
  await until(() => made.provider.running === 1);
  held.resolve();
  await Promise.all(all);
  assert.equal(made.provider.requests.length, 1);
});

test("a prefix means whole parts of the path; the id of a lease means that lease", async () => {
  const made = await madeLeases();
  const { revoking } = made.leases;
  const a = await issue(made, { path: "m1/creds/a" });
  const ab = await issue(made, { path: "m1/creds/ab" });
  const again = await issue(made, { path: "m1/creds/a" });
  await revoking.revokePrefix(ROOT_NAMESPACE, "m1/cre", atOnce);
  assert.equal(made.leases.total.leases, 3);
  await revoking.revokePrefix(ROOT_NAMESPACE, a.id, atOnce);
  assert.ok(!isThere(made, a.id) && isThere(made, again.id));
  await revoking.revokePrefix(ROOT_NAMESPACE, "m1/creds/a", atOnce);
  assert.ok(!isThere(made, again.id) && isThere(made, ab.id));
});

test("a queued prefix reaches what was there, also after a crash, and nothing that came later", async () => {
  const before = await madeLeases();
  for (let i = 0; i < 40; i++) await issue(before, { path: `m1/creds/r${i}` });
  const other = await issue(before, { path: "m1/sts/r" });
  await closeRoom(before.leases); // nothing is begun before the crash
  await before.leases.revoking.revokePrefix(ROOT_NAMESPACE, "m1/creds", queue);
  before.world.clock.pass(SECOND);
  const later = await issue(before, { path: "m1/creds/r1" });
  const made = await restarted(before);
  await pass(made, 100_000_000n, 10_000_000n);
  await until(() => made.leases.total.leases === 2);
  assert.ok(isThere(made, other.id) && isThere(made, later.id));
});

test("T-J03: a prefix of secrets reaches nothing but leases", async () => {
  const made = await madeLeases();
  const local = made.barrier.view("local/");
  const keys = ["ns/root/tokens/by-accessor/x", "tokens/by-hash/y", "ns/root/cubbyhole/z/k"];
  await local.write((tx) => {
    for (const key of keys) tx.put(key, new Uint8Array(1), bytesCodec);
  });
  await issue(made);
  for (const prefix of ["m1", "tokens", "ns", "ns/root", "auth/token", "records"]) {
    await made.leases.revoking.revokeForce(ROOT_NAMESPACE, prefix, signal);
  }
  assert.equal(made.leases.total.leases, 0);
  for (const key of keys) assert.ok(local.get(key, bytesCodec) !== null, key);
});

test("a prefix that is waited for stops at a failure and says how far it got", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 10; i++) await issue(made, { name: `s${i}`, path: `m1/creds/r${i}` });
  made.provider.trouble = refuse("s4");
  const revoked = made.leases.revoking.revokePrefix(ROOT_NAMESPACE, "m1", atOnce);
  await assert.rejects(
    revoked,
    refused(/^stopped after 9 revoked leases: m1\/creds\/r4\/[^:]+: cannot remove s4$/),
  );
  assert.equal(made.leases.total.leases, 1);
});

test("force forgets a lease whatever its engine says, with a warning for each secret that may remain", async () => {
  const made = await madeLeases();
  const bad = await issue(made, { name: "bad" });
  await issue(made, { name: "good" });
  made.provider.trouble = refuse("bad");
  const warnings = await made.leases.revoking.revokeForce(ROOT_NAMESPACE, "m1", signal);
  assert.deepEqual(warnings, [`${bad.id}: cannot remove bad; what it stands for may remain`]);
  assert.deepEqual(made.leases.total, { leases: 0, irrevocable: 0 });
  assert.deepEqual([...made.provider.alive], ["bad"]);
  assert.deepEqual(made.results.toSorted(), ["failed", "forced", "ok"]);
  assert.ok(made.world.lines.some((line) => /given up by force/.test(line)));
  // Also where there is no engine any more.
  await issue(made, { name: "lost" });
  made.mounts.clear();
  assert.equal((await made.leases.revoking.revokeForce(ROOT_NAMESPACE, "m1", signal))?.length, 1);
  assert.equal(made.leases.total.leases, 0);
});

test("a mount's leases go before their time; one that cannot stops it, and it can be gone on with", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 150; i++)
    await issue(made, { name: `s${i}`, ttl: HOUR + BigInt(i) * SECOND });
  made.provider.trouble = refuse("s100");
  const left: number[] = [];
  const revoke = async () => {
    const revoked = made.leases.revokeMount("m1", signal, (count) => void left.push(count));
    const over = revoked.then(
      () => {},
      () => {},
    );
    let done = false;
    void over.then(() => (done = true));
    for (let i = 0; i < 200 && !done; i++) await pass(made, 10_000_000n);
    return revoked;
  };
  await assert.rejects(revoke(), refused(/: cannot remove s100$/));
  assert.ok(isThere(made, [...(await ids(made))][0] ?? ""));
  made.provider.trouble = () => {};
  await revoke();
  assert.equal(left.at(-1), 0);
  assert.equal(made.leases.countOf("m1"), 0);
  assert.equal(made.provider.alive.size, 0);
});

test("a mount that is gone on with before this room is open waits for it, and is never taken for empty", async () => {
  const before = await madeLeases();
  for (let i = 0; i < 3; i++) await issue(before);
  const made = await restarted(before, { open: false });
  assert.equal(made.leases.countOf("m1"), 3);
  const revoked = made.leases.revokeMount("m1", signal, () => {});
  const wiped = made.leases.wipe("root");
  await pass(made, SECOND);
  assert.equal(made.provider.alive.size, 3);
  openRoom(made.leases);
  await revoked;
  await wiped;
  assert.equal(made.provider.alive.size, 0);
  // And whoever asks while it is closed is not kept waiting for ever.
  await closeRoom(made.leases);
  await assert.rejects(made.leases.wipe("root"));
  const gone = new AbortController();
  const waits = made.leases.revokeMount("m1", gone.signal, () => {});
  gone.abort();
  await assert.rejects(waits);
});

test("a provider that throttles makes the end of a mount's leases wait, not fail", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 4; i++) await issue(made);
  let throttled = 0;
  made.provider.trouble = () => {
    if (throttled++ < 2) throw new ThrottledFailure("slow down", 5);
  };
  const revoked = made.leases.revokeMount("m1", signal, () => {});
  await pass(made, 12n * SECOND, SECOND);
  await revoked;
  assert.equal(made.leases.countOf("m1"), 0);
});

test("whoever gives up waiting is let go; what has begun goes on", async () => {
  const made = await madeLeases();
  const held = Promise.withResolvers<void>();
  made.provider.trouble = () => held.promise;
  const { id } = await issue(made);
  const gone = new AbortController();
  const revoked = made.leases.revoking.revoke(ROOT_NAMESPACE, id, {
    sync: true,
    signal: gone.signal,
  });
  await until(() => made.provider.running === 1);
  gone.abort();
  await assert.rejects(revoked, refused("request timed out"));
  held.resolve();
  await until(() => !isThere(made, id));
});

test("T-D03: a namespace is not rid of its leases before each is revoked outside", async () => {
  const made = await madeLeases();
  for (let i = 0; i < 100; i++) await issue(made, { name: `t${i}`, namespace: TEAM });
  await issue(made, { name: "root" });
  made.provider.trouble = refuse("t50");
  const wipe = async () => {
    const wiped = made.leases.wipe(TEAM.id);
    void pass(made, SECOND, 10_000_000n);
    return wiped;
  };
  await assert.rejects(
    (async () => {
      while (!(await wipe()));
    })(),
    refused(/cannot remove t50/),
  );
  assert.ok(made.provider.alive.has("t50"));
  made.provider.trouble = () => {};
  while (!(await wipe()));
  assert.deepEqual([...made.provider.alive], ["root"]);
  assert.equal(made.leases.total.leases, 1);
});

test("tidying queues leases whose owner is gone and drops rows that nothing stands behind", async () => {
  const made = await madeLeases();
  const local = made.barrier.view("local/");
  const kept = await issue(made, { accessor: "b0000000-0000-4000-8000-000000000002" });
  const orphan = await issue(made);
  made.goneOwners.add(OWNER.accessor);
  const stray = [
    "leases/by-time/m1/09999999999999999999/root/m1/creds/r/nothing",
    "leases/by-owner/root/gone/root/m1/creds/r/nothing",
    "leases/irrevocable/root/m1/m1/creds/r/nothing",
  ];
  const [time] = local.keys("leases/by-time/m1/", { limit: 1 });
  assert.ok(time !== undefined);
  await local.write((tx) => {
    for (const key of stray) tx.put(key, new Uint8Array(0), bytesCodec);
    for (const key of tx.keys("leases/by-time/", { limit: 9 })) {
      if (key.endsWith(kept.id)) tx.delete(key);
    }
  });
  const { tidying } = made.leases;
  assert.equal(tidying.start(TEAM), true);
  await tidying.settled();
  assert.ok(isThere(made, orphan.id), "it is no lease of that namespace");
  assert.equal(tidying.start(ROOT_NAMESPACE), true);
  assert.equal(tidying.start(ROOT_NAMESPACE), false);
  await tidying.settled();
  await until(() => !isThere(made, orphan.id));
  assert.ok(isThere(made, kept.id));
  for (const key of stray) assert.equal(local.get(key, bytesCodec), null, key);
  await pass(made, HOUR);
  await until(() => !isThere(made, kept.id)); // it is in the order of time again
  assert.ok(made.world.lines.some((line) => /leases are tidied.*mended=5/.test(line)));
});

async function ids(made: Awaited<ReturnType<typeof madeLeases>>): Promise<string[]> {
  const tails = made.leases.list(ROOT_NAMESPACE, "m1/creds/r", { limit: 1000 });
  return tails.map((tail) => `m1/creds/r/${tail}`);
}
