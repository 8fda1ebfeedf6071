// What an operator has written of the account that this mount works with, and what holds of it now: the
// server's environment beats it, member by member.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import type { Instant } from "@holdfast/shared/world";
import {
  changedTerms,
  checkTerms,
  IDLE,
  isAutomatic,
  NO_TERMS,
  type RotationStanding,
  sameTerms,
  standingAt,
} from "../../cloud/rotation-terms.ts";
import { isEnvironment } from "../provider/environments.ts";
import * as failures from "../failures.ts";
import { pendingIn, recordOf, ROTATION } from "./rotation-state.ts";
import { isCompatible } from "../../cloud/settings.ts";

export interface StoredConfig {
  readonly version: 1;
  readonly subscriptionId: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audience: string;
  /** Of identity tokens, in seconds. */
  readonly identityTtl: number;
  readonly environment: string;
  /** Of secrets that a rotation makes, in seconds. */
  readonly passwordTtl: number;
  /** Of the secret, where a rotation of ours has made it. */
  readonly keyId: string | null;
  /** When that ends, in nanoseconds since 1970. */
  readonly passwordEnds: string | null;
  /** When it came into use, likewise. */
  readonly rotated: string | null;
  /** When it is rotated by itself, and how that stands. */
  readonly rotationPeriod: number;
  readonly rotationSchedule: string;
  readonly rotationWindow: number;
  readonly disableAutomatedRotation: boolean;
  readonly standing: RotationStanding;
}

export type ConfigChange = {
  readonly [
    K in keyof Omit<StoredConfig, "version" | "keyId" | "passwordEnds" | "rotated" | "standing">
  ]?: StoredConfig[K] | undefined;
};

/** What a connection is made from. */
export interface Effective {
  readonly subscriptionId: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audience: string;
  readonly identityTtl: number;
  readonly environment: string;
}

export const PASSWORD_TTL = 182 * 24 * 3600;
export const IDENTITY_TTL = 3600;
export const CONFIG = "config";

export const NO_CONFIG: StoredConfig = {
  version: 1,
  subscriptionId: "",
  tenantId: "",
  clientId: "",
  clientSecret: "",
  audience: "",
  identityTtl: IDENTITY_TTL,
  environment: "",
  passwordTtl: PASSWORD_TTL,
  keyId: null,
  passwordEnds: null,
  rotated: null,
  ...NO_TERMS,
  standing: IDLE,
};

const codec = jsonCodec<StoredConfig>();

export const configCodec: Codec<StoredConfig> = {
  encode: (config) => codec.encode(config),
  decode: (bytes) => {
    const stored = codec.decode(bytes);
    if (stored.version !== 1) throw failures.newerVersion();
    return { ...NO_CONFIG, ...stored }; // it may be older than some members
  },
};

/** The member, its name on the wire, and the variables that beat it; the second where the spellings of
 *  existing clients are accepted. */
const OVERRIDES = [
  ["subscriptionId", "subscription_id", "CLOUDB_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID"],
  ["tenantId", "tenant_id", "CLOUDB_TENANT_ID", "AZURE_TENANT_ID"],
  ["clientId", "client_id", "CLOUDB_CLIENT_ID", "AZURE_CLIENT_ID"],
  ["clientSecret", "client_secret", "CLOUDB_CLIENT_SECRET", "AZURE_CLIENT_SECRET"],
  ["environment", "environment", "CLOUDB_ENVIRONMENT", "AZURE_ENVIRONMENT"],
] as const;

export class Config {
  readonly #needs: EngineNeeds;

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  /** Null where nothing is stored. */
  stored(): Promise<StoredConfig | null> {
    return this.#needs.storage.get(CONFIG, configCodec);
  }

  /** Null where neither what is stored nor the environment says enough. */
  async effective(): Promise<Effective | null> {
    const found = this.#over((await this.stored()) ?? NO_CONFIG);
    return found.subscriptionId === "" || found.tenantId === "" ? null : found;
  }

