// What the parts of the room are to each other: what is registered, what is started of it, and what a running one is
// to whoever uses it.

import type { Channel, Method, Served, ServiceTable } from "@holdfast/shared/grpc/method";
import { StatusError } from "@holdfast/shared/grpc/status";
import type { Endpoint } from "@holdfast/shared/endpoint/endpoint";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineNeeds, EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import type { Reattach } from "@holdfast/plugin-sdk/wire/handshake";

export const PLUGIN_TYPES = ["auth", "database", "secret"] as const;
export type PluginType = (typeof PLUGIN_TYPES)[number];

/** Which one is meant; without a version where that is empty. */
export interface PluginId {
  readonly type: PluginType;
  readonly name: string;
  /** Canonical, such as v1.2.0; or empty. */
  readonly version: string;
}

/** A record of the catalog. */
export interface CatalogEntry extends PluginId {
  /** 64 digits in lower case: of the file, or of the configuration of the image. */
  readonly sha256: string;
  /** The name of a file in the plugin directory; with an image, a program in it, or empty for the image's own. */
  readonly command: string;
  readonly args: readonly string[];
  /** Each NAME=value. Shown to nobody. */
  readonly env: readonly string[];
  /** Empty: it runs as a process. */
  readonly ociImage: string;
  /** Name of a runtime, for one with an image; empty: the default one. */
  readonly runtime: string;
  /** Of one with an image. */
  readonly network: "none" | "host";
}

export interface RuntimeEntry {
  readonly name: string;
  /** Empty: runsc. */
  readonly ociRuntime: string;
  readonly rootless: boolean;
  /** Empty: none. */
  readonly cgroupParent: string;
  /** 0: no limit. */
  readonly cpuNanos: number;
  /** 0: no limit. */
  readonly memoryBytes: number;
}

/** What is started. Two that are equal can share a process. */
export interface Program extends CatalogEntry {
  /** Of one with an image. */
  readonly container: RuntimeEntry | null;
}

/** A process of somebody else's, a debugger say, in which a plugin runs already. */
export type Attachment = Reattach;

// ── the catalog, for whoever uses plugins ──

export interface ChosenPlugin {
  readonly program: Program;
  /** The version is pinned for all. */
  readonly isPinned: boolean;
}

export interface PluginChoice {
  /** The pinned one, or the version that is wanted, or the one without a version, or the newest. Null: there is none of the
   *  name, or none of that version. What is built in is not known here. */
  choose(type: PluginType, name: string, version: string): ChosenPlugin | null;
}

// ── processes, for whoever uses plugins ──

export interface ProcessEnd {
  /** In words for operators, without anything that the plugin wrote. */
  readonly cause: string;
}

/** One that was started, shook hands and is healthy, as one of its users has it. */
export interface HeldProcess {
  readonly pid: number;
  /** That both sides speak: 5, or 6 for databases that share a process. */
  readonly protocol: number;
  /** Whether it serves several users at once: then calls of this one carry its own id, which the channel adds. */
  readonly isShared: boolean;
  /** An UnsentCall where nothing was written. After a deadline of ours, and after a call that was given up late, the process is
   *  asked whether it is well, and ended where it does not answer. */
  readonly channel: Channel;
  /** Has it reach these services, by the number that it is told with its next call. */
  offer(services: ServiceTable<null>): Promise<Offered>;
  /** Null while it lives. A call that fails because it ended finds this set. */
  readonly end: ProcessEnd | null;
  readonly ended: Promise<ProcessEnd>;
  /** This user needs it no more: it is stopped with the last one. */
  release(): Promise<void>;
}

/** Nothing of the call was written to the process, which has ended or has no room: it may be made on another one. */
export class UnsentCall extends StatusError {}

export interface Offered {
  readonly id: number;
  close(): Promise<void>;
}

export interface ProbeReport {
  /** What the plugin says of its version; empty where it says nothing. */
  readonly version: string;
  /** What it says that it is; null where it says nothing, as those for databases do. */
  readonly kind: "auth" | "secret" | null;
}

