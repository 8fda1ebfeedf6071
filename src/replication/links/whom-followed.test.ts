// Whom a secondary that shares data follows: only the authority that it trusts makes another cluster its primary, and nobody whom the primary
// has revoked.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SET } from "../../../tests/support/replication/set-stage.ts";
import type { HelloAnswer } from "../../cluster/hello.ts";
import { putRevokedClusters } from "../joining/primary-rows.ts";
import { epochProof } from "../joining/proofs.ts";
import { makePrimary } from "../joining/secondaries.ts";
import { type Epoch, isSameEpoch } from "../roles/role.ts";
import { StoredRole } from "../roles/stored-role.ts";
import { WhomFollowed } from "./whom-followed.ts";

const kind = "performance";
const OTHER = "0b8e2f3e-0000-4000-8000-0000000000f2";
const LATER = { number: EPOCH.number + 1, cluster: OTHER, first: "50" };

async function secondary(t: TestContext) {
  const { barrier, store, world } = await madeBarrier();
  t.after(() => store.close());
  const view = barrier.view("local/replication/performance/");
  const role = new StoredRole(view, kind);
  await role.step({
    do: "join",
    joined: { set: SET, id: "berlin", address: ADDRESS, epoch: EPOCH },
  });
  const { authority } = await makePrimary({ set: SET, kind }, world);
  const back: bigint[] = [];
  const whom = new WhomFollowed(
    {
      ...world,
      kind,
      store,
      view,
      role,
      barrier,
      takeTicketsFrom: () => {},
    } as never, // nobody is called
    {
      member: () => ({ set: SET, kind, authority: authority.certificate }) as never,
      ahead: () => null,
      goBack: (last) => void back.push(last),
      nameOf: () => "",
      expect: () => {},
      closing: new AbortController().signal,
    },
  );
  const proofOf = (epoch: Epoch) => epochProof(authority.key, { set: SET, kind, epoch });
  const hears = ({ number, cluster, first }: Epoch, proof: Uint8Array = Buffer.alloc(0)) =>
    whom.accept({
      epoch: number,
      clusterId: cluster,
      epochFirst: first,
      epochProof: proof,
      region: "",
    } as HelloAnswer);
  const now = () => {
    assert.ok(role.now.mode === "secondary");
    return role.now;
  };
  const isFollowing = (epoch: Epoch) => isSameEpoch(now().epoch, epoch);
  return { view, role, world, hears, proofOf, now, back, isFollowing };
}

test("a cluster that leads in the place of the primary is followed with the proof of its authority, from where its epoch began; its keys are fetched", async (t) => {
  const { hears, proofOf, isFollowing, back, now, world } = await secondary(t);
  await hears(EPOCH); // as ever: nothing is to be proved
  assert.deepEqual(back, []);
  await assert.rejects(hears(LATER), /no proof of it/);
  await assert.rejects(hears(LATER, proofOf(EPOCH)), /no proof of it/);
  assert.ok(isFollowing(EPOCH));
  await hears(LATER, proofOf(LATER));
  assert.ok(isFollowing(LATER));
  assert.deepEqual([back, now().keysDue], [[49n], true]);
  assert.match(world.lines.join("\n"), /replication\.primary-moved/);
});

test("one that the primary has revoked is not followed in its place, whatever it proves", async (t) => {
  const { hears, proofOf, isFollowing, back, view, role } = await secondary(t);
  await view.write((tx) => putRevokedClusters(tx, [OTHER]));
  const revoked = /has revoked the cluster that leads in its place/;
  await assert.rejects(hears(LATER, proofOf(LATER)), revoked);
  assert.ok(isFollowing(EPOCH));
  await role.step({ do: "superseded", epoch: LATER }); // it was heard of, and is reached
  await assert.rejects(hears(LATER, proofOf(LATER)), revoked);
  assert.deepEqual(back, []);
});

test("one that was heard of before it was reached is followed when it proves to lead", async (t) => {
  const { hears, proofOf, isFollowing, back, role, now } = await secondary(t);
  await role.step({ do: "superseded", epoch: LATER });
  await assert.rejects(hears(LATER), /no proof of it/);
  assert.equal(now().superseded, true);
  await hears(LATER, proofOf(LATER));
  assert.ok(isFollowing(LATER));
  assert.deepEqual([now().superseded, now().keysDue, back], [undefined, true, [49n]]);
});

test("of a primary that begins another epoch itself nobody has to be told", async (t) => {
  const { hears, proofOf, isFollowing, world } = await secondary(t);
  const own = { ...LATER, cluster: EPOCH.cluster };
  await hears(own, proofOf(own));
  assert.ok(isFollowing(own));
  assert.doesNotMatch(world.lines.join("\n"), /replication\.primary-moved/);
});
