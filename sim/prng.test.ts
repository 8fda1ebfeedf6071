import assert from "node:assert/strict";
import { test } from "node:test";
import { Prng } from "./prng.ts";

test("a seed gives the same numbers on every platform", () => {
  const prng = new Prng(42);
  const drawn = [prng.int(1_000_000), prng.int(1_000_000), prng.bytes(7).toString("hex")];
  assert.deepEqual(drawn, [272495, 114026, "049346104697a1"]);
});

test("neighbouring seeds give unrelated numbers", () => {
  const first = new Set(Array.from({ length: 10_000 }, (_, seed) => new Prng(seed).int(2 ** 50)));
  assert.equal(first.size, 10_000);
  assert.notDeepEqual(new Prng(1.5).bytes(16), new Prng(1).bytes(16));
});

test("numbers are spread evenly over [0, n)", () => {
  const prng = new Prng(7);
  const counts = Array.from({ length: 10 }, () => 0);
  for (let i = 0; i < 100_000; i++) counts[prng.int(10)]! += 1;
  // 5 standard deviations of a binomial with n = 100,000 and p = 0.1 are 474.
  for (const count of counts) assert.ok(Math.abs(count - 10_000) < 474, `${count}`);
});

test("a fork depends on seed and label, not on what was drawn before", () => {
  const early = new Prng(3);
  const late = new Prng(3);
  late.bytes(1000);
  assert.deepEqual(early.fork("net").bytes(32), late.fork("net").bytes(32));
  assert.notDeepEqual(early.fork("net").bytes(32), early.fork("disk").bytes(32));
  assert.notDeepEqual(early.fork("net").bytes(32), new Prng(4).fork("net").bytes(32));
});

test("shuffle keeps every item, reaches every order and leaves its argument alone", () => {
  const prng = new Prng(5);
  const items = [1, 2, 3];
  const orders = new Set<string>();
  for (let i = 0; i < 200; i++) orders.add(prng.shuffle(items).join(""));
  assert.deepEqual([...orders].toSorted(), ["123", "132", "213", "231", "312", "321"]);
  assert.deepEqual(items, [1, 2, 3]);
});

test("what cannot be drawn is refused", () => {
  const prng = new Prng(1);
  assert.throws(() => prng.int(0), RangeError);
  assert.throws(() => prng.int(1.5), RangeError);
  assert.throws(() => prng.pick([]), RangeError);
  assert.throws(() => new Prng(Number.NaN), RangeError);
});
