// A static role: a user of the database that is there already, whose password this service makes anew every so often. How
// the role and its password are kept, and when something is next to be done about it.

import { text, utf8 } from "@holdfast/shared/bytes";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import {
  changedTerms,
  checkTerms,
  nextTime,
  NO_TERMS,
  type RotationTerms,
} from "../../cloud/rotation-terms.ts";
import { fieldInvalid, required, userFixed } from "../failures.ts";

export const STATIC_ROLES = "static-roles/";
export const STATIC_CREDS = "static-creds/";
export const staticRoleKey = (name: string) => `${STATIC_ROLES}${name}`;
export const staticCredsKey = (name: string) => `${STATIC_CREDS}${name}`;

const MIN_PERIOD = 5;

export interface StaticRole extends RotationTerms {
  readonly version: 1;
  readonly name: string;
  readonly dbName: string;
  readonly username: string;
  readonly rotationStatements: readonly string[];
  /** The user changes its password itself, with the one that it has. */
  readonly isSelfManaged: boolean;
}

export const staticRoleCodec = jsonCodec<StaticRole>();

export interface StaticCreds {
  /** Empty: it is not known here. */
  readonly password: string;
  /** That a rotation was about to set, or has set. */
  readonly nextPassword: string | null;
  /** Null: never here. */
  readonly rotatedAt: Instant | null;
  /** When the password is to be replaced. */
  readonly expiration: Instant;
  /** Of the rotation that is due; 0: none has failed. */
  readonly attempts: number;
  readonly lastError: string;
  /** Null: nothing has failed. */
  readonly retryAt: Instant | null;
}

export interface StaticRoleChange {
  readonly dbName?: string | undefined;
  readonly username?: string | undefined;
  readonly rotationPeriod?: number | undefined;
  readonly rotationSchedule?: string | undefined;
  readonly rotationWindow?: number | undefined;
  readonly rotationStatements?: readonly string[] | undefined;
  readonly selfManagedPassword?: string | undefined;
}

export function newStaticRole(name: string, change: StaticRoleChange, now: Instant): StaticRole {
  const { dbName = "", username = "" } = change;
  if (dbName === "") throw required("db_name");
  if (username === "") throw required("username");
  return {
    version: 1,
    name,
    dbName,
    username,
    rotationStatements: change.rotationStatements ?? [],
    isSelfManaged: (change.selfManagedPassword ?? "") !== "",
    ...termsOf(NO_TERMS, change, now),
  };
}

export function changedStaticRole(
  before: StaticRole,
  change: StaticRoleChange,
  now: Instant,
): StaticRole {
  if (change.dbName !== undefined && change.dbName !== before.dbName) throw userFixed("db_name");
  if (change.username !== undefined && change.username !== before.username) {
    throw userFixed("username");
  }
  return {
    ...before,
    rotationStatements: change.rotationStatements ?? before.rotationStatements,
    isSelfManaged:
      change.selfManagedPassword === undefined
        ? before.isSelfManaged
        : change.selfManagedPassword !== "",
    ...termsOf(before, change, now),
  };
}

function termsOf(before: RotationTerms, change: StaticRoleChange, now: Instant): RotationTerms {
  const terms = changedTerms(before, change);
  if (terms.rotationSchedule === "" && terms.rotationPeriod < MIN_PERIOD) {
    throw fieldInvalid(
      `rotation_period must be at least ${MIN_PERIOD} seconds, or rotation_schedule must be given`,
    );
  }
  checkTerms(terms, now, { minPeriod: MIN_PERIOD });
  return terms;
}

/** When a password that is set now is replaced. */
export function expirationOf(role: RotationTerms, now: Instant): Instant {
  const next = nextTime(role, now);
  invariant(next !== null, "a static role has a period, or a schedule that comes again");
  return next;
}

/** When something is next to be done. What was interrupted is done first. */
export function dueOf({ nextPassword, retryAt, expiration }: StaticCreds): Instant {
  return retryAt ?? (nextPassword === null ? expiration : 0n);
}

type Times = "rotatedAt" | "expiration" | "retryAt";
type Stored = Omit<StaticCreds, Times> & Readonly<Record<Times, string | null>>;

export const staticCredsCodec: Codec<StaticCreds> = {
  encode: (creds) => {
    const stored: Stored = {
      ...creds,
      rotatedAt: creds.rotatedAt === null ? null : String(creds.rotatedAt),
      expiration: String(creds.expiration),
      retryAt: creds.retryAt === null ? null : String(creds.retryAt),
    };
    return utf8(JSON.stringify({ version: 1, ...stored }));
  },
  decode: (bytes) => {
    const stored = JSON.parse(text(bytes)) as Stored;
    return {
      password: stored.password,
      nextPassword: stored.nextPassword,
      attempts: stored.attempts,
      lastError: stored.lastError,
      rotatedAt: stored.rotatedAt === null ? null : BigInt(stored.rotatedAt),
      expiration: BigInt(stored.expiration ?? "0"),
      retryAt: stored.retryAt === null ? null : BigInt(stored.retryAt),
    };
  },
};
