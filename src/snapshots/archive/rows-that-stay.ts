// Which rows are of this node or this cluster and not of its data: no archive has them, and none brings them
// back. What is told there of the past (audit chains, evidence, versions) must not be told twice. With the keys of the
// archive's own day they stay in their place; when it is of other keys they are gone, but for evidence, the ends of audit
// chains and what exists outside, which are carried over.

import { isAtOrBelow } from "../../storage/record-reading.ts";

export const STAY: readonly string[] = [
  "core/replication",
  "core/audit/heads",
  "core/audit/checkpoints",
  "core/audit/exchanged",
  "core/versions",
  "core/evidence",
  "core/carried",
  "core/carried-counts",
  "core/attention",
  "core/node",
  "core/snapshots",
];

export function stays(key: string): boolean {
  if (!key.startsWith("core/")) return false; // most of them
  return isAtOrBelow(key, STAY);
}
