// The status of a cluster as the wire has it: of its role, its store and its sessions, all from memory. Times of others
// are text here and numbers in sys/health, because that is what existing clients read.

import { hex } from "@holdfast/shared/bytes";
import type { JsonObject } from "@holdfast/shared/json/json";
import { MILLISECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant, Nanos } from "@holdfast/shared/world";
import type { ReplicationKind } from "../../cluster/names.ts";
import { clusterText } from "../roles/warnings.ts";
import { type Awaited, awaitedStatus } from "./awaited.ts";
import type { NamedStandIns } from "../stream/members.ts";
import { type Epoch, isFenced, type Primary, type Role, type Secondary } from "../roles/role.ts";

/** A peer as the other side sees it. */
export interface PeerFacts {
  readonly apiAddress: string;
  readonly clusterAddresses: readonly string[];
  readonly isConnected: boolean;
  readonly lastHeartbeat: Instant | null;
  readonly echoDuration: Nanos | null;
  readonly clockSkew: Nanos | null;
}

export interface SecondaryFacts extends PeerFacts {
  readonly id: string;
  readonly clusterId: string;
  readonly version: string;
  readonly acknowledged: bigint | null;
  readonly lag: bigint | null;
  /** For how long it lacks what it lacks; null where that is nothing. */
  readonly behindFor: Nanos | null;
  readonly state: string;
  /** Two come by turns as this one, and where from. */
  readonly isDoubled: boolean;
  readonly doubledFrom: readonly string[];
  /** A later primary that it knows of, and does not follow this one for; null or not there where there is none. */
  readonly later?: Pick<Epoch, "number" | "cluster"> | null;
  /** Of those that share data; empty or not there where it is not known. */
  readonly region?: string;
  /** Who stands in for it, and when it has said so. Default: it has not. */
  readonly standIns?: NamedStandIns | null;
  /** Mounts and namespaces that it is not sent. Default: none. */
  readonly withheld?: number;
}

/** Of the side that receives. */
export interface ReceivingFacts {
  readonly state: string;
  readonly connectionState: string;
  /** Null where nothing has come yet. */
  readonly lastRemoteIndex: bigint | null;
  /** The highest index that the primary has told of. */
  readonly announced: bigint;
  /** For how long some of that is missing; null where nothing is. */
  readonly behindFor: Nanos | null;
  readonly startedAt: Instant | null;
  readonly lastSyncError: string;
  /** Null where it is of before this life of the server. */
  readonly lastSyncErrorAt: Instant | null;
  readonly primary: PeerFacts | null;
  readonly progress: { readonly total: number; readonly done: number } | null;
  /** Whether requests can be sent on to it now. */
  readonly takesRequests: boolean;
}

export interface StoreFacts {
  readonly index: bigint;
  /** Of those with anything that is replicated. */
  readonly last: bigint;
  /** Of the log. */
  readonly epoch: number;
  readonly root: Uint8Array;
  readonly corrupted: boolean;
  readonly checkedAt: Instant | null;
  readonly reindexedAt: Instant | null;
  readonly reindex: {
    readonly stage: string;
    readonly done: number;
    readonly total: number;
  } | null;
}

export interface StatusFacts {
  readonly kind: ReplicationKind;
  /** The last index of the primary that is here. */
  readonly applied: bigint;
  readonly role: Role;
  readonly store: StoreFacts;
  readonly clusterId: string;
  /** The name of this region. */
  readonly region: string;
  /** Of the cluster port, for others: as configured, or that of the listener; empty where there is none. */
  readonly clusterAddress: string;
  /** Entries that were given up for another primary, and are kept. */
  readonly divergent: number;
  /** Leases and write-ahead records of a tail that was given up: not handed over yet, taken over here, and left. */
  readonly orphans: { readonly waiting: number; readonly adopted: number; readonly left: number };
  /** A primary writes nothing until a secondary is heard of. */
  readonly lapsed: boolean;
  /** The cluster that leads in the place of this one with all of its data: what it was in this kind that one is now. Default: none does. */
  readonly replacedBy?: string | null;
  readonly now: Instant;
  readonly known: readonly string[];
  /** Of those the ones whose token has ended before anybody came with it. */
  readonly expired: readonly string[];
  /** Who was in the set before this primary led it, and does not follow yet. Default: nobody. */
  readonly awaited?: readonly Awaited[];
  /** When this cluster took over. Default: it is not known. */
  readonly tookOverAt?: Instant | null;
  /** And those that a cluster has left, which comes as another one by now. */
  readonly left: readonly string[];
  /** Under which a cluster was known here as a secondary; empty where it was not. */
  readonly nameOf: (cluster: string) => string;
  readonly secondaries: readonly SecondaryFacts[];
  readonly receiving: ReceivingFacts | null;
  /** Of a region: mounts and namespaces that it is not sent. Default: none. */
  readonly withheld?: number;
  /** What the cluster that this one stands in for is among regions. Default: nobody knows, or there are none. */
  readonly standsInFor?: {
    readonly mode: "primary" | "secondary";
    readonly name: string;
    readonly region: string;
  } | null;
  /** Of a secondary: the checks that keep it from being promoted now. */
  readonly unpromotable: readonly string[];
  /** Whether what is shared is here in part, and nobody is answered from it. */
  readonly isTorn: boolean;
  /** Of the last hour, by the name of a secondary; null where nobody asks for it. */
  readonly history: ((id: string) => JsonObject) | null;
}

