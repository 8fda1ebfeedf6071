// How roles are kept: `role/<name>` with its version, and `policy/<name>`, the bare
// text of a version before there were any.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import { newerVersion } from "../failures.ts";
import { isPolicyArn, isRoleArn } from "../provider/arn.ts";
import { compacted } from "./policy-document.ts";
import { emptyRole, type Role } from "./role.ts";

export const ROLES = "role/";
export const OLD_ROLES = "policy/";
const VERSION = 1;

export const roleKey = (name: string) => `${ROLES}${name}`;
export const oldRoleKey = (name: string) => `${OLD_ROLES}${name}`;
/** Under one of them a role is stored. */
export const keysOf = (name: string): readonly string[] => [roleKey(name), oldRoleKey(name)];

type Stored = Role & { readonly version: number };

export const roleCodec: Codec<Role> = {
  encode: (role) => utf8(JSON.stringify({ version: VERSION, ...role })),
  decode: (bytes) => {
    const { version, ...role } = JSON.parse(text(bytes)) as Stored;
    if (version > VERSION) {
      throw newerVersion("stored by a newer version");
    }
    return role;
  },
};

export const oldRoleCodec: Codec<string> = { encode: utf8, decode: text };

/** What is stored of a role, wherever it is: a transaction, or the storage outside of one. */
export function roleOf(name: string, role: Role | null, old: string | null): Role | null {
  if (role !== null) return role;
  return old === null ? null : fromOld(name, old);
}

/** What cannot be read is kept and shown, and good for nothing. */
export function fromOld(name: string, old: string): Role {
  return roleOfText(name, old.trim()) ?? { ...emptyRole(name), invalidData: old };
}

// --- the one text that a role was in that version, and is in the parameters `policy` and `arn` still ---

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