  /** What the environment decides, by its names on the wire. */
  overrides(): string[] {
    return OVERRIDES.filter((row) => this.#variable(row) !== null).map(([, name]) => name);
  }

  /** What a rotation of the secret begins with: refuses where a new one would be of no use. */
  async rotatable(): Promise<StoredConfig> {
    const stored = await this.stored();
    if (stored === null) throw failures.cannotRotate("there is no stored configuration to rotate");
    if (stored.clientSecret === "") {
      throw failures.cannotRotate("the stored configuration has no client_secret to rotate");
    }
    const overridden = this.overrides().filter((name) => /^client_(id|secret)$/.test(name));
    if (overridden.length === 0) return stored;
    const names = overridden.join(" and ");
    const why = `${names} comes from the environment: a new secret would never be used`;
    throw failures.cannotRotate(why);
  }

  /** What is left out stays as it is. */
  async write(change: ConfigChange, check?: (exists: boolean) => void): Promise<void> {
    const { storage, clock } = this.#needs;
    const first = this.#changed((await this.stored()) ?? NO_CONFIG, change, clock.now());
    if (first.audience !== "") await this.#proveIdentity(first);
    await storage.write((tx) => {
      const stored = tx.get(CONFIG, configCodec);
      check?.(stored !== null);
      const before = stored ?? NO_CONFIG;
      const after = this.#changed(before, change, tx.time);
      const sameSecret =
        after.clientSecret === before.clientSecret && after.clientId === before.clientId;
      if (!sameSecret) forgetRotation(tx);
      const kept =
        sameSecret &&
        sameTerms(after, before) &&
        after.disableAutomatedRotation === before.disableAutomatedRotation;
      const standing = kept ? before.standing : standingAt(after, tx.time);
      const fresh = sameSecret ? {} : { keyId: null, passwordEnds: null, rotated: null };
      tx.put(CONFIG, { ...after, ...fresh, standing }, configCodec);
    });
  }

  async delete(): Promise<void> {
    await this.#needs.storage.write((tx) => {
      forgetRotation(tx);
      tx.delete(CONFIG);
    });
  }

  #changed(before: StoredConfig, change: ConfigChange, now: Instant): StoredConfig {
    const written = Object.fromEntries(Object.entries(change).filter(([, v]) => v !== undefined));
    const merged: StoredConfig = { ...before, ...written };
    const after: StoredConfig = {
      ...merged,
      ...changedTerms(before, change),
      identityTtl: merged.identityTtl === 0 ? IDENTITY_TTL : merged.identityTtl,
      passwordTtl: merged.passwordTtl === 0 ? PASSWORD_TTL : merged.passwordTtl,
    };
    const { subscriptionId, tenantId } = this.#over(after);
    if (subscriptionId === "") throw failures.required("subscription_id");
    if (tenantId === "") throw failures.required("tenant_id");
    if (after.clientSecret !== "" && after.audience !== "") throw failures.twoCredentials();
    if (!isEnvironment(after.environment)) throw failures.environmentUnknown();
    checkTerms(after, now);
    if (isAutomatic(after) && after.clientSecret === "") {
      const field = after.rotationPeriod > 0 ? "rotation_period" : "rotation_schedule";
      throw failures.invalid(`${field} needs client_secret`);
    }
    return after;
  }

  /** Fails now rather than at the first secret somebody wants. */
  async #proveIdentity({ audience, identityTtl }: StoredConfig): Promise<void> {
    try {
      await this.#needs.identity.token(audience, BigInt(identityTtl) * SECOND);
    } catch (error) {
      throw failures.noIdentityTokens(error instanceof Failure ? error : undefined);
    }
  }

  #over(stored: StoredConfig): Effective {
    const { audience, identityTtl } = stored;
    const over = (row: (typeof OVERRIDES)[number]) => this.#variable(row) ?? stored[row[0]];
    const [subscriptionId, tenantId, clientId, clientSecret, environment] = [
      over(OVERRIDES[0]),
      over(OVERRIDES[1]),
      over(OVERRIDES[2]),
      over(OVERRIDES[3]),
      over(OVERRIDES[4]),
    ];
    return {
      subscriptionId,
      tenantId,
      clientId,
      clientSecret,
      audience,
      identityTtl,
      environment,
    };
  }

  #variable([, , own, alias]: (typeof OVERRIDES)[number]): string | null {
    const { environment, settings } = this.#needs;
    return environment(own) ?? (isCompatible(settings) ? environment(alias) : null);
  }
}

/** Another secret was written, or none: one that is still being proved is of no use. */
function forgetRotation(tx: EngineTx): void {
  const pending = pendingIn(tx);
  if (pending !== null) {
    tx.begin("rootPassword", recordOf(pending));
  }
  tx.delete(ROTATION);
}
