// From a secret that an engine has made to a lease: one transaction writes the lease, its place in every
// order and the removal of the write-ahead records that it settles. Until then the secret is nobody's: if
// the transaction fails it is ended at once, and where that fails too, rollback finds the record; what nobody
// has noted becomes a lease that is due.

import { describe } from "@holdfast/shared/failure";
import { secondsLeft } from "@holdfast/shared/text/duration";
import { bytesCodec } from "@holdfast/shared/codec";
import { invariant } from "@holdfast/shared/invariant";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Random } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import type { LeaseOffer } from "@holdfast/shared/endpoint/lease";
import type { Leased } from "@holdfast/shared/endpoint/reply";
import type { Caller, RequestContext } from "@holdfast/shared/endpoint/request";
import type { Attempted } from "./revocation/attempt.ts";
import * as failures from "./failures.ts";
import type { LeaseMounts, LeaseOwners } from "./ports.ts";
import type { Lease, LeaseOrigin } from "./lease.ts";
import { newLeaseId } from "./rows/lease-id.ts";
import type { LeaseRows } from "./rows/lease-rows.ts";
import type { Limiting } from "./lease-limits.ts";
import { grantedAtIssue } from "./lifetime.ts";

export interface Issued {
  readonly leased: Leased;
  readonly warnings: readonly string[];
}

export interface IssuingParts {
  readonly rows: LeaseRows;
  readonly mounts: LeaseMounts;
  readonly owners: LeaseOwners;
  readonly now: () => Instant;
  readonly random: Random;
  readonly log: Log;
  /** Relative to local/. */
  readonly writeAheadKey: (namespaceId: string, mountUuid: string, id: string) => string;
  readonly attempt: (lease: Lease) => Promise<Attempted>;
  readonly limiting: Limiting;
}

export class Issuing {
  readonly #parts: IssuingParts;

  constructor(parts: IssuingParts) {
    this.#parts = parts;
  }

  async issue(offer: LeaseOffer, context: RequestContext): Promise<Issued> {
    const { mounts, rows, limiting } = this.#parts;
    invariant(context.mount !== null, "only mounts give secrets that end");
    const mount = mounts.byUuid(context.mount.uuid);
    const granted = mount === null ? null : grantedAtIssue(offer, mount);
    const canRenew = (mount?.type.secrets?.[offer.secretType]?.renew ?? null) !== null;
    const renewable = canRenew && (offer.renewable ?? true);
    const lease = this.#leaseOf({ ...offer, renewable }, context, granted?.ttl ?? 0n);
    try {
      if (granted === null) throw failures.mountGone();
      // Whoever asked for it is gone: the secret would live on with nobody who knows it.
      if (context.signal.aborted) throw failures.requestOver();
      const write = () => rows.local.write((tx) => this.#write(tx, lease, offer));
      await limiting.within(context.mount, context.path.text, write);
      const { id } = lease;
      const leased = { id, renewable, seconds: secondsLeft(granted.ttl) };
      return { leased, warnings: granted.warnings };
    } catch (error) {
      await this.#endAtOnce(lease, offer);
      throw error;
    }
  }

  /** Never rejects. */
  async end(offer: LeaseOffer, context: RequestContext): Promise<void> {
    invariant(context.mount !== null, "only mounts give secrets that end");
    await this.#endAtOnce(this.#leaseOf({ ...offer, renewable: false }, context, 0n), offer);
  }

  #leaseOf(offer: LeaseOffer, context: RequestContext, ttl: bigint): Lease {
    const { random } = this.#parts;
    const { namespace, path, mount, caller } = context;
    const now = this.#parts.now();
    const owner =
      caller === null ? null : { namespaceId: caller.namespace.id, accessor: caller.accessor };
    return {
      id: newLeaseId(random, path.text, namespace.id),
      namespaceId: namespace.id,
      path: path.text,
      mountUuid: mount?.uuid ?? "",
      owner,
      origin: caller === null ? undefined : originOf(caller),
      secretType: offer.secretType,
      internal: offer.internal,
      issued: now,
      expires: now + ttl,
      renewed: null,
      renewable: offer.renewable ?? true,
      due: now + ttl,
      attempts: 0,
      error: "",
      irrevocable: false,
    };
  }

  /** What was true when the request came in may not be any more: its token or its role is deleted, its mount is
   *  being disabled. Whoever ends those looks for leases only once. */
  #write(tx: Tx, lease: Lease, { settles = [], needsOneOf = [] }: LeaseOffer): void {
    const { rows, mounts, owners, writeAheadKey } = this.#parts;
    if (lease.owner !== null && !owners.isThere(tx, lease.owner)) throw failures.ownerGone();
    const mount = mounts.byUuid(lease.mountUuid);
    if (mount?.record.state.kind !== "active") throw failures.mountGone();
    const isThere = needsOneOf.length === 0 || needsOneOf.some((key) => mount.holds(tx, key));
    if (!isThere) throw failures.roleGone();
    const local = tx.on(rows.local);
    for (const id of settles) {
      const key = writeAheadKey(lease.namespaceId, lease.mountUuid, id);
      // Rollback has taken the secret for left behind: it took longer than its engine says.
      if (local.get(key, bytesCodec) === null) throw failures.requestOver();
      local.delete(key);
    }
    rows.add(tx, lease);
  }

  async #endAtOnce(lease: Lease, { settles = [] }: LeaseOffer): Promise<void> {
    const { attempt, log } = this.#parts;
    const attempted = await attempt(lease);
    if (attempted.kind === "revoked") return;
    const { path, mountUuid: mount } = lease;
    const about = { path, mount, cause: attempted.failure.message };
    if (settles.length > 0) {
      log.error("a secret without a lease could not be ended; rollback will", about);
    } else if (await this.#wasKept(lease)) {
      log.error("a secret that nobody was given could not be ended yet; it is tried again", about);
    } else {
      log.error("a secret that nobody was given could not be ended", about);
    }
  }

  /** As a lease that is due and nobody's. */
  async #wasKept(lease: Lease): Promise<boolean> {
    const { rows, mounts, now, log } = this.#parts;
    const { mountUuid: mount, path } = lease;
    if (mounts.isGone?.(mount) === true) return false;
    const due = now();
    const kept: Lease = { ...lease, owner: null, expires: due, due, ending: "revoke" };
    try {
      // Like the end of any other: a full disk keeps nobody from it.
      await rows.local.write((tx) => rows.add(tx, kept), { essential: true });
      return true;
    } catch (error) {
      log.error("what is to be ended could not be written down", {
        path,
        mount,
        cause: describe(error),
      });
      return false;
    }
  }
}

function originOf({ origin, namespace, accessor }: Caller): LeaseOrigin {
  const { namespaceId = namespace.id, mount = null, name = "", first = accessor } = origin ?? {};
  return { namespaceId, mount, name, ...(mount === null ? { accessor: first } : {}) };
}
