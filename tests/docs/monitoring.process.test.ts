// docs/operations/monitoring.md and alerts.yaml against what a server really tells.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import type { RuntimeReading } from "../../src/system/runtime-stats.ts";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { Instruments } from "../../src/introspection/instruments.ts";
import { FakeClock } from "../support/fake-world.ts";
import { call } from "../support/http-client.ts";
import { adapted, blocksOf, readPage } from "../support/page.ts";
import { configured, PROGRAM, StartedServer } from "../support/servers/started-server.ts";

const PAGE = readPage("operations/monitoring.md");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const { groups } = parse(readPage("operations/alerts.yaml")) as {
  groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap(({ rules: some }) => some);

/** Selectors of metrics in an expression: name and matchers. */
function selectors(expr: string): { name: string; matchers: string }[] {
  const found = expr.matchAll(/\b((?:holdfast|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = "", matchers = ""]) => ({ name, matchers }));
}

function baseName(name: string, kinds: ReadonlyMap<string, string>): string {
  const [, base = name] = /^(.+)_(?:bucket|count|sum)$/.exec(name) ?? [];
  return kinds.get(base) === "histogram" ? base : name;
}

function kindsIn(text: string): Map<string, string> {
  const found = text.matchAll(/^# TYPE (\S+) (\S+)$/gm);
  return new Map([...found].map(([, name = "", kind = ""]) => [name, kind]));
}

test("the page's listener answers the page's scrape, and page and rules know its metrics", async (t) => {
  const { home, config } = configured(t);
  const [listener] = blocksOf(PAGE).filter(({ kind }) => kind === "hcl");
  const metrics = join(home, "metrics.hcl");
  writeFileSync(metrics, adapted(listener?.text ?? "", [["10.0.0.5:9200", "127.0.0.1:0"]]));
  const command = [PROGRAM, "server", "--config", config, "--config", metrics];
  const server = await new StartedServer(t, home, command).ready();
  const [, scraped = ""] = /addresses="\S+ (\S+)"/.exec(server.log) ?? [];

  const [scrape] = blocksOf(PAGE).filter(({ kind }) => kind === "yaml");
  const { scrape_configs } = parse(scrape?.text ?? "") as {
    scrape_configs: { metrics_path: string; params: { format: string[] } }[];
  };
  const { metrics_path, params } = scrape_configs[0]!;
  const path = `${metrics_path}?format=${params.format.join()}`;
  const { status, text } = await call(scraped, "GET", path);
  assert.equal(status, 200);
  assert.match(text, /^holdfast_seal_state 2$/m);
  assert.equal((await call(scraped, "GET", "/v1/sys/health")).status, 501, "probes come here too");
  assert.equal((await call(scraped, "GET", "/v1/sys/seal-status")).status, 404, "and nothing else");

  const kinds = kindsIn(text);
  const ours = [...kinds.keys()].filter((name) => name.startsWith("holdfast_")).toSorted();
  const listed = [...PAGE.matchAll(/^\| `(holdfast_\w+)` +\|/gm)].map(([, name = ""]) => name);
  assert.deepEqual(listed.toSorted(), ours, "the page lists every metric, and no other");
  for (const { alert, expr } of rules) {
    for (const { name } of selectors(expr)) {
      assert.ok(kinds.has(baseName(name, kinds)), `${alert}: there is no ${name}`);
    }
  }
  assert.equal(await server.stop(), 0);
});

const RUNTIME: RuntimeReading = {
  cpuUser: 1,
  cpuSystem: 1,
  residentBytes: 1,
  heapUsedBytes: 1,
  heapTotalBytes: 1,
  heapLimitBytes: 1,
  externalBytes: 1,
  arrayBufferBytes: 1,
  uptimeSeconds: 1,
  activeResources: 1,
  loopUtilization: 0,
  loopDelay: { mean: 0, p50: 0, p99: 0, max: 0 },
};

/** Every series that the rules choose by a label, after something has gone wrong once. */
function troubled(): string {
  const instruments = new Instruments({
    clock: new FakeClock(),
    version: "1",
    runtime: () => RUNTIME,
    sealState: () => "sealed",
    requestsInFlight: () => 1,
    barrierEncryptions: () => 1,
    barrierIntegrityErrors: () => 1,
    storageIndexes: () => null,
    auditDevicesHealthy: () => 0,
    leases: () => ({ leases: 2, irrevocable: 1 }),
    orphans: () => [{ accessor: "clouda_1", count: 1 }],
    mounted: () => true,
    openDescriptors: () => 1,
    snapshots: () => [],
    automatedSnapshots: () => ({ lastSuccess: 1, failing: 1, spaceUsed: 1 }),
    drills: () => ({
      lastProven: 1,
      failing: 1,
      seconds: 1,
      counts: [{ result: "failed", count: 1 }],
    }),
    replication: () => [
      {
        kind: "dr",
        role: "fenced",
        standIns: [{ region: "region-c", name: "site-d", isReady: false }],
        withheld: [{ id: "region-c", count: 1 }],
        peers: [
          {
            id: "site-b",
            connected: false,
            remoteIndex: 1,
            lagEntries: 1,
            lagSeconds: 100,
            heartbeatAge: 100,
          },
        ],
        resumed: [],
        rows: 0,
        diffSeconds: null,
        checkFailures: 1,
      },
    ],
  });
  instruments.requestDone("read", "kv", 500, 1);
  instruments.auditWritten("file", "failed", 1);
  instruments.storageOp("commit").observe(1);
  instruments.leaseRevoked("failed");
  instruments.engines.declare([cloudaType]);
  const clouda = instruments.engines.of({ type: "clouda", accessor: "clouda_1" });
  clouda.count("static_role_rotations_total", { result: "failed" });
  return instruments.registry.text();
}

test("every alert chooses series that there are", () => {
  const lines = troubled().split("\n");
  for (const { alert, expr } of rules) {
    for (const { name, matchers } of selectors(expr)) {
      const wanted = matchers.split(",").filter((one) => one !== "" && !one.startsWith("job="));
      const fits = (line: string) =>
        (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) &&
        wanted.every((one) => {
          const [, label = "", how, value = ""] = /^(\w+)(=~?)"([^"]*)"$/.exec(one) ?? [];
          const [, found] = new RegExp(`[{,]${label}="([^"]*)"`).exec(line) ?? [];
          if (found === undefined) return false;
          return how === "=~" ? new RegExp(`^(?:${value})$`).test(found) : found === value;
        });
      assert.ok(lines.some(fits), `${alert}: nothing fits ${name}{${matchers}}`);
    }
  }
});

test("every alert is whole, and the page says what it means", () => {
  const explained = [...PAGE.matchAll(/^\| `(Holdfast\w+)` +\|/gm)].map(([, name = ""]) => name);
  assert.deepEqual(
    rules.map(({ alert }) => alert),
    explained,
  );
  for (const { alert, expr, labels, annotations } of rules) {
    assert.match(labels.severity, /^(page|ticket)$/, alert);
    assert.ok(annotations.summary.length > 10, alert);
    const closed = (open: string, close: string) =>
      expr.split(open).length === expr.split(close).length;
    assert.ok(closed("(", ")") && closed("{", "}") && closed("[", "]"), alert);
    assert.match(expr, / (==|>) [\d.]+$/, alert);
  }
});

test("a node that serves nobody wakes somebody, an empty data directory as much as a seal", () => {
  const waking = rules.filter(({ labels }) => labels.severity === "page").map(({ expr }) => expr);
  for (const state of [1, 2])
    assert.ok(waking.includes(`holdfast_seal_state == ${state}`), `${state}`);
});
