// Whom a cluster calls before it is promoted, and by what they know it.

import assert from "node:assert/strict";
import test from "node:test";
import { ADDRESS, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { issueMember } from "../../cluster/authority.ts";
import { putMembership } from "../joining/membership.ts";
import { type KnownSecondary, putRevoked, putSecondary } from "../joining/primary-rows.ts";
import { isItself } from "../joining/whose-id.ts";
import type { Secondary } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import { othersOf } from "./others.ts";
import { keepFormer, putSiblings, putSiblingsRevoked, revokeSiblings } from "./upstream.ts";

const idOf = (n: number) => `0b8e2f3e-0000-4000-8000-00000000000${n}`;
const placeOf = (n: number) => `https://10.1.2.${n}:8201`;
const OWN = idOf(1);
const DEMOTED: Secondary = {
  mode: "secondary",
  set: SET,
  epoch: { number: 2, cluster: idOf(9), first: "7" },
  id: "",
  address: "",
  known: null,
  copied: true,
  final: "40",
  led: true,
  mayRewind: false,
  promoting: null,
};
const FOLLOWS: Secondary = { ...DEMOTED, id: "own", address: ADDRESS, final: null };

const sibling = (n: number): Sibling => ({
  id: `site-${n}`,
  cluster: idOf(n),
  serials: [`4${n}`],
  digests: [],
  addresses: [placeOf(n)],
});

/** A cluster that has led, and its secondaries. */
async function stage() {
  const { view, clock, made, secondaries } = await SetStage.start();
  const { random } = made.world;
  const { authority } = secondaries.material;
  const world = { kind: "dr" as const, view, clock, random, clusterId: () => OWN };
  /** The n-th second in which it came; null: never. */
  const knows = (id: string, cluster: number, came: bigint | null, more: Partial<Sibling> = {}) => {
    const { serials = [`5${cluster}`], addresses = [placeOf(cluster)] } = more;
    const known: KnownSecondary = {
      id,
      certificates: serials.map((serial) => ({ serial, expires: clock.now() })),
      created: 0n,
      activateBy: 0n,
      used: came === null ? null : came * 1_000_000_000n,
      clusterId: came === null ? "" : idOf(cluster),
      publicKey: null,
      transactionBytes: null,
      addresses,
      attests: null,
    };
    return view.write((tx) => putSecondary(tx, known));
  };
  /** It has followed another primary, by a certificate of that one. */
  const followed = async ({ isFormer = false } = {}) => {
    const other = await SetStage.start();
    const { authority: theirs } = other.secondaries.material;
    const issued = await issueMember(theirs, "own", { clock, random });
    await view.write((tx) => {
      const { certificate } = theirs;
      putMembership(tx, { set: SET, kind: "dr", id: "own", authority: certificate, ...issued });
      if (isFormer) {
        const former = { addresses: [ADDRESS], cluster: idOf(8) };
        keepFormer(tx, former, { kind: "dr", isHeard: false, now: clock.now() });
      }
    });
    return issued.serial;
  };
  const others = (role: Secondary) => othersOf(role, world);
  return { view, clock, authority, knows, followed, others };
}

test("a cluster that has led calls each of its secondaries once, under the id that it came with last, by all certificates of it", async () => {
  const { knows, others } = await stage();
  await knows("z-first", 2, 9n, { serials: ["51"], addresses: [placeOf(7)] });
  await knows("a-last", 2, 10n, { serials: ["52", "53"] });
  await knows("moved", 3, 5n);
  await knows("again", 3, 6n, { serials: ["54"], addresses: [] });
  await knows("never", 4, null);
  const [own, ...more] = await others(DEMOTED);
  assert.deepEqual(more, []);
  assert.deepEqual(own?.siblings, [
    { id: "again", cluster: idOf(3), serials: ["53", "54"], addresses: [placeOf(3)], digests: [] },
    {
      id: "a-last",
      cluster: idOf(2),
      serials: ["51", "52", "53"],
      addresses: [placeOf(2)],
      digests: [],
    },
  ]);
});

test("it comes by a certificate of its authority, and proves that it is the one that has it; whom it has revoked it does not believe", async () => {
  const { view, clock, authority, knows, others } = await stage();
  await knows("site-2", 2, 1n);
  await view.write((tx) => {
    for (const serial of ["61", "62"]) putRevoked(tx, "gone", { serial, expires: clock.now() });
  });
  const [own] = await others(DEMOTED);
  assert.ok(own !== undefined);
  const { member, formers = [], revoked, primary } = own;
  assert.deepEqual([revoked, primary], [["61", "62"], []]);
  assert.deepEqual(member.authority, authority.certificate);
  const known = {
    id: "",
    authority: authority.certificate,
    serials: [],
    digests: [],
    hasLed: true,
  };
  const place = { set: SET, kind: "dr", serial: member.serial, clusterId: OWN } as const;
  assert.ok(isItself(known, formers, place, clock.now()));
});

test("it calls nobody by its authority while it follows, in another set, or where nobody came", async () => {
  const { knows, others } = await stage();
  await knows("never", 4, null);
  assert.deepEqual(await others(DEMOTED), []);
  await knows("site-2", 2, 1n);
  assert.equal((await others(DEMOTED)).length, 1);
  assert.deepEqual(await others({ ...DEMOTED, set: idOf(9) }), []);
  assert.deepEqual(await others({ ...DEMOTED, id: "own" }), []);
});

test("who follows calls those beside it by its certificate, and its primary where that has gone", async () => {
  const { view, followed, others } = await stage();
  const serial = await followed();
  await view.write((tx) => {
    putSiblings(tx, [sibling(2)]);
    putSiblingsRevoked(tx, ["71"]);
  });
  const [beside, ...more] = await others(FOLLOWS);
  assert.deepEqual(more, []);
  assert.equal(beside?.member.serial, serial);
  assert.deepEqual([beside.siblings, beside.revoked], [[sibling(2)], ["71"]]);
  assert.deepEqual([beside.primary, beside.formers], [[], undefined]);
  const [gone] = await others({ ...FOLLOWS, final: "40" });
  assert.deepEqual(gone?.primary, [ADDRESS]);
});

test("who has led in the place of another calls those beside that one too, but each cluster once", async () => {
  const { view, knows, followed, others } = await stage();
  const serial = await followed({ isFormer: true });
  await view.write((tx) => {
    putSiblings(tx, [sibling(2), sibling(3), sibling(4)]);
    putSiblingsRevoked(tx, ["71"]);
    revokeSiblings(tx, ({ cluster }) => cluster === idOf(4));
  });
  await knows("site-2", 2, 1n);
  const [beside, own] = await others(DEMOTED);
  assert.equal(beside?.member.serial, serial);
  assert.deepEqual(beside.siblings, [sibling(3)]);
  assert.deepEqual(beside.revoked, ["71", "44"]);
  assert.deepEqual(beside.primary, [ADDRESS]);
  assert.deepEqual(own?.siblings, [{ ...sibling(2), serials: ["52"] }]);
});
