// Lets a lease live on: never beyond its maximum counted from its issue, and never once it is over.

import { secondsLeft } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { Renewal } from "@holdfast/plugin-sdk/engine";
import { factsOf } from "./revocation/attempt.ts";
import * as failures from "./failures.ts";
import type { LeaseMount, LeaseMounts } from "./ports.ts";
import type { Issued } from "./issuing.ts";
import type { Lease, LeasePlace } from "./lease.ts";
import { isLeaseIdOf } from "./rows/lease-id.ts";
import type { LeaseRows } from "./rows/lease-rows.ts";
import { type Granted, grantedAtRenewal } from "./lifetime.ts";

export interface RenewingParts {
  readonly rows: LeaseRows;
  readonly mounts: LeaseMounts;
  readonly now: () => Instant;
  /** Whether its end has begun. */
  readonly isEnding: (place: LeasePlace) => boolean;
}

export class Renewing {
  readonly #parts: RenewingParts;

  constructor(parts: RenewingParts) {
    this.#parts = parts;
  }

  /** `increment` from now; null or 0 for what the role or the mount says. */
  async renew(namespace: NamespaceRef, id: string, increment: Nanos | null): Promise<Issued> {
    const { rows, mounts } = this.#parts;
    if (!isLeaseIdOf(namespace, id)) throw failures.notFound();
    const place = { namespaceId: namespace.id, id };
    const lease = this.#renewable(place);
    const mount = mounts.byUuid(lease.mountUuid);
    if (mount === null) throw failures.noEngine();
    const renew = mount.type.secrets?.[lease.secretType]?.renew ?? null;
    if (renew === null) throw failures.notRenewable();
    const requested = increment === 0n ? null : increment;
    const renewal = await renew(mount.ref.engine, factsOf(lease), requested);
    const { granted, renewable } = await rows.local.write((tx) =>
      this.#write(tx, place, { mount, renewal, increment: requested }),
    );
    const leased = { id, renewable, seconds: secondsLeft(granted.ttl) };
    return { leased, warnings: granted.warnings };
  }

  #write(
    tx: Tx,
    place: LeasePlace,
    request: {
      readonly mount: LeaseMount;
      readonly renewal: Renewal;
      readonly increment: Nanos | null;
    },
  ): { readonly granted: Granted; readonly renewable: boolean } {
    const { rows } = this.#parts;
    const { mount, renewal, increment } = request;
    const before = this.#renewable(place, tx); // it may have ended while the engine was asked
    const now = this.#parts.now();
    const granted = grantedAtRenewal({ ...renewal, increment }, mount, {
      issued: before.issued,
      now,
    });
    if (granted === null) throw failures.lifetimeReached();
    const expires = now + granted.ttl;
    const renewable = renewal.renewable ?? true;
    const internal = renewal.internal ?? before.internal;
    const after = { ...before, expires, due: expires, renewed: now, renewable, internal };
    rows.change(tx, before, after, now);
    return { granted, renewable };
  }

  /** In this order: what is told of a lease that is both must not change. */
  #renewable(place: LeasePlace, tx?: Tx): Lease {
    const { rows, isEnding } = this.#parts;
    const lease = rows.at(place, tx);
    if (lease === null) throw failures.notFound();
    if (lease.irrevocable) throw failures.irrevocable();
    if (lease.expires <= this.#parts.now() || isEnding(place)) throw failures.expired();
    if (!lease.renewable) throw failures.notRenewable();
    return lease;
  }
}
