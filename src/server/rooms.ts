// The rooms behind the seal, each with what it needs of the others: this is where they meet.

import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { join } from "node:path";
import { SystemAppendFiles } from "../system/append-file.ts";
import type { Log } from "@holdfast/shared/log";
import { Secret } from "@holdfast/shared/secret";
import type { World } from "@holdfast/shared/world";
import { Audit } from "../audit/audit.ts";
import { SystemConnector } from "../audit/devices/connector.ts";
import { placeOf } from "../outbound/address-kinds.ts";
import type { Barrier } from "../barrier/barrier.ts";
import { Browser } from "../browser/browser.ts";
import type { Config } from "../config/config.ts";
import { homeOf } from "../endpoint/parts.ts";
import type { MountRef, NamespaceRef } from "@holdfast/shared/endpoint/request";
import { Router } from "../core/router.ts";
import { Identity } from "../identity/identity.ts";
import type { Instruments } from "../introspection/instruments.ts";
import { VersionHistory } from "../introspection/version-history.ts";
import { Leases } from "../leases/leases.ts";
import { Mounts } from "../mounts/mounts.ts";
import type { MountsOptions } from "../mounts/ports.ts";
import { writeAheadKey } from "../mounts/undo/write-ahead-keys.ts";
import { MountSight } from "../mounts/api/mount-sight.ts";
import { Namespaces } from "../namespaces/namespaces.ts";
import { OutboundCalls } from "../outbound/outbound-calls.ts";
import { CapabilityQueries } from "../policies/inspection/capability-queries.ts";
import { Governing } from "../policies/governing/governing.ts";
import { GoverningPolicies } from "../policies/governing/governing-policies.ts";
import { Policies } from "../policies/policies.ts";
import { Inspection, type InspectionOptions } from "../policies/inspection/inspection.ts";
import { Rights } from "../policies/rights.ts";
import { LeaseQuotas } from "../quotas/lease-quotas.ts";
import { Quotas } from "../quotas/quotas.ts";
import { AuthTokens } from "../tokens/auth/auth-tokens.ts";
import { FairTurns } from "../base/fair-turns.ts";
import { LoginTokens } from "../tokens/auth/login-tokens.ts";
import { methodGone } from "../tokens/acl/view-failures.ts";
import { AclTokens } from "../tokens/acl/acl-tokens.ts";
import { Tokens } from "../tokens/tokens.ts";
import { CubbyholeContents } from "../wrapping/cubbyhole-contents.ts";
import { Wrapping } from "../wrapping/wrapping.ts";
import type { EngineType, MountFacts } from "@holdfast/plugin-sdk/engine";
import type { EnvironmentVariables } from "@holdfast/plugin-sdk/engine-services";
import { declaredDevices } from "./audit-devices.ts";
import { MountedPlaces } from "./rule-places.ts";
import {
  builtInTypes,
  defaultMounts,
  engineSettings,
  fixedMounts,
  typeAliases,
} from "./engine-types.ts";

/** Where an operator puts the number that opens the bootstrap again. */
const BOOTSTRAP_RESET = "acl-bootstrap-reset";

export interface RoomsNeeds {
  readonly config: Config;
  readonly world: World;
  readonly log: Log;
  readonly barrier: Barrier;
  readonly instruments: Instruments;
  readonly version: string;
  readonly buildDate: string;
  readonly dev?: { readonly rootToken: string | null } | undefined;
  /** Empty while sealed. */
  readonly clusterId: () => string;
  readonly devicesHealthy: (devices: number) => void;
  /** Waits for the requests that run at a mount. */
  readonly requestsLeft: MountsOptions["requestsLeft"];
  /** Types of engines beside the built-in ones. */
  readonly engineTypes: readonly EngineType<unknown>[];
  /** Variables of the server's environment, for engines that look there. */
  readonly environment: EnvironmentVariables;
  /** Where clients reach this node, as far as it is known. */
  readonly apiAddress: () => string;
  /** What answers on a path. */
  readonly declared: InspectionOptions["declared"];
  /** The one form of a path. */
  readonly canonical: InspectionOptions["canonical"];
  /** What is looked at of described fields. */
  readonly dataAt: InspectionOptions["dataAt"];
  /** The mount that answers there; null where the server itself does, or nobody. */
  readonly mountAt: (namespace: NamespaceRef, segments: readonly string[]) => MountRef | null;
}

export type Rooms = ReturnType<typeof makeRooms>;

