// The endpoints of rate-limit quotas.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Quotas } from "./quotas.ts";

const endpoint = endpointsOf<Quotas>();

const name = wire.path("name").string("Name of the quota");

const quotaRecord = out.object({
  name: out.string("Name of the quota"),
  type: out.oneOf(["rate-limit"], "Kind of quota"),
  path: out.string("What it is on; empty for every request"),
  rate: out.number("Requests in an interval, for each client address"),
  interval: out.number("Length of the interval in seconds"),
  block_interval: out.number("Seconds for which a client is refused that asked too often"),
  role: out.string("Always empty: there are no logins with roles yet"),
  inheritable: out.boolean("Whether it reaches namespaces below that have none of their own"),
});

export const quotasApi = [
  endpoint({
    name: "readQuotaConfig",
    method: "GET",
    path: "/sys/quotas/config",
    summary: "Read the settings of quotas",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.object({
      rate_limit_exempt_paths: out.list(
        out.string("Path, or the beginning of one before a *"),
        "Paths that no quota counts, beside those that never are",
      ),
      enable_rate_limit_audit_logging: out.boolean("Whether refused requests are audited"),
      enable_rate_limit_response_headers: out.boolean("Whether answers carry X-Ratelimit headers"),
    }),
    handler(quotas) {
      const { exemptPaths, auditRefusals, headers } = quotas.config;
      return {
        rate_limit_exempt_paths: exemptPaths,
        enable_rate_limit_audit_logging: auditRefusals,
        enable_rate_limit_response_headers: headers,
      };
    },
  }),

  endpoint({
    name: "writeQuotaConfig",
    method: "POST",
    path: "/sys/quotas/config",
    summary: "Change the settings of quotas",
    description: "What is left out stays as it is.",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    input: {
      exemptPaths: wire
        .param("rate_limit_exempt_paths")
        .list(
          "Whole paths that no quota counts, a * at the end for all that begin so. Health, seal " +
            "status, unseal and the generation of a root token are never counted",
          { max: 128, form: withoutSlashes },
        )
        .optional(),
      auditRefusals: wire
        .param("enable_rate_limit_audit_logging")
        .boolean("Audit requests that are refused; a flood then fills the audit log")
        .optional(),
      headers: wire
        .param("enable_rate_limit_response_headers")
        .boolean("Send X-Ratelimit-Limit, -Remaining and -Reset (seconds until it is full again)")
        .optional(),
    },
    output: out.nothing,
    async handler(quotas, change) {
      await quotas.configure(change);
      return undefined;
    },
  }),

  endpoint({
    name: "listRateLimitQuotas",
    method: "LIST",
    path: "/sys/quotas/rate-limit",
    summary: "List rate-limit quotas",
    access: access.capability,
    rootOnly: true,
    input: {},
    output: out.keys("Names of the quotas"),
    handler: (quotas) => ({ keys: quotas.names() }),
  }),

  endpoint({
    name: "readRateLimitQuota",
    method: "GET",
    path: "/sys/quotas/rate-limit/:name",
    summary: "Read a rate-limit quota",
    access: access.capability,
    rootOnly: true,
    input: { name },
    output: quotaRecord,
    handler(quotas, input) {
      const quota = quotas.get(input.name);
      return {
        name: input.name,
        type: "rate-limit" as const,
        path: quota.path,
        rate: quota.rate,
        interval: quota.interval / Number(SECOND),
        block_interval: quota.blockInterval / Number(SECOND),
        role: "",
        inheritable: quota.inheritable,
      };
    },
  }),

  endpoint({
    name: "writeRateLimitQuota",
    method: "POST",
    path: "/sys/quotas/rate-limit/:name",
    summary: "Create or replace a rate-limit quota",
    description:
      "Each client address has its own allowance, on each node; an IPv6 client is its /64. Of all " +
      "quotas only the most specific one applies: path, mount, namespace, the nearest namespace " +
      "above whose quota is inheritable, every request. Who exceeds it gets 429 with Retry-After.",
    access: access.capability,
    belongs: "shared",
    rootOnly: true,
    exists: (quotas, path) => quotas.has(path["name"] ?? ""),
    input: {
      name,
      path: wire
        .param("path")
        .string(
          "Empty for every request; a namespace (team/), a mount (team/secret/) or a path below " +
            "a mount, a * at its end for all that begin so",
          { max: 1024, form: withoutSlashes },
        )
        .default(""),
      rate: wire.param("rate").number("Requests in an interval, above 0", { max: 1e9 }),
      interval: wire
        .param("interval")
        .duration("Length of the interval", { min: SECOND, max: DAY })
        .default(SECOND, "1s"),
      blockInterval: wire
        .param("block_interval")
        .duration("How long a client is refused altogether that exceeded the rate; 0 for not", {
          max: 30n * DAY,
        })
        .default(0n, "0s"),
      role: wire
        .param("role")
        .string("Not supported yet: there are no logins with roles")
        .default(""),
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
    name: "deleteRateLimitQuota",
    method: "DELETE",
    path: "/sys/quotas/rate-limit/:name",
    summary: "Delete a rate-limit quota",
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
