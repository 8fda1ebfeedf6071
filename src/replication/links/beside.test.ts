// Who may tell a member beside the primary who leads: a sibling that the primary names now, at the hello and at every call.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { makeAuthority } from "../../cluster/authority.ts";
import { NO_STANDING } from "../../cluster/hello.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink, type Self } from "../../cluster/peer-link.ts";
import type { SetToServe } from "../../cluster/port-set.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SystemRandom } from "../../system/random.ts";
import { sendFence } from "../joining/calls.ts";
import { formerPlace } from "../joining/whose-id.ts";
import { type Candidacy, Candidates } from "../roles/candidates.ts";
import type { Epoch } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import { Beside } from "./beside.ts";

const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const OWN = "0b8e2f3e-0000-4000-8000-000000000001";
const OTHER = "0b8e2f3e-0000-4000-8000-000000000002";
const SELF = { clusterId: OTHER, version: "0.1.0" };
const LATER: Epoch = { number: 2, cluster: OTHER, first: "7" };
const EARLIER: Epoch = { number: 1, cluster: OWN, first: "1" };
const NAMED: Sibling = {
  id: "paris",
  cluster: OTHER,
  addresses: [],
  serials: ["4a", "4b"],
  digests: [],
};

function stage(authority: Uint8Array = new Uint8Array(0), candidates?: Pick<Candidates, "hear">) {
  const world = fakeWorld();
  const rootKey = createSecretKey(Buffer.alloc(32, 5));
  const heard: Epoch[] = [];
  const revoked: string[] = [];
  const refused: string[] = [];
  let leading = (epoch: Epoch) => epoch;
  let siblings: readonly Sibling[] = [NAMED];
  let served: SetToServe | null = null;
  const beside = new Beside(
    {
      barrier: { rootKey },
      clock: world.clock,
      version: "0.1.0",
      clusterId: () => OWN,
      siblings: () => siblings,
      revoked: () => ["4e", ...revoked],
      leads: () => false,
      ...(candidates === undefined ? {} : { candidates }),
      fenced: async (epoch) => {
        heard.push(epoch);
        return leading(epoch);
      },
      revoke: async (serials) => void revoked.push(...serials),
    },
    {
      serve: (set) => (served = set),
      revoke: () => 0,
      refuseOnly: (name, serials) => {
        assert.equal(name.beside, true);
        refused.splice(0, refused.length, ...serials);
      },
      forget: () => (served = null),
    },
    {
      ...SET,
      id: "rome",
      authority,
      certificate: new Uint8Array(0),
      key: new Uint8Array(0),
    },
  );
  beside.open();
  const linkOf = (serial: string, digest = "") => {
    assert.ok(served !== null);
    const shows = digest === "" ? {} : { digest };
    const expires = world.clock.now() + 10n ** 18n;
    const peer = { ...SET, id: "paris", serial, expires, ...shows };
    const { table, greet } = served as SetToServe;
    const carrier = new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world);
    return new CarriedLink(carrier, peer);
  };
  const say = (link: CarriedLink) => sendFence(link, SET, LATER, { rootKey, from: OTHER });
  /** A hello as the port hands it on. `proofs`: how often one was looked at. */
  const greeted = async (serial: string, clusterId: string, certificates: Uint8Array[]) => {
    let proofs = 0;
    const formers = certificates.map((certificate) => ({
      certificate,
      get proof() {
        proofs++;
        return new Uint8Array(132);
      },
    }));
    const hello = { ...NO_STANDING, ...SET, secondaryId: "paris", protocol: 1, version: "" };
    const peer = { ...SET, id: "paris", serial, expires: world.clock.now() + 10n ** 18n };
    const taken = await (served as SetToServe | null)!
      .greet({ ...hello, clusterId, formers }, peer)
      .then(
        () => true,
        () => false,
      );
    return { taken, proofs };
  };
  return {
    heard,
    revoked,
    refused,
    greeted,
    pass: (time: bigint) => world.clock.pass(time),
    refusedByPort: () => [...(served as SetToServe | null)!.revoked],
    rootKey,
    /** Nobody is believed. */
    doubts: () => (leading = () => EARLIER),
    linkOf,
    say,
    forgetAll: () => (siblings = []),
    knows: (one: Sibling) => (siblings = [one]),
  };
}

const refused = (error: unknown) =>
  error instanceof StatusError && error.status === Status.permissionDenied;

