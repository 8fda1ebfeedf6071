// Keys against naive models: order of bytes, ranges, listings, and what is refused.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Failure } from "@holdfast/shared/failure";
import { InvariantError } from "@holdfast/shared/invariant";
import type { Range } from "./engines/engine.ts";
import { afterKey, afterPrefix, checkKey, classOf, compareKeys, hasClass } from "./key.ts";
import { OrderedMap } from "./engines/ordered-map.ts";
import { listNames, MAX_KEY_BYTES, type Page, rangeOf } from "./key.ts";

/** Texts in which the orders of UTF-16 and UTF-8 part, and plain ones. */
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.string({ unit: fc.constantFrom("a", "b", "/", "\uffff", "\ue000", "\ud7ff", "\u{10000}") }),
  fc.string({ unit: fc.constantFrom("\u{10ffff}", "\u{1f600}", "é", "z"), maxLength: 5 }),
);

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

test("compareKeys() is the order of the UTF-8 bytes", () => {
  fc.assert(
    fc.property(text, text, text, (prefix, a, b) => {
      assert.equal(Math.sign(compareKeys(a, b)), byBytes(a, b));
      assert.equal(Math.sign(compareKeys(prefix + a, prefix + b)), byBytes(prefix + a, prefix + b));
      assert.equal(compareKeys(a, a), 0);
    }),
    { numRuns: 2000 },
  );
});

test("afterPrefix() is the least text above all that start with the prefix", () => {
  fc.assert(
    fc.property(text, text, (prefix, other) => {
      const end = afterPrefix(prefix);
      assert.ok(end === null || byBytes(prefix + other, end) < 0);
      if (other.startsWith(prefix) || byBytes(other, prefix) < 0) return;
      assert.ok(
        end !== null && byBytes(other, end) >= 0,
        "what lies above the prefix lies above it",
      );
    }),
    { numRuns: 2000 },
  );
  assert.equal(afterPrefix(""), null);
  assert.equal(afterPrefix("\u{10ffff}"), null);
  assert.equal(afterPrefix("a\u{10ffff}"), "b");
  assert.equal(afterPrefix("a\ud7ff"), "a\ue000");
  assert.equal(afterPrefix("a\uffff"), "a\u{10000}");
});

test("nothing without a NUL lies between a key and afterKey()", () => {
  fc.assert(
    fc.property(text, text, (key, other) => {
      assert.ok(byBytes(key, afterKey(key)) < 0);
      const between = byBytes(key, other) < 0 && byBytes(other, afterKey(key)) < 0;
      assert.ok(!between || other.includes("\u0000"));
    }),
  );
});

const segment = fc.string({ unit: fc.constantFrom("a", "b", "!", "0", "é", "\u{1f600}") });
const name = fc.string({
  unit: fc.constantFrom("a", "b", "!", "0", "é"),
  minLength: 1,
  maxLength: 2,
});
const key = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const keySet = fc.uniqueArray(key, { maxLength: 40 }).map((keys) => keys.toSorted(byBytes));
const prefixes = fc.oneof(
  fc.constant(""),
  key.map((folder) => `${folder}/`),
  segment,
);

/** The engine's own meaning of a range. */
function inRange(keys: readonly string[], range: Range): string[] {
  const found = keys.filter(
    (each) => byBytes(each, range.from) >= 0 && (range.to === null || byBytes(each, range.to) < 0),
  );
  return (range.reverse ? found.toReversed() : found).slice(0, range.limit);
}

const page = fc.record(
  { after: fc.oneof(key, segment), limit: fc.integer({ min: 1, max: 12 }), reverse: fc.boolean() },
  { requiredKeys: ["limit"] },
);

test("rangeOf() is the page below the prefix, wherever the cursor lies", () => {
  fc.assert(
    fc.property(keySet, prefixes, page, (keys, prefix, { after, limit, reverse }) => {
      const question: Page = {
        limit,
        ...(after === undefined ? {} : { after }),
        ...(reverse === undefined ? {} : { reverse }),
      };
      const below = keys.filter((each) => each.startsWith(prefix));
      const side = reverse ? -1 : 1;
      const beyond = below.filter((each) => after === undefined || byBytes(each, after) * side > 0);
      const expected = (reverse ? beyond.toReversed() : beyond).slice(0, limit);
      assert.deepEqual(inRange(keys, rangeOf(prefix, question)), expected);
    }),
    { numRuns: 2000 },
  );
});

