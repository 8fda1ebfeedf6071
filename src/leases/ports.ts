// What this room is given by others.

import type { Tx } from "../barrier/view.ts";
import type { MountRef, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { EngineType, ReceiptFacts } from "@holdfast/plugin-sdk/engine";
import type { Instant } from "@holdfast/shared/world";
import type { Lease, LeaseCause, LeaseOwner } from "./lease.ts";
import type { MountTtls } from "./lifetime.ts";

/** A mount whose engine is open. */
export interface LeaseMount extends MountTtls {
  readonly ref: MountRef;
  readonly type: EngineType<unknown>;
  /** Whatever is not "active" is being disabled or moved: its leases go, no new ones come. */
  readonly record: { readonly state: { readonly kind: string } };
  /** Whether its engine keeps something under that key, as the transaction sees it. */
  holds(tx: Tx, key: string): boolean;
}

export interface LeaseMounts {
  /** Also one that is being disabled, or whose namespace is being deleted. Null when it has no engine
   *  now. */
  byUuid(uuid: string): LeaseMount | null;
  /** Whether there is no such mount any more. Default: it may come back. */
  isGone?(uuid: string): boolean;
}

export interface LeaseOwners {
  /** Whether the token is there, as the transaction sees it, and has not ended. */
  isThere(tx: Tx, owner: LeaseOwner): boolean;
}

/** Tokens that came through a login: they end by the path of their mount, as secrets do. */
export interface LeaseLogins {
  /** Whether another cluster writes global tokens, and ends them. Default false. */
  readonly globalElsewhere?: boolean;
  /** Those at or below the path. `ended` hears of each, and of what it made. */
  endBelow(
    namespace: NamespaceRef,
    prefix: string,
    how: { readonly signal: AbortSignal; readonly ended: (owner: LeaseOwner) => void },
  ): Promise<void>;
}

/** A quota on the number of leases below a path: empty for all, a namespace or a mount with a slash at
 *  its end, or a path of ids, with or without a star. */
export interface LeaseLimit {
  readonly name: string;
  readonly quota: {
    readonly path: string;
    readonly maxLeases: number;
    readonly inheritable: boolean;
  };
}

export interface LeaseLimits {
  /** The one that a lease given on `path`, relative to the mount's namespace, falls under. */
  on(mount: MountRef, path: string): LeaseLimit | null;
  /** Called when one is refused. */
  refused?(): void;
}

/** The private space of a token, which goes with it. */
export interface CubbyholeContents {
  wipe(tx: Tx, namespaceId: string, accessor: string): void;
}

export interface LeaseNamespaces {
  childrenOf(parent: NamespaceRef): readonly NamespaceRef[];
}

export interface LeaseMetrics {
  /** One revocation has come to this. */
  revoked(result: RevocationResult): void;
}

export type RevocationResult = "ok" | "failed" | "throttled" | "forced";

/** A lease has ended and is being forgotten, in this transaction. `cause`: null where its time was over. */
export type LeaseEnded = (
  tx: Tx,
  lease: Lease,
  end: {
    readonly cause: LeaseCause | null;
    /** "given-up": what it stands for may still be there outside. */
    readonly result: "ended" | "given-up";
    /** By which the provider knows the calls that ended it. */
    readonly requestIds: readonly string[];
    readonly now: Instant;
  },
) => void;

/** What a receipt of it says. */
export interface EndedLease {
  readonly lease: Lease;
  readonly cause: LeaseCause | null;
  readonly result: "ended" | "given-up";
  readonly requestIds: readonly string[];
  /** As the engine says. */
  readonly facts: ReceiptFacts;
}

/** Keeps receipts of what has ended, in the transaction that forgets it. */
export type LeaseReceipts = (tx: Tx, ended: EndedLease, now: Instant) => void;
