// A performance secondary has what is shared, and data of its own: it leads a log of its own, and leaves shared rows to its primary. Until
// the first copy is whole nothing opens there but what runs the node: there are no tokens, and no policies.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Failure } from "@holdfast/shared/failure";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Tx } from "../../barrier/view.ts";
import { isTorn, nextFirst } from "../applied/how-far.ts";
import { halfCopied } from "../failures.ts";
import type { DataParts, DataSteps, Entered } from "./data-steps.ts";
import { follows, type Promoting, type Role } from "../roles/role.ts";

const SINCE = "shared-since";
const sinceCodec = jsonCodec<string>();

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

  async enter(role: Role, stopped: (() => Failure) | null): Promise<Entered> {
    const { store, view } = this.#parts.options;
    // Somebody else leads by now: before anything is written here, and not when that is stored.
    store.leaveShared(follows(role) || stopped !== null);
    const since = follows(role) ? null : view.get(SINCE, sinceCodec);
    this.#sharedSince = since === null ? null : parseTime(since);
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
      // Nobody is followed now: it does not come about any more. Half of what changed is nobody's data, and would be that of all who follow.
      if (isTorn(options)) throw halfCopied();
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
    const { options, role, following } = this.#parts;
    const { now } = role;
    const own = String(options.store.index + 1n);
    if (now.mode !== "secondary") return { first: String(following.applied + 1n), before: "", own };
    return { first: String(nextFirst(options, now)), before: now.epoch.cluster, own };
  }

  /** Engines may have worked elsewhere until now, and not have told of it. It outlives the process: whoever is started again soon after
   *  has not waited yet. */
  mark(tx: Tx): void {
    const now = this.#parts.options.clock.now();
    this.#sharedSince = now;
    tx.put(SINCE, showTime(now), sinceCodec);
  }

  /** They lead anew: what was passed over because another cluster writes it is looked at again. */
  async take(): Promise<void> {
    const { store, house } = this.#parts.options;
    await house.drained();
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
    await this.#parts.options.view.write((tx) => this.mark(tx), { essential: true });
    await this.take();
  }
}

/** The first copy is not whole yet. */
export function isCopying(role: Role): boolean {
  return role.mode === "secondary" && !role.copied;
}
