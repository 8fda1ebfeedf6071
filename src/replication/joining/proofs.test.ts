import assert from "node:assert/strict";
import { createSecretKey, X509Certificate } from "node:crypto";
import test from "node:test";
import { SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import {
  epochProof,
  fenceProof,
  formerProof,
  type OtherPlace,
  provesEpoch,
  provesFence,
  provesFormer,
  type ProvenEpoch,
} from "./proofs.ts";

const ROOT = createSecretKey(Buffer.alloc(32, 1));
const PROVEN: ProvenEpoch = {
  set: SET,
  kind: "dr",
  epoch: { number: 2, cluster: "0b8e2f3e-0000-4000-8000-00000000000b", first: "17" },
};
const OTHERS: readonly ProvenEpoch[] = [
  { ...PROVEN, set: "5f3d2c10-0000-4000-8000-0000000000ab" },
  { ...PROVEN, kind: "performance" },
  { ...PROVEN, epoch: { ...PROVEN.epoch, number: 3 } },
  { ...PROVEN, epoch: { ...PROVEN.epoch, cluster: "0b8e2f3e-0000-4000-8000-00000000000c" } },
  { ...PROVEN, epoch: { ...PROVEN.epoch, first: "18" } },
  // Parts that only together are the same text.
  { ...PROVEN, epoch: { number: 2, cluster: "0b8e2f3e-0000-4000-8000-0000000000a3", first: "7" } },
];

test("the proof of a fence is of one set, kind, epoch and cluster, and of one root key", () => {
  const proof = fenceProof(ROOT, PROVEN);
  assert.ok(provesFence(proof, ROOT, PROVEN));
  for (const other of OTHERS) assert.equal(provesFence(proof, ROOT, other), false);
  const another = createSecretKey(Buffer.alloc(32, 2));
  assert.equal(provesFence(proof, another, PROVEN), false);
  assert.equal(provesFence(proof.subarray(1), ROOT, PROVEN), false);
  assert.equal(provesFence(Buffer.alloc(0), ROOT, PROVEN), false);
});

test("the proof of an epoch is of one set, kind and epoch, and of one authority", async () => {
  const [stage, other] = await Promise.all([SetStage.start(), SetStage.start()]);
  const { authority } = stage.secondaries.material;
  const certificate = new X509Certificate(authority.certificate);
  const proof = epochProof(authority.key, PROVEN);
  assert.ok(provesEpoch(proof, certificate, PROVEN));
  for (const one of OTHERS) assert.equal(provesEpoch(proof, certificate, one), false);
  const foreign = new X509Certificate(other.secondaries.material.authority.certificate);
  assert.equal(provesEpoch(proof, foreign, PROVEN), false);
  const changed = Buffer.from(proof);
  changed[9]! ^= 1;
  assert.equal(provesEpoch(changed, certificate, PROVEN), false);
  assert.equal(provesEpoch(proof.subarray(1), certificate, PROVEN), false);
});

test("the proof of a former place is of one set, kind, certificate and cluster, and of one key", async () => {
  const [stage, other] = await Promise.all([SetStage.start(), SetStage.start()]);
  const { authority } = stage.secondaries.material;
  const certificate = new X509Certificate(authority.certificate);
  const place = {
    set: SET,
    kind: "dr",
    serial: "4a",
    clusterId: "0b8e2f3e-0000-4000-8000-00000000000b",
  } as const;
  const proof = formerProof(authority.key, place);
  assert.ok(provesFormer(proof, certificate, place));
  const others: readonly OtherPlace[] = [
    { ...place, set: "5f3d2c10-0000-4000-8000-0000000000ab" },
    { ...place, kind: "performance" },
    { ...place, serial: "4b" },
    { ...place, clusterId: "0b8e2f3e-0000-4000-8000-00000000000c" },
    { ...place, serial: "4ac", clusterId: "luster-b" },
  ];
  for (const one of others) assert.equal(provesFormer(proof, certificate, one), false);
  const foreign = new X509Certificate(other.secondaries.material.authority.certificate);
  assert.equal(provesFormer(proof, foreign, place), false);
  assert.equal(provesFormer(proof.subarray(1), certificate, place), false);
});
