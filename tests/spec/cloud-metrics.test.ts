// What the engines of clouds count, under the names that dashboards know.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  countCall,
  countIssued,
  countRotation,
  showRootRotated,
} from "../../engines/cloud/metrics.ts";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import { Registry } from "../../src/base/metrics.ts";
import { EngineInstruments } from "../../src/introspection/engine-instruments.ts";
import { FakeClock } from "../support/fake-world.ts";

test("both clouds count calls, throttling, credentials and rotations under one name each", () => {
  const registry = new Registry();
  const engines = new EngineInstruments(registry, new FakeClock(), () => true);
  engines.declare([cloudaType, cloudbType]);
  const a = engines.of({ type: "clouda", accessor: "clouda_1" });
  const b = engines.of({ type: "cloudb", accessor: "cloudb_1" });
  countCall(a, "CreateUser", "ok", 0.02);
  countCall(a, "CreateUser", "throttled", 0.2);
  countCall(b, "addPassword", "refused", 0.2);
  countIssued(a, "iam_user");
  countIssued(b, "principal");
  countRotation(a, "failed");
  showRootRotated(b, 0);
  const text = registry.text().split("\n");
  for (const line of [
    "# HELP holdfast_cloud_call_seconds Time of one call to a provider.",
    'holdfast_cloud_call_seconds_count{mount_type="clouda",action="CreateUser",result="ok"} 1',
    'holdfast_cloud_call_seconds_sum{mount_type="clouda",action="CreateUser",result="throttled"} 0.2',
    'holdfast_cloud_call_seconds_count{mount_type="cloudb",action="addPassword",result="refused"} 1',
    'holdfast_cloud_call_seconds_bucket{mount_type="clouda",action="CreateUser",result="ok",le="30"} 1',
    'holdfast_cloud_throttled_total{mount_type="clouda"} 1',
    'holdfast_creds_issued_total{mount_type="clouda",type="iam_user"} 1',
    'holdfast_creds_issued_total{mount_type="cloudb",type="principal"} 1',
    'holdfast_static_role_rotations_total{mount_type="clouda",result="failed"} 1',
  ]) {
    assert.ok(text.includes(line), line);
  }
  assert.ok(
    text.some((line) => line.startsWith('holdfast_root_rotation_age_seconds{mount="cloudb_1"}')),
  );
});

for (const type of [cloudaType, cloudbType]) {
  test(`every call that ${type.type} makes has a label of its own`, () => {
    const top = join(import.meta.dirname, "../../engines", type.type);
    const files = globSync("**/*.ts", { cwd: top }).filter((file) => !file.endsWith(".test.ts"));
    const code = files.map((file) => readFileSync(join(top, file), "utf8")).join("\n");
    const named = [...code.matchAll(/action: "(\w+)"|\b(\w+)Command\b|"(?:iam|sts):(\w+)"/g)];
    const actions = new Set(named.map(([, a, b, c]) => a ?? b ?? c ?? ""));
    assert.ok(actions.size > 15);
    const calls = type.metrics?.["cloud_call_seconds"];
    assert.ok(calls?.kind === "histogram");
    const known = calls.labels?.["action"] ?? [];
    assert.deepEqual(
      [...actions].filter((one) => !known.includes(one)),
      [],
    );
  });
}
