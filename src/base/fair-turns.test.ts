// Who has its turn when, by a clock that the work itself moves on.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { inSlices, type Turns, whoSends } from "@holdfast/shared/sliced";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { FairTurns } from "./fair-turns.ts";
import { Rotation } from "./rotation.ts";

function stage() {
  const clock = new FakeClock();
  let turns = 0;
  const turn = () => new Promise<void>((resolve) => setImmediate(() => (turns++, resolve())));
  return { clock, fair: new FairTurns({ clock, timers: { turn } }), turns: () => turns };
}

test("T-C03: the long work of a tenant, however much, is between no two stretches of another's but one", async () => {
  const { clock, fair } = stage();
  const order: string[] = [];
  const work = function* (name: string, steps: number) {
    for (let i = 0; i < steps; i++) {
      clock.pass(3n * MILLISECOND);
      order.push(name);
      yield;
    }
  };
  // Whoever waits for a request goes on some steps later, when others had their turn.
  const turns: Turns = {
    next: (whose) => fair.next(whose),
    step: async (whose, step) => {
      const done = await fair.step(whose, step);
      for (let i = 0; i < 20; i++) await Promise.resolve();
      return done;
    },
  };
  const run = (tenant: string, client: string, steps: number) =>
    inSlices(work(tenant, steps), { clock, turns, whose: { tenant, client } });
  const flood = Array.from({ length: 60 }, (_, i) => run("team", `client-${i}`, 8));
  order.length = 0; // the first stretch of each is done at once
  await run("root", "one", 5);
  const between = order.filter((name) => name === "team").length;
  assert.ok(between <= 6, `${between} stretches of the others before it was done`);
  await Promise.all(flood);
});

test("T-C03: a tenant is one, however many namespaces and tokens it has made below its own", () => {
  const remote = { address: "192.0.2.1" };
  const sent = (path: string, home: string | null) =>
    whoSends({
      namespace: { path },
      caller: home === null ? null : { namespace: { path: home } },
      remote,
    });
  assert.deepEqual(sent("evil/n1", "evil/n1"), sent("evil/n2/deep", "evil"));
  assert.deepEqual(sent("evil", null), { tenant: "evil", client: remote.address });
  assert.notEqual(sent("good", "").tenant, "good", "who comes from above has its own turns");
});

test("a turn of the event loop is given to some milliseconds of work, and to a few that do little", async () => {
  const { clock, fair, turns } = stage();
  const whose = { tenant: "", client: "" };
  const long = Array.from({ length: 10 }, () =>
    fair.next(whose).then(() => clock.pass(5n * MILLISECOND)),
  );
  await Promise.all(long);
  assert.equal(turns(), 10);
  await Promise.all(Array.from({ length: 32 }, () => fair.next(whose)));
  assert.equal(turns(), 12);
});

test("nobody waits while a turn of the event loop has time left; then everybody, those who wait first", async () => {
  const { clock, fair } = stage();
  const whose = { tenant: "", client: "" };
  assert.equal(fair.busy, false);
  clock.pass(14n * MILLISECOND);
  assert.equal(fair.busy, false);
  clock.pass(MILLISECOND);
  assert.equal(fair.busy, true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(fair.busy, false, "the next turn has its own time");
  const waits = fair.next(whose);
  assert.equal(fair.busy, true, "nobody passes by whoever waits");
  await waits;
});

test("a rotation gives everything once, in order for each client, and nobody two before another that waits", () => {
  const name = fc.constantFrom("a", "b", "c");
  const put = fc.record({ tenant: name, client: name });
  fc.assert(
    fc.property(fc.array(fc.oneof(put, fc.constant(null)), { maxLength: 60 }), (steps) => {
      const rotation = new Rotation<number>();
      const waiting: { readonly tenant: string; readonly client: string; readonly item: number }[] =
        [];
      let before = { tenant: "", others: new Set<string>() };
      for (const [item, whose] of [...steps, ...steps.map(() => null)].entries()) {
        if (whose !== null) {
          rotation.add(whose, item);
          waiting.push({ ...whose, item });
          continue;
        }
        const got = rotation.take();
        const at = waiting.findIndex((one) => one.item === got);
        if (got === undefined) {
          assert.equal(waiting.length, 0);
          continue;
        }
        const one = waiting[at]!;
        const own = waiting.find((w) => w.tenant === one.tenant && w.client === one.client);
        assert.equal(own?.item, got, "in order");
        waiting.splice(at, 1);
        if (before.tenant === one.tenant)
          assert.equal(before.others.size, 0, "another tenant waited");
        const others = new Set(waiting.map((w) => w.tenant));
        others.delete(one.tenant);
        before = { tenant: one.tenant, others };
      }
      assert.equal(rotation.size, waiting.length);
    }),
  );
});
