// The state of a server's seal as people see it.

import type { JsonValue } from "@holdfast/shared/json/json";
import type * as seal from "@holdfast/client/api/seal";
import type { SealStatus } from "./awaited-server.ts";
import type { View } from "./terminal/output.ts";
import { shown } from "./terminal/value.ts";

/** Nodes of a cluster tell more. */
type Leader = Partial<seal.LeaderAnswer> & {
  readonly leader_address?: string;
  readonly active_time?: string;
};

export function sealView(status: Partial<SealStatus>, leader: Leader = {}): View {
  const rows: (readonly [string, JsonValue | undefined])[] = [
    ["Seal Type", status.type],
    ["Initialized", status.initialized],
    ["Sealed", status.sealed],
    [status.recovery_seal === true ? "Recovery Shares" : "Total Shares", status.n],
    ["Threshold", status.t],
  ];
  if (status.sealed === true && status.initialized === true) {
    rows.push(["Unseal Progress", `${shown(status.progress)}/${shown(status.t)}`]);
    rows.push(["Unseal Nonce", status.nonce]);
  }
  rows.push(["Version", status.version], ["Storage Type", status.storage_type]);
  if (status.cluster_name !== undefined) {
    rows.push(["Cluster Name", status.cluster_name], ["Cluster ID", status.cluster_id]);
  }
  if (leader.ha_enabled === true) {
    rows.push(["Mode", leader.is_self === true ? "active" : "standby"]);
    rows.push(["Active Node Address", leader.leader_address]);
    if (leader.active_time !== undefined) rows.push(["Active Since", leader.active_time]);
  }
  return { pairs: rows };
}