test("pages of rangeOf() in a row give every key once, in both directions", () => {
  fc.assert(
    fc.property(keySet, prefixes, fc.integer({ min: 1, max: 7 }), (keys, prefix, limit) => {
      for (const reverse of [false, true]) {
        const all: string[] = [];
        for (let after: string | undefined; ; after = all.at(-1)) {
          const cursor = after === undefined ? {} : { after };
          const found = inRange(keys, rangeOf(prefix, { limit, reverse, ...cursor }));
          all.push(...found);
          if (found.length < limit) break;
        }
        const below = keys.filter((each) => each.startsWith(prefix));
        assert.deepEqual(all, reverse ? below.toReversed() : below);
      }
    }),
  );
});

function naiveNames(keys: readonly string[], prefix: string): string[] {
  const names = keys
    .filter((each) => each.startsWith(prefix))
    .map((each) => each.slice(prefix.length).split("/"))
    .map(([first = "", ...rest]) => (rest.length > 0 ? `${first}/` : first));
  return [...new Set(names)].toSorted(byBytes);
}

test("listNames() gives each name one level down once, folders with a slash, after any cursor", () => {
  const cursor = fc.option(
    fc.oneof(
      name,
      key,
      key.map((each) => `${each}/`),
    ),
    { nil: undefined },
  );
  const limits = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(keySet, prefixes, cursor, limits, (keys, prefix, after, limit) => {
      const names = naiveNames(keys, prefix);
      const expected = names.filter((each) => after === undefined || byBytes(each, after) > 0);
      const found = listNames((range) => inRange(keys, range), prefix, {
        limit,
        ...(after === undefined ? {} : { after }),
      });
      assert.deepEqual(found, expected.slice(0, limit));
    }),
    { numRuns: 3000 },
  );
});

test("listNames() looks at keys in proportion to the names it gives, not to what is below them", () => {
  const keys = new OrderedMap<null>();
  for (let folder = 0; folder < 400; folder++) {
    for (let i = 0; i < 300; i++) keys.set(`f${folder}/${i}`, null);
  }
  let looked = 0;
  let looks = 0;
  const count = (range: Range) => {
    const found = keys.entries(range).map(([each]) => each);
    looked += found.length;
    looks++;
    return found;
  };
  assert.equal(listNames(count, "", { limit: 400 }).length, 400);
  assert.ok(looked <= 256 + 2 * 400, `looked at ${looked} keys`);
  assert.ok(looks <= 402);
});

test("listNames() reads a flat folder in large looks", () => {
  const keys = Array.from({ length: 2000 }, (_, i) => `k${String(i).padStart(4, "0")}`);
  let looks = 0;
  const count = (range: Range) => {
    looks++;
    return inRange(keys, range);
  };
  assert.equal(listNames(count, "", { limit: 2000 }).length, 2000);
  assert.ok(looks <= 9, `${looks} looks`);
});

test("the class of a key is its first segment, and nothing else is a class", () => {
  assert.equal(classOf("shared/a"), "shared");
  assert.equal(classOf("local/a/b"), "local");
  assert.equal(classOf("core/keyring"), "ignored");
  const foreign = [
    "sharedx/a",
    "shared",
    "/shared/a",
    "",
    "Shared/a",
    "constructor/a",
    "__proto__/a",
  ];
  for (const bad of [...foreign, "toString/a"]) {
    assert.throws(() => classOf(bad), InvariantError, bad);
    assert.equal(hasClass(bad), false);
  }
  assert.ok(hasClass("local/a") && hasClass("core/a"));
});

test("checkKey() takes canonical keys up to the limit in bytes, not characters", () => {
  checkKey("shared/a b/é/\u{1f600}");
  checkKey(`shared/${"a".repeat(MAX_KEY_BYTES - 7)}`);
  const tooLong = (error: unknown) =>
    error instanceof Failure && error.kind === "too-large" && error.message.includes("4096");
  assert.throws(() => checkKey(`shared/${"a".repeat(MAX_KEY_BYTES - 6)}`), tooLong);
  assert.throws(() => checkKey(`shared/${"é".repeat(MAX_KEY_BYTES / 2)}`), tooLong);
});

test("checkKey() refuses what is not one canonical text on every engine", () => {
  const bad = ["", "/a", "a/", "a//b", "a\u0000b", "a\nb", "a\u007f", "\ud800", "a/\udc00/b"];
  for (const each of bad) assert.throws(() => checkKey(each), InvariantError, JSON.stringify(each));
});
