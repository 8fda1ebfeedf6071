import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULT_LOCKOUT } from "@holdfast/plugin-sdk/lockout";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import { refused } from "../../tests/support/made/made-tokens.ts";
import { Lockout } from "./lockout.ts";

const config = () => DEFAULT_LOCKOUT;

test("names are remembered up to a bound, the ones used last", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config, maxNames: 10 });
  for (let i = 0; i < 100; i += 1) await lockout.attempt(OWN_WORK, `name-${i}`, async () => null);
  assert.equal(lockout.size, 10);
});

test("those that are locked now are counted, however their locks end", async () => {
  const clock = new FakeClock();
  const lockout = new Lockout({
    clock,
    config: () => ({ ...DEFAULT_LOCKOUT, threshold: 1 }),
    maxNames: 10,
  });
  const fail = (name: string) => lockout.attempt(OWN_WORK, name, async () => null);
  for (const name of ["ada", "bob"]) await fail(name);
  assert.equal(lockout.locked, 2);
  lockout.forget("ada");
  assert.equal(lockout.locked, 1);
  clock.pass(DEFAULT_LOCKOUT.duration / 2n);
  await fail("eve");
  clock.pass(DEFAULT_LOCKOUT.duration / 2n);
  assert.equal(lockout.locked, 1, "his time is over, and nobody has tried since");
  for (let i = 0; i < 100; i += 1) await fail(`name-${i}`);
  assert.equal(lockout.locked, 10);
  clock.pass(DEFAULT_LOCKOUT.duration);
  assert.equal(lockout.locked, 0);
});

test("who gets in leaves nothing behind", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config });
  await lockout.attempt(OWN_WORK, "ada", async () => null);
  await lockout.attempt(OWN_WORK, "ada", async () => "in");
  assert.equal(lockout.size, 0);
});

test("a fault of ours is no failure of theirs", async () => {
  const lockout = new Lockout({ clock: new FakeClock(), config });
  for (let i = 0; i < 9; i += 1) {
    await assert.rejects(
      lockout.attempt(OWN_WORK, "ada", () => Promise.reject(new Error("storage"))),
      /storage/,
    );
  }
  assert.equal(await lockout.attempt(OWN_WORK, "ada", async () => "in"), "in");
});

/** One runs, as many as may with this threshold, until it is let go. */
function held(threshold = 1) {
  const lockout = new Lockout({
    clock: new FakeClock(),
    config: () => ({ ...DEFAULT_LOCKOUT, threshold }),
  });
  const { promise, resolve: end } = Promise.withResolvers<string | null>();
  const first = lockout.attempt(OWN_WORK, "ada", () => promise);
  return { lockout, first, end };
}

test("T-B05: who waits behind others is looked at when its turn comes, and hands on what it may not use", async () => {
  const { lockout, first, end } = held();
  const revoked: Waiting = {
    waitFor: (turn) => turn.then(() => Promise.reject(new Error("not any more"))),
  };
  const seen = assert.rejects(
    lockout.attempt(revoked, "ada", () => assert.fail("it ran")),
    /not any more/,
  );
  const order: number[] = [];
  const all = [1, 2, 3].map((i) =>
    lockout.attempt(OWN_WORK, "ada", async () => (order.push(i), "in")),
  );
  end("in");
  await Promise.all([first, seen, ...all]);
  assert.deepEqual(order, [1, 2, 3]);
  assert.equal(lockout.size, 0);
});

test("who leaves the line before its turn takes no place there", async () => {
  const { lockout, first, end } = held();
  const leaves: Waiting = { waitFor: () => Promise.reject(new Error("sealed")) };
  const never = () => assert.fail("it ran");
  for (let i = 0; i < 100; i += 1) {
    await assert.rejects(lockout.attempt(leaves, "ada", never), /sealed/);
  }
  const wait = () => lockout.attempt(OWN_WORK, "ada", async () => "in");
  const all = Array.from({ length: 64 }, wait);
  await assert.rejects(wait(), refused(/too many logins at once/, "unavailable"));
  end("in");
  await Promise.all([first, ...all]);
  assert.equal(lockout.size, 0);
});

test("of those that wait no more run than may fail, and a lock refuses the rest at once", async () => {
  const { lockout, first, end } = held(3);
  let ran = 0;
  const all = Array.from({ length: 20 }, () =>
    lockout.attempt(OWN_WORK, "ada", async () => {
      ran += 1;
      return null;
    }),
  );
  const results = await Promise.allSettled([...all.slice(0, 2), Promise.resolve(end(null)), first]);
  assert.ok(results.every(({ status }) => status === "fulfilled"));
  for (const one of all.slice(2))
    await assert.rejects(one, refused(/too many failed logins/, "denied"));
  assert.equal(ran, 2);
});
