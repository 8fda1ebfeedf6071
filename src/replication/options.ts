// What replication is handed by the server around it.

import type { KeyObject } from "node:crypto";
import type { Log } from "@holdfast/shared/log";
import type { Nanos, Random } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Followers } from "../barrier/followers.ts";
import type { Tx, View } from "../barrier/view.ts";
import type { ReplicationKind } from "../cluster/names.ts";
import type { Peer } from "../cluster/verify.ts";
import type { Served } from "@holdfast/shared/grpc/method";
import type { StorageEngine } from "../storage/engines/engine.ts";
import type { Replica } from "../storage/repair/heal.ts";
import type { Store } from "../storage/store.ts";
import type { ReplicationFigures } from "./figures.ts";
import type { MountsBeside } from "./filters/filter-paths.ts";
import type { PlacesSource } from "./filters/places.ts";
import type { WithheldHere } from "./filters/withheld-here.ts";
import type { KeyBundle } from "./joining/key-bundle.ts";
import type { DialingWorld } from "./links/dialing.ts";
import type { OutsideRows } from "./links/orphans.ts";
import type { ServingPort } from "./links/serving.ts";
import type { StandIn } from "./cascades/standing-in.ts";
import type { Changes } from "./roles/changes.ts";
import type { RehearsalReport } from "./roles/rehearsal.ts";
import type { Epoch } from "./roles/role.ts";
import type { ClusterStatusOptions } from "./status/cluster-status.ts";
import type { Evacuation, SetMember } from "./stream/messages.ts";
import type { LinkPorts } from "./stream/receiving.ts";
import type { TreeWork } from "./tree-work.ts";

/** What becomes of the rooms when the role changes. */
export interface HouseSteps {
  /** Waits for the requests that are being answered, for a while. */
  drained(): Promise<void>;
  /** Those rest that would change the data. */
  yield(): Promise<void>;
  /** Those close that have nothing to do where the data is another cluster's. */
  leave(): Promise<void>;
  /** All of them open and lead. */
  takeOver(): Promise<void>;
  /** Nothing can be promised any more. */
  seal(): void;
}

/** What one kind of replication has to know of the other. */
export interface Beside {
  readonly mode: "disabled" | "primary" | "secondary";
  /** Which cluster leads in its place; null where none does. */
  readonly fencedBy: string | null;
  /** What one transaction may have, so that all who follow can take it; null where that is not known. */
  readonly transactionBytes: number | null;
  /** Whether another cluster has taken its place, and it has only heard so. */
  readonly isFenced: boolean;
  /** Whether rows that another cluster shares were of different indexes when they were last written. */
  readonly wasTorn: boolean;
  /** Whether there are members that go by what is here. */
  readonly hasMembers: boolean;
  /** Those that can be asked for what is damaged here. */
  replicas(): readonly Replica[];
  /** What is damaged here is fetched from the primary; false where there is none that is reached. */
  refetch(): boolean;
}

export interface TakingKeys {
  /** Keys that only this cluster has made go: a token of the primary says so. */
  readonly mayGiveUp?: boolean;
  /** Nobody wants them any more when their turn comes. */
  readonly signal?: AbortSignal;
}

