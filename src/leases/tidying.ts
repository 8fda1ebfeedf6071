// Looks through all leases for what nothing stands behind: rows without a record, and leases whose owner
// is gone. Neither comes about but by damage or a fault; it is slow, and runs when somebody asks for it.

import { describe } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Timers } from "@holdfast/shared/world";
import type { Tx } from "../barrier/view.ts";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { LeaseOwners } from "./ports.ts";
import { placeBelow, RECORDS, recordsOf } from "./rows/lease-keys.ts";
import { FOLDERS, type LeaseRows } from "./rows/lease-rows.ts";
import { queued } from "./revocation/sweeps.ts";

const BATCH = 16; // see outcomes.ts

export interface TidyingParts {
  readonly rows: LeaseRows;
  readonly owners: LeaseOwners;
  readonly now: () => Instant;
  readonly timers: Timers;
  readonly log: Log;
}

export class Tidying {
  readonly #parts: TidyingParts;
  #running: Promise<void> | null = null;
  #open = false;

  constructor(parts: TidyingParts) {
    this.#parts = parts;
  }

  open(): void {
    this.#open = true;
  }

  async close(): Promise<void> {
    this.#open = false;
    await this.#running;
  }

  /** Asked for in root everything, elsewhere the leases of the namespace. False when it runs already. */
  start({ id }: NamespaceRef): boolean {
    if (this.#running !== null) return false;
    this.#running = this.#run(id === ROOT_NAMESPACE.id ? null : id).finally(() => {
      this.#running = null;
    });
    return true;
  }

  /** Resolves when it is done. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(namespaceId: string | null): Promise<void> {
    const { log } = this.#parts;
    try {
      let mended = 0;
      if (namespaceId !== null) mended += await this.#walk(RECORDS, recordsOf(namespaceId));
      else for (const folder of FOLDERS) mended += await this.#walk(folder, folder);
      log.info("leases are tidied", { mended });
    } catch (error) {
      log.error("leases could not be tidied", { cause: describe(error) });
    }
  }

  /** `below` is a part of the folder, or all of it. */
  async #walk(folder: string, below: string): Promise<number> {
    const { rows, timers } = this.#parts;
    let mended = 0;
    let after: string | undefined;
    while (this.#open) {
      const page = { limit: BATCH, ...(after === undefined ? {} : { after }) };
      const step = (tx: Tx) => {
        const keys = tx.keys(below, page);
        const wrong = keys.filter((key) => this.#tidy(tx, folder, key));
        return { last: keys.at(-1), wrong: wrong.length };
      };
      const { last, wrong } = await rows.local.write(step, { essential: true });
      mended += wrong;
      if (last === undefined) break;
      after = last;
      await timers.turn();
    }
    return mended;
  }

  #tidy(tx: Tx, folder: string, key: string): boolean {
    const { rows, owners } = this.#parts;
    const mended = rows.tidy(tx, folder, key);
    if (folder !== RECORDS) return mended;
    const lease = rows.readable(placeBelow(RECORDS, key), tx);
    const now = this.#parts.now();
    if (lease === null || lease.owner === null || lease.expires <= now) return mended;
    if (owners.isThere(tx, lease.owner)) return mended;
    rows.change(tx, lease, queued(lease, now, "token"), now);
    return true;
  }
}
