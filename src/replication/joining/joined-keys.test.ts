// The keys of one cluster in another: real seals and shares on both sides, and every pair of seal types.

import assert from "node:assert/strict";
import { createSecretKey, type KeyObject } from "node:crypto";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import {
  crash,
  failure,
  give,
  initialised,
  makeNode,
  opened,
  type TestNode,
} from "../../../tests/support/servers/sealed-node.ts";
import { adoptRest, anchorOf } from "../../../tests/support/stores/adopted-store.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { storedCluster } from "../../seal/status.ts";
import { MemoryDisk, MemoryEngine } from "../../storage/engines/memory.ts";
import { HEAD_ROW } from "../../storage/rows/head.ts";
import { SystemRandom } from "../../system/random.ts";
import { makeJoinedStore, takeKeys } from "./joined-keys.ts";
import { bundleOf, type KeyBundle, openBundle, sealBundle } from "./key-bundle.ts";

const random = new SystemRandom();
const codec = jsonCodec<string>();
const MEMBER = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr", id: "berlin" } as const;
const CLUSTER = { name: "berlin-1", id: "0b8e2f3e-0000-4000-8000-000000000001" };
const SEAL_A = createSecretKey(Buffer.alloc(32, 0xa1));
const SEAL_B = createSecretKey(Buffer.alloc(32, 0xb2));
const TWO = { secretShares: 3, secretThreshold: 2 };
const RECOVERY = { recoveryShares: 3, recoveryThreshold: 2 };

/** As the other cluster reads it. */
function bundleFrom(primary: TestNode): KeyBundle {
  const { privateKey, publicKey } = makeHpkeKeys(random);
  return openBundle(sealBundle(bundleOf(primary), publicKey, MEMBER, random), privateKey, MEMBER);
}

async function primaryWith(staticKey: KeyObject | null) {
  const primary =
    staticKey === null ? await opened(TWO) : await initialised(RECOVERY, { staticKey });
  assert.equal(primary.node.keeper.sealed, false);
  await primary.node.barrier.view("shared/").write((tx) => tx.put("a", "1", codec));
  return primary;
}

/** The store of a cluster that has joined, with a new process on it; sealed where no seal opens it by itself. */
async function joinedTo(primary: TestNode, sealKey: KeyObject | null): Promise<TestNode> {
  const disk = new MemoryDisk();
  const engine = new MemoryEngine(disk);
  const { clock, log } = primary;
  const timers = { after: () => ({ cancel: () => {} }), turn: () => Promise.resolve() };
  const rootKey = await makeJoinedStore(
    engine,
    bundleFrom(primary),
    { cluster: CLUSTER, sealKey },
    { clock, timers, random, log },
    (tx) => tx.put("replication/role", "secondary", codec),
  );
  assert.ok(rootKey.equals(primary.barrier.rootKey));
  const node = makeNode({ disk, ...(sealKey === null ? {} : { staticKey: sealKey }) });
  await node.store.follow();
  await node.keeper.start();
  return node;
}

async function copyFrom(primary: TestNode, node: TestNode): Promise<void> {
  await node.store.beginAdopting(anchorOf(primary as never));
  await adoptRest(node as never, primary.engine);
  assert.equal(node.barrier.view("shared/").get("a", codec), "1");
}

for (const [name, from, to] of [
  ["shares to shares", null, null],
  ["shares to an auto seal", null, SEAL_B],
  ["an auto seal to another", SEAL_A, SEAL_B],
  ["an auto seal to shares", SEAL_A, null],
] as const) {
  test(`a cluster that joins has the quorum of the primary behind its own seal: ${name}`, async () => {
    const { node: primary, shares } = await primaryWith(from);
    const node = await joinedTo(primary, to);
    assert.equal(node.keeper.sealed, to === null);
    if (to === null) await give(node, shares.slice(0, 2));
    assert.equal(node.keeper.sealed, false);
    const status = node.keeper.status();
    assert.deepEqual([status.t, status.n, status.recoverySeal], [2, 3, to !== null]);
    assert.deepEqual(storedCluster(node.barrier.view("core/")), CLUSTER);
    assert.equal(node.barrier.view("core/").get("replication/role", codec), "secondary");
    assert.equal(node.store.index, 0n);
    await copyFrom(primary, node);
    assert.deepEqual(node.store.differsFrom(primary.engine.meta(HEAD_ROW)!), []);
    if (to !== null) {
      // Its recovery shares are the primary's shares, also where its own seal is lost.
      const next = await crash(node);
      await next.keeper.start();
      await give(next, shares.slice(1, 3), "recovery");
      assert.equal(next.keeper.sealed, false);
    }
  });
}

test("shares that were of the cluster before it joined open nothing", async () => {
  const before = await opened(TWO);
  const { node: primary } = await primaryWith(null);
  const node = await joinedTo(primary, null);
  await give(node, before.shares.slice(0, 1));
  await assert.rejects(give(node, before.shares.slice(1, 2)), failure("invalid", "invalid key"));
  assert.ok(node.keeper.sealed);
});

