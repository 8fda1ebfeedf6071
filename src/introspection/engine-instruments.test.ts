import assert from "node:assert/strict";
import test from "node:test";
import type { MetricDeclarations } from "@holdfast/plugin-sdk/metrics";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { Registry } from "../base/metrics.ts";
import { type CountingType, EngineInstruments } from "./engine-instruments.ts";

const METRICS: MetricDeclarations = {
  calls_seconds: {
    kind: "histogram",
    help: "Time of a call.",
    labels: { action: ["look", "take"], result: ["ok", "failed"] },
    buckets: [0.1, 1],
  },
  given_total: { kind: "counter", help: "Given.", labels: { type: ["key"] } },
  turns_total: { kind: "counter", help: "Turns." },
  turned_age_seconds: { kind: "age", help: "Time since the last turn." },
};

function instruments(types: readonly CountingType[] = [{ type: "one", metrics: METRICS }]) {
  const registry = new Registry();
  const clock = new FakeClock();
  const mounted = new Set(["one_1", "two_1"]);
  const engines = new EngineInstruments(registry, clock, (accessor) => mounted.has(accessor));
  engines.declare(types);
  const lines = () =>
    registry
      .text()
      .split("\n")
      .filter((line) => !line.startsWith("#") && line !== "");
  return { clock, mounted, engines, lines };
}

test("what a type declares is counted by type of mount, labels in the declared order", () => {
  const { engines, lines } = instruments();
  const one = engines.of({ type: "one", accessor: "one_1" });
  one.observe("calls_seconds", 0.5, { result: "ok", action: "take" });
  one.count("given_total", { type: "key" });
  one.count("turns_total");
  const text = lines();
  for (const line of [
    'holdfast_calls_seconds_bucket{mount_type="one",action="take",result="ok",le="0.1"} 0',
    'holdfast_calls_seconds_bucket{mount_type="one",action="take",result="ok",le="1"} 1',
    'holdfast_given_total{mount_type="one",type="key"} 1',
    'holdfast_turns_total{mount_type="one"} 1',
  ]) {
    assert.ok(text.includes(line), `${line}\n${text.join("\n")}`);
  }
});

test("types that declare the same number share it, with the words of both", () => {
  const declaring = (word: string): MetricDeclarations => ({
    given_total: { kind: "counter", help: "Given.", labels: { type: [word] } },
  });
  const { engines, lines } = instruments([
    { type: "one", metrics: declaring("key") },
    { type: "two", metrics: declaring("lock") },
    { type: "mute" },
  ]);
  engines.of({ type: "one", accessor: "one_1" }).count("given_total", { type: "key" });
  engines.of({ type: "two", accessor: "two_1" }).count("given_total", { type: "lock" });
  assert.deepEqual(lines(), [
    'holdfast_given_total{mount_type="one",type="key"} 1',
    'holdfast_given_total{mount_type="two",type="lock"} 1',
  ]);
});

test("types that declare the same number differently are refused, and so is a number of the server's own", () => {
  const other: MetricDeclarations = { turns_total: { kind: "age", help: "Turns." } };
  const types = [
    { type: "one", metrics: METRICS },
    { type: "two", metrics: other },
  ];
  assert.throws(() => instruments(types), /declare turns_total differently/);
  const registry = new Registry();
  registry.counter({ name: "holdfast_turns_total", help: "The server's." });
  const engines = new EngineInstruments(registry, new FakeClock(), () => true);
  assert.throws(() => engines.declare([{ type: "one", metrics: METRICS }]), /is there already/);
});

test("a type that comes later counts as other in numbers that are there, and has its own", () => {
  const { engines, lines } = instruments();
  const more: MetricDeclarations = { ...METRICS, fresh_total: { kind: "counter", help: "Fresh." } };
  engines.declare([{ type: "one", metrics: METRICS }]);
  engines.declare([{ type: "two", metrics: more }]);
  const two = engines.of({ type: "two", accessor: "two_1" });
  two.count("turns_total");
  two.count("fresh_total");
  assert.deepEqual(lines(), [
    'holdfast_turns_total{mount_type="other"} 1',
    'holdfast_fresh_total{mount_type="two"} 1',
  ]);
});

test("an age grows with time, until its mount is gone", () => {
  const { engines, lines, clock, mounted } = instruments();
  const one = engines.of({ type: "one", accessor: "one_1" });
  assert.deepEqual(lines(), []);
  one.since("turned_age_seconds", Number(clock.now() / 1_000_000_000n));
  clock.pass(90_000_000_000n);
  assert.deepEqual(lines(), ['holdfast_turned_age_seconds{mount="one_1"} 90']);
  mounted.delete("one_1");
  assert.deepEqual(lines(), []);
  mounted.add("one_1");
  one.since("turned_age_seconds", null);
  assert.deepEqual(lines(), []);
});

test("T-O06: an engine's slip does not make a caller's word a label", () => {
  const { engines, lines } = instruments();
  const one = engines.of({ type: "one", accessor: "one_1" });
  for (let i = 0; i < 1000; i++) {
    const word = `canary-${i}`;
    one.observe("calls_seconds", 0.1, { action: word, result: word, [word]: word });
    one.count("given_total", { type: word });
    one.count(word);
    one.observe(word, 1);
    one.since(word, 1);
  }
  assert.ok(lines().length < 30);
  assert.ok(!lines().some((line) => line.includes("canary")));
});
