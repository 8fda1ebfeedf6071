// The room of identity: proofs of who an engine is, for providers that trust this server.

import type { Log } from "@holdfast/shared/log";
import { MINUTE } from "@holdfast/shared/text/duration";
import type { Clock, Nanos, Random, Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { identityApi } from "./api.ts";
import { Identity } from "./identity.ts";

/** A region that has none waits for the first key so long at most. */
const KEPT_EVERY: Nanos = 10n * MINUTE;

export interface IdentityNeeds {
  /** Of everything below shared/. */
  readonly shared: View;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "uuid">;
  /** Where clients reach this cluster; empty where nobody has said. */
  readonly apiAddress: () => string;
  /** Id of this cluster. */
  readonly clusterId: () => string;
  /** Whether there are other regions, which sign with what is made here. */
  readonly hasRegions: () => boolean;
  readonly timers: Timers;
  readonly log: Log;
}

export interface IdentityParts {
  readonly identity: Identity;
}

export const identityRoom: RoomPlan<IdentityNeeds, IdentityParts> = {
  name: "identity",
  declares: [
    declares("src/identity/api.ts", identityApi, ({ identity }: IdentityParts) => identity),
  ],
  build: ({ shared, timers, log, ...needs }) => {
    const identity = new Identity({ view: shared.sub("identity/"), ...needs });
    const keeping = new Recurring({
      trouble: "could not keep the keys of identity tokens",
      run: () => identity.keep(),
      period: KEPT_EVERY,
      atOnce: false, // who asks for a token looks at them as well
      timers,
      log: log.child("identity"),
    });
    return {
      identity,
      lead: () => identity.lead(),
      close: () => identity.close(),
      jobs: [{ name: "keep the keys of identity tokens", when: "while-primary", work: keeping }],
    };
  },
};
