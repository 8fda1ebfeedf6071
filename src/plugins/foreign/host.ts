// What the server around it says to the engine of a plugin.

import type { MetricDeclarations } from "@holdfast/plugin-sdk/metrics";
import type { CatalogEntry, ChosenPlugin, OwnSdk, Processes } from "../ports.ts";

export interface MountState {
  /** Its data stays in this cluster. */
  readonly local: boolean;
  /** It is being disabled. */
  readonly tainted: boolean;
}

export interface ForeignHost {
  readonly processes: Processes;
  /** Loaded with the first that is opened. */
  readonly own: OwnSdk;
  /** What engines of the type count from here on. */
  readonly declare: (type: string, metrics: MetricDeclarations) => void;
  readonly server: { readonly version: string; readonly buildDate: string };
  readonly cluster: () => { readonly name: string; readonly id: string };
  /** Bits of `ReplicationState`. */
  readonly replication: () => number;
  /** Whether this node writes. */
  readonly leads: () => boolean;
  readonly mountState: (uuid: string) => MountState;
  /** For the token of an accessor at a mount: no credential, and the same for the same one. */
  readonly stamp: (mount: string, accessor: string) => string;
  /** Of an answer of a plugin, in bytes. */
  readonly maxAnswer: number;
}

/** What is to run for a mount now. Null: there is none. */
export type Choose = () => ChosenPlugin | null;

/** As it was registered. */
export type Registered = Pick<CatalogEntry, "version" | "sha256">;
