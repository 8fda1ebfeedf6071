// A cluster joins another one with all that is real but the sockets: seals and shares, stores, certificates, and a link in
// memory. Then the primary rekeys, its certificate is renewed, and somebody else leads.

import assert from "node:assert/strict";
import { createSecretKey, type KeyObject, X509Certificate } from "node:crypto";
import test from "node:test";
import { jsonCodec } from "@holdfast/shared/codec";
import { DAY } from "@holdfast/shared/text/duration";
import { FakeClock } from "../../../tests/support/fake-world.ts";
import {
  failure,
  give,
  makeNode,
  opened,
  type TestNode,
} from "../../../tests/support/servers/sealed-node.ts";
import { ADDRESS, SET } from "../../../tests/support/replication/set-stage.ts";
import { renewMember } from "../../cluster/authority.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink } from "../../cluster/peer-link.ts";
import { verifyMember } from "../../cluster/verify.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { MemoryDisk, MemoryEngine } from "../../storage/engines/memory.ts";
import { SystemRandom } from "../../system/random.ts";
import { SystemTimers } from "../../system/timers.ts";
import type { BroughtRow } from "../links/orphans.ts";
import type { Epoch } from "../roles/role.ts";
import { type Activation, readActivation } from "./activation.ts";
import { makeToken } from "./activation-token.ts";
import {
  fence,
  fetchCertificate,
  fetchFirstKeys,
  fetchKeys,
  joiningCalls,
  renewCertificate,
  sendFence,
  sendOrphans,
} from "./calls.ts";
import { makeJoinedStore, takeKeys } from "./joined-keys.ts";
import { readKeysVersion, showKeysVersion } from "./key-bundle.ts";
import {
  forgetMembership,
  type Membership,
  putMemberKey,
  putMembership,
  storedMemberKey,
  storedMembership,
} from "./membership.ts";
import { fenceProof } from "./proofs.ts";
import { enablePrimary, makePrimary, Secondaries } from "./secondaries.ts";

const random = new SystemRandom();
const timers = new SystemTimers();
const codec = jsonCodec<string>();
const TWO = { secretShares: 3, secretThreshold: 2 };
const EPOCH: Epoch = { number: 1, cluster: "0b8e2f3e-0000-4000-8000-00000000000a", first: "1" };
const LATER: Epoch = { number: 2, cluster: "0b8e2f3e-0000-4000-8000-00000000000b", first: "9" };
const CLUSTER = { name: "berlin-1", id: "0b8e2f3e-0000-4000-8000-000000000001" };
const ROW: BroughtRow = { key: "leases/records/root/a/b", value: Buffer.from("secret of a lease") };
const SELF = { clusterId: CLUSTER.id, version: "0.1.0" };

class Stage {
  readonly clock = new FakeClock(BigInt(Date.now()) * 1_000_000n);
  readonly fences: Epoch[] = [];
  readonly brought: { readonly from: string; readonly rows: readonly BroughtRow[] }[] = [];
  readonly node: TestNode;
  readonly shares: readonly string[];
  readonly secondaries: Secondaries;

  private constructor(node: TestNode, shares: readonly string[]) {
    this.node = node;
    this.shares = shares;
    const view = node.barrier.view("core/replication/dr/");
    this.secondaries = new Secondaries({ view, kind: "dr", clock: this.clock, random });
  }

  static async start(): Promise<Stage> {
    const { node, shares } = await opened(TWO);
    const stage = new Stage(node, shares);
    const { clock } = stage;
    const material = await makePrimary({ set: SET, kind: "dr" }, { clock, random });
    await node.barrier.view("core/replication/dr/").write((tx) => enablePrimary(tx, material));
    return stage;
  }

  async activated(): Promise<Activation> {
    const place = { address: ADDRESS, epoch: EPOCH };
    const token = await makeToken(this.secondaries, { id: "berlin" }, place, random);
    assert.ok(token.form === "wrapped");
    return readActivation(token.wrap, "dr", { now: this.clock.now() });
  }

