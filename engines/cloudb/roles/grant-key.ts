// When two grants are one to the provider, and by which id of ours it is kept.

import { createHash } from "node:crypto";
import { uuidOfDigits } from "@holdfast/shared/text/uuid";
import { assignmentId } from "../provider/arm.ts";

interface Given {
  readonly roleId: string;
  readonly scope: string;
}

/** The same for the same role on the same scope: ids have no case, and a role is known by the last part
 *  of its id, however long the way to it is written. */
export function grantKey({ roleId, scope }: Given): string {
  return `${roleId.replace(/^.*\//, "")} ${assignmentId(scope, "")}`.toLowerCase();
}

/** The provider keeps one assignment of a role on a scope to a principal, whatever further ids it is
 *  asked for. So there is one id: whoever gives the same again, after a crash or while it is being taken
 *  away, holds what is really there. */
export function ownAssignmentId(principalId: string, grant: Given): string {
  const of = `${principalId.toLowerCase()} ${grantKey(grant)}`;
  const digits = createHash("sha256").update(of, "utf8").digest("hex");
  return assignmentId(grant.scope, uuidOfDigits(digits.slice(0, 32)));
}
