// Finds the leases whose time has come. Nothing is loaded at the start: for each mount that has leases
// the first row of its order is looked at, one timer is armed for the earliest of them, and what is due
// is claimed a few at a time, oldest first, mount by mount in turn.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Instant, Nanos, Timer, Timers } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import type { Lease } from "../lease.ts";
import { mountOfTime, TIMES } from "../rows/lease-keys.ts";
import type { Found, LeaseRows } from "../rows/lease-rows.ts";
import type { Revocations } from "./revocations.ts";

const BATCH = 16;
// Far below any lease that matters: each look also asks whether the wall clock has gone ahead for good
// (lease-time.ts), and costs a walk over the mounts that have leases.
const LONGEST_WAIT: Nanos = MINUTE;
const AGAIN: Nanos = 30n * SECOND;
const PEEKED_AT_ONCE = 256; // mounts, at the start

export interface LeaseExpiryParts {
  readonly rows: LeaseRows;
  readonly revocations: Revocations;
  readonly now: () => Instant;
  readonly timers: Timers;
  readonly log: Log;
}

export class LeaseExpiry {
  readonly #parts: LeaseExpiryParts;
  /** When the next of each mount is due, as far as known. */
  readonly #heads = new Map<string, Instant>();
  /** Mounts with something due, in the order of their turns. */
  readonly #due = new Set<string>();
  readonly #touched = new Set<string>();
  /** Rows that cannot be read: they are told once and left alone. */
  readonly #damaged = new Set<string>();
  #timer: Timer | null = null;
  #armedFor: Instant | null = null;
  #filling: Promise<void> = Promise.resolve();
  #isFilling = false;
  #refreshing = false;
  #open = false;
  #unwatch = () => {};

  constructor(parts: LeaseExpiryParts) {
    this.#parts = parts;
  }

  open(mountUuids: Iterable<string>): void {
    this.#open = true;
    this.#unwatch = this.#parts.rows.local.watch(TIMES, ({ keys }) => {
      for (const key of keys) this.#touch(mountOfTime(key));
    });
    for (const uuid of mountUuids) this.#touch(uuid);
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#unwatch();
    this.#timer?.cancel();
    this.#timer = null;
    this.#armedFor = null;
    await this.#filling;
    for (const places of [this.#heads, this.#due, this.#touched, this.#damaged]) places.clear();
  }

  /** A revocation is over: there may be room for more. `unwritten`: its lease is as it was. */
  onRoom(mountUuid: string, unwritten: boolean): void {
    if (!this.#open) return;
    if (unwritten) this.#later(mountUuid);
    if (this.#due.size > 0) this.#fill();
  }

  /** Storage has refused what came of it, and may do so again: not at once. */
  #later(mountUuid: string): void {
    const again = this.#parts.now() + AGAIN;
    const head = this.#heads.get(mountUuid);
    if (head === undefined || head > again) this.#heads.set(mountUuid, again);
    this.#arm(again);
  }

  /** Something in its order has changed. A look is one row, once in a turn however much changed. */
  #touch(mountUuid: string): void {
    this.#touched.add(mountUuid);
    if (this.#refreshing) return;
    this.#refreshing = true;
    void this.#refresh();
  }

  async #refresh(): Promise<void> {
    const { timers, log } = this.#parts;
    try {
      await timers.turn();
      for (let looked = 0; this.#open && this.#touched.size > 0; looked++) {
        const [uuid] = this.#touched;
        if (uuid === undefined) break;
        this.#touched.delete(uuid);
        this.#look(uuid);
        if (looked % PEEKED_AT_ONCE === PEEKED_AT_ONCE - 1) await timers.turn();
      }
      if (this.#open && this.#due.size > 0) this.#fill();
    } catch (error) {
      log.error("could not look for leases that end", { cause: describe(error) });
      this.#arm(this.#parts.now() + AGAIN);
    } finally {
      this.#refreshing = false; // in the same step as the last look at what was touched
    }
  }

  #look(mountUuid: string): void {
    const { rows, revocations, now } = this.#parts;
    const skipped = revocations.claimedOf(mountUuid) + this.#damaged.size;
    const found = rows.timed(mountUuid, { limit: skipped + 1 });
    this.#note(mountUuid, found.find((place) => this.#isFree(place))?.due ?? null, now());
  }

  /** Null: none is left. */
  #note(mountUuid: string, head: Instant | null, now: Instant): void {
    if (head === null) {
      this.#heads.delete(mountUuid);
      this.#due.delete(mountUuid);
      return;
    }
    this.#heads.set(mountUuid, head);
    if (head <= now) this.#due.add(mountUuid);
    else {
      this.#due.delete(mountUuid);
      this.#arm(head);
    }
  }

  /** Only if that is sooner than what is armed. */
  #arm(time: Instant): void {
    if (!this.#open || (this.#armedFor !== null && this.#armedFor <= time)) return;
    this.#timer?.cancel();
    this.#armedFor = time;
    const wait = time - this.#parts.now();
    const delay = wait < 0n ? 0n : wait < LONGEST_WAIT ? wait : LONGEST_WAIT;
    this.#timer = this.#parts.timers.after(delay, () => this.#fire());
  }

  #fire(): void {
    this.#timer = null;
    this.#armedFor = null;
    const now = this.#parts.now();
    let next: Instant | null = null;
    for (const [uuid, head] of this.#heads) {
      if (head <= now) this.#due.add(uuid);
      else if (next === null || head < next) next = head;
    }
    if (next !== null) this.#arm(next);
    if (this.#due.size > 0) this.#fill();
  }

  #fill(): void {
    if (!this.#open || this.#isFilling) return;
    this.#isFilling = true;
    this.#filling = this.#claimAll();
  }

  async #claimAll(): Promise<void> {
    const { revocations, log } = this.#parts;
    try {
      for (;;) {
        if (!this.#open || revocations.isFull) return; // onRoom comes when there is room
        const uuid = this.#due.values().find((mount) => revocations.hasRoom(mount));
        if (uuid === undefined) return;
        this.#due.delete(uuid);
        await this.#claim(uuid);
      }
    } catch (error) {
      log.error("could not revoke leases that ended", { cause: describe(error) });
      this.#arm(this.#parts.now() + AGAIN);
    } finally {
      this.#isFilling = false; // in the same step as the last look
    }
  }

  async #claim(mountUuid: string): Promise<void> {
    const { revocations } = this.#parts;
    const now = this.#parts.now();
    let next: Instant | null = null;
    await revocations.take((tx) => {
      const skipped = revocations.claimedOf(mountUuid) + this.#damaged.size;
      const free = this.#parts.rows
        .timed(mountUuid, { limit: skipped + BATCH + 1 }, tx)
        .filter((place) => this.#isFree(place));
      const due = free.filter((place) => place.due <= now).slice(0, BATCH);
      next = free[due.length]?.due ?? null;
      return due.flatMap((place) => this.#read(place, tx) ?? []);
    });
    if (this.#open) this.#note(mountUuid, next, now);
  }

  #read(place: Found & { readonly due: Instant }, tx: Tx): Lease | null {
    const { rows, log } = this.#parts;
    try {
      const lease = rows.at(place, tx);
      if (lease?.due === place.due) return lease;
      rows.drop(tx, place.key); // left over from damage: it would come up at every look
      return null;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "damaged") throw error;
      this.#damaged.add(place.key);
      log.error("a lease cannot be read, and so not be revoked", { cause: describe(error) });
      return null;
    }
  }

  #isFree(place: Found): boolean {
    return !this.#damaged.has(place.key) && !this.#parts.revocations.has(place);
  }
}