export interface Processes {
  /** Starts it where no process of the program can be shared. Throws a Failure: it cannot be started and why, or it has
   *  failed so often that it is waited (503, with when to try again). `user` tells its users apart: a mount, a connection.
   *  Whoever has one already gets the same again, until it has ended or was let go. */
  hold(program: Program, user: string, signal: AbortSignal): Promise<HeldProcess>;
  /** Who asks from now on gets a new process, also where one could be shared; who has one keeps it until it is let go. */
  renew(program: Program): void;
  /** Starts one beside all others, asks what it is, and stops it. */
  probe(program: Program, signal: AbortSignal): Promise<ProbeReport>;
}

// ── files and mounts, for the catalog ──

export interface PluginFiles {
  /** Throws a Failure that says why the file in the plugin directory is not one that would be run. Its sum is not looked at. */
  check(command: string): Promise<void>;
}

/** What makes use of a plugin, or of something built in: a mount, a connection. */
export interface PluginUse {
  /** Of the mount; never changes. */
  readonly uuid: string;
  /** Path below the mount of what uses it; empty: the mount itself does. */
  readonly below: string;
  /** From the root namespace on, that of a mount with a slash at its end: team/kv/, auth/people/, team/database/config/main. */
  readonly place: string;
  /** Path of its namespace; empty for root. */
  readonly namespace: string;
  readonly type: PluginType;
  readonly name: string;
  /** Whether it is one of the catalog. */
  readonly isPlugin: boolean;
  /** That it is to have; empty: whichever is chosen. */
  readonly version: string;
}

export interface PluginUses {
  /** All that there are in this cluster. What a mount that is not opened uses is not known. */
  all(): Promise<readonly PluginUse[]>;
  /** Has it run by what the catalog says now. Throws a Failure where that cannot be, and then what ran before goes on.
   *  Nothing happens where there is no such mount. */
  reload(use: Pick<PluginUse, "uuid" | "below">, signal: AbortSignal): Promise<void>;
}

// ── engines in other processes, and what our own SDK adds to the wire of others ──

/** One opened engine of a mount whose program runs outside. */
export interface ForeignEngine {
  readonly needs: EngineNeeds;
  readonly kind: "auth" | "secret";
  /** Of its plugin, in the catalog. */
  readonly name: string;
  /** What our own SDK has said of it; null: another SDK's. */
  readonly own: OwnPlugin | null;
  /** To its instance, which is started again where it is gone; what was written to one that ended is not sent again. Throws a Failure: why
   *  there is no answer, or the reason of the signal. */
  call<Q, A>(method: Method<"unary", Q, A>, request: Q, how?: ForeignCall): Promise<A>;
  /** The same, while it reaches these services as well: by the number that the request is made with. */
  callOffering<Q, A>(
    services: ServiceTable<null>,
    method: Method<"unary", Q, A>,
    request: (id: number) => Q,
    how?: ForeignCall,
  ): Promise<A>;
}

export interface ForeignCall {
  readonly signal?: AbortSignal | undefined;
  /** Default: only the signal ends it. */
  readonly timeout?: Nanos;
}

/** The part of the room that speaks to plugins of our own SDK. */
export interface OwnSdk {
  /** Reached by its instance beside storage, on the same connection. `isReady`: it is set up, and may write. */
  services(engine: ForeignEngine, isReady: () => boolean): readonly Served<null>[];
  /** Asked after each Setup, on the channel of the instance. Null: it does not know us. Throws a Failure where the options are refused. */
  describe(engine: ForeignEngine, channel: Channel, signal: AbortSignal): Promise<OwnPlugin | null>;
}

/** What it declares, and what is done in its way instead of that of others. */
export interface OwnPlugin {
  /** As they are kept, defaults filled in. */
  readonly options: EngineOptions;
  /** In place of those that any path leads to. */
  readonly endpoints: readonly Endpoint<ForeignEngine>[];
  /** In place of what the type does of itself for plugins of others. */
  readonly type: Partial<
    Pick<
      EngineType<ForeignEngine>,
      | "abandoned"
      | "concerns"
      | "described"
      | "invalidate"
      | "jobDeadline"
      | "lead"
      | "leave"
      | "mayChangeOptions"
      | "metrics"
      | "minUndoAge"
      | "periodic"
      | "renewLogin"
      | "rest"
      | "secrets"
      | "takeUse"
      | "undo"
    >
  >;
}