const REPLACED_BY =
  "another cluster was promoted in the place of this one (disaster recovery), and goes on with its place here";

/** `whole`: for who may know more than anybody. */
export function statusOf(facts: StatusFacts, whole: boolean): JsonObject {
  const { role } = facts;
  switch (role.mode) {
    case "disabled":
      return { mode: "disabled" };
    case "primary":
    case "demoting":
      return primaryStatus({ ...role, mode: "primary" }, facts, whole);
    case "secondary":
      return secondaryStatus(role, facts, whole);
  }
}

/** Only what a load balancer needs. */
export function minimalStatus(facts: StatusFacts): JsonObject {
  const { mode, state } = statusOf(facts, false);
  return state === undefined ? { mode: mode ?? "disabled" } : { mode: mode ?? "", state };
}

function primaryStatus(role: Primary, facts: StatusFacts, whole: boolean): JsonObject {
  const { known, secondaries, now, history } = facts;
  const { replacedBy = null } = facts;
  const instead = role.fenced?.cluster ?? replacedBy ?? rivalOf(role, secondaries);
  const isOver = isFenced(role) || replacedBy !== null;
  return {
    mode: "primary",
    cluster_id: role.set,
    ...(whole ? { local_cluster_id: facts.clusterId } : {}),
    epoch: role.epoch.number,
    ...(facts.kind === "performance" ? { region: facts.region } : {}),
    state: isOver ? "fenced" : facts.lapsed ? "lapsed" : "running",
    ...(instead === null ? {} : leader(instead, facts)),
    ...(replacedBy === null ? {} : { replaced: true }),
    primary_cluster_addr: role.address,
    ...portStatus(facts),
    ...(whole ? { cluster_addr: role.address || facts.clusterAddress } : {}),
    known_secondaries: [...known],
    ...(facts.left.length === 0 ? {} : { left_secondaries: [...facts.left] }),
    ...(facts.expired.length === 0 ? {} : { expired_tokens: [...facts.expired] }),
    ...awaitedStatus(facts.awaited ?? [], facts.tookOverAt ?? null, facts.nameOf),
    secondaries: secondaries.map((one) => ({
      node_id: one.id,
      cluster_id: one.clusterId,
      ...(facts.kind === "performance"
        ? { region: one.region ?? "", withheld: one.withheld ?? 0 }
        : {}),
      ...peerStatus(one, now, canaryAge(one, one.behindFor, now)),
      last_remote_wal: Number(one.acknowledged ?? 0n),
      wal_lag: Number(one.lag ?? 0n),
      state: one.state,
      ...doubledStatus(one, whole),
      ...laterStatus(one, facts),
      ...(whole ? { version: one.version } : {}),
      ...(history === null ? {} : { lag_history: history(one.id) }),
    })),
    // Of a time at which it was a secondary: nobody looks for them there any more.
    ...(facts.divergent === 0 ? {} : { divergent_entries: facts.divergent }),
    orphans_adopted: facts.orphans.adopted,
    orphans_left: facts.orphans.left,
    last_wal: Number(facts.store.index),
    [`last_${facts.kind}_wal`]: Number(facts.store.last),
    ...treeStatus(facts.store, generationOf(facts, role)),
  };
}

