// Who is woken and who is not: against a naive list, and in the awkward moments.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type Change, Watchers } from "./watch.ts";

function watchers(): { watch: Watchers; errors: unknown[] } {
  const errors: unknown[] = [];
  return { watch: new Watchers((error) => errors.push(error)), errors };
}

test("a watch on a key, a folder or everything hears of exactly what changes there", () => {
  const segment = fc.constantFrom("a", "b", "ab", "");
  const place = fc.oneof(
    fc.constant(""),
    fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/")),
  );
  const key = fc
    .array(fc.constantFrom("a", "b", "ab"), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("/"));
  const keys = fc.uniqueArray(key, { maxLength: 6 });
  fc.assert(
    fc.property(fc.array(place, { maxLength: 6 }), keys, fc.nat(), (places, changed, ending) => {
      const { watch } = watchers();
      const heard = places.map(() => [] as Change[]);
      for (const [i, each] of places.entries())
        watch.onKeys(each, (change) => heard[i]!.push(change));
      // Another one of the same place, or of one as long, comes and goes.
      const other = places[ending % (places.length + 1)] ?? "zz";
      const ends = [other, "z".repeat(other.length)].map((each) =>
        watch.onKeys(each, () => assert.fail("it has ended")),
      );
      for (const end of ends) end();
      watch.publish(7n, changed);
      for (const [i, each] of places.entries()) {
        const below = each === "" || each.endsWith("/");
        const expected = changed.filter((k) => (below ? k.startsWith(each) : k === each));
        const calls = expected.length === 0 ? [] : [{ index: 7n, keys: expected }];
        assert.deepEqual(heard[i], calls, each);
      }
    }),
    { numRuns: 1000 },
  );
});

test("index waiters are called once, when their index is reached, like in a naive list", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("wait" as const), min: fc.bigInt({ min: 0n, max: 50n }) }),
    fc.record({ kind: fc.constant("cancel" as const), pick: fc.nat() }),
    fc.record({ kind: fc.constant("publish" as const), index: fc.bigInt({ min: 0n, max: 50n }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const { watch } = watchers();
      const called: number[] = [];
      const expected: number[] = [];
      const cancels: (() => void)[] = [];
      let naive: { id: number; min: bigint }[] = [];
      for (const each of steps) {
        if (each.kind === "wait") {
          const id = cancels.length;
          cancels.push(watch.onIndex(each.min, () => called.push(id)));
          naive.push({ id, min: each.min });
        } else if (each.kind === "cancel" && cancels.length > 0) {
          const id = each.pick % cancels.length;
          cancels[id]!();
          naive = naive.filter((waiter) => waiter.id !== id);
        } else if (each.kind === "publish") {
          const woken = naive.filter(({ min }) => min <= each.index);
          expected.push(...woken.map(({ id }) => id));
          naive = naive.filter(({ min }) => min > each.index);
          watch.publish(each.index, []);
        }
        assert.equal(watch.parked, naive.length);
        assert.deepEqual(new Set(called), new Set(expected));
        assert.equal(called.length, expected.length, "each of them once");
      }
    }),
    { numRuns: 300 },
  );
});

test("waiters for lower indexes are called first", () => {
  const { watch } = watchers();
  const order: bigint[] = [];
  for (const min of [5n, 1n, 9n, 3n]) watch.onIndex(min, () => order.push(min));
  watch.publish(6n, []);
  assert.deepEqual(order, [1n, 3n, 5n]);
});

test("giving up thousands of waits leaves nothing parked and wakes the others", () => {
  const { watch } = watchers();
  let woken = 0;
  const cancels = Array.from({ length: 5000 }, (_, i) =>
    watch.onIndex(BigInt(5000 - i), () => void woken++),
  );
  for (const [i, cancel] of cancels.entries()) if (i % 5 !== 0) cancel();
  for (const [i, cancel] of cancels.entries()) if (i % 5 !== 0) cancel(); // twice does nothing
  assert.equal(watch.parked, 1000);
  watch.publish(5000n, []);
  assert.equal(woken, 1000);
  assert.equal(watch.parked, 0);
});

test("ten thousand parked watches cost a publish elsewhere no call at all", () => {
  const { watch } = watchers();
  let calls = 0;
  for (let i = 0; i < 10_000; i++) {
    watch.onKeys(`shared/parked/${i}/`, () => void calls++);
    watch.onIndex(1_000_000n + BigInt(i), () => void calls++);
  }
  const busy = Array.from({ length: 100 }, (_, i) => `shared/busy/${i}`);
  watch.publish(5n, busy);
  assert.equal(calls, 0);
  assert.equal(watch.parked, 20_000);
  watch.publish(6n, ["shared/parked/77/x"]);
  assert.equal(calls, 1);
});

test("a watch that ends itself is not called again, and its neighbours are", () => {
  const { watch } = watchers();
  const heard: string[] = [];
  const end = watch.onKeys("a/", () => {
    heard.push("once");
    end();
  });
  watch.onKeys("a/", () => heard.push("always"));
  watch.publish(1n, ["a/x"]);
  watch.publish(2n, ["a/x"]);
  assert.deepEqual(heard, ["once", "always", "always"]);
  assert.equal(watch.parked, 1);
});

test("a call may end a watch and a wait that are still to come: neither is called", () => {
  const { watch } = watchers();
  const heard: string[] = [];
  const ends: (() => void)[] = [];
  watch.onKeys("a/", () => {
    heard.push("first");
    for (const end of ends) end();
  });
  ends.push(watch.onKeys("a/", () => heard.push("second")));
  ends.push(watch.onKeys("a/x", () => heard.push("third")));
  ends.push(watch.onIndex(1n, () => heard.push("index")));
  watch.publish(1n, ["a/x"]);
  assert.deepEqual(heard, ["first"]);
  assert.equal(watch.parked, 1);

  const waits: (() => void)[] = [];
  watch.onIndex(2n, () => waits[0]!());
  waits.push(watch.onIndex(3n, () => heard.push("given up by the one before")));
  watch.publish(3n, []);
  assert.deepEqual(heard, ["first"]);
  assert.equal(watch.parked, 1);
});

test("a watch that a call begins hears only of later changes", () => {
  const { watch } = watchers();
  const heard: bigint[] = [];
  let begun = false;
  watch.onKeys("a/", () => {
    if (begun) return;
    begun = true;
    watch.onKeys("a/", ({ index }) => heard.push(index));
    watch.onKeys("a/x", ({ index }) => heard.push(index));
  });
  watch.onKeys("a/x", () => {}); // so that this place is being published already
  watch.publish(1n, ["a/x"]);
  assert.deepEqual(heard, []);
  watch.publish(2n, ["a/x"]);
  assert.deepEqual(heard, [2n, 2n]);
});

test("a call that throws is reported and keeps nobody else asleep", () => {
  const { watch, errors } = watchers();
  const woken: string[] = [];
  const broken = new Error("a watcher's own");
  watch.onKeys("a", () => {
    throw broken;
  });
  watch.onKeys("a", () => woken.push("key"));
  watch.onIndex(1n, () => {
    throw broken;
  });
  watch.onIndex(1n, () => woken.push("index"));
  watch.publish(1n, ["a"]);
  assert.deepEqual(woken, ["key", "index"]);
  assert.deepEqual(errors, [broken, broken]);
});

test("one call per place and commit, with all its keys", () => {
  const { watch } = watchers();
  const heard: (readonly string[])[] = [];
  watch.onKeys("a/", ({ keys }) => heard.push(keys));
  watch.publish(1n, ["a/x", "b", "a/y"]);
  assert.deepEqual(heard, [["a/x", "a/y"]]);
});
