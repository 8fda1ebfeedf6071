import assert from "node:assert/strict";
import test from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { utf8 } from "@holdfast/shared/bytes";
import { readJson } from "@holdfast/shared/json/json-reader";
import { rawNumber, type JsonValue } from "@holdfast/shared/json/json";
import { SystemRandom } from "../../system/random.ts";
import { freshKey } from "../../crypto/aead.ts";
import { Hasher, type Veil } from "./hasher.ts";
import { maskedJson, MAX_SINGLE, Repeats, REST } from "./masking.ts";

const random = new SystemRandom();
const hasher = new Hasher(freshKey(random), random);
const masked = (value: unknown) => JSON.parse(maskedJson(value, hasher));

class CountingVeil implements Veil {
  readonly raw = false;
  count = 0;

  value(text: string | Uint8Array): string {
    this.count++;
    return hasher.value(text);
  }

  token(secret: string): string {
    return hasher.token(secret);
  }

  accessor(accessor: string): string {
    return hasher.accessor(accessor);
  }
}

test("texts are hashed; names, numbers, booleans and nulls stay readable", () => {
  const value = {
    name: "text",
    list: ["a", 1, null, { deep: "b" }],
    number: 1.5,
    big: rawNumber("123456789012345678901234567890"),
    yes: true,
    nothing: null,
    absent: undefined,
  };
  assert.deepEqual(masked(value), {
    name: hasher.hash("text"),
    list: [hasher.hash("a"), 1, null, { deep: hasher.hash("b") }],
    number: 1.5,
    big: Number("123456789012345678901234567890"),
    yes: true,
    nothing: null,
  });
  assert.match(maskedJson(value, hasher), /"big":123456789012345678901234567890,/);
  assert.match(hasher.hash("text"), /^hmac-sha256:[0-9a-f]{64}$/);
});

test("bytes are hashed too, and not listed as numbers", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  assert.deepEqual(masked({ bytes }), { bytes: hasher.hash(bytes) });
});

test("members that the mount wants readable are, at the top alone", () => {
  const value = { open: "a", other: "b", nested: { open: "c" } };
  const visible = JSON.parse(maskedJson(value, hasher, new Set(["open"])));
  const nested = { open: hasher.hash("c") };
  assert.deepEqual(visible, { open: "a", other: hasher.hash("b"), nested });
});

test("no text of the data is in the clear, and the result is valid JSON on one line", () => {
  // Long enough not to be part of a hash by chance.
  const secret = fc.string({ unit: "binary", minLength: 6, maxLength: 40 }).map((s) => `§${s}§`);
  const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      secret,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 5 }),
      fc.dictionary(fc.string({ unit: "binary", maxLength: 5 }), tie("value"), { maxKeys: 5 }),
    ),
  })).value;
  fc.assert(
    fc.property(tree, (value) => {
      const text = maskedJson(value, hasher);
      assert.doesNotThrow(() => JSON.parse(text));
      assert.doesNotMatch(text, /[\n\r\u2028\u2029]/);
      for (const one of textsOf(value)) {
        assert.ok(!text.includes(one) && !text.includes(JSON.stringify(one).slice(1, -1)));
      }
    }),
    { numRuns: 100 },
  );
});

test("T-G05: however many texts there are, the number of hashes is bounded, and the rest is one", () => {
  const counting = new CountingVeil();
  const list = Array.from({ length: 5000 }, (_, i) => `text ${i}`);
  const body = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`list${i}`, list]));
  const visible = JSON.parse(maskedJson(body, counting));
  assert.ok(counting.count <= MAX_SINGLE + 2, `${counting.count} hashes`);
  assert.equal(visible.list0.length, MAX_SINGLE + 1);
  // The operator can still compute what stands for the rest.
  assert.equal(visible.list0.at(-1)[REST], hasher.hash(JSON.stringify(list.slice(MAX_SINGLE))));
  const others = Object.fromEntries(Object.entries(body).slice(1));
  assert.equal(visible[REST], hasher.hash(JSON.stringify(others)));

  counting.count = 0;
  let deep: JsonValue = "bottom";
  for (let i = 0; i < 5000; i++) deep = [deep];
  maskedJson(deep, counting);
  assert.equal(counting.count, 1);
});

test("T-G05: a body at the limits costs about what its reading costs", () => {
  const list = Array.from({ length: 4900 }, (_, i) => `some text ${i}`);
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`list${i}`, list]));
  for (const data of [many, { value: "x".repeat(1_000_000) }]) {
    const bytes = utf8(JSON.stringify(data));
    const reading = shortestTime(() => readJson(bytes));
    const masking = shortestTime(() => maskedJson(data, hasher));
    // The single hashes of a record take some 2 ms whatever the rest of it is.
    assert.ok(masking <= 8 * reading + 50, `${masking} ms, ${reading} ms`); // twice, on a quiet day
  }
});

test("T-G05: what was masked is kept in one piece, and takes no more memory than its text", () => {
  const data = { list: Array.from({ length: 5000 }, () => [0, 0, 0, 0, 0, 0, 0, 0]) };
  const before = heapInUse();
  const texts = Array.from({ length: 64 }, () => maskedJson(data, hasher));
  const held = heapInUse() - before;
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  assert.ok(held < 4 * length, `${held} bytes for ${length} characters`);
});

function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  return process.memoryUsage().heapUsed;
}

function shortestTime(run: () => void): number {
  const times = Array.from({ length: 8 }, () => {
    const began = performance.now();
    run();
    return performance.now() - began;
  });
  return Math.min(...times);
}

function textsOf(value: JsonValue): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((member) => textsOf(member as JsonValue));
}

test("what an answer repeats of its request is hashed once, and shown as it would be otherwise", () => {
  const counting = new CountingVeil();
  const repeats = new Repeats();
  const texts = Array.from({ length: 12 }, (_, i) => `text ${i}`);
  const [body, answer] = [{ texts }, { id: "new", texts }];
  maskedJson(body, counting, undefined, repeats);
  assert.equal(counting.count, 12);
  const record = maskedJson(answer, counting, undefined, repeats);
  assert.equal(counting.count, 12 + 1 + 4, "the first eight are known");
  assert.equal(record, maskedJson(answer, hasher));
});
