// Telling another cluster who leads ends when whoever tells it closes, wherever it has come to by then.

import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import test from "node:test";
import { fakeWorld } from "../../../tests/support/fake-world.ts";
import { SystemNet } from "../../system/net.ts";
import { until } from "../../../tests/support/until.ts";
import type { Greeting } from "../../cluster/hello.ts";
import { MemoryCarrier, type Way } from "../../cluster/memory-carrier.ts";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { Carrier } from "../../cluster/peer-link.ts";
import { serviceTable } from "@holdfast/shared/grpc/method";
import { fenceCall } from "../joining/calls.ts";
import type { Epoch } from "../roles/role.ts";
import { exchange } from "./fencing.ts";

const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const OWN = "0b8e2f3e-0000-4000-8000-000000000001";
const EPOCH: Epoch = { number: 2, cluster: OWN, first: "7" };
const NAMED = "0b8e2f3e-0000-4000-8000-000000000003";
const MARKS = "\u001b[2J call this number\n";
/** What a member that answers may say of others. */
const NAMES = {
  candidates: { hear: () => [MARKS, NAMED] },
  siblings: () => [
    {
      id: "rome",
      cluster: NAMED,
      serials: ["4c"],
      addresses: [MARKS, "https://10.1.2.5:8201"],
      digests: [],
    },
  ],
};
const NOWHERE = new Promise<never>(() => {});
const ADDRESSES = ["https://10.1.2.3:8201", "https://10.1.2.4:8201"];

/** Another cluster that stops at this place. */
function stage(at: "connection" | "hello" | "call" | "nothing", { denies = false } = {}) {
  const world = fakeWorld();
  const rootKey = createSecretKey(Buffer.alloc(32, 5));
  const reached: string[] = [];
  const stop = async (where: typeof at) => {
    reached.push(where);
    if (where === at) await NOWHERE;
  };
  const greet = async (): Promise<Greeting> => {
    await stop("hello");
    return { clusterId: "0b8e2f3e-0000-4000-8000-00000000000a", protocol: 1, version: "0.1.0" };
  };
  const fenced = async (epoch: Epoch) => {
    await stop("call");
    if (denies) throw new StatusError(Status.permissionDenied, "it was revoked here");
    return epoch;
  };
  const secondaries = { assertKnown: () => {}, clusterOf: () => OWN };
  const table = serviceTable([
    fenceCall(SET, { ...NAMES, secondaries, barrier: { rootKey }, fenced, leads: () => true }),
  ]);
  const peer = { ...SET, id: "paris", serial: "4a", expires: world.clock.now() + 10n ** 18n };
  const way: Way = { connect: () => stop("connection"), pass: async () => {} };
  const none = new Uint8Array(0);
  const member = { ...SET, id: "paris", authority: none, certificate: none, key: none };
  const closing = new AbortController();
  const open = { connections: 0 };
  const counted = (carrier: Carrier): Carrier => ({
    isReached: true,
    connect: async (within, signal) => {
      const carried = await carrier.connect(within, signal);
      open.connections++;
      void carried.closed.then(() => open.connections--);
      return carried;
    },
  });
  const answer = exchange(
    ADDRESSES,
    member,
    EPOCH,
    {
      ...world,
      net: new SystemNet(),
      barrier: { rootKey },
      clusterId: () => OWN,
      version: "0.1.0",
      carrierTo: () =>
        counted(new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world, way)),
    },
    { signal: closing.signal, candidacy: "asks" },
  );
  return { answer, closing, open, reached };
}

test("where all answer, the first address is enough", async () => {
  const { answer, reached } = stage("nothing");
  assert.deepEqual((await answer)?.leading, EPOCH);
  assert.deepEqual(reached, ["connection", "hello", "call"]);
});

for (const at of ["connection", "hello", "call"] as const) {
  test(
    `closing ends it at its ${at}, and no other address is called`,
    { timeout: 20_000 },
    async () => {
      const { answer, closing, reached } = stage(at);
      await until(() => reached.at(-1) === at);
      closing.abort();
      assert.equal(await answer, null);
      assert.equal(reached.at(-1), at, "the second address was not called");
      assert.equal(reached.filter((where) => where === "connection").length, 1);
    },
  );
}

test("nothing stays open to whoever was called, whether it answers, refuses, or nobody waits for it", async () => {
  const answered = stage("nothing");
  assert.notEqual(await answered.answer, null);
  const denied = stage("nothing", { denies: true });
  assert.equal(await denied.answer, null);
  assert.equal(denied.reached.filter((where) => where === "call").length, ADDRESSES.length);
  const left = stage("call");
  await until(() => left.reached.at(-1) === "call");
  assert.equal(left.open.connections, 1, "while it is asked");
  left.closing.abort();
  assert.equal(await left.answer, null);
  for (const { open } of [answered, denied, left]) assert.equal(open.connections, 0);
});

test("of what it says of others, ids and addresses are taken, and no text", async () => {
  const { answer } = stage("nothing");
  const { candidates, siblings } = (await answer)!;
  assert.deepEqual(candidates, [NAMED]);
  assert.deepEqual(
    siblings.map(({ addresses }) => addresses),
    [["https://10.1.2.5:8201"]],
  );
});
