// Nothing is left of a call to a primary that a cluster comes to, or only tries, however it has ended.

import assert from "node:assert/strict";
import test from "node:test";
import type { Address } from "@holdfast/shared/world";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import type { Greeting } from "../../cluster/hello.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import type { Carrier } from "../../cluster/peer-link.ts";
import { SystemNet } from "../../system/net.ts";
import type { Activation } from "../joining/activation.ts";
import { linkTo } from "./dialing.ts";
import { findPrimary, type JoiningSelf, reachPrimary, tryPrimary } from "./join.ts";

const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const OWN = "0b8e2f3e-0000-4000-8000-000000000001";
const PRIMARY = "0b8e2f3e-0000-4000-8000-00000000000a";
const none = new Uint8Array(0);
const ADDRESS = "https://10.1.2.3:8201";
const PLACES = ["10.1.2.3", "10.1.2.4"].map((host) => ({
  named: `https://${host}:8201`,
  at: { host, port: 8201 } satisfies Address,
}));

/** A primary that answers so at its hello, and knows no other call. */
async function stage(greeting: Partial<Greeting> | Error = {}) {
  const { barrier, store, world } = await madeBarrier();
  const open = { now: 0, ever: 0 };
  const counted = (carrier: Carrier): Carrier => ({
    isReached: true,
    connect: async (within, signal) => {
      const carried = await carrier.connect(within, signal);
      open.now++;
      open.ever++;
      void carried.closed.then(() => open.now--);
      return carried;
    },
  });
  const greet = async (): Promise<Greeting> => {
    if (greeting instanceof Error) throw greeting;
    return { clusterId: PRIMARY, protocol: 1, version: "0.1.0", ...greeting };
  };
  const expires = world.clock.now() + 10n ** 18n;
  const peer = { ...SET, id: "paris", serial: "4a", expires };
  const set = { table: serviceTable([]), greet, isRevoked: () => false };
  const self: JoiningSelf = {
    ...world,
    ...SET,
    net: new SystemNet(),
    store,
    view: barrier.view("core/replication/dr/"),
    version: "0.1.0",
    clusterId: () => OWN,
    apiAddress: () => "",
    clusterAddress: () => "",
    region: () => "",
    configuredRegion: "",
    carrierTo: () => counted(new MemoryCarrier(set, peer, world)),
  };
  const epoch = { number: 1, cluster: PRIMARY, first: "1" };
  const place = { address: ADDRESS, epoch };
  const keys = { authority: none, certificate: none, key: none };
  const activation = { ...peer, ...place, ...keys } as unknown as Activation;
  return { self, activation, open };
}

const refuse = { kind: "refuse", fork: 0n, chain: none, reason: "it is full" };

test("who asks where the primary is leaves nothing open there, whether it is it, refuses or has revoked this cluster", async () => {
  const find = ({ self, activation }: Awaited<ReturnType<typeof stage>>, isRevoked = false) => {
    const upstream = { member: activation } as unknown as Parameters<typeof findPrimary>[1];
    return findPrimary(PLACES, upstream, self, 1, () => isRevoked);
  };
  const there = await stage();
  assert.equal(await find(there), PLACES[0]!.named);
  const refusing = await stage({ decision: refuse });
  await assert.rejects(find(refusing), /address 1: it is full; address 2: it is full/);
  const revoked = await stage();
  await assert.rejects(find(revoked, true), /address 2: the primary has revoked this cluster/);
  assert.deepEqual(
    [there.open, refusing.open, revoked.open],
    [
      { now: 0, ever: 1 },
      { now: 0, ever: 2 },
      { now: 0, ever: 2 },
    ],
  );
});

test("who joins leaves nothing open where it is refused, or is sent no keys; and who only tries it not at all", async () => {
  for (const [greeting, cause] of [
    [{}, null],
    [{ decision: refuse }, "it is full"],
    [new Error("no"), "the call failed inside the server"],
  ] as const) {
    const { self, activation, open } = await stage(greeting);
    await assert.rejects(reachPrimary(activation, self, { isEmpty: true }));
    assert.deepEqual(open, { now: 0, ever: 1 });
    const how = { epoch: 1, isEmpty: true, member: activation, isFirst: true };
    const tried = await tryPrimary(ADDRESS, () => linkTo(ADDRESS, activation, self), self, how);
    assert.equal(tried.cause, cause);
    assert.deepEqual(open, { now: 0, ever: 2 });
  }
});
