// The room of the seal: who holds the keys, and whether the node has them.

import { declares, type RoomPlan } from "../house/room.ts";
import { nodeApi } from "./api-node.ts";
import { sealApi, type SealServices } from "./api.ts";
import { ceremonyApi } from "./ceremonies/api-ceremonies.ts";
import type { KeeperOptions } from "./keeper-options.ts";
import { SealKeeper } from "./keeper.ts";

/** What the keeper does not know of the node. */
type NodeHealth = Omit<ReturnType<SealServices["health"]>, "initialised" | "sealed" | "lastWal">;

export interface SealNeeds extends KeeperOptions {
  readonly health: (sealed: boolean) => NodeHealth;
  readonly evidenceKey: SealServices["evidenceKey"];
}

export type SealParts = SealServices;

export const sealRoom: RoomPlan<SealNeeds, SealParts> = {
  name: "seal",
  declares: [
    declares("src/seal/api.ts", sealApi, (parts: SealParts) => parts),
    declares("src/seal/api-node.ts", nodeApi, (parts: SealParts) => parts),
    declares("src/seal/ceremonies/api-ceremonies.ts", ceremonyApi, (parts: SealParts) => parts),
  ],
  build: (needs) => {
    const { store, clock, evidenceKey } = needs;
    const keeper = new SealKeeper(needs);
    return {
      keeper,
      clock,
      evidenceKey,
      health: () => ({
        ...needs.health(keeper.sealed),
        initialised: keeper.initialised,
        sealed: keeper.sealed,
        lastWal: store.initialised ? store.index : 0n,
      }),
      metrics: {
        sealState: () =>
          !keeper.initialised ? "uninitialised" : keeper.sealed ? "sealed" : "unsealed",
        barrierEncryptions: () => (keeper.sealed ? null : keeper.keyStatus.encryptions),
      },
    };
  },
};
