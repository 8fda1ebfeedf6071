// A primary tells each of its secondaries of the others that have come, and of nobody else; and what it does with one that is revoked,
// or that only tries.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { Failure } from "@holdfast/shared/failure";
import type { Clock } from "@holdfast/shared/world";
import { FakeTimers } from "../../../tests/support/fake-world.ts";
import { ADDRESS, EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import type { Standing } from "../../cluster/hello.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink } from "../../cluster/peer-link.ts";
import type { SetToServe } from "../../cluster/port-set.ts";
import type { Peer } from "../../cluster/verify.ts";
import { ReplicationFigures } from "../figures.ts";
import { filterOfMember, putFilter } from "../filters/stored-filters.ts";
import { readActivation } from "../joining/activation.ts";
import { makeToken } from "../joining/activation-token.ts";
import { putSecondary, storedSecondary } from "../joining/primary-rows.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import type { Primary } from "../roles/role.ts";
import { echo, type Sibling } from "../stream/messages.ts";
import { Serving } from "./serving.ts";

const PRIMARY = "0b8e2f3e-0000-4000-8000-000000000001";
const BERLIN = "0b8e2f3e-0000-4000-8000-000000000002";
const ROME = "0b8e2f3e-0000-4000-8000-000000000003";

/** Two have certificates, and have not come. */
async function primary(t: TestContext) {
  const stage = await SetStage.start();
  const { clock, made } = stage;
  const world = { ...made.world, clock, timers: new FakeTimers(clock) };
  const role: Primary = { mode: "primary", set: SET, epoch: EPOCH, address: ADDRESS, fenced: null };
  const cut: string[] = [];
  let served: SetToServe | null = null;
  let released = 0;
  const serving = new Serving(
    {
      ...world,
      store: made.store,
      barrier: made.barrier,
      kind: "dr",
      region: () => "global",
      view: stage.view,
      figures: new ReplicationFigures(),
      version: "0.1.0",
      clusterId: () => PRIMARY,
      leads: () => true,
      revokeFormer: async () => false,
      apiAddress: () => "",
      clusterAddress: () => ADDRESS,
      superseded: () => {},
      fenced: async () => EPOCH,
      adopted: null as never, // nothing is handed over
      lease: { reached: () => {}, release: async () => void released++ },
    },
    {
      serve: (set) => (served = set),
      revoke: (_, serial) => cut.push(serial),
      refuseOnly: () => {},
      forget: () => {},
    },
    () => role,
  );
  const place = { address: ADDRESS, epoch: EPOCH };
  const peerOf = async (id: string) => {
    const token = await makeToken(serving.secondaries, { id }, place, world.random);
    assert.ok(token.form === "wrapped");
    return stage.peer(readActivation(token.wrap, "dr", { now: clock.now() }));
  };
  const [berlin, rome] = [await peerOf("berlin"), await peerOf("rome")];
  serving.open();
  t.after(() => serving.close("the test is over"));
  const set = () => served as unknown as SetToServe;
  const link = async (peer: Peer, clusterId: string, more: Partial<Standing> = {}) => {
    const { table, greet } = set();
    const carrier = new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world);
    const found = new CarriedLink(carrier, peer);
    await found.open({ clusterId, version: "0.1.0", epoch: EPOCH.number, ...more });
    t.after(() => found.close());
    return found;
  };
  const { view } = stage;
  return { serving, berlin, rome, link, clock, view, cut, set, released: () => released };
}

/** As that one is told. */
async function siblingsOf(
  first: CarriedLink,
  clock: Pick<Clock, "now">,
): Promise<readonly Sibling[]> {
  const answer = await first.call(echo, {
    epoch: EPOCH.number,
    t0: clock.now(),
    before: null,
    state: "idle",
    applied: 0n,
    durable: 0n,
    apiAddress: "",
    clusterAddresses: [],
    version: "0.1.0",
    instance: "",
    keysVersion: "",
    encryptions: 0n,
    evacuations: [],
    isBare: false,
  });
  return answer.siblings;
}

test("the others are told the digests of a member's certificates, also where one of them is not known; it is kept when that comes", async (t) => {
  const { berlin, rome, link, clock, view } = await primary(t);
  const first = await link(berlin, BERLIN);
  await link(rome, ROME);
  const known = storedSecondary(view, "rome")!;
  const [certificate] = known.certificates;
  assert.ok(certificate?.digest !== undefined && certificate.digest === rome.digest);
  const { digest, ...older } = certificate;
  const digests = async () => (await siblingsOf(first, clock)).flatMap((one) => one.digests);
  const has = (certificates: typeof known.certificates) =>
    view.write((tx) => putSecondary(tx, { ...known, certificates }));
  assert.deepEqual(await digests(), [digest]);
  await has([{ ...older, serial: "4a" }, certificate]);
  assert.deepEqual(await digests(), ["", digest]);
  await has([older]);
  assert.deepEqual(await digests(), [], "as an earlier version has stored it");
  await link(rome, ROME);
  assert.deepEqual(await digests(), [digest]);
});

test("one whose token was not used is no sibling of anybody", async (t) => {
  const { berlin, rome, link, clock } = await primary(t);
  const first = await link(berlin, BERLIN);
  const siblings = () => siblingsOf(first, clock);
  assert.deepEqual(await siblings(), [], "rome has a certificate, and has never come");
  await link(rome, ROME);
  assert.deepEqual(
    (await siblings()).map(({ serials }) => serials),
    [[rome.serial]],
  );
});

