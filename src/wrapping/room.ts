// The room of wrapping: answers that are kept for one who unwraps them.

import type { Clock, Nanos, Random } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { wrappingApi } from "./api.ts";
import type { CubbyholeContents } from "./cubbyhole-contents.ts";
import { Wrapping, type WrappingTokens } from "./wrapping.ts";

export interface WrappingNeeds {
  /** Of everything below shared/ and local/. */
  readonly shared: View;
  readonly local: View;
  readonly tokens: WrappingTokens;
  readonly cubbyholes: CubbyholeContents;
  readonly clock: Clock;
  readonly random: Random;
  /** Where this cluster is reached; empty where nobody has said. */
  readonly apiAddress: string;
  /** How long an answer is kept at most. */
  readonly longest: Nanos;
}

export interface WrappingParts {
  readonly wrapping: Wrapping;
}

export const wrappingRoom: RoomPlan<WrappingNeeds, WrappingParts> = {
  name: "wrapping",
  declares: [
    declares("src/wrapping/api.ts", wrappingApi, ({ wrapping }: WrappingParts) => wrapping),
  ],
  build: (needs) => {
    const wrapping = new Wrapping({ ...needs, shared: needs.shared.sub("wrapping/") });
    return {
      wrapping,
      open: () => wrapping.open(),
      lead: () => wrapping.lead(),
      close: () => wrapping.close(),
    };
  },
};
