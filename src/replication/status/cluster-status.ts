// What is told of this cluster among others: to anybody, to those with a token, and to whoever looks what needs
// attention. Of the role, the store and the sessions as they are now.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Clock, Instant, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import { decodeEntryHeader } from "../../storage/rows/log-entry.ts";
import type { Store } from "../../storage/store.ts";
import { statusNeedsToken } from "../failures.ts";
import type { AdoptedOrphans } from "../links/adopted-orphans.ts";
import type { Divergent } from "../links/divergent.ts";
import type { Orphans } from "../links/orphans.ts";
import type { Receiving } from "../links/receiving.ts";
import type { Serving } from "../links/serving.ts";
import { isFenced, type Role } from "../roles/role.ts";
import type { TreeWork } from "../tree-work.ts";
import { Roots } from "./roots.ts";
import { minimalStatus, type ReceivingFacts, statusOf, type StatusFacts } from "./status.ts";

export interface ClusterStatusOptions {
  readonly store: Store;
  readonly barrier: Pick<Barrier, "keysVersion">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly clusterId: () => string;
  /** What somebody without a token is told: everything, mode and state, or nothing. */
  readonly statusAccess: "open" | "minimal" | "authenticated";
}

/** What works at this moment. */
export interface AtWork {
  readonly role: () => Role;
  readonly serving: () => Serving | null;
  readonly receiving: () => Receiving | null;
  readonly trees: TreeWork;
  readonly divergent: Divergent;
  readonly orphans: Orphans;
  readonly adopted: AdoptedOrphans;
}

export class ClusterStatus {
  readonly #options: ClusterStatusOptions;
  readonly #work: AtWork;
  readonly #roots: Roots;

  constructor(options: ClusterStatusOptions, work: AtWork) {
    this.#options = options;
    this.#work = work;
    this.#roots = new Roots(options);
  }

  /** What somebody should look at. */
  get attention() {
    const { divergent, orphans, adopted } = this.#work;
    const role = this.#work.role();
    const away = (this.#work.serving()?.members() ?? [])
      .filter(({ isConnected }) => !isConnected)
      .map(({ id }) => ({ name: id, text: "a secondary is not connected: it falls behind" }));
    const status = this.#work.receiving()?.status ?? null;
    const isAlone = role.mode === "secondary" && role.id === "";
    const stands =
      status !== null && status.state !== "stream-wals" && status.lastSyncError !== null;
    const own = isAlone
      ? [{ name: "", text: "this secondary has no primary: it follows nobody" }]
      : stands
        ? [{ name: "", text: `this secondary does not stream: ${status.lastSyncError}` }]
        : [];
    return {
      fenced: isFenced(role),
      divergent: role.mode === "disabled" ? 0 : divergent.count,
      orphans: { waiting: orphans.waiting, left: adopted.counts.left },
      behind: [...away, ...own],
    };
  }

  /** `whole`: for who may know more than anybody. */
  async of(whole: boolean): Promise<JsonObject> {
    return statusOf(await this.#facts(), whole);
  }

  /** For who has shown no token. */
  async forAnybody(): Promise<JsonObject> {
    if (this.#options.statusAccess === "open") return await this.of(false);
    this.assertOpen();
    return minimalStatus(await this.#facts());
  }

  /** A secondary knows no tokens, and tells anybody what health tells too. */
  assertOpen(): void {
    this.#assertUnsealed();
    const isClosed = this.#options.statusAccess === "authenticated";
    if (isClosed && this.#work.role().mode !== "secondary") throw statusNeedsToken();
  }

  /** Without keys nobody knows what this cluster is. */
  #assertUnsealed(): void {
    void this.#options.barrier.keysVersion;
  }

  async #facts(): Promise<StatusFacts> {
    this.#assertUnsealed();
    const { store, clock, clusterId } = this.#options;
    const { trees, orphans, adopted } = this.#work;
    const serving = this.#work.serving();
    const { head } = store;
    return {
      role: this.#work.role(),
      store: {
        index: store.index,
        lastDr: head?.lastDr ?? 0n,
        epoch: head?.epoch ?? 1,
        root: await this.#roots.composite(),
        corrupted: trees.corrupted || (this.#work.receiving()?.status.isUnmended ?? false),
        checkedAt: trees.checkedAt,
        reindexedAt: trees.reindexedAt,
        reindex: trees.reindexing,
        headTime: this.#headTime(),
      },
      clusterId: clusterId(),
      orphans: { waiting: orphans.waiting, ...adopted.counts },
      now: clock.now(),
      known: serving?.known ?? [],
      secondaries: serving?.members() ?? [],
      receiving: this.#receivingFacts(),
    };
  }

  /** When the newest entry that is here was written; null where the log has none. */
  #headTime(): Instant | null {
    const { store } = this.#options;
    const [row] = store.logs(store.index, 1);
    return row === undefined ? null : decodeEntryHeader(row.entry).time;
  }

  #receivingFacts(): ReceivingFacts | null {
    const receiving = this.#work.receiving();
    if (receiving === null) return null;
    const { status } = receiving;
    const { syncProgress: progress, lastHeartbeat } = status;
    const role = this.#work.role();
    const addresses = role.mode === "secondary" ? (role.known ?? [role.address]) : [];
    return {
      state: status.state === "connecting" ? "idle" : status.state,
      connectionState: status.connectionState,
      lastRemoteIndex: status.lastRemoteIndex,
      announced: status.highestAnnounced,
      startedAt: status.startedAt,
      lastSyncError: status.lastSyncError ?? "",
      primary: {
        apiAddress: receiving.apiAddress,
        clusterAddresses: addresses,
        isConnected: status.connectionState === "ready",
        lastHeartbeat,
        echoDuration: status.echoDuration,
        clockSkew: status.clockSkew,
      },
      progress: progress === null ? null : { total: progress.total ?? 0, done: progress.done },
      divergentEntries: this.#work.divergent.count,
    };
  }
}
