// A primary that was superseded or demoted, at the cluster port: who is known there is told so, and nobody else.

import assert from "node:assert/strict";
import test from "node:test";
import { EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import type { Hello } from "../../cluster/hello.ts";
import type { SetToServe } from "../../cluster/port-set.ts";
import { Superseded } from "./superseded.ts";

const LEADER = "0b8e2f3e-0000-4000-8000-00000000000b";

test("one that was revoked is refused by its certificate, and by who is known; the others hear who they are to follow", async () => {
  const stage = await SetStage.start();
  const { clock, made, view, secondaries } = stage;
  const [berlin, rome] = [await secondaries.admit("berlin"), await secondaries.admit("rome")];
  const paris = await secondaries.admit("paris");
  await secondaries.revoke("rome");
  await secondaries.refuse([paris.pair.serial], LEADER);
  const { store, barrier } = made;
  const world = { ...made.world, kind: "dr" as const, clock, store, barrier, view };
  const own = {
    version: "0.1.0",
    clusterId: () => "0b8e2f3e-0000-4000-8000-00000000000a",
    fenced: async () => EPOCH,
  };
  for (const isDemoted of [false, true]) {
    const all: SetToServe[] = [];
    const port = {
      serve: (set: SetToServe) => void all.push(set),
      revoke: () => 0,
      refuseOnly() {},
      forget() {},
    };
    for (const leader of [LEADER, EPOCH.cluster]) {
      const led = { set: SET, epoch: EPOCH, isDemoted, leader };
      new Superseded({ ...world, ...own }, port, led).open();
    }
    const [served, other] = all as [SetToServe, SetToServe];
    assert.deepEqual([...served.revoked], [rome.pair.serial, paris.pair.serial]);
    assert.deepEqual([...other.revoked], [rome.pair.serial], "it was another's word");
    await assert.rejects(
      served.greet({} as Hello, stage.peer(rome.pair)),
      /does not know the secondary/,
    );
    const { decision, epoch } = await served.greet({} as Hello, stage.peer(berlin.pair));
    assert.deepEqual([decision?.kind, epoch], ["refuse", EPOCH.number]);
    const reason = isDemoted
      ? /it was demoted: follow the cluster that is promoted/
      : /promoted: follow that one/;
    assert.match(decision?.reason ?? "", reason);
  }
});
