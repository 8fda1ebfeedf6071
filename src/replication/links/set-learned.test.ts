// What a secondary keeps of what its primary tells of itself and of the set, and what it passes over.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { nextTurn } from "../../../tests/support/fake-world.ts";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { ADDRESS, EPOCH, SET } from "../../../tests/support/replication/set-stage.ts";
import { until } from "../../../tests/support/until.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import { isRevoked, storedRevokedThere } from "../joining/primary-rows.ts";
import { StoredRole } from "../roles/stored-role.ts";
import type { Sibling } from "../stream/messages.ts";
import { SetLearned } from "./set-learned.ts";
import { storedSiblings, storedSiblingsRevoked } from "./upstream.ts";

const OWN = "https://here.example:8201";
const ROME = "0b8e2f3e-0000-4000-8000-000000000003";
const PARIS = "0b8e2f3e-0000-4000-8000-000000000004";
const NOBODY = { siblings: [], revoked: [], failover: [], revokedClusters: [] };

async function secondary(t: TestContext, kind: ReplicationKind = "dr") {
  const { barrier, store, world } = await madeBarrier();
  if (kind === "dr") await store.follow();
  const view = barrier.view(`core/replication/${kind}/`);
  const role = new StoredRole(view, kind);
  await role.step({
    do: "join",
    joined: { set: SET, id: "berlin", address: ADDRESS, epoch: EPOCH },
  });
  let notices = 0;
  const learned = new SetLearned({
    ...world,
    store,
    view,
    role,
    kind,
    clusterAddress: () => OWN,
    revoked: () => void notices++,
  });
  t.after(() => store.close());
  const now = () => {
    assert.ok(role.now.mode === "secondary");
    return role.now;
  };
  return { learned, view, now, notices: () => notices };
}

const rome = (more: Partial<Sibling> = {}): Sibling => ({
  id: "rome",
  cluster: ROME,
  serials: ["4a"],
  digests: [],
  addresses: ["https://rome.example:8201"],
  ...more,
});

test("of the addresses of a primary those are kept that are addresses of a cluster port", async (t) => {
  const { learned, now } = await secondary(t);
  const right = "https://a.example:8201";
  learned.learn("https://a.example:8200; run this", ["nonsense", right, "https://u@b:1"], NOBODY);
  await until(() => now().known !== null);
  assert.deepEqual([now().known, learned.apiAddress], [[right], ""]);
});

test("who stands in for the primary of a region is called where clusters are, each once, and never this cluster itself", async (t) => {
  const { learned, now } = await secondary(t, "performance");
  const right = "https://b.example:8201";
  const failover = [OWN, "b.example:8201", right, "https://169.254.169.254:80", "nonsense"];
  learned.learn("", [ADDRESS], { ...NOBODY, failover });
  await until(() => now().failover !== undefined);
  assert.deepEqual(now().failover, [right]);
});

test("who was revoked is no sibling any more and is not believed; whoever serves the others hears of it when it is stored", async (t) => {
  const { learned, view, notices } = await secondary(t);
  learned.learn("", [], { ...NOBODY, siblings: [rome()] });
  await until(() => notices() === 1);
  assert.deepEqual(
    [storedSiblings(view).map(({ id }) => id), isRevoked(view, ROME), learned.nameOf(ROME)],
    [["rome"], false, "rome"],
  );
  learned.learn("", [], { ...NOBODY, revoked: ["4a", "no serial\n"] });
  await until(() => notices() === 2);
  assert.deepEqual(
    [storedSiblings(view), storedSiblingsRevoked(view), isRevoked(view, ROME)],
    [[], ["4a"], true],
  );
  // It has come again, with another token.
  learned.learn("", [], { ...NOBODY, siblings: [rome({ serials: ["4b"] })], revoked: ["4a"] });
  await until(() => notices() === 3);
  assert.equal(isRevoked(view, ROME), false);
});

test("where a sibling was stays known when the primary has not met it since it began", async (t) => {
  const { learned, view, notices } = await secondary(t);
  learned.learn("", [], { ...NOBODY, siblings: [rome()] });
  await until(() => notices() === 1);
  const paris = rome({ id: "paris", cluster: PARIS, serials: ["4b"], addresses: [] });
  learned.learn("", [], { ...NOBODY, siblings: [rome({ addresses: [] }), paris] });
  await until(() => notices() === 2);
  assert.deepEqual(
    storedSiblings(view).map(({ addresses }) => addresses),
    [["https://rome.example:8201"], []],
  );
});

test("who could not be written down is, when the primary tells it again", async (t) => {
  const { learned, view } = await secondary(t);
  const failing = t.mock.method(view, "write", () => Promise.reject(new Error("no room")));
  learned.learn("", [], { ...NOBODY, siblings: [rome()] });
  for (let i = 0; i < 5; i++) await nextTurn();
  failing.mock.restore();
  learned.learn("", [], { ...NOBODY, siblings: [rome()] });
  for (let i = 0; i < 20 && storedSiblings(view).length === 0; i++) await nextTurn();
  assert.deepEqual(storedSiblings(view), [rome()]);
});

test("clusters that are not to be believed are kept of those that share data, and of ids alone", async (t) => {
  const region = await secondary(t, "performance");
  region.learned.learn("", [], { ...NOBODY, revokedClusters: [ROME, "no id"] });
  await until(() => storedRevokedThere(region.view).length > 0);
  assert.deepEqual(storedRevokedThere(region.view), [ROME]);
  const { learned, view, notices } = await secondary(t);
  learned.learn("", [], { ...NOBODY, siblings: [rome()], revokedClusters: [ROME] });
  learned.learn("", [], NOBODY);
  await until(() => notices() === 2); // what came before it is stored
  assert.deepEqual(storedRevokedThere(view), []);
});
