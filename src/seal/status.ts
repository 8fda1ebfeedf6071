// What anybody may know of the seal: the answer of seal-status and of unseal.

import { jsonCodec } from "@holdfast/shared/codec";
import type { Tx, ViewReads } from "../barrier/view.ts";
import type { SealConfig, SealType } from "./config.ts";
import { rowMissing } from "./failures.ts";
import { schemeOf } from "./config.ts";

/** The cluster's record, at core/cluster inside the barrier. */
export interface Cluster {
  readonly name: string;
  readonly id: string;
}

const CLUSTER = "cluster"; // below core/
const clusterCodec = jsonCodec<Cluster>();

/** `node` is what lies below core/. */
export function storedCluster(node: ViewReads): Cluster {
  const cluster = node.get(CLUSTER, clusterCodec);
  if (cluster === null) throw rowMissing(`core/${CLUSTER}`);
  return cluster;
}

export function putCluster(node: Tx, cluster: Cluster): void {
  node.put(CLUSTER, cluster, clusterCodec);
}

export interface SealStatus {
  readonly type: SealType;
  readonly initialized: boolean;
  readonly sealed: boolean;
  /** Of the shares that operators hold: unseal shares, or recovery shares with an auto seal. */
  readonly t: number;
  readonly n: number;
  readonly progress: number;
  readonly nonce: string; // of the running attempt; empty when none runs
  readonly version: string;
  readonly buildDate: string;
  readonly migration: false;
  readonly recoverySeal: boolean;
  readonly recoveryCanUnseal: boolean;
  readonly storageType: string;
  /** Only while unsealed. */
  readonly clusterName?: string;
  readonly clusterId?: string;
  readonly warnings: readonly string[];
}

export interface StatusParts {
  readonly config: SealConfig | null; // null before initialisation
  readonly configuredType: SealType;
  readonly cluster: Cluster | null; // null while sealed
  readonly attempt: { readonly progress: number; readonly nonce: string };
  readonly version: string;
  readonly buildDate: string;
  readonly storageType: string;
  readonly warnings: readonly string[];
}

export function statusOf(parts: StatusParts): SealStatus {
  const { config, cluster, attempt, version, buildDate, storageType, warnings } = parts;
  const type = config?.type ?? parts.configuredType;
  const scheme = config === null ? null : schemeOf(config);
  return {
    type,
    initialized: config !== null,
    sealed: cluster === null,
    t: scheme?.threshold ?? 0,
    n: scheme?.shares ?? 0,
    ...attempt,
    version,
    buildDate,
    migration: false,
    // Also before initialisation: clients choose the fields of their init by it.
    recoverySeal: type !== "shamir",
    recoveryCanUnseal: config?.type === "static" && config.recovery.canUnseal,
    storageType,
    ...(cluster === null ? {} : { clusterName: cluster.name, clusterId: cluster.id }),
    warnings,
  };
}
