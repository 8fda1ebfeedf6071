// Who gets what: what each room is given of the others, of the store and of the process. This is where they meet;
// a room that is named inside a closure may be built later than the one that asks for it.

import { join } from "node:path";
import { EMPTY, hex } from "@holdfast/shared/bytes";
import { bytesCodec } from "@holdfast/shared/codec";
import { reply } from "@holdfast/shared/endpoint/reply";
import { Secret } from "@holdfast/shared/secret";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { Barrier } from "../barrier/barrier.ts";
import type { View } from "../barrier/view.ts";
import { EXCHANGED_CHAINS, OWN_CHAINS } from "../audit/room.ts";
import { SystemConnector } from "../audit/devices/connector.ts";
import { ENTRY_OVERHEAD } from "../crypto/aead.ts";
import { Router } from "@holdfast/shared/endpoint/router";
import { homeOf } from "../endpoint/parts.ts";
import type { Receipt } from "../evidence/receipts.ts";
import { forwardServices } from "../forwarding/answering.ts";
import type { Room } from "../house/room.ts";
import type { LeaseOrigin } from "../leases/lease.ts";
import type { EndedLease } from "../leases/ports.ts";
import { writeAheadKey } from "../mounts/undo/write-ahead-keys.ts";
import type { NamespaceContents } from "../namespaces/contents.ts";
import { wasThere } from "../namespaces/then.ts";
import { AUDIT_CHECKPOINT, FAILOVER_REHEARSAL, SNAPSHOT_DRILL } from "../signed/kinds.ts";
import { noteLeft } from "../snapshots/restore/left-outside.ts";
import { tellOutside } from "../snapshots/restore/restore-book.ts";
import { storedCluster } from "../seal/status.ts";
import { SystemAppendFiles } from "../system/append-file.ts";
import { SystemSnapshotFiles } from "../system/snapshot-files.ts";
import { SystemWorkFiles } from "../system/work-file.ts";
import { methodGone } from "../tokens/acl/view-failures.ts";
import { renewedWithin } from "../tokens/auth/login-tokens.ts";
import { attentionFacts } from "./attention-facts.ts";
import { declaredDevices, isAuditTarget } from "./audit-devices.ts";
import { engineServices } from "./engine-services.ts";
import { defaultMounts, fixedMounts, typeAliases } from "./engine-types.ts";
import { scratchStores, sealKeyOf } from "./foundations.ts";
import type { Ground } from "./ground.ts";
import { aliasHeaders } from "./listeners.ts";
import { isProgram } from "./plugins/installed-programs.ts";
import { pluginHost } from "./plugins/plugin-host.ts";
import { pluginUses } from "./plugins/plugin-uses.ts";
import type { Rooms, Table } from "./rooms.ts";
import { mountsBeside, sharedPlaces } from "./places/shared-places.ts";
import { isReplacement, takenOver } from "./taken-over.ts";

/** Where an operator puts the number that opens the bootstrap again. */
const BOOTSTRAP_RESET = "acl-bootstrap-reset";
/** What lets in who restores into a server that is not initialised. */
const RESTORE_SECRET = "restore-secret";

