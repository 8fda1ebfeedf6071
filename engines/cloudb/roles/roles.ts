// The roles of a mount. A change is checked, looked up and, where a role keeps an application of its own,
// carried out at the provider, before it is stored: one change of a role at a time.

import type { Waiting } from "@holdfast/shared/waiting";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { SECOND } from "@holdfast/shared/text/duration";
import { errorForCaller } from "../../cloud/provider-error.ts";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { Connections } from "../provider/connection.ts";
import type { Persistence } from "./persistence.ts";
import type { RoleStore } from "./role-store.ts";
import * as failures from "../failures.ts";
import { roleName } from "../api/fields.ts";
import { type Lookups, refuseOwnApplication } from "../provider/lookups.ts";
import type { Patience, Patiently } from "../provider/patience.ts";
import {
  changedRole,
  type Grant,
  type GroupRef,
  leasePlace,
  NEW_ROLE,
  type Role,
  type RoleChange,
  roleKey,
} from "./role.ts";
import { readGrants, readGroups, readIgnoredGrants } from "../api/role-input.ts";
import {
  countedElsewhere,
  leftEverywhere,
  revokedEverywhere,
  uncounted,
} from "../../cloud/leases-elsewhere.ts";
import { isCompatible } from "../../cloud/settings.ts";

const BUDGET = 150n * SECOND;
/** A role needs roles of the provider or an application; groups alone would work too. */
const GROUPS_SUFFICE: boolean = false;

export interface RolesParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
  readonly patiently: Patiently;
  readonly roleStore: RoleStore;
  readonly lookups: Lookups;
  readonly persistence: Persistence;
}

export interface RoleWrite {
  readonly change: RoleChange;
  /** Also where other regions may have leases of it. */
  readonly force: boolean;
}

export class Roles {
  readonly #parts: RolesParts;

  constructor(parts: RolesParts) {
    this.#parts = parts;
  }

  /** Gives warnings. */
  write(
    path: string,
    write: RoleWrite,
    request: Pick<EngineRequest, "waitFor" | "confirmExists">,
  ): Promise<string[]> {
    const name = roleName(path);
    const { locks, patiently } = this.#parts;
    const check = (exists: boolean) => request.confirmExists(exists);
    return locks.run(`role/${name}`, request, () =>
      patiently(BUDGET, (patience) => this.#write(name, write, patience, check)).catch(
        (error: unknown) => {
          throw errorForCaller(error);
        },
      ),
    );
  }

  /** Gives warnings. */
  async delete(
    path: string,
    options: { readonly revokeLeases: boolean; readonly force: boolean },
    request: Waiting,
  ): Promise<string[]> {
    const name = roleName(path);
    const { needs, locks, roleStore, persistence } = this.#parts;
    const { storage, leases } = needs;
    return locks.run(`role/${name}`, request, async () => {
      const role = await roleStore.find(name);
      if (role === null) throw failures.noRole();
      const places = [leasePlace(name)];
      await countedElsewhere(leases, places, options);
      const warnings = role.managed === null ? [] : await persistence.remove(role, request);
      await storage.write((tx) => tx.delete(roleKey(name)));
      if (options.revokeLeases) return [...warnings, ...(await revokedEverywhere(leases, places))];
      const { count, silent } = await leftEverywhere(leases, places);
      if (count > 0) warnings.push(leasesStay(count, role.managed !== null));
      return [...warnings, ...uncounted(silent)];
    });
  }