  get rootKey(): KeyObject {
    return this.node.barrier.rootKey;
  }

  /** A link that is open, as what the certificate proves. */
  async link(member: Membership): Promise<CarriedLink> {
    const peer = verifyMember(
      new X509Certificate(member.certificate),
      new X509Certificate(member.authority),
      member,
      this.clock.now(),
    );
    assert.ok(!("mismatch" in peer));
    const { node, secondaries, clock } = this;
    const ports = {
      ...node,
      secondaries,
      random,
      checkEpoch: (epoch: number) => {
        if (epoch !== EPOCH.number) throw new StatusError(Status.aborted, "another epoch");
      },
      fenced: async (epoch: Epoch) => {
        this.fences.push(epoch);
        return epoch.number > EPOCH.number ? epoch : EPOCH;
      },
      leads: () => true,
      adopt: async (rows: readonly BroughtRow[], from: string) => {
        this.brought.push({ from, rows });
        return { adopted: rows.length, known: 0, left: 0 };
      },
    };
    const set = {
      table: serviceTable(joiningCalls({ set: SET, kind: "dr" }, ports)),
      greet: async ({ clusterId, protocol }: { clusterId: string; protocol: number }) => {
        await secondaries.confirm(peer, clusterId);
        return { clusterId: "0b8e2f3e-0000-4000-8000-00000000000a", protocol, version: "0.1.0" };
      },
      isRevoked: () => false,
    };
    const link = new CarriedLink(new MemoryCarrier(set, peer, { clock, timers }), member);
    await link.open(SELF);
    return link;
  }
}

test("a cluster joins with nothing but a token, and follows a rekey of its primary", async () => {
  const stage = await Stage.start();
  const activation = await stage.activated();
  const link = await stage.link(activation);
  const { privateKey } = makeHpkeKeys(random);
  const bundle = await fetchFirstKeys(link, activation, privateKey, 1);
  // Whoever tries again, after a crash, gets them again.
  await fetchFirstKeys(link, activation, privateKey, 1);
  const disk = new MemoryDisk();
  const { clock, log } = stage.node;
  await makeJoinedStore(
    new MemoryEngine(disk),
    bundle,
    { cluster: CLUSTER, sealKey: null },
    { clock, timers, random, log },
    (tx, _raw, view) => {
      const own = tx.on(view("core/replication/dr/"));
      putMembership(own, activation);
      putMemberKey(own, privateKey);
    },
  );
  const node = makeNode({ disk });
  await node.store.follow();
  await give(node, stage.shares.slice(0, 2));
  const view = node.barrier.view("core/replication/dr/");
  const membership = storedMembership(view, "dr")!;
  assert.deepEqual(
    [membership.id, membership.set, membership.serial, membership.expires],
    ["berlin", SET, activation.serial, activation.expires],
  );
  const version = () => showKeysVersion(node.barrier.keysVersion);
  assert.equal(version(), "1.1");
  const { nonce } = await stage.node.keeper.rekey.start(TWO);
  for (const key of stage.shares.slice(0, 2)) {
    await stage.node.keeper.rekey.update({ key, nonce });
  }
  await stage.node.keeper.rotate();
  const key = storedMemberKey(view)!;
  const later = await fetchKeys(await stage.link(membership), membership, key, 1);
  assert.ok(await takeKeys(later, { ...node, random }, null));
  assert.equal(version(), showKeysVersion(stage.node.barrier.keysVersion));
  assert.equal(version(), "2.2");
  await view.write((tx) => tx.put("role", "secondary", codec));
  await view.write((tx) => forgetMembership(tx));
  assert.deepEqual([storedMembership(view, "dr"), storedMemberKey(view)], [null, null]);
});

