// The room of the seal: who holds the keys, and whether the node has them.

import { declares, type RoomPlan } from "../house/room.ts";
import { nodeApi } from "./api-node.ts";
import { sealApi, type SealServices } from "./api.ts";
import { ceremonyApi } from "./ceremonies/api-ceremonies.ts";
import type { View } from "../barrier/view.ts";
import type { KeeperOptions } from "./keeper-options.ts";
import { SealKeeper } from "./keeper.ts";
import { Region } from "./region.ts";

/** What the keeper does not know of the node. */
type NodeHealth = Omit<
  ReturnType<SealServices["health"]>,
  "initialised" | "sealed" | "region" | "lastWal"
>;

export interface SealNeeds extends KeeperOptions {
  /** Of everything below local/. */
  readonly local: View;
  /** Name of the region, as configured. */
  readonly region: string;
  readonly health: (sealed: boolean) => NodeHealth;
  readonly evidenceKey: SealServices["evidenceKey"];
}

export interface SealParts extends SealServices {
  readonly region: Region;
}

export const sealRoom: RoomPlan<SealNeeds, SealParts> = {
  name: "seal",
  declares: [
    declares("src/seal/api.ts", sealApi, (parts: SealParts) => parts),
    declares("src/seal/api-node.ts", nodeApi, (parts: SealParts) => parts),
    declares("src/seal/ceremonies/api-ceremonies.ts", ceremonyApi, (parts: SealParts) => parts),
  ],
  build: (needs) => {
    const { store, clock, local, evidenceKey } = needs;
    const keeper = new SealKeeper(needs);
    const region = new Region({ local, configured: needs.region, log: needs.log.child("seal") });
    return {
      keeper,
      clock,
      region,
      evidenceKey,
      health: () => ({
        ...needs.health(keeper.sealed),
        initialised: keeper.initialised,
        sealed: keeper.sealed,
        region: region.name,
        lastWal: store.initialised ? store.index : 0n,
      }),
      created: (tx) => region.created(tx),
      open: () => region.open(),
      lead: () => region.lead(),
      close: () => region.close(),
      whileFollowing: "opens",
      metrics: {
        sealState: () =>
          !keeper.initialised ? "uninitialised" : keeper.sealed ? "sealed" : "unsealed",
        barrierEncryptions: () => (keeper.sealed ? null : keeper.keyStatus.encryptions),
      },
    };
  },
};
