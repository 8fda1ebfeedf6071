// The cache of decrypted entries: bounded by bytes, oldest out first, wiped as they leave.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { EntryCache } from "./cache.ts";

const value = (length: number, fill = 1) => new Uint8Array(length).fill(fill);

test("what was put is found until it is dropped", () => {
  const cache = new EntryCache(40_000);
  const one = value(5);
  cache.put("a", one);
  assert.equal(cache.get("a"), one);
  assert.equal(cache.get("b"), undefined);
  cache.drop("a");
  cache.drop("a");
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.bytes, 0);
});

test("its size never passes the limit and is that of what it holds", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("put" as const), key: fc.nat(30), size: fc.nat(600) }),
    fc.record({ kind: fc.constant("drop" as const), key: fc.nat(30) }),
    fc.record({ kind: fc.constant("get" as const), key: fc.nat(30) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const cache = new EntryCache(12_000);
      const model = new Map<string, Uint8Array>();
      const cost = (path: string, held: Uint8Array) => path.length + held.length + 1024;
      for (const each of steps) {
        const path = `k${each.key}`;
        if (each.kind === "put") {
          const held = value(each.size);
          cache.put(path, held);
          model.delete(path);
          if (cost(path, held) <= 1500) model.set(path, held);
          const size = () => [...model].reduce((sum, [p, v]) => sum + cost(p, v), 0);
          while (size() > 12_000) model.delete([...model.keys()][0]!);
        } else if (each.kind === "drop") {
          cache.drop(path);
          model.delete(path);
        } else {
          const held = model.get(path);
          assert.equal(cache.get(path), held);
          if (held !== undefined) {
            model.delete(path);
            model.set(path, held);
          }
        }
        assert.equal(
          cache.bytes,
          [...model].reduce((sum, [p, v]) => sum + cost(p, v), 0),
        );
        assert.ok(cache.bytes <= 12_000);
      }
      for (const [path, held] of model) assert.equal(cache.get(path), held);
    }),
    { numRuns: 200 },
  );
});

test("one large entry is not kept, nor what was there under its name", () => {
  const cache = new EntryCache(16_000);
  cache.put("a", value(10));
  cache.put("b", value(10));
  cache.put("a", value(2000));
  assert.equal(cache.get("a"), undefined);
  assert.ok(cache.get("b"));
});

test("a cache of no bytes keeps nothing", () => {
  const cache = new EntryCache(0);
  cache.put("a", value(0));
  assert.equal(cache.get("a"), undefined);
  assert.equal(cache.bytes, 0);
});

test("whatever leaves it is wiped: dropped, replaced, pushed out, too large, and all at sealing", () => {
  const cache = new EntryCache(16_000);
  const zero = (held: Uint8Array) => held.every((byte) => byte === 0);
  const [dropped, replaced, large, kept] = [value(9), value(9), value(2000), value(9)];
  cache.put("a", dropped);
  cache.drop("a");
  cache.put("b", replaced);
  cache.put("b", kept);
  cache.put("c", large);
  assert.ok(zero(dropped) && zero(replaced) && zero(large));
  assert.ok(!zero(kept));
  for (let i = 0; i < 30; i++) cache.put(`push ${i}`, value(100));
  assert.ok(zero(kept));
  const last = cache.get("push 29")!;
  cache.wipe();
  assert.ok(zero(last));
  assert.equal(cache.bytes, 0);
  assert.equal(cache.get("push 29"), undefined);
});
