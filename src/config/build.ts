// From settled values to a Config: what settings mean together, and what does not go together.

import { resolve, join } from "node:path";
import { readRange } from "@holdfast/shared/text/addresses";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import { baseUrl, clusterUrl, isHost, isNetwork, parseHostPort } from "./address.ts";
import { cloudsOf } from "./cloud-config.ts";
import type { AuditDeviceConfig, Config, Directories, SealSettings } from "./config.ts";
import { areasOf, overlaps, writtenFiles } from "./directories.ts";
import { type Complaints, listenerOf } from "./listener-config.ts";
import { pluginsOf } from "./plugin-config.ts";
import { type Place, showPlace } from "./problem.ts";
import type { Settled } from "./schema.ts";
import type { SETTINGS } from "./settings.ts";

export interface Making extends Complaints {
  readonly hostname: string;
  readonly effective: JsonObject;
  /** The first file, for what no line is to blame for. */
  readonly whole: Place | null;
}

type Top = Settled<typeof SETTINGS>;

/** As long as a secondary counts as connected without a word. */
const MIN_PRIMARY_LEASE = 15n * SECOND;
/** A primary is heard of every five seconds, and counts as gone after fifteen. */
const MIN_STALENESS = 30n * SECOND;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function makeConfig(top: Top, making: Making): Config {
  const { values } = top;
  checkNames(top, making);
  checkLifetimes(top, making);
  const path = (file: string) => resolve(making.directory, file);
  const orNull = (file: string | null) => (file === null ? null : path(file));
  const directories = directoriesOf(top, path);
  const storage = values.storage.at(-1);
  const config: Config = {
    apiAddr: apiAddrOf(top, making),
    clusterAddr: clusterAddrOf(top, making),
    clusterPort: clusterPortOf(top, making),
    clusterName: values.cluster_name,
    region: values.region,
    nodeId: values.node_id ?? (making.hostname.replace(/[^A-Za-z0-9._-]/g, "-") || "node"),
    directories,
    storage: {
      type: storage?.type ?? "sqlite",
      maxEntryBytes: storage?.body.values.max_entry_size ?? 2 ** 20,
    },
    listeners: listenersOf(top, making),
    seal: sealOf(top, path, making),
    acl: {
      bootstrap: values.acl.values.bootstrap,
      tokenMinExpirationTtl: values.acl.values.token_min_expiration_ttl,
      tokenMaxExpirationTtl: values.acl.values.token_max_expiration_ttl,
      tokenGcThreshold: values.acl.values.token_gc_threshold,
      anonymousSelf: values.acl.values.anonymous_self,
    },
    policies: {
      overrideNeedsSudo: values.policy_override_requires_sudo,
      trace: !values.disable_policy_trace,
    },
    replication: {
      statusAccess: values.replication.values.status_access,
      logBytes: values.replication.values.wal_retention_bytes,
      logAge: values.replication.values.wal_retention_time,
      maxSecondaries: values.replication.values.max_secondaries,
      acceptFence: values.replication.values.accept_fence,
      operationTokenMaxAge: values.replication.values.operation_token_max_age,
      primaryLease: values.replication.values.primary_lease,
      maxGlobalTokenStaleness: values.replication.values.max_global_token_staleness,
      operationTokenAuth: values.replication.values.operation_token_auth,
      sharedWait: values.replication.values.best_effort_wal_wait,
      forwardsByHeader: values.replication.values.allow_forwarding_via_header,
    },
    defaultLeaseTtl: values.default_lease_ttl,
    maxLeaseTtl: values.max_lease_ttl,
    compat: compatOf(top, making),
    ui: values.ui,
    audit: {
      devices: devicesOf(top, path, making),
      fileRoots:
        values.audit_file_roots.length === 0
          ? [directories.audit]
          : values.audit_file_roots.map(path),
      allowPrefix: values.audit_allow_prefix,
    },
    snapshotRoots:
      values.snapshot_roots.length === 0
        ? [directories.snapshots]
        : values.snapshot_roots.map(path),
    log: {
      level: values.log_level,
      format: values.log_format,
      file: orNull(values.log_file),
      rotateBytes: values.log_rotate_bytes,
      rotateAfter: values.log_rotate_duration,
      rotateKeep: values.log_rotate_max_files,
      requests: values.log_requests_level,
    },
    cacheBytes: values.disable_cache ? 0 : values.cache_size,
    outboundAllow: outboundOf(top, making),
    clouds: cloudsOf(top, making),
    plugins: pluginsOf(top, path, making),
    pidFile: orNull(values.pid_file),
    shutdownTimeout: values.shutdown_timeout,
    effective: making.effective,
  };
  for (const text of overlaps(areasOf(config), writtenFiles(config))) {
    making.problems.push({ place: making.whole, text });
  }
  return config;
}

