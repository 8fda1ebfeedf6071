import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { InvariantError } from "@holdfast/shared/invariant";
import { Histogram, Registry, SECONDS_BUCKETS } from "./metrics.ts";

const op = { name: "op", values: ["read", "list"] } as const;
const status = { name: "status", values: ["200", "403"] } as const;

/** The series of a text, without comments. */
function seriesOf(text: string): string[] {
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

test("counters, gauges and histograms are shown in the text format, each with help and type", () => {
  const registry = new Registry();
  const made = registry.counter({ name: "made_total", help: "Things made.\nAll \\ of them." });
  const open = registry.gauge({ name: "open", help: "Open things." });
  const took = registry.histograms({ name: "took_seconds", help: "Time." }, [op], [0.1, 1]);
  made.add();
  made.add(2);
  open.set(5);
  open.add(-1);
  const read = took.of("read");
  read.observe(0.1);
  read.observe(0.5);
  read.observe(7);
  assert.equal(
    registry.text(),
    `# HELP made_total Things made.\\nAll \\\\ of them.
# TYPE made_total counter
made_total 3
# HELP open Open things.
# TYPE open gauge
open 4
# HELP took_seconds Time.
# TYPE took_seconds histogram
took_seconds_bucket{op="read",le="0.1"} 1
took_seconds_bucket{op="read",le="1"} 2
took_seconds_bucket{op="read",le="+Inf"} 3
took_seconds_sum{op="read"} 7.6
took_seconds_count{op="read"} 3
`,
  );
});

test("the JSON form says the same", () => {
  const registry = new Registry();
  registry.counters({ name: "made_total", help: "Made." }, [op, status]).of("list", "403").add();
  registry.histograms({ name: "took", help: "Time." }, [op], [1]).of("read").observe(2);
  registry.reads({ name: "never", help: "No number." }, "gauge", () => NaN);
  assert.deepEqual(registry.json(), {
    metrics: [
      {
        name: "made_total",
        type: "counter",
        help: "Made.",
        series: [{ labels: { op: "list", status: "403" }, value: 1 }],
      },
      {
        name: "took",
        type: "histogram",
        help: "Time.",
        series: [{ labels: { op: "read" }, count: 1, sum: 2, buckets: [{ le: 1, count: 0 }] }],
      },
      {
        name: "never",
        type: "gauge",
        help: "No number.",
        series: [{ labels: {}, value: null }],
      },
    ],
  });
});

test("T-O06: 100,000 distinct paths as label values leave the number of series as it was", () => {
  const registry = new Registry();
  const family = registry.counters({ name: "seen_total", help: "Seen." }, [op, status]);
  family.of("read", "200").add();
  family.of("anything", "else").add();
  const before = seriesOf(registry.text()).length;
  for (let i = 0; i < 100_000; i++) {
    family.of(`secret/data/canary-${i}`, String(i * 1000)).add();
  }
  const text = registry.text();
  assert.equal(seriesOf(text).length, before);
  assert.ok(!text.includes("canary"));
  assert.ok(text.includes('seen_total{op="other",status="other"} 100001\n'));
});

test("T-O06: readings of somebody else are folded into the declared values as well", () => {
  const registry = new Registry();
  registry.readsEach({ name: "things", help: "Things." }, "gauge", [op], () => [
    { at: ["list"], value: 2 },
    { at: ["canary-1"], value: 3 },
    { at: ["canary-2"], value: 4 },
  ]);
  assert.deepEqual(seriesOf(registry.text()), ['things{op="list"} 2', 'things{op="other"} 7']);
});

test("each combination of label values has a child of its own, told apart in the text", () => {
  const registry = new Registry();
  const family = registry.counters({ name: "n_total", help: "N." }, [op, status]);
  const combinations = ["read", "list", "other"].flatMap((a) =>
    ["200", "403", "other"].map((b) => [a, b] as const),
  );
  for (const [at, [a, b]] of combinations.entries()) family.of(a, b).add(at + 1);
  assert.deepEqual(
    seriesOf(registry.text()),
    combinations.map(([a, b], at) => `n_total{op="${a}",status="${b}"} ${at + 1}`),
  );
  assert.equal(family.of("read", "200"), family.of("read", "200"));
});

test("a label value cannot break out of its quotes", () => {
  const registry = new Registry();
  const hostile = { name: "v", values: ['a"} 1\nforged 2\\'] };
  registry.counters({ name: "n_total", help: "N." }, [hostile]).of(hostile.values[0]!).add();
  assert.deepEqual(seriesOf(registry.text()), ['n_total{v="a\\"} 1\\nforged 2\\\\"} 1']);
});

test("a number that is not known now is left out, and infinite ones have their own spelling", () => {
  const registry = new Registry();
  registry.reads({ name: "gone", help: "Gone." }, "gauge", () => null);
  registry.reads({ name: "endless", help: "Endless." }, "gauge", () => Infinity);
  assert.deepEqual(seriesOf(registry.text()), ["endless +Inf"]);
});

test("numbers of one look are read once for each scrape", () => {
  const registry = new Registry();
  let looks = 0;
  registry.readsTogether(
    [
      { name: "first", help: "A.", kind: "gauge", pick: (look: number) => look },
      { name: "second", help: "B.", kind: "gauge", pick: (look: number) => look * 10 },
    ],
    () => ++looks,
  );
  assert.deepEqual(seriesOf(registry.text()), ["first 1", "second 10"]);
  assert.deepEqual(seriesOf(registry.text()), ["first 2", "second 20"]);
});

test("a counter never goes back, and an impossible duration does not spoil a histogram", () => {
  const registry = new Registry();
  const counter = registry.counter({ name: "n_total", help: "N." });
  counter.add(2);
  counter.add(-1);
  counter.add(NaN);
  assert.equal(counter.value, 2);
  const histogram = new Histogram([1]);
  histogram.observe(NaN);
  histogram.observe(-1);
  histogram.observe(1);
  assert.equal(histogram.sum, 1);
  assert.deepEqual(histogram.cumulative, [1, 1]);
});

test("a histogram counts every value once, in the first bucket that holds it", () => {
  const value = fc.double({ min: 0, max: 20, noNaN: true });
  fc.assert(
    fc.property(fc.array(value, { maxLength: 50 }), (values) => {
      const histogram = new Histogram(SECONDS_BUCKETS);
      for (const one of values) histogram.observe(one);
      const expected = [...SECONDS_BUCKETS, Infinity].map(
        (bound) => values.filter((one) => one <= bound).length,
      );
      assert.deepEqual(histogram.cumulative, expected);
    }),
  );
});

test("bad names, a name given twice and families without bounds are our own mistakes", () => {
  const registry = new Registry();
  registry.gauge({ name: "open", help: "" });
  assert.throws(() => registry.gauge({ name: "open", help: "" }), InvariantError);
  assert.throws(() => registry.gauge({ name: "Open-things", help: "" }), InvariantError);
  const le = [{ name: "le", values: ["a"] }];
  assert.throws(() => registry.counters({ name: "a", help: "" }, le), InvariantError);
  const many = { name: "many", values: Array.from({ length: 70 }, (_, at) => String(at)) };
  const labels = [many, { ...many, name: "more" }];
  assert.throws(() => registry.counters({ name: "a", help: "" }, labels), InvariantError);
});

test("counters by names that operators chose are bounded; what is beyond counts as one", () => {
  const registry = new Registry();
  const about = { name: "failed_total", help: "Failures." };
  const failed = registry.namedCounters(about, ["kind", "policy"], 2);
  for (const name of ["a", 'b"\n', "a", "c", "d", "c"]) failed.add("egp", name);
  assert.deepEqual(seriesOf(registry.text()), [
    'failed_total{kind="egp",policy="a"} 2',
    'failed_total{kind="egp",policy="b\\"\\n"} 1',
    'failed_total{kind="other",policy="other"} 3',
  ]);
});
