// Stored RGPs and EGPs: what is kept of them after a crash, and how the tests in a document are run.
// What callers see is tests/spec/policies/policies-endpoints-governing.test.ts's.

import assert from "node:assert/strict";
import test from "node:test";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import {
  crashed,
  type MadeBarrier,
  madeBarrier,
  unsealed,
} from "../../../tests/support/made/made-barrier.ts";
import { GoverningPolicies } from "./governing-policies.ts";

const ROOT = ROOT_NAMESPACE.id;
const HOUR = 3_600_000_000_000n;

function over({ barrier, world }: MadeBarrier, clock = world.clock): GoverningPolicies {
  return new GoverningPolicies({ shared: barrier.view("shared/"), ...world, clock });
}

test("what was written is there after a crash: text, level, paths, version, indexes and end", async () => {
  const before = await madeBarrier();
  const policies = over(before);
  const change = { name: "office", text: "false", level: "advisory", paths: ["a"] };
  await policies.write("egp", ROOT, change, { sudo: false });
  const created = before.store.index;
  const second = {
    ...change,
    text: "true",
    level: "hard-mandatory",
    paths: "/kv/*,b,b".split(","),
  };
  await policies.write("egp", ROOT, { ...second, ttl: HOUR }, { sudo: false });
  const { index } = before.store;
  const after = await crashed(before);
  assert.equal(unsealed(after.barrier), true);
  const now = before.world.clock.now();
  assert.deepEqual(over(after).read("egp", ROOT, "office"), {
    text: "true",
    level: "hard-mandatory",
    paths: ["kv/*", "b"],
    version: 2,
    modified: now,
    created,
    written: index,
    casRequired: false,
    expires: now + HOUR,
  });
  assert.equal(over(after).read("rgp", ROOT, "office"), null);
});

test("whoever may not delete it finds it there, whatever was known before", async () => {
  const policies = over(await madeBarrier());
  await policies.write(
    "rgp",
    ROOT,
    { name: "p", text: "true", level: "hard-mandatory" },
    { sudo: false },
  );
  await assert.rejects(
    policies.delete("rgp", ROOT, "p", { sudo: false }),
    /needs the capability sudo/,
  );
  assert.equal(policies.read("rgp", ROOT, "p")?.version, 1);
  await policies.delete("rgp", ROOT, "p", { sudo: true });
  assert.equal(policies.read("rgp", ROOT, "p"), null);
});

/** Every look at it takes a millisecond. */
class SlowClock extends FakeClock {
  override elapsed(): bigint {
    this.pass(1_000_000n);
    return super.elapsed();
  }
}

test("the tests of a document are run in slices, with turns for others between", async () => {
  const made = await madeBarrier();
  const blocks = Array.from({ length: 50 }, (_, i) => `test "t${i}" { input = {} want = true }`);
  const write = { name: "p", text: `main { true }\n${blocks.join("\n")}`, level: "advisory" };
  const before = made.world.timers.turns;
  await over(made, new SlowClock()).write("rgp", ROOT, write, { sudo: false });
  assert.ok(made.world.timers.turns - before >= 8, String(made.world.timers.turns - before));
});
