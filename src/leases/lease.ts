// A lease as it is stored: what was handed out, to whom, until when, and what ending it takes.

import { type Codec, jsonCodec } from "@holdfast/shared/codec";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";

export interface LeasePlace {
  readonly namespaceId: string;
  readonly id: string;
}

/** The token that it ends with. */
export interface LeaseOwner {
  readonly namespaceId: string;
  readonly accessor: string;
}

/** What a login has proved; without one, the token that it all began with. */
export interface LeaseOrigin {
  readonly namespaceId: string;
  /** Uuid of the auth mount; null: there was no login. */
  readonly mount: string | null;
  readonly name: string;
  /** Without a login: of the first token. */
  readonly accessor?: string | undefined;
}

export interface Lease extends LeasePlace {
  /** Of the request, relative to its namespace. */
  readonly path: string;
  readonly mountUuid: string;
  readonly owner: LeaseOwner | null;
  /** Who was behind that token. Default: nobody has noted it. */
  readonly origin?: LeaseOrigin | undefined;
  readonly secretType: string;
  readonly internal: JsonObject;
  readonly issued: Instant;
  /** Not valid from here on, whether or not it is revoked yet. */
  readonly expires: Instant;
  readonly renewed: Instant | null;
  readonly renewable: boolean;
  /** When it is to be revoked, or tried again: its place in the order of time. */
  readonly due: Instant;
  /** Revocations that failed. */
  readonly attempts: number;
  /** Why the last of them did; empty when none has. */
  readonly error: string;
  readonly irrevocable: boolean;
  /** Why it is to end before its time. Default: nobody has said so. */
  readonly ending?: LeaseCause | undefined;
}

/** Who ends a lease: somebody who asks for it, the end of its token, or that of its mount or namespace. */
export type LeaseCause = "revoke" | "token" | "unmount";

type Stored = Omit<Lease, "issued" | "expires" | "renewed" | "due"> & {
  readonly issued: string;
  readonly expires: string;
  readonly renewed: string | null;
  readonly due: string;
};
const stored = jsonCodec<Stored>();

export const leaseCodec: Codec<Lease> = {
  encode: (lease) => {
    const { issued, expires, renewed, due } = lease;
    return stored.encode({
      ...lease,
      issued: String(issued),
      expires: String(expires),
      renewed: renewed === null ? null : String(renewed),
      due: String(due),
    });
  },
  decode: (bytes) => {
    const found = stored.decode(bytes);
    const { issued, expires, renewed, due } = found;
    return {
      ...found,
      issued: BigInt(issued),
      expires: BigInt(expires),
      renewed: renewed === null ? null : BigInt(renewed),
      due: BigInt(due),
    };
  },
};
