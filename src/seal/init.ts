// Initialisation before anything is stored: which fields an operator may give for which seal, and the
// keys and shares that come of them. The transaction is the keeper's.

import type { KeyObject } from "node:crypto";
import { Secret } from "@holdfast/shared/secret";
import type { Instant, Random } from "@holdfast/shared/world";
import { freshKey } from "../crypto/aead.ts";
import { fingerprint, type PublicKey, readPublicKey } from "../crypto/pgp.ts";
import {
  checkShares,
  RECOVERY_FIELDS,
  type Scheme,
  SECRET_FIELDS,
  type SealType,
  type SharesPlan,
} from "./config.ts";
import type { Custody } from "./custody.ts";
import * as failures from "./failures.ts";
import { readPublicKeys, type SharedOut, shareOutFreshKey } from "./ceremonies/share.ts";

export interface InitOptions {
  /** Shamir seal only, as the next two. Default 5. */
  readonly secretShares?: number | undefined;
  /** Default 3, or all shares when there are fewer. */
  readonly secretThreshold?: number | undefined;
  readonly pgpKeys?: readonly string[] | undefined;
  /** Auto seal only, as the next three; the same defaults. */
  readonly recoveryShares?: number | undefined;
  readonly recoveryThreshold?: number | undefined;
  readonly recoveryPgpKeys?: readonly string[] | undefined;
  /** Whether recovery shares can unseal when the auto seal's key is gone. Default true. */
  readonly recoveryUnseal?: boolean | undefined;
  readonly rootTokenPgpKey?: string | undefined;
  /** "open" makes no root token and leaves the bootstrap to its first caller. Default "closed". */
  readonly aclBootstrap?: "open" | "closed" | undefined;
}

export interface Initialised {
  /** Unseal shares; empty with an auto seal. */
  readonly keys: Secret<readonly string[]>;
  readonly keysBase64: Secret<readonly string[]>;
  /** Recovery shares; empty with the Shamir seal. */
  readonly recoveryKeys: Secret<readonly string[]>;
  readonly recoveryKeysBase64: Secret<readonly string[]>;
  /** Null when the bootstrap was left open; PGP-encrypted, in base64, when a key was given. */
  readonly rootToken: Secret<string> | null;
}

export interface InitPlan extends SharesPlan {
  readonly canUnseal: boolean;
  readonly rootTokenPgpKey: string; // empty: the token is shown as it is
  readonly door: "open" | "closed";
}

export function checkInit(options: InitOptions, type: SealType): InitPlan {
  const shamir = type === "shamir";
  const foreign = shamir ? recoveryFields(options) : secretFields(options);
  if (foreign.length > 0) throw failures.foreignFields(foreign, type);
  const rootTokenPgpKey = options.rootTokenPgpKey ?? "";
  const door = options.aclBootstrap ?? "closed";
  if (door === "open" && rootTokenPgpKey !== "") throw failures.noTokenToEncrypt();
  const { secretShares, secretThreshold, pgpKeys } = options;
  const { recoveryShares, recoveryThreshold, recoveryPgpKeys } = options;
  const shares = shamir
    ? checkShares({ shares: secretShares, threshold: secretThreshold, pgpKeys }, SECRET_FIELDS)
    : checkShares(
        { shares: recoveryShares, threshold: recoveryThreshold, pgpKeys: recoveryPgpKeys },
        RECOVERY_FIELDS,
      );
  return { ...shares, canUnseal: options.recoveryUnseal ?? true, rootTokenPgpKey, door };
}

// Existing clients send every field of both families, with zero, null or nothing in those of the
// other one: only a value that says something is refused.

function secretFields(options: InitOptions): string[] {
  const fields: string[] = [];
  if (says(options.secretShares)) fields.push(SECRET_FIELDS.shares);
  if (says(options.secretThreshold)) fields.push(SECRET_FIELDS.threshold);
  if (says(options.pgpKeys?.length)) fields.push(SECRET_FIELDS.pgpKeys);
  return fields;
}

function recoveryFields(options: InitOptions): string[] {
  const fields: string[] = [];
  if (says(options.recoveryShares)) fields.push(RECOVERY_FIELDS.shares);
  if (says(options.recoveryThreshold)) fields.push(RECOVERY_FIELDS.threshold);
  if (says(options.recoveryPgpKeys?.length)) fields.push(RECOVERY_FIELDS.pgpKeys);
  if (options.recoveryUnseal !== undefined) fields.push("recovery_unseal");
  return fields;
}

function says(number: number | undefined): boolean {
  return number !== undefined && number !== 0;
}

/** The operators' PGP keys, read and tried: nothing is made before all of them will do. */
export interface InitKeys {
  readonly forShares: readonly PublicKey[];
  readonly forToken: PublicKey | null;
  /** When they were valid. What is encrypted to them later is encrypted as of then. */
  readonly at: Instant;
}

export async function readInitKeys(plan: InitPlan, now: Instant): Promise<InitKeys> {
  const forShares = await readPublicKeys(plan.pgpKeys, now);
  const token = plan.rootTokenPgpKey;
  return { forShares, forToken: token === "" ? null : await readPublicKey(token, now), at: now };
}

export interface Material {
  readonly custody: Custody;
  readonly treeKey: KeyObject;
  readonly shared: SharedOut;
}

/** Fresh keys, and the shares of the one that operators hold. */
export async function makeMaterial(
  random: Random,
  plan: InitPlan,
  pgp: InitKeys,
  sealKey: KeyObject | null, // of the auto seal; null for Shamir
): Promise<Material> {
  const { shares, threshold, canUnseal } = plan;
  const scheme: Scheme = { shares, threshold, pgpFingerprints: pgp.forShares.map(fingerprint) };
  const shared = await shareOutFreshKey(random, scheme, pgp.forShares, pgp.at);
  const rootKey = freshKey(random);
  const stamp = { nonce: random.uuid(), created: pgp.at };
  const custody: Custody =
    sealKey === null
      ? { config: { type: "shamir", scheme, ...stamp }, rootKey, unsealKey: shared.key }
      : {
          config: { type: "static", recovery: { ...scheme, canUnseal }, ...stamp },
          rootKey,
          sealKey,
          recoveryKey: shared.key,
        };
  return { custody, treeKey: freshKey(random), shared };
}

export function answerOf(material: Material, rootToken: string | null): Initialised {
  const none = new Secret<readonly string[]>([]);
  const { keys, keysBase64 } = material.shared.printed;
  const token = rootToken === null ? null : new Secret(rootToken);
  return material.custody.config.type === "shamir"
    ? { keys, keysBase64, recoveryKeys: none, recoveryKeysBase64: none, rootToken: token }
    : {
        keys: none,
        keysBase64: none,
        recoveryKeys: keys,
        recoveryKeysBase64: keysBase64,
        rootToken: token,
      };
}
