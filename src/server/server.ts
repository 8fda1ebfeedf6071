// The composition root: builds every room, in order, and puts them together; nothing else does.

import { SECOND } from "@holdfast/shared/text/duration";
import { describe, type Failure } from "@holdfast/shared/failure";
import { reloadFailed, reloadUnknown } from "./failures.ts";
import type { Log, LogDial } from "@holdfast/shared/log";
import { RuntimeStats } from "../system/runtime-stats.ts";
import type { Fs, World } from "@holdfast/shared/world";
import type { Audit } from "../audit/audit.ts";
import { auditApi } from "../audit/api.ts";
import { Barrier } from "../barrier/barrier.ts";
import type { Tx } from "../barrier/view.ts";
import { browserApi } from "../browser/api.ts";
import type { Config } from "../config/config.ts";
import { Pipeline } from "../core/pipeline.ts";
import { Running } from "../core/running.ts";
import { access, type Capability } from "@holdfast/shared/endpoint/access";
import type { Operation } from "@holdfast/shared/endpoint/request";
import { type Served, serve } from "@holdfast/shared/endpoint/endpoint";
import { type Bound, HttpServer } from "../http/server.ts";
import { identityApi } from "../identity/api.ts";
import { introspectionApi } from "../introspection/api.ts";
import { loggersApi } from "../introspection/api-loggers.ts";
import { Instruments } from "../introspection/instruments.ts";
import { Introspection } from "../introspection/introspection.ts";
import { TimedEngine } from "../introspection/timed-engine.ts";
import { leasesApi, olderLeasesApi } from "../leases/api.ts";
import { mountsApi } from "../mounts/api/api.ts";
import { mountViewsApi } from "../mounts/api/api-views.ts";
import type { Mounts } from "../mounts/mounts.ts";
import type { Namespaces } from "../namespaces/namespaces.ts";
import { namespacesApi } from "../namespaces/api.ts";
import { aclViewsApi } from "../policies/api-acl-views.ts";
import { capabilitiesApi } from "../policies/inspection/api-capabilities.ts";
import { governingApi } from "../policies/governing/api-governing.ts";
import { inspectionApi } from "../policies/inspection/api-inspect.ts";
import { olderPoliciesApi, policiesApi } from "../policies/api.ts";
import type { Policies } from "../policies/policies.ts";
import { quotasApi } from "../quotas/api.ts";
import { leaseQuotasApi } from "../quotas/api-lease-count.ts";
import { ceremonyApi } from "../seal/ceremonies/api-ceremonies.ts";
import { nodeApi } from "../seal/api-node.ts";
import { sealApi, type SealServices } from "../seal/api.ts";
import { SealKeeper } from "../seal/keeper.ts";
import type { StorageEngine } from "../storage/engines/engine.ts";
import { Store } from "../storage/store.ts";
import { Trimmer } from "../storage/trimming.ts";
import { authTokenApi } from "../tokens/auth/api-auth-token.ts";
import { tokensApi } from "../tokens/acl/api.ts";
import type { AclTokens } from "../tokens/acl/acl-tokens.ts";
import { AddressLimit } from "../tokens/address-limit.ts";
import type { Tokens } from "../tokens/tokens.ts";
import { wrappingApi } from "../wrapping/api.ts";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { declaredDevices } from "./audit-devices.ts";
import { DescribedMounts } from "./described-mounts.ts";
import { makeServerDirectory, openEngine, sealKeyOf } from "./foundations.ts";
import { inEffect, openDescriptors } from "./in-effect.ts";
import { listenerSettings, responseHeaders } from "./listeners.ts";
import { LogLevels } from "./log-levels.ts";
import { Opening } from "./opening.ts";
import { makeRooms } from "./rooms.ts";

export { exitCodeOf } from "./foundations.ts";

/** Running requests have this long to end when the node seals. */
const SEAL_GRACE = 10n * SECOND;

