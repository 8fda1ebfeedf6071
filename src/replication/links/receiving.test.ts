// A secondary at work, against a primary that says what a test says.

import assert from "node:assert/strict";
import test from "node:test";
import { networkFailed } from "@holdfast/shared/failures";
import { DAY, MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { View } from "../../barrier/view.ts";
import { renewMember } from "../../cluster/authority.ts";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { until } from "../../../tests/support/until.ts";
import type { Greeting, Hello } from "../../cluster/hello.ts";
import { MemoryCarrier, STRAIGHT, type Way } from "../../cluster/memory-carrier.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { serveUnary, serviceTable } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import { SystemNet } from "../../system/net.ts";
import { ReplicationFigures } from "../figures.ts";
import { Heard } from "../heard.ts";
import { readActivation } from "../joining/activation.ts";
import { fenceCall, renewCertificate } from "../joining/calls.ts";
import { makeToken } from "../joining/activation-token.ts";
import { putMembership, storedMembership } from "../joining/membership.ts";
import { isRevoked, putRevokedClusters } from "../joining/primary-rows.ts";
import { epochProof } from "../joining/proofs.ts";
import type { Epoch } from "../roles/role.ts";
import { StoredRole } from "../roles/stored-role.ts";
import { sentDecision } from "../stream/decision.ts";
import { Divergent } from "./divergent.ts";
import { Orphans } from "./orphans.ts";
import { Receiving } from "./receiving.ts";

const LATER = {
  number: EPOCH.number + 1,
  cluster: "0b8e2f3e-0000-4000-8000-0000000000f2",
  first: "50",
};
const NOBODY = "0b8e2f3e-0000-4000-8000-000000000001";

interface Primary {
  /** Of when the secondary has joined it. */
  readonly epoch?: Epoch;
  /** Who leads, where it is called to say that; default: it is not called. */
  readonly leading?: () => Epoch;
  /** Whether it says that it is itself. */
  readonly leads?: boolean;
  /** Whether it has revoked the one that it is told of. */
  readonly hasRevoked?: boolean;
  /** The epoch of another one that is taken for its successor. */
  readonly successor?: Epoch;
  /** Clusters of which this one has heard that they were revoked. */
  readonly revoked?: readonly string[];
  readonly way?: Way;
  /** To each of its addresses. Default: `way`. */
  readonly wayTo?: (host: string) => Way;
  /** Where else it has said to be. */
  readonly known?: readonly string[];
  /** How long ago it has given the certificate. Default: a moment. */
  readonly ago?: Nanos;
  /** Makes another one. Default: nobody is asked. */
  readonly renews?: (publicKey: Uint8Array, stage: SetStage, view: View) => Promise<Uint8Array>;
}

/** A secondary whose primary answers a hello with this. */
async function secondary(
  greeting: (stage: SetStage) => Partial<Greeting>,
  {
    epoch = EPOCH,
    leading,
    leads = false,
    hasRevoked = false,
    successor,
    revoked = [],
    way = STRAIGHT,
    wayTo = () => way,
    known,
    ago,
    renews = async () => Buffer.alloc(0),
  }: Primary = {},
) {
  const stage = await SetStage.start();
  const place = { address: ADDRESS, epoch: EPOCH };
  const { random } = stage.made.world;
  const token = await makeToken(stage.secondaries, { id: "berlin" }, place, random);
  assert.ok(token.form === "wrapped");
  const member = readActivation(token.wrap, "dr", { now: stage.clock.now() });
  const { barrier, store, world: made } = await madeBarrier();
  const world = ago === undefined ? made : { ...made, clock: stage.clock };
  if (ago !== undefined) stage.clock.pass(ago);
  await store.follow();
  const view = barrier.view("core/replication/dr/");
  const role = new StoredRole(view, "dr");
  const joined = { set: SET, id: "berlin", address: ADDRESS, epoch };
  await role.step({ do: "join", joined });
  if (successor !== undefined) await role.step({ do: "superseded", epoch: successor });
  await view.write((tx) => putRevokedClusters(tx, revoked));
  await view.write((tx) => putMembership(tx, member));
  if (known !== undefined) await role.step({ do: "heard", epoch, known });
  const tickets: number[] = [];
  const certificates: string[] = [];
  let hellos = 0;
  const peer = stage.peer(member);
  const greet = async (hello: Hello): Promise<Greeting> => {
    if (hello.epoch > 0) hellos++; // to follow
    return {
      clusterId: LATER.cluster,
      protocol: 1,
      version: "0.1.0",
      epoch: LATER.number,
      epochFirst: LATER.first,
      ...greeting(stage),
    };
  };
  const calls =
    leading === undefined
      ? []
      : [
          fenceCall(
            { set: SET, kind: "dr" },
            {
              secondaries: { assertKnown: () => {}, clusterOf: () => NOBODY },
              barrier,
              fenced: async () => leading(),
              leads: () => leads,
              isRevoked: () => hasRevoked,
            },
          ),
        ];
  const renewal = serveUnary(renewCertificate, async ({ publicKey }) => ({
    certificate: await renews(publicKey, stage, view),
  }));
  const served = { table: serviceTable([...calls, renewal]), greet, isRevoked: () => false };
  const heard = new Heard({ ...world, view, store });
  const receiving = new Receiving(
    {
      ...world,
      store,
      barrier,
      view,
      kind: "dr",
      own: view,
      region: () => "global",
      role,
      heard,
      divergent: new Divergent(view.sub("divergent/"), world.clock),
      orphans: new Orphans({
        ...world,
        view: view.sub("orphans/"),
        local: barrier.view("local/"),
        outside: {
          standsFor: () => false,
          all: () => [],
          adopt: async () => ({ adopted: 0, known: 0, left: 0 }),
        },
      }),
      net: new SystemNet(),
      figures: new ReplicationFigures(),
      version: "0.1.0",
      clusterId: () => NOBODY,
      apiAddress: () => "",
      clusterAddress: () => "",
      renewed: (next) => void certificates.push(next.serial),
      revoked: () => {},
      takeKeys: async () => {},
      takeTicketsFrom: (_, number) => void tickets.push(number),
      carrierTo: ({ host }) => new MemoryCarrier(served, peer, world, wayTo(host)),
    },
    { member, keysKey: makeHpkeKeys(random).privateKey },
  );
  receiving.open();
  const started = () => {
    const later = new Heard({ ...world, view, store });
    later.load();
    return later;
  };
  const stored = () => storedMembership(view, "dr")?.serial;
  const seen = { tickets, certificates, stored, member, hellos: () => hellos };
  return { receiving, role, world, view, heard, started, ...seen };
}

test("a later epoch is believed with a proof of the authority that is known, and with nothing else", async () => {
  const set = { set: SET, kind: "dr" } as const;
  const proof = (stage: SetStage, epoch = LATER) =>
    epochProof(stage.secondaries.material.authority.key, { ...set, epoch });
  const wrong: ((stage: SetStage) => Partial<Greeting>)[] = [
    () => ({}),
    () => ({ epochProof: Buffer.alloc(132) }),
    (stage) => ({ epochProof: proof(stage, EPOCH) }),
    (stage) => ({ epochProof: proof(stage), clusterId: "0b8e2f3e-0000-4000-8000-0000000000f1" }),
    (stage) => ({ epochProof: proof(stage), epoch: LATER.number + 1 }),
  ];
  for (const greeting of wrong) {
    const { receiving, role } = await secondary(greeting);
    await until(() => receiving.status.lastSyncError !== null);
    assert.match(receiving.status.lastSyncError!, /no proof of it/);
    assert.ok(role.now.mode === "secondary");
    assert.deepEqual(role.now.epoch, EPOCH);
    await receiving.close();
  }
  const { receiving, role, world } = await secondary((stage) => ({ epochProof: proof(stage) }));
  await until(() => role.now.mode === "secondary" && role.now.epoch.number === LATER.number);
  await world.timers.advance(SECOND);
  await receiving.close();
});

test("a primary whose cluster has no id is not followed, with whichever proof", async () => {
  const set = { set: SET, kind: "dr" } as const;
  const named = { ...LATER, cluster: "all is well\n\u001b[2J" };
  const { receiving, role } = await secondary((stage) => ({
    clusterId: named.cluster,
    epochProof: epochProof(stage.secondaries.material.authority.key, { ...set, epoch: named }),
  }));
  await until(() => receiving.status.lastSyncError !== null);
  assert.match(receiving.status.lastSyncError!, /does not say which cluster it is/);
  assert.ok(role.now.mode === "secondary");
  assert.deepEqual(role.now.epoch, EPOCH);
  await receiving.close();
});

test("of a primary of an earlier epoch that refuses its reason is told, and of one that does not that it is superseded", async () => {
  const before = { ...EPOCH, number: EPOCH.number - 1 };
  const hello = { clusterId: EPOCH.cluster, epoch: before.number, epochFirst: EPOCH.first };
  for (const [decision, reason] of [
    [sentDecision({ kind: "refuse", reason: "not now" }), /not now/],
    [sentDecision({ kind: "resume" }), /that primary is superseded/],
  ] as const) {
    const { receiving, role } = await secondary(() => ({ ...hello, decision }), {
      leading: () => EPOCH,
    });
    await until(() => receiving.lastFailure !== null);
    assert.match(receiving.lastFailure!.message, reason);
    assert.ok(role.now.mode === "secondary");
    assert.deepEqual(role.now.epoch, EPOCH);
    await receiving.close();
  }
});

test("the region of a primary is kept where that is the name of one", async () => {
  const place = { clusterId: EPOCH.cluster, epoch: EPOCH.number, epochFirst: EPOCH.first };
  const decision = sentDecision({ kind: "refuse", reason: "not now" });
  for (const [region, kept] of [
    ["rome", "rome"],
    ["rome\n\u001b[31m", undefined],
  ] as const) {
    const { receiving, role } = await secondary(() => ({ ...place, region, decision }), {
      leading: () => EPOCH,
    });
    await until(() => receiving.status.lastSyncError !== null); // it has heard all of that
    assert.ok(role.now.mode === "secondary");
    assert.equal(role.now.region, kept);
    await receiving.close();
  }
});

test("a primary that refuses is called to hear who leads: a later one is believed, and no other, nor one that nobody can have come to or that was revoked", async () => {
  const own = { number: 3, cluster: "0b8e2f3e-0000-4000-8000-00000000000a", first: "41" };
  const other = { number: 4, cluster: "0b8e2f3e-0000-4000-8000-00000000000b", first: "50" };
  const refused = sentDecision({ kind: "refuse", reason: "it is not its primary" });
  const hello = { clusterId: own.cluster, epoch: own.number, epochFirst: own.first };
  for (const { named, believed, revoked = [] } of [
    { named: other, believed: true },
    { named: other, believed: false, revoked: [other.cluster] },
    { named: own, believed: false },
    { named: { ...other, number: 2 }, believed: false },
    { named: { ...other, number: 5000 }, believed: false },
  ]) {
    let calls = 0;
    const { receiving, role, world } = await secondary(() => ({ ...hello, decision: refused }), {
      epoch: own,
      revoked,
      leading: () => {
        calls++;
        return named;
      },
    });
    await until(() => calls > 0);
    for (let i = 0; i < 100; i++) await nextTurn();
    await receiving.close();
    assert.ok(role.now.mode === "secondary");
    const { epoch, superseded = false } = role.now;
    assert.deepEqual(
      { epoch, superseded },
      { epoch: believed ? named : own, superseded: believed },
    );
    const troubles = world.lines.filter((line) => line.includes("could not find out who leads"));
    assert.deepEqual(troubles, []);
  }
});

test("a later epoch is given up where the primary that is followed leads still and has revoked who claimed it, and nowhere else", async () => {
  const own = { number: 3, cluster: "0b8e2f3e-0000-4000-8000-00000000000a", first: "41" };
  const claimed = { number: 4, cluster: "0b8e2f3e-0000-4000-8000-00000000000b", first: "50" };
  const refused = sentDecision({ kind: "refuse", reason: "it has heard of a later one" });
  const hello = { clusterId: own.cluster, epoch: own.number, epochFirst: own.first };
  const refutes = { epoch: own, successor: claimed, leads: true, hasRevoked: true };
  const NOT = { isRefuted: false };
  for (const { isRefuted, greeting = hello, named = own, ...primary } of [
    { ...refutes, isRefuted: true },
    { ...refutes, ...NOT, leads: false },
    { ...refutes, ...NOT, hasRevoked: false },
    { ...refutes, ...NOT, greeting: { ...hello, clusterId: claimed.cluster } },
    { ...refutes, ...NOT, named: { ...claimed, number: 5 } },
    { ...refutes, ...NOT, revoked: [own.cluster] },
    { epoch: claimed, ...NOT, leads: true, hasRevoked: true },
  ] as readonly (Primary & {
    readonly isRefuted: boolean;
    readonly greeting?: Partial<Greeting>;
    readonly named?: Epoch;
  })[]) {
    let calls = 0;
    const found = await secondary(() => ({ ...greeting, decision: refused }), {
      ...primary,
      leading: () => {
        calls++;
        return named;
      },
    });
    const { receiving, role, view, world, tickets } = found;
    await until(() => calls > 0);
    for (let i = 0; i < 100; i++) await nextTurn();
    if (isRefuted) await until(() => found.hellos() > 1); // at once: the clock stands still
    await receiving.close();
    assert.ok(role.now.mode === "secondary");
    const { epoch, superseded = false } = role.now;
    assert.equal(epoch.number === own.number && !superseded, isRefuted, JSON.stringify(role.now));
    assert.equal(isRevoked(view, claimed.cluster), isRefuted);
    assert.deepEqual(tickets, isRefuted ? [own.number] : []);
    const lines = world.lines.join("\n");
    assert.doesNotMatch(lines, /could not find out who leads/);
    assert.equal(/replication\.epoch-given-up/.test(lines), isRefuted);
    const isDisowned = primary.revoked !== undefined;
    assert.equal(/replication\.former-not-believed/.test(lines), isDisowned);
  }
});

test("what a primary says of its log when it takes this cluster is kept, also over a start; of one that refuses it counts for nothing", async () => {
  const place = { clusterId: EPOCH.cluster, epoch: EPOCH.number, epochFirst: EPOCH.first };
  const words = { ...place, head: 263n, time: 1000n * SECOND };
  const takes = await secondary(() => ({ ...words, decision: sentDecision({ kind: "resume" }) }));
  await until(() => takes.heard.announced > 0n);
  await takes.heard.kept;
  const { heard, started, receiving } = takes;
  assert.deepEqual([heard.announced, heard.unheard, heard.timeThere], [263n, 0n, 1000n * SECOND]);
  assert.equal(started().announced, 263n);
  await receiving.close();
  const decision = sentDecision({ kind: "refuse", reason: "not now" });
  const refuses = await secondary(() => ({ ...words, decision }), { leading: () => EPOCH });
  await until(() => refuses.heard.refusal !== null);
  await until(() => refuses.receiving.status.lastSyncError !== null);
  assert.deepEqual([refuses.heard.announced, refuses.heard.timeThere], [0n, null]);
  await refuses.receiving.close();
});

test("a primary across the world is heard by who looks for it; one where nobody is costs one second, where no connection stands two, and one that only hangs five", async () => {
  const place = { clusterId: EPOCH.cluster, epoch: EPOCH.number, epochFirst: EPOCH.first };
  const decision = sentDecision({ kind: "refuse", reason: "not now" });
  let { promise: never, resolve: arrives } = Promise.withResolvers<void>();
  let world: Awaited<ReturnType<typeof secondary>>["world"];
  const after = (milliseconds: bigint) =>
    new Promise<void>((resolve) => {
      world.timers.after(milliseconds * MILLISECOND, resolve);
    });
  const far: Way = { connect: () => after(1000n), pass: () => after(200n) };
  for (const [way, kind, milliseconds] of [
    [far, "refuses", 1400n],
    [{ ...far, reach: () => never }, "nobody", 1000n],
    [{ ...far, connect: () => never }, "nobody", 2000n],
    [{ ...far, pass: () => never }, "refuses", 5000n],
  ] as const) {
    let present = STRAIGHT;
    const found = await secondary(() => ({ ...place, decision }), {
      leading: () => EPOCH,
      way: {
        reach: async () => await present.reach?.(),
        connect: () => present.connect(),
        pass: (to, one) => present.pass(to, one),
      },
    });
    world = found.world;
    await until(() => found.receiving.status.lastSyncError !== null);
    present = way;
    const outcomes: string[] = [];
    found.heard.called = (outcome) => void outcomes.push(outcome.kind);
    let time = 0n;
    const looking = found.receiving.look();
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    for (; outcomes.length === 0 && time < 10_000n; time += 100n) {
      await world.timers.advance(100n * MILLISECOND);
      for (let turn = 0; turn < 50 && outcomes.length === 0; turn++) await nextTurn();
    }
    assert.deepEqual([outcomes[0], time], [kind, milliseconds]);
    arrives();
    ({ promise: never, resolve: arrives } = Promise.withResolvers<void>());
    let isOver = false;
    void looking.then(() => found.receiving.close()).then(() => (isOver = true));
    for (let turn = 0; turn < 1000 && !isOver; turn++) {
      await world.timers.advance(SECOND); // who is called meanwhile is far away too
      await nextTurn();
    }
    assert.ok(isOver);
  }
});

const NOWHERE = "https://nowhere.example:8201";

/** Of a primary that is at the second of two addresses, when two thirds of the certificate's life are over. */
function renewing(renews: NonNullable<Primary["renews"]>, known = [NOWHERE, ADDRESS]) {
  const place = { clusterId: EPOCH.cluster, epoch: EPOCH.number, epochFirst: EPOCH.first };
  const decision = sentDecision({ kind: "refuse", reason: "not now" });
  const nobody: Way = { ...STRAIGHT, connect: () => Promise.reject(networkFailed("nobody there")) };
  return secondary(() => ({ ...place, decision }), {
    leading: () => EPOCH,
    ago: 250n * DAY,
    known,
    renews,
    wayTo: (host) => (NOWHERE.includes(host) ? nobody : STRAIGHT),
  });
}

const another = async (publicKey: Uint8Array, stage: SetStage) => {
  const { authority } = stage.secondaries.material;
  const world = { clock: stage.clock, random: stage.made.world.random };
  return (await renewMember(authority, "berlin", publicKey, world)).certificate;
};

test("another certificate is taken at whichever address the primary is, stored, and shown from then on", async () => {
  const { receiving, certificates, stored, member, world } = await renewing(another);
  await until(() => certificates.length > 0);
  assert.notEqual(certificates[0], member.serial);
  assert.equal(stored(), certificates[0]);
  assert.match(world.lines.join("\n"), /replication\.certificate-renewed/);
  await receiving.close();
});

test("another certificate of a primary that is followed no more is not taken", async () => {
  let other = "";
  let isMade = false;
  const { receiving, certificates, stored } = await renewing(async (publicKey, stage, view) => {
    const place = { address: ADDRESS, epoch: EPOCH };
    const token = await makeToken(
      stage.secondaries,
      { id: "rome" },
      place,
      stage.made.world.random,
    );
    assert.ok(token.form === "wrapped");
    const next = readActivation(token.wrap, "dr", { now: stage.clock.now() });
    await view.write((tx) => putMembership(tx, next)); // it has come with another token
    other = next.serial;
    const made = await another(publicKey, stage);
    isMade = true;
    return made;
  });
  await until(() => isMade);
  await receiving.close(); // which waits for what has begun
  assert.equal(stored(), other);
  assert.deepEqual(certificates, []);
});

test("where nobody gives another certificate, what a primary has answered is told, and not that nobody is at another address", async () => {
  for (const known of [
    [ADDRESS, NOWHERE],
    [NOWHERE, ADDRESS],
  ]) {
    const refuses = () => {
      throw new StatusError(Status.resourceExhausted, "not so often");
    };
    const { receiving, world, certificates } = await renewing(async () => refuses(), known);
    const trouble = () => world.lines.find((line) => line.includes("could not renew"));
    await until(() => trouble() !== undefined);
    assert.match(trouble()!, /not so often/);
    assert.deepEqual(certificates, []);
    await receiving.close();
  }
});
