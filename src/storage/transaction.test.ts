// One transaction over rows below it: what it sees, what it hands over, what it refuses.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import type { Range, Row } from "./engines/engine.ts";
import { compareKeys } from "./key.ts";
import { CORE_SCOPE } from "./rows/log-entry.ts";
import { inRange } from "./overlay.ts";
import { type Below, Transaction } from "./transaction.ts";

const LIMITS = { operations: 8, bytes: 20_000, valueBytes: 1000 };

function below(rows: ReadonlyMap<string, Uint8Array>): Below {
  const page = (range: Range): Row[] => {
    const found = [...rows].filter(([key]) => inRange(range, key));
    found.sort(([a], [b]) => compareKeys(a, b));
    const ordered = range.reverse ? found.toReversed() : found;
    return ordered.slice(0, range.limit).map(([key, value]) => ({ key, value }));
  };
  return {
    get: (key) => rows.get(key) ?? null,
    isPending: () => false,
    has: (key) => rows.has(key),
    rows: page,
    keys: (range) => page(range).map(({ key }) => key),
  };
}

function begin(rows: Record<string, string> = {}, limits = LIMITS): Transaction {
  const stored = new Map(Object.entries(rows).map(([key, value]) => [key, Buffer.from(value)]));
  return new Transaction(below(stored), 7n, 9n, limits);
}

function tooLarge(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Failure && error.kind === "too-large" && error.code === code;
}

test("it knows its index and time", () => {
  const tx = begin();
  assert.equal(tx.index, 7n);
  assert.equal(tx.time, 9n);
});

test("reads see what is below and its own changes over it, like a plain map", () => {
  const key = fc.constantFrom("shared/a", "shared/b", "shared/c/d", "shared/c/e", "local/x");
  const value = fc.uint8Array({ maxLength: 2 });
  const stored = fc.uniqueArray(fc.tuple(key, value), { selector: ([each]) => each });
  const steps = fc.array(fc.tuple(key, fc.option(value)), { maxLength: 12 });
  const reverse = fc.boolean();
  fc.assert(
    fc.property(
      stored,
      steps,
      reverse,
      fc.integer({ min: 1, max: 4 }),
      (rows, made, back, limit) => {
        const model = new Map(rows);
        const tx = new Transaction(below(new Map(rows)), 1n, 1n, LIMITS);
        for (const [each, change] of made) {
          if (change === null) {
            tx.delete(each);
            model.delete(each);
          } else {
            tx.put(each, change);
            model.set(each, change);
          }
        }
        const all = [...model.keys()].toSorted(compareKeys);
        for (const each of all) assert.deepEqual(tx.get(each), model.get(each));
        const shared = all.filter((each) => each.startsWith("shared/"));
        const page = (back ? shared.toReversed() : shared).slice(0, limit);
        assert.deepEqual(tx.keys("shared/", { limit, reverse: back }), page);
        const expected = page.map((each) => ({ key: each, value: model.get(each)! }));
        assert.deepEqual(tx.rows("shared/", { limit, reverse: back }), expected);
        const names = new Set(shared.map((each) => each.slice(7).replace(/\/.*/, "/")));
        assert.deepEqual(tx.list("shared/", { limit: 9 }), [...names]);
        const { changes } = tx.finish();
        const after = new Map<string, Uint8Array>(rows);
        for (const [each, { value: v }] of changes) {
          if (v === null) assert.ok(after.delete(each), "only what is there is deleted");
          else after.set(each, v);
        }
        assert.deepEqual(after, model);
      },
    ),
    { numRuns: 1000 },
  );
});

test("deleting what is not there changes nothing, even if it was put just before", () => {
  const tx = begin();
  tx.delete("shared/a");
  tx.put("shared/b", Buffer.from("1"));
  tx.delete("shared/b");
  assert.equal(tx.get("shared/b"), null);
  const { changes, bytes } = tx.finish();
  assert.equal(changes.size, 0);
  assert.equal(bytes, begin().finish().bytes);
});

