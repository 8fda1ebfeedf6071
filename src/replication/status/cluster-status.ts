// What is told of this cluster among others: to anybody, to those with a token, and to whoever looks what needs
// attention. Of the role, the store and the sessions as they are now.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Nanos, Timers } from "@holdfast/shared/world";
import type { Barrier } from "../../barrier/barrier.ts";
import { Recurring } from "../../base/recurring.ts";
import type { ReplicationKind } from "../../cluster/names.ts";
import type { ReplicationReading } from "../../house/readings.ts";
import type { Store } from "../../storage/store.ts";
import { isCopying } from "../data/shared-data.ts";
import { statusNeedsToken } from "../failures.ts";
import type { ReplicationFigures } from "../figures.ts";
import type { Heard } from "../heard.ts";
import type { AdoptedOrphans } from "../links/adopted-orphans.ts";
import type { Divergent } from "../links/divergent.ts";
import type { Orphans } from "../links/orphans.ts";
import type { Receiving } from "../links/receiving.ts";
import type { Serving } from "../links/serving.ts";
import type { WithheldHere } from "../filters/withheld-here.ts";
import type { Around, Beside } from "../options.ts";
import { isFenced, type Role } from "../roles/role.ts";
import type { ReceiverStatus } from "../stream/receiver.ts";
import type { TreeWork } from "../tree-work.ts";
import { type Awaited, whereInstead } from "./awaited.ts";
import { followersOf } from "./followers.ts";
import { LAG_STEP, LagHistory } from "./lag-history.ts";
import { readingOf } from "./reading.ts";
import { Roots } from "./roots.ts";
import type { SetFacts } from "../topology/set-members.ts";
import { standInReport, type StandInReport } from "../topology/stand-in-report.ts";
import {
  canaryAge,
  entriesBehind,
  minimalStatus,
  type ReceivingFacts,
  rivalsOf,
  type SecondaryFacts,
  statusOf,
  type StatusFacts,
} from "./status.ts";

export interface ClusterStatusOptions {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly barrier: Pick<Barrier, "keysVersion">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly clusterId: () => string;
  readonly clusterAddress: () => string;
  readonly region: () => string;
  /** The other kind of replication of this cluster. */
  readonly beside?: () => Pick<Beside, "mode" | "fencedBy">;
  /** What is withheld from this cluster. Default: nothing is. */
  readonly withheld?: Pick<WithheldHere, "count">;
  /** The clusters of the set that are known here. Default: none are. */
  readonly around?: Pick<Around, "members">;
  /** What somebody without a token is told: everything, mode and state, or nothing. */
  readonly statusAccess: "open" | "minimal" | "authenticated";
}

/** What works at this moment. */
export interface AtWork {
  readonly role: () => Role;
  /** The last index of the primary that is here. */
  readonly applied: () => bigint;
  readonly serving: () => Serving | null;
  readonly receiving: () => Receiving | null;
  /** Of the primary, also before the start. */
  readonly heard: Pick<Heard, "last" | "differs" | "lastRefusal">;
  readonly trees: TreeWork;
  readonly divergent: Divergent;
  readonly orphans: Orphans;
  readonly adopted: AdoptedOrphans;
  readonly figures: ReplicationFigures;
  /** Ids that may come, or could before this cluster was superseded. */
  readonly known: () => readonly string[];
  /** Who was in the set before this primary led it, and does not follow yet; and since when it leads, where that is known. */
  readonly awaited: () => readonly Awaited[];
  readonly tookOverAt: () => Instant | null;
  /** Under which a cluster was known here as a secondary; empty where it was not. */
  readonly nameOf: (cluster: string) => string;
  /** Which checks keep this secondary from being promoted now. */
  readonly unpromotable: () => readonly string[];
  /** Whether what is shared is here in part. */
  readonly isTorn: () => boolean;
}

type AttentionTexts = Readonly<Record<"away" | "idle" | "alone" | "stands" | "copying", string>>;

/** What somebody should look at, in words. */
const TEXTS: Readonly<Record<ReplicationKind, AttentionTexts>> = {
  dr: {
    away: "a secondary is not connected: it falls behind",
    idle: "a secondary is connected and applies nothing: it falls behind",
    alone: "this secondary has no primary: it follows nobody",
    stands: "this secondary does not stream",
    copying: "",
  },
  performance: {
    away: "a performance secondary is not connected: it falls behind, and what its clients write is refused",
    idle: "a performance secondary is connected and applies nothing: what is shared gets old there",
    alone: "this performance secondary has no primary: what is shared is not written, and gets old",
    stands: "this performance secondary does not stream: what is shared gets old",
    copying: "the first copy of what is shared is not whole: nothing is served here",
  },
};

