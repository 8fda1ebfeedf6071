import assert from "node:assert/strict";
import test from "node:test";
import { FakeClock } from "../../tests/support/fake-world.ts";
import type { RuntimeReading } from "../system/runtime-stats.ts";
import { type InstrumentSources, Instruments } from "./instruments.ts";

const RUNTIME: RuntimeReading = {
  cpuUser: 1.5,
  cpuSystem: 0.5,
  residentBytes: 1000,
  heapUsedBytes: 10,
  heapTotalBytes: 20,
  heapLimitBytes: 30,
  externalBytes: 40,
  arrayBufferBytes: 50,
  uptimeSeconds: 100,
  activeResources: 3,
  loopUtilization: 0.25,
  loopDelay: { mean: 0.001, p50: 0.002, p99: 0.003, max: 0.004 },
};

function sources(more: Partial<InstrumentSources> = {}): InstrumentSources {
  return {
    clock: new FakeClock(),
    version: "1.2.3",
    runtime: () => RUNTIME,
    sealState: () => "unsealed",
    requestsInFlight: () => 2,
    barrierEncryptions: () => 77,
    barrierIntegrityErrors: () => 1,
    storageIndexes: () => ({ last: 9n, oldest: 4n }),
    auditDevicesHealthy: () => 1,
    ...more,
  };
}

function lines(instruments: Instruments): string[] {
  return instruments.registry.text().split("\n");
}

test("what the rooms know is asked for at each scrape", () => {
  let state: "unsealed" | "sealed" | "uninitialised" = "unsealed";
  const instruments = new Instruments(
    sources({
      sealState: () => state,
      openDescriptors: () => 12,
      recordsHealed: () => 3,
      barrierOps: () => ({ seal: 5, open: 6, cached: 7 }),
      tokenCounts: () => [{ type: "client", scope: "local", count: 8 }],
    }),
  );
  const text = lines(instruments);
  for (const line of [
    'holdfast_info{version="1.2.3"} 1',
    "holdfast_seal_state 0",
    "holdfast_requests_in_flight 2",
    "holdfast_barrier_encryptions 77",
    "holdfast_barrier_integrity_errors 1",
    "holdfast_replication_records_healed_total 3",
    'holdfast_barrier_ops_total{op="seal"} 5',
    'holdfast_barrier_ops_total{op="cached"} 7',
    'holdfast_storage_index{kind="last"} 9',
    'holdfast_storage_index{kind="oldest"} 4',
    "holdfast_audit_devices_healthy 1",
    'holdfast_token_count{type="client",scope="local"} 8',
    "holdfast_quota_violations_total 0",
    "process_cpu_seconds_total 2",
    "process_resident_memory_bytes 1000",
    "process_start_time_seconds 1767225500",
    "process_open_fds 12",
    "nodejs_eventloop_utilization 0.25",
    "nodejs_eventloop_lag_max_seconds 0.004",
    "nodejs_heap_size_used_bytes 10",
  ]) {
    assert.ok(text.includes(line), line);
  }
  state = "sealed";
  assert.ok(lines(instruments).includes("holdfast_seal_state 1"));
  state = "uninitialised";
  assert.ok(lines(instruments).includes("holdfast_seal_state 2"));
});

test("what is not known has no series, rather than a wrong number", () => {
  const instruments = new Instruments(
    sources({
      runtime: () => ({ ...RUNTIME, loopDelay: null }),
      barrierEncryptions: () => null,
      storageIndexes: () => null,
      auditDevicesHealthy: () => null,
    }),
  );
  const named = lines(instruments).filter((line) => !line.startsWith("#"));
  for (const start of [
    "holdfast_barrier_encryptions",
    "holdfast_storage_index",
    "holdfast_audit_devices_healthy",
    "holdfast_token_count",
    "nodejs_eventloop_lag",
    "process_open_fds",
  ]) {
    assert.ok(!named.some((line) => line.startsWith(start)), start);
  }
});

test("requests, audit records and storage operations are timed by their kind", () => {
  const instruments = new Instruments(sources());
  instruments.requestDone("read", "system", 200, 0.003);
  instruments.auditWritten("file", "failed", 0.5);
  instruments.storageOp("commit").observe(0.002);
  instruments.quotaViolations.add();
  const text = lines(instruments);
  for (const line of [
    'holdfast_request_duration_seconds_count{op="read",mount_type="system",status="200"} 1',
    'holdfast_request_duration_seconds_bucket{op="read",mount_type="system",status="200",le="0.005"} 1',
    'holdfast_request_duration_seconds_bucket{op="read",mount_type="system",status="200",le="0.0025"} 0',
    'holdfast_audit_write_seconds_count{device="file",result="failed"} 1',
    'holdfast_storage_op_seconds_sum{op="commit"} 0.002',
    "holdfast_quota_violations_total 1",
  ]) {
    assert.ok(text.includes(line), line);
  }
});

test("T-O06: nothing that a caller chooses becomes a label, and series stay as few as they are", () => {
  const instruments = new Instruments(sources());
  instruments.requestDone("", "", 999, 0.1);
  instruments.auditWritten("other", "ok", 0.1);
  const before = lines(instruments).length;
  for (let i = 0; i < 100_000; i++) {
    instruments.requestDone(`canary-${i}`, `canary-${i}`, 10_000 + i, 0.1);
    instruments.auditWritten(`canary-${i}`, "ok", 0.1);
  }
  assert.equal(lines(instruments).length, before);
  assert.ok(!instruments.registry.text().includes("canary"));
});