test("one that the primary names is heard, by each of its certificates", async () => {
  const { heard, linkOf, say } = stage();
  for (const serial of NAMED.serials) {
    const link = linkOf(serial);
    assert.equal((await link.open(SELF)).clusterId, OWN);
    assert.deepEqual((await say(link)).leading, LATER);
    await link.close();
  }
  assert.deepEqual(heard, [LATER, LATER]);
});

test("whose certificates are known is heard by those, and not by another with the serial of one", async () => {
  const { heard, linkOf, say, knows } = stage();
  knows({ ...NAMED, digests: ["a4".repeat(32), "b4".repeat(32)] });
  const link = linkOf("4b", "b4".repeat(32));
  await link.open(SELF);
  assert.deepEqual((await say(link)).leading, LATER);
  await assert.rejects(linkOf("4b", "c4".repeat(32)).open(SELF), refused);
  await assert.rejects(linkOf("4b").open(SELF), refused);
  assert.deepEqual(heard, [LATER]);
});

test("one certificate without a known digest leaves those of the others in force", async () => {
  const { heard, linkOf, say, knows } = stage();
  knows({ ...NAMED, digests: ["", "b4".repeat(32)] });
  const older = linkOf("4a", "c4".repeat(32));
  await older.open(SELF);
  assert.deepEqual((await say(older)).leading, LATER);
  await assert.rejects(linkOf("4b", "c4".repeat(32)).open(SELF), refused);
  await assert.rejects(linkOf("4b").open(SELF), refused);
  // Where it is not said whose each one is, all of them are.
  knows({ ...NAMED, digests: ["b4".repeat(32)] });
  await assert.rejects(linkOf("4a", "c4".repeat(32)).open(SELF), refused);
  const newer = linkOf("4a", "b4".repeat(32));
  await newer.open(SELF);
  assert.deepEqual(heard, [LATER]);
});

test("one that it does not name is refused at its hello, and learns nothing of this cluster", async () => {
  const { heard, linkOf } = stage();
  await assert.rejects(linkOf("4c").open(SELF), refused);
  assert.deepEqual(heard, []);
});

test("one that it names no longer is refused at its next call, though its session lasts", async () => {
  const { heard, linkOf, say, forgetAll } = stage();
  const link = linkOf("4a");
  await link.open(SELF);
  forgetAll();
  await assert.rejects(say(link), refused);
  assert.deepEqual(heard, []);
  await link.close();
});

test("whom another one has revoked is taken from it where it leads, and says so itself", async () => {
  const { revoked, refused, refusedByPort, rootKey, linkOf, doubts } = stage();
  assert.deepEqual(refusedByPort(), ["4e"], "those of before");
  const link = linkOf("4a");
  await link.open(SELF);
  const say = (from: string) =>
    sendFence(link, SET, LATER, { rootKey, from, revoked: ["no", "4b", "04b", ""] });
  await say(OWN);
  assert.deepEqual(revoked, [], "of another it proves nothing");
  await say(OTHER);
  assert.deepEqual([revoked, refused], [["4b"], ["4e", "4b"]]);
  doubts();
  await say(OTHER);
  assert.deepEqual(revoked, ["4b"], "it does not lead, as far as is known here");
  await link.close();
});

test("who has the authority is heard by what only it can sign, for itself alone and for this one certificate", async () => {
  const { clock } = fakeWorld();
  const random = new SystemRandom();
  const [authority, foreign] = await Promise.all([
    makeAuthority(SET, { clock, random }),
    makeAuthority(SET, { clock, random }),
  ]);
  const { heard, rootKey, linkOf } = stage(authority.certificate);
  const clusterId = "0b8e2f3e-0000-4000-8000-000000000003";
  const place = { ...SET, serial: "4c", clusterId };
  const wrong: readonly Self[] = [
    { ...SELF, clusterId },
    { ...SELF, clusterId, formers: [formerPlace(foreign, place)] },
    { ...SELF, clusterId, formers: [formerPlace(authority, { ...place, serial: "4d" })] },
    { ...SELF, formers: [formerPlace(authority, { ...place, clusterId: OTHER })] },
    {
      ...SELF,
      clusterId: OWN,
      formers: [formerPlace(authority, { ...place, clusterId: OWN })],
    },
  ];
  for (const self of wrong) await assert.rejects(linkOf("4c").open(self), refused);
  const link = linkOf("4c");
  await link.open({ ...SELF, clusterId, formers: [formerPlace(authority, place)] });
  const later = { ...LATER, cluster: clusterId };
  const { leading } = await sendFence(link, SET, later, { rootKey, from: clusterId });
  assert.deepEqual([leading, heard], [later, [later]]);
  await link.close();
});

