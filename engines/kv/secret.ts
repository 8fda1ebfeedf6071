// The record of one secret: what is known of its versions, and the data of those that are small enough
// to lie in the record. Pure; where a record and the rows beside it are kept is rows.ts's business.

import { invariant } from "@holdfast/shared/invariant";
import type { Instant, Nanos } from "@holdfast/shared/world";

export interface Version {
  readonly created: Instant;
  /** From then on it is deleted, until it is undeleted. */
  readonly deletion: Instant | null;
  /** Its data is gone for good. */
  readonly destroyed: boolean;
  /** Whether a number in it is spelt in a way that a double does not keep. */
  readonly exact: boolean;
  /** Its document; null where that lies in a row of its own, or is destroyed. */
  readonly inline: Uint8Array | null;
}

export type CustomMetadata = Readonly<Record<string, string>>;

export interface Secret {
  /** Names the rows of its versions, and stays when it moves. */
  readonly id: string;
  readonly created: Instant;
  readonly updated: Instant;
  /** 0: as the mount says. */
  readonly maxVersions: number;
  readonly casRequired: boolean;
  /** 0: as the mount says. */
  readonly deleteVersionAfter: Nanos;
  readonly customMetadata: CustomMetadata | null;
  /** Whether the recycle bin may have a row for it. */
  readonly recycled: boolean;
  /** Number of the first of `versions`, which have no gaps; 0 where there is none yet. */
  readonly oldest: number;
  readonly versions: readonly Version[];
}

export const ID_BYTES = 12;

export function newSecret(id: string, now: Instant): Secret {
  return {
    id,
    created: now,
    updated: now,
    maxVersions: 0,
    casRequired: false,
    deleteVersionAfter: 0n,
    customMetadata: null,
    recycled: false,
    oldest: 0,
    versions: [],
  };
}

/** 0 before the first version. */
export function currentOf({ oldest, versions }: Secret): number {
  return versions.length === 0 ? 0 : oldest + versions.length - 1;
}

/** 0 is the newest. Null where there is none of that number. */
export function versionOf(secret: Secret, number: number): Numbered | null {
  const wanted = number === 0 ? currentOf(secret) : number;
  const version = secret.versions[wanted - secret.oldest];
  return version === undefined ? null : { number: wanted, version };
}

export interface Numbered {
  readonly number: number;
  readonly version: Version;
}

export function isDeleted({ deletion }: Version, now: Instant): boolean {
  return deletion !== null && deletion <= now;
}

export function isLive(version: Version, now: Instant): boolean {
  return !version.destroyed && !isDeleted(version, now);
}

/** Whether its document lies in a row of its own. */
export function hasRow({ destroyed, inline }: Version): boolean {
  return !destroyed && inline === null;
}

/** The same with other versions in place of those of these numbers; of those there are none, nothing. */
export function withVersions(
  secret: Secret,
  numbers: readonly number[],
  change: (version: Version) => Version,
): Secret {
  const wanted = new Set(numbers);
  const versions = secret.versions.map((version, at) =>
    wanted.has(secret.oldest + at) ? change(version) : version,
  );
  const same = versions.every((version, at) => version === secret.versions[at]);
  return same ? secret : { ...secret, versions };
}

export function newestOf(secret: Secret): Version {
  const newest = secret.versions.at(-1);
  invariant(newest !== undefined, "a secret without versions has no newest one");
  return newest;
}
