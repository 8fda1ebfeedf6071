import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { FakeClock } from "../../tests/support/fake-world.ts";
import { Registry } from "../base/metrics.ts";
import { CLOUD_ACTIONS, CloudInstruments } from "./cloud-instruments.ts";

function made() {
  const registry = new Registry();
  const clock = new FakeClock();
  const mounted = new Set(["clouda_1", "cloudb_1"]);
  const clouds = new CloudInstruments(registry, clock, (accessor) => mounted.has(accessor));
  const lines = () =>
    registry
      .text()
      .split("\n")
      .filter((line) => !line.startsWith("#") && line !== "");
  return { clock, mounted, clouds, lines };
}

test("calls, credentials and rotations are counted by type of mount", () => {
  const { clouds, lines } = made();
  const a = clouds.of({ type: "clouda", accessor: "clouda_1" });
  a.called("CreateUser", "ok", 0.02);
  a.called("CreateUser", "throttled", 0.2);
  a.issued("iam_user");
  a.rotated("failed");
  const text = lines();
  for (const line of [
    'holdfast_cloud_call_seconds_count{mount_type="clouda",action="CreateUser",result="ok"} 1',
    'holdfast_cloud_call_seconds_sum{mount_type="clouda",action="CreateUser",result="throttled"} 0.2',
    'holdfast_cloud_throttled_total{mount_type="clouda"} 1',
    'holdfast_creds_issued_total{mount_type="clouda",type="iam_user"} 1',
    'holdfast_static_role_rotations_total{mount_type="clouda",result="failed"} 1',
  ]) {
    assert.ok(text.includes(line), line);
  }
});

test("the age of a root credential grows with time, until its mount is gone", () => {
  const { clouds, lines, clock, mounted } = made();
  const b = clouds.of({ type: "cloudb", accessor: "cloudb_1" });
  const ages = () => lines().filter((line) => line.startsWith("holdfast_root_rotation_age"));
  assert.deepEqual(ages(), []);
  b.rootRotated(Number(clock.now() / 1_000_000_000n));
  clock.pass(90_000_000_000n);
  assert.deepEqual(ages(), ['holdfast_root_rotation_age_seconds{mount="cloudb_1"} 90']);
  mounted.delete("cloudb_1");
  assert.deepEqual(ages(), []);
  mounted.add("cloudb_1");
  b.rootRotated(null);
  assert.deepEqual(ages(), []);
});

test("T-O06: an engine's slip does not make a caller's word a label", () => {
  const { clouds, lines } = made();
  const a = clouds.of({ type: "clouda", accessor: "clouda_1" });
  for (let i = 0; i < 1000; i++) {
    a.called(`canary-${i}`, `canary-${i}`, 0.1);
    a.issued(`canary-${i}`);
    a.rotated(`canary-${i}`);
  }
  assert.ok(lines().length < 30);
  assert.ok(!lines().some((line) => line.includes("canary")));
});

test("every call that an engine makes has a label of its own", () => {
  const engines = join(import.meta.dirname, "../../engines");
  const code = ["clouda", "cloudb"].flatMap((name) =>
    readdirSync(join(engines, name))
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .map((file) => readFileSync(join(engines, name, file), "utf8")),
  );
  const named = [
    ...code.join("\n").matchAll(/action: "(\w+)"|\b(\w+)Command\b|"(?:iam|sts):(\w+)"/g),
  ];
  const actions = new Set(named.map(([, a, b, c]) => a ?? b ?? c ?? ""));
  assert.ok(actions.size > 40);
  assert.deepEqual(
    [...actions].filter((one) => !CLOUD_ACTIONS.includes(one)),
    [],
  );
});
