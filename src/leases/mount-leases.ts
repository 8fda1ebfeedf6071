// The leases of one mount, as its engine may ask for them: how many a path has given, and their end.

import type { Timers } from "@holdfast/shared/world";
import type { MountFacts } from "@holdfast/plugin-sdk/engine";
import type { OwnLeases } from "@holdfast/plugin-sdk/engine-services";
import type { LeaseRows } from "./rows/lease-rows.ts";
import type { StuckLeases } from "./revocation/stuck-leases.ts";
import type { Sweeps } from "./revocation/sweeps.ts";

const PAGE = 1000; // keys alone: some milliseconds

export interface MountLeasesParts {
  readonly rows: LeaseRows;
  readonly sweeps: Sweeps;
  readonly stuck: StuckLeases;
  readonly timers: Timers;
}

export class MountLeases implements Omit<OwnLeases, "elsewhere"> {
  readonly #parts: MountLeasesParts;
  readonly #mount: Pick<MountFacts, "uuid" | "namespace" | "path">;

  constructor(parts: MountLeasesParts, mount: Pick<MountFacts, "uuid" | "namespace" | "path">) {
    this.#parts = parts;
    this.#mount = mount;
  }

  async count(place: string): Promise<number> {
    const { rows, timers } = this.#parts;
    let count = 0;
    for (let after: string | undefined; ;) {
      const page = rows.below(this.#mount.namespace.id, this.#folder(place), {
        limit: PAGE,
        after,
      });
      count += page.length;
      after = page.at(-1)?.key;
      if (page.length < PAGE) return count;
      await timers.turn();
    }
  }

  revoke(place: string): Promise<void> {
    return this.#parts.sweeps.below(this.#mount.namespace.id, this.#folder(place));
  }

  retryStuck(): Promise<void> {
    return this.#parts.stuck.retry(this.#mount.uuid);
  }

  /** Its leases have gone before a mount moves: what is there lies where it is now. */
  #folder(place: string): string {
    return `${this.#mount.path()}${place}/`;
  }
}
