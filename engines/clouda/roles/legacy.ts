// The parameters of an earlier version, `policy` and `arn`: what a role made of one text is.
// The same rules read what that version has stored.

import { isPolicyArn, isRoleArn } from "../provider/arn.ts";
import { compacted } from "./policy-document.ts";
import { emptyRole, type Role } from "./role.ts";

/** Null for a text that is neither a role ARN, a policy ARN nor a JSON policy. */
export function roleOfText(name: string, value: string): Role | null {
  const role: Role = { ...emptyRole(name), pathBound: true };
  if (value.startsWith("arn:")) {
    if (isRoleArn(value)) return { ...role, credentialTypes: ["assumed_role"], roleArns: [value] };
    if (isPolicyArn(value)) return { ...role, credentialTypes: ["iam_user"], policyArns: [value] };
    return null;
  }
  const { text, fault } = compacted(value);
  if (fault !== null) return null;
  return { ...role, credentialTypes: ["iam_user", "federation_token"], policyDocument: text };
}
