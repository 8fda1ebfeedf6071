// A secondary, and whether it believes another one that says to lead in the place of its primary.

import assert from "node:assert/strict";
import test from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { Following, type FollowingParts } from "./following.ts";
import type { Links } from "./links/links.ts";
import type { Epoch, Secondary, Step } from "./roles/role.ts";

const OWN: Epoch = { number: 1, cluster: "0b8e2f3e-0000-4000-8000-000000000001", first: "1" };
const LATER: Epoch = { number: 2, cluster: "0b8e2f3e-0000-4000-8000-000000000002", first: "9" };

/** What the authority of the set has signed, for all that this test knows. */
const SIGNED = new Uint8Array([1]);

interface Said {
  readonly leading: Epoch;
  readonly leads: boolean;
}

/** Follows a primary that was heard of just now; what it says when it is called, `answer` gives. */
async function following(answer: () => Promise<Said | null>, role: Partial<Secondary> = {}) {
  const { barrier, world } = await madeBarrier();
  const { clock, log } = world;
  const status: { connectionState: string; final?: { index: bigint } } = {
    connectionState: "ready",
  };
  const receiver = {
    open: () => {},
    close: async () => {},
    status,
    expected: 0,
    expect: () => void receiver.expected++,
  };
  const now = { mode: "secondary", epoch: OWN, address: "", known: [], final: null, ...role };
  const found = { calls: 0, superseded: 0 };
  const revoked = new Set<string>();
  const steps: Step[] = [];
  const heard = { revoked: () => {}, refused: 0 };
  const step = async (next: Step) => void steps.push(next);
  const links = {
    storedUpstream: () => ({ member: {} }),
    receiving: (...[, , own]: Parameters<Links["receiving"]>) => {
      heard.revoked = own.revoked;
      return receiver;
    },
    beside: () => ({
      open: () => {},
      close: () => {},
      refuse: () => void heard.refused++,
    }),
    tellSuperseded: () => {},
    isRevoked: (_: unknown, cluster: string) => revoked.has(cluster),
    within: (_: unknown, _within: unknown, work: (signal: AbortSignal) => unknown) =>
      work(new AbortController().signal),
    exchange: async () => {
      found.calls++;
      return await answer();
    },
  };
  const parts = {
    options: {
      kind: "dr",
      ...world,
      log,
      view: barrier.view("core/replication/dr/"),
      store: { index: 1n, locked: true, onIndex: () => () => {} },
      clusterId: () => "0b8e2f3e-0000-4000-8000-000000000003",
      port: () => ({}),
    },
    role: { now, step },
    surplus: {},
    links: async () => links,
    status: { open: () => {}, close: async () => {} },
    changes: { own: async () => void found.superseded++ },
  };
  const one = new Following(parts as unknown as FollowingParts);
  await one.open();
  one.heard.note(clock.now(), 1n);
  return {
    one,
    clock,
    found,
    heard,
    receiver,
    revoked,
    steps,
  };
}

const lost = { connectionState: "transient_failure" };

test("who hears its primary calls nobody to find out that it is led", async () => {
  const { one, clock, found } = await following(async () => null);
  clock.pass(14n * SECOND);
  assert.deepEqual(await one.hearOf(LATER, true), OWN);
  assert.deepEqual(found, { calls: 0, superseded: 0 });
  clock.pass(SECOND); // whatever its connection says
  assert.deepEqual(await one.hearOf(LATER, true), LATER);
  assert.deepEqual(found, { calls: 1, superseded: 1 });
});

test("a primary that is not reached leads until it was silent for long: its port may be crowded", async () => {
  const { one, clock, found, receiver } = await following(async () => null);
  receiver.status = lost;
  clock.pass(14n * SECOND);
  assert.deepEqual(await one.hearOf(LATER, true), OWN);
  assert.deepEqual(found, { calls: 1, superseded: 0 });
  clock.pass(SECOND);
  assert.deepEqual(await one.hearOf(LATER, true), LATER);
});

test("however many say it at once, the primary is called once", async () => {
  const called = Promise.withResolvers<Said>();
  const { one, clock, found, receiver } = await following(() => called.promise);
  receiver.status = lost;
  clock.pass(60n * SECOND);
  const all = Promise.all([1, 2, 3, 4].map(() => one.hearOf(LATER, true)));
  called.resolve({ leading: OWN, leads: true });
  assert.deepEqual(await all, [OWN, OWN, OWN, OWN]);
  assert.equal(found.calls, 1);
  await one.hearOf(LATER, true);
  assert.equal(found.calls, 2, "what it has said is not kept");
});