test("scopes go with what is put and deleted; none means the core", () => {
  const scope = Buffer.alloc(16, 5);
  const tx = begin({ "shared/c": "1", "shared/d": "1" });
  tx.put("shared/a", Buffer.alloc(1), scope);
  tx.put("shared/b", Buffer.alloc(1));
  tx.delete("shared/c", scope);
  tx.delete("shared/d");
  const { changes } = tx.finish();
  assert.equal(changes.get("shared/a")?.scope, scope);
  assert.equal(changes.get("shared/b")?.scope, CORE_SCOPE);
  assert.equal(changes.get("shared/c")?.scope, scope);
  assert.equal(changes.get("shared/d")?.scope, CORE_SCOPE);
  assert.throws(() => begin().put("shared/a", Buffer.alloc(1), Buffer.alloc(15)), InvariantError);
  assert.throws(() => begin().delete("shared/a", Buffer.alloc(17)), InvariantError);
});

test("an entry above the limit is refused with both sizes", () => {
  const tx = begin();
  tx.put("shared/a", Buffer.alloc(1000));
  const refused = tooLarge("storage-entry-too-large");
  assert.throws(() => tx.put("shared/b", Buffer.alloc(1001)), refused);
  assert.throws(() => tx.put("shared/b", Buffer.alloc(1001)), /at most 1000 bytes.*has 1001/);
});

test("more operations or bytes than one commit takes are refused in the end, and not before", () => {
  const many = begin();
  for (let i = 0; i < 9; i++) many.put(`shared/${i}`, Buffer.alloc(1));
  const refused = tooLarge("storage-transaction-too-large");
  assert.throws(() => many.finish(), refused);

  const shrunk = begin();
  for (let i = 0; i < 9; i++) shrunk.put(`shared/${i}`, Buffer.alloc(1));
  shrunk.delete("shared/8");
  assert.equal(shrunk.finish().changes.size, 8);

  const large = begin({}, { ...LIMITS, bytes: 5000 });
  for (let i = 0; i < 3; i++) large.put(`shared/${i}`, Buffer.alloc(1000));
  assert.throws(() => large.finish(), refused);

  const control = begin({}, { ...LIMITS, bytes: 5000 });
  control.control({ type: 1, body: Buffer.alloc(5000) });
  assert.throws(() => control.finish(), refused);
});

test("its size is never less than the rows of a commit: keys count in bytes, not characters", () => {
  const key = `shared/${"\u{1f600}".repeat(1000)}`;
  const tx = begin();
  tx.put(key, Buffer.alloc(300));
  const written = 3 * Buffer.byteLength(key) + 2 * 300;
  assert.ok(tx.finish().bytes >= written);
});

test("changing the same key again counts once", () => {
  const [once, twice] = [begin(), begin()];
  once.put("shared/a", Buffer.alloc(10));
  twice.put("shared/a", Buffer.alloc(900));
  twice.put("shared/a", Buffer.alloc(10));
  assert.equal(twice.finish().bytes, once.finish().bytes);
});

test("keys that are not canonical or have no class are refused", () => {
  const tx = begin();
  for (const key of [
    "",
    "shared",
    "shared/",
    "/shared/a",
    "other/a",
    "shared//a",
    "constructor/a",
  ]) {
    assert.throws(() => tx.put(key, Buffer.alloc(1)), InvariantError, key);
  }
});

test("one control record, of a type that fits its byte", () => {
  const tx = begin();
  for (const type of [0, -1, 256]) {
    assert.throws(() => tx.control({ type, body: Buffer.alloc(1) }), InvariantError);
  }
  tx.control({ type: 255, body: Buffer.alloc(1) });
  assert.throws(() => tx.control({ type: 1, body: Buffer.alloc(1) }), InvariantError);
  assert.equal(tx.finish().control?.type, 255);
});

test("after the end, and after being abandoned, it is of no use to whoever kept it", () => {
  const [finished, abandoned] = [begin(), begin()];
  finished.finish();
  abandoned.abandon();
  for (const tx of [finished, abandoned]) {
    assert.throws(() => tx.get("shared/a"), InvariantError);
    assert.throws(() => tx.put("shared/a", Buffer.alloc(1)), InvariantError);
    assert.throws(() => tx.delete("shared/a"), InvariantError);
    assert.throws(() => tx.keys("shared/", { limit: 1 }), InvariantError);
    assert.throws(() => tx.rows("shared/", { limit: 1 }), InvariantError);
    assert.throws(() => tx.list("shared/", { limit: 1 }), InvariantError);
    assert.throws(() => tx.control({ type: 1, body: Buffer.alloc(1) }), InvariantError);
    assert.throws(() => tx.finish(), InvariantError);
  }
});
