import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { RenewedMap } from "./renewed-map.ts";

test("it is a Map, however much comes and goes", () => {
  const key = fc.integer({ min: 0, max: 40 });
  const step = fc.oneof(
    fc.record({ do: fc.constant("set" as const), key, value: fc.integer() }),
    fc.record({ do: fc.constant("delete" as const), key }),
    fc.record({ do: fc.constant("clear" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 200, maxLength: 600 }), (steps) => {
      const renewed = new RenewedMap<number, number>();
      const model = new Map<number, number>();
      for (const it of steps) {
        if (it.do === "set") {
          renewed.set(it.key, it.value);
          model.set(it.key, it.value);
        } else if (it.do === "delete") {
          assert.equal(renewed.delete(it.key), model.delete(it.key));
        } else {
          renewed.clear();
          model.clear();
        }
        assert.equal(renewed.size, model.size);
      }
      assert.deepEqual([...renewed], [...model]); // in the order in which they came
      assert.deepEqual([...renewed.keys()], [...model.keys()]);
      assert.deepEqual([...renewed.values()], [...model.values()]);
      for (let at = 0; at <= 40; at++) {
        assert.equal(renewed.get(at), model.get(at));
        assert.equal(renewed.has(at), model.has(at));
      }
    }),
    { numRuns: 50 },
  );
});

test("whoever looks through it may delete what is found", () => {
  const renewed = new RenewedMap<number, string>();
  for (let i = 0; i < 500; i++) renewed.set(i, "x");
  for (const at of renewed.keys()) renewed.delete(at);
  assert.equal(renewed.size, 0);
});
