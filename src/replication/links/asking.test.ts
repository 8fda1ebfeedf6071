// What one that is to be promoted hears from the other members: all at once and for five seconds in the whole, also from those
// that others name; and nothing of one that was revoked.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { type FakeWorld, fakeWorld, nextTurn } from "../../../tests/support/fake-world.ts";
import type { Greeting } from "../../cluster/hello.ts";
import { MemoryCarrier, STRAIGHT, type Way } from "../../cluster/memory-carrier.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { SystemNet } from "../../system/net.ts";
import { fenceCall } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import type { Sibling } from "../stream/messages.ts";
import { callOthers, type Found } from "./asking.ts";
import type { DialledMember } from "./dialing.ts";

const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const idOf = (n: number) => `0b8e2f3e-0000-4000-8000-00000000000${n}`;
const OWN = idOf(1);
const EPOCH: Epoch = { number: 2, cluster: idOf(9), first: "7" };
const NONE = new Uint8Array(0);
const NOWHERE = new Promise<never>(() => {});

interface Member {
  readonly knows?: readonly Sibling[];
  readonly stands?: readonly string[];
  readonly leading?: Epoch;
  /** As which it greets. Default: as itself. */
  readonly as?: string;
  /** Whether it says itself that it leads. */
  readonly leads?: boolean;
  readonly hangs?: boolean;
  /** Nobody is there, and nobody says so. */
  readonly isDead?: boolean;
  /** Somebody is there, and a connection never stands. */
  readonly isMute?: boolean;
  /** Of the way there, for one turn to and fro. */
  readonly roundTrip?: Nanos;
}

const sibling = (n: number): Sibling => ({
  id: `site-${n}`,
  cluster: idOf(n),
  serials: [`4${n}`],
  digests: [],
  addresses: [`https://10.1.2.${n}:8201`],
});

/** Members by their numbers, of which this one knows some. */
function stage(members: Readonly<Record<number, Member>>) {
  const world = fakeWorld();
  const rootKey = createSecretKey(Buffer.alloc(32, 5));
  const called: number[] = [];
  const expected: (readonly string[] | undefined)[] = [];
  const carrierTo = ({ host }: { readonly host: string }, { digests }: DialledMember) => {
    const number = Number(host.split(".").at(-1));
    called.push(number);
    expected.push(digests);
    const { knows = [], stands = [], leading, as = idOf(number), hangs } = members[number] ?? {};
    const { leads = false, isDead = false, isMute = false, roundTrip = 0n } = members[number] ?? {};
    const after = (time: Nanos) =>
      new Promise<void>((resolve) => void world.timers.after(time, resolve));
    const late: Way = {
      reach: () => (isDead ? NOWHERE : after(roundTrip)), // TCP
      connect: () => (isMute ? NOWHERE : after(roundTrip)), // TLS
      pass: () => after(roundTrip / 2n),
    };
    const way = isDead || isMute || roundTrip > 0n ? late : STRAIGHT;
    const peer = { ...SET, id: "own", serial: "41", expires: world.clock.now() + 10n ** 18n };
    const greet = async (): Promise<Greeting> => ({ clusterId: as, protocol: 1, version: "0.1.0" });
    const table = serviceTable([
      fenceCall(SET, {
        secondaries: { assertKnown: () => {}, clusterOf: () => OWN },
        barrier: { rootKey },
        fenced: async (epoch) => (hangs === true ? await NOWHERE : (leading ?? epoch)),
        leads: () => leads,
        candidates: { hear: () => stands },
        siblings: () => knows,
      }),
    ]);
    return new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world, way);
  };
  const member = {
    ...SET,
    id: "own",
    authority: NONE,
    certificate: NONE,
    key: NONE,
    serial: "41",
    expires: 10n ** 18n,
  };
  const call = (
    siblings: readonly Sibling[],
    revoked: readonly string[] = [],
    revokedClusters: readonly string[] = [],
  ) =>
    callOthers([{ member, siblings, revoked, revokedClusters, primary: [] }], EPOCH, "stands", {
      ...world,
      net: new SystemNet(),
      barrier: { rootKey },
      clusterId: () => OWN,
      version: "0.1.0",
      carrierTo,
    });
  return { world, called, expected, call };
}

