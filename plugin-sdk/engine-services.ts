// What an engine is given besides storage and time: the way out, the server's settings for its type and the
// environment, its own leases, proofs of who it is, and where it counts what it does.
// NO_SERVICES is what there is of these around an engine that has no server.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineMetrics } from "./metrics.ts";
import type { DatabasePlugins } from "./database.ts";
import { type Outbound, OutboundError } from "./outbound.ts";

/** A variable of the server's environment; null where it is not set or empty. */
export type EnvironmentVariables = (name: string) => string | null;

/** The leases of this mount. `place` is the path below the mount that gave them: "creds/deploy". What
 *  was given below it counts too, but not that of "creds/deployer". */
export interface OwnLeases {
  /** Those that are not revoked yet: what they stand for is still there outside. */
  count(place: string): Promise<number>;
  /** Queues all of them for revocation; resolves when it is sure to happen. */
  revoke(place: string): Promise<void>;
  /** What kept some from being revoked may be mended: try them again now. */
  retryStuck(): Promise<void>;
  /** Those that other clusters have given by this mount, where it is shared with them. `revoke`: each of them queues its own for
   *  revocation. */
  elsewhere(place: string, how: { readonly revoke: boolean }): Promise<LeasesElsewhere>;
}

export interface LeasesElsewhere {
  readonly count: number;
  /** How many clusters have given no answer: they may have some. */
  readonly silent: number;
}

/** Proofs that whoever sends them is this mount: RS256, public keys at
 *  identity/oidc/plugins/.well-known/keys. */
export interface IdentityTokens {
  token(audience: string, ttl: Nanos): Promise<string>;
}

/** Uses that are counted in the storage of the mount, where another cluster writes that. */
export interface CountedUses {
  /** Has the engine of the mount there take one, once (`takeUse` of its type). False: there is no such use. Throws where that cluster is not
   *  reached, also where nobody knows whether it was taken. */
  take(what: JsonObject): Promise<boolean>;
}

export interface EngineServices {
  readonly outbound: Outbound;
  readonly environment: EnvironmentVariables;
  /** What the server's configuration says to engines of this type; empty where it says nothing. */
  readonly settings: JsonObject;
  readonly leases: OwnLeases;
  readonly identity: IdentityTokens;
  readonly uses: CountedUses;
  /** Databases, by plugins of the catalog. */
  readonly databases: DatabasePlugins;
  /** What the type has declared in `metrics`. */
  readonly metrics: EngineMetrics;
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
  settings: {},
  leases: {
    count: async () => 0,
    revoke: async () => {},
    retryStuck: async () => {},
    elsewhere: async () => ({ count: 0, silent: 0 }),
  },
  identity: {
    token: async () => {
      throw new Error("there is no key to sign with");
    },
  },
  uses: {
    take: async () => {
      throw new Error("there is no other cluster");
    },
  },
  databases: {
    choose: () => null,
    open: async () => {
      throw new Error("there are no plugins");
    },
  },
  metrics: { count: () => {}, observe: () => {}, since: () => {} },
};
