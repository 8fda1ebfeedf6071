// The seal configuration: the only row in plaintext, since it is read before there is any key.
// Whoever can write the disk can change it, so nothing rests on it but how many shares to wait for:
// wrong numbers make shares combine to a wrong key.

import { text, utf8 } from "@holdfast/shared/bytes";
import { Failure } from "@holdfast/shared/failure";
import { isObject } from "@holdfast/shared/json/json";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { StoreReads, StoreTx } from "../storage/transaction.ts";
import * as failures from "./failures.ts";

export const SEAL_CONFIG_PATH = "core/seal-config";

const MAX_SHARES = 255; // the non-zero elements of the field that shares live in
const DEFAULT_SHARES = 5;
const DEFAULT_THRESHOLD = 3;

/** How a key is shared out among operators. */
export interface Scheme {
  readonly shares: number;
  readonly threshold: number;
  /** Of the keys that the shares were encrypted to; empty when they were not. */
  readonly pgpFingerprints: readonly string[];
}

export interface RecoveryScheme extends Scheme {
  /** Whether recovery shares open the root key when the auto seal's key is gone. */
  readonly canUnseal: boolean;
}

interface Stamp {
  readonly nonce: string; // of the ceremony that made the shares
  readonly created: Instant;
}

export type SealConfig = Stamp &
  (
    | { readonly type: "shamir"; readonly scheme: Scheme }
    | { readonly type: "static"; readonly recovery: RecoveryScheme }
  );

export type SealType = SealConfig["type"];

/** The shares that operators of this server hold, whatever they are called. */
export function schemeOf(config: SealConfig): Scheme {
  return config.type === "shamir" ? config.scheme : config.recovery;
}

// --- the numbers that an operator may ask for ---

export interface SharesRequest {
  /** Default 5. */
  readonly shares: number | undefined;
  /** Default 3, or all shares when there are fewer. */
  readonly threshold: number | undefined;
  /** Public keys to encrypt the shares to, one for each. Default none. */
  readonly pgpKeys: readonly string[] | undefined;
}

/** What the fields are called on the wire, for the texts of refusals. */
export interface ShareFields {
  readonly shares: string;
  readonly threshold: string;
  readonly pgpKeys: string;
}

export const SECRET_FIELDS: ShareFields = {
  shares: "secret_shares",
  threshold: "secret_threshold",
  pgpKeys: "pgp_keys",
};

export const RECOVERY_FIELDS: ShareFields = {
  shares: "recovery_shares",
  threshold: "recovery_threshold",
  pgpKeys: "recovery_pgp_keys",
};

export interface SharesPlan {
  readonly shares: number;
  readonly threshold: number;
  readonly pgpKeys: readonly string[];
}

export function checkShares(request: SharesRequest, fields: ShareFields): SharesPlan {
  const shares = request.shares ?? DEFAULT_SHARES;
  if (!fits(shares, 1, MAX_SHARES)) throw failures.sharesOutOfRange(fields.shares, MAX_SHARES);
  const threshold = request.threshold ?? Math.min(DEFAULT_THRESHOLD, shares);
  // One of several shares would be the key itself: whoever holds it needs nobody.
  if (!fits(threshold, shares === 1 ? 1 : 2, shares)) {
    throw failures.thresholdOutOfRange(fields.threshold, shares);
  }
  const pgpKeys = request.pgpKeys ?? [];
  if (pgpKeys.length !== 0 && pgpKeys.length !== shares) {
    throw failures.pgpCountMismatch(fields.pgpKeys, pgpKeys.length, shares);
  }
  return { shares, threshold, pgpKeys };
}

function fits(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max;
}

// --- the row ---

export function putConfig(raw: StoreTx, config: SealConfig): void {
  raw.put(SEAL_CONFIG_PATH, encodeConfig(config));
}

export function readConfig(store: Pick<StoreReads, "get">): SealConfig {
  const bytes = store.get(SEAL_CONFIG_PATH);
  if (bytes === null) throw failures.rowMissing(SEAL_CONFIG_PATH);
  return decodeConfig(bytes);
}

export function encodeConfig(config: SealConfig): Uint8Array {
  // An auto seal has no unseal shares; its one key counts as one share of one.
  const own =
    config.type === "shamir" ? config.scheme : { shares: 1, threshold: 1, pgpFingerprints: [] };
  const document = {
    type: config.type,
    ...encodeScheme(own),
    nonce: config.nonce,
    created: showTime(config.created),
    ...(config.type === "shamir"
      ? {}
      : {
          recovery: { ...encodeScheme(config.recovery), can_unseal: config.recovery.canUnseal },
        }),
  };
  return utf8(JSON.stringify(document));
}

function encodeScheme({ shares, threshold, pgpFingerprints }: Scheme): object {
  return { shares, threshold, pgp_fingerprints: pgpFingerprints };
}

const MEMBERS = ["type", "shares", "threshold", "pgp_fingerprints", "nonce", "created"];
const RECOVERY_MEMBERS = ["shares", "threshold", "pgp_fingerprints", "can_unseal"];

/** Refuses whatever encodeConfig does not write. */
export function decodeConfig(bytes: Uint8Array): SealConfig {
  try {
    const document: unknown = JSON.parse(text(bytes));
    const type = isObject(document) ? document["type"] : undefined;
    const members = type === "static" ? [...MEMBERS, "recovery"] : MEMBERS;
    if (!hasExactly(document, members)) throw failures.configDamaged();
    const { nonce, created: time } = document;
    const scheme = decodeScheme(document);
    const created = parseTime(time);
    if (created === null || typeof nonce !== "string") throw failures.configDamaged();
    if (type === "shamir") return { type, scheme, nonce, created };
    const { recovery } = document;
    if (type !== "static" || !hasExactly(recovery, RECOVERY_MEMBERS)) {
      throw failures.configDamaged();
    }
    const canUnseal = recovery["can_unseal"];
    if (typeof canUnseal !== "boolean") throw failures.configDamaged();
    return { type, recovery: { ...decodeScheme(recovery), canUnseal }, nonce, created };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Failure) throw failures.configDamaged();
    throw error;
  }
}

function decodeScheme(document: Readonly<Record<string, unknown>>): Scheme {
  const { shares, threshold, pgp_fingerprints: prints } = document;
  if (typeof shares !== "number" || typeof threshold !== "number" || !isTexts(prints)) {
    throw failures.configDamaged();
  }
  // The fingerprints are as many as there were keys, so the rule for those serves.
  checkShares({ shares, threshold, pgpKeys: prints }, SECRET_FIELDS);
  return { shares, threshold, pgpFingerprints: prints };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function hasExactly(
  value: unknown,
  members: readonly string[],
): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  return (
    Object.keys(value).length === members.length &&
    members.every((name) => Object.hasOwn(value, name))
  );
}