const clusters = ({ named }: Found) => named.map(({ cluster }) => cluster);

/** What comes of it, and how long it took. */
async function timed(world: FakeWorld, calling: Promise<Found>): Promise<[Found, Nanos]> {
  let found: Found | null = null;
  void calling.then((all) => (found = all));
  for (let time = 0n; ; time += 100n * MILLISECOND) {
    for (let turn = 0; turn < 50 && found === null; turn++) await nextTurn();
    if (found !== null) return [found, time];
    assert.ok(time < 60n * SECOND);
    await world.timers.advance(100n * MILLISECOND);
  }
}

test("one that hangs costs five seconds in the whole, and whom the others name is called meanwhile", async () => {
  const { world, called, call } = stage({
    2: { hangs: true },
    3: { knows: [sibling(4)] },
    4: { stands: [idOf(4)] },
  });
  let found: Found | null = null;
  void call([sibling(2), sibling(3)]).then((all) => (found = all));
  for (let turn = 0; turn < 200 && called.length < 3; turn++) await nextTurn();
  assert.deepEqual(called, [2, 3, 4]);
  await world.timers.advance(5n * SECOND);
  for (let turn = 0; turn < 200 && found === null; turn++) await nextTurn();
  assert.ok(found !== null);
  assert.deepEqual(clusters(found), [idOf(4)]);
  assert.deepEqual((found as Found).unreached, ["https://10.1.2.2:8201"]);
});

test("who is far away is heard, and whom it names", async () => {
  const far = { roundTrip: 400n * MILLISECOND };
  const { world, call } = stage({
    2: { ...far, knows: [sibling(3)] },
    3: { ...far, stands: [idOf(3)] },
  });
  const [found, time] = await timed(world, call([sibling(2)]));
  assert.deepEqual([clusters(found), found.unreached], [[idOf(3)], []]);
  assert.ok(time > 3n * SECOND && time < 4n * SECOND, String(time));
});

test("an address where nobody is costs one second, one where nobody says a word two, and the next one is called after it", async () => {
  const { world, called, call } = stage({ 2: { isDead: true }, 3: { isDead: true }, 4: {} });
  const moved = { ...sibling(4), addresses: [3, 4].map((n) => `https://10.1.2.${n}:8201`) };
  const [found, time] = await timed(world, call([sibling(2), moved]));
  assert.deepEqual([called, found.unreached], [[2, 3, 4], ["https://10.1.2.2:8201"]]);
  assert.equal(time, SECOND);
  const mute = stage({ 2: { isMute: true } });
  assert.equal((await timed(mute.world, mute.call([sibling(2)])))[1], 2n * SECOND);
});

test("who has answered is not called at another place, and of all that others name a bounded number is", async () => {
  const elsewhere = { ...sibling(3), addresses: ["https://10.1.2.5:8201"] };
  const { called, call } = stage({ 2: { knows: [sibling(4)] }, 3: {}, 4: { knows: [elsewhere] } });
  await call([sibling(2), sibling(3)]);
  assert.deepEqual(called, [2, 3, 4]);
  const many = (from: number) => Array.from({ length: 60 }, (_, i) => sibling(from + i));
  const crowd = stage({ 2: { knows: many(3) }, 3: { knows: many(63) }, 4: { knows: many(123) } });
  await crowd.call([sibling(2)]);
  assert.equal(crowd.called.length, 1 + 3 * 16, "of what one of them names sixteen");
  const all = Object.fromEntries(
    Array.from({ length: 16 }, (_, i) => [3 + i, { knows: many(20 + 15 * i) }]),
  );
  const larger = stage({ 2: { knows: many(3) }, ...all });
  await larger.call([sibling(2)]);
  assert.equal(larger.called.length, 128, "and so many in all");
});

test("those that only another has named, and that do not answer, are told apart from those that are known", async () => {
  const dead = { isDead: true };
  const { world, call } = stage({ 2: { knows: [sibling(4), sibling(5)] }, 3: dead, 4: dead });
  const [{ unreached, unreachedNamed }] = await timed(world, call([sibling(2), sibling(3)]));
  assert.deepEqual(unreached, ["https://10.1.2.3:8201"]);
  assert.deepEqual(unreachedNamed, ["https://10.1.2.4:8201"]);
});

