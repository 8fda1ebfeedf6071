import assert from "node:assert/strict";
import test from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { answering, MANAGEMENT } from "../../tests/support/answering.ts";
import { START } from "../../tests/support/fake-world.ts";
import { madeBarrier } from "../../tests/support/made/made-barrier.ts";
import { Failure } from "@holdfast/shared/failure";
import type { LogThreshold } from "@holdfast/shared/log";
import { Registry } from "../base/metrics.ts";
import { RuntimeStats } from "../system/runtime-stats.ts";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import type { Described } from "../endpoint/openapi.ts";
import { out, type TextBody } from "@holdfast/shared/endpoint/output";
import { type Caller, type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { introspectionApi } from "./api.ts";
import { loggersApi } from "./api-loggers.ts";
import { Introspection, type IntrospectionOptions } from "./introspection.ts";
import { VersionHistory } from "./version-history.ts";

const api = [...introspectionApi, ...loggersApi];
const TEAM: NamespaceRef = { id: "a1", path: "team", created: 1n };
const APPS: NamespaceRef = { id: "a2", path: "team/apps", created: 2n };
const client: Caller = { ...MANAGEMENT, type: "client", policies: ["p"] };

const other = endpointsOf<null>();
const ceremony = other({
  name: "ceremony",
  method: "GET",
  path: "/sys/ceremony",
  summary: "A ceremony",
  access: access.ceremony,
  input: {},
  output: out.nothing,
  handler: () => undefined,
});
const served: readonly Described[] = [
  ...api,
  ceremony,
  { ...ceremony, name: "own", path: "/acl/own", access: access.token },
  { ...ceremony, name: "manage", path: "/acl/all", access: access.management },
];

class SmallLoggers {
  readonly #levels = new Map<string, LogThreshold>([
    ["storage", "info"],
    ["audit", "warn"],
  ]);

  levels(): ReadonlyMap<string, LogThreshold> {
    return this.#levels;
  }

  set(name: string | null, level: LogThreshold): boolean {
    if (name !== null && !this.#levels.has(name)) return false;
    for (const one of name === null ? this.#levels.keys() : [name]) this.#levels.set(one, level);
    return true;
  }

  reset(name: string | null): boolean {
    return this.set(name, "info");
  }
}

async function room(more: Partial<IntrospectionOptions> = {}) {
  const { barrier } = await madeBarrier();
  const versions = new VersionHistory({
    view: barrier.view("core/versions/"),
    version: "1.2.3",
    buildDate: "today",
  });
  await versions.record();
  const stats = new RuntimeStats();
  const reloaded: string[] = [];
  const registry = new Registry();
  registry.counter({ name: "holdfast_things_total", help: "Things." }).add(3);
  const introspection = new Introspection({
    version: "1.2.3",
    registry,
    declarations: () => served,
    sight: {
      reachOf: async (_, namespace) => (prefix) => namespace === TEAM || prefix === "sys/metrics",
    },
    namespaces: { childrenOf: ({ id }) => (id === "root" ? [TEAM] : id === "a1" ? [APPS] : []) },
    configuration: () => ({ cluster_name: "here", listeners: [{ address: "127.0.0.1:8200" }] }),
    reload: (what) => {
      if (what !== "listener") throw new Failure("invalid", "x", "only listener can be reloaded");
      reloaded.push(what);
    },
    node: () => ({
      hostname: "h",
      apiAddress: "https://h:8200",
      clusterAddress: "",
      active: true,
      version: "1.2.3",
    }),
    host: () => stats.host(),
    runtime: () => stats.read(),
    freeBytes: () => null,
    inFlight: () => [
      { id: "r1", began: START, verb: "GET", endpoint: "readThing", address: "192.0.2.1" },
    ],
    loggers: new SmallLoggers(),
    versions,
    ...more,
  });
  return { introspection, ask: answering(introspection, api), reloaded };
}

interface Document {
  readonly paths: Record<string, Record<string, { operationId: string }>>;
}

function documentIn(answer: unknown): Document {
  const { contentType, text } = answer as TextBody;
  assert.equal(contentType, "application/json");
  return JSON.parse(text) as Document;
}

function operations(answer: unknown): string[] {
  const { paths } = documentIn(answer);
  return Object.values(paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
}

test("metrics are text for Prometheus and JSON otherwise", async () => {
  const { ask } = await room();
  const text = (await ask("readMetrics", { format: "prometheus" })) as TextBody;
  assert.equal(text.contentType, "text/plain; version=0.0.4; charset=utf-8");
  assert.equal(
    text.text,
    "# HELP holdfast_things_total Things.\n# TYPE holdfast_things_total counter\nholdfast_things_total 3\n",
  );
  for (const fields of [{}, { format: "json" }, { format: "" }]) {
    const { contentType, text } = (await ask("readMetrics", fields)) as Record<string, string>;
    assert.equal(contentType, "application/json");
    const { metrics } = JSON.parse(text ?? "") as { metrics: { name: string }[] };
    assert.deepEqual(
      metrics.map(({ name }) => name),
      ["holdfast_things_total"],
    );
  }
  await assert.rejects(ask("readMetrics", { format: "xml" }), /format must be one of/);
});

test("without a token the document holds what needs none", async () => {
  const { ask } = await room();
  const document = await ask("readOpenapi");
  assert.deepEqual(operations(document).toSorted(), [
    "ceremony",
    "listUsableNamespaces",
    "readOpenapi",
  ]);
});

test("a management token sees everything, and the document is valid", async () => {
  const { ask } = await room();
  const document = await ask("readOpenapi", {}, { caller: MANAGEMENT });
  assert.deepEqual(operations(document).toSorted(), served.map(({ name }) => name).toSorted());
  const { valid, errors } = await new Validator().validate({ ...documentIn(document) });
  assert.deepEqual(errors ?? [], []);
  assert.equal(valid, true);
});

test("a client token sees what its policies reach", async () => {
  const { ask } = await room();
  const document = await ask("readOpenapi", {}, { caller: client });
  assert.deepEqual(operations(document).toSorted(), [
    "ceremony",
    "listUsableNamespaces",
    "own",
    "readMetrics",
    "readOpenapi",
  ]);
});

test("in a child namespace restricted endpoints are not there, for anybody", async () => {
  const { ask } = await room();
  for (const caller of [MANAGEMENT, client]) {
    const seen = operations(await ask("readOpenapi", {}, { caller, namespace: TEAM }));
    assert.ok(seen.includes("readHaStatus"));
    assert.ok(!seen.includes("readMetrics"));
    assert.ok(!seen.includes("readLoggers"));
  }
});

test("a document made for one caller is never shown to another", async () => {
  const { ask } = await room();
  const sizes = [];
  for (const caller of [MANAGEMENT, null, client, MANAGEMENT, null]) {
    sizes.push(operations(await ask("readOpenapi", {}, { caller })).length);
  }
  assert.equal(sizes[0], sizes[3]);
  assert.equal(sizes[1], sizes[4]);
  assert.ok(sizes[1]! < sizes[2]! && sizes[2]! < sizes[0]!);
});

test("T-N02: whoever sees the same gets the same text, made once, and few of them are kept", async () => {
  const everybody = { ...ceremony, access: access.capability };
  const declared = Array.from({ length: 20 }, (_, i) => ({
    ...everybody,
    name: `one${i}`,
    path: `/sys/one${i}`,
  }));
  const seen = new Set([1]);
  const { introspection } = await room({
    declarations: () => declared,
    sight: { reachOf: async () => (prefix) => seen.has(Number(prefix.slice("sys/one".length))) },
  });
  const ask = (caller: Caller | null) => introspection.openapi(caller, ROOT_NAMESPACE, false);
  const first = await ask(client);
  assert.equal(await ask({ ...client, accessor: "another" }), first);
  assert.equal(await ask(MANAGEMENT), await ask(MANAGEMENT));
  assert.notEqual(await ask(MANAGEMENT), first);
  seen.add(2);
  const changed = await ask(client); // its policies have
  assert.deepEqual(operations(changed), ["one1", "one2"]);
  for (let i = 3; i < 19; i++) {
    seen.add(i);
    await ask(client);
  }
  seen.clear();
  seen.add(1);
  assert.notEqual(await ask(client), first, "it was let go");
  assert.deepEqual(await ask(client), first);
});

test("generic mount paths are asked for where the declarations are, and new ones are seen", async () => {
  let all = served;
  const requested: boolean[] = [];
  const declarations = (_caller: unknown, _namespace: unknown, generic: boolean) => {
    requested.push(generic);
    return all;
  };
  const { ask } = await room({ declarations });
  await ask("readOpenapi", { generic_mount_paths: "true" });
  const before = operations(await ask("readOpenapi")).length;
  assert.deepEqual(requested, [true, false]);
  all = [...served, { ...ceremony, name: "new", path: "/sys/new" }];
  assert.equal(operations(await ask("readOpenapi")).length, before + 1);
});

test("child namespaces are shown to those who may use them", async () => {
  const { ask } = await room();
  const keys = async (caller: Caller | null, namespace: NamespaceRef) =>
    ask("listUsableNamespaces", {}, { caller, namespace });
  assert.deepEqual(await keys(null, ROOT_NAMESPACE), { keys: [] });
  assert.deepEqual(await keys(MANAGEMENT, ROOT_NAMESPACE), { keys: ["team/"] });
  assert.deepEqual(await keys(client, ROOT_NAMESPACE), { keys: ["team/"] });
  assert.deepEqual(await keys(MANAGEMENT, TEAM), { keys: ["apps/"] });
  assert.deepEqual(await keys(client, TEAM), { keys: [] });
});

test("configuration, node, host, running requests and versions are told by their wire names", async () => {
  const { ask } = await room();
  assert.deepEqual(await ask("readSanitizedConfig"), {
    cluster_name: "here",
    listeners: [{ address: "127.0.0.1:8200" }],
  });
  assert.deepEqual(await ask("readHaStatus"), {
    nodes: [
      {
        hostname: "h",
        api_address: "https://h:8200",
        cluster_address: "",
        active_node: true,
        last_echo: null,
        version: "1.2.3",
        performance_standby: false,
      },
    ],
  });
  assert.deepEqual(await ask("readInFlight"), {
    r1: {
      start_time: "2026-01-01T00:00:00Z",
      request_method: "GET",
      endpoint: "readThing",
      client_remote_address: "192.0.2.1",
    },
  });
  assert.deepEqual(await ask("listVersionHistory"), {
    keys: ["1.2.3"],
    key_info: {
      "1.2.3": {
        previous_version: null,
        timestamp_installed: "2026-01-01T00:00:00Z",
        build_date: "today",
      },
    },
  });
  const host = (await ask("readHostInfo")) as Record<string, Record<string, unknown>>;
  assert.deepEqual(Object.keys(host), ["host", "cpu", "memory", "disk", "process"]);
  assert.equal(host["process"]?.["pid"], process.pid);
  assert.deepEqual(host["disk"], { free_bytes: null });
});

test("a part of the configuration is read again, and what there is not is refused", async () => {
  const { ask, reloaded } = await room();
  assert.equal(await ask("reloadConfig", { what: "listener" }), undefined);
  assert.deepEqual(reloaded, ["listener"]);
  await assert.rejects(ask("reloadConfig", { what: "nothing" }), /only listener/);
});

test("levels of logs are read, set and reset, one or all", async () => {
  const { ask } = await room();
  assert.deepEqual(await ask("readLoggers"), { storage: "info", audit: "warn" });
  await ask("writeLogger", { name: "storage", level: "debug" });
  assert.deepEqual(await ask("readLogger", { name: "storage" }), { storage: "debug" });
  await ask("resetLogger", { name: "storage" });
  assert.deepEqual(await ask("readLoggers"), { storage: "info", audit: "warn" });
  await ask("writeLoggers", { level: "error" });
  assert.deepEqual(await ask("readLoggers"), { storage: "error", audit: "error" });
  await ask("resetLoggers");
  assert.deepEqual(await ask("readLoggers"), { storage: "info", audit: "info" });
  await assert.rejects(ask("writeLoggers", { level: "loud" }), /level must be one of debug, info/);
  for (const name of ["readLogger", "resetLogger"]) {
    await assert.rejects(ask(name, { name: "none" }), /no log of this name/);
  }
  await assert.rejects(ask("writeLogger", { name: "none", level: "info" }), /no log of this name/);
});

test("the restricted endpoints are for the root namespace", () => {
  const open = api.filter(({ rootOnly }) => !rootOnly).map(({ path }) => path);
  assert.deepEqual(open.toSorted(), [
    "/sys/ha-status",
    "/sys/internal/specs/openapi",
    "/sys/internal/ui/namespaces",
    "/sys/version-history",
  ]);
});

test("only reading a part of the configuration again needs sudo, and metrics can be opened", () => {
  const sudo = api.filter((one) => one.access.kind === "capability" && one.access.sudo);
  assert.deepEqual(
    sudo.map(({ name }) => name),
    ["reloadConfig"],
  );
  const opened = api.filter(
    (one) => one.access.kind === "capability" && one.access.openTo !== null,
  );
  assert.deepEqual(
    opened.map(({ name, runs, family }) => [name, runs, family]),
    [["readMetrics", "here", "bare"]],
  );
});