test("who has the authority is one cluster, by however many certificates, and no other text", async () => {
  const { clock } = fakeWorld();
  const authority = await makeAuthority(SET, { clock, random: new SystemRandom() });
  const stood: string[] = [];
  const hear = (cluster: string) => {
    stood.push(cluster);
    return [];
  };
  const { rootKey, linkOf } = stage(authority.certificate, { hear });
  const stands = async (serial: string, clusterId: string) => {
    const link = linkOf(serial);
    const formers = [formerPlace(authority, { ...SET, serial, clusterId })];
    try {
      await link.open({ ...SELF, clusterId, formers });
      await sendFence(link, SET, EARLIER, { rootKey, from: clusterId, candidacy: "stands" });
    } finally {
      await link.close();
    }
  };
  const primary = "0b8e2f3e-0000-4000-8000-000000000003";
  await assert.rejects(stands("90", "all is well\n\u001b[2J"), refused);
  await stands("91", primary);
  await stands("92", primary);
  await assert.rejects(stands("93", "0b8e2f3e-0000-4000-8000-000000000004"), refused);
  assert.deepEqual(stood, [primary, primary]);
});

test("the primary is known by the last eight certificates that it came with", async () => {
  const { clock } = fakeWorld();
  const authority = await makeAuthority(SET, { clock, random: new SystemRandom() });
  const { rootKey, linkOf } = stage(authority.certificate);
  const clusterId = "0b8e2f3e-0000-4000-8000-000000000003";
  const links: CarriedLink[] = [];
  for (let i = 0; i < 9; i++) {
    const serial = `9${i}`;
    const link = linkOf(serial);
    links.push(link);
    const formers = [formerPlace(authority, { ...SET, serial, clusterId })];
    await link.open({ ...SELF, clusterId, formers });
  }
  const [oldest, ...others] = links;
  const says = (link: CarriedLink) => sendFence(link, SET, LATER, { rootKey, from: clusterId });
  await assert.rejects(says(oldest!), refused);
  for (const link of others) assert.deepEqual((await says(link)).leading, LATER);
  for (const link of links) await link.close();
});

test("who has the authority withdraws nobody else's candidacy, also under the name of that one", async () => {
  const { clock } = fakeWorld();
  const authority = await makeAuthority(SET, { clock, random: new SystemRandom() });
  const candidates = new Candidates(
    clock,
    () => OWN,
    () => 1,
  );
  const { rootKey, linkOf } = stage(authority.certificate, candidates);
  const primary = "0b8e2f3e-0000-4000-8000-000000000003";
  const says = async (serial: string, clusterId: string, candidacy: Candidacy) => {
    const link = linkOf(serial);
    const formers = [formerPlace(authority, { ...SET, serial, clusterId })];
    await link.open({ ...SELF, clusterId, formers });
    const answer = await sendFence(link, SET, EARLIER, { rootKey, from: clusterId, candidacy });
    await link.close();
    return answer.candidates;
  };
  await says("4a", OTHER, "stands");
  await says("91", primary, "withdraws");
  assert.deepEqual(await says("91", primary, "asks"), [OTHER]);
  await says("91", primary, "stands");
  assert.deepEqual(await says("4a", OTHER, "asks"), [primary]);
  await says("4a", OTHER, "withdraws");
  assert.deepEqual(await says("91", primary, "asks"), []);
});

test("a signature is looked at where nothing else tells that it is not the primary, once in a hello and six times in a minute", async () => {
  const { clock } = fakeWorld();
  const random = new SystemRandom();
  const authority = await makeAuthority(SET, { clock, random });
  const foreign = await makeAuthority(SET, { clock, random });
  const own = authority.certificate;
  const { greeted, pass } = stage(own);
  const clusterId = "0b8e2f3e-0000-4000-8000-000000000003";
  assert.deepEqual(await greeted("4a", OTHER, [own]), { taken: true, proofs: 0 });
  const refusedUnseen = { taken: false, proofs: 0 };
  for (const cluster of [OTHER, OWN, "", "all is well"]) {
    assert.deepEqual(await greeted("90", cluster, [own]), refusedUnseen, cluster);
  }
  assert.deepEqual(await greeted("90", clusterId, []), refusedUnseen);
  assert.deepEqual(await greeted("90", clusterId, [foreign.certificate, own.slice(1)]), {
    ...refusedUnseen,
  });
  const seen = [];
  for (let i = 0; i < 10; i++) seen.push((await greeted("90", clusterId, [own, own, own])).proofs);
  assert.deepEqual(seen, [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
  pass(MINUTE);
  assert.equal((await greeted("90", clusterId, [own])).proofs, 1);
});
