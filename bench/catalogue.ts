// Every row there is, in the order of the table.

import { apiRows } from "./api/api.ts";
import { cloudRows } from "./clouds.ts";
import { commitRows } from "./commits.ts";
import { getRows } from "./gets.ts";
import { governingRows } from "./policies/governing.ts";
import { kvRows } from "./kv.ts";
import { leaseRows } from "./leases.ts";
import { listRows } from "./lists.ts";
import { millionRows } from "./stores/million.ts";
import { pluginRows } from "./plugins/plugins.ts";
import { policyRows } from "./policies/policies.ts";
import { policyParserRows } from "./policies/policy-parser.ts";
import { programRows } from "./policies/programs.ts";
import { filterRows } from "./replication/filter-view.ts";
import { regionRows } from "./replication/regions.ts";
import { replicationRows } from "./replication/replication.ts";
import { statusRows } from "./replication/status.ts";
import type { Row } from "./row.ts";
import { sealingRows } from "./sealing.ts";
import { snapshotRows } from "./stores/snapshots.ts";
import { slowSyncRows } from "./stores/slow-sync.ts";
import { savedRows } from "./snapshots.ts";
import { tokenRows } from "./tokens.ts";

export const ROWS: readonly Row[] = [
  ...sealingRows,
  ...commitRows,
  ...getRows,
  ...listRows,
  ...slowSyncRows,
  ...apiRows,
  ...kvRows,
  ...leaseRows,
  ...cloudRows,
  ...tokenRows,
  ...savedRows,
  ...filterRows,
  ...replicationRows,
  ...statusRows,
  ...regionRows,
  ...millionRows,
  ...snapshotRows,
  ...policyRows,
  ...governingRows,
  ...policyParserRows,
  ...programRows,
  ...pluginRows,
];