const PORTLESS = {
  primary: "this primary has no cluster port: no other cluster can follow it",
  secondary: "this secondary has no cluster port: it cannot be promoted",
  other: "a secondary has no cluster port: it cannot be promoted",
};

const BARE = "nobody stands in for a region, and somebody does for another one of the set";

export interface Heartbeat {
  readonly clockSkew: Nanos;
  readonly echoDuration: Nanos;
  readonly age: Nanos;
}

export class ClusterStatus {
  readonly #options: ClusterStatusOptions;
  readonly #work: AtWork;
  readonly #roots: Roots;
  readonly #history = new LagHistory();
  readonly #watching: Recurring;

  constructor(options: ClusterStatusOptions, work: AtWork) {
    this.#options = options;
    this.#work = work;
    this.#roots = new Roots(options);
    this.#watching = new Recurring({
      trouble: "could not note how far behind secondaries are",
      run: async () => this.#history.note(options.clock.now(), this.reading.peers),
      period: LAG_STEP,
      timers: options.timers,
      log: options.log.child("replication"),
    });
  }

  /** From here on it is noted how far behind others are. */
  open(): void {
    this.#watching.open();
  }

  async close(): Promise<void> {
    await this.#watching.close();
  }

  /** For a scrape, and for the history. */
  get reading(): ReplicationReading {
    const { kind, clock } = this.#options;
    const facts = {
      kind,
      role: this.#work.role(),
      index: this.#work.applied(),
      now: clock.now(),
      secondaries: followersOf(this.#work.serving()).present,
      receiving: this.#receivingFacts(),
    };
    const { standIns } = this.standIns;
    return { ...readingOf(facts, this.#work.figures), standIns, withheld: this.#withheldFrom() };
  }

  /** By the name of a secondary; of a secondary itself under that which it goes by. */
  #withheldFrom() {
    const serving = this.#work.serving();
    const role = this.#work.role();
    if (this.#options.kind !== "performance") return [];
    if (role.mode === "secondary") {
      return role.id === "" ? [] : [{ id: role.id, count: this.#options.withheld?.count ?? 0 }];
    }
    const { present } = followersOf(serving);
    return present.map(({ id }) => ({ id, count: serving?.withheldFrom(id) ?? 0 }));
  }

  /** What a secondary knows of its primary's clock, and how old its data is; null for everybody else. */
  get heartbeat(): Heartbeat | null {
    const receiving = this.#receivingFacts();
    const primary = receiving?.primary ?? null;
    if (receiving === null || primary === null) return null;
    return {
      clockSkew: primary.clockSkew ?? 0n,
      echoDuration: primary.echoDuration ?? 0n,
      age: canaryAge(primary, receiving.behindFor, this.#options.clock.now()) ?? 0n,
    };
  }

  /** Whether it is a primary that writes nothing: another cluster leads, or its secondaries are silent. */
  get isStopped(): boolean {
    const { mode } = this.#work.role();
    const { kind, store } = this.#options;
    const isLeft = kind === "dr" ? store.following : store.leavesShared;
    return (mode === "primary" || mode === "demoting") && isLeft;
  }

  /** What somebody should look at. */
  get attention() {
    const { kind } = this.#options;
    const { divergent, orphans, adopted } = this.#work;
    const role = this.#work.role();
    const texts = TEXTS[kind];
    const { present, absent } = followersOf(this.#work.serving());
    const gone = present.flatMap(({ id, isConnected }) => (isConnected ? [] : [id]));
    const away = [...gone, ...absent].map((name) => ({ name, text: texts.away }));
    const idle = present.flatMap(({ id: name, isConnected, state }) =>
      isConnected && state === "idle" ? [{ name, text: texts.idle }] : [],
    );
    const doubled = present.flatMap(({ id: name, isDoubled, doubledFrom: from }) =>
      isDoubled ? [{ name, from }] : [],
    );
    const status = this.#work.receiving()?.status ?? null;
    const trouble = status === null ? null : this.#syncError(status);
    const isAlone = role.mode === "secondary" && role.id === "";
    const stands = trouble !== null && status?.state !== "stream-wals";
    const isFirst = kind === "performance" && isCopying(role);
    const reason = trouble === null ? "" : `: ${trouble}`;
    const text = isAlone
      ? texts.alone
      : isFirst
        ? `${texts.copying}${reason}`
        : stands
          ? `${texts.stands}${reason}`
          : null;
    const own = text === null ? [] : [{ name: "", text }];
    return {
      kind,
      fenced: isFenced(role),
      torn: this.#work.isTorn(),
      rivals: rivalsOf(role, present, this.#work.nameOf),
      doubled,
      divergent: role.mode === "disabled" ? 0 : divergent.count,
      orphans: { waiting: orphans.waiting, left: adopted.counts.left },
      behind: [...away, ...idle, ...own],
      portless: this.#portless(role, present),
      ...this.#cascades(),
      awaited: this.#work.awaited().map((one) => ({
        name: one.id || this.#work.nameOf(one.cluster) || one.cluster,
        text: `${one.was === "primary" ? "the primary of before" : "a secondary of the primary of before"} has not come over since this cluster was promoted${whereInstead(one, this.#work.nameOf)}`,
      })),
    };
  }

  /** Who has no cluster port, and should: a primary, and who stands in for one. */
  #portless(role: Role, present: readonly SecondaryFacts[]) {
    const { kind, clusterAddress } = this.#options;
    const isPrimary = role.mode === "primary" || role.mode === "demoting";
    const needsOne = isPrimary || (kind === "dr" && role.mode === "secondary");
    const text = isPrimary ? PORTLESS.primary : PORTLESS.secondary;
    const own = needsOne && clusterAddress() === "" ? [{ name: "", text }] : [];
    if (kind === "performance") return own;
    const others = present.filter((one) => one.isConnected && one.clusterAddresses.length === 0);
    return [...own, ...others.map(({ id: name }) => ({ name, text: PORTLESS.other }))];
  }

  /** Who stands in for the regions of the set, and what is the matter with them. */
  get standIns(): StandInReport {
    const { kind, around } = this.#options;
    const isPrimary = kind === "performance" && this.#work.serving() !== null;
    return standInReport(isPrimary ? (around?.members() ?? []) : []);
  }

  /** Those of this cluster itself are told in disaster recovery. */
  #cascades() {
    const { standIns, bare } = this.standIns;
    const others = standIns.filter(({ region, text }) => region !== "" && text !== "");
    return {
      standIns: others.map(({ region, name, text }) => ({
        name: `${region}/${name}`,
        text: `who stands in for a region ${text}`,
      })),
      bare: bare.map((name) => ({ name, text: BARE })),
    };
  }

  /** Of one that follows the whole log: what the cluster that it stands in for is among regions; null where there are none, or nobody has told. */
  get #standsInFor(): NonNullable<StatusFacts["standsInFor"]> | null {
    const role = this.#work.role();
    if (this.#options.kind !== "dr" || role.mode !== "secondary") return null;
    const from = this.#work.receiving()?.fromAbove ?? null;
    const primary = from?.members.find(({ cluster }) => cluster === role.epoch.cluster);
    if (primary === undefined || from?.by !== role.epoch.cluster) return null;
    if (!primary.leadsPerformance && primary.kind !== "performance") return null;
    const { name, region, leadsPerformance: leads } = primary;
    return { mode: leads ? "primary" : "secondary", name, region };
  }

  /** For the picture of all clusters of the set. */
  get setFacts(): SetFacts {
    const serving = this.#work.serving();
    const { present, left } = followersOf(serving);
    const receiving = this.#receivingFacts();
    const met = new Set([...left, ...present.map(({ id }) => id)]);
    const known = serving?.secondaries.known() ?? [];
    return {
      kind: this.#options.kind,
      role: this.#work.role(),
      isLapsed: this.isStopped,
      present: present.map((one) => ({ ...one, withheld: serving?.withheldFrom(one.id) ?? 0 })),
      absent: known
        .filter(({ id, used }) => used !== null && !met.has(id))
        .map(({ id, clusterId: cluster, region = "" }) => ({ id, cluster, region })),
      awaited: this.#work.awaited(),
      nameOf: this.#work.nameOf,
      receiving,
      lag: entriesBehind(receiving, this.#work.applied()),
      fromAbove: this.#work.receiving()?.fromAbove ?? null,
    };
  }

  /** Whether somebody without a token is told everything. */
  get isOpen(): boolean {
    return this.#options.statusAccess === "open";
  }

  /** `whole`: for who may know more than anybody. `withHistory`: with the lag of the last hour. */
  async of(whole: boolean, withHistory = false): Promise<JsonObject> {
    return statusOf(await this.#facts(withHistory), whole);
  }

  /** For who has shown no token. */
  async forAnybody(withHistory = false): Promise<JsonObject> {
    if (this.#options.statusAccess === "open") return await this.of(false, withHistory);
    this.assertOpen();
    return minimalStatus(await this.#facts(false));
  }

  /** A secondary knows no tokens, and tells anybody what health tells too. */
  assertOpen(): void {
    this.#assertUnsealed();
    const isClosed = this.#options.statusAccess === "authenticated";
    if (isClosed && this.#knowsTokens) throw statusNeedsToken();
  }

  get #knowsTokens(): boolean {
    const { kind, beside } = this.#options;
    const role = this.#work.role();
    if (kind === "dr") return role.mode !== "secondary";
    return beside?.().mode !== "secondary" && !isCopying(role);
  }

  /** Without keys nobody knows what this cluster is. */
  #assertUnsealed(): void {
    void this.#options.barrier.keysVersion;
  }

  async #facts(withHistory: boolean): Promise<StatusFacts> {
    this.#assertUnsealed();
    const { kind, store, clock, clusterId, clusterAddress, region } = this.#options;
    const { trees, divergent, orphans, adopted, heard } = this.#work;
    const serving = this.#work.serving();
    const followers = followersOf(serving);
    const { head } = store;
    const receiving = this.#receivingFacts();
    return {
      kind,
      applied: this.#work.applied(),
      role: this.#work.role(),
      store: {
        index: store.index,
        last: (kind === "dr" ? head?.lastDr : head?.lastPerf) ?? 0n,
        epoch: head?.epoch ?? 1,
        root: await this.#roots.now(receiving?.state),
        corrupted: trees.corrupted || heard.differs,
        checkedAt: trees.checkedAt,
        reindexedAt: trees.reindexedAt,
        reindex: trees.reindexing,
      },
      clusterId: clusterId(),
      clusterAddress: clusterAddress(),
      region: region(),
      divergent: divergent.count,
      orphans: { waiting: orphans.waiting, ...adopted.counts },
      lapsed: this.isStopped,
      replacedBy: kind === "performance" ? (this.#options.beside?.().fencedBy ?? null) : null,
      now: clock.now(),
      known: this.#work.known(),
      expired: serving?.secondaries.expired() ?? [],
      awaited: this.#work.awaited(),
      tookOverAt: this.#work.tookOverAt(),
      nameOf: this.#work.nameOf,
      left: followers.left,
      secondaries: followers.present.map((one) => ({
        ...one,
        withheld: serving?.withheldFrom(one.id) ?? 0,
      })),
      withheld: kind === "performance" ? (this.#options.withheld?.count ?? 0) : 0,
      standsInFor: this.#standsInFor,
      receiving,
      unpromotable: this.#work.unpromotable(),
      isTorn: this.#work.isTorn(),
      history: withHistory ? (id) => this.#history.of(id) : null,
    };
  }

  #receivingFacts(): ReceivingFacts | null {
    const receiving = this.#work.receiving();
    if (receiving === null) return null;
    const { status } = receiving;
    const { syncProgress: progress } = status;
    const role = this.#work.role();
    const lastHeartbeat = this.#work.heard.last;
    const addresses = role.mode === "secondary" ? (role.known ?? [role.address]) : [];
    return {
      state: status.state === "connecting" ? "idle" : status.state,
      connectionState: status.connectionState,
      lastRemoteIndex: this.#lastRemote(role, status.lastRemoteIndex, lastHeartbeat !== null),
      announced: status.highestAnnounced,
      behindFor: status.behindFor,
      startedAt: status.startedAt,
      lastSyncError: this.#syncError(status) ?? "",
      lastSyncErrorAt: status.lastSyncErrorAt,
      primary: {
        apiAddress: receiving.apiAddress,
        clusterAddresses: addresses,
        isConnected: status.connectionState === "ready",
        lastHeartbeat,
        echoDuration: status.echoDuration,
        clockSkew: status.clockSkew,
      },
      progress: progress === null ? null : { total: progress.total ?? 0, done: progress.done },
      takesRequests: receiving.takesRequests,
    };
  }

  /** What the primary has said for good says more than what came of calling it since. */
  #syncError({ lastSyncError }: ReceiverStatus): string | null {
    return this.#work.heard.lastRefusal ?? lastSyncError;
  }

  /** Before the first entry of this life came: everything here is of a primary that was heard of, unless something of this
   *  cluster's own is still among it. */
  #lastRemote(role: Role, streamed: bigint, isHeard: boolean): bigint | null {
    if (streamed > 0n) return streamed;
    const isItsOwn =
      role.mode === "secondary" && role.copied && (this.#options.kind !== "dr" || !role.mayRewind);
    return isItsOwn && isHeard ? this.#work.applied() : null;
  }
}
