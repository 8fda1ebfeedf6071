// Whether an archive that was read whole is one of this cluster, unchanged: its sums were sealed under the root key.

import type { KeyObject } from "node:crypto";
import type { Failure } from "@holdfast/shared/failure";
import type { Instant } from "@holdfast/shared/world";
import type { ParsedArchive } from "./archive-parser.ts";
import type { ArchiveMeta } from "./meta.ts";
import * as failures from "./failures.ts";
import { openSums } from "./sums.ts";

export interface OwnKeys {
  readonly rootKey: KeyObject;
  readonly clusterId: string;
  /** When the root key was made. */
  readonly keyedAt: Instant;
}

/** Null when it opens with today's root key; otherwise why not. */
export function whyNotOurs(
  { meta, sums, sealedSums }: ParsedArchive,
  own: OwnKeys,
  use: failures.ArchiveUse = "restored",
): Failure | null {
  const sealed = openSums(own.rootKey, sealedSums);
  if (sealed !== null) return sealed === sums ? null : failures.sealedSumsDiffer();
  return whyNotOpened(meta, own, use);
}

/** Of an archive that today's root key does not open. */
export function whyNotOpened(
  { clusterId, created }: ArchiveMeta,
  own: OwnKeys,
  use: failures.ArchiveUse = "restored",
): Failure {
  if (clusterId !== own.clusterId) return failures.archiveOfOtherCluster(clusterId, created, use);
  if (created < own.keyedAt) return failures.archiveBeforeRekey(created, own.keyedAt, use);
  return failures.archiveNotOpened(created);
}
