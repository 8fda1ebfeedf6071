import assert from "node:assert/strict";
import test from "node:test";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SET, SetStage } from "../../../tests/support/replication/set-stage.ts";
import { makeHpkeKeys } from "../../crypto/hpke.ts";
import { readActivation } from "../joining/activation.ts";
import { makeToken } from "../joining/activation-token.ts";
import { enablePrimary, makePrimary } from "../joining/secondaries.ts";
import { isRevoked, putRevokedClusters } from "../joining/primary-rows.ts";
import {
  putSiblings,
  putUpstream,
  storedSiblings,
  storedSiblingsRevoked,
  storedUpstream,
  withoutSerials,
} from "./upstream.ts";
import type { Sibling } from "../stream/messages.ts";

test("who follows another primary knows none of those beside the one before", async () => {
  const stage = await SetStage.start();
  const { random } = stage.made.world;
  const place = { address: ADDRESS, epoch: EPOCH };
  const token = await makeToken(stage.secondaries, { id: "berlin" }, place, random);
  assert.ok(token.form === "wrapped");
  const member = readActivation(token.wrap, "dr", { now: stage.clock.now() });
  const { barrier } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const siblings = [
    { id: "rome", cluster: "", addresses: ["https://10.1.2.3:8201"], serials: ["4a"] },
  ];
  // As an earlier version has stored them.
  await view.write((tx) => putSiblings(tx, siblings as unknown as Sibling[]));
  assert.deepEqual(
    storedSiblings(view),
    siblings.map((one) => ({ ...one, digests: [] })),
  );
  await view.write((tx) => putUpstream(tx, { member, keysKey: makeHpkeKeys(random).privateKey }));
  assert.equal(storedUpstream(view, "dr")?.member.id, "berlin");
  assert.deepEqual(storedSiblings(view), []);
});

test("whose serials are revoked is known to be by its cluster, also after a promotion, until it is a member again", async () => {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const cluster = "0b8e2f3e-0000-4000-8000-000000000002";
  const rome = { id: "rome", cluster, addresses: [], serials: ["4a", "4b"], digests: [] };
  const oslo = { id: "oslo", cluster: "", addresses: [], serials: ["4c"], digests: [] };
  await view.write((tx) => putSiblings(tx, [rome, oslo]));
  assert.equal(isRevoked(view, cluster), false);
  await withoutSerials(view, ["4b", "4c"]);
  assert.deepEqual([isRevoked(view, cluster), isRevoked(view, "")], [true, false]);
  const material = await makePrimary({ set: SET, kind: "dr" }, world);
  await view.write((tx) => enablePrimary(tx, material));
  assert.equal(isRevoked(view, cluster), true);
  await view.write((tx) => putRevokedClusters(tx, [], [cluster]));
  assert.equal(isRevoked(view, cluster), false);
});

test("a revocation is kept also where nobody has named that member yet", async () => {
  const { barrier, store } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  await withoutSerials(view, ["5d"]);
  assert.deepEqual(storedSiblingsRevoked(view), ["5d"]);
  const { index } = store;
  await withoutSerials(view, ["5d"]);
  assert.equal(store.index, index, "once");
});

test("serials of nobody push out none that is kept, and cost no more rows when there are as many as may be", async () => {
  const { barrier, store } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const rome = { id: "rome", cluster: "", addresses: [], serials: ["4a"], digests: [] };
  await view.write((tx) => putSiblings(tx, [rome]));
  const many = (from: number) => Array.from({ length: 512 }, (_, i) => (from + i).toString(16));
  await withoutSerials(view, ["5d"], { mayKeep: () => false });
  assert.deepEqual(storedSiblingsRevoked(view), [], "it has said so too often");
  await withoutSerials(view, ["5d"]);
  await withoutSerials(view, many(4096));
  const kept = storedSiblingsRevoked(view);
  assert.deepEqual([kept.length, kept[0]], [512, "5d"]);
  const { index } = store;
  await withoutSerials(view, many(8192));
  assert.equal(store.index, index);
  await withoutSerials(view, [...many(12288), "4a"], { mayKeep: () => false });
  assert.deepEqual(storedSiblings(view), []);
  assert.equal(storedSiblingsRevoked(view).at(-1), "4a", "a member is taken at its word always");
  assert.equal(storedSiblingsRevoked(view).length, 512);
});