test("one that was revoked is not heard through another that does not know it yet: nor called, nor believed to stand or to lead", async () => {
  const leading = { number: 9, cluster: idOf(4), first: "8" };
  const stale = { knows: [sibling(4)], stands: [idOf(4)], leading };
  const { called, call } = stage({ 3: stale, 4: { stands: [idOf(4)] } });
  const found = await call([sibling(3)], ["44"]);
  assert.deepEqual([clusters(found), found.later, found.unreached], [[], null, []]);
  assert.deepEqual(called, [3]);
  const unaware = await call([sibling(3)]);
  assert.deepEqual(new Set(clusters(unaware)), new Set([idOf(4)]), "else it counts");
  assert.deepEqual(unaware.later, leading);
});

test("a cluster that was revoked is not believed to stand or to lead, also where whoever says so names no certificate of it", async () => {
  const leading = { number: 9, cluster: idOf(4), first: "8" };
  const { called, call } = stage({ 3: { stands: [idOf(4)], leading }, 5: { knows: [sibling(4)] } });
  const found = await call([sibling(3), sibling(5)], [], [idOf(4)]);
  assert.deepEqual([clusters(found), found.later, called], [[], null, [3, 5]]);
});

test("one whose old certificate was revoked, and that is known by another, is a member like the others", async () => {
  const renewed = { ...sibling(4), serials: ["4f", "44"] };
  const { call } = stage({ 3: { knows: [renewed], stands: [idOf(4)] }, 4: {} });
  const found = await call([sibling(3), renewed], ["4f"]);
  assert.deepEqual(clusters(found), [idOf(4)]);
});

test("one leads by its own word that is known as that cluster, or not known at all, and not one that is known as another", async () => {
  const leading = { number: 9, cluster: idOf(4), first: "8" };
  const { call } = stage({ 3: { as: idOf(4), leading, leads: true }, 4: { leading, leads: true } });
  const itself = async (one: Sibling) => (await call([one])).said.map(({ isItself }) => isItself);
  assert.deepEqual(await itself(sibling(4)), [true]);
  assert.deepEqual(await itself({ ...sibling(3), cluster: "" }), [true]);
  assert.deepEqual(await itself(sibling(3)), [false], "it is known as another");
});

test("who answers says of itself that it does not stand, and not of another cluster", async () => {
  const { call } = stage({ 2: {}, 3: { as: idOf(4) } });
  const { deniers } = await call([sibling(2), sibling(3)]);
  assert.deepEqual(deniers, [idOf(2)]);
});

test("one whose cluster is not known denies nobody, and who stands by its own word is not denied by another of its name", async () => {
  const unknown = { ...sibling(4), cluster: "" };
  const nameless = stage({ 2: { knows: [unknown] }, 4: { as: idOf(3) } });
  assert.deepEqual((await nameless.call([sibling(2)])).deniers, [idOf(2)]);
  const twin = { ...sibling(4), cluster: idOf(3) };
  const named = stage({ 3: { stands: [idOf(3)] }, 4: { as: idOf(3) } });
  assert.deepEqual((await named.call([sibling(3), twin])).deniers, []);
});

test("whom others know this cluster as is not called: it would be itself, and count as silent", async () => {
  const itself = { ...sibling(5), serials: ["41"] };
  const { called, call } = stage({ 2: { knows: [itself] } });
  const { unreached } = await call([sibling(2)]);
  assert.deepEqual([called, unreached], [[2], []]);
});

test("a member is called by the digests of its certificates too, also one that another has named", async () => {
  const [a, b] = ["a4".repeat(32), "b4".repeat(32)];
  const named = { ...sibling(3), digests: [b] };
  const { call, called, expected } = stage({ 2: { knows: [named] }, 3: {} });
  await call([{ ...sibling(2), digests: [a] }]);
  assert.deepEqual(called, [2, 3]);
  assert.deepEqual(expected, [[a], [b]]);
});
