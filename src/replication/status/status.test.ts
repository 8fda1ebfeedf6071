// What the status says of a primary that is away, or was never there.

import assert from "node:assert/strict";
import test from "node:test";
import { showTime } from "@holdfast/shared/text/time";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Secondary } from "../roles/role.ts";
import { type ReceivingFacts, type StatusFacts, statusOf } from "./status.ts";

const NOW = 5000n * SECOND;

const ROLE: Secondary = {
  mode: "secondary",
  set: "s",
  epoch: { number: 1, cluster: "a", first: "1" },
  id: "site-b",
  address: "https://a:8201",
  known: null,
  copied: true,
  final: null,
  mayRewind: false,
  promoting: null,
};

function statusWith(
  lastHeartbeat: bigint | null,
  facts: Partial<ReceivingFacts>,
  more: Partial<StatusFacts> = {},
) {
  const peer = { apiAddress: "", clusterAddresses: [], isConnected: false };
  const receiving: ReceivingFacts = {
    state: "idle",
    connectionState: "transient_failure",
    lastRemoteIndex: null,
    announced: 0n,
    behindFor: null,
    startedAt: NOW,
    lastSyncError: "",
    lastSyncErrorAt: null,
    primary: { ...peer, lastHeartbeat, echoDuration: null, clockSkew: null },
    progress: null,
    takesRequests: false,
    ...facts,
  };
  const store = {
    index: 40n,
    last: 40n,
    epoch: 1,
    root: Buffer.alloc(32),
    corrupted: false,
    checkedAt: null,
    reindexedAt: null,
    reindex: null,
  };
  return statusOf(
    {
      kind: "dr",
      applied: 40n,
      role: ROLE,
      store,
      clusterId: "b",
      clusterAddress: "https://b:8201",
      region: "b",
      lapsed: false,
      divergent: 0,
      orphans: { waiting: 0, adopted: 0, left: 0 },
      now: NOW,
      known: [],
      expired: [],
      left: [],
      nameOf: () => "",
      secondaries: [],
      receiving,
      unpromotable: [],
      isTorn: false,
      history: null,
      ...more,
    },
    false,
  );
}

function factsOf(lastHeartbeat: bigint | null, facts: Partial<ReceivingFacts>) {
  const status = statusWith(lastHeartbeat, facts);
  const [primary] = status["primaries"] as Record<string, unknown>[];
  return [
    status["last_remote_wal"],
    status["wal_lag"],
    primary?.["last_heartbeat"],
    primary?.["replication_primary_canary_age_ms"],
  ];
}

test("of a primary that was never heard of nothing is said, and not that nothing is missing", () => {
  assert.deepEqual(factsOf(null, {}), [undefined, undefined, null, undefined]);
});

test("of one that is away it is said what was heard last, and how long ago", () => {
  assert.deepEqual(factsOf(NOW - 60n * SECOND, { lastRemoteIndex: 40n, announced: 43n }), [
    40,
    3,
    "1970-01-01T01:22:20Z",
    "60000",
  ]);
});

test("an error is told with when it was seen last, where that is known", () => {
  const trouble = { lastSyncError: "the primary was not reached", lastSyncErrorAt: NOW };
  const at = (facts: Partial<ReceivingFacts>) => statusWith(NOW, facts)["last_sync_error_at"];
  assert.equal(at(trouble), showTime(NOW));
  assert.equal(at({ ...trouble, lastSyncErrorAt: null }), undefined);
  assert.equal(at({ ...trouble, lastSyncError: "" }), undefined);
});

test("a primary counts what it gave up when it was a secondary, and says nothing where there is none", () => {
  const { set, epoch } = ROLE;
  const role = { mode: "primary", set, epoch, address: "", fenced: null } as const;
  const countOf = (divergent: number) =>
    statusWith(NOW, {}, { role, divergent })["divergent_entries"];
  assert.deepEqual([countOf(3), countOf(0)], [3, undefined]);
});