test("one that is revoked is cut off at the port, and is refused there whenever it is opened; a primary is bound by the others until none is left", async (t) => {
  const { serving, berlin, rome, link, cut, set, released } = await primary(t);
  await link(berlin, BERLIN);
  await link(rome, ROME);
  await assert.rejects(serving.revoke(SET), { code: "replication-secondary-ambiguous" });
  assert.deepEqual(await serving.revoke(BERLIN), ["berlin"], "by its cluster");
  assert.deepEqual([cut, released()], [[berlin.serial], 0]);
  await assert.rejects(link(berlin, BERLIN));
  serving.open();
  assert.deepEqual([...set().revoked], [berlin.serial]);
  assert.deepEqual(await serving.revoke("rome"), ["rome"]);
  assert.deepEqual([cut, released()], [[berlin.serial, rome.serial], 1]);
});

test("with a cluster go the ids that it had before, and an id that it has left goes alone", async (t) => {
  /** One cluster, that has come by one id and then by the other. */
  const moved = async () => {
    const stage = await primary(t);
    await stage.link(stage.berlin, BERLIN);
    const came = { clusterId: BERLIN, used: stage.clock.now() + 1n };
    await stage.view.write((tx) => putSecondary(tx, { ...storedSecondary(tx, "rome")!, ...came }));
    return { ...stage, isRevoked: () => stage.serving.secondaries.isRevokedCluster(BERLIN) };
  };
  const first = await moved();
  assert.deepEqual(await first.serving.revoke("berlin"), ["berlin"]);
  assert.deepEqual([first.cut, first.isRevoked()], [[first.berlin.serial], false]);
  const second = await moved();
  assert.deepEqual(await second.serving.revoke("rome"), ["berlin", "rome"]);
  assert.deepEqual(second.cut, [second.berlin.serial, second.rome.serial]);
  assert.equal(second.isRevoked(), true);
});

test("one that only tries has not come; a transaction has what all can take that have", async (t) => {
  const { serving, berlin, rome, link } = await primary(t);
  const limits = (mebibytes: bigint) => ({ operations: 100, bytes: mebibytes << 20n });
  await link(berlin, BERLIN, { isTrial: true, limits: limits(1n) });
  assert.ok(serving.secondaries.known().every(({ used }) => used === null));
  assert.deepEqual([serving.members(), serving.transactionBytes], [[], null]);
  await link(berlin, BERLIN, { limits: limits(8n) });
  await link(rome, ROME, { limits: limits(2n) });
  assert.equal(serving.transactionBytes, 2 << 20);
  await link(rome, ROME, { limits: limits(16n) });
  assert.equal(serving.transactionBytes, 8 << 20);
});

test("one that is revoked is cut off before its filter goes, and also where that cannot go", async (t) => {
  const { made, clock } = await SetStage.start();
  const world = { ...made.world, clock, timers: new FakeTimers(clock) };
  const view = made.barrier.view("local/replication/performance/");
  const material = await makePrimary({ set: SET, kind: "performance" }, world);
  await view.write((tx) => enablePrimary(tx, material));
  const seen: string[] = [];
  const hasFilter = () => filterOfMember(view, "berlin", "") !== null;
  const nothing = { mountOf: () => null, isNamespace: () => false, mount: () => null };
  const serving = new Serving(
    {
      ...world,
      store: made.store,
      barrier: made.barrier,
      kind: "performance",
      region: () => "global",
      view,
      figures: new ReplicationFigures(),
      version: "0.1.0",
      clusterId: () => PRIMARY,
      leads: () => true,
      revokeFormer: async () => false,
      apiAddress: () => "",
      clusterAddress: () => ADDRESS,
      superseded: () => {},
      fenced: async () => EPOCH,
      adopted: null as never, // nothing is handed over
      lease: { reached: () => {}, release: async () => {} },
      filtering: {
        source: { ...nothing, namespace: () => null, mountKeys: () => [], namespaceKeys: () => [] },
        beside: null as never, // no filter is made
      },
    },
    {
      serve: () => {},
      revoke: () => seen.push(hasFilter() ? "cut, with its filter" : "cut, without its filter"),
      refuseOnly: () => {},
      forget: () => {},
    },
    () => ({ mode: "primary", set: SET, epoch: EPOCH, address: ADDRESS, fenced: null }),
  );
  t.after(() => serving.close("the test is over"));
  const isFull = () => Promise.reject(new Failure("unavailable", "storage-full", "no room"));
  const write = view.write.bind(view);
  const comes = async () => {
    seen.length = 0;
    await serving.secondaries.admit("berlin");
    await write((tx) => putFilter(tx, "berlin", { mode: "deny", paths: [] }));
  };
  await comes();
  // The disk is nearly full: what is essential goes on.
  view.write = (fn, options) => (options?.essential === true ? write(fn, options) : isFull());
  await serving.revoke("berlin");
  assert.deepEqual([seen, hasFilter()], [["cut, with its filter"], false]);
  view.write = write;
  await comes();
  let writes = 0;
  view.write = (fn, options) => (writes++ === 0 ? write(fn, options) : isFull());
  await assert.rejects(serving.revoke("berlin"), { code: "storage-full" });
  assert.deepEqual([seen, hasFilter()], [["cut, with its filter"], true]);
  view.write = write;
  await serving.revoke("berlin");
  assert.equal(hasFilter(), false);
});
