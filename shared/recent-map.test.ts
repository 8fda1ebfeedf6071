import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { RecentMap } from "./recent-map.ts";

test("a use makes an entry young, a look does not", () => {
  const map = new RecentMap<string, number>();
  for (const [i, key] of ["a", "b", "c"].entries()) map.set(key, i);
  assert.equal(map.get("a"), 0);
  assert.equal(map.peek("b"), 1);
  assert.deepEqual(map.oldest?.key, "b");
  assert.deepEqual(
    [...map].map(([key]) => key),
    ["b", "c", "a"],
  );
});

test("it does what a Map with entries set again on each use does", () => {
  const key = fc.integer({ min: 0, max: 9 });
  const step = fc.oneof(
    fc.record({ do: fc.constant("get" as const), key }),
    fc.record({ do: fc.constant("set" as const), key, value: fc.integer() }),
    fc.record({ do: fc.constant("delete" as const), key }),
    fc.record({ do: fc.constant("clear" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new RecentMap<number, number>();
      const model = new Map<number, number>();
      const touch = (at: number, value: number) => {
        model.delete(at);
        model.set(at, value);
      };
      for (const taken of steps) {
        switch (taken.do) {
          case "get": {
            const known = model.get(taken.key);
            if (known !== undefined) touch(taken.key, known);
            assert.equal(map.get(taken.key), known);
            break;
          }
          case "set":
            touch(taken.key, taken.value);
            map.set(taken.key, taken.value);
            break;
          case "delete":
            assert.equal(map.delete(taken.key), model.delete(taken.key));
            break;
          case "clear":
            model.clear();
            map.clear();
            break;
        }
        assert.deepEqual([...map], [...model]);
        assert.equal(map.size, model.size);
        assert.equal(map.oldest?.key, [...model.keys()][0]);
      }
    }),
  );
});

test("the entry that is being looked at may be deleted", () => {
  const map = new RecentMap<number, number>();
  for (let i = 0; i < 10; i++) map.set(i, i);
  for (const [key] of map) map.delete(key);
  assert.equal(map.size, 0);
});