test("keys go to a member with its own key, in the epoch of the set, and not to one that is revoked", async () => {
  const stage = await Stage.start();
  const activation = await stage.activated();
  const link = await stage.link(activation);
  const { privateKey } = makeHpkeKeys(random);
  const refused = (status: number) => (error: unknown) =>
    error instanceof StatusError && error.status === status;
  await assert.rejects(
    fetchKeys(link, activation, privateKey, 1),
    refused(Status.permissionDenied),
  );
  await assert.rejects(fetchFirstKeys(link, activation, privateKey, 2), refused(Status.aborted));
  await fetchFirstKeys(link, activation, privateKey, 1);
  const other = makeHpkeKeys(random).privateKey;
  await assert.rejects(
    fetchFirstKeys(link, activation, other, 1),
    refused(Status.permissionDenied),
  );
  await assert.rejects(
    fetchKeys(link, activation, other, 1),
    failure("upstream", /cannot be read here/),
  );
  await assert.rejects(fetchKeys(link, activation, privateKey, 2), refused(Status.aborted));
  await stage.secondaries.revoke("berlin");
  for (const call of [
    () => fetchKeys(link, activation, privateKey, 1),
    () => fetchFirstKeys(link, activation, privateKey, 1),
    () => fetchCertificate(link, activation, 1, stage.clock),
    () =>
      sendFence(link, activation, LATER, {
        rootKey: stage.node.barrier.rootKey,
        from: LATER.cluster,
      }),
    () => sendFence(link, activation, LATER, { rootKey: stage.rootKey, from: "" }),
    () => sendOrphans(link, activation, [ROW], { epoch: 1, rootKey: stage.rootKey, random }),
  ]) {
    await assert.rejects(call(), refused(Status.permissionDenied));
  }
  assert.deepEqual([stage.fences, stage.brought], [[], []]);
});

test("R-108: a member gets another certificate when it is time, for a key that does not leave it", async () => {
  const stage = await Stage.start();
  const activation = await stage.activated();
  const first = await stage.link(activation);
  await assert.rejects(fetchCertificate(first, activation, 1, stage.clock), /two thirds/);
  stage.clock.pass(250n * DAY);
  const link = await stage.link(activation);
  const renewed = await fetchCertificate(link, activation, 1, stage.clock);
  assert.equal(renewed.id, "berlin");
  assert.ok(renewed.expires > activation.expires);
  assert.notDeepEqual(renewed.key, activation.key);
  stage.clock.pass(200n * DAY);
  await stage.link(renewed);
  const { authority } = stage.secondaries.material;
  const ofOther = {
    call: async (_: unknown, { publicKey }: { publicKey: Uint8Array }) =>
      await renewMember(authority, "paris", publicKey, { clock: stage.clock, random }),
  } as unknown as CarriedLink;
  const unusable = failure("upstream", /not one for this secondary/);
  await assert.rejects(fetchCertificate(ofOther, renewed, 1, stage.clock), unusable);
  const late = await stage.link(renewed);
  stage.clock.pass(50n * DAY);
  const another = { ...renewed, expires: stage.clock.now() + 900n * DAY };
  await assert.rejects(fetchCertificate(late, another, 1, stage.clock), unusable);
  await assert.rejects(fetchCertificate(late, renewed, 2, stage.clock), /another epoch/);
  // What is no certificate of its own is not taken for one.
  for (const certificate of [activation.certificate, renewed.certificate, Buffer.from("x")]) {
    const deceiving = {
      call: (method: unknown) => {
        assert.equal(method, renewCertificate);
        return Promise.resolve({ certificate });
      },
    } as unknown as CarriedLink;
    await assert.rejects(
      fetchCertificate(deceiving, { ...renewed, expires: 0n }, 1, stage.clock),
      failure("upstream", /not one for this secondary/),
    );
  }
});

