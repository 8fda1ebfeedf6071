// The room of leases: secrets that end, kept track of until they are ended outside.

import { declares, type RoomPlan } from "../house/room.ts";
import { leasesApi, olderLeasesApi } from "./api.ts";
import { Leases, type LeasesOptions } from "./leases.ts";

export type LeasesNeeds = Required<LeasesOptions>;

export interface LeasesParts {
  readonly leases: Leases;
}

export const leasesRoom: RoomPlan<LeasesNeeds, LeasesParts> = {
  name: "leases",
  declares: [
    declares(
      "src/leases/api.ts",
      [...leasesApi, ...olderLeasesApi],
      ({ leases }: LeasesParts) => leases,
    ),
  ],
  build: (needs) => {
    const leases = new Leases(needs);
    return {
      leases,
      open: () => leases.open(),
      close: () => leases.close(),
      jobs: leases.jobs,
      wipe: { reachesOutside: true, run: (namespaceId) => leases.wipe(namespaceId) },
      metrics: { leases: () => leases.total },
    };
  },
};
