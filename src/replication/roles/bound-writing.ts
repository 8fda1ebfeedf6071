// Whether a primary writes, where its operators prefer that it stops when no secondary is heard of (`primary_lease`): another cluster
// may have been promoted. It stops by itself, and goes on when one is heard of.

import type { Log } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import { Recurring } from "../../base/recurring.ts";
import * as failures from "../failures.ts";
import type { LinkedOptions } from "../options.ts";
import type { Changes } from "./changes.ts";
import { type LedSet, PrimaryLease } from "./primary-lease.ts";
import { isFenced, type Role } from "./role.ts";
import type { StoredRole } from "./stored-role.ts";

const LAPSED = {
  event: "replication.lease-lapsed",
  remedy: "look at the secondaries, and whether another cluster was promoted",
};
const GOES_ON = { event: "replication.lease-renewed" };

export interface BoundWritingParts {
  readonly options: LinkedOptions;
  readonly role: StoredRole;
  readonly changes: Changes;
  /** It writes no more: what it does outside has ended when this resolves. */
  readonly stop: () => Promise<void>;
  /** It writes again: rooms that were only read close and open anew. */
  readonly goOn: () => Promise<void>;
}

export class BoundWriting {
  readonly #parts: BoundWritingParts;
  readonly #log: Log;
  readonly #lease: PrimaryLease;
  readonly #watching: Recurring;

  constructor(parts: BoundWritingParts) {
    this.#parts = parts;
    const { primaryLease: length, own: view, clock, timers, log } = parts.options;
    this.#log = log;
    this.#lease = new PrimaryLease({ length, view, clock, log });
    this.#watching = new Recurring({
      trouble: "could not stop or go on as primary_lease says",
      run: () => this.#keep(),
      period: SECOND,
      timers,
      log,
    });
  }

  /** With the keys, before anything is written. Whether it may not write now. */
  enter(role: Role): boolean {
    const led = ledBy(role);
    if (led !== null) this.#lease.load(led);
    return this.#mustStop;
  }

  open(): void {
    if (this.#lease.isOn) this.#watching.open();
  }

  async close(): Promise<void> {
    await this.#watching.close();
    await this.#lease.settled();
  }

  /** A secondary that follows was heard of. */
  reached(): void {
    const led = ledBy(this.#parts.role.now);
    if (led === null) return;
    this.#lease.reached(led);
    if (this.#parts.options.store.following) this.#watching.wake();
  }

  /** Nobody is left that could be heard of. */
  async release(): Promise<void> {
    await this.#lease.release();
    if (this.#lease.isOn) this.#watching.wake();
  }

  /** Whether nobody was heard of for so long that another cluster may lead. */
  get #mustStop(): boolean {
    const led = ledBy(this.#parts.role.now);
    return led !== null && this.#lease.isLapsed(led);
  }

  /** As after a fence nothing is written and nothing done outside; unlike then it goes on when somebody is heard of. */
  async #keep(): Promise<void> {
    const { options, role, changes, stop } = this.#parts;
    const { store } = options;
    const isRight = () => ledBy(role.now) === null || this.#mustStop === store.following;
    await changes.ownEnded(); // it may be fenced by then
    if (changes.isRunning || isRight()) return;
    if (store.following) return await this.#goOn();
    await changes.own(() =>
      changes.orSeal(async () => {
        await store.follow(failures.leaseLapsed);
        this.#log.error("no secondary was heard of for the time of primary_lease", LAPSED);
        await stop();
      }),
    );
  }

  /** Nothing is served until the rooms are open. */
  async #goOn(): Promise<void> {
    const { changes, goOn } = this.#parts;
    const work = async () => {
      await goOn();
      this.#log.info("a secondary is heard of: this primary writes again", GOES_ON);
    };
    await changes.own(work, { isShut: true });
  }
}

/** What a primary leads; null for everybody else, and for one that was superseded. */
function ledBy(role: Role): LedSet | null {
  if (role.mode !== "primary" || isFenced(role)) return null;
  return { set: role.set, epoch: role.epoch.number };
}