export function whoGetsWhat(rooms: Rooms, ground: Ground): Table {
  const { host, store, barrier, running, turns, cubbyholes, places, routing } = ground;
  const { config, world, log, dev, version, buildDate, instruments } = host;
  const { clock, timers, random, fs } = world;
  const { acl } = config;
  const region = () => rooms.seal.region.name;
  const { shared, local, node } = ground.views;
  const over = takenOver(rooms, ground);
  const autoSeal = () => sealKeyOf(config, host.operatorFiles);
  const drMode = () => {
    const { drMode: fixed } = host.standing;
    return fixed === "disabled" ? rooms.replication.replication.mode : fixed;
  };

  const performanceMode = () =>
    drMode() === "secondary" ? "disabled" : rooms.replication.performance.mode;
  /** Whether it reads alone, or not even that. */
  const stopped = () => {
    const { replication, performance, kinds } = rooms.replication;
    const drFenced = replication.status.isStopped;
    const performanceFenced = performance.status.isStopped;
    return {
      fenced: drFenced || performanceFenced || kinds.isCopying,
      drFenced,
      performanceFenced,
    };
  };
  const nowhereFenced = { fenced: false, drFenced: false, performanceFenced: false };
  const isOpen = () => drMode() !== "secondary" && !rooms.replication.kinds.isCopying;
  /** Of the primary that all data is of, else of that of what is shared. */
  const heartbeat = () => {
    const { replication, performance } = rooms.replication;
    return replication.status.heartbeat ?? performance.status.heartbeat;
  };

  return {
    seal: () => ({
      store,
      barrier,
      local,
      region: config.region,
      clock,
      timers,
      random,
      log,
      autoSeal: autoSeal(),
      tokens: {
        get length() {
          return rooms.tokens.tokens.first.length;
        },
        mintFirst: (tx) => rooms.tokens.tokens.first.mintFirst(tx),
        leaveDoorOpen: (tx) => rooms.tokens.tokens.first.leaveDoorOpen(tx),
        mintGenerated: (tx) => rooms.tokens.tokens.first.mintGenerated(tx),
      },
      hooks: ground.hooks,
      clusterName: config.clusterName ?? undefined,
      version,
      buildDate,
      evidenceKey: () => rooms.evidence.evidence.fingerprint,
      health: (sealed) => ({
        removed: false,
        role: host.standing.role,
        drSecondary: drMode() === "secondary",
        ...(sealed ? nowhereFenced : stopped()),
        activeReachable: true,
        // What a sealed cluster is lies behind the seal.
        drMode: sealed && store.initialised ? "unknown" : drMode(),
        performanceMode: sealed && store.initialised ? "unknown" : performanceMode(),
        bootstrapOpen: !sealed && isOpen() && rooms.tokens.tokens.bootstrapOpen,
        heartbeat: sealed ? null : heartbeat(),
        lastProvenRestore: sealed ? null : rooms.snapshots.drills.lastProven,
      }),
    }),

    tokens: () => ({
      shared,
      local,
      namespaces: { byId: (id) => rooms.namespaces.namespaces.byId(id) },
      clock,
      timers,
      random,
      log,
      firstToken: firstTokenOf(dev),
      ending: { ends: (tx, token) => rooms.leases.leases.ends(tx, token) },
      logins: {
        isOpen: (uuid) => rooms.mounts.mounts.isOpen(uuid),
        at: (namespace, prefix) => rooms.mounts.mounts.loginsAt(namespace, prefix),
      },
      policies: {
        kindOf: (namespaceId, name) => rooms.policies.policies.kindOf(namespaceId, name),
      },
      lifetimes: { min: acl.tokenMinExpirationTtl, max: acl.tokenMaxExpirationTtl },
      gcThreshold: acl.tokenGcThreshold,
      left: () => rooms.replication.performance.left,
      bootstrap: acl.bootstrap,
      resetFile: { fs, path: join(config.directories.server, BOOTSTRAP_RESET) },
      turns,
      region,
      source: ground.primary,
      sharedWait: config.replication.sharedWait,
      anonymousSelf: acl.anonymousSelf,
      life: { usual: config.defaultLeaseTtl, max: acl.tokenMaxExpirationTtl },
      mounts: { byUuid: (uuid) => rooms.mounts.mounts.byUuid(uuid) },
      renewLogin: async (uuid, owner, request) => {
        const mount = rooms.mounts.mounts.byUuid(uuid);
        if (mount === null) throw methodGone();
        const { renewLogin } = mount.type;
        if (renewLogin === undefined) return {};
        return renewedWithin(await renewLogin(mount.ref.engine, owner, request), mount);
      },
      limits: (caller, kept) => {
        const below = rooms.namespaces.namespaces.createdBelow(caller.namespace);
        return rooms.policies.rights.limitsOf(caller, kept, below);
      },
      isProgram: (namespaceId, name) => rooms.policies.policies.kindOf(namespaceId, name) === "rgp",
    }),

    namespaces: () => ({
      shared,
      local,
      contents: () => contentsOf(ground.all()),
      isUsed: (tx, id) => rooms.leases.leases.hasAny(tx, id),
      isWithheld: (id) => rooms.replication.kinds.withholdsNamespace(id),
      came: (id) => rooms.mounts.mounts.namespaceCame(id),
      residents: [
        { namespaceCreated: (tx, id) => rooms.policies.policies.namespaceCreated(tx, id) },
      ],
      pathsTaken: [{ takenBy: (tx, place, name) => rooms.mounts.mounts.takenBy(tx, place, name) }],
      random,
      timers,
      log,
    }),

    plugins: () => ({
      shared,
      local,
      clock,
      log,
      node: config.nodeId,
      builtIn: ground.engineTypes.map(({ kind, type, version: own }) => ({
        type: kind,
        name: type,
        version: own,
      })),
      processes: host.plugins,
      host: pluginHost(rooms, ground, { dr: drMode, performance: performanceMode }),
      uses: pluginUses(() => rooms.mounts.mounts),
      ociRuntimes: config.plugins.ociRuntimes,
      isInstalled: async (program) =>
        isProgram(program, host.environment("PATH"), host.operatorFiles),
      declared: config.plugins.declared,
    }),

    mounts: () => ({
      shared,
      local,
      types: ground.engineTypes,
      foreign: rooms.plugins.foreign,
      fixed: fixedMounts(cubbyholes),
      aliases: typeAliases(config.compat),
      defaults: defaultMounts({ dev: dev !== undefined, clouds: config.clouds.defaultMounts }),
      namespaces: rooms.namespaces.namespaces,
      leases: {
        revokeMount: (uuid, signal, progress) =>
          rooms.leases.leases.revokeMount(uuid, signal, progress),
        countOf: (uuid) => rooms.leases.leases.countOf(uuid),
      },
      logins: {
        end: (uuid, signal) => {
          const { leases } = rooms.leases;
          const { closing } = rooms.tokens.tokens;
          return closing.close(uuid, (token) => leases.revokeOwner(token, signal), signal);
        },
        has: (tx, uuid) => rooms.tokens.tokens.closing.has(tx, uuid),
      },
      elsewhere: {
        evacuated: async (leaving, signal) =>
          (await rooms.replication.performance.evacuations?.done(leaving, signal))?.missing ?? [],
        leftOf: (leaving) => rooms.replication.performance.evacuations?.leftOf(leaving) ?? 0,
        tell: () => rooms.replication.performance.upstream?.tell(),
        withholds: (uuid) => rooms.replication.kinds.withholds(uuid),
      },
      requestsLeft: (uuid, max, signal) => running.left(uuid, max, signal),
      routes: (endpoints) => new Router(endpoints),
      ttls: { usual: config.defaultLeaseTtl, max: config.maxLeaseTtl },
      services: engineServices(rooms, ground),
      tookOver: () => rooms.replication.replication.tookOver,
      sharedSince: () => rooms.replication.performance.sharedSince,
      clock,
      timers,
      random,
      log,
      sight: {
        reachOf: (caller, namespace) => rooms.policies.rights.reachOf(caller, namespace),
      },
    }),

    leases: () => ({
      local,
      mounts: rooms.mounts.mounts,
      owners: rooms.tokens.tokens,
      isMounted: (namespace, path) => rooms.mounts.mounts.isMounted(namespace, path),
      goesOnAt: () => rooms.replication.replication.goesOnAt,
      logins: {
        get globalElsewhere() {
          return store.leavesShared;
        },
        endBelow: (namespace, prefix, how) =>
          rooms.tokens.tokens.closing.endBelow(namespace, prefix, how),
      },
      namespaces: rooms.namespaces.namespaces,
      writeAheadKey,
      clock,
      timers,
      random,
      log,
      cubbyholes,
      receipts: (tx, ended, now) => rooms.evidence.receipts.put(tx, receiptOf(ended, now), now),
      metrics: { revoked: (result) => instruments.leaseRevoked(result) },
      limits: {
        on: (mount, path) => rooms.quotas.leaseQuotas.on(mount, path),
        refused: () => instruments.quotaViolations.add(),
      },
    }),

    wrapping: () => ({
      shared,
      local,
      tokens: rooms.tokens.tokens,
      cubbyholes,
      clock,
      random,
      apiAddress: config.apiAddr ?? "",
      longest: config.maxLeaseTtl,
    }),

    identity: () => ({
      shared,
      clock,
      random,
      apiAddress: host.apiAddress,
      clusterId: () => storedCluster(node).id, // the seal says it when everything leads
      hasRegions: () => rooms.replication.performance.hasMembers,
      timers,
      log,
    }),

    policies: () => ({
      shared,
      local,
      clock,
      timers,
      turns,
      log,
      places,
      namespaces: rooms.namespaces.namespaces,
      tokens: rooms.tokens.tokens,
      metrics: {
        evaluated: (kind, seconds) => instruments.programRan(kind, seconds),
        failed: (policy, level) => instruments.policyFailed(policy, level),
        slow: () => instruments.policiesSlow.add(),
      },
      headers: () => rooms.audit.audit.headers.rules.map(({ name }) => name),
      replication: () => ({ dr: drMode(), performance: performanceMode() }),
      ...config.policies,
      region,
      ...routing,
      homeOf: (namespace, segments) => {
        const mount = routing.mountAt(namespace, segments);
        if (mount === null) return { ...homeOf(segments), accessor: "" };
        return { point: mount.path, type: mount.type, accessor: mount.accessor };
      },
    }),

    carried: () => ({
      barrier,
      node,
      held: host.held,
      lineage: () => hex(store.head?.lineage ?? EMPTY),
      isReplacement: () => isReplacement(store),
      isOwnHead: (head) => store.isOwnHead(head),
      evidence: () => rooms.evidence.carried,
      chains: {
        rows: () => rooms.audit.audit.leftChains(),
        to: node.sub(EXCHANGED_CHAINS),
        own: OWN_CHAINS.map((folder) => node.sub(folder)),
      },
      outside: over.carried,
      noteLeft: (tx, left) => noteLeft(tx.on(node.sub("snapshots/")), left, clock.now()),
      tell: (counts) => tellOutside(counts, host.restores, log.child("snapshots")),
      maxRowBytes: config.storage.maxEntryBytes - ENTRY_OVERHEAD,
      timers,
      random,
      log,
    }),

    evidence: () => ({
      node,
      clock,
      timers,
      random,
      log,
      version,
      cluster: storedCluster,
      audit: () => rooms.audit.audit.anchors(),
      position: () => {
        const { head } = store;
        return head === null ? null : { index: head.index, chain: hex(head.chain) };
      },
    }),

    audit: () => ({
      shared,
      local,
      node,
      clock,
      timers,
      random,
      log,
      files: new SystemAppendFiles(),
      connector: new SystemConnector(isAuditTarget),
      places: {
        roots: config.audit.fileRoots,
        forbidden: [config.directories.server, ...config.snapshotRoots].concat(
          config.directories.store ?? [],
          config.directories.plugins ?? [],
        ),
      },
      allowPrefix: config.audit.allowPrefix,
      cluster: { clusterId: () => rooms.seal.keeper.clusterId, region },
      following: () => store.following,
      sharedElsewhere: () => store.leavesShared,
      declared: declaredDevices(config),
      signer: {
        sign: (report, place) =>
          rooms.evidence.evidence.signApart({ kind: AUDIT_CHECKPOINT, ...report }, place),
        hasSigned: (envelope) => rooms.evidence.evidence.hasSigned(envelope),
      },
      wrote: (device, ok, seconds) =>
        instruments.auditWritten(device, ok ? "ok" : "failed", seconds),
    }),

    quotas: () => ({
      shared,
      clock,
      classify: (segments) => places.kindOf(segments),
      spelling: (path) => places.spelled(path),
      counted: (limit) => rooms.leases.leases.counted(limit),
      onRefusal: () => instruments.quotaViolations.add(),
    }),

    browser: () => ({ shared, aliases: aliasHeaders(config) }),

    attention: () => ({
      node,
      facts: attentionFacts(rooms, ground),
      clock,
      timers,
      log,
      reachOf: (caller, namespace) => rooms.policies.rights.reachOf(caller, namespace),
    }),

    introspection: () => ({
      node,
      version,
      buildDate,
      registry: instruments.registry,
      declarations: ground.declarations,
      sight: rooms.policies.rights,
      namespaces: rooms.namespaces.namespaces,
      configuration: host.configuration,
      reload: host.reload,
      nodeFacts: () => ({
        hostname: config.nodeId,
        apiAddress: host.apiAddress(),
        clusterAddress: host.clusterAddress(),
        active: host.standing.role === "active",
        version,
      }),
      host: () => host.runtime.host(),
      runtime: () => host.runtime.read(),
      freeBytes: () =>
        config.directories.store === null ? null : fs.freeBytes(config.directories.store),
      inFlight: () => running.requests,
      loggers: host.loggers,
    }),

    snapshots: () => ({
      store,
      barrier,
      clusterId: () => rooms.seal.keeper.clusterId,
      keyedAt: () => rooms.seal.keeper.keyedAt,
      clock,
      timers,
      random,
      log,
      fs,
      files: new SystemWorkFiles(),
      spoolDirectory: join(config.directories.server, "spool"),
      restoreSecret: join(config.directories.server, RESTORE_SECRET),
      exchange: host.exchange,
      book: host.restores,
      carried: rooms.carried.carried,
      ...over.restored,
      version,
      local,
      node,
      scratch: scratchStores(config, fs),
      mountsOf: (data) => rooms.mounts.mounts.in(data),
      hadNamespace: ({ shared: then }, namespace) => wasThere(then.sub("namespaces/"), namespace),
      signDrill: (tx, report) =>
        rooms.evidence.evidence.signIn(tx, { kind: SNAPSHOT_DRILL, ...report }).id,
      targets: {
        outbound: ground.outbound.for("snapshots"),
        clock,
        timers,
        random,
        environment: host.environment,
        files: host.operatorFiles,
        namedHosts: config.outboundAllow,
        local: {
          files: new SystemSnapshotFiles(),
          places: {
            roots: config.snapshotRoots,
            forbidden: [config.directories.server, ...config.audit.fileRoots].concat(
              config.directories.store ?? [],
              config.directories.plugins ?? [],
            ),
          },
        },
      },
    }),

    replication: () => ({
      store,
      barrier,
      node,
      local,
      clock,
      timers,
      random,
      net: world.net,
      log,
      version,
      // Of the store: the seal says who it is when everything is open, and this begins before.
      cluster: () => storedCluster(node),
      clusterId: () => storedCluster(node).id,
      apiAddress: host.apiAddress,
      clusterAddress: host.clusterAddress,
      port: host.clusterPort,
      house: ground.roleSteps,
      region,
      configuredRegion: config.region,
      followers: ground.followers,
      evacuations: () => rooms.mounts.mounts.evacuations(),
      countLeases: async ({ mount, place, isRevoked }) => {
        const facts = rooms.mounts.mounts.sharedFacts(mount);
        if (facts === null) return 0;
        const own = rooms.leases.leases.of(facts);
        const count = await own.count(place);
        if (isRevoked) await own.revoke(place);
        return count;
      },
      leaving: {
        changed: (mounts) => rooms.mounts.mounts.lookAt(mounts),
        evacuated: (mounts, signal) => rooms.mounts.mounts.evacuated(mounts, signal),
        anew: () => rooms.snapshots.loaded.withhold(),
        lifted: (namespaces) => rooms.namespaces.namespaces.lifted(namespaces),
      },
      utilization: () => host.runtime.recently(),
      filtering: {
        source: sharedPlaces(shared),
        beside: {
          find: (path) => mountsBeside(rooms.namespaces.namespaces, rooms.mounts.mounts).find(path),
        },
      },
      forwarded: () => forwardServices(ground.forwarded()),
      ...config.replication,
      sign: (report) => rooms.evidence.evidence.sign({ kind: FAILOVER_REHEARSAL, ...report }),
      dropAttempts: () => rooms.seal.keeper.dropAttempts(),
      sealKey: () => autoSeal()?.key ?? null,
      takeKeys: async (bundle, options) => {
        const { takeKeys } = await import("../replication/joining/joined-keys.ts");
        const { keeper } = rooms.seal;
        const here = { store, barrier, random };
        const sealKey = autoSeal()?.key ?? null;
        const { generation } = barrier.keysVersion;
        await keeper.undisturbed(async () => {
          options?.signal?.throwIfAborted();
          await takeKeys(bundle, here, sealKey, options);
        });
        // Shares of a root key that is gone would be waited for in vain.
        if (barrier.keysVersion.generation !== generation) await keeper.dropAttempts();
      },
      keeper: rooms.seal.keeper,
      audits: () => {
        const devices = rooms.audit.audit.facts();
        return devices.length === 0 || devices.some(({ healthy }) => healthy);
      },
      declaresAudit: () => config.audit.devices.length > 0,
      exchange: host.exchange,
      wrap: async (data, ttl, context) =>
        reply(undefined, await rooms.wrapping.wrapping.wrap(reply(data), ttl, context, "jwt")),
      wrapAddress: config.apiAddr ?? "",
      isDev: dev !== undefined,
      calls: async () => {
        const { PeerCalls } = await import("../outbound/peer-calls.ts");
        const { outboundAllow: allow } = config;
        return new PeerCalls({ allow, dev: dev !== undefined, timers, net: world.net });
      },
      files: host.operatorFiles,
      carry: (to) => carryNodeRows(node, to),
      outside: over.brought,
    }),
  };
}