/** There where nobody can come to it. */
function portStatus({ clusterAddress }: StatusFacts): JsonObject {
  return clusterAddress === "" ? { cluster_port: false } : {};
}

function doubledStatus(
  { isDoubled, doubledFrom: from }: SecondaryFacts,
  whole: boolean,
): JsonObject {
  if (!isDoubled) return {};
  return { duplicated: true, ...(whole && from.length > 0 ? { duplicated_from: [...from] } : {}) };
}

function laterStatus({ later = null }: SecondaryFacts, { nameOf }: StatusFacts): JsonObject {
  if (later === null) return {};
  const name = nameOf(later.cluster);
  return {
    later_epoch: later.number,
    later_primary: later.cluster,
    ...(name === "" ? {} : { later_primary_name: name }),
  };
}

function secondaryStatus(role: Secondary, facts: StatusFacts, whole: boolean): JsonObject {
  const { receiving, now, store, unpromotable, history } = facts;
  const hasPrimary = role.id !== "";
  const primary = receiving?.primary ?? null;
  const progress = receiving?.progress ?? null;
  const behindFor = receiving?.behindFor ?? null;
  const age = primary === null ? null : canaryAge(primary, behindFor, now);
  const remote = receiving === null ? facts.applied : receiving.lastRemoteIndex;
  const lag = entriesBehind(receiving, facts.applied);
  const isReplaced = (facts.replacedBy ?? null) !== null;
  return {
    mode: "secondary",
    cluster_id: role.set,
    ...(whole ? { local_cluster_id: facts.clusterId } : {}),
    epoch: role.epoch.number,
    ...(facts.kind === "performance" ? regionStatus(role, facts) : {}),
    ...((facts.standsInFor ?? null) === null ? {} : { stands_in_for: { ...facts.standsInFor } }),
    state: receiving?.state ?? "idle",
    ...(hasPrimary ? { connection_state: receiving?.connectionState ?? "idle" } : {}),
    known_primary_cluster_addrs: role.known === null ? null : [...role.known],
    ...(role.failover === undefined ? {} : { failover_cluster_addrs: [...role.failover] }),
    ...(facts.kind === "performance" && hasPrimary ? { primary_cluster: role.epoch.cluster } : {}),
    primary_cluster_addr: role.address,
    primaries: primary === null ? [] : [peerStatus(primary, now, age)],
    secondary_id: role.id,
    ...(isLedByAnother(role, facts) ? leader(role.epoch.cluster, facts) : {}),
    ...(isReplaced ? { replaced: true } : {}),
    ...(hasPrimary
      ? {
          ...(remote === null ? {} : { last_remote_wal: Number(remote) }),
          ...(lag === null ? {} : { wal_lag: lag }),
          last_start: timeText(receiving?.startedAt ?? null),
        }
      : {}),
    ...(progress === null
      ? {}
      : {
          merkle_sync_progress: {
            sync_total_keys: progress.total,
            sync_progress: progress.done,
          },
        }),
    divergent_entries: facts.divergent,
    orphans_waiting: facts.orphans.waiting,
    seal_source: role.led === true ? "own" : "primary",
    last_sync_error: receiving?.lastSyncError ?? (isReplaced ? REPLACED_BY : ""),
    ...errorTime(receiving),
    ...portStatus(facts),
    promotable: unpromotable.length === 0,
    promotable_reasons: [...unpromotable],
    ...(history === null ? {} : { lag_history: history(role.id) }),
    ...treeStatus(store, generationOf(facts, role)),
  };
}

/** Where writes of what is shared go from here, and whether they get there now; and whether somebody who reads it is answered. */
function regionStatus(
  role: Secondary,
  { region, receiving, isTorn, withheld = 0 }: StatusFacts,
): JsonObject {
  const there = role.region ?? "";
  return {
    region,
    ...(there === "" ? {} : { primary_region: there }),
    withheld,
    serves_shared: role.copied && !isTorn,
    forwards_writes: role.superseded !== true && receiving?.takesRequests === true,
  };
}

/** When it was seen last. */
function errorTime(receiving: ReceivingFacts | null): JsonObject {
  const at = receiving?.lastSyncErrorAt ?? null;
  const isThere = at !== null && receiving?.lastSyncError !== "";
  return isThere ? { last_sync_error_at: showTime(at) } : {};
}