export interface ServerParts {
  readonly world: World;
  readonly log: Log;
  readonly version: string;
  readonly buildDate: string;
  /** Development mode: insecure by definition. A root token may be chosen. */
  readonly dev?: { readonly rootToken: string | null };
  /** How much the log tells; turned by sys/loggers. */
  readonly dial: LogDial;
  /** Files that operators put there for us (certificates, keys): links are followed, as secrets of a
   *  container platform are links. Default: the world's. */
  readonly operatorFiles?: Fs;
  /** Does what SIGHUP does. Default: only certificates and audit files can be read again. */
  readonly reload?: () => Promise<void>;
  /** Default: the one that the configuration names. */
  readonly engine?: StorageEngine;
  /** Types of engines beside the built-in ones. Default none. */
  readonly engineTypes?: readonly EngineType<unknown>[];
  /** Variables that engines look for: of the process, or of a test. Default none. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Server {
  readonly keeper: SealKeeper;
  readonly tokens: Tokens;
  readonly policies: Policies;
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly audit: Audit;
  readonly endpoints: readonly Served[];
  /** http(s)://host:port of each listener, as it was bound. */
  readonly addresses: readonly string[];
  readonly store: Store;
  /** Resolves with the cause when the storage fails; never otherwise. */
  readonly failed: Promise<unknown>;
  /** Takes over what can change while the server runs; gives the problems, in words. */
  reload(config: Config): Promise<readonly string[]>;
  /** Takes no more requests, lets running ones end, flushes audit, seals. */
  stop(): Promise<void>;
}

