// A role: what its credentials may do, and how long they last. How it is kept, and which changes of it
// are refused without asking anybody.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import * as failures from "../failures.ts";

/** A role of the provider on one of its scopes. */
export interface Grant {
  readonly roleId: string;
  readonly roleName: string;
  readonly scope: string;
}

export interface GroupRef {
  readonly objectId: string;
  readonly groupName: string;
}

/** The application that the role keeps for its whole life. */
export interface Managed {
  /** Where it was made. */
  readonly tenantId: string;
  /** When, in nanoseconds since 1970. */
  readonly made: string;
  readonly appObjectId: string;
  readonly appId: string;
  readonly principalId: string;
  readonly assignments: readonly ManagedAssignment[];
  readonly groupIds: readonly string[];
}

export interface ManagedAssignment {
  readonly id: string;
  readonly roleId: string;
  readonly scope: string;
}

export interface Role {
  readonly version: 1;
  readonly grants: readonly Grant[];
  /** Whether the provider knows all of them by now: not looked at while an application is named. */
  readonly grantsFound: boolean;
  readonly groups: readonly GroupRef[];
  readonly groupsFound: boolean;
  /** An application that an operator has made; empty for none. */
  readonly applicationObjectId: string;
  readonly applicationAppId: string;
  readonly persistApp: boolean;
  readonly managed: Managed | null;
  /** In seconds, all three; 0: as the mount says, or as the longest there is. */
  readonly ttl: number;
  readonly maxTtl: number;
  readonly explicitMaxTtl: number;
  readonly permanentlyDelete: boolean;
  readonly signInAudience: string;
  readonly tags: readonly string[];
}

export interface RoleChange {
  readonly grants?: unknown;
  readonly groups?: unknown;
  readonly applicationObjectId?: string | undefined;
  readonly persistApp?: boolean | undefined;
  readonly ttl?: number | undefined;
  readonly maxTtl?: number | undefined;
  readonly explicitMaxTtl?: number | undefined;
  readonly permanentlyDelete?: boolean | undefined;
  readonly signInAudience?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

export const ROLES = "roles/";
export const roleKey = (name: string) => `${ROLES}${name}`;
/** What leases of a role were asked for by. */
export const leasePlace = (name: string) => `creds/${name}`;

export const NEW_ROLE: Role = {
  version: 1,
  grants: [],
  grantsFound: true,
  groups: [],
  groupsFound: true,
  applicationObjectId: "",
  applicationAppId: "",
  persistApp: false,
  managed: null,
  ttl: 0,
  maxTtl: 0,
  explicitMaxTtl: 0,
  permanentlyDelete: false,
  signInAudience: "",
  tags: [],
};

const codec = jsonCodec<Role>();

export const roleCodec: Codec<Role> = {
  encode: (role) => codec.encode(role),
  decode: (bytes) => {
    const stored = codec.decode(bytes);
    if (stored.version !== 1) throw failures.newerVersion();
    return stored;
  },
};

/** The tenant's default where a role says nothing. */
const TEN_YEARS = 10 * 365 * 24 * 3600;

/** How long a password of this role lasts, in seconds. */
export function passwordLife({ explicitMaxTtl }: Role): number {
  return explicitMaxTtl === 0 ? TEN_YEARS : explicitMaxTtl;
}

/** Ours and the provider's words for who may sign in. */
const AUDIENCES: ReadonlyMap<string, string> = new Map([
  ["CloudBADMyOrg", "AzureADMyOrg"],
  ["CloudBADMultipleOrgs", "AzureADMultipleOrgs"],
  ["CloudBADandPersonalCloudBAccount", "AzureADandPersonalMicrosoftAccount"],
  ["PersonalCloudBAccount", "PersonalMicrosoftAccount"],
]);

/** The one name of an audience that has two: ours. */
export function audienceName(audience: string): string {
  const own = [...AUDIENCES].find(([, provider]) => provider === audience);
  return own === undefined ? audience : own[0];
}

/** In the provider's words; null where the property is not sent. */
function providerAudience(audience: string): string | null {
  return audience === "" ? null : (AUDIENCES.get(audience) ?? audience);
}

/** What a new application must say of who may sign in. Those that personal accounts may sign in to must
 *  ask for tokens of version 2: the provider refuses them otherwise. */
export function audienceMembers(audience: string): JsonObject {
  const sent = providerAudience(audience);
  if (sent === null) return {};
  const personal = sent.includes("PersonalMicrosoftAccount");
  return {
    signInAudience: sent,
    ...(personal ? { api: { requestedAccessTokenVersion: 2 } } : {}),
  };
}

const MAX_TAG = 256;

/** Those of its members that concern nobody but us, as they are after a change. */
export function changedRole(before: Role, change: RoleChange, compat: boolean): Role {
  const role: Role = {
    ...before,
    ttl: change.ttl ?? before.ttl,
    maxTtl: change.maxTtl ?? before.maxTtl,
    explicitMaxTtl: change.explicitMaxTtl ?? before.explicitMaxTtl,
    signInAudience: change.signInAudience ?? before.signInAudience,
    tags: change.tags === undefined ? before.tags : [...new Set(change.tags)],
    permanentlyDelete: change.permanentlyDelete ?? before.permanentlyDelete,
    persistApp: change.persistApp ?? before.persistApp,
  };
  checkTimes(role);
  checkAudience(role.signInAudience, compat);
  for (const tag of role.tags) {
    if (tag.length > MAX_TAG || /\s/.test(tag)) {
      throw failures.invalid(`tags must have 1 to ${MAX_TAG} characters each, and no space`);
    }
  }
  return role;
}

function checkTimes({ ttl, maxTtl, explicitMaxTtl }: Role): void {
  if (maxTtl !== 0 && ttl > maxTtl) throw failures.invalid("ttl exceeds max_ttl");
  if (explicitMaxTtl === 0) return;
  if (ttl > explicitMaxTtl) throw failures.invalid("ttl exceeds explicit_max_ttl");
  if (maxTtl > explicitMaxTtl) throw failures.invalid("max_ttl exceeds explicit_max_ttl");
}

function checkAudience(audience: string, compat: boolean): void {
  const known = audience === "" || AUDIENCES.has(audience);
  if (known || (compat && [...AUDIENCES.values()].includes(audience))) return;
  throw failures.invalid(`sign_in_audience must be one of ${[...AUDIENCES.keys()].join(", ")}`);
}