/** Whether a cluster that is not followed is known to lead. */
function isLedByAnother(role: Secondary, { clusterId }: StatusFacts): boolean {
  if (role.superseded === true) return true;
  // Who has only forgotten its primary is in nobody's way.
  const hasLed = role.led === true && role.final === null;
  return role.id === "" && hasLed && role.epoch.cluster !== clusterId;
}

/** Who may lead beside it, unless it follows by now. */
function rivalOf({ rival }: Primary, present: readonly SecondaryFacts[]): string | null {
  const follows = present.some(({ clusterId }) => clusterId === rival);
  return rival === undefined || follows ? null : rival;
}

/** Who leads besides, as far as this primary knows. */
export function rivalsOf(
  role: Role,
  present: readonly SecondaryFacts[],
  nameOf: StatusFacts["nameOf"],
) {
  if (role.mode !== "primary" || isFenced(role)) return [];
  const rival = rivalOf(role, present);
  const own = `${clusterText(rival ?? "", nameOf)} has refused this one for good before it was promoted by force: as long as it runs there are two primaries`;
  return [
    ...(rival === null ? [] : [{ name: "", text: own }]),
    ...present.flatMap(({ id, later = null }) => {
      if (later === null) return [];
      const { number, cluster } = later;
      const text = `a secondary knows of a later primary, ${clusterText(cluster, nameOf)}, of epoch ${number}: nothing should be written here`;
      return [{ name: id, text }];
    }),
  ];
}

function leader(cluster: string, { nameOf }: StatusFacts): JsonObject {
  const name = nameOf(cluster);
  return {
    conflicting_primary: cluster,
    ...(name === "" ? {} : { conflicting_primary_name: name }),
  };
}

/** In entries that the primary has told of; null where it has told nothing. */
export function entriesBehind(receiving: ReceivingFacts | null, index: bigint): number | null {
  const announced = receiving?.announced ?? 0n;
  if (announced === 0n && (receiving?.primary?.lastHeartbeat ?? null) === null) return null;
  return announced > index ? Number(announced - index) : 0;
}

/** How often another cluster went on: with the log, and of performance replication with what is shared. */
function generationOf({ kind, store }: StatusFacts, { epoch }: Pick<Primary, "epoch">): number {
  return store.epoch - 1 + (kind === "performance" ? epoch.number - 1 : 0);
}

function treeStatus(store: StoreFacts, generation: number): JsonObject {
  const { reindex } = store;
  return {
    merkle_root: hex(store.root),
    corrupted_merkle_tree: store.corrupted,
    last_corruption_check_epoch: secondsText(store.checkedAt),
    last_reindex_epoch: secondsText(store.reindexedAt),
    ssct_generation_counter: generation,
    ...(reindex === null
      ? {}
      : {
          reindex_in_progress: true,
          reindex_stage: reindex.stage,
          reindex_building_progress: reindex.done,
          reindex_building_total: reindex.total,
        }),
  };
}

function peerStatus(peer: PeerFacts, now: Instant, age: Nanos | null): JsonObject {
  const { apiAddress, clusterAddresses, isConnected, lastHeartbeat } = peer;
  return {
    api_address: apiAddress,
    cluster_address: clusterAddresses[0] ?? "",
    connection_status: isConnected ? "connected" : "disconnected",
    last_heartbeat:
      lastHeartbeat === null ? null : showTime(lastHeartbeat < now ? lastHeartbeat : now),
    last_heartbeat_duration_ms: millis(peer.echoDuration),
    clock_skew_ms: millis(peer.clockSkew),
    // One that was never heard of may be of any age.
    ...(age === null ? {} : { replication_primary_canary_age_ms: millis(age) }),
  };
}

/** How old what is there is: for how long something is missing, else the time since the last heartbeat. Null where nobody
 *  knows. */
export function canaryAge(peer: PeerFacts, behindFor: Nanos | null, now: Instant): Nanos | null {
  const { lastHeartbeat: since } = peer;
  if (since === null) return behindFor;
  const silent = since > now ? 0n : now - since;
  return behindFor !== null && behindFor > silent ? behindFor : silent;
}

function millis(nanos: Nanos | null): string {
  return String((nanos ?? 0n) / MILLISECOND);
}

function timeText(time: Instant | null): string | null {
  return time === null ? null : showTime(time);
}

function secondsText(time: Instant | null): string {
  return String((time ?? 0n) / 1_000_000_000n);
}
