import assert from "node:assert/strict";
import test from "node:test";
import { statusView } from "./status-view.ts";

function pairsOf(status: Parameters<typeof statusView>[0]): Map<string, unknown> {
  const { view } = statusView(status, 0n);
  const [first] = "parts" in view ? view.parts : [view];
  assert.ok(first !== undefined && "pairs" in first);
  return new Map(first.pairs.map(([name, value]) => [name, value]));
}

test("what was made outside and is not taken over is shown, and nothing where there is none", () => {
  const secondary = { mode: "secondary", secondary_id: "a", state: "stream-wals" };
  const primary = { mode: "primary", state: "running" };
  assert.match(String(pairsOf({ ...secondary, orphans_waiting: 3 }).get("Outside")), /^3 leases/);
  assert.match(String(pairsOf({ ...primary, orphans_left: 2 }).get("Left Outside")), /^2 leases/);
  assert.ok(!pairsOf({ ...secondary, orphans_waiting: 0 }).has("Outside"));
  assert.ok(!pairsOf({ ...primary, orphans_left: 0 }).has("Left Outside"));
});