export interface ReplicationOptions extends DialingWorld {
  readonly kind: ReplicationKind;
  readonly store: Store;
  readonly barrier: Barrier;
  /** Of the rows of that kind. */
  readonly view: View;
  /** Of those that are of this cluster alone, and not of who stands in for it: core/replication/<kind>/. */
  readonly own: View;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  readonly clusterId: () => string;
  readonly apiAddress: () => string;
  readonly clusterAddress: () => string;
  readonly port: () => ServingPort | null;
  readonly house: HouseSteps;
  /** One at a time, of both kinds. Default: there is one kind. */
  readonly changes?: Changes;
  /** Of the store, whose trees are one for both kinds. Default: made here. */
  readonly trees?: TreeWork;
  /** The name of this region; and the one that its data would have if it began anew. */
  readonly region: () => string;
  readonly configuredRegion: string;
  /** Requests that performance secondaries send on. Default: none are taken. */
  readonly forwarded?: () => readonly Served<Peer>[];
  /** Stores shared rows of another cluster, with what follows from them. Default: nobody sends any. */
  readonly followers?: () => Pick<Followers, "apply">;
  /** How far the rooms of a secondary are with mounts that its primary disables or moves. Default: they have none. */
  readonly evacuations?: () => readonly Evacuation[];
  /** The leases of a secondary, for its primary: how many it has given below a place of a shared mount. Default: it has none. */
  readonly countLeases?: LinkPorts["countLeases"];
  /** What filters of this kind speak of. Default: nothing is ever withheld. */
  readonly filtering?: Filtering;
  /** Which share of its time this process has worked of late. Default: it has plenty. */
  readonly utilization?: () => number;
  /** What is withheld from this cluster. Default: nothing is. */
  readonly withheld?: WithheldHere;
  /** Of the rows of the other kind, where secondaries of this one have its authority. Default: they have none. */
  readonly besideView?: View;
  /** The other kind of replication of this cluster. Default: there is none. */
  readonly beside?: () => Beside;
  readonly statusAccess: ClusterStatusOptions["statusAccess"];
  /** Of this kind, unused tokens included. Default: fifty. */
  readonly maxSecondaries?: number;
  /** Whether another cluster that proves to lead the set is believed. */
  readonly acceptFence: boolean;
  /** For how long a primary writes without a word of its secondaries; 0: for ever. */
  readonly primaryLease: Nanos;
  /** Signs for a rehearsal. */
  readonly sign: (report: RehearsalReport) => Promise<{ readonly id: string }>;
  /** Installs keys of the set here, in a turn of the seal. */
  readonly takeKeys: (bundle: KeyBundle, options?: TakingKeys) => Promise<void>;
  /** In the transaction in which this cluster stops being a secondary. */
  readonly revokeOperationTokens: (tx: Tx) => void;
  /** Gives what is written when this cluster takes over the data of the one that it stands in for. Default: nothing is. */
  readonly standsIn?: (place: StandIn) => Promise<(tx: Tx) => void>;
  /** The same for one that leaves with them. Default: nothing is. */
  readonly leavesWith?: () => Promise<(tx: Tx) => void>;
  /** Where those are that stand in for this cluster. Default: nobody does. */
  readonly standIns?: () => readonly string[];
  /** The clusters of the set that are known here, of both kinds. Default: nobody is told of any. */
  readonly around?: Around;
  /** What is signed of an epoch of the set, for others. Default: nothing is. */
  readonly signedEpoch?: (epoch: Epoch) => Uint8Array;
  /** In the transaction in which it gives up later epochs than this. */
  readonly takeTicketsFrom: (tx: Tx, epoch: number) => void;
  /** In the transaction in which a first copy is whole. Default: nobody has made any. */
  readonly endOperationTokens?: (tx: Tx) => void;
  /** Puts other data in the place of this cluster's. Default: nobody does. */
  readonly exchange?: (data: NextData) => Promise<void>;
  /** Ceremonies that are under way end: what they would make is for another role. */
  readonly dropAttempts: () => Promise<void>;
  /** Whether an audit device can be written, or none is configured. */
  readonly audits: () => boolean;
  /** What of the data stands for something outside. */
  readonly outside: OutsideRows;
}

/** For people to be shown. */
export interface Around {
  /** This cluster, who follows it, and whom others have told of. */
  readonly members: () => readonly SetMember[];
  /** Who stands in for this cluster. */
  readonly standIns: () => readonly SetMember[];
}

/** Of what there is here. */
export interface Filtering {
  readonly source: PlacesSource;
  readonly beside: MountsBeside;
}

/** What takes the place of the data there is. */
export interface NextData {
  fill(engine: StorageEngine, signal: AbortSignal): Promise<void>;
  /** Gives the key that opens it; null: it stays sealed, or is nothing yet. */
  finish(engine: StorageEngine): Promise<KeyObject | null>;
}

/** What works with other clusters has it, with a log of its own. */
export interface LinkedOptions extends ReplicationOptions {
  readonly figures: ReplicationFigures;
}
