import assert from "node:assert/strict";
import test from "node:test";
import { HEALTH_CODES, type HealthFacts, healthStatus } from "./health.ts";

const active: HealthFacts = {
  removed: false,
  initialised: true,
  sealed: false,
  drSecondary: false,
  fenced: false,
  role: "active",
  activeReachable: true,
};
const strict = { standbyOk: false, perfStandbyOk: false };

const STATES: readonly [string, Partial<HealthFacts>, keyof typeof HEALTH_CODES, number][] = [
  ["removed from the cluster", { removed: true, initialised: false }, "removedcode", 530],
  ["not initialised", { initialised: false, sealed: true }, "uninitcode", 501],
  ["sealed", { sealed: true, drSecondary: true }, "sealedcode", 503],
  ["member of a DR secondary", { drSecondary: true, role: "standby" }, "drsecondarycode", 472],
  ["primary that writes nothing", { fenced: true }, "performancestandbycode", 473],
  [
    "standby without the active node",
    { role: "standby", activeReachable: false },
    "haunhealthycode",
    474,
  ],
  ["read-serving standby", { role: "performance-standby" }, "performancestandbycode", 473],
  ["standby", { role: "standby" }, "standbycode", 429],
  ["active", {}, "activecode", 200],
];

for (const [name, facts, code, number] of STATES) {
  test(`health of a node that is ${name}: ${number}, or what ${code} says`, () => {
    const state = { ...active, ...facts };
    assert.equal(healthStatus(state, HEALTH_CODES, strict), number);
    assert.equal(healthStatus(state, { ...HEALTH_CODES, [code]: 299 }, strict), 299);
  });
}

test("standbyok counts a standby as active, not one that serves reads", () => {
  const lenient = { standbyOk: true, perfStandbyOk: false };
  assert.equal(healthStatus({ ...active, role: "standby" }, HEALTH_CODES, lenient), 200);
  const serving: HealthFacts = { ...active, role: "performance-standby" };
  assert.equal(healthStatus(serving, HEALTH_CODES, lenient), 473);
  assert.equal(healthStatus(serving, HEALTH_CODES, { ...lenient, perfStandbyOk: true }), 200);
});

test("a primary that writes nothing is not counted as active, whatever standbys are", () => {
  const lenient = { standbyOk: true, perfStandbyOk: true };
  assert.equal(healthStatus({ ...active, fenced: true }, HEALTH_CODES, lenient), 473);
});
