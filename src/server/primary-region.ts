// The cluster that writes what is shared, as requests of this one are sent on to it: over the link by which its rows come.

import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { Failure } from "@holdfast/shared/failure";
import { noPrimary, primaryRefuses, primarySuperseded } from "../forwarding/failures.ts";
import { callsOver, type Primary } from "../forwarding/primary.ts";
import { fenced, roleChanging } from "../replication/failures.ts";
import type { Replication } from "../replication/replication.ts";
import { isFenced } from "../replication/roles/role.ts";
import type { Store } from "../storage/store.ts";

type Followed = Pick<
  Replication,
  | "upstream"
  | "applied"
  | "isTorn"
  | "role"
  | "primaryRegion"
  | "lastHeard"
  | "ledUntil"
  | "refusal"
>;

export class PrimaryRegion implements Primary {
  readonly #performance: Followed;
  readonly #store: Pick<Store, "onCommit">;
  readonly #timers: Timers;
  readonly #clock: Pick<Clock, "now">;
  readonly call: Primary["call"];
  readonly takeUse: Primary["takeUse"];
  readonly knows: Primary["knows"];

  constructor(
    performance: Followed,
    {
      store,
      timers,
      clock,
    }: {
      readonly store: Pick<Store, "onCommit">;
      readonly timers: Timers;
      readonly clock: Pick<Clock, "now">;
    },
  ) {
    this.#performance = performance;
    this.#store = store;
    this.#timers = timers;
    this.#clock = clock;
    const { call, takeUse, knows } = callsOver(
      () => performance.upstream?.link ?? null,
      () => this.#why(),
    );
    this.call = call;
    this.takeUse = takeUse;
    this.knows = knows;
  }

  /** What this cluster is, where it is not the network that keeps it from its primary; null where it may be. */
  #why(): Failure | null {
    const { role, refusal } = this.#performance;
    if (role.mode === "demoting" || role.mode === "disabled") return roleChanging();
    // What is shared would be its own otherwise; where it is not fenced in this kind it is as a whole.
    if (role.mode === "primary") return fenced(isFenced(role) ? "performance" : "dr");
    if (role.id === "") return noPrimary();
    if (role.superseded === true) return primarySuperseded();
    return refusal === null ? null : primaryRefuses(refusal);
  }

  get region(): string {
    return this.#performance.primaryRegion;
  }

  get isRunning(): boolean {
    return this.#performance.upstream?.status.state === "stream-wals";
  }

  get lastSuccess(): Instant | null {
    return this.#performance.upstream?.lastHeard ?? this.#performance.lastHeard;
  }

  get lastError(): Primary["lastError"] {
    return this.#performance.upstream?.lastFailure ?? null;
  }

  /** Since the last word, or since this cluster wrote it itself; or that of what is missing although the primary is heard. */
  get age(): Nanos | null {
    const known = latest(this.lastSuccess, this.#performance.ledUntil);
    if (known === null) return null;
    const now = this.#clock.now();
    const silent = known > now ? 0n : now - known;
    const behind = this.#performance.upstream?.status.behindFor ?? 0n;
    return behind > silent ? behind : silent;
  }

  get lacksRoom(): boolean {
    return this.#performance.upstream?.lacksRoom ?? false;
  }

  get applied(): bigint {
    return this.#performance.applied;
  }

  get epoch(): number {
    const { role } = this.#performance;
    return role.mode === "disabled" ? 0 : role.epoch.number;
  }

  get isTorn(): boolean {
    return this.#performance.isTorn;
  }

  whole(within: Nanos, signal: AbortSignal): Promise<boolean> {
    return this.#until(() => !this.isTorn, within, signal);
  }

  appliedUpTo(index: bigint, within: Nanos, signal: AbortSignal): Promise<boolean> {
    return this.#until(() => this.applied >= index, within, signal);
  }

  async #until(holds: () => boolean, within: Nanos, signal: AbortSignal): Promise<boolean> {
    if (holds()) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const unwatch = this.#store.onCommit(() => {
      if (holds()) end();
    });
    const timer = this.#timers.after(within, end);
    signal.addEventListener("abort", end, { once: true });
    if (holds()) end(); // meanwhile
    await promise;
    unwatch();
    timer.cancel();
    signal.removeEventListener("abort", end);
    return holds();
  }
}

function latest(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}
