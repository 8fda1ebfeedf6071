// A primary tells each of its secondaries of the others that have come, and of nobody else.

import assert from "node:assert/strict";
import test from "node:test";
import { FakeTimers } from "../../../tests/support/fake-world.ts";
import { ADDRESS, EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink } from "../../cluster/peer-link.ts";
import type { SetToServe } from "../../cluster/port-set.ts";
import { ReplicationFigures } from "../figures.ts";
import { readActivation } from "../joining/activation.ts";
import { makeToken } from "../joining/activation-token.ts";
import type { Primary } from "../roles/role.ts";
import { echo, type Sibling } from "../stream/messages.ts";
import { Serving } from "./serving.ts";

const PRIMARY = "0b8e2f3e-0000-4000-8000-000000000001";
const BERLIN = "0b8e2f3e-0000-4000-8000-000000000002";
const ROME = "0b8e2f3e-0000-4000-8000-000000000003";

test("one whose token was not used is no sibling of anybody", async (t) => {
  const stage = await SetStage.start();
  const { clock, made } = stage;
  const world = { ...made.world, clock, timers: new FakeTimers(clock) };
  const role: Primary = { mode: "primary", set: SET, epoch: EPOCH, address: ADDRESS, fenced: null };
  let served: SetToServe | null = null;
  const serving = new Serving(
    {
      ...world,
      store: made.store,
      barrier: made.barrier,
      view: stage.view,
      figures: new ReplicationFigures(),
      version: "0.1.0",
      clusterId: () => PRIMARY,
      leads: () => true,
      revokeFormer: async () => false,
      apiAddress: () => "",
      clusterAddress: () => ADDRESS,
      superseded: () => {},
      fenced: async () => EPOCH,
      adopted: null as never, // nothing is handed over
      lease: { reached: () => {}, release: async () => {} },
    },
    { serve: (set) => (served = set), revoke: () => 0, forget: () => {} },
    () => role,
  );
  const place = { address: ADDRESS, epoch: EPOCH };
  const peerOf = async (id: string) => {
    const token = await makeToken(serving.secondaries, { id }, place, world.random);
    assert.ok(token.form === "wrapped");
    return stage.peer(readActivation(token.wrap, "dr", { now: clock.now() }));
  };
  const [berlin, rome] = [await peerOf("berlin"), await peerOf("rome")];
  serving.open();
  t.after(() => serving.close("the test is over"));
  const link = async (peer: typeof berlin, clusterId: string) => {
    const { table, greet } = served as unknown as SetToServe;
    const carrier = new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world);
    const found = new CarriedLink(carrier, peer);
    await found.open({ clusterId, version: "0.1.0", epoch: EPOCH.number });
    t.after(() => found.close());
    return found;
  };
  const first = await link(berlin, BERLIN);
  const siblings = async (): Promise<readonly Sibling[]> => {
    const answer = await first.call(echo, {
      epoch: EPOCH.number,
      t0: clock.now(),
      before: null,
      state: "idle",
      applied: 0n,
      durable: 0n,
      apiAddress: "",
      clusterAddresses: [],
      version: "0.1.0",
      instance: "",
      keysVersion: "",
      encryptions: 0n,
    });
    return answer.siblings;
  };
  assert.deepEqual(await siblings(), [], "rome has a certificate, and has never come");
  await link(rome, ROME);
  assert.deepEqual(
    (await siblings()).map(({ serials }) => serials),
    [[rome.serial]],
  );
});
