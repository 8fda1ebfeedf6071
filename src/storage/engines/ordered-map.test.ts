// The ordered map against a naive model: a Map that is sorted whenever somebody looks.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Range } from "./engine.ts";
import { compareKeys } from "../key.ts";
import { OrderedMap } from "./ordered-map.ts";

const ALL: Range = { from: "", to: null, limit: Infinity };

// Few enough that they meet again, enough that chunks split and join.
const wide = fc.nat({ max: 600 }).map((n) => `k/${n.toString(36)}`);
const odd = fc.constantFrom("", "k", "k/", "k/\u{1f600}", "k/\uff61", "k/\ue000", "l");
const key = fc.oneof({ weight: 9, arbitrary: wide }, { weight: 1, arbitrary: odd });
const keys = fc.array(key, { minLength: 1, maxLength: 300, size: "max" });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("set" as const), keys }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("delete" as const), keys }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("copy" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
);
const range = fc.record({
  from: fc.oneof(key, fc.constant("")),
  to: fc.option(key),
  limit: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constant(Infinity)),
  reverse: fc.boolean(),
});

function expected(model: ReadonlyMap<string, number>, range: Range): [string, number][] {
  const { from, to, limit, reverse = false } = range;
  return [...model]
    .filter(([key]) => compareKeys(key, from) >= 0 && (to === null || compareKeys(key, to) < 0))
    .toSorted(([a], [b]) => (reverse ? compareKeys(b, a) : compareKeys(a, b)))
    .slice(0, limit);
}

describe("OrderedMap", () => {
  test("any sequence of changes gives what a sorted Map gives, in copies taken on the way too", () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.array(range, { minLength: 1, maxLength: 10 }),
        (steps, ranges) => {
          let value = 0;
          let map = new OrderedMap<number>();
          let model = new Map<string, number>();
          const others: [OrderedMap<number>, Map<string, number>][] = [];
          for (const each of steps) {
            if (each.kind === "set") {
              for (const key of each.keys) {
                map.set(key, ++value);
                model.set(key, value);
              }
            } else if (each.kind === "delete") {
              for (const key of each.keys) assert.equal(map.delete(key), model.delete(key));
            } else if (each.kind === "copy") {
              // The copy goes on and the original rests, or the other way round.
              const twin: [OrderedMap<number>, Map<string, number>] = [map.copy(), new Map(model)];
              others.push(value % 2 === 0 ? twin : [map, model]);
              if (value % 2 !== 0) [map, model] = twin;
            } else {
              map.clear();
              model.clear();
            }
            assert.equal(map.size, model.size);
          }
          for (const [map_, model_] of [...others, [map, model] as const]) {
            assert.equal(map_.size, model_.size);
            assert.deepEqual(map_.entries(ALL), expected(model_, ALL));
            for (const [key, found] of model_) assert.equal(map_.get(key), found);
            for (const each of ranges) assert.deepEqual(map_.entries(each), expected(model_, each));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test("an absent key is undefined, and deleting it says so", () => {
    const map = new OrderedMap<number>();
    assert.equal(map.get("a"), undefined);
    assert.equal(map.delete("a"), false);
    map.set("b", 1);
    assert.equal(map.get("a"), undefined);
    assert.equal(map.get("c"), undefined);
    assert.equal(map.delete("a"), false);
    assert.deepEqual(map.entries(ALL), [["b", 1]]);
  });

  test("a hundred thousand keys go in and out in any order", () => {
    const map = new OrderedMap<number>();
    const count = 100_000;
    const keyOf = (n: number) => `shared/${((n * 7919) % count).toString().padStart(6, "0")}`;
    for (let n = 0; n < count; n++) map.set(keyOf(n), n);
    assert.equal(map.size, count);
    const entries = map.entries(ALL);
    assert.ok(entries.every(([key], at) => key === `shared/${at.toString().padStart(6, "0")}`));
    for (let n = 0; n < count; n++) assert.equal(map.delete(keyOf(n)), true);
    assert.equal(map.size, 0);
    assert.deepEqual(map.entries(ALL), []);
  });
});
