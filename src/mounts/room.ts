// The room of mounts: which engines there are, and what is mounted where.

import { declares, type RoomPlan } from "../house/room.ts";
import { mountsApi } from "./api/api.ts";
import { mountViewsApi } from "./api/api-views.ts";
import { MountSight, type MountSightOptions } from "./api/mount-sight.ts";
import { Mounts } from "./mounts.ts";
import type { MountsOptions } from "./ports.ts";

export interface MountsNeeds
  extends Required<Omit<MountsOptions, "maxMounts" | "foreign">>, Pick<MountsOptions, "foreign"> {
  readonly sight: MountSightOptions["sight"];
}

export interface MountsParts {
  readonly mounts: Mounts;
  readonly mountSight: MountSight;
}

export const mountsRoom: RoomPlan<MountsNeeds, MountsParts> = {
  name: "mounts",
  declares: [
    declares("src/mounts/api/api.ts", mountsApi, ({ mounts }: MountsParts) => mounts),
    declares(
      "src/mounts/api/api-views.ts",
      mountViewsApi,
      ({ mountSight }: MountsParts) => mountSight,
    ),
  ],
  build: (needs) => {
    const mounts = new Mounts({ ...needs, log: needs.log.child("mounts") });
    return {
      mounts,
      mountSight: new MountSight({ mounts, sight: needs.sight }),
      created: (tx) => mounts.created(tx),
      open: () => mounts.open(),
      lead: () => mounts.lead(),
      interrupt: () => mounts.stop(), // requests may wait for a mount to go
      close: () => mounts.close(),
      jobs: mounts.jobs,
      followers: [mounts.rows.follower],
      wipe: { reachesOutside: true, run: (namespaceId) => mounts.wipe(namespaceId) },
      metrics: {
        orphans: () => mounts.orphansByMount(),
        mounted: (accessor) => mounts.hasAccessor(accessor),
      },
    };
  },
};
