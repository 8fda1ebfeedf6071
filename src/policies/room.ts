// The room of policies: what is stored, what it allows, what programs say to it, and what may be asked about it.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { aclViewsApi } from "./api-acl-views.ts";
import { olderPoliciesApi, policiesApi } from "./api.ts";
import type { Turns } from "./compiled-acls.ts";
import { governingApi } from "./governing/api-governing.ts";
import type { GovernedPlaces } from "./governing/governed-places.ts";
import { GoverningPolicies } from "./governing/governing-policies.ts";
import { Governing, type GoverningOptions } from "./governing/governing.ts";
import { capabilitiesApi } from "./inspection/api-capabilities.ts";
import { inspectionApi } from "./inspection/api-inspect.ts";
import {
  CapabilityQueries,
  type CapabilityQueriesOptions,
} from "./inspection/capability-queries.ts";
import { Inspection, type InspectionOptions } from "./inspection/inspection.ts";
import { Policies } from "./policies.ts";
import { PolicyIndexRows } from "./policy-indexes.ts";
import { Rights } from "./rights.ts";
import type { RulePlaces } from "./rule-places.ts";

export interface PoliciesNeeds {
  /** Of everything below shared/, and below local/. */
  readonly shared: View;
  readonly local: View;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly turns: Turns;
  readonly log: Log;
  /** Where paths of policies lead. */
  readonly places: RulePlaces & GovernedPlaces;
  readonly namespaces: GoverningOptions["namespaces"] &
    InspectionOptions["namespaces"] &
    CapabilityQueriesOptions["namespaces"];
  readonly tokens: InspectionOptions["tokens"] & CapabilityQueriesOptions["tokens"];
  readonly metrics: GoverningOptions["metrics"];
  /** Names of the headers that programs may see. */
  readonly headers: () => readonly string[];
  /** What they see of replication. */
  readonly replication: GoverningOptions["replication"];
  readonly overrideNeedsSudo: boolean;
  readonly trace: boolean;
  /** Name of the own region. */
  readonly region: () => string;
  /** What answers on a path, its one form, and what is looked at of described fields. */
  readonly declared: InspectionOptions["declared"];
  readonly canonical: InspectionOptions["canonical"];
  readonly dataAt: InspectionOptions["dataAt"];
  readonly homeOf: InspectionOptions["homeOf"];
}

export interface PoliciesParts {
  readonly policies: Policies;
  readonly rights: Rights;
  readonly governing: Governing;
  readonly governingPolicies: GoverningPolicies;
  readonly capabilityQueries: CapabilityQueries;
  readonly inspection: Inspection;
  readonly region: () => string;
  /** As this cluster shows them. */
  readonly indexes: PolicyIndexRows;
}

export const policiesRoom: RoomPlan<PoliciesNeeds, PoliciesParts> = {
  name: "policies",
  declares: [
    declares(
      "src/policies/api.ts",
      [...policiesApi, ...olderPoliciesApi],
      ({ policies }: PoliciesParts) => policies,
      ({ policies }, { shared }) => policies.over(shared),
    ),
    declares(
      "src/policies/governing/api-governing.ts",
      governingApi,
      ({ governingPolicies }: PoliciesParts) => governingPolicies,
      ({ governingPolicies }, { shared }) => governingPolicies.over(shared),
    ),
    declares(
      "src/policies/inspection/api-capabilities.ts",
      capabilitiesApi,
      ({ capabilityQueries }: PoliciesParts) => capabilityQueries,
    ),
    declares(
      "src/policies/inspection/api-inspect.ts",
      inspectionApi,
      ({ inspection }: PoliciesParts) => inspection,
    ),
    declares("src/policies/api-acl-views.ts", aclViewsApi, (parts: PoliciesParts) => parts),
  ],
  build: (needs) => {
    const { shared, local, clock, timers, turns, places, namespaces, tokens, region } = needs;
    const { declared, canonical, dataAt, homeOf } = needs;
    const indexes = new PolicyIndexRows(local);
    const policies = new Policies({ shared, clock, places, turns, indexes });
    const rights = new Rights({ policies, clock, turns });
    const governing = new Governing({ ...needs, log: needs.log.child("policies") });
    const inspection = new Inspection({
      policies,
      rights,
      governing,
      tokens,
      namespaces,
      declared,
      canonical,
      dataAt,
      homeOf,
      index: () => shared.index,
      clock,
      turns,
    });
    return {
      policies,
      rights,
      governing,
      governingPolicies: new GoverningPolicies({ shared, clock, timers, places }),
      capabilityQueries: new CapabilityQueries({
        rights,
        governing,
        tokens,
        namespaces,
        canonical,
        declared,
      }),
      inspection,
      region,
      indexes,
      followers: [indexes],
      created: (tx) => policies.created(tx),
      close: () => {
        governing.close();
        rights.close();
      },
    };
  },
};
