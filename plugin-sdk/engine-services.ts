// What an engine of a cloud is given besides storage and time: the server's settings and environment,
// its own leases, proofs of who it is, and where it counts what it does.
// NO_SERVICES is what there is of these around an engine that has no server.

import type { Nanos } from "@holdfast/shared/world";
import { type Outbound, OutboundError } from "./outbound.ts";

/** A variable of the server's environment; null where it is not set or empty. */
export type EnvironmentVariables = (name: string) => string | null;

/** Of the server's configuration. */
export interface CloudSettings {
  /** What names of things made outside begin with. "service-" unless configured. */
  readonly namePrefix: string;
  /** Instead of those of the provider; null where not configured. */
  readonly cloudbEndpoints: {
    readonly authority: string;
    readonly graph: string;
    readonly arm: string;
  } | null;
  /** Spellings of existing clients are accepted too. */
  readonly compat: boolean;
}

/** The leases of this mount. `place` is the path below the mount that gave them: "creds/deploy". What
 *  was given below it counts too, but not that of "creds/deployer". */
export interface OwnLeases {
  /** Those that are not revoked yet: what they stand for is still there outside. */
  count(place: string): Promise<number>;
  /** Queues all of them for revocation; resolves when it is sure to happen. */
  revoke(place: string): Promise<void>;
  /** What kept some from being revoked may be mended: try them again now. */
  retryStuck(): Promise<void>;
}

/** Proofs that whoever sends them is this mount: RS256, public keys at
 *  identity/oidc/plugins/.well-known/keys. */
export interface IdentityTokens {
  token(audience: string, ttl: Nanos): Promise<string>;
}

export type CallResult = "ok" | "refused" | "throttled" | "failed";

/** Labels hold words of ours only; `action` is the provider's name of a call. */
export interface CloudMetrics {
  called(action: string, result: CallResult, seconds: number): void;
  issued(type: string): void;
  rotated(result: "ok" | "failed"): void;
  /** When the root credential was rotated last, in seconds since 1970; null: not known. */
  rootRotated(at: number | null): void;
}

export interface EngineServices {
  readonly outbound: Outbound;
  readonly environment: EnvironmentVariables;
  readonly settings: CloudSettings;
  readonly leases: OwnLeases;
  readonly identity: IdentityTokens;
  readonly metrics: CloudMetrics;
}

/** Nobody outside can be reached, nothing is configured, nobody counts. */
export const NO_SERVICES: EngineServices = {
  outbound: {
    endpoint: (_field, text) => new URL(text),
    send: async () => {
      throw new OutboundError("forbidden", "there is no way out");
    },
  },
  environment: () => null,
  settings: { namePrefix: "service-", cloudbEndpoints: null, compat: true },
  leases: { count: async () => 0, revoke: async () => {}, retryStuck: async () => {} },
  identity: {
    token: async () => {
      throw new Error("there is no key to sign with");
    },
  },
  metrics: { called: () => {}, issued: () => {}, rotated: () => {}, rootRotated: () => {} },
};
