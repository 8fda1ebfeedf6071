// A disaster-recovery secondary has all data of its primary, and follows its log: nothing opens there but what runs the node. It takes
// over with the first entry of its own epoch.

import type { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { DataParts, DataSteps, Entered } from "./data-steps.ts";
import * as failures from "../failures.ts";
import { firstOfEpoch, storedPromotion, type TookOver, writerBefore } from "./log-times.ts";
import { follows, isFenced, type Promoting, type Role } from "../roles/role.ts";

export class WholeData implements DataSteps {
  readonly #parts: DataParts;
  #tookOver: TookOver | null = null;
  #goesOnAt: Instant | null = null;
  readonly sharedSince = null; // with everything else

  constructor(parts: DataParts) {
    this.#parts = parts;
  }

  get tookOver(): TookOver | null {
    return this.#tookOver;
  }

  get goesOnAt(): Instant | null {
    return this.#goesOnAt;
  }

  get isStopped(): boolean {
    return this.#parts.options.store.following;
  }

  get isHalf(): boolean {
    return this.#parts.options.store.adopting !== null;
  }

  async enter(role: Role, stopped: (() => Failure) | null): Promise<Entered> {
    const { options, following: side } = this.#parts;
    const { store, clusterId } = options;
    const isOthers = follows(role) && !this.hasBegun(role);
    const following = isOthers || stopped !== null;
    this.#tookOver = following ? null : storedPromotion(store, clusterId());
    side.begin();
    if (following) await store.follow(stopped ?? whyFollows(role));
    else if (store.following) await store.lead(); // it was sealed in another role
    return { following, secondary: isOthers && !isFenced(role) };
  }

  hasBegun(role: Role): boolean {
    const { store, clusterId } = this.#parts.options;
    const last = store.timeline?.epochs.at(-1);
    if (role.mode !== "secondary" || role.promoting === null || last === undefined) return false;
    return last.cluster === clusterId() && last.epoch > role.promoting.logEpoch;
  }

  async begin(what: Omit<Promoting, "logEpoch">): Promise<Instant | null> {
    const { options, role, changes, following } = this.#parts;
    const { store, clusterId } = options;
    const begin = async () => {
      if (what.leaves === true) this.#assertWhole(); // nobody is followed now: it does not come about any more
      const logEpoch = store.timeline?.epochs.at(-1)?.epoch ?? 0;
      await role.step({ do: "promoting", promoting: { ...what, logEpoch } });
      const time = following.timeOfLog();
      try {
        await store.lead();
        await store.startEpoch(clusterId());
        return time;
      } catch (error) {
        await changes.orSeal(async () => {
          await store.follow();
          await role.step({ do: "stay" });
        });
        throw error;
      }
    };
    return await following.apart(begin, { isHeard: what.leaves !== true });
  }

  /** For whoever has not said to go on in spite of it, as a forced promotion has. */
  #assertWhole(): void {
    if (this.isHalf) throw failures.halfCopied();
    if (!this.#parts.following.isOfOneIndex) throw failures.rowsAhead();
  }

  begun() {
    const { store, clusterId } = this.#parts.options;
    return { first: firstOfEpoch(store), before: writerBefore(store, clusterId()) };
  }

  mark(): void {
    // The first entry of its epoch tells it.
  }

  async take(time: Instant | null): Promise<void> {
    const { options, changes } = this.#parts;
    const { house, clock } = options;
    if (time !== null) this.#tookOver = { since: time, at: clock.now() };
    this.#goesOnAt = time;
    try {
      await changes.orSeal(() => house.takeOver());
    } finally {
      this.#goesOnAt = null;
    }
  }

  async yield(): Promise<void> {
    await this.#parts.options.house.yield();
  }

  async stay(): Promise<void> {
    await this.#parts.options.house.leave();
  }

  async stop(): Promise<void> {
    await this.follow();
    await this.#parts.options.house.yield();
  }

  async follow(): Promise<void> {
    const { options, following, role } = this.#parts;
    await options.store.follow(whyFollows(role.now));
    following.begin(); // its last entry is of now
    this.#tookOver = null;
  }

  async leadAgain(): Promise<void> {
    await this.#parts.options.store.lead();
    await this.take(null);
  }
}

/** What whoever writes here hears: of a primary that was superseded that it is one. */
function whyFollows(role: Role): (() => Failure) | undefined {
  return isFenced(role) ? failures.fenced : undefined;
}
