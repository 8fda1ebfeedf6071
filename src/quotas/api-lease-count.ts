// The endpoints of lease-count quotas.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { LeaseQuotas } from "./lease-quotas.ts";

const endpoint = endpointsOf<LeaseQuotas>();

const name = wire.path("name").string("Name of the quota");

export const leaseQuotasApi = [
  endpoint({
    name: "listLeaseCountQuotas",
    method: "LIST",
    path: "/sys/quotas/lease-count",
    summary: "List lease-count quotas",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.keys("Names of the quotas"),
    handler: (quotas) => ({ keys: quotas.names() }),
  }),

  endpoint({
    name: "readLeaseCountQuota",
    method: "GET",
    path: "/sys/quotas/lease-count/:name",
    summary: "Read a lease-count quota",
    access: access.capability,
    rootOnly: true,
    input: { name },
    output: out.object({
      name: out.string("Name of the quota"),
      type: out.oneOf(["lease-count"], "Kind of quota"),
      path: out.string("What it is on; empty for every lease"),
      max_leases: out.integer("How many leases there may be"),
      counter: out.integer("How many there are"),
      role: out.string("Always empty: leases are not counted by role of a login"),
      inheritable: out.boolean("Whether it reaches namespaces below that have none of their own"),
    }),
    async handler(quotas, input) {
      const { path, maxLeases, counted, inheritable } = await quotas.get(input.name);
      return {
        name: input.name,
        type: "lease-count" as const,
        path,
        max_leases: maxLeases,
        counter: counted,
        role: "",
        inheritable,
      };
    },
  }),

  endpoint({
    name: "writeLeaseCountQuota",
    method: "POST",
    path: "/sys/quotas/lease-count/:name",
    summary: "Create or replace a lease-count quota",
    description:
      "Bounds how many leases there are at a time below a path. Of all quotas only the most specific " +
      "one applies to a new lease: path, mount, namespace, the nearest namespace above whose quota is " +
      "inheritable, every lease. What would be one too many gets 429, before its secret is made. " +
      "Leases that are there stay, also where there are more already, and can be renewed.",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    exists: (quotas, path) => quotas.has(path["name"] ?? ""),
    input: {
      name,
      path: wire
        .param("path")
        .string(
          "Empty for every lease; a namespace (team/), a mount (team/clouda/) or a path below a " +
            "mount (clouda/creds/deploy), a * at its end for all that begin so",
          { max: 1024, form: withoutSlashes },
        )
        .default(""),
      maxLeases: wire
        .param("max_leases")
        .integer("How many leases there may be", { min: 1, max: 1_000_000_000 }),
      role: wire.param("role").string("Not supported: leave it out").default(""),
      inheritable: wire
        .param("inheritable")
        .boolean("For a namespace: reaches the namespaces below that have no quota of their own")
        .optional(),
    },
    output: out.nothing,
    async handler(quotas, { name: called, ...quota }, context) {
      await quotas.set(called, quota, (exists) => context.confirmExists(exists));
      return undefined;
    },
  }),

  endpoint({
    name: "deleteLeaseCountQuota",
    method: "DELETE",
    path: "/sys/quotas/lease-count/:name",
    summary: "Delete a lease-count quota",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    input: { name },
    output: out.nothing,
    async handler(quotas, input) {
      await quotas.delete(input.name);
      return undefined;
    },
  }),
];
