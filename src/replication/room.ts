// The room of replication: what this cluster is among others.

import type { Tx } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import type { ReplicationKind } from "../cluster/names.ts";
import { admissionApi, primaryApi, recoverApi } from "./api-primary.ts";
import { joiningApi, recoverSecondaryApi, secondaryApi } from "./api-secondary.ts";
import { filtersApi } from "./filters/api-filters.ts";
import { statusApi } from "./api-status.ts";
import { divergentApi, treesApi } from "./api-trees.ts";
import { BothKinds, type BothKindsNeeds } from "./both-kinds.ts";
import type { OperationsNeeds } from "./operations/operations.ts";
import { operationsDeclared, type OperationsParts, operationsParts } from "./operations/part.ts";
import type { Replication } from "./replication.ts";
import { isFenced, type Role } from "./roles/role.ts";

export interface ReplicationNeeds extends Omit<
  BothKindsNeeds,
  "revokeOperationTokens" | "takeTicketsFrom" | "spendTicket" | "endOperationTokens"
> {
  readonly keeper: OperationsNeeds["keeper"];
  readonly operationTokenMaxAge: OperationsNeeds["operationTokenMaxAge"];
  readonly operationTokenAuth: OperationsNeeds["operationTokenAuth"];
}

export interface ReplicationParts extends OperationsParts {
  readonly kinds: BothKinds;
  /** Of disaster recovery. */
  readonly replication: Replication;
  readonly performance: Replication;
}

/** The endpoints that both kinds have. */
const ofKind = (kind: ReplicationKind) => {
  const own = ({ kinds }: ReplicationParts) => kinds[kind];
  const admission = ({ kinds }: ReplicationParts) =>
    kind === "dr" ? kinds.drAdmission : kinds.performanceAdmission;
  const isDr = kind === "dr";
  return [
    declares("src/replication/api-primary.ts", primaryApi(kind), own),
    declares("src/replication/api-primary.ts", admissionApi(kind), admission),
    declares("src/replication/api-secondary.ts", joiningApi(kind), admission),
    declares(
      "src/replication/api-secondary.ts",
      [...secondaryApi(kind), ...(isDr ? recoverSecondaryApi : [])],
      own,
    ),
  ];
};

export const replicationRoom: RoomPlan<ReplicationNeeds, ReplicationParts> = {
  name: "replication",
  declares: [
    declares(
      "src/replication/api-status.ts",
      statusApi,
      ({ replication, performance, kinds }: ReplicationParts) => ({
        dr: replication.status,
        performance: performance.status,
        members: () => kinds.members,
      }),
    ),
    ...ofKind("dr"),
    declares("src/replication/api-primary.ts", recoverApi, ({ kinds }: ReplicationParts) => kinds),
    declares(
      "src/replication/api-trees.ts",
      treesApi,
      ({ replication }: ReplicationParts) => replication.trees,
    ),
    declares("src/replication/api-trees.ts", divergentApi, ({ kinds }: ReplicationParts) => kinds),
    ...operationsDeclared,
    ...ofKind("performance"),
    declares(
      "src/replication/filters/api-filters.ts",
      filtersApi,
      ({ performance }: ReplicationParts) => performance,
    ),
  ],
  build: (needs) => {
    const { operations } = operationsParts({
      ...needs,
      role: () => ({ mode: kinds.dr.mode, ...placeOf(kinds.dr.role) }),
    });
    const kinds: BothKinds = new BothKinds({
      ...needs,
      revokeOperationTokens: (tx: Tx) => operations.revokeAll(tx),
      takeTicketsFrom: (tx: Tx, epoch: number) => operations.takeFrom(tx, epoch),
      spendTicket: (tx, caller) => operations.spend(tx, caller),
      endOperationTokens: (tx) => operations.endTokens(tx),
    });
    const { dr: replication, performance } = kinds;
    return {
      kinds,
      replication,
      performance,
      operations,
      whileFollowing: "leads",
      lead: () => kinds.lead(),
      rest: () => kinds.rest(),
      metrics: {
        recordsHealed: () => replication.trees.healed,
        replication: () => [replication.status.reading, performance.status.reading],
      },
    };
  },
};

/** In which set, and when. */
function placeOf(role: Role) {
  if (role.mode === "disabled") return { set: "", epoch: 0, isFenced: false };
  return { set: role.set, epoch: role.epoch.number, isFenced: isFenced(role) };
}
