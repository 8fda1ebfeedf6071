// Queues for revocation whatever belongs to a token that has ended, or lies below a prefix. The mark of
// it is written with the cause, in one transaction; the leases, of which there may be any number, follow
// a few at a time, also after a restart.

import type { Log } from "@holdfast/shared/log";
import { jsonCodec } from "@holdfast/shared/codec";
import { Recurring } from "../../base/recurring.ts";
import type { Instant, Random, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { Lease, LeaseCause, LeaseOwner } from "../lease.ts";
import { ownerSweepKey, SWEEPS } from "../rows/lease-keys.ts";
import type { Found, LeaseRows } from "../rows/lease-rows.ts";

const BATCH = 16; // see outcomes.ts

/** What is to end. `until`: only what was issued up to then. */
type Sweep =
  | { readonly owner: LeaseOwner }
  | { readonly namespaceId: string; readonly prefix: string; readonly until: string };

const sweepCodec = jsonCodec<Sweep>();

export interface SweepsParts {
  readonly rows: LeaseRows;
  readonly now: () => Instant;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

export class Sweeps {
  readonly #parts: SweepsParts;
  readonly #job: Recurring;
  #unwatch = () => {};

  constructor(parts: SweepsParts) {
    this.#parts = parts;
    this.#job = new Recurring({
      trouble: "could not queue leases for revocation",
      run: (isOpen) => this.#run(isOpen),
      timers: parts.timers,
      log: parts.log,
    });
  }

  open(): void {
    this.#unwatch = this.#parts.rows.local.watch(SWEEPS, () => this.#job.wake());
    this.#job.open();
  }

  async close(): Promise<void> {
    this.#unwatch();
    await this.#job.close();
  }

  /** In the transaction that ends the token. */
  ownerEnds(tx: Tx, { namespaceId, accessor }: LeaseOwner): void {
    const { rows } = this.#parts;
    const owner = { namespaceId, accessor }; // whoever calls may hand over a whole token
    if (rows.ownedBy(owner, { limit: 1 }, tx).length === 0) return;
    tx.on(rows.local).put(ownerSweepKey(owner), { owner }, sweepCodec);
  }

  /** Resolves when it is sure to happen. */
  async below(namespaceId: string, prefix: string): Promise<void> {
    const { rows, random } = this.#parts;
    const key = `${SWEEPS}prefix/${random.uuid()}`;
    const mark = (tx: Tx) => {
      if (rows.below(namespaceId, prefix, { limit: 1 }, tx).length === 0) return;
      const until = String(this.#parts.now());
      tx.put(key, { namespaceId, prefix, until }, sweepCodec);
    };
    await rows.local.write(mark, { essential: true });
  }

  async #run(isOpen: () => boolean): Promise<void> {
    const { rows } = this.#parts;
    for (;;) {
      const [mark] = isOpen() ? rows.local.keys(SWEEPS, { limit: 1 }) : [];
      if (mark === undefined) return;
      await this.#sweep(mark, isOpen);
    }
  }

  async #sweep(mark: string, isOpen: () => boolean): Promise<void> {
    const { rows, timers } = this.#parts;
    let after: string | undefined;
    while (isOpen()) {
      const step = (tx: Tx): string | undefined => {
        const sweep = tx.get(mark, sweepCodec);
        if (sweep === null) return undefined;
        const found = this.#found(sweep, after, tx);
        for (const place of found) this.#hasten(tx, place, sweep);
        if (found.length < BATCH) tx.delete(mark);
        return found.length < BATCH ? undefined : found.at(-1)?.key;
      };
      after = await rows.local.write(step, { essential: true });
      if (after === undefined) return;
      await timers.turn();
    }
  }

  #found(sweep: Sweep, after: string | undefined, tx: Tx): Found[] {
    const { rows } = this.#parts;
    const page = { limit: BATCH, after };
    if ("owner" in sweep) return rows.ownedBy(sweep.owner, page, tx);
    return rows.below(sweep.namespaceId, sweep.prefix, page, tx);
  }

  #hasten(tx: Tx, place: Found, sweep: Sweep): void {
    const { rows } = this.#parts;
    const lease = rows.readable(place, tx);
    if (lease === null) return;
    const now = this.#parts.now();
    if ("owner" in sweep) {
      if (lease.expires > now) rows.change(tx, lease, queued(lease, now, "token"), now);
    } else if (lease.issued <= BigInt(sweep.until)) {
      rows.change(tx, lease, queued(lease, now, "revoke"), now);
    }
  }
}

/** Its time is over, and it is tried at once, whatever came of earlier tries. */
export function queued(lease: Lease, now: Instant, ending: LeaseCause): Lease {
  const expires = lease.expires < now ? lease.expires : now;
  return { ...lease, expires, due: now, attempts: 0, error: "", irrevocable: false, ending };
}
