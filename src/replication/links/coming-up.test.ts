// Whom a primary believes that another leads, and for how long it waits to hear it before it writes.

import assert from "node:assert/strict";
import test from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import { fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import { SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { until } from "../../../tests/support/until.ts";
import { SystemNet } from "../../system/net.ts";
import type { Epoch, Primary } from "../roles/role.ts";
import { leaderAtStart, leaderBy } from "./coming-up.ts";

const idOf = (n: number) => `0b8e2f3e-0000-4000-8000-00000000000${n}`;
const OWN: Epoch = { number: 2, cluster: idOf(1), first: "7" };
const LATER: Epoch = { number: 3, cluster: idOf(2), first: "9" };
const LATEST: Epoch = { number: 4, cluster: idOf(3), first: "12" };
const FORGED: Epoch = { number: 5000, cluster: idOf(4), first: "12" };
const ROLE: Primary = { mode: "primary", set: SET, epoch: OWN, address: "", fenced: null };

test("one that says itself that it leads is believed; what others have heard is only told, where nobody follows this primary still", () => {
  const itself = (leading: Epoch) => ({ leading, isItself: true });
  const heard = (leading: Epoch) => ({ leading, isItself: false });
  const nobody = { leader: null, rumour: null };
  assert.deepEqual(leaderBy(OWN, []), nobody);
  assert.deepEqual(leaderBy(OWN, [heard(OWN)]), nobody);
  assert.deepEqual(leaderBy(OWN, [heard(OWN), itself(LATER)]), { leader: LATER, rumour: null });
  assert.deepEqual(leaderBy(OWN, [heard(LATER)]), { leader: null, rumour: LATER });
  const both = leaderBy(OWN, [heard(LATER), itself(LATEST)]);
  assert.deepEqual(both, { leader: LATEST, rumour: LATER });
  assert.deepEqual(leaderBy(OWN, [heard(OWN), heard(LATER)]), nobody, "it was given up");
  assert.deepEqual(leaderBy(OWN, [itself({ ...OWN, number: 1 }), itself(FORGED)]), nobody);
});

/** Gives how long it takes. */
async function comesUp(addresses: readonly string[]): Promise<{ time: bigint; dialled: number }> {
  const stage = await SetStage.start();
  const { pair } = await stage.secondaries.admit("berlin");
  await stage.secondaries.confirm(stage.peer(pair), idOf(2), { addresses });
  const { timers } = fakeWorld();
  let dialled = 0;
  const world = {
    clock: stage.clock,
    timers,
    random: stage.made.world.random,
    kind: "dr" as const,
    view: stage.view,
    barrier: stage.made.barrier,
    net: new SystemNet(),
    clusterId: () => idOf(1),
    version: "0.1.0",
    carrierTo: () => {
      dialled++;
      return { connect: unanswered, isReached: false };
    },
  };
  let leader: Epoch | null | undefined;
  void leaderAtStart(ROLE, world).then((found) => ({ leader } = found));
  await until(() => dialled > 0 || leader !== undefined); // certificates are made in their own time
  for (let time = 0n; ; time += 100n * MILLISECOND) {
    for (let turn = 0; turn < 200 && leader === undefined; turn++) await nextTurn();
    if (leader === null) return { time, dialled };
    assert.ok(time < 60n * SECOND);
    await timers.advance(100n * MILLISECOND);
  }
}

async function unanswered(_: unknown, signal?: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  return await promise;
}

test("a primary waits one second at an address where nobody answers, three in the whole, and not at all where there is none", async () => {
  const [one, other] = ["https://10.1.2.3:8201", "https://10.1.2.4:8201"];
  assert.deepEqual(await comesUp([one]), { time: SECOND, dialled: 1 });
  assert.deepEqual(await comesUp([one, other]), { time: 2n * SECOND, dialled: 2 });
  const many = [3, 4, 5, 6].map((n) => `https://10.1.2.${n}:8201`);
  assert.deepEqual(await comesUp(many), { time: 3n * SECOND, dialled: 3 });
  assert.deepEqual(await comesUp([]), { time: 0n, dialled: 0 });
});
