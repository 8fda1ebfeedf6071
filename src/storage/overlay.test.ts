// Rows under changes, against a plain map.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Range } from "./engines/engine.ts";
import { compareKeys } from "./key.ts";
import { inRange, mergeRange } from "./overlay.ts";

const key = fc.string({
  unit: fc.constantFrom("a", "b", "/", "\uffff", "\u{1f600}"),
  maxLength: 3,
});
const row = fc.record({ key, value: fc.nat(99) });
type Row = { readonly key: string; readonly value: number };

const range: fc.Arbitrary<Range> = fc.record({
  from: key,
  to: fc.option(key),
  limit: fc.integer({ min: 1, max: 8 }),
  reverse: fc.boolean(),
});

function page(rows: readonly Row[], asking: Range): Row[] {
  const found = rows.filter((each) => inRange(asking, each.key));
  found.sort((a, b) => compareKeys(a.key, b.key));
  return (asking.reverse ? found.toReversed() : found).slice(0, asking.limit);
}

function changesIn(changes: ReadonlyMap<string, Row | null>, asking: Range) {
  const sign = asking.reverse ? -1 : 1;
  return [...changes]
    .filter(([each]) => inRange(asking, each))
    .toSorted(([a], [b]) => sign * compareKeys(a, b))
    .slice(0, asking.limit);
}

test("mergeRange() is the page of the rows with the changes made", () => {
  const rows = fc.uniqueArray(row, { selector: (each) => each.key, maxLength: 25 });
  const changes = fc.uniqueArray(fc.tuple(key, fc.option(fc.nat(99))), {
    selector: ([each]) => each,
    maxLength: 25,
  });
  fc.assert(
    fc.property(rows, changes, range, (below, made, asking) => {
      const over = new Map<string, Row | null>(
        made.map(([each, value]) => [each, value === null ? null : { key: each, value }]),
      );
      const merged = new Map(below.map((each) => [each.key, each]));
      for (const [each, changed] of over) {
        if (changed === null) merged.delete(each);
        else merged.set(each, changed);
      }
      const found = mergeRange(
        asking,
        (part) => page(below, part),
        (each) => each.key,
        (part) => changesIn(over, part),
      );
      assert.deepEqual(found, page([...merged.values()], asking));
    }),
    { numRuns: 3000 },
  );
});

test("inRange() includes the start and excludes the end", () => {
  const asking = { from: "b", to: "d", limit: 1 };
  assert.deepEqual(
    ["a", "b", "c", "d"].map((each) => inRange(asking, each)),
    [false, true, true, false],
  );
  assert.ok(inRange({ from: "", to: null, limit: 1 }, "\u{10ffff}"));
});

test("without changes the rows are asked for once, with the limit as it is", () => {
  const ranges: Range[] = [];
  const below = (part: Range) => {
    ranges.push(part);
    return ["a"];
  };
  const range = { from: "", to: null, limit: 3 };
  const found = mergeRange(
    range,
    below,
    (each) => each,
    () => [],
  );
  assert.deepEqual(found, ["a"]);
  assert.deepEqual(ranges, [range]);
});

test("thousands of hidden rows cost a few looks, not one each", () => {
  const name = (i: number) => `k${String(i).padStart(5, "0")}`;
  const rows = Array.from({ length: 8001 }, (_, i) => ({ key: name(i), value: i }));
  const hidden = rows.slice(0, 8000).map((each) => [each.key, null] as const);
  let looks = 0;
  const found = mergeRange(
    { from: "", to: null, limit: 1 },
    (part) => {
      looks++;
      const from = rows.findIndex((each) => each.key >= part.from);
      return from < 0 ? [] : rows.slice(from, from + part.limit);
    },
    (each) => each.key,
    (part) => hidden.filter(([key]) => key >= part.from).slice(0, part.limit),
  );
  assert.deepEqual(found, [{ key: name(8000), value: 8000 }]);
  assert.ok(looks <= 45, `${looks} looks`);
});

test("of thousands of changes only as many are read as the page needs", () => {
  const name = (i: number) => `k${String(i).padStart(5, "0")}`;
  const changes = Array.from({ length: 8000 }, (_, i) => [name(i), name(i)] as const);
  let read = 0;
  const found = mergeRange<string>(
    { from: "", to: null, limit: 10 },
    () => [],
    (each) => each,
    (part) => {
      const page = changes.filter(([key]) => key >= part.from).slice(0, part.limit);
      read += page.length;
      return page;
    },
  );
  assert.deepEqual(
    found,
    Array.from({ length: 10 }, (_, i) => name(i)),
  );
  assert.ok(read <= 20, `${read} changes`);
});

test("a gap of one hidden row costs a few rows more, not another page", () => {
  const name = (i: number) => `k${String(i).padStart(5, "0")}`;
  const rows = Array.from({ length: 1000 }, (_, i) => name(i));
  let read = 0;
  const found = mergeRange(
    { from: "", to: null, limit: 100 },
    (part) => {
      const page = rows.filter((key) => key >= part.from).slice(0, part.limit);
      read += page.length;
      return page;
    },
    (each) => each,
    (part) => (part.from <= name(5) ? [[name(5), null] as const] : []),
  );
  assert.equal(found.length, 100);
  assert.ok(read <= 110, `${read} rows`);
});
