// What a handler may hand over besides data: a secret that ends (a lease), and a login. What becomes of
// either, and for how long, is decided by the server, not by the engine.

import type { JsonObject } from "../json/json.ts";
import type { Nanos } from "../world.ts";

/** A secret that the server is to end: with its lease, with its owner, or by hand. */
export interface LeaseOffer {
  /** One of the engine's secret types: who is asked to renew and to revoke. */
  readonly secretType: string;
  /** What revoking it takes. Kept behind the barrier, never answered. */
  readonly internal: JsonObject;
  /** What the role says; null: as the mount does. */
  readonly ttl?: Nanos | null;
  readonly maxTtl?: Nanos | null;
  /** Default true. */
  readonly renewable?: boolean;
  /** Keys of the mount's storage, of which one must be there still when the lease is stored: its role may be deleted meanwhile. Otherwise
   *  the secret is ended and nobody is given it. Default: it was given by nothing that can go. */
  readonly needsOneOf?: readonly string[];
  /** Write-ahead records that are settled by the lease, removed in the same transaction. */
  readonly settles?: readonly string[];
}

/** Thrown in the place of `cause`, for an answer that is refused and holds a secret: the server ends that, and answers with the cause. */
export class SecretUngiven extends Error {
  readonly offer: LeaseOffer;

  constructor(offer: LeaseOffer, cause: unknown) {
    super("a secret is given to nobody", { cause });
    this.offer = offer;
  }
}

/** Somebody has proved who they are: the server makes them a client token. */
export interface LoginOffer {
  readonly displayName: string;
  /** Who was proved to be there: no two of one mount have the same. Default: the display name. */
  readonly identity?: string;
  readonly policies: readonly string[];
  /** What the method vouches for: policies may build on it. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** What the method will know them by, handed to its `renewLogin` and shown to nobody. Default: the
   *  metadata. */
  readonly owner?: Readonly<Record<string, string>>;
  /** What others have noted, shown with the metadata and trusted by no policy. Default none. */
  readonly notes?: Readonly<Record<string, string>>;
  /** Null: as the mount says. */
  readonly ttl?: Nanos | null;
  readonly maxTtl?: Nanos | null;
  /** Renewals give this anew, without end. Default none. */
  readonly period?: Nanos | null;
  /** Default true. */
  readonly renewable?: boolean;
  /** 0: as many as one likes. Default 0. */
  readonly uses?: number;
  /** Default false. */
  readonly withoutDefaultPolicy?: boolean;
  /** Good in every cluster. Default false. */
  readonly global?: boolean;
  /** Addresses and ranges that the token is good from. Default and empty: anywhere. */
  readonly boundTo?: readonly string[];
}

export interface LoginRenewalRequest {
  /** Null: none was asked for. */
  readonly increment: Nanos | null;
  /** Nanoseconds since 1970. */
  readonly issued: bigint;
  readonly policies: readonly string[];
}

/** What holds from now on; what is left out stays. */
export interface LoginRenewal {
  readonly ttl?: Nanos | null;
  readonly maxTtl?: Nanos | null;
  readonly period?: Nanos | null;
  readonly owner?: Readonly<Record<string, string>>;
}
