// The room of identity: proofs of who an engine is, for providers that trust this server.

import type { Clock, Random } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { identityApi } from "./api.ts";
import { Identity } from "./identity.ts";

export interface IdentityNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "uuid">;
  /** Where clients reach this cluster; empty where nobody has said. */
  readonly apiAddress: () => string;
  /** Id of this cluster. */
  readonly clusterId: () => string;
}

export interface IdentityParts {
  readonly identity: Identity;
}

export const identityRoom: RoomPlan<IdentityNeeds, IdentityParts> = {
  name: "identity",
  declares: [
    declares("src/identity/api.ts", identityApi, ({ identity }: IdentityParts) => identity),
  ],
  build: ({ shared, ...needs }) => {
    const identity = new Identity({ view: shared.sub("identity/"), ...needs });
    return { identity, lead: () => identity.lead(), close: () => identity.close() };
  },
};
