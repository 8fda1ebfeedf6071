// What a member of the set may cost another one that it tells whom it has revoked.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { madeBarrier } from "../../../tests/support/made/made-barrier.ts";
import { MemoryCarrier } from "../../cluster/memory-carrier.ts";
import { CarriedLink } from "../../cluster/peer-link.ts";
import type { SetToServe } from "../../cluster/port-set.ts";
import { sendFence } from "../joining/calls.ts";
import { isRevoked } from "../joining/primary-rows.ts";
import type { ReplicationOptions } from "../options.ts";
import { links } from "./links.ts";
import { putSiblings, storedSiblingsRevoked } from "./upstream.ts";

const SET = { set: "5f3d2c10-0000-4000-8000-0000000000aa", kind: "dr" } as const;
const [OWN, LEADER, FORMER] = [1, 2, 3].map((n) => `0b8e2f3e-0000-4000-8000-00000000000${n}`);
const LATER = { number: 2, cluster: LEADER!, first: "7" };

test("one that leads has six rows in a minute written of members that nobody has named, and of the primary of before one; of this cluster none", async () => {
  const { barrier, world } = await madeBarrier();
  const view = barrier.view("core/replication/dr/");
  const paris = { id: "paris", cluster: LEADER!, addresses: [], serials: ["4a"], digests: [] };
  await view.write((tx) => putSiblings(tx, [paris]));
  let served: SetToServe | null = null;
  const none = new Uint8Array(0);
  const member = { ...SET, id: "rome", authority: none, certificate: none, key: none };
  const options = { ...world, ...SET, view, barrier, version: "0.1.0", clusterId: () => OWN! };
  const beside = links.beside(
    options as unknown as ReplicationOptions,
    { serve: (set) => (served = set), revoke: () => 0, refuseOnly: () => {}, forget: () => {} },
    member,
    { fenced: async (epoch) => epoch, leads: () => false },
  );
  beside.open();
  const { table, greet } = served as unknown as SetToServe;
  const expires = world.clock.now() + 10n ** 18n;
  const peer = { ...SET, id: "paris", serial: "4a", expires };
  const carrier = new MemoryCarrier({ table, greet, isRevoked: () => false }, peer, world);
  const link = new CarriedLink(carrier, peer);
  await link.open({ clusterId: LEADER!, version: "0.1.0" });
  const { rootKey } = barrier;
  const say = (words: object) => sendFence(link, SET, LATER, { rootKey, from: LEADER!, ...words });
  await say({ disowned: OWN! });
  assert.equal(isRevoked(view, OWN!), false);
  await say({ disowned: FORMER! });
  assert.equal(isRevoked(view, FORMER!), true);
  for (let i = 0; i < 20; i++)
    await say({ revoked: [(0x500 + i).toString(16)], disowned: FORMER! });
  assert.equal(storedSiblingsRevoked(view).length, 5, "and that of before is the sixth");
  world.clock.pass(MINUTE);
  for (let i = 0; i < 20; i++) await say({ revoked: [(0x600 + i).toString(16)] });
  assert.equal(storedSiblingsRevoked(view).length, 11);
  await link.close();
  beside.close();
});
