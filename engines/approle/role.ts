// A role: what logs in, under which bounds, and what its tokens are like. How it is kept, and changed.

import { text, utf8 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";
import type { Nanos } from "@holdfast/shared/world";
import {
  changedTerms,
  keptTerms,
  keptTime,
  type LoginChange,
  isLoginName,
  type LoginTerms,
  readRanges,
  type StoredTerms,
  storedTerms,
  storedTime,
  DEFAULT_TERMS,
} from "@holdfast/plugin-sdk/login-terms";
import * as failures from "./failures.ts";

export interface Role {
  /** Folded. */
  readonly name: string;
  /** Of this very role: a later one of the same name has none of its secret ids. */
  readonly id: string;
  /** What it presents to log in. Not a secret. */
  readonly roleId: string;
  readonly bindSecretId: boolean;
  /** Of new secret ids; null: they do not expire. */
  readonly secretIdTtl: Nanos | null;
  /** Of new secret ids; 0: as many as one likes. */
  readonly secretIdUses: number;
  /** Where one may log in from; empty: anywhere. */
  readonly secretIdRanges: readonly string[];
  readonly terms: LoginTerms;
}

export interface RoleChange extends LoginChange {
  readonly roleId?: string | undefined;
  readonly bindSecretId?: boolean | undefined;
  readonly secretIdTtl?: Nanos | undefined;
  readonly secretIdUses?: number | undefined;
  readonly secretIdRanges?: readonly string[] | undefined;
}

/** What is left out stays as it is. Refuses what would let everybody in, and what no token could have. */
export function changedRole(before: Role, change: RoleChange): Role {
  const { roleId, bindSecretId, secretIdTtl, secretIdUses, secretIdRanges, ...terms } = change;
  const role: Role = {
    ...before,
    roleId: roleId ?? before.roleId,
    bindSecretId: bindSecretId ?? before.bindSecretId,
    secretIdTtl: secretIdTtl === undefined ? before.secretIdTtl : secretIdTtl || null,
    secretIdUses: secretIdUses ?? before.secretIdUses,
    secretIdRanges:
      secretIdRanges === undefined
        ? before.secretIdRanges
        : readRanges(secretIdRanges, "secret_id_bound_cidrs").texts,
    terms: changedTerms(before.terms, terms),
  };
  if (role.roleId === "" || role.roleId.length > 512) throw failures.roleIdInvalid();
  const bound =
    role.bindSecretId || role.secretIdRanges.length > 0 || role.terms.boundTo.length > 0;
  if (!bound) throw failures.unbound();
  return role;
}

export function newRole(name: string, ids: { readonly id: string; readonly roleId: string }): Role {
  return {
    name,
    ...ids,
    bindSecretId: true,
    secretIdTtl: null,
    secretIdUses: 0,
    secretIdRanges: [],
    terms: DEFAULT_TERMS,
  };
}

export function roleName(name: string): string {
  if (!isLoginName(name)) throw failures.roleNameInvalid();
  return name;
}

type Stored = Omit<Role, "secretIdTtl" | "terms"> & {
  readonly secretIdTtl: string | null;
  readonly terms: StoredTerms;
};

export const roleCodec: Codec<Role> = {
  encode: (role) => {
    const { secretIdTtl, terms } = role;
    const stored: Stored = {
      ...role,
      secretIdTtl: storedTime(secretIdTtl),
      terms: storedTerms(terms),
    };
    return utf8(JSON.stringify(stored));
  },
  decode: (bytes) => {
    const stored = JSON.parse(text(bytes)) as Stored;
    const { secretIdTtl, terms } = stored;
    return { ...stored, secretIdTtl: keptTime(secretIdTtl), terms: keptTerms(terms) };
  },
};
