// The cluster that writes what is shared, as requests of this one are sent on to it: over the link by which its rows come.

import type { Instant, Nanos, Timers } from "@holdfast/shared/world";
import { callsOver, type Primary } from "../forwarding/primary.ts";
import type { Replication } from "../replication/replication.ts";
import type { Store } from "../storage/store.ts";

type Followed = Pick<Replication, "upstream" | "applied">;

export class PrimaryRegion implements Primary {
  readonly #performance: Followed;
  readonly #store: Pick<Store, "onCommit">;
  readonly #timers: Timers;
  readonly call: Primary["call"];
  readonly takeUse: Primary["takeUse"];

  constructor(
    performance: Followed,
    { store, timers }: { readonly store: Pick<Store, "onCommit">; readonly timers: Timers },
  ) {
    this.#performance = performance;
    this.#store = store;
    this.#timers = timers;
    const { call, takeUse } = callsOver(() => performance.upstream?.link ?? null);
    this.call = call;
    this.takeUse = takeUse;
  }

  get region(): string {
    return this.#performance.upstream?.region ?? "";
  }

  get isRunning(): boolean {
    return this.#performance.upstream?.status.state === "stream-wals";
  }

  get lastSuccess(): Instant | null {
    return this.#performance.upstream?.lastHeard ?? null;
  }

  get lastError(): Primary["lastError"] {
    return this.#performance.upstream?.lastFailure ?? null;
  }

  get applied(): bigint {
    return this.#performance.applied;
  }

  get isTorn(): boolean {
    return this.#performance.upstream?.isTorn === true;
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
