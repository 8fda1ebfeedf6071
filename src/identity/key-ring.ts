// The keys that identity tokens are signed with: which there are and what they are for at a given time.
// A pure value; identity.ts keeps it. A key is published before it signs, so that whoever keeps a copy
// of the list knows it by then, and is listed until the last token that it signed has ended.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { DAY, HOUR, MINUTE } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";

/** How long one signs. */
export const KEY_LIFE: Nanos = 90n * DAY;
/** How long one is listed before it signs. */
export const PUBLISHED_BEFORE: Nanos = HOUR;
/** The next one is made this long before it is needed: servers may be idle for a while. */
const MADE_BEFORE: Nanos = DAY;
/** The longest that a token may live. */
export const MAX_TOKEN_TTL: Nanos = DAY;
/** Clocks of others may be behind. */
const LISTED_AFTER: Nanos = MAX_TOKEN_TTL + 10n * MINUTE;

export interface PublicKey {
  readonly kid: string;
  /** Modulus and exponent, in base64url. */
  readonly n: string;
  readonly e: string;
  readonly made: Instant;
}

/** Whom tokens name as their issuer: who trusts it does so whatever cluster sends a token. */
export interface Issuer {
  readonly address: string;
  /** Id of the cluster whose address it is. */
  readonly cluster: string;
}

/** `retired` are those that sign no more, with when they stopped. */
export interface KeyRing {
  /** Null in rings of earlier versions. */
  readonly issuer: Issuer | null;
  readonly current: PublicKey;
  readonly since: Instant;
  readonly next: PublicKey | null;
  readonly retired: readonly { readonly key: PublicKey; readonly at: Instant }[];
}

export type Step = "none" | "name" | "make-next" | "switch";

/** What the ring needs now. */
export function dueStep(ring: KeyRing, now: Instant): Step {
  const { next, since } = ring;
  if (now < since + KEY_LIFE - MADE_BEFORE) return "none";
  if (next === null) return "make-next";
  return now >= since + KEY_LIFE && now >= next.made + PUBLISHED_BEFORE ? "switch" : "none";
}

export function switched(ring: KeyRing, now: Instant): KeyRing {
  const { issuer, current, next } = ring;
  if (next === null) return ring;
  const retired = [...listedRetired(ring, now), { key: current, at: now }];
  return { issuer, current: next, since: now, next: null, retired };
}

/** Those that a token in circulation may name. */
export function listed(ring: KeyRing, now: Instant): readonly PublicKey[] {
  const { current, next } = ring;
  const old = listedRetired(ring, now).map(({ key }) => key);
  return [current, ...(next === null ? [] : [next]), ...old];
}

function listedRetired({ retired }: KeyRing, now: Instant) {
  return retired.filter(({ at }) => now < at + LISTED_AFTER);
}

type Stored<T> = T extends bigint
  ? string
  : T extends object
    ? { readonly [K in keyof T]: Stored<T[K]> }
    : T;
type StoredRing = Stored<Omit<KeyRing, "issuer">> & { readonly issuer?: Issuer | null };

const stored = jsonCodec<StoredRing>();

export const ringCodec: Codec<KeyRing> = {
  encode: ({ issuer, current, since, next, retired }) =>
    stored.encode({
      issuer,
      current: storedKey(current),
      since: String(since),
      next: next === null ? null : storedKey(next),
      retired: retired.map(({ key, at }) => ({ key: storedKey(key), at: String(at) })),
    }),
  decode: (bytes) => {
    const { issuer, current, since, next, retired } = stored.decode(bytes);
    return {
      issuer: issuer ?? null,
      current: readKey(current),
      since: BigInt(since),
      next: next === null ? null : readKey(next),
      retired: retired.map(({ key, at }) => ({ key: readKey(key), at: BigInt(at) })),
    };
  },
};

function storedKey(key: PublicKey): Stored<PublicKey> {
  return { ...key, made: String(key.made) };
}

function readKey(key: Stored<PublicKey>): PublicKey {
  return { ...key, made: BigInt(key.made) };
}
