// What the room of mounts is given, and what it is asked for and tells.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Instant, Random, Timers } from "@holdfast/shared/world";
import type { View } from "../barrier/view.ts";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import type { PathsTaken } from "../namespaces/namespaces.ts";
import type { EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import type { EngineServices } from "@holdfast/plugin-sdk/engine-services";
import type { Routes } from "./engine-routes.ts";
import type { MountLeases, MountLogins, MountsElsewhere, RequestsLeft } from "./teardown.ts";
import type { FixedMount } from "./table/fixed-mounts.ts";
import type { ConfigChange, ServerTtls } from "./table/mount-config.ts";
import type { MountKind, MountRecord } from "./table/mount-record.ts";
import type { ServicesFor } from "./open-mount.ts";

export interface MountsOptions {
  /** shared/ and local/ */
  readonly shared: View;
  readonly local: View;
  readonly types: readonly EngineType<unknown>[];
  /** Default: there are none but these. */
  readonly foreign?: ForeignTypes;
  /** Those that every namespace has. Default none. */
  readonly fixed?: readonly FixedMount[];
  /** Other names of types, and what they stand for. Default none. */
  readonly aliases?: ReadonlyMap<string, TypeAlias>;
  /** Made once, at initialisation; types that are not there are left out. Default none. */
  readonly defaults?: readonly DefaultMount[];
  readonly namespaces: NamespacesKnown;
  readonly leases: MountLeases;
  /** Default: nobody has logged in. */
  readonly logins?: MountLogins;
  /** Default: no other cluster has these mounts. */
  readonly elsewhere?: MountsElsewhere;
  /** Waits for the requests that run at a mount. */
  readonly requestsLeft: RequestsLeft;
  /** Makes the table of an engine type's endpoints. */
  readonly routes: (endpoints: readonly Served[]) => Routes;
  /** Of the server, where a mount says nothing. */
  readonly ttls: ServerTtls;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** Default 20,000. */
  readonly maxMounts?: number;
  /** Of the engine of a mount, asked for when it is opened. Default: nothing outside is reached. */
  readonly services?: (mount: ServicesFor) => EngineServices;
  /** When this cluster took the place of another. Default: it never has. */
  readonly tookOver?: () => TookOver | null;
  /** When this cluster began to write what is shared in the place of another; null: it never has. Default: it never has. */
  readonly sharedSince?: () => Instant | null;
}

/** Until then another cluster led, and requests may still run there. */
export interface TookOver {
  /** By the clock of that one: what it wrote last is of about then. */
  readonly since: Instant;
  /** By the clock here. */
  readonly at: Instant;
}

export interface NamespacesKnown extends PathsTaken {
  byId(id: string): NamespaceRef | null;
  resolve(
    base: NamespaceRef,
    segments: readonly string[],
  ): { readonly namespace: NamespaceRef; readonly taken: number };
}

/** Types that are not built in. */
export interface ForeignTypes {
  /** Of those that can be mounted now. `wanted` empty: whichever would be taken. Null: there is none of the name, or none of that version. Throws
   *  a Failure where the version is not to be chosen. */
  choose(kind: MountKind, name: string, wanted: string): ForeignChoice | null;
  /** Of a mount that was made of it, whether it is to be had now or not. */
  type(kind: MountKind, name: string, version: string): EngineType<unknown>;
}

export interface ForeignChoice {
  /** That mounts keep; empty: whichever is chosen whenever it is opened. */
  readonly version: string;
  /** Without a version that is wanted it stands before what is built in under its name. */
  readonly hides: boolean;
}

export interface TypeAlias {
  readonly type: string;
  readonly options: EngineOptions;
}

export interface DefaultMount {
  readonly path: string;
  readonly type: string;
  readonly options?: EngineOptions;
  readonly description?: string;
}

export interface NewMount {
  readonly kind: MountKind;
  /** Empty: the name of its type. */
  readonly path: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly config?: ConfigChange | undefined;
  readonly options?: EngineOptions | undefined;
  readonly local?: boolean | undefined;
  readonly sealWrap?: boolean | undefined;
  /** Empty: the newest. */
  readonly version?: string | undefined;
}

export interface MountChange {
  readonly description?: string | undefined;
  readonly config: ConfigChange;
  readonly options?: EngineOptions | undefined;
  readonly version?: string | undefined;
}

/** A mount as lists show it. */
export interface MountView {
  readonly record: MountRecord;
  readonly version: string;
  /** Of what runs for it outside this server; empty: nothing does. */
  readonly sha256: string;
  /** Why it does not answer. */
  readonly trouble: string | null;
  /** While it is being disabled. */
  readonly leasesLeft: number | null;
  /** Shared ones that no path leads to, since this one, which is local, is in their way. */
  readonly shadowed: readonly MountRecord[];
}

export interface DisableProgress {
  readonly done: boolean;
  readonly leasesLeft: number;
  readonly warnings: readonly string[];
}