test("recovery shares that cannot unseal the primary cannot unseal an auto-sealed secondary either", async () => {
  const options = { ...RECOVERY, recoveryUnseal: false };
  const { node: primary } = await initialised(options, { staticKey: SEAL_A });
  const node = await joinedTo(primary, SEAL_B);
  assert.equal(node.keeper.status().recoveryCanUnseal, false);
});

for (const [name, sealKey] of [
  ["shares", null],
  ["an auto seal", SEAL_B],
] as const) {
  test(`after a rekey of the primary the secondary has its new shares and root key: ${name}`, async () => {
    const { node: primary, shares } = await primaryWith(null);
    const node = await joinedTo(primary, sealKey);
    if (sealKey === null) await give(node, shares.slice(0, 2));
    await copyFrom(primary, node);
    const old = bundleFrom(primary);
    const { nonce } = await primary.keeper.rekey.start(TWO);
    await primary.keeper.rekey.update({ key: shares[0]!, nonce });
    const { result } = await primary.keeper.rekey.update({ key: shares[1]!, nonce });
    const fresh = result!.keys.reveal();
    await primary.keeper.rotate();
    const here = { ...node, random };
    assert.equal(await takeKeys(bundleFrom(primary), here, sealKey), true);
    assert.equal(await takeKeys(bundleFrom(primary), here, sealKey), false);
    await assert.rejects(takeKeys(old, here, sealKey), failure("conflict", /older/));
    const next = await crash(node, sealKey === null ? {} : { staticKey: sealKey });
    const seal = sealKey === null ? "" : "recovery";
    if (sealKey !== null) {
      await next.keeper.start();
      assert.equal(next.keeper.sealed, false, "by itself");
      await next.keeper.seal();
    }
    await give(next, shares.slice(0, 1), seal);
    await assert.rejects(give(next, shares.slice(1, 2), seal), failure("invalid", "invalid key"));
    await next.keeper.unseal({ reset: true, local: true });
    await give(next, fresh.slice(0, 2), seal);
    assert.equal(next.keeper.sealed, false);
    assert.deepEqual(next.barrier.keysVersion, { generation: 2, term: 2 });
  });
}

test("an auto seal whose key is missing or another one takes no keys over", async () => {
  const { node: primary, shares } = await primaryWith(null);
  const node = await joinedTo(primary, SEAL_B);
  const { nonce } = await primary.keeper.rekey.start(TWO);
  for (const key of shares.slice(0, 2)) await primary.keeper.rekey.update({ key, nonce });
  const here = { ...node, random };
  for (const key of [null, SEAL_A]) {
    await assert.rejects(takeKeys(bundleFrom(primary), here, key), /seal/);
  }
  assert.deepEqual(node.barrier.keysVersion, { generation: 1, term: 1 });
});

test("a secondary is not rekeyed by itself", async () => {
  const { node: primary, shares } = await primaryWith(null);
  const node = await joinedTo(primary, null);
  await give(node, shares.slice(0, 2));
  await assert.rejects(node.keeper.rekey.start(TWO), failure("invalid", /rekey the primary/));
});

test("a rekey that began before a cluster became a secondary changes nothing there", async () => {
  const { node: primary, shares } = await primaryWith(null);
  const { nonce } = await primary.keeper.rekey.start(TWO);
  await primary.keeper.rekey.update({ key: shares[0]!, nonce });
  await primary.store.follow();
  await assert.rejects(
    primary.keeper.rekey.update({ key: shares[1]!, nonce }),
    failure("invalid", /rekey the primary/),
  );
  assert.deepEqual(primary.barrier.keysVersion, { generation: 1, term: 1 });
});

test("keys that are for another member, kind, set or key do not open, nor do those that were changed", async () => {
  const { node: primary } = await primaryWith(null);
  const { privateKey, publicKey } = makeHpkeKeys(random);
  const sealed = sealBundle(bundleOf(primary), publicKey, MEMBER, random);
  const unreadable = failure("upstream", /cannot be read here/);
  assert.ok(
    openBundle(sealed, privateKey, MEMBER).keys.treeKey.equals(bundleOf(primary).keys.treeKey),
  );
  for (const other of [
    { ...MEMBER, id: "paris" },
    { ...MEMBER, kind: "performance" },
    { ...MEMBER, set: "5f3d2c10-0000-4000-8000-0000000000ab" },
  ] as const) {
    assert.throws(() => openBundle(sealed, privateKey, other), unreadable);
  }
  assert.throws(() => openBundle(sealed, makeHpkeKeys(random).privateKey, MEMBER), unreadable);
  for (const at of [0, 1, 40, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[at]! ^= 4;
    assert.throws(() => openBundle(changed, privateKey, MEMBER), unreadable);
  }
  for (const length of [0, 1, 33, 60]) {
    assert.throws(() => openBundle(sealed.subarray(0, length), privateKey, MEMBER), unreadable);
  }
  assert.throws(
    () => sealBundle(bundleOf(primary), Buffer.alloc(32), MEMBER, random),
    failure("invalid", /secondary_public_key/),
  );
});
