// The endpoints of a primary, of either kind of replication.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import type { Failure } from "@holdfast/shared/failure";
import type { ReplicationKind } from "../cluster/names.ts";
import type { Admission } from "./admission.ts";
import type { BothKinds } from "./both-kinds.ts";
import { NAMES, promoteInstead, secondaryAlready } from "./failures.ts";
import type { Replication } from "./replication.ts";

const endpoint = endpointsOf<Replication>();
const admitting = endpointsOf<Admission>();

/** As names of endpoints have them. */
export const IN_NAMES: Readonly<Record<ReplicationKind, string>> = {
  dr: "Dr",
  performance: "Performance",
};

const base = (kind: ReplicationKind) => `/sys/replication/${kind}/primary`;

/** What a disaster-recovery secondary says to what is another's; of the other kind it knows nothing. */
const refusedBy = (kind: ReplicationKind, failure: () => Failure) =>
  kind === "dr" ? failure : null;

export const clusterAddress = wire
  .param("primary_cluster_addr")
  .string("Where secondaries come: https://host:port; the cluster port's own address unless said", {
    max: 300,
  })
  .default("");

const attestPolicies = wire
  .param("attest_policies")
  .list(
    "Policies that the secondary may vouch for, when it sends on requests of tokens that it alone knows; all of them unless said",
    { max: 4096 },
  )
  .optional();

const copyFilterFrom = wire
  .param("copy_filter_from")
  .string("Secondary, or id of a cluster, whose paths filter this one is to have too", { max: 64 })
  .default("");

const id = (help: string) => wire.param("id").string(help, { max: 64 });

export const primaryApi = (kind: ReplicationKind) => [
  endpoint({
    name: `enable${IN_NAMES[kind]}Primary`,
    method: "POST",
    path: `${base(kind)}/enable`,
    summary: `Make this cluster a primary of ${NAMES[kind]} replication`,
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: refusedBy(kind, promoteInstead),
    input: { address: clusterAddress },
    output: out.nothing,
    handler: async (replication, { address }) => {
      return reply(undefined, await replication.enablePrimary(address));
    },
  }),

  endpoint({
    name: `demote${IN_NAMES[kind]}Primary`,
    method: "POST",
    path: `${base(kind)}/demote`,
    summary: "Make this primary a secondary without a primary",
    description:
      "Takes no more writes, and waits up to ten seconds until the secondaries have the last one. The warnings say which " +
      "index that is, and who has it.",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: refusedBy(kind, secondaryAlready),
    input: {},
    output: out.nothing,
    handler: async (replication, _input, context) => {
      context.detach(); // it waits for the others
      return reply(undefined, await replication.demote());
    },
  }),

  endpoint({
    name: `disable${IN_NAMES[kind]}Primary`,
    method: "POST",
    path: `${base(kind)}/disable`,
    summary: `End ${NAMES[kind]} replication of this primary`,
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: refusedBy(kind, secondaryAlready),
    input: {},
    output: out.nothing,
    handler: async (replication, _input, context) => {
      if (kind === "performance") context.detach(); // the rooms open anew
      return reply(undefined, await replication.disablePrimary());
    },
  }),
];

const both = endpointsOf<BothKinds>();

export const recoverApi = [
  both({
    name: "recoverReplication",
    method: "POST",
    path: "/sys/replication/recover",
    summary:
      "Begin replication anew: secondaries of this primary, or its own primary, are connected to again",
    description: "Of both kinds of replication, where this cluster is something in both.",
    access: access.capabilityOrCopying("recover"),
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: async (kinds) => reply(undefined, await kinds.recover()),
  }),
];

export const admissionApi = (kind: ReplicationKind) => [
  admitting({
    name: `make${IN_NAMES[kind]}SecondaryToken`,
    method: "POST",
    path: `${base(kind)}/secondary-token`,
    summary: "Make a token with which another cluster becomes a secondary",
    description:
      "Wrapped: it is unwrapped once, by the secondary, at the API of this cluster. With secondary_public_key it is sealed " +
      "to that key instead, and this cluster's API is not called.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: refusedBy(kind, secondaryAlready),
    input: {
      id: id("Name of the secondary; each is used once, and again after it was revoked"),
      ttl: wire
        .param("ttl")
        .duration("How long the token is good for", { min: SECOND, max: 24n * HOUR })
        .default(1800n * SECOND),
      publicKey: wire
        .param("secondary_public_key")
        .string("Of the secondary, by its generate-public-key", { max: 256 })
        .default(""),
      ...(kind === "performance" ? { attestPolicies, copyFilterFrom } : {}),
    },
    output: out.object({ token: out.optional(out.secret("The token, where it is sealed")) }),
    handler: (admission, input, context) => admission.secondaryToken(input, context),
  }),

  admitting({
    name: `revoke${IN_NAMES[kind]}Secondary`,
    method: "POST",
    path: `${base(kind)}/revoke-secondary`,
    summary: "Refuse a secondary from now on",
    description:
      "Its sessions end before this is answered. It still holds the keys: rotate and rekey.",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    refusedOnDrSecondary: refusedBy(kind, secondaryAlready),
    input: {
      id: id(
        "Name of the secondary, or the one that it had at the primary before this one, or the id of its cluster",
      ),
    },
    output: out.nothing,
    handler: async (admission, { id: named }) => {
      await admission.revoke(named);
      return undefined;
    },
  }),
];