  async #write(
    name: string,
    { change, force }: RoleWrite,
    patience: Patience,
    check: (exists: boolean) => void,
  ): Promise<string[]> {
    const { needs, connections, lookups, persistence, roleStore } = this.#parts;
    await connections.current(); // or it is not configured, which comes first
    const stored = await roleStore.find(name);
    check(stored !== null); // nobody else writes it meanwhile
    const before = stored ?? NEW_ROLE;
    // First what needs nobody: a fault that is plain is told without waiting for the provider.
    let role = changedRole(before, change, isCompatible(needs.settings));
    const named = newApplication(role, change);
    role = withApplication(role, named);
    role = this.#withGrants(role, change);
    checkWhole(role);
    if (!role.persistApp) await persistence.checkAbandoned(name, before, force);
    role = await this.#withFoundApplication(role, named, patience);
    const external = role.applicationObjectId !== "";
    if (!external && !role.grantsFound) {
      const grants = await lookups.grants("cloudb_roles", role.grants, patience);
      role = { ...role, grants, grantsFound: true };
    }
    if (!external && !role.groupsFound) {
      const groups = await lookups.groups("cloudb_groups", role.groups, patience);
      role = { ...role, groups, groupsFound: true };
    }
    const warnings = await persistence.store(name, { before, role, force }, patience);
    if (external && role.grants.length + role.groups.length > 0) {
      warnings.push("application_object_id is set: cloudb_roles and cloudb_groups are ignored");
    }
    return warnings;
  }

  /** As the provider knows it, and none of the engine's own. */
  async #withFoundApplication(
    role: Role,
    named: string | undefined,
    patience: Patience,
  ): Promise<Role> {
    if (role.applicationObjectId === "") return role;
    const { lookups, connections } = this.#parts;
    let found = role;
    if (named !== undefined) {
      const { id, appId } = await lookups.application(named, patience);
      found = { ...role, applicationObjectId: id, applicationAppId: appId };
    }
    const { effective } = await connections.current();
    refuseOwnApplication(effective, found.applicationAppId);
    return found;
  }

  /** As they are written: nobody has been asked for them yet. */
  #withGrants(role: Role, change: RoleChange): Role {
    const external = role.applicationObjectId !== "";
    const read = external ? readIgnoredGrants : readGrants;
    // Those of a role that has named an application until now were not looked at either.
    const grants =
      change.grants === undefined && (external || role.grantsFound)
        ? role
        : {
            ...role,
            grants: read("cloudb_roles", change.grants ?? showGrants(role)),
            grantsFound: false,
          };
    if (change.groups === undefined) return grants;
    return { ...grants, groups: readGroups("cloudb_groups", change.groups), groupsFound: false };
  }
}

/** The application that a change names; empty for none from now on, undefined where it names none. */
function newApplication({ managed }: Role, change: RoleChange): string | undefined {
  const named = change.applicationObjectId;
  // What reads show of a role that keeps an application, sent back, says nothing new.
  return named === managed?.appObjectId ? undefined : named;
}

function withApplication(role: Role, named: string | undefined): Role {
  return named === undefined ? role : { ...role, applicationObjectId: named, applicationAppId: "" };
}

function checkWhole(role: Role): void {
  const { applicationObjectId, permanentlyDelete, persistApp, grants, groups } = role;
  if (applicationObjectId !== "") {
    if (permanentlyDelete) {
      throw failures.invalid("permanently_delete must be false with application_object_id");
    }
    if (persistApp) {
      throw failures.invalid("persist_app must be false with application_object_id");
    }
    return;
  }
  if (grants.length === 0 && (!GROUPS_SUFFICE || groups.length === 0)) {
    throw failures.invalid("either application_object_id or cloudb_roles must be given");
  }
  checkDistinct(grants, groups);
}

/** As far as it can be told before the provider is asked; names may yet be those of one id. */
function checkDistinct(grants: readonly Grant[], groups: readonly GroupRef[]): void {
  const roles = grants.map(({ roleId, roleName, scope }) =>
    JSON.stringify([roleId.toLowerCase(), roleId === "" ? roleName : "", scope.toLowerCase()]),
  );
  if (new Set(roles).size < roles.length) {
    throw failures.invalid("cloudb_roles: duplicate role_id and scope");
  }
  const members = groups.map(({ objectId, groupName }) =>
    JSON.stringify([objectId.toLowerCase(), objectId === "" ? groupName : ""]),
  );
  if (new Set(members).size < members.length) {
    throw failures.invalid("cloudb_groups: duplicate object_id");
  }
}

export function showGrants({ grants }: Role) {
  return grants.map(({ roleName: role_name, roleId: role_id, scope }) => ({
    role_name,
    role_id,
    scope,
  }));
}

function leasesStay(count: number, dead: boolean): string {
  const fate = dead
    ? "their passwords have ended with the application of the role"
    : "they end by themselves, or when they are revoked";
  return `${count} lease${count === 1 ? "" : "s"} of this role stay: ${fate}`;
}
