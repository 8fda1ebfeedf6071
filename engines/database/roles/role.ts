// A role as it is stored: by which statements users are made and ended, and for how long they are.

import { jsonCodec } from "@holdfast/shared/codec";
import type { CredentialKind } from "@holdfast/plugin-sdk/database";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { invalid, required } from "../failures.ts";
import { KEY_BITS, type KeyBits } from "./passwords.ts";

export const ROLES = "roles/";
export const roleKey = (name: string) => `${ROLES}${name}`;

export interface Role {
  readonly version: 1;
  readonly name: string;
  readonly dbName: string;
  readonly creationStatements: readonly string[];
  readonly revocationStatements: readonly string[];
  readonly rollbackStatements: readonly string[];
  readonly renewStatements: readonly string[];
  /** In seconds; 0: as the mount says. */
  readonly defaultTtl: number;
  readonly maxTtl: number;
  readonly credentialType: CredentialKind;
  readonly credentialConfig: Readonly<Record<string, string>>;
}

export const roleCodec = jsonCodec<Role>();

export type RoleChange = {
  readonly [K in Exclude<keyof Role, "version" | "name">]?: Role[K] | undefined;
};

const EMPTY: Omit<Role, "name"> = {
  version: 1,
  dbName: "",
  creationStatements: [],
  revocationStatements: [],
  rollbackStatements: [],
  renewStatements: [],
  defaultTtl: 0,
  maxTtl: 0,
  credentialType: "password",
  credentialConfig: {},
};

/** What is left out stays as it is. */
export function changedRole(name: string, before: Role | null, change: RoleChange): Role {
  const written = Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  );
  const role: Role = { ...EMPTY, name, ...before, ...written };
  if (role.dbName === "") throw required("db_name");
  if (role.maxTtl > 0 && role.defaultTtl > role.maxTtl) {
    throw invalid("role-invalid-database", "default_ttl must not be greater than max_ttl");
  }
  checkCredential(role);
  return role;
}

function checkCredential({ credentialType, credentialConfig }: Role): void {
  const refuse = (message: string) => invalid("role-invalid-database", message);
  if (credentialType === "client_certificate") {
    throw refuse(
      "credential_type client_certificate is not made here: accepted are password and rsa_private_key",
    );
  }
  const accepted: Readonly<Record<string, (value: string) => boolean>> =
    credentialType === "password"
      ? {}
      : {
          key_bits: (value) => KEY_BITS.some((bits) => String(bits) === value),
          format: (value) => value === "pkcs8",
        };
  for (const [name, value] of Object.entries(credentialConfig)) {
    const isGood = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
    if (isGood?.(value) === true) continue;
    throw refuse(
      credentialType === "password"
        ? "credential_config takes nothing for passwords: password policies are not known here"
        : `credential_config takes key_bits (${KEY_BITS.join(", ")}) and format (pkcs8)`,
    );
  }
}

export function keyBitsOf({ credentialConfig }: Role): KeyBits {
  return KEY_BITS.find((bits) => String(bits) === credentialConfig["key_bits"]) ?? 2048;
}

/** What may be wrong with it, and is kept all the same. */
export function warningsOn(role: Role): string[] {
  const { creationStatements, revocationStatements, renewStatements, rollbackStatements } = role;
  const lists = {
    creation_statements: creationStatements,
    revocation_statements: revocationStatements,
    renew_statements: renewStatements,
    rollback_statements: rollbackStatements,
  };
  return Object.entries(lists).flatMap(([field, statements]) =>
    statements.length > 0 && !statements.some(namesUser)
      ? [`${field}: no statement mentions {{name}} or {{username}}, so that all users would be one`]
      : [],
  );
}

function namesUser(statement: string): boolean {
  return /\{\{\s*(?:name|username)\s*\}\}/.test(statement);
}

export interface RoleTerms {
  readonly ttl: Nanos | null;
  readonly maxTtl: Nanos | null;
}

/** Null: as the mount says. */
export function termsOf({ defaultTtl, maxTtl }: Role): RoleTerms {
  const lengthOf = (seconds: number) => (seconds === 0 ? null : BigInt(seconds) * SECOND);
  return { ttl: lengthOf(defaultTtl), maxTtl: lengthOf(maxTtl) };
}
