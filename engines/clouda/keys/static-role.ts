// A static role: an existing user of the provider whose key this service makes anew every so often. How the
// role and its key are kept, and when something is next to be done about it.

import { text, utf8 } from "@holdfast/shared/bytes";
import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { newerVersion } from "../failures.ts";
import { invariant } from "@holdfast/shared/invariant";
import type { Instant } from "@holdfast/shared/world";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import {
  changedTerms,
  checkTerms,
  nextTime,
  type RotationTerms,
} from "../../cloud/rotation-terms.ts";
import { overlapTooLong, periodTooShort, usernameInvalid } from "./static-failures.ts";

export const STATIC_ROLES = "static-roles/";
export const STATIC_CREDS = "static-creds/";
export const staticRoleKey = (name: string) => `${STATIC_ROLES}${name}`;
export const staticCredsKey = (name: string) => `${STATIC_CREDS}${name}`;
export const keyMakingKey = (role: string) => `static-making/${role}`;

const ROLE_VERSION = 1;
const CREDS_VERSION = 2;

export interface StaticRole {
  readonly name: string;
  /** The provider's id of the user: a later one of the same name is another. */
  readonly id: string;
  readonly username: string;
  /** In which the user is; left out where the provider did not say. */
  readonly account?: string;
  /** In seconds, as everything below; 0 with a schedule. */
  readonly rotationPeriod: number;
  readonly rotationSchedule: string;
  readonly rotationWindow: number;
  /** How long other keys live on beside a new one; null: until the next rotation. */
  readonly overlap: number | null;
}

/** What is left out stays as it is. */
export interface StaticRoleChange {
  readonly username?: string | undefined;
  /** In seconds. */
  readonly rotationPeriod?: number | undefined;
  readonly rotationSchedule?: string | undefined;
  readonly rotationWindow?: number | undefined;
  /** In seconds; null: until the next rotation. */
  readonly overlap?: number | null | undefined;
}

export interface StaticCreds {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly createdAt: Instant;
  /** When the key is to be replaced. */
  readonly expiration: Instant;
  /** The key before this one, which we made as well; null: there is none that is still good. */
  readonly previousKey: string | null;
  /** When other keys are to be deleted; null: that is done, or left to the next rotation. */
  readonly retireAt: Instant | null;
  /** Of the rotation that is due; 0: none has failed. */
  readonly attempts: number;
  readonly lastError: string;
  /** When it is tried again; null: nothing has failed. */
  readonly retryAt: Instant | null;
  /** Whether the key had to make room for the next one, which is not there yet: it no longer works. */
  readonly ended: boolean;
}

/** That a key is being made for a role: one that came to be since, and that is not stored, is of no use. */
export interface KeyMaking {
  readonly username: string;
  readonly keysBefore: readonly string[];
  /** Nanoseconds since 1970. */
  readonly at: string;
}

/** When something is next to be done. */
export function dueOf({ expiration, retireAt, retryAt }: StaticCreds): Instant {
  if (retryAt !== null) return retryAt;
  return retireAt !== null && retireAt < expiration ? retireAt : expiration;
}

/** As long as it was promised, from now. */
export function after(now: Instant, seconds: number): Instant {
  return now + BigInt(seconds) * SECOND;
}

/** When a key made now has the user to itself; null: with the next one. */
export function retirement({ overlap, rotationPeriod }: StaticRole, now: Instant): Instant | null {
  const whole = rotationPeriod > 0 && overlap !== null && overlap >= rotationPeriod;
  return overlap === null || whole ? null : after(now, overlap);
}

/** When a key that is made now is replaced. */
export function expirationOf(role: RotationTerms, now: Instant): Instant {
  const next = nextTime(role, now);
  invariant(next !== null, "a static role has a period, or a schedule that comes again");
  return next;
}

const MIN_PERIOD = 60;
const USERNAME = /^[\w+=,.@-]{1,64}$/;

export function checkUsername(username: string): void {
  if (username !== "" && !USERNAME.test(username)) throw usernameInvalid();
}

/** What a role would rotate by, checked. `overlap` beside it. */
export function termsOf(
  before: RotationTerms,
  change: StaticRoleChange,
  { overlap, now }: { readonly overlap: number | null; readonly now: Instant },
): RotationTerms {
  const terms = changedTerms(before, change);
  const { rotationPeriod, rotationSchedule } = terms;
  if (rotationSchedule === "" && rotationPeriod < MIN_PERIOD) throw periodTooShort();
  checkTerms(terms, now);
  if (overlap !== null && rotationPeriod > 0 && overlap > rotationPeriod) throw overlapTooLong();
  return terms;
}

/** Of a key that was made now. */
export function freshCreds(
  role: StaticRole,
  key: { readonly id: string; readonly secret: string },
  { previousKey, now }: { readonly previousKey: string | null; readonly now: Instant },
): StaticCreds {
  return {
    accessKey: key.id,
    secretKey: key.secret,
    createdAt: now,
    expiration: expirationOf(role, now),
    previousKey,
    retireAt: retirement(role, now),
    attempts: 0,
    lastError: "",
    retryAt: null,
    ended: false,
  };
}

/** In a transaction; nothing where the role is gone. */
export function changeEnded(
  tx: EngineTx,
  role: string,
  change: Pick<StaticCreds, "ended" | "retryAt">,
): void {
  const creds = tx.get(staticCredsKey(role), staticCredsCodec);
  if (creds !== null) tx.put(staticCredsKey(role), { ...creds, ...change }, staticCredsCodec);
}

export const keyMakingCodec = jsonCodec<KeyMaking>();

const NO_SCHEDULE = { rotationSchedule: "", rotationWindow: 0 };

export const staticRoleCodec: Codec<StaticRole> = {
  encode: (role) => utf8(JSON.stringify({ version: ROLE_VERSION, ...role })),
  decode: (bytes) => {
    const { version, ...role } = JSON.parse(text(bytes)) as StaticRole & Versioned;
    checkVersion(version, ROLE_VERSION);
    return { ...NO_SCHEDULE, ...role }; // it may be older than schedules
  },
};

interface Versioned {
  readonly version: number;
}

type Times = "createdAt" | "expiration";
type OptionalTimes = "retireAt" | "retryAt";
type StoredCreds = Omit<StaticCreds, Times | OptionalTimes | "ended"> &
  Readonly<Record<Times, string>> &
  Readonly<Record<OptionalTimes, string | null>> & { readonly ended?: boolean };

export const staticCredsCodec: Codec<StaticCreds> = {
  encode: (creds) => {
    const stored: StoredCreds = {
      ...creds,
      createdAt: String(creds.createdAt),
      expiration: String(creds.expiration),
      retireAt: creds.retireAt === null ? null : String(creds.retireAt),
      retryAt: creds.retryAt === null ? null : String(creds.retryAt),
    };
    return utf8(JSON.stringify({ version: CREDS_VERSION, ...stored }));
  },
  decode: (bytes) => {
    const { version, ...stored } = JSON.parse(text(bytes)) as StoredCreds & Versioned;
    checkVersion(version, CREDS_VERSION);
    return {
      ...stored,
      ended: stored.ended ?? false,
      createdAt: BigInt(stored.createdAt),
      expiration: BigInt(stored.expiration),
      retireAt: stored.retireAt === null ? null : BigInt(stored.retireAt),
      retryAt: stored.retryAt === null ? null : BigInt(stored.retryAt),
    };
  },
};

function checkVersion(version: number, known: number): void {
  if (version <= known) return;
  throw newerVersion("stored by a newer version");
}