function checkNames(top: Top, making: Making): void {
  for (const key of ["cluster_name", "region", "node_id"] as const) {
    const name = top.values[key];
    if (name === null || NAME.test(name)) continue;
    complain(top, key, making, "expected letters, digits, dots, dashes and underscores, up to 128");
  }
}

function checkLifetimes(top: Top, making: Making): void {
  const { values } = top;
  if (values.default_lease_ttl > values.max_lease_ttl) {
    const key = top.place("default_lease_ttl") === null ? "max_lease_ttl" : "default_lease_ttl";
    complain(top, key, making, "default_lease_ttl must not be longer than max_lease_ttl");
  }
  const acl = values.acl.values;
  if (acl.token_min_expiration_ttl > acl.token_max_expiration_ttl) {
    const place =
      values.acl.place("token_min_expiration_ttl") ?? values.acl.place("token_max_expiration_ttl");
    const text = "token_min_expiration_ttl must not be longer than token_max_expiration_ttl";
    making.problems.push({ place, text });
  }
  const { primary_lease: lease } = values.replication.values;
  if (lease > 0n && lease < MIN_PRIMARY_LEASE) {
    const place = values.replication.place("primary_lease");
    making.problems.push({ place, text: "primary_lease must be 0s or at least 15s" });
  }
  const { max_global_token_staleness: staleness } = values.replication.values;
  if (staleness > 0n && staleness < MIN_STALENESS) {
    const place = values.replication.place("max_global_token_staleness");
    making.problems.push({ place, text: "max_global_token_staleness must be 0s or at least 30s" });
  }
}

function apiAddrOf(top: Top, making: Making): string | null {
  const text = top.values.api_addr;
  if (text === null) return null;
  const url = baseUrl(text);
  const problem = "expected an address such as https://host:8200, with nothing behind";
  if (url === null) complain(top, "api_addr", making, problem);
  return url;
}

function clusterAddrOf(top: Top, making: Making): string | null {
  const text = top.values.cluster_addr;
  if (text === null) return null;
  const url = clusterUrl(text);
  if (url === null) {
    const problem =
      "expected https://host:port, such as https://a.example:8201: https, a port, and nothing behind";
    complain(top, "cluster_addr", making, problem);
  }
  const hasPort = top.values.listener.some(
    (block) => block.type === "tcp" && block.body.values.cluster_address !== null,
  );
  if (!hasPort) {
    const problem =
      'has no meaning without a cluster port: add cluster_address = "host:8201" to a tcp listener, or leave it out';
    complain(top, "cluster_addr", making, problem);
  }
  return url;
}

function directoriesOf({ values }: Top, path: (file: string) => string): Directories {
  const data = path(values.data_dir);
  const storage = values.storage.at(-1);
  const databaseFile = storage?.type === "sqlite" ? storage.body.values.path : null;
  return {
    data,
    store:
      storage?.type === "memory"
        ? null
        : databaseFile === null
          ? join(data, "store")
          : path(databaseFile),
    server: join(data, "server"),
    audit: join(data, "audit"),
    snapshots: join(data, "snapshots"),
    plugins: values.plugin_directory === null ? null : path(values.plugin_directory),
  };
}

