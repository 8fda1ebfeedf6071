// Leases that could not be revoked, for those who have to look after them (T-J07).

import type { Instant, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { LeaseMounts, LeaseNamespaces } from "../ports.ts";
import type { LeaseRows } from "../rows/lease-rows.ts";

const PAGE = 500;
const RETRIED_AT_ONCE = 16; // see outcomes.ts

export interface StuckLease {
  readonly id: string;
  readonly mountAccessor: string;
  readonly error: string;
}

export interface StuckCount {
  readonly total: number;
  /** By the accessor of the mount. */
  readonly byMount: ReadonlyMap<string, number>;
}

export interface StuckLeasesParts {
  readonly rows: LeaseRows;
  readonly mounts: LeaseMounts;
  readonly namespaces: LeaseNamespaces;
  readonly timers: Timers;
  readonly now: () => Instant;
}

interface Which {
  readonly children: boolean;
}

export class StuckLeases {
  readonly #parts: StuckLeasesParts;

  constructor(parts: StuckLeasesParts) {
    this.#parts = parts;
  }

  async count(namespace: NamespaceRef, which: Which): Promise<StuckCount> {
    let total = 0;
    const byMount = new Map<string, number>();
    for await (const { mountUuid } of this.#places(namespace, which)) {
      const accessor = this.#accessorOf(mountUuid);
      byMount.set(accessor, (byMount.get(accessor) ?? 0) + 1);
      total++;
    }
    return { total, byMount };
  }

  /** At most `limit` of them; null for all. */
  async list(
    namespace: NamespaceRef,
    { limit, ...which }: Which & { readonly limit: number | null },
  ): Promise<{ readonly total: number; readonly leases: readonly StuckLease[] }> {
    const leases: StuckLease[] = [];
    let total = 0;
    for await (const place of this.#places(namespace, which)) {
      total++;
      if (limit !== null && leases.length >= limit) continue;
      const { id, mountUuid } = place;
      const error = this.#parts.rows.readable(place)?.error ?? "";
      leases.push({ id, mountAccessor: this.#accessorOf(mountUuid), error });
    }
    return { total, leases };
  }

  /** What kept them from being revoked may be mended: those of a mount are tried again now. */
  async retry(mountUuid: string): Promise<void> {
    const { rows } = this.#parts;
    for (let after: string | undefined; ;) {
      const step = (tx: Tx): string | undefined => {
        const found = rows.timed(mountUuid, { limit: RETRIED_AT_ONCE, after }, tx);
        const now = this.#parts.now();
        for (const place of found) {
          const lease = rows.readable(place, tx);
          if (lease?.irrevocable === true) rows.change(tx, lease, { ...lease, due: now }, now);
        }
        return found.at(-1)?.key;
      };
      if (rows.countOf(mountUuid).irrevocable === 0) return;
      after = await rows.local.write(step, { essential: true });
      if (after === undefined) return;
    }
  }

  async *#places(namespace: NamespaceRef, { children }: Which) {
    const { rows, namespaces, timers } = this.#parts;
    const spaces = children ? withDescendants(namespace, namespaces) : [namespace];
    for (const { id } of spaces) {
      for (let after: string | undefined; ;) {
        const page = rows.stuck(id, { limit: PAGE, after });
        yield* page;
        after = page.at(-1)?.key;
        if (after === undefined) break;
        await timers.turn();
      }
    }
  }

  #accessorOf(mountUuid: string): string {
    return this.#parts.mounts.byUuid(mountUuid)?.ref.accessor ?? mountUuid;
  }
}

function withDescendants(top: NamespaceRef, namespaces: LeaseNamespaces): NamespaceRef[] {
  const all = [top];
  for (let at = 0; at < all.length; at++) all.push(...namespaces.childrenOf(all[at]!));
  return all;
}
