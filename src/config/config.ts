// The configuration as the server takes it: typed, with defaults, paths made absolute. Whoever has a
// Config need not doubt any part of it.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { LogLevel } from "@holdfast/shared/log";
import type { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import type { HeaderTable, Table } from "./fields.ts";

export interface Config {
  /** Null: the address of the first listener. */
  readonly apiAddr: string | null;
  /** Null: that of the cluster port. */
  readonly clusterAddr: string | null;
  /** Where the cluster port is; null where there is none. */
  readonly clusterPort: { readonly host: string; readonly port: number } | null;
  /** Null: made up at initialisation. */
  readonly clusterName: string | null;
  readonly region: string;
  readonly nodeId: string;
  readonly directories: Directories;
  readonly storage: StorageConfig;
  readonly listeners: readonly ListenerConfig[];
  readonly seal: SealSettings;
  readonly acl: {
    readonly bootstrap: "open" | "loopback" | "closed";
    readonly tokenMinExpirationTtl: Nanos;
    readonly tokenMaxExpirationTtl: Nanos;
    readonly tokenGcThreshold: Nanos;
    /** Read self without a credential shows the anonymous token, instead of 403. */
    readonly anonymousSelf: boolean;
  };
  readonly policies: {
    /** The override of soft-mandatory policies counts only for callers with `sudo` on the path. */
    readonly overrideNeedsSudo: boolean;
    /** A denial shows which rules of a program failed. */
    readonly trace: boolean;
  };
  readonly replication: {
    /** What its status tells who has no token. */
    readonly statusAccess: "open" | "minimal" | "authenticated";
    /** Of the log that is kept for secondaries. */
    readonly logBytes: number;
    readonly logAge: Nanos;
    /** Of one primary, of each kind. */
    readonly maxSecondaries: number;
    /** Another cluster that proves that it leads is believed. */
    readonly acceptFence: boolean;
    /** 0: they do not end by themselves. */
    readonly operationTokenMaxAge: Nanos;
    /** After which a primary writes nothing without its secondaries; 0: it does. */
    readonly primaryLease: Nanos;
    /** Of shared data, after which global tokens are not taken; 0: they are. */
    readonly maxGlobalTokenStaleness: Nanos;
    /** Whether making one needs a token or a ticket besides shares. */
    readonly operationTokenAuth: "open" | "required";
    /** For what a primary has written to be seen where it was asked for. */
    readonly sharedWait: Nanos;
    /** Headers that ask for the active node are taken. */
    readonly forwardsByHeader: boolean;
  };
  readonly defaultLeaseTtl: Nanos;
  readonly maxLeaseTtl: Nanos;
  /** Aliases for existing clients. */
  readonly compat: boolean;
  readonly ui: boolean;
  readonly audit: {
    readonly devices: readonly AuditDeviceConfig[];
    readonly fileRoots: readonly string[];
    readonly allowPrefix: boolean;
  };
  /** Below these local snapshots may lie; the first is ours to make. */
  readonly snapshotRoots: readonly string[];
  readonly log: LogConfig;
  /** Bytes for decrypted entries; 0 is no cache. */
  readonly cacheBytes: number;
  /** Hosts, addresses and networks. */
  readonly outboundAllow: readonly string[];
  readonly clouds: CloudConfig;
  readonly plugins: PluginConfig;
  readonly pidFile: string | null;
  readonly shutdownTimeout: Nanos;
  /** The same as JSON with the names of the files, without secrets and whatever was substituted. */
  readonly effective: JsonObject;
}

export interface CloudConfig {
  /** Types of engines that initialisation mounts. */
  readonly defaultMounts: readonly string[];
  /** What names of things made outside begin with. */
  readonly namePrefix: string;
  /** Instead of the provider's own: base addresses without a slash at the end. */
  readonly cloudbEndpoints: {
    readonly authority: string;
    readonly graph: string;
    readonly arm: string;
  } | null;
}

export interface PluginConfig {
  /** Who may own their files beside us; null: nobody. */
  readonly fileOwner: number | null;
  /** That files may have though others could write by them. */
  readonly filePermissions: number;
  /** For their sockets; null: where the service has its own, or /tmp. */
  readonly tmpdir: string | null;
  /** Name or number; null: as we do. */
  readonly user: string | null;
  readonly isolation: "auto" | "bwrap" | "none";
  /** Our whole environment goes to them. */
  readonly inheritEnv: boolean;
  /** Names on the system path, or whole paths. */
  readonly ociRuntimes: readonly string[];
  /** Names of those that share no process. */
  readonly withoutMultiplexing: readonly string[];
  /** For one for databases to say what it is, and to close a connection. */
  readonly databaseTimeout: Nanos;
  /** Of a container engine. */
  readonly containerSocket: string | null;
  readonly declared: readonly DeclaredPlugin[];
}

export interface DeclaredPlugin {
  readonly type: "auth" | "database" | "secret";
  readonly name: string;
  /** As it was written; empty: none. */
  readonly version: string;
  readonly sha256: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly ociImage: string;
  readonly runtime: string;
  readonly network: "none" | "host";
}

/** All absolute, none inside another save that `data` may hold the others. */
export interface Directories {
  readonly data: string;
  /** Null with storage in memory. */
  readonly store: string | null;
  readonly server: string;
  readonly audit: string;
  readonly snapshots: string;
  /** Of the files of plugins; null where none are run. Nothing is ever written there. */
  readonly plugins: string | null;
}

export interface StorageConfig {
  readonly type: "sqlite" | "memory";
  readonly maxEntryBytes: number;
}

export type SealSettings =
  | { readonly type: "shamir" }
  | { readonly type: "static"; readonly key: { readonly file: string } | Secret<string> };

export type ListenerConfig = (
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string }
) & {
  /** Reached from this machine only. */
  readonly loopback: boolean;
  readonly tls: TlsConfig | null;
  readonly http2: boolean;
  readonly allowedHosts: readonly string[];
  readonly maxRequestBytes: number;
  readonly maxRequestDuration: Nanos;
  readonly keyCeremonies: "open" | "token" | "off";
  readonly requireRequestHeader: boolean;
  readonly openMetrics: boolean;
  readonly metricsOnly: boolean;
  readonly customResponseHeaders: HeaderTable;
  /** Addresses and networks of proxies. */
  readonly forwardedForFrom: readonly string[];
  readonly limits: {
    readonly headerBytes: number;
    readonly headers: number;
    readonly connections: number;
    readonly connectionsPerAddress: number;
    readonly requestsPerConnection: number;
    readonly tlsHandshake: Nanos;
    readonly header: Nanos;
    readonly body: Nanos;
    readonly answer: Nanos;
    readonly idle: Nanos;
  };
};

export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCaFile: string | null;
  readonly requireClientCert: boolean;
  readonly minVersion: "tls12" | "tls13";
  readonly autoReload: boolean;
}

export interface AuditDeviceConfig {
  readonly type: "file" | "socket" | "syslog";
  readonly path: string; // without slashes at the ends
  readonly description: string;
  readonly local: boolean;
  readonly options: Table;
}

export interface LogConfig {
  readonly level: LogLevel | "off";
  readonly format: "standard" | "json";
  readonly file: string | null;
  readonly rotateBytes: number; // 0 is never
  readonly rotateAfter: Nanos;
  readonly rotateKeep: number; // 0 keeps all
  /** Level at which answered requests are logged. */
  readonly requests: LogLevel | "off";
}
