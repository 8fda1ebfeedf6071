// How many leases there may be at a time: counted here, bounded by quotas. A new one is counted from
// before it is written, so that those that come at the same time are not one too many together.

import type { Timers } from "@holdfast/shared/world";
import type { MountRef } from "@holdfast/shared/endpoint/request";
import * as failures from "./failures.ts";
import type { LeaseLimit, LeaseLimits, LeaseMounts } from "./ports.ts";
import type { IdCounts } from "./rows/id-counts.ts";
import type { LeaseCount } from "./rows/lease-rows.ts";

export interface LimitingParts {
  readonly limits: LeaseLimits;
  readonly mounts: LeaseMounts;
  /** By mount, as stored. */
  readonly counts: ReadonlyMap<string, LeaseCount>;
  readonly ids: IdCounts;
  readonly timers: Timers;
}

export class Limiting {
  readonly #parts: LimitingParts;
  readonly #underWay = new Map<string, number>(); // by name of the quota

  constructor(parts: LimitingParts) {
    this.#parts = parts;
  }

  /** Refuses what would be one too many. `path` is relative to the namespace of the mount. */
  admit(mount: MountRef, path: string): void {
    const limit = this.#parts.limits.on(mount, path);
    if (limit !== null) this.#check(limit);
  }

  /** The same, and keeps room for it while it is written. */
  async within<T>(mount: MountRef, path: string, write: () => Promise<T>): Promise<T> {
    const limit = this.#parts.limits.on(mount, path);
    if (limit === null) return write();
    this.#check(limit);
    const { name } = limit;
    this.#add(name, 1);
    try {
      return await write();
    } finally {
      this.#add(name, -1);
    }
  }

  /** How many there are below the path of a quota. */
  async counted({ quota }: LeaseLimit): Promise<number> {
    const { ids, timers } = this.#parts;
    const place = placeOf(quota.path, this.#mounts());
    if (place === "mounts") return this.#sum(quota);
    return place === null ? 0 : ids.count(place.namespaceId, place.prefix, timers);
  }

  /** The same, no further than to where it decides. */
  #there({ quota }: LeaseLimit): number {
    const place = placeOf(quota.path, this.#mounts());
    if (place === "mounts") return this.#sum(quota);
    if (place === null) return 0;
    return this.#parts.ids.upTo(place.namespaceId, place.prefix, quota.maxLeases);
  }

  #check(limit: LeaseLimit): void {
    const there = this.#there(limit) + (this.#underWay.get(limit.name) ?? 0);
    if (there < limit.quota.maxLeases) return;
    this.#parts.limits.refused?.();
    throw failures.tooManyLeases();
  }

  #add(name: string, more: number): void {
    const count = (this.#underWay.get(name) ?? 0) + more;
    if (count === 0) this.#underWay.delete(name);
    else this.#underWay.set(name, count);
  }

  #sum({ path, inheritable }: LeaseLimit["quota"]): number {
    let sum = 0;
    for (const mount of this.#mounts()) {
      const base = baseOf(mount);
      const counts =
        path === "" ||
        base + mount.path === path ||
        base === path ||
        (inheritable && base.startsWith(path));
      if (counts) sum += this.#parts.counts.get(mount.uuid)?.leases ?? 0;
    }
    return sum;
  }

  /** Those that have leases. */
  *#mounts(): Generator<MountRef> {
    for (const uuid of this.#parts.counts.keys()) {
      const mount = this.#parts.mounts.byUuid(uuid);
      if (mount !== null) yield mount.ref;
    }
  }
}

/** Of a path below a mount: its ids, or with a star those that begin so. */
function placeOf(path: string, mounts: Iterable<MountRef>) {
  if (path === "" || path.endsWith("/")) return "mounts";
  for (const mount of mounts) {
    const base = baseOf(mount);
    if (!path.startsWith(base + mount.path)) continue;
    const own = path.slice(base.length);
    const prefix = own.endsWith("*") ? own.slice(0, -1) : `${own}/`;
    return { namespaceId: mount.namespace.id, prefix };
  }
  return null;
}

function baseOf({ namespace }: MountRef): string {
  return namespace.path === "" ? "" : `${namespace.path}/`;
}