test("a primary that answers and does not lead, or knows of a later one, holds nobody", async () => {
  const answers: readonly (Said & { readonly believed: Epoch })[] = [
    { leading: OWN, leads: true, believed: OWN },
    { leading: OWN, leads: false, believed: LATER },
    { leading: LATER, leads: true, believed: LATER },
  ];
  for (const { believed, ...answer } of answers) {
    const { one, receiver } = await following(async () => answer);
    receiver.status = lost;
    assert.deepEqual(await one.hearOf(LATER, true), believed);
  }
});

test("who has its primary's last entry, or knows that another leads, is led by nobody", async () => {
  for (const role of [{ final: "1" }, { superseded: true }] as const) {
    const { one, found } = await following(async () => ({ leading: OWN, leads: true }), role);
    assert.deepEqual(await one.hearOf(LATER, true), LATER);
    assert.equal(found.calls, 0);
  }
});

test("a primary that says of itself that it leads is called at once: it is back, and what others say of it is not that", async () => {
  const { one, receiver } = await following(async () => null);
  receiver.status = lost;
  assert.deepEqual(await one.hearOf(OWN, false), OWN);
  assert.deepEqual(await one.hearOf(LATER, true), OWN);
  assert.equal(receiver.expected, 0);
  assert.deepEqual(await one.hearOf(OWN, true), OWN);
  assert.equal(receiver.expected, 1);
});

test("who follows nobody, as another leads, takes an epoch a minute of who names later ones", async () => {
  const { one, clock, found } = await following(async () => null, {
    epoch: LATER,
    superseded: true,
  });
  const [third, fourth] = [3, 4].map((number) => ({ ...LATER, number }));
  assert.deepEqual(await one.hearOf(third!, true), third);
  assert.deepEqual(await one.hearOf(fourth!, true), LATER);
  clock.pass(60n * SECOND);
  assert.deepEqual(await one.hearOf(fourth!, true), fourth);
  assert.equal(found.superseded, 2);
});

test("whom the primary says to have revoked is refused by the port beside it", async () => {
  const { heard } = await following(async () => null);
  heard.revoked();
  assert.equal(heard.refused, 1);
});

test("neither what another has heard nor an earlier epoch is believed", async () => {
  const { one, clock } = await following(async () => null);
  clock.pass(60n * SECOND);
  assert.deepEqual(await one.hearOf(LATER, false), OWN);
  assert.deepEqual(await one.hearOf({ ...LATER, number: 0 }, true), OWN);
});

test("an epoch that the authority has signed is believed, and not one of a cluster that was revoked and has the authority still", async () => {
  const { one, found, revoked } = await following(async () => ({ leading: OWN, leads: true }));
  revoked.add(LATER.cluster);
  assert.deepEqual(await one.hearOf(LATER, true, SIGNED), OWN);
  assert.deepEqual(found, { calls: 0, superseded: 0 });
  revoked.clear();
  assert.deepEqual(await one.hearOf(LATER, true, SIGNED), LATER);
  assert.deepEqual(found, { calls: 0, superseded: 1 });
});

test("that the primary has given up its place is kept when nobody is followed any more, where that failed before, and its last entry is here", async () => {
  for (const { last, role, kept } of [
    { last: 1n, role: {}, kept: ["1"] },
    { last: 2n, role: {}, kept: [] },
    { last: 1n, role: { final: "1" }, kept: [] },
    { last: 1n, role: { superseded: true as const }, kept: [] },
  ]) {
    const { one, receiver, steps } = await following(async () => null, role);
    receiver.status = { connectionState: "transient_failure", final: { index: last } };
    await one.close();
    assert.deepEqual(
      steps,
      kept.map((final) => ({ do: "ended", final })),
    );
  }
});

test("however often one that is taken for the leader says to be there, the primary is called a few times, and then each ten seconds", async () => {
  const { one, clock, receiver } = await following(async () => null);
  for (let i = 0; i < 100; i++) await one.hearOf(OWN, true);
  assert.equal(receiver.expected, 6);
  clock.pass(10n * SECOND);
  for (let i = 0; i < 100; i++) await one.hearOf(OWN, true);
  assert.equal(receiver.expected, 7);
});