/** Of this node and not of its data: reports that were signed, and where the chains of its audit files ended. */
const CARRIED = ["evidence/", "audit/", "versions/"];
const CARRIED_AT_ONCE = 64;

/** To data of other keys, which are here too: each row is sealed anew. */
async function carryNodeRows(from: View, to: Barrier): Promise<void> {
  const next = to.view("core/");
  for (const folder of CARRIED) {
    for (let after: string | undefined; ;) {
      const page = { limit: CARRIED_AT_ONCE, ...(after === undefined ? {} : { after }) };
      const rows = from.records(folder, bytesCodec, page);
      if (rows.length === 0) break;
      await next.write((tx) => {
        for (const { key, value } of rows) tx.put(key, value, bytesCodec);
      });
      after = rows.at(-1)?.key;
    }
  }
}

function receiptOf({ lease, cause, result, requestIds, facts }: EndedLease, now: Instant): Receipt {
  const { role = "", objects = [], goodUntil = null } = facts;
  const isGood = goodUntil !== null && goodUntil > now;
  return {
    lease_id: lease.id,
    namespace_id: lease.namespaceId,
    path: lease.path,
    secret_type: lease.secretType,
    role,
    objects,
    accessor: lease.owner?.accessor ?? "",
    origin: lease.origin === undefined ? null : originOf(lease.origin),
    issued: showTime(lease.issued),
    ended: showTime(now),
    why: cause ?? "expiry",
    result: isGood && result === "ended" ? "expires" : result,
    good_until: isGood ? showTime(goodUntil) : null,
    request_ids: requestIds,
    tries: lease.attempts + 1,
    error: lease.error,
  };
}

function originOf({ namespaceId, mount, name, accessor = "" }: LeaseOrigin): Receipt["origin"] {
  return { namespace_id: namespaceId, mount: mount ?? "", name, accessor };
}

/** What reaches outside goes before the records that it is known by. */
function contentsOf(rooms: readonly Room[]): NamespaceContents[] {
  const outside = rooms.filter(({ wipe }) => wipe?.reachesOutside === true);
  const inside = rooms.filter(({ wipe }) => wipe?.reachesOutside === false);
  return [...outside, ...inside].flatMap(({ name, wipe }) =>
    wipe === undefined ? [] : [{ name, wipe: (id: string) => wipe.run(id) }],
  );
}

/** Dev mode prints a root token and leaves the bootstrap open besides. */
function firstTokenOf(dev: Ground["host"]["dev"]) {
  if (dev === undefined) return undefined;
  const secret = dev.rootToken === null ? undefined : new Secret(dev.rootToken);
  return { secret, alsoOpen: true };
}