function listenersOf({ values }: Top, making: Making): Config["listeners"] {
  if (values.listener.length === 0) {
    const text =
      'there is no listener; add one, such as listener "tcp" { address = "127.0.0.1:8200" … }';
    making.problems.push({ place: making.whole, text });
  }
  const places = new Map<string, Place>();
  return values.listener.map((block) => {
    const listener = listenerOf(block, making);
    const at = listener.kind === "tcp" ? `${listener.host}:${listener.port}` : listener.path;
    const before = places.get(at);
    if (before !== undefined && !at.endsWith(":0")) {
      const text = `another listener has this address already: ${showPlace(before)}`;
      making.problems.push({ place: block.place, text });
    }
    places.set(at, block.place);
    return listener;
  });
}

function clusterPortOf({ values }: Top, making: Making): Config["clusterPort"] {
  let found: { readonly at: NonNullable<Config["clusterPort"]>; readonly place: Place } | null =
    null;
  for (const block of values.listener) {
    const text = block.type === "tcp" ? block.body.values.cluster_address : null;
    if (block.type !== "tcp" || text === null) continue;
    const place = block.body.place("cluster_address") ?? block.place;
    const at = parseHostPort(text);
    if (at === null) {
      const problem = "expected host:port, such as 0.0.0.0:8201 or [::]:8201";
      making.problems.push({ place, text: `"cluster_address": ${problem}` });
    } else if (found !== null) {
      const problem = `another listener has the cluster port already: ${showPlace(found.place)}`;
      making.problems.push({ place, text: problem });
    } else found = { at, place };
  }
  return found?.at ?? null;
}

function sealOf({ values }: Top, path: (file: string) => string, making: Making): SealSettings {
  const block = values.seal.at(-1);
  if (block === undefined || block.type === "shamir") return { type: "shamir" };
  const { key, key_file: file } = block.body.values;
  if ((key === null) === (file === null)) {
    const text = "a static seal needs either key or key_file";
    making.problems.push({ place: block.place, text });
  }
  if (key !== null) return { type: "static", key };
  return { type: "static", key: { file: path(file ?? ".") } };
}

function compatOf(top: Top, making: Making): boolean {
  const { api, client_aliases: old } = top.values;
  if (old === null) return api.values.compat;
  if (api.place("compat") !== null && api.values.compat !== old) {
    complain(
      top,
      "client_aliases",
      making,
      "is the old name of api.compat, which says the opposite",
    );
  }
  return old;
}

const DEVICE_PATH = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(?:\/[A-Za-z0-9][A-Za-z0-9_.-]{0,127})*$/;

function devicesOf(
  { values }: Top,
  path: (file: string) => string,
  making: Making,
): AuditDeviceConfig[] {
  return values.audit.map(({ type, name, body, place }) => {
    const trimmed = name.replace(/\/$/, "");
    if (!DEVICE_PATH.test(trimmed)) {
      const text = "the path of an audit device has letters, digits, dots, dashes and underscores";
      making.problems.push({ place, text });
    }
    const { local } = body.values;
    const description = body.values.description ?? "";
    const options = new Map(body.values.options);
    const file = options.get("file_path");
    // The server runs where the operator started it, and may be started elsewhere next time.
    if (type === "file" && file !== undefined && file !== "stdout")
      options.set("file_path", path(file));
    return { type, path: trimmed, description, local, options };
  });
}

function outboundOf(top: Top, making: Making): readonly string[] {
  const { outbound_allow: rules } = top.values;
  if (!rules.every((one) => isAllowable(one) || isHost(one))) {
    const text =
      "expected hosts, addresses and networks that are no wider than 10.0.0.0/8 and fc00::/7";
    complain(top, "outbound_allow", making, text);
  }
  return rules;
}

/** Wider ones lie within no range that could be opened, and would be without effect. */
function isAllowable(text: string): boolean {
  const range = readRange(text);
  return range !== null && isNetwork(text) && range.length >= (range.bits === 32 ? 8 : 7);
}

function complain(top: Top, key: keyof typeof SETTINGS, making: Making, text: string): void {
  making.problems.push({ place: top.place(key) ?? making.whole, text: `"${key}": ${text}` });
}
