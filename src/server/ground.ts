// What rooms stand on: of the process, which stays when the data is exchanged for other data, and of the house,
// which goes then.

import type { EngineType } from "@holdfast/plugin-sdk/engine";
import type { EnvironmentVariables } from "@holdfast/plugin-sdk/engine-services";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import type { Fs, World } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { Held } from "../carried/held.ts";
import type { Followers } from "../barrier/followers.ts";
import type { View } from "../barrier/view.ts";
import type { FairTurns } from "../base/fair-turns.ts";
import type { ClusterPort } from "../cluster/port.ts";
import type { Config } from "../config/config.ts";
import type { Running } from "../core/running.ts";
import type { Attachment } from "../plugins/ports.ts";
import type { ProcessesAtNeed } from "../plugins/processes-at-need.ts";
import type { Witness } from "../core/seams.ts";
import type { ForwardedRequests } from "../forwarding/answering.ts";
import type { Primary } from "../forwarding/primary.ts";
import type { Room } from "../house/room.ts";
import type { Instruments } from "../introspection/instruments.ts";
import type { IntrospectionOptions } from "../introspection/introspection.ts";
import type { OutboundCalls } from "../outbound/outbound-calls.ts";
import type { InspectionOptions } from "../policies/inspection/inspection.ts";
import type { MountRef, NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { HouseSteps } from "../replication/options.ts";
import type { Hooks } from "../seal/keeper-options.ts";
import type { NodeRole } from "../seal/health.ts";
import type { Store, StoreOptions } from "../storage/store.ts";
import type { Retention } from "../storage/trimming.ts";
import type { RuntimeStats } from "../system/runtime-stats.ts";
import type { CubbyholeContents } from "../wrapping/cubbyhole-contents.ts";
import type { RestoreBook } from "../snapshots/restore/restore-book.ts";
import type { Replacement } from "./house-exchange.ts";
import type { MountedPlaces } from "./places/rule-places.ts";

/** Development mode. */
export interface DevParts {
  /** Null: there is none to be chosen. */
  readonly rootToken: string | null;
  /** Plugins that run already, by name. Default: none. */
  readonly attached?: ReadonlyMap<string, Attachment>;
}

/** The process as the house sees it. */
export interface ProcessGround {
  /** That it was started with. */
  readonly config: Config;
  /** Processes of plugins: they run while a house is unsealed. */
  readonly plugins: ProcessesAtNeed;
  readonly world: World;
  readonly log: Log;
  readonly version: string;
  readonly buildDate: string;
  readonly dev: DevParts | undefined;
  readonly operatorFiles: Fs;
  /** Types of engines beside the built-in ones. */
  readonly engineTypes: readonly EngineType<unknown>[];
  /** Variables of the server's environment, for engines that look there. */
  readonly environment: EnvironmentVariables;
  readonly instruments: Instruments;
  readonly runtime: RuntimeStats;
  /** Where clients reach this node, as far as it is known. */
  readonly apiAddress: () => string;
  /** Where other clusters come in; null where none do. */
  readonly clusterPort: () => ClusterPort | null;
  /** Where they are told to come; empty where there is no cluster port. */
  readonly clusterAddress: () => string;
  /** The configuration in force, without secrets. */
  readonly configuration: () => JsonObject;
  readonly reload: (what: string) => Promise<void>;
  readonly loggers: IntrospectionOptions["loggers"];
  /** Whether this node becomes the active one when it is unsealed. */
  readonly leads: () => boolean;
  readonly logRetention: Retention;
  readonly restores: RestoreBook;
  /** What goes along to data of other keys and lies on no disk. */
  readonly held: Held;
  /** Puts other data in the place of this house's; see house-exchange.ts. */
  readonly exchange: (replacement: Replacement) => Promise<void>;
  /** What the node and its cluster are. */
  readonly standing: Standing;
  /** Rooms beside those of the list. */
  readonly furtherRooms: readonly ((views: Views) => Room)[];
  /** Undefined but in tests. */
  readonly witnessed: WitnessedWrites | undefined;
}

/** For tests that hold what requests write against what their endpoints declare. */
export interface WitnessedWrites {
  readonly witness: Witness;
  readonly newStore: (options: StoreOptions) => Store;
}

export interface Views {
  readonly shared: View;
  readonly local: View;
  /** core/ */
  readonly node: View;
}

/** What this node is in its cluster, and its cluster among others. It may change at any time. */
export interface Standing {
  readonly role: NodeRole;
  /** What its cluster is to those that hold the same data. */
  readonly drMode: DrMode;
  /** The cluster that writes what several share; null while that is this one. Default: it always is. */
  readonly primary?: () => Primary | null;
}

export type DrMode = "disabled" | "primary" | "secondary";

/** Of a cluster that has no others. */
export const ALONE: Standing = { role: "active", drMode: "disabled" };

/** The house before its rooms are there. */
export interface Ground {
  readonly host: ProcessGround;
  readonly engineTypes: readonly EngineType<unknown>[];
  readonly store: Store;
  readonly barrier: Barrier;
  readonly views: Views;
  readonly running: Running;
  /** One for all: together they are to take little. */
  readonly turns: FairTurns;
  readonly outbound: OutboundCalls;
  readonly cubbyholes: CubbyholeContents;
  readonly places: MountedPlaces;
  readonly routing: PathQueries;
  readonly hooks: Hooks;
  readonly declarations: IntrospectionOptions["declarations"];
  /** What becomes of the rooms when the role of the cluster changes. */
  readonly roleSteps: HouseSteps;
  /** Who writes what is shared; null where this cluster does. */
  readonly primary: () => Primary | null;
  /** Built after the rooms. */
  readonly followers: () => Followers;
  readonly forwarded: () => ForwardedRequests;
  /** Every room, when they are built. */
  readonly all: () => readonly Room[];
}

/** What the pipeline knows of paths, for those who ask before there is a request. */
export interface PathQueries {
  /** What answers on a path. */
  readonly declared: InspectionOptions["declared"];
  /** The one form of a path. */
  readonly canonical: InspectionOptions["canonical"];
  /** What is looked at of described fields. */
  readonly dataAt: InspectionOptions["dataAt"];
  /** The mount that answers there; null where the server itself does, or nobody. */
  readonly mountAt: (namespace: NamespaceRef, segments: readonly string[]) => MountRef | null;
}
