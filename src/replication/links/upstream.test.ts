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
  disownFormer,
  forgetFormer,
  keepFormer,
  knownBefore,
  putInformed,
  putSiblings,
  putUpstream,
  storedInformed,
  storedSiblings,
  storedSiblingsRevoked,
  storedUpstream,
  withoutSerials,
} from "./upstream.ts";
import type { Sibling } from "../stream/messages.ts";

const OTHER = "0b8e2f3e-0000-4000-8000-000000000009";

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

test("a cluster is known from before by the digests of its certificates that are known, and by the serials of the others", async () => {
  const stage = await SetStage.start();
  const { random } = stage.made.world;
  const token = await makeToken(
    stage.secondaries,
    { id: "berlin" },
    { address: ADDRESS, epoch: EPOCH },
    random,
  );
  assert.ok(token.form === "wrapped");
  const member = readActivation(token.wrap, "dr", { now: stage.clock.now() });
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const [cluster, former] = [2, 3].map((n) => `0b8e2f3e-0000-4000-8000-00000000000${n}`);
  const [a, b] = ["a4".repeat(32), "b4".repeat(32)];
  const named = { id: "rome", cluster: cluster!, addresses: [] };
  const known = () => {
    const { serials, digests, hasLed } = knownBefore(view, cluster!, "dr")!;
    return { serials, digests, hasLed };
  };
  await view.write((tx) => putUpstream(tx, { member, keysKey: makeHpkeKeys(random).privateKey }));
  assert.equal(knownBefore(view, cluster!, "dr"), null, "it has led nobody");
  await view.write((tx) => {
    const about = { kind: "dr", isHeard: false, now: world.clock.now() } as const;
    keepFormer(tx, { addresses: [], cluster: former! }, about);
  });
  for (const [siblings, serials, digests] of [
    [[{ ...named, serials: ["4a", "4b"], digests: [a, b] }], ["4a", "4b"], [a, b]],
    [[{ ...named, serials: ["4a", "4b"], digests: ["", b] }], ["4a", "4b"], ["", b]],
    [
      [
        { ...named, serials: ["4a"], digests: [] },
        { ...named, serials: ["4b"], digests: [b] },
      ],
      ["4a", "4b"],
      ["", b],
    ],
  ] as const) {
    await view.write((tx) => putSiblings(tx, siblings));
    assert.deepEqual(known(), { serials, digests, hasLed: false });
  }
  assert.equal(knownBefore(view, OTHER, "dr"), null);
  assert.equal(knownBefore(view, former!, "dr")?.hasLed, true);
  const isFormer = (one: Sibling) => one.cluster === former;
  await view.write((tx) => void disownFormer(tx, isFormer, "dr"));
  assert.equal(knownBefore(view, former!, "dr"), null);
  assert.equal(knownBefore(view, cluster!, "dr")?.authority, null, "it proves nothing any more");
});

test("since when this cluster leads, and who has heard of it, is kept until it follows another", async () => {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  assert.deepEqual(storedInformed(view), { since: null, members: [] });
  const stage = await SetStage.start();
  const { random } = stage.made.world;
  const place = { address: ADDRESS, epoch: EPOCH };
  const token = await makeToken(stage.secondaries, { id: "berlin" }, place, random);
  assert.ok(token.form === "wrapped");
  const member = readActivation(token.wrap, "dr", { now: stage.clock.now() });
  const now = world.clock.now();
  await view.write((tx) => {
    putUpstream(tx, { member, keysKey: makeHpkeKeys(random).privateKey });
    keepFormer(tx, { addresses: [], cluster: OTHER }, { kind: "dr", isHeard: false, now });
  });
  assert.deepEqual(storedInformed(view), { since: now, members: [] });
  await view.write((tx) => putInformed(tx, ["4a,4b"]));
  assert.deepEqual(storedInformed(view), { since: now, members: ["4a,4b"] });
  await view.write((tx) => forgetFormer(tx));
  assert.deepEqual(storedInformed(view), { since: null, members: [] });
});

test("the cluster of a primary that whoever leads has revoked is kept once, and as often as it may cost a row", async () => {
  const { barrier, store } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  await withoutSerials(view, [], { cluster: OTHER, mayKeep: () => false });
  assert.equal(isRevoked(view, OTHER), false);
  await withoutSerials(view, [], { cluster: OTHER });
  assert.equal(isRevoked(view, OTHER), true);
  const { index } = store;
  await withoutSerials(view, [], { cluster: OTHER });
  await withoutSerials(view, []);
  assert.equal(store.index, index);
});