test("a fence needs the keys of the set, and is of one epoch", async () => {
  const stage = await Stage.start();
  const link = await stage.link(await stage.activated());
  const name = { set: SET, kind: "dr" } as const;
  const { rootKey } = stage.node.barrier;
  const another = createSecretKey(Buffer.alloc(32, 3));
  await assert.rejects(
    sendFence(link, name, LATER, { rootKey: another, from: LATER.cluster }),
    /does not prove/,
  );
  const elsewhere = { ...name, kind: "performance" } as const;
  await assert.rejects(
    sendFence(link, elsewhere, LATER, { rootKey, from: LATER.cluster }),
    /does not prove/,
  );
  const senseless = { ...LATER, first: "-1" };
  await assert.rejects(
    sendFence(link, name, senseless, { rootKey, from: LATER.cluster }),
    /does not prove/,
  );
  for (const unreal of ["nobody", "\u001b[31m", ""]) {
    const epoch = { ...LATER, cluster: unreal };
    const by = { rootKey, from: unreal };
    await assert.rejects(sendFence(link, name, epoch, by), /does not prove/);
  }
  assert.deepEqual(stage.fences, []);
  const by = { rootKey, from: LATER.cluster };
  const answer = {
    leads: true,
    isProved: false,
    isRevoked: false,
    candidates: [],
    siblings: [],
  };
  assert.deepEqual(await sendFence(link, name, LATER, by), { ...answer, leading: LATER });
  const earlier = { ...EPOCH, number: EPOCH.number - 1 };
  assert.deepEqual(await sendFence(link, name, earlier, by), { ...answer, leading: EPOCH }); // who leads there
  assert.deepEqual(stage.fences, [LATER, earlier]);
});

test("who leads by the answer to a fence is taken from nobody but who has the keys of the set", async () => {
  const stage = await Stage.start();
  const link = await stage.link(await stage.activated());
  const name = { set: SET, kind: "dr" } as const;
  const { rootKey } = stage.node.barrier;
  const { number, cluster, first } = LATER;
  const proof = fenceProof(rootKey, { ...name, epoch: LATER });
  const epochProof = Buffer.alloc(0);
  const words = { from: cluster, candidacy: "", revoked: [], disowned: "", epochProof };
  const sent = { epoch: number, cluster, first, proof, ...words };
  const good = await link.call(fence, sent);
  for (const change of [
    { proof: Buffer.alloc(32) },
    { proof: Buffer.alloc(0), epoch: 0, cluster: "", first: "" },
    { cluster: "another" },
    { first: "x" },
  ]) {
    const answer = { ...good, ...change };
    const deceiving = { call: () => Promise.resolve(answer) } as unknown as CarriedLink;
    await assert.rejects(
      sendFence(deceiving, name, LATER, { rootKey, from: LATER.cluster }),
      /does not prove/,
    );
  }
});

test("what was made outside is handed over with the keys of the set alone, and in its epoch", async () => {
  const stage = await Stage.start();
  const activation = await stage.activated();
  const link = await stage.link(activation);
  const { rootKey } = stage;
  const refused = (status: number) => (error: unknown) =>
    error instanceof StatusError && error.status === status;
  const send = (by: object, of = activation.set) =>
    sendOrphans(link, { set: of, kind: "dr" }, [ROW], { epoch: 1, rootKey, random, ...by });
  const another = createSecretKey(Buffer.alloc(32, 3));
  await assert.rejects(send({ rootKey: another }), refused(Status.permissionDenied));
  await assert.rejects(send({}, "another set"), refused(Status.permissionDenied));
  await assert.rejects(send({ epoch: 2 }), refused(Status.aborted));
  assert.equal(stage.brought.length, 0);
  assert.deepEqual(await send({}), { adopted: 1, known: 0, left: 0 });
  const brought = stage.brought.at(-1);
  assert.equal(brought?.from, "berlin");
  assert.deepEqual(
    brought.rows.map(({ key, value }) => [key, Buffer.from(value).toString()]),
    [[ROW.key, "secret of a lease"]],
  );
});

test("the version of keys is one text, and what is none is told apart", () => {
  const version = { generation: 3, term: 41 };
  assert.deepEqual(readKeysVersion(showKeysVersion(version)), version);
  for (const text of [
    "",
    "3",
    "3.",
    "a.b",
    "1.2.3",
    "-1.2",
    "1.99999999999",
    `${"9".repeat(20)}.1`,
  ]) {
    assert.equal(readKeysVersion(text), null, text);
  }
});
