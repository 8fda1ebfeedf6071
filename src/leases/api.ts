// The endpoints of leases. Those under the older paths are the same handlers with
// the same access: one of them must never be the easier way (T-D02).

import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { type Endpoint, endpointsOf, type WritesTo } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { namesPage, type Page, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { MINUTE, secondsLeft } from "@holdfast/shared/text/duration";
import type { Lease } from "./lease.ts";
import type { Leases } from "./leases.ts";

const endpoint = endpointsOf<Leases>();

const MAX_LISTED = 10_000;
/** Revocations that are waited for may take longer than other requests. */
const LONGEST_WAIT = 3n * MINUTE;

const idInPath = wire
  .path("lease_id", { folds: "place" })
  .string("Id of the lease, with its slashes.");
const idInBody = wire.body("lease_id").string("Id of the lease.", { max: 2048 });
const prefix = wire
  .path("prefix", { folds: "place" })
  .string("Path that the leases were asked for by, or above it.");
const increment = wire
  .body("increment")
  .duration("How long from now. Default: as its role says, or its mount.")
  .optionalUnlessEmpty();
const sync = wire
  .body("sync")
  .boolean("Whether to wait until it is done. Default: it is only queued.")
  .default(false);
const stuckType = wire.query("type").oneOf(["irrevocable"], "Which leases.");
const children = wire
  .query("include_child_namespaces")
  .boolean("Whether those of child namespaces count as well.")
  .default(false);

const found = out.object({
  id: out.string("Id of the lease."),
  path: out.string("Path of the request that it came of."),
  issue_time: out.time("When it was issued."),
  expire_time: out.time("When it ends."),
  last_renewal: out.nullable(out.time("When it was last renewed.")),
  renewable: out.boolean("Whether it can be renewed."),
  ttl: out.integer("Seconds until then; 0 when that is over."),
  namespace_path: out.string("Namespace, with a slash at the end; empty for root."),
  revoke_error: out.string("Why it could not be revoked yet; empty when nothing failed."),
});

function lookedUp(lease: Lease, now: bigint, { path }: NamespaceRef) {
  const { id, issued, expires, renewed, renewable, error } = lease;
  return {
    id,
    path: lease.path,
    issue_time: showTime(issued),
    expire_time: showTime(expires),
    last_renewal: renewed === null ? null : showTime(renewed),
    renewable: renewable && expires > now,
    ttl: secondsLeft(expires - now),
    namespace_path: path === "" ? "" : `${path}/`,
    revoke_error: error,
  };
}

async function renewed(
  leases: Leases,
  id: string,
  by: bigint | undefined,
  context: RequestContext,
) {
  const { leased, warnings } = await leases.renewing.renew(context.namespace, id, by ?? null);
  return reply(undefined, { leased, warnings });
}

async function revoked(leases: Leases, id: string, waits: boolean, context: RequestContext) {
  if (waits) context.allow(LONGEST_WAIT);
  const how = { sync: waits, signal: context.signal };
  const found = await leases.revoking.revoke(context.namespace, id, how);
  return found
    ? reply(undefined, { status: waits ? 204 : 202 })
    : nothingDone("no such lease", waits);
}

async function revokedBelow(leases: Leases, path: string, waits: boolean, context: RequestContext) {
  context.allow(LONGEST_WAIT); // tokens of a login are waited for in either case
  const how = { sync: waits, signal: context.signal };
  const found = await leases.revoking.revokePrefix(context.namespace, path, how);
  if (!found) return nothingBelow(leases, path, waits, context);
  return reply(undefined, { status: waits ? 204 : 202, warnings: leftElsewhere(leases, path) });
}

async function forced(leases: Leases, path: string, context: RequestContext) {
  context.allow(LONGEST_WAIT);
  const warnings = await leases.revoking.revokeForce(context.namespace, path, context.signal);
  if (warnings === null) return nothingBelow(leases, path, null, context);
  return reply(undefined, { warnings: [...warnings, ...leftElsewhere(leases, path)] });
}

/** Leases are local; tokens of logins need not be. Where another cluster writes those, it is asked by itself: the others are
 *  here. */
function belongsBelow(leases: Leases, { prefix: path }: { readonly prefix: string }): WritesTo {
  return isOfLogins(path) && !leases.globalElsewhere ? "shared" : "local";
}

function isOfLogins(path: string): boolean {
  return `${path}/`.startsWith("auth/");
}

const GLOBAL_LEFT =
  "global tokens are ended by the primary of the shared data: ask it as well, where the mount makes such";

function leftElsewhere({ globalElsewhere }: Leases, path: string): readonly string[] {
  return globalElsewhere && isOfLogins(path) ? [GLOBAL_LEFT] : [];
}

/** A success, since nothing is left of what was named; but whoever mistyped it must not believe in it. */
function nothingDone(why: string, waits: boolean | null, left: readonly string[] = []) {
  const warnings = [`${why}: nothing was revoked`, ...left];
  return reply(undefined, waits === null ? { warnings } : { status: waits ? 204 : 202, warnings });
}

function nothingBelow(
  leases: Leases,
  path: string,
  waits: boolean | null,
  context: RequestContext,
) {
  return nothingDone(emptyBelow(leases, path, context), waits, leftElsewhere(leases, path));
}

function emptyBelow(leases: Leases, path: string, { namespace }: RequestContext): string {
  if (!leases.isMounted(namespace, path)) return `nothing is mounted at ${path}`;
  return `no lease${path.startsWith("auth/") ? " and no login" : ""} is below ${path}`;
}

function listed(leases: Leases, path: string, page: Page, { namespace }: RequestContext) {
  return namesPage(page, (read) => leases.list(namespace, path, read));
}

const listPage = pageFields(MAX_LISTED);

/** Under their own path, and under the one that older clients know. */
function changes(base: string, suffix: string): Endpoint<Leases>[] {
  const older = suffix === "" ? "" : " Under the path that older clients use.";
  return [
    endpoint({
      name: `renewLease${suffix}`,
      method: "POST",
      path: `${base}/renew`,
      summary: `Renew a lease.${older}`,
      description:
        "The time is counted from now, and never goes beyond the maximum counted from the issue; " +
        "the answer says what was granted.",
      access: access.capability,
      belongs: "local",
      input: { id: idInBody, increment },
      output: out.nothing,
      handler: (leases, input, context) => renewed(leases, input.id, input.increment, context),
    }),
    endpoint({
      name: `renewLeaseById${suffix}`,
      method: "POST",
      path: `${base}/renew/:lease_id+`,
      summary: `Renew the lease that the path names.${older}`,
      access: access.capability,
      belongs: "local",
      input: { id: idInPath, increment },
      output: out.nothing,
      handler: (leases, input, context) => renewed(leases, input.id, input.increment, context),
    }),
    endpoint({
      name: `revokeLease${suffix}`,
      method: "POST",
      path: `${base}/revoke`,
      summary: `Revoke a lease.${older}`,
      description:
        "202 when it is queued, from which moment it has expired; with `sync` 204 when it is done. " +
        "One that is not there is revoked already.",
      access: access.capability,
      belongs: "local",
      input: { id: idInBody, sync },
      output: out.nothing,
      later: true,
      handler: (leases, input, context) => revoked(leases, input.id, input.sync, context),
    }),
    endpoint({
      name: `revokeLeaseById${suffix}`,
      method: "POST",
      path: `${base}/revoke/:lease_id+`,
      summary: `Revoke the lease that the path names.${older}`,
      access: access.capability,
      belongs: "local",
      input: { id: idInPath, sync },
      output: out.nothing,
      later: true,
      handler: (leases, input, context) => revoked(leases, input.id, input.sync, context),
    }),
    endpoint({
      name: `revokeLeasesBelow${suffix}`,
      method: "POST",
      path: `${base}/revoke-prefix/:prefix+`,
      slashFalls: true,
      summary: `Revoke all leases below a path.${older}`,
      description:
        "The id of a lease revokes that one. Below the path of a login method, such as auth/userpass, every " +
        "token that came through it has ended when this is answered. With `sync` their leases too; it stops " +
        "at the first that cannot be revoked, and says how far it got.",
      access: access.sudo,
      belongs: belongsBelow,
      input: { prefix, sync },
      output: out.nothing,
      later: true,
      handler: (leases, input, context) => revokedBelow(leases, input.prefix, input.sync, context),
    }),
    endpoint({
      name: `forceRevokeLeases${suffix}`,
      method: "POST",
      path: `${base}/revoke-force/:prefix+`,
      slashFalls: true,
      summary: `Forget all leases below a path, revoked or not.${older}`,
      description: "A warning for each that its engine could not revoke names what may remain.",
      access: access.sudo,
      belongs: belongsBelow,
      input: { prefix },
      output: out.nothing,
      handler: (leases, input, context) => forced(leases, input.prefix, context),
    }),
  ];
}

export const leasesApi: readonly Endpoint<Leases>[] = [
  endpoint({
    name: "lookupLease",
    method: "POST",
    path: "/sys/leases/lookup",
    summary: "Look up a lease.",
    access: access.capability,
    belongs: "local",
    runs: "anywhere",
    input: { id: idInBody },
    output: found,
    handler: (leases, { id }, { namespace }) =>
      lookedUp(leases.lookup(namespace, id), leases.now(), namespace),
  }),
  endpoint({
    name: "listLeases",
    method: "LIST",
    path: "/sys/leases/lookup",
    summary: "List the first parts of the paths that have leases.",
    access: access.sudo,
    input: listPage,
    output: out.keys("Parts of paths, with a slash."),
    handler: (leases, page, context) => listed(leases, "", page, context),
  }),
  endpoint({
    name: "listLeasesBelow",
    method: "LIST",
    path: "/sys/leases/lookup/:prefix+",
    summary: "List leases one level below a path.",
    access: access.sudo,
    input: { prefix, ...listPage },
    output: out.keys("Last parts of ids, and parts of paths with a slash."),
    handler: (leases, { prefix: path, ...page }, context) => listed(leases, path, page, context),
  }),
  ...changes("/sys/leases", ""),
  endpoint({
    name: "tidyLeases",
    method: "POST",
    path: "/sys/leases/tidy",
    summary: "Look through all leases for what nothing stands behind any more.",
    description: "In a child namespace only its own leases are looked through.",
    access: access.capability,
    belongs: "local",
    input: {},
    output: out.nothing,
    later: true,
    handler: (leases, _input, { namespace }) => {
      const begun = leases.tidying.start(namespace);
      const message = begun
        ? "tidying has begun and goes on in the background; the log tells when it is done"
        : "tidying is under way already";
      return reply(undefined, { status: 202, warnings: [message] });
    },
  }),
  endpoint({
    name: "countLeases",
    method: "GET",
    path: "/sys/leases/count",
    summary: "Count the leases that could not be revoked.",
    access: access.capability,
    input: { type: stuckType, children },
    output: out.object({
      lease_count: out.integer("How many there are."),
      counts: out.mapOf(out.integer("How many."), "By the accessor of their mount."),
    }),
    handler: async (leases, input, { namespace }) => {
      const { total, byMount } = await leases.stuck.count(namespace, input);
      return { lease_count: total, counts: Object.fromEntries(byMount) };
    },
  }),
  endpoint({
    name: "readLeases",
    method: "GET",
    path: "/sys/leases",
    summary: "Read the leases that could not be revoked, and why.",
    access: access.sudo,
    input: {
      type: stuckType,
      children,
      limit: wire
        .query("limit")
        .string("How many at most, or none for no limit. Default 10000.", { max: 16 })
        .default(String(MAX_LISTED)),
    },
    output: out.object({
      lease_count: out.integer("How many there are."),
      leases: out.list(
        out.object({
          lease_id: out.string("Id of the lease."),
          mount_id: out.string("Accessor of its mount."),
          error: out.string("Why it could not be revoked."),
        }),
        "Those that could not be revoked.",
      ),
    }),
    handler: async (leases, input, { namespace }) => {
      const limit = readLimit(input.limit);
      const { total, leases: stuck } = await leases.stuck.list(namespace, { ...input, limit });
      const rows = stuck.map(({ id, mountAccessor, error }) => ({
        lease_id: id,
        mount_id: mountAccessor,
        error,
      }));
      const warnings =
        stuck.length < total ? [`${total - stuck.length} more are not shown; raise the limit`] : [];
      return reply({ lease_count: total, leases: rows }, { warnings });
    },
  }),
];

/** Older paths (C); kept apart so that they can be told from the others. */
export const olderLeasesApi: readonly Endpoint<Leases>[] = changes("/sys", "Older");

/** Null for no limit. */
function readLimit(text: string): number | null {
  if (text === "none") return null;
  return wire.query("limit").integer("", { min: 1 }).read(text);
}
