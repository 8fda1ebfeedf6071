// What can be tuned of a mount: the values as they are kept, and what goes together.

import { SECOND } from "@holdfast/shared/text/duration";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import { type LockoutConfig, readLockout, showLockout } from "@holdfast/plugin-sdk/lockout";
import * as failures from "../failures.ts";
import { checkHeaders } from "../passed-headers.ts";

export interface MountConfig {
  /** Seconds; 0: as the server says. */
  readonly defaultLeaseTtl: number;
  readonly maxLeaseTtl: number;
  readonly forceNoCache: boolean;
  /** Members that audit shows in clear. */
  readonly clearRequestKeys: readonly string[];
  readonly clearResponseKeys: readonly string[];
  readonly listingVisibility: ListingVisibility;
  readonly passthroughRequestHeaders: readonly string[];
  readonly allowedResponseHeaders: readonly string[];
  readonly identityTokenKey: string;
  /** Of auth mounts. */
  readonly tokenType: TokenType;
  /** As showLockout has it; null: as usual. */
  readonly lockout: JsonObject | null;
}

export const LISTING_VISIBILITIES = ["", "hidden", "unauth"] as const;
export type ListingVisibility = (typeof LISTING_VISIBILITIES)[number];
export const TOKEN_TYPES = ["default-service", "service"] as const;
export type TokenType = (typeof TOKEN_TYPES)[number];

export const DEFAULT_CONFIG: MountConfig = {
  defaultLeaseTtl: 0,
  maxLeaseTtl: 0,
  forceNoCache: false,
  clearRequestKeys: [],
  clearResponseKeys: [],
  listingVisibility: "",
  passthroughRequestHeaders: [],
  allowedResponseHeaders: [],
  identityTokenKey: "",
  tokenType: "default-service",
  lockout: null,
};

export interface ServerTtls {
  readonly usual: Nanos;
  readonly max: Nanos;
}

export type ConfigChange = { readonly [K in keyof MountConfig]?: MountConfig[K] | undefined };

/** With what was given in place of what was there. */
export function changed(config: MountConfig, change: ConfigChange): MountConfig {
  const changes = Object.entries(change).filter(([, value]) => value !== undefined);
  const { lockout } = change;
  const merged = lockout && showLockout(readLockout(lockout, lockoutOf(config)));
  return { ...config, ...Object.fromEntries(changes), lockout: merged ?? config.lockout };
}

export function maxTtlOf({ maxLeaseTtl }: MountConfig, server: ServerTtls): Nanos {
  return maxLeaseTtl === 0 ? server.max : BigInt(maxLeaseTtl) * SECOND;
}

export function defaultTtlOf(config: MountConfig, server: ServerTtls): Nanos {
  const { defaultLeaseTtl } = config;
  const usual = defaultLeaseTtl === 0 ? server.usual : BigInt(defaultLeaseTtl) * SECOND;
  const max = maxTtlOf(config, server);
  return usual < max ? usual : max;
}

/** In the words of the methods that count. */
export function lockoutOf({ lockout }: MountConfig): LockoutConfig {
  return readLockout(lockout ?? {});
}

/** A default that nobody set is cut; one that somebody set must fit. */
export function checkConfig(config: MountConfig, server: ServerTtls): void {
  const { defaultLeaseTtl, identityTokenKey } = config;
  const usual = BigInt(defaultLeaseTtl) * SECOND;
  if (usual > 0n && usual > maxTtlOf(config, server)) throw failures.ttlsCrossed();
  if (!["", "default"].includes(identityTokenKey)) throw failures.identityKeyUnknown();
  checkHeaders(config);
}
