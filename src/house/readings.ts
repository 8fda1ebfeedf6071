// What a scrape reads of the store and the rooms. Null: not known now, as most is while the node is sealed.

import type { Histogram } from "../base/metrics.ts";

/** Snapshots since the start. */
export interface SnapshotReading {
  readonly kind: "manual" | "automated";
  /** Seconds since 1970; null before the first. */
  readonly lastSuccess: number | null;
  /** Of the last one that was made. */
  readonly seconds: number | null;
  readonly bytes: number | null;
  readonly errors: number;
}

/** Of the configurations of automated snapshots, remembered over restarts. */
export interface AutomatedReading {
  /** Seconds since 1970; null before the first. */
  readonly lastSuccess: number | null;
  /** Those whose last attempt failed. */
  readonly failing: number;
  /** How full the fullest allowance of local ones is, from 0 to 1; null without one. */
  readonly spaceUsed: number | null;
}

/** Of drills of stored snapshots. */
export interface DrillReading {
  /** When a restore was last proven, in seconds since 1970; remembered over restarts, null before the first. */
  readonly lastProven: number | null;
  /** Configurations whose last drill has proven nothing. */
  readonly failing: number;
  /** Of the last one since the start. */
  readonly seconds: number | null;
  /** Since the start. */
  readonly counts: readonly { readonly result: string; readonly count: number }[];
}

/** Processes of one plugin, by its name in the catalog. Counts are since the start. */
export interface PluginReading {
  readonly name: string;
  /** How many processes there are, by their state. */
  readonly processes: ReadonlyMap<string, number>;
  readonly starts: Readonly<Record<"ok" | "failed" | "refused", number>>;
  readonly restarts: number;
  readonly droppedLines: number;
  /** Seconds of calls to it, and of those that it made to storage and the like. */
  readonly requests: Histogram;
  readonly storageCalls: Histogram;
}

/** A secondary, as its primary or it itself sees it. */
export interface PeerReading {
  /** As the primary has named it. */
  readonly id: string;
  readonly connected: boolean;
  readonly remoteIndex: number | null;
  /** What is missing there, and for how long. */
  readonly lagEntries: number | null;
  readonly lagSeconds: number | null;
  /** In seconds. */
  readonly heartbeatAge: number | null;
}

/** Of one kind of replication. */
export interface ReplicationReading {
  readonly kind: "dr" | "performance";
  readonly role: "disabled" | "primary" | "secondary" | "fenced";
  readonly peers: readonly PeerReading[];
  /** Of a primary of regions: who stands in for each; the name of the region is empty for its own. */
  readonly standIns: readonly {
    readonly region: string;
    readonly name: string;
    readonly isReady: boolean;
  }[];
  /** Mounts and namespaces that a secondary is not sent. */
  readonly withheld: readonly { readonly id: string; readonly count: number }[];
  /** Since the start: how logs were gone on with when clusters met. */
  readonly resumed: readonly { readonly result: string; readonly count: number }[];
  /** Rows that were copied or mended. */
  readonly rows: number;
  /** Of the last comparison. */
  readonly diffSeconds: number | null;
  readonly checkFailures: number;
}

export interface Readings {
  readonly sealState: () => "unsealed" | "sealed" | "uninitialised";
  readonly barrierEncryptions: () => number | null;
  readonly barrierIntegrityErrors: () => number;
  /** Damaged records that were healed from another cluster, since the start. */
  readonly recordsHealed: () => number;
  readonly storageIndexes: () => {
    readonly last: bigint;
    readonly oldest: bigint | null;
    /** The last that matters to disaster-recovery secondaries, and to clusters that share data. */
    readonly lastDr?: bigint;
    readonly lastShared?: bigint;
    /** Of the log that is kept. */
    readonly logBytes?: bigint;
  } | null;
  readonly auditDevicesHealthy: () => number | null;
  /** Leases there are, those that could not be revoked among them. */
  readonly leases: () => { readonly leases: number; readonly irrevocable: number } | null;
  /** What engines made outside and could not remove, by the accessor of the mount. */
  readonly orphans: () => readonly { readonly accessor: string; readonly count: number }[];
  /** Bounded; those beyond it are together. */
  readonly plugins: () => readonly PluginReading[];
  /** What needs attention, by its code. */
  readonly attention: () => readonly {
    readonly code: string;
    readonly severity: string;
    readonly count: number;
  }[];
  /** Whether there is a mount of this accessor. */
  readonly mounted: (accessor: string) => boolean;
  readonly snapshots: () => readonly SnapshotReading[];
  readonly automatedSnapshots: () => AutomatedReading | null;
  readonly drills: () => DrillReading | null;
  readonly replication: () => readonly ReplicationReading[] | null;
}
