// What must be true of both clouds at rest: everything that the server has made there belongs to a lease,
// a role or the configuration, and everything that these need is there.

import { at } from "../../tests/support/http-client.ts";
import { APP_ROLE, type CloudSite, SHARED_ROLE, USER_ROLE } from "./cloud-site.ts";

export const KEPT_ROLE = "kept"; // with an application that is kept for it
const PREFIX = "service-";

/** The first thing that is not in order, in words; null when all is. */
export async function imbalance(site: CloudSite): Promise<string | null> {
  return (await usersOf(site)) ?? (await rootKeyOf(site)) ?? (await applicationsOf(site));
}

async function usersOf(site: CloudSite): Promise<string | null> {
  const users = site.a.control.state().users.filter(({ name }) => name.startsWith(PREFIX));
  const leases = await site.leases(`clouda/creds/${USER_ROLE}`);
  if (users.length !== leases.length) {
    return `cloud A has ${users.length} users for ${leases.length} leases`;
  }
  const bare = users.find(({ keys }) => keys.length !== 1);
  return bare === undefined ? null : `a user of cloud A has ${bare.keys.length} keys`;
}

/** The one key of the configuration, and no other. */
async function rootKeyOf(site: CloudSite): Promise<string | null> {
  const [root] = site.a.control.state().users.filter(({ name }) => name === "holdfast");
  const keys = root?.keys.map(({ id }) => id) ?? [];
  const used = String(
    at(await site.api.expect([200], "GET", "clouda/config/root"), "data", "access_key"),
  );
  if (!keys.includes(used)) return "the root key of the configuration is not at cloud A";
  return keys.length === 1 ? null : `the root user of cloud A has ${keys.length} keys`;
}

async function applicationsOf(site: CloudSite): Promise<string | null> {
  const state = site.b.control.state();
  const made = state.applications.filter(({ displayName }) => displayName.startsWith(PREFIX));
  const leases = await site.leases(`cloudb/creds/${APP_ROLE}`);
  const kept = await site.api.expect([200, 404], "GET", `cloudb/roles/${KEPT_ROLE}`);
  const expected = leases.length + (kept.status === 200 ? 1 : 0);
  if (made.length !== expected) {
    return `cloud B has ${made.length} applications, but there are ${expected} leases and kept ones`;
  }
  const keptId = kept.status === 200 ? String(at(kept, "data", "application_object_id")) : "";
  if (keptId !== "" && !made.some(({ id }) => id === keptId)) {
    return "the application of the role that keeps one is not at cloud B";
  }
  const principals = state.servicePrincipals.filter(({ appId }) =>
    made.some((one) => one.appId === appId),
  );
  if (principals.length !== expected) {
    return `cloud B has ${principals.length} principals for ${expected} applications`;
  }
  if (state.deletedItems.length > 0) {
    return `${state.deletedItems.length} deleted items of cloud B can be restored`;
  }
  return (
    assignmentsOf(site, kept.status === 200 ? at(kept, "data", "cloudb_roles") : [], {
      leases: leases.length,
      kept: principals.find(({ appId }) => made.find(({ id }) => id === keptId)?.appId === appId)
        ?.id,
    }) ?? (await passwordsOf(site))
  );
}

/** Two for each lease, and those of the kept application. */
function assignmentsOf(
  site: CloudSite,
  keptRoles: unknown,
  { leases, kept }: { readonly leases: number; readonly kept: string | undefined },
): string | null {
  const { roleAssignments, servicePrincipals, groups } = site.b.control.state();
  const ids = new Set(servicePrincipals.map(({ id }) => id));
  const lost = roleAssignments.filter(({ principalId }) => !ids.has(principalId));
  if (lost.length > 0) return `${lost.length} assignments of cloud B belong to nobody`;
  const wanted = Array.isArray(keptRoles)
    ? keptRoles.map((one) => String(at2(one, "role_id")))
    : [];
  const had = roleAssignments
    .filter(({ principalId }) => principalId === kept)
    .map(({ roleDefinitionId }) => roleDefinitionId);
  if (names(wanted) !== names(had)) {
    return `the kept application has ${had.length} roles (${names(had)}), its role says ${names(wanted)}`;
  }
  const others = roleAssignments.length - had.length;
  if (others !== leases * 2) return `cloud B has ${others} assignments for ${leases} leases`;
  const members = groups.flatMap((group) => group.members);
  const strangers = members.filter((id) => !ids.has(id));
  if (strangers.length > 0) return `${strangers.length} members of groups of cloud B are gone`;
  return members.length === leases ? null : `${members.length} members for ${leases} leases`;
}

async function passwordsOf(site: CloudSite): Promise<string | null> {
  const { applications } = site.b.control.state();
  const shared = applications.find(({ id }) => id === site.sharedApplication);
  const leases = await site.leases(`cloudb/creds/${SHARED_ROLE}`);
  if (shared?.passwords.length !== leases.length) {
    return `the shared application has ${shared?.passwords.length} passwords for ${leases.length} leases`;
  }
  const root = applications.find(({ appId }) => appId === site.b.clientId);
  const config = await site.api.expect([200], "GET", "cloudb/config");
  const rotation = String(at(config, "data", "root_rotation"));
  if (rotation !== "none") return `the rotation of the root password is ${rotation}`;
  return root?.passwords.length === 1
    ? null
    : `the root application of cloud B has ${root?.passwords.length} passwords`;
}

function at2(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

/** Of definitions, however long the ids they were given by. */
function names(ids: readonly string[]): string {
  return ids
    .map((id) => id.replace(/^.*\//, ""))
    .toSorted()
    .join(" ");
}
