// An audit room over a barrier in memory, with real files below a temporary directory, and requests
// to record. For the tests of the audit room.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Audit, type AuditOptions } from "../../../src/audit/audit.ts";
import type { AuditedRequest } from "../../../src/endpoint/audited.ts";
import { SystemConnector } from "../../../src/audit/devices/connector.ts";
import { SystemAppendFiles } from "../../../src/system/append-file.ts";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { START } from "../fake-world.ts";
import { madeBarrier } from "./made-barrier.ts";

export interface Health {
  readonly writes: { readonly device: string; readonly ok: boolean; readonly seconds: number }[];
  readonly healthy: number[];
}

export async function madeAudit(t: TestContext, changed: Partial<AuditOptions> = {}) {
  const made = await madeBarrier();
  const { world, barrier } = made;
  const root = temporary(t);
  const data = join(root, "audit");
  const store = join(root, "store");
  mkdirSync(store);
  const health: Health = { writes: [], healthy: [] };
  const options: AuditOptions = {
    ...world,
    views: {
      shared: barrier.view("shared/audit/"),
      local: barrier.view("local/audit/"),
      node: barrier.view("core/audit/"),
    },
    files: new SystemAppendFiles(),
    connector: new SystemConnector(() => true),
    places: { roots: [data], forbidden: [store] },
    allowPrefix: false,
    cluster: { clusterId: () => "cluster-id", region: () => "global" },
    declared: [],
    metrics: {
      wrote: (device, ok, seconds) => void health.writes.push({ device, ok, seconds }),
      healthy: (count) => void health.healthy.push(count),
    },
    ...changed,
  };
  const audit = new Audit(options);
  t.after(() => audit.close());
  const file = (name: string) => join(data, name);
  return { ...made, stored: made.store, audit, options, root, data, store, file, health };
}

export type MadeAudit = Awaited<ReturnType<typeof madeAudit>>;

export function temporary(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "holdfast-audit-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function linesOf(path: string): string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Records of requests and responses in a file. */
// oxlint-disable-next-line typescript/no-explicit-any -- looked into by tests, in many ways
export function recordsOf(path: string): any[] {
  return linesOf(path)
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "request" || type === "response");
}

export function aRequest(change: Partial<AuditedRequest> = {}): AuditedRequest {
  return {
    id: "0f5a3c9e-0000-4000-8000-000000000001",
    time: START,
    operation: "update",
    namespace: ROOT_NAMESPACE,
    path: CanonicalPath.parse("/secret/data/x"),
    rawPath: null,
    mountPoint: "secret/",
    mountType: "kv",
    caller: {
      accessor: "accessor-of-ci",
      type: "client",
      name: "ci",
      policies: ["app"],
      namespace: ROOT_NAMESPACE,
      global: false,
      created: START,
      expires: START + 3_600_000_000_000n,
    },
    credential: "token-of-ci",
    data: { data: { password: "hunter2" } },
    remote: { address: "127.0.0.1", port: 51_234, loopback: true },
    wrapTtl: null,
    policyOverride: false,
    decision: { allowed: true, granting: [{ name: "app", namespaceId: "root" }] },
    header: () => undefined,
    ...change,
  };
}
