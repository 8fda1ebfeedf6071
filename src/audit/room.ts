// The room of audit: no request is answered whose record no device has.

import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { auditApi } from "./api.ts";
import { Audit, type AuditOptions } from "./audit.ts";
import { CHECKPOINTS, EXCHANGED, HEADS } from "./device-store.ts";

export interface AuditNeeds extends Omit<AuditOptions, "views" | "metrics"> {
  /** Of everything below shared/, local/ and core/. */
  readonly shared: View;
  readonly local: View;
  readonly node: View;
  /** Whether the data is another cluster's. */
  readonly following: () => boolean;
  /** A write of one or more records ended, to a device of this type. */
  readonly wrote: (type: string, ok: boolean, seconds: number) => void;
}

/** Below core/: where chains go that were left when the data was exchanged. */
export const EXCHANGED_CHAINS = `audit/${EXCHANGED}`;
/** And where it is kept how far own ones have come: in no archive. */
export const OWN_CHAINS = [HEADS, CHECKPOINTS].map((folder) => `audit/${folder}`);

export interface AuditParts {
  readonly audit: Audit;
}

export const auditRoom: RoomPlan<AuditNeeds, AuditParts> = {
  name: "audit",
  declares: [declares("src/audit/api.ts", auditApi, ({ audit }: AuditParts) => audit)],
  build: (needs) => {
    let devices: number | null = null;
    const audit = new Audit({
      ...needs,
      views: {
        shared: needs.shared.sub("audit/"),
        local: needs.local.sub("audit/"),
        node: needs.node.sub("audit/"),
      },
      log: needs.log.child("audit"),
      metrics: {
        wrote: needs.wrote,
        healthy: (healthy) => {
          devices = healthy;
        },
      },
    });
    return {
      audit,
      whileFollowing: "leads",
      lead: () => audit.open({ foreign: needs.following() }), // devices are outside, and where their chains end is stored
      rest: () => audit.close(),
      metrics: { auditDevicesHealthy: () => devices },
    };
  },
};