export async function openServer(config: Config, parts: ServerParts): Promise<Server> {
  const { world, log, version, buildDate, dev } = parts;
  const { clock, timers, random, fs } = world;
  const { operatorFiles = fs } = parts;
  let current = config;
  const bound: Bound[] = [];
  const apiAddress = () => config.apiAddr ?? bound[0]?.url ?? "";

  // --- the ground ---
  const runtime = new RuntimeStats();
  const running = new Running(clock, timers);
  const instruments = new Instruments({
    clock,
    version,
    runtime: () => runtime.read(),
    sealState: () =>
      !keeper.initialised ? "uninitialised" : keeper.sealed ? "sealed" : "unsealed",
    requestsInFlight: () => running.count,
    openDescriptors: () => openDescriptors(fs),
    barrierEncryptions: () => (keeper.sealed ? null : keeper.keyStatus.encryptions),
    barrierIntegrityErrors: () => barrier.integrityErrors,
    storageIndexes: () =>
      store.initialised ? { last: store.index, oldest: store.tail?.first ?? null } : null,
    auditDevicesHealthy: () => healthyDevices,
    leases: () => (keeper.sealed ? null : leases.total),
    orphans: () => (keeper.sealed ? [] : mounts.orphanCounts()),
    mounted: (accessor) => mounts.hasAccessor(accessor),
  });
  let healthyDevices: number | null = null;
  makeServerDirectory(config, world, log);
  const engine = new TimedEngine(parts.engine ?? (await openEngine(config, world)), clock, {
    get: instruments.storageOp("get"),
    scan: instruments.storageOp("scan"),
    commit: instruments.storageOp("commit"),
  });
  const store = new Store({
    engine,
    clock,
    timers,
    log: log.child("storage"),
    maxEntryBytes: config.storage.maxEntryBytes,
  });
  const { cacheBytes } = config;
  const barrier = new Barrier({
    store,
    clock,
    timers,
    random,
    log: log.child("barrier"),
    cacheBytes,
  });
  const trimmer = new Trimmer(
    store,
    world,
    () => ({}),
    (error) => log.error("could not trim the log", { cause: describe(error) }),
  );

  // --- rooms ---
  const {
    policies,
    rights,
    governing,
    governingPolicies,
    capabilityQueries,
    inspection,
    namespaces,
    identity,
    outbound,
    mounts,
    mountSight,
    leases,
    logins,
    wrapping,
    tokens,
    aclTokens,
    authTokens,
    audit,
    quotas,
    leaseQuotas,
    browser,
    versions,
  } = makeRooms({
    config,
    world,
    log,
    barrier,
    instruments,
    version,
    buildDate,
    dev,
    engineTypes: parts.engineTypes ?? [],
    environment: (name) => variableOf(parts.environment ?? {}, name),
    apiAddress,
    requestsLeft: (uuid, most, signal) => running.left(uuid, most, signal),
    clusterId: () => keeper.clusterId,
    devicesHealthy: (devices) => {
      healthyDevices = devices;
    },
    declared: (namespace, segments, operation) =>
      pipeline.routing.declared(namespace, segments, verbFor(operation)),
    canonical: (namespace, segments) => pipeline.routing.canonical(namespace, segments),
    mountAt: (namespace, segments) => pipeline.routing.mountAt(namespace, segments),
    dataAt: (namespace, segments, operation, fields) =>
      pipeline.routing.dataAt(namespace, segments, verbFor(operation), fields),
  });

  // --- the seal, and what opens behind it ---
  const opening = new Opening([
    { open: () => mounts.expect() }, // deletions of namespaces begin at once, and need them
    namespaces,
    tokens,
    aclTokens,
    wrapping,
    identity,
    mounts,
    leases,
    { open: () => mounts.start(), close: () => mounts.stop() },
    { open: () => {}, close: () => rights.close() },
    { open: () => {}, close: () => governing.close() },
    audit,
    quotas,
    leaseQuotas,
    browser,
    versions,
    { open: () => trimmer.start(), close: () => trimmer.stop() },
  ]);
  const keeper: SealKeeper = new SealKeeper({
    store,
    barrier,
    clock,
    timers,
    random,
    log,
    autoSeal: sealKeyOf(config, operatorFiles),
    tokens: tokens.first,
    hooks: {
      created: (tx: Tx) => {
        tokens.first.created(tx);
        policies.created(tx);
        mounts.created(tx);
      },
      opened: () => {
        barrier.activate();
        return opening.open();
      },
      closing: async () => {
        aclTokens.close(); // queries that wait for a change would be waited for
        const stopped = mounts.stop(); // and so would requests that wait for a mount to go
        const left = await running.drained(SEAL_GRACE);
        await stopped;
        if (left > 0) log.warn("sealing while requests still run", { requests: left });
        await opening.close();
      },
    },
    clusterName: config.clusterName ?? undefined,
    version,
    buildDate,
  });
  const desk: SealServices = {
    keeper,
    clock,
    health: () => ({
      removed: false,
      initialised: keeper.initialised,
      sealed: keeper.sealed,
      drSecondary: false,
      role: "active",
      activeReachable: true,
      drMode: "disabled",
      performanceMode: "disabled",
      region: config.region,
      lastWal: store.initialised ? store.index : 0n,
      bootstrapOpen: !keeper.sealed && tokens.bootstrapOpen,
    }),
  };
  const introspection = new Introspection({
    version,
    registry: instruments.registry,
    declarations: (caller, namespace, generic) =>
      caller === null ? endpoints : described.in(namespace, generic),
    sight: rights,
    namespaces,
    configuration: () => inEffect(current),
    reload: (what) => reloadPart(what),
    node: () => ({
      hostname: config.nodeId,
      apiAddress: apiAddress(),
      clusterAddress: config.clusterAddr ?? "",
      active: true,
      version,
    }),
    host: () => runtime.host(),
    runtime: () => runtime.read(),
    freeBytes: () =>
      config.directories.store === null ? null : fs.freeBytes(config.directories.store),
    inFlight: () => running.requests,
    loggers: new LogLevels(parts.dial, () => current.log.level),
    versions,
  });

  // --- the way in ---
  const endpoints: readonly Served[] = [
    ...serve(desk, sealApi),
    ...serve(desk, nodeApi),
    ...serve(desk, ceremonyApi),
    ...tokenEndpoints(aclTokens),
    ...serve(authTokens, authTokenApi),
    ...serve(namespaces, namespacesApi),
    ...serve(mounts, mountsApi),
    ...serve(mountSight, mountViewsApi),
    ...serve(leases, leasesApi),
    ...serve(leases, olderLeasesApi),
    ...serve(wrapping, wrappingApi),
    ...serve(identity, identityApi),
    ...serve(policies, policiesApi),
    ...serve(governingPolicies, governingApi),
    ...serve(policies, olderPoliciesApi),
    ...serve(capabilityQueries, capabilitiesApi),
    ...serve(inspection, inspectionApi),
    ...serve({ policies, region: config.region }, aclViewsApi),
    ...serve(audit, auditApi),
    ...serve(quotas, quotasApi),
    ...serve(leaseQuotas, leaseQuotasApi),
    ...serve(browser, browserApi),
    ...serve(introspection, introspectionApi),
    ...serve(introspection, loggersApi),
  ];
  const described = new DescribedMounts({ mounts, own: endpoints });
  const pipeline: Pipeline = new Pipeline({
    endpoints,
    node: {
      get initialised() {
        return keeper.initialised;
      },
      get sealed() {
        return keeper.sealed;
      },
      drSecondary: false,
      get index() {
        return store.index;
      },
    },
    tokens: {
      find: (secret) => wrapping.find(secret), // a wrapping token may come as a JWT
      hasExpired: (secret) => tokens.hasExpired(secret),
      use: (caller) => tokens.use(caller),
      spent: (caller) => tokens.spent(caller),
    },
    namespaces,
    mounts,
    leases,
    logins,
    wrapping,
    decisions: rights,
    governance: governing,
    audit,
    quotas,
    attempts: new AddressLimit({ clock }),
    running,
    timers,
    clock,
    log: log.child("core"),
  });
  const requests = log.child("request");
  const http = new HttpServer({
    core: pipeline,
    clock,
    timers,
    random,
    fs: operatorFiles,
    log: log.child("http"),
    browser,
    compat: config.compat,
    ui: config.ui,
    apiAddress: config.apiAddr,
    observe: ({ operation, mountType, status, nanos }) => {
      const seconds = Number(nanos) / 1e9;
      instruments.requestDone(operation ?? "", mountType, status, seconds);
      const { requests: level } = current.log;
      if (level !== "off") {
        requests[level]("answered", { operation: operation ?? "", status, ms: seconds * 1e3 });
      }
    },
  });

  async function reloadPart(what: string): Promise<void> {
    const problems =
      what === "listener" ? await http.reload() : what === "audit" ? await audit.reload() : null;
    if (problems === null) {
      if (what !== "all" || parts.reload === undefined)
        throw unknownPart(parts.reload !== undefined);
      return parts.reload();
    }
    if (problems.length > 0) throw reloadFailed(problems.join("; "));
  }

  const stop = async (): Promise<void> => {
    aclTokens.close();
    await mounts.stop(); // what was begun goes on after the next start
    await http.close(current.shutdownTimeout);
    await keeper.seal();
    outbound.close(); // engines are closed by now
    runtime.stop();
    await store.close();
  };
  try {
    await keeper.start();
    for (const listener of config.listeners) {
      bound.push(await http.listen(listenerSettings(listener)));
    }
  } catch (error) {
    await stop();
    throw error;
  }
  runtime.start();
  return {
    keeper,
    tokens,
    policies,
    namespaces,
    mounts,
    audit,
    endpoints,
    addresses: bound.map(({ url }) => url),
    store,
    failed: store.failed,
    reload: async (next) => {
      current = next;
      for (const [at, listener] of next.listeners.entries()) {
        bound[at]?.setResponseHeaders(responseHeaders(listener));
      }
      const problems = [...(await http.reload())];
      if (!keeper.sealed) problems.push(...(await audit.reload(declaredDevices(next))));
      return problems;
    },
    stop,
  };
}

/** The switch `anonymous_self` opens one of them to callers without a credential. */
function tokenEndpoints(desk: AclTokens): Served[] {
  const endpoints = serve(desk, tokensApi);
  if (!desk.anonymousSelf) return endpoints;
  return endpoints.map((endpoint) =>
    endpoint.name === "readSelfToken" ? { ...endpoint, access: access.openWithCaller } : endpoint,
  );
}

/** An empty one counts as none; names of a prototype are none. */
/** What a request for that capability is, on the wire. */
function verbFor(capability: Exclude<Capability, "sudo">): Operation {
  if (capability === "create") return "update";
  return capability === "scan" ? "list" : capability;
}

function variableOf(
  variables: Readonly<Record<string, string | undefined>>,
  name: string,
): string | null {
  return (Object.hasOwn(variables, name) ? variables[name] : undefined) || null;
}

function unknownPart(all: boolean): Failure {
  const known = ["listener", "audit", ...(all ? ["all"] : [])].join(", ");
  return reloadUnknown(`what can be reloaded: ${known}`);
}
