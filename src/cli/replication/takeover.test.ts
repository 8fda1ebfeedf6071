import assert from "node:assert/strict";
import test from "node:test";
import { showValue } from "../terminal/value.ts";
import { planView } from "./takeover.ts";

const UNFILTERED =
  "a filter withholds 2 mounts and namespaces of the primary from this cluster: they would be missing in every region";

function rowsOf(failed: readonly (readonly [name: string, text: string])[], more: object = {}) {
  const checks = failed.map(([name, text]) => ({ name, ok: false, skipped_by_force: true, text }));
  const view = planView({ ready: false, ready_with_force: true, checks, next: [], ...more });
  assert.ok("parts" in view);
  const [, facts] = view.parts;
  assert.ok(facts !== undefined && "pairs" in facts);
  return new Map(facts.pairs.map(([name, value]) => [name, showValue(value)]));
}

test("a plan says what is lost everywhere where a filter withholds it, whatever else is in the way", () => {
  const alone = rowsOf([["unfiltered", UNFILTERED]]);
  assert.equal(
    alone.get("Would Be Lost"),
    "in every region, 2 mounts and namespaces that a filter withholds",
  );
  const GONE = ["primary-gone", "the primary is alive and connected: demote it first"] as const;
  for (const rows of [alone, rowsOf([GONE, ["unfiltered", UNFILTERED]])]) {
    assert.match(rows.get("Can Take Over") ?? "", /^not while a filter withholds.*see unfiltered/);
  }
  const lost = { lost_from: 5, lost_to: 6, lost_entries: 2 };
  const both = rowsOf([["unfiltered", UNFILTERED]], lost).get("Would Be Lost");
  assert.match(both ?? "", /^2 entries, 5 to 6; in every region, 2 mounts/);
  const whole = rowsOf([GONE]);
  assert.equal(whole.get("Would Be Lost"), "nothing that is known of");
  assert.match(whole.get("Can Take Over") ?? "", /^not yet: see primary-gone/);
});
