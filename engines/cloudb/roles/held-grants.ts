// What the application of a role holds: when two grants are one to the provider, and what of it the role does
// not want any more. That stays in the stored role until it is surely gone, with a record of kind "surplus":
// whoever writes the role, or rollback, takes away what is surplus by then, and never what a later write wants
// back.

import { createHash } from "node:crypto";
import { Failure } from "@holdfast/shared/failure";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { Managed, ManagedAssignment, Role } from "./role.ts";
import { leaveGroup, unassign, type Work } from "./cleanup.ts";
import { uuidOfDigits } from "@holdfast/shared/text/uuid";
import { assignmentId } from "../provider/arm.ts";

interface RoleOnScope {
  readonly roleId: string;
  readonly scope: string;
}

/** The same for the same role on the same scope: ids have no case, and a role is known by the last part
 *  of its id, however long the way to it is written. */
export function grantKey({ roleId, scope }: RoleOnScope): string {
  return `${roleId.replace(/^.*\//, "")} ${assignmentId(scope, "")}`.toLowerCase();
}

/** The provider keeps one assignment of a role on a scope to a principal, whatever further ids it is
 *  asked for. So there is one id: whoever gives the same again, after a crash or while it is being taken
 *  away, holds what is really there. */
export function ownAssignmentId(principalId: string, grant: RoleOnScope): string {
  const of = `${principalId.toLowerCase()} ${grantKey(grant)}`;
  const digits = createHash("sha256").update(of, "utf8").digest("hex");
  return assignmentId(grant.scope, uuidOfDigits(digits.slice(0, 32)));
}

// --- held and wanted ---

export interface Held {
  readonly assignments: readonly ManagedAssignment[];
  readonly groupIds: readonly string[];
}

/** Of what is held, that which the role wants, and the rest. */
export function sorted(role: Role, held: Held): { readonly wanted: Held; readonly surplus: Held } {
  const grants = new Set(role.grants.map(grantKey));
  const groups = new Set(role.groups.map(({ objectId }) => objectId));
  const part = (wanted: boolean): Held => ({
    assignments: held.assignments.filter((one) => grants.has(grantKey(one)) === wanted),
    groupIds: held.groupIds.filter((id) => groups.has(id) === wanted),
  });
  return { wanted: part(true), surplus: part(false) };
}

export function isNone({ assignments, groupIds }: Held): boolean {
  return assignments.length + groupIds.length === 0;
}

/** Each is tried, whatever became of the others. Gives what the application has then. */
export async function takeSurplus(
  work: Work,
  role: Role,
  managed: Managed,
): Promise<{ readonly managed: Managed; readonly failures: readonly Error[] }> {
  const { wanted, surplus } = sorted(role, managed);
  const failures: Error[] = [];
  const stays = async (taking: Promise<void>): Promise<boolean> => {
    try {
      await taking;
      return false;
    } catch (error) {
      if (!(error instanceof ProviderError || error instanceof Failure)) throw error;
      failures.push(error);
      return true;
    }
  };
  const assignments = [...wanted.assignments];
  for (const one of surplus.assignments) {
    if (await stays(unassign(work, one.id))) assignments.push(one);
  }
  const groupIds = [...wanted.groupIds];
  for (const id of surplus.groupIds) {
    if (await stays(leaveGroup(work, id, managed.principalId))) groupIds.push(id);
  }
  return { managed: { ...managed, assignments, groupIds }, failures };
}
