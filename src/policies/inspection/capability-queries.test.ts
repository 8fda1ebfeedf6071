import assert from "node:assert/strict";
import test from "node:test";
import { type Caller, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Turns } from "@holdfast/shared/sliced";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { CapabilityQueries } from "./capability-queries.ts";

const caller = { type: "management", namespace: ROOT_NAMESPACE } as unknown as Caller;

test("T-N03: of many paths few are looked at between two turns, which are the asker's, and none before the first", async () => {
  let looked = 0;
  let cost = 0n;
  const between: number[] = [];
  const whose = { tenant: "team", client: "192.0.2.1" };
  const turns: Turns = {
    next: async (one) => {
      assert.deepEqual(one, whose);
      between.push(looked);
      looked = 0;
    },
    step: () => assert.fail("it waits itself"),
  };
  const clock = new FakeClock();
  const pace = { clock, turns, whose };
  const queries = new CapabilityQueries({
    governing: { applying: () => [] },
    namespaces: { resolve: (namespace: unknown) => ({ namespace, taken: 0 }) },
    canonical: (_: unknown, segments: readonly string[]) => {
      looked++;
      clock.pass(cost);
      return segments;
    },
  } as unknown as ConstructorParameters<typeof CapabilityQueries>[0]);
  const paths = Array.from({ length: 700 }, (_, i) => `secret/${i}`);
  const { capabilities } = await queries.on(caller, ROOT_NAMESPACE, paths, pace);
  assert.equal(capabilities.length, 700);
  assert.equal(between[0], 0);
  assert.ok(Math.max(...between, looked) <= 32 && between.length > 20, between.join(" "));
  between.length = 0;
  await queries.on(caller, ROOT_NAMESPACE, paths.slice(0, 20), pace);
  assert.deepEqual(between, [], "a few are looked at at once");
  [looked, cost] = [0, 2n * MILLISECOND];
  await queries.on(caller, ROOT_NAMESPACE, paths.slice(0, 20), pace);
  assert.ok(
    between.every((count) => count <= 2) && between.length >= 9,
    "those that take long are not",
  );
});
