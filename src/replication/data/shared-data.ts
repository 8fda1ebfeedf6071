// A performance secondary has what is shared, and data of its own: it leads a log of its own, and leaves shared rows to its primary. Until
// the first copy is whole nothing opens there but what runs the node: there are no tokens, and no policies.

import type { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { DataParts, DataSteps, Entered } from "./data-steps.ts";
import { follows, type Promoting, type Role } from "../roles/role.ts";

export class SharedData implements DataSteps {
  readonly #parts: DataParts;
  // Leases are this cluster's own in every role: nothing of them goes by another log.
  readonly tookOver = null;
  readonly goesOnAt = null;
  #sharedSince: Instant | null = null;

  constructor(parts: DataParts) {
    this.#parts = parts;
  }

  get sharedSince(): Instant | null {
    return this.#sharedSince;
  }

  get isStopped(): boolean {
    return this.#parts.options.store.leavesShared;
  }

  get isHalf(): boolean {
    return isCopying(this.#parts.role.now);
  }

  async enter(role: Role, _stopped: (() => Failure) | null): Promise<Entered> {
    this.#parts.options.store.leaveShared(follows(role));
    this.#parts.following.begin();
    return { following: isCopying(role), secondary: isCopying(role) };
  }

  /** The role says it by itself: it changes in one transaction. */
  hasBegun(): boolean {
    return false;
  }

  /** Policies reach the child namespaces that are older than they are, by index: the next one is behind all of the primary's. */
  async begin(what: Omit<Promoting, "logEpoch">): Promise<null> {
    const { options, role, changes, following } = this.#parts;
    const begin = async () => {
      await role.step({ do: "promoting", promoting: { ...what, logEpoch: 0 } });
      try {
        await options.store.skipTo(following.applied);
        return null;
      } catch (error) {
        await changes.orSeal(() => role.step({ do: "stay" }));
        throw error;
      }
    };
    return await following.apart(begin, { isHeard: what.leaves !== true });
  }

  begun() {
    const { role, following } = this.#parts;
    const { now } = role;
    const before = now.mode === "secondary" ? now.epoch.cluster : "";
    return { first: String(following.applied + 1n), before };
  }

  /** They lead anew: what was passed over because another cluster writes it is looked at again. */
  async take(): Promise<void> {
    const { store, house, clock } = this.#parts.options;
    await house.drained();
    this.#sharedSince = clock.now(); // engines may have worked elsewhere until now, and not have told of it
    await this.#parts.changes.orSeal(async () => {
      await house.yield();
      store.leaveShared(false);
      await house.takeOver();
    });
  }

  async yield(): Promise<void> {
    await this.#parts.options.house.yield();
  }

  async follow(): Promise<void> {
    this.#parts.options.store.leaveShared(true);
  }

  async stay(): Promise<void> {
    await this.#parts.options.house.takeOver();
  }

  async stop(): Promise<void> {
    await this.#parts.options.house.drained();
    await this.yield();
    await this.follow();
    await this.stay();
  }

  async leadAgain(): Promise<void> {
    await this.take();
  }
}

/** The first copy is not whole yet. */
export function isCopying(role: Role): boolean {
  return role.mode === "secondary" && !role.copied;
}