export function makeRooms(given: RoomsNeeds) {
  const { config, world, log, barrier, instruments, version, buildDate, dev } = given;
  const { clock, timers, random, fs } = world;
  const { region } = config;
  const shared = barrier.view("shared/");
  const local = barrier.view("local/");
  const node = barrier.view("core/");

  const turns = new FairTurns({ clock, timers }); // one for all: together they are to take little
  const places = new MountedPlaces({
    mounts: () => mounts,
    namespaces: () => namespaces,
    declared: given.declared,
    canonical: given.canonical,
  });
  const policies = new Policies({ shared, clock, places, turns });
  const governingPolicies = new GoverningPolicies({ shared, clock, timers, places });
  const rights = new Rights({ policies, clock, turns });
  const namespaces: Namespaces = new Namespaces({
    view: shared.sub("namespaces/"),
    spaces: [shared.sub("ns/"), local.sub("ns/")],
    contents: [
      { name: "mounts", wipe: (id) => mounts.wipe(id) },
      { name: "leases", wipe: (id) => leases.wipe(id) },
      { name: "tokens", wipe: async (id) => (await tokens.wipeNamespace(id), true) },
    ],
    residents: [policies],
    pathsTaken: [{ takenBy: (tx, place, name) => mounts.takenBy(tx, place, name) }],
    random,
    timers,
    log: log.child("namespaces"),
  });
  const tokens: Tokens = new Tokens({
    shared,
    local,
    namespaces,
    clock,
    timers,
    random,
    log,
    firstToken: firstTokenOf(dev),
    ending: { ends: (tx, token) => leases.ends(tx, token) },
    logins: {
      isOpen: (uuid) => mounts.isOpen(uuid),
      at: (namespace, prefix) => mounts.loginsAt(namespace, prefix),
    },
    policies,
    lifetimes: {
      least: config.acl.tokenMinExpirationTtl,
      most: config.acl.tokenMaxExpirationTtl,
    },
    gcThreshold: config.acl.tokenGcThreshold,
    bootstrap: config.acl.bootstrap,
    resetFile: { fs, path: join(config.directories.server, BOOTSTRAP_RESET) },
  });
  const outbound = new OutboundCalls({
    allow: config.outboundAllow,
    dev: dev !== undefined,
    timers,
    net: world.net,
  });
  const identity = new Identity({
    view: shared.sub("identity/"),
    clock,
    random,
    apiAddress: given.apiAddress,
  });
  const bearer = ({ namespace, accessor }: MountFacts, kind: "secret" | "auth") => ({
    namespaceId: namespace.id,
    kind,
    accessor,
  });
  const cubbyholes = new CubbyholeContents(local);
  const engineTypes = [...builtInTypes(), ...given.engineTypes];
  instruments.engines.declare(engineTypes);
  const settings = engineSettings(config);
  const mounts: Mounts = new Mounts({
    shared,
    local,
    types: engineTypes,
    fixed: fixedMounts(cubbyholes),
    aliases: typeAliases(config.compat),
    defaults: defaultMounts({ dev: dev !== undefined, clouds: config.clouds.defaultMounts }),
    namespaces,
    leases: {
      revokeMount: (uuid, signal, progress) => leases.revokeMount(uuid, signal, progress),
      countOf: (uuid) => leases.countOf(uuid),
    },
    logins: {
      end: (uuid, signal) =>
        tokens.closing.close(uuid, (token) => leases.revokeOwner(token, signal), signal),
    },
    requestsLeft: given.requestsLeft,
    routes: (endpoints) => new Router(endpoints),
    ttls: { usual: config.defaultLeaseTtl, most: config.maxLeaseTtl },
    services: ({ facts, type, kind }) => ({
      outbound: outbound.for(facts.uuid),
      environment: given.environment,
      settings: settings.get(type) ?? {},
      leases: leases.of(facts),
      identity: { token: (audience, ttl) => identity.token(bearer(facts, kind), audience, ttl) },
      metrics: instruments.engines.of({ type, accessor: facts.accessor }),
    }),
    clock,
    timers,
    random,
    log: log.child("mounts"),
  });
  const leases: Leases = new Leases({
    local,
    mounts,
    owners: { isThere: (tx, owner) => tokens.isThere(tx, owner) },
    isMounted: (namespace, path) => mounts.isMounted(namespace, path),
    logins: {
      endBelow: (namespace, prefix, how) => tokens.closing.endBelow(namespace, prefix, how),
    },
    namespaces,
    writeAheadKey,
    clock,
    timers,
    random,
    log,
    cubbyholes,
    metrics: { revoked: (result) => instruments.leaseRevoked(result) },
    limits: {
      on: (mount, path) => leaseQuotas.on(mount, path),
      refused: () => instruments.quotaViolations.add(),
    },
  });
  const mountSight = new MountSight({ mounts, sight: rights });
  const logins = new LoginTokens({
    tokens,
    mounts,
    clock,
    most: config.acl.tokenMaxExpirationTtl,
  });
  const wrapping = new Wrapping({
    shared: shared.sub("wrapping/"),
    local,
    tokens,
    cubbyholes,
    clock,
    random,
    apiAddress: config.apiAddr ?? "",
    longest: config.maxLeaseTtl,
  });
  const { anonymousSelf } = config.acl;
  const aclTokens = new AclTokens({ tokens, clock, timers, random, region, anonymousSelf });
  const authTokens = new AuthTokens({
    tokens,
    clock,
    life: { usual: config.defaultLeaseTtl, most: config.acl.tokenMaxExpirationTtl },
    turns,
    stillKnows: async (uuid, metadata) => {
      const mount = mounts.byUuid(uuid);
      if (mount === null) throw methodGone();
      return (await mount.type.stillKnows?.(mount.ref.engine, metadata)) ?? true;
    },
    limits: (caller, kept) =>
      rights.limitsOf(caller, kept, namespaces.createdBelow(caller.namespace)),
    isProgram: (namespaceId, name) => policies.kindOf(namespaceId, name) === "rgp",
  });
  const audit = new Audit({
    views: {
      shared: shared.sub("audit/"),
      local: local.sub("audit/"),
      node: node.sub("audit/"),
    },
    clock,
    timers,
    random,
    log: log.child("audit"),
    files: new SystemAppendFiles(),
    connector: new SystemConnector(isAuditTarget),
    places: {
      roots: config.audit.fileRoots,
      forbidden: [config.directories.server, config.directories.snapshots].concat(
        config.directories.store ?? [],
      ),
    },
    allowPrefix: config.audit.allowPrefix,
    cluster: { clusterId: given.clusterId, region },
    declared: declaredDevices(config),
    metrics: {
      wrote: (device, ok, seconds) =>
        instruments.auditWritten(device, ok ? "ok" : "failed", seconds),
      healthy: given.devicesHealthy,
    },
  });
  const governing = new Governing({
    shared,
    namespaces,
    clock,
    timers,
    log: log.child("policies"),
    metrics: {
      evaluated: (kind, seconds) => instruments.programRan(kind, seconds),
      failed: (policy, level) => instruments.policyFailed(policy, level),
      slow: () => instruments.policiesSlow.add(),
    },
    turns,
    headers: () => audit.headers.rules.map(({ name }) => name),
    ...config.policies,
  });
  const capabilityQueries = new CapabilityQueries({
    rights,
    governing,
    tokens,
    namespaces,
    canonical: given.canonical,
    pace: { clock, turns },
  });
  const inspection = new Inspection({
    policies,
    rights,
    governing,
    tokens,
    namespaces,
    declared: given.declared,
    canonical: given.canonical,
    dataAt: given.dataAt,
    homeOf: (namespace, segments) => {
      const mount = given.mountAt(namespace, segments);
      if (mount === null) return { ...homeOf(segments), accessor: "" };
      return { point: mount.path, type: mount.type, accessor: mount.accessor };
    },
    index: () => shared.index,
    clock,
    turns,
  });
  const spelling = (path: string) =>
    places.spellingOf(ROOT_NAMESPACE.id, path.replace(/^\//, "").split("/")).join("/");
  const leaseQuotas: LeaseQuotas = new LeaseQuotas({
    view: shared.sub("quotas/lease-count/"),
    classify: (segments) => placeKind(namespaces, mounts, segments),
    spelling,
    counted: (limit) => leases.counted(limit),
  });
  const quotas = new Quotas({
    view: shared.sub("quotas/"),
    clock,
    classify: (segments) => placeKind(namespaces, mounts, segments),
    spelling,
    onRefusal: () => instruments.quotaViolations.add(),
  });
  const browser = new Browser({ view: shared.sub("browser/"), aliases: aliasHeaders(config) });
  const versions = new VersionHistory({ view: node.sub("versions/"), version, buildDate });

  return {
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
  };
}

/** Dev mode prints a root token and leaves the bootstrap open besides. */
function firstTokenOf(dev: RoomsNeeds["dev"]) {
  if (dev === undefined) return undefined;
  const secret = dev.rootToken === null ? undefined : new Secret(dev.rootToken);
  return { secret, alsoOpen: true };
}

/** A collector of records may well be a neighbour, but is never what a cloud tells its machines secrets by. */
function isAuditTarget(address: string): boolean {
  const kind = placeOf(address)?.kind ?? "unusable";
  return kind === "public" || kind === "private" || kind === "loopback";
}

/** What a path leads to, for quotas: the parts of the server count as mounts. */
function placeKind(namespaces: Namespaces, mounts: Mounts, segments: readonly string[]) {
  const root = namespaces.named("");
  if (root === null) return null;
  const { namespace, taken } = namespaces.resolve(root, segments);
  const rest = segments.slice(taken);
  if (rest.length === 0) return "namespace";
  const mount = mounts.find(namespace, rest);
  if (mount !== null) return rest.length === mount.taken ? "mount" : "inside";
  const { point } = homeOf(rest);
  const path = `${rest.join("/")}/`;
  if (point === "" || !path.startsWith(point)) return null;
  return path === point ? "mount" : "inside";
}

/** Spellings of request headers that other products' clients send. */
function aliasHeaders({ compat }: Config): readonly string[] {
  if (!compat) return [];
  return ["Token", "Namespace", "Wrap-TTL", "Request", "Policy-Override"].map(
    (name) => `X-Vault-${name}`,
  );
}
