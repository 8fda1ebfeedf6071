import assert from "node:assert/strict";
import test from "node:test";
import { makeLog } from "@holdfast/shared/log";
import { SystemClock } from "../../system/clock.ts";
import { Changes } from "./changes.ts";

const CHANGING = /changes at this moment/;

function changes(seal: () => void = () => assert.fail("nothing is half done")): Changes {
  const log = makeLog({
    level: "error",
    format: "standard",
    write: () => {},
    clock: new SystemClock(),
  });
  return new Changes(log, seal);
}

test("what a cluster changes by itself is waited for by an operator's change, and everything is served meanwhile", async () => {
  const both = changes();
  const order: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const own = both.own(async () => {
    await promise;
    order.push("own");
  });
  assert.equal(both.isRunning, false);
  const alone = both.alone(async () => {
    order.push("alone");
    await Promise.resolve();
    return both.isRunning;
  });
  await assert.rejects(
    both.own(async () => {}),
    CHANGING,
  );
  resolve();
  await own;
  assert.equal(await alone, true);
  assert.deepEqual(order, ["own", "alone"]);
});

test("one of its own in which nothing is served is waited for as well", async () => {
  const both = changes();
  const { promise, resolve } = Promise.withResolvers<void>();
  const own = both.own(() => promise, { isShut: true });
  assert.equal(both.isRunning, true);
  const alone = both.alone(async () => "done");
  resolve();
  await own;
  assert.equal(await alone, "done");
  assert.equal(both.isRunning, false);
  await assert.rejects(
    both.own(() => Promise.reject(new Error("no")), { isShut: true }),
    /no/,
  );
  assert.equal(both.isRunning, false);
});

test("an operator's change is waited for by nobody: the next is refused, whoever begins it", async () => {
  const both = changes();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = both.alone(() => promise);
  for (const second of [() => both.alone(async () => {}), () => both.own(async () => {})]) {
    await assert.rejects(second, CHANGING);
  }
  resolve();
  await first;
  await both.alone(async () => {});
});

test("who rests waits for both kinds, and none begins afterwards; one that fails holds nobody up", async () => {
  const both = changes();
  const { promise, reject } = Promise.withResolvers<void>();
  const own = both.own(() => promise);
  let isClosed = false;
  const closed = both.close().then(() => (isClosed = true));
  await Promise.resolve();
  assert.equal(isClosed, false);
  reject(new Error("it did not go"));
  await assert.rejects(own, /did not go/);
  await closed;
  await assert.rejects(
    both.own(async () => {}),
    CHANGING,
  );
  both.open();
  await both.own(async () => {});
  await both.alone(async () => {});
});

test("beside the last one, with which other data comes, no other begins; it begins beside none, and is not waited for", async () => {
  const all = changes();
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = all.alone(() => promise);
  await assert.rejects(
    all.last(async () => {}),
    CHANGING,
  );
  resolve();
  await first;
  await all.last(async () => {
    await assert.rejects(
      all.alone(async () => {}),
      CHANGING,
    );
    await assert.rejects(
      all.own(async () => {}),
      CHANGING,
    );
    await all.close();
    all.open();
  });
  assert.equal(
    await all.alone(async () => "where it has failed, others begin"),
    "where it has failed, others begin",
  );
});

test("a change that ends in its middle seals the cluster, and whoever began it hears why; one that goes through does not", async () => {
  let seals = 0;
  const all = changes(() => void seals++);
  assert.equal(await all.orSeal(async () => "done"), "done");
  assert.equal(seals, 0);
  await assert.rejects(
    all.orSeal(() => Promise.reject(new Error("the disk is full"))),
    /the disk is full/,
  );
  assert.equal(seals, 1);
});

test("whoever rests waits for the change that is under way, and none begins after it, whatever that has opened", async () => {
  const begins = {
    alone: (both: Changes, work: () => Promise<void>) => both.alone(work),
    own: (both: Changes, work: () => Promise<void>) => both.own(work),
  };
  for (const begin of Object.values(begins)) {
    const both = changes();
    const { promise, resolve } = Promise.withResolvers<void>();
    const changed = begin(both, async () => {
      await promise;
      both.open(); // as a promotion does of both kinds
    });
    const rested = both.close();
    resolve();
    await Promise.all([changed, rested]);
    await assert.rejects(
      both.own(async () => {}),
      CHANGING,
    );
    both.open();
    await both.own(async () => {});
  }
});
