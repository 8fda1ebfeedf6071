// What is written of the place in a performance set when a cluster takes the data of another one over, or leaves with it; and what of an epoch is shown
// to others.

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import test from "node:test";
import { bytesCodec } from "@holdfast/shared/codec";
import { base64 } from "@holdfast/shared/bytes";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { SystemRandom } from "../../system/random.ts";
import { PLACE } from "../applied/applied-place.ts";
import { HEARD } from "../heard.ts";
import {
  putRevokedClusters,
  storedMaterial,
  storedRevokedClusters,
} from "../joining/primary-rows.ts";
import { provesEpoch } from "../joining/proofs.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import { isStoodIn, storedFormer } from "../links/upstream.ts";
import type { Epoch, Primary, Role } from "../roles/role.ts";
import { putRole, storedRole } from "../roles/stored-role.ts";
import { signedEpoch } from "./signed-epoch.ts";
import { leavingWith, standingIn } from "./standing-in.ts";
import { GIVING_UP } from "./surplus-rows.ts";

const SET = "5f3d2c10-0000-4000-8000-0000000000aa";
const FORMER = "0b8e2f3e-0000-4000-8000-00000000000a";
const OWN = "0b8e2f3e-0000-4000-8000-00000000000b";
const EPOCH: Epoch = { number: 3, cluster: FORMER, first: "41" };
const LATER: Epoch = { number: 4, cluster: OWN, first: "90" };
const KIND = "performance";
const OWN_ROWS = [PLACE, HEARD, GIVING_UP];

const PRIMARY: Primary = { mode: "primary", set: SET, epoch: EPOCH, address: "", fenced: null };

/** The rows of a primary of performance replication, where another cluster has taken them over. */
async function stage(role: Role = PRIMARY) {
  const { barrier } = await madeBarrier();
  const view = barrier.view("local/replication/performance/");
  const own = barrier.view("core/replication/performance/");
  const clock = new FakeClock(BigInt(Date.now()) * 1_000_000n); // certificates are real
  const random = new SystemRandom();
  const material = await makePrimary({ set: SET, kind: KIND }, { clock, random });
  await view.write((tx) => {
    enablePrimary(tx, material);
    putRevokedClusters(tx, ["somebody"]);
    putRole(tx, role);
    tx.put("membership", Buffer.from("1"), bytesCodec);
    for (const row of OWN_ROWS) tx.on(own).put(row, Buffer.from("1"), bytesCodec);
  });
  const standIn = async (cluster = FORMER) => {
    const former = { addresses: ["https://a.example:8201"], cluster, isHeard: false };
    const place = { ...former, first: "90", address: "https://own.example:8201" };
    const takes = { kind: KIND, view, own, clock, random, clusterId: () => OWN } as const;
    const write = await standingIn(takes, place);
    await view.write((tx) => write(tx));
  };
  return { view, own, material, standIn, ofDisk: () => own.keys("", { limit: 10 }) };
}

test("who stands in for a primary leads in the next epoch, keeps whom it is to tell, and has nothing of what its disk knew of other data", async () => {
  const { view, standIn, ofDisk } = await stage();
  assert.equal(ofDisk().length, OWN_ROWS.length);
  await standIn();
  const role = storedRole(view);
  assert.ok(role.mode === "primary" && role.epoch.number === 4 && role.epoch.cluster === OWN);
  assert.deepEqual([role.address, role.epoch.first], ["https://own.example:8201", "90"]);
  assert.deepEqual(ofDisk(), []);
  const former = storedFormer(view, KIND)!;
  assert.deepEqual([former.cluster, former.addresses], [FORMER, ["https://a.example:8201"]]);
  assert.equal(isStoodIn(former, view, KIND), true);
});

test("nobody is told by who stands in for one that was fenced, for itself, or for nobody that is known", async () => {
  const fenced = await stage({ ...PRIMARY, fenced: { ...LATER, cluster: "another" } });
  await fenced.standIn();
  assert.equal(storedFormer(fenced.view, KIND), null);
  for (const cluster of ["", OWN]) {
    const { view, standIn } = await stage();
    await standIn(cluster);
    assert.equal(storedRole(view).mode, "primary");
    assert.equal(storedFormer(view, KIND), null);
  }
});

test("who leaves with the data of another cluster is nothing in the set, and has nothing of it", async () => {
  const { view, own, standIn, ofDisk } = await stage();
  await standIn();
  await view.write((tx) => tx.on(own).put(PLACE, Buffer.from("1"), bytesCodec));
  await view.write((tx) => leavingWith({ view, own }, tx));
  assert.equal(storedRole(view).mode, "disabled");
  assert.equal(storedMaterial(view, KIND), null);
  assert.equal(storedFormer(view, KIND), null);
  assert.deepEqual(storedRevokedClusters(view), []);
  assert.deepEqual(view.keys("membership", { limit: 1 }), []);
  assert.deepEqual(ofDisk(), []);
});

test("a primary signs its own epoch and no other one, by the authority of its set", async () => {
  const { view, material } = await stage();
  const proof = signedEpoch(view, KIND, PRIMARY, EPOCH);
  const proven = { set: SET, kind: KIND, epoch: EPOCH } as const;
  assert.equal(
    provesEpoch(proof, new X509Certificate(material.authority.certificate), proven),
    true,
  );
  for (const other of [LATER, { ...EPOCH, first: "42" }, { ...EPOCH, number: 2 }]) {
    assert.equal(signedEpoch(view, KIND, PRIMARY, other).length, 0);
  }
  assert.equal(signedEpoch(view, KIND, { ...PRIMARY, set: FORMER }, EPOCH).length, 0);
  assert.equal(signedEpoch(view, KIND, { mode: "disabled" }, EPOCH).length, 0);
});

test("who follows shows what it was visible of that epoch", async () => {
  const { view } = await stage();
  const role = { mode: "secondary", set: SET, epoch: EPOCH, proof: base64(Buffer.from("p")) };
  const visible = (epoch: Epoch) => signedEpoch(view, KIND, role as unknown as Role, epoch);
  assert.equal(Buffer.from(visible(EPOCH)).toString(), "p");
  assert.equal(visible(LATER).length, 0);
});
