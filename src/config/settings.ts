// Every setting of the server: the one table from which the reader, its refusals, the defaults and
// docs/operations/configuration.md derive. What a setting does is not decided here.

import {
  count,
  duration,
  flag,
  headers,
  list,
  listOr,
  oneOf,
  secret,
  size,
  table,
  text,
  textOr,
} from "./fields.ts";
import { PLUGIN_SETTINGS } from "./plugin-settings.ts";
import { absent, blocks, section } from "./schema.ts";

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

const LEVELS = ["debug", "info", "warn", "error", "off"] as const;
const LEASES = { from: "1s", to: "87600h" }; // ten years

const storageFields = {
  max_entry_size: size("Largest value that is stored", MIB, { from: 4 * KIB, to: 8 * MIB }),
};

// The limits are those that a hostile client is held to; each has a default that nobody needs to change.
const listenerFields = {
  allowed_hosts: list(
    "Names in the `Host` header that are ours beside the address and `api_addr`. When set, any other is refused with 421; on loopback that holds always",
    "none",
  ),
  max_request_size: size("Largest body of a request", MIB, { from: 4 * KIB, to: 32 * MIB }),
  max_request_duration: duration("Longest time for a request", "90s", { from: "1s", to: "1h" }),
  max_request_json_strings: absent(
    "bodies have fixed limits on depth, keys, elements and tokens; max_request_size is the one to set",
  ),
  key_ceremonies: oneOf(
    "Who may start and feed generate-root and rekey: callers on this machine (not through a proxy) without a token, only callers with a token, or nobody",
    ["open", "token", "off"],
    null,
    "`open` on loopback and Unix sockets, else `token`",
  ),
  require_request_header: flag(
    "Refuse requests without `X-Service-Request: true`, which no web page can send unasked",
    false,
  ),
  telemetry: section("Metrics on this listener", {
    unauthenticated_metrics_access: flag("`sys/metrics` needs no token here", false),
    metrics_only: flag("Only `sys/metrics` and `sys/health` are answered here", false),
  }),
  custom_response_headers: headers(
    'Headers added to answers, by status: `"default"`, a class such as `"4xx"`, or a number',
    { reloads: true },
  ),
  max_header_size: size("All headers of a request", 16 * KIB, { from: KIB, to: 64 * KIB }),
  max_headers: count("Number of headers of a request", 64, { from: 8, to: 256 }),
  max_connections: count("Connections at a time", 12_000, { from: 1, to: 1_000_000 }),
  max_requests_per_connection: count("Requests on one connection before it is closed", 1000, {
    from: 1,
    to: 1_000_000,
  }),
  header_timeout: duration("From the first byte to complete headers", "10s", {
    from: "100ms",
    to: "10m",
  }),
  body_timeout: duration(
    "From complete headers to a complete body; a snapshot needs 64 KiB a second: what it is slower adds up, what it is faster makes up for that, and at this much it ends (408)",
    "30s",
    {
      from: "100ms",
      to: "1h",
    },
  ),
  answer_timeout: duration("Longest time for which a client reads nothing of an answer", "60s", {
    from: "100ms",
    to: "1h",
  }),
  idle_timeout: duration("Between two requests on a connection", "30s", {
    from: "100ms",
    to: "1h",
  }),
};

const tcpFields = {
  address: textOr("Host and port; an IPv6 address in brackets", "127.0.0.1:8200"),
  cluster_address: text(
    "Host and port where other clusters of a replication set come in; one listener has it",
    "none: this cluster cannot be a primary of others",
  ),
  tls_cert_file: text("Certificate chain in PEM, our own certificate first", "none", {
    reloads: true,
  }),
  tls_key_file: text("Private key of the certificate in PEM", "none", { reloads: true }),
  tls_client_ca_file: text("Authorities whose client certificates are accepted, in PEM", "none", {
    reloads: true,
  }),
  tls_require_and_verify_client_cert: flag("Refuse clients without such a certificate", false),
  tls_min_version: oneOf("Oldest version of TLS", ["tls12", "tls13"], "tls12"),
  tls_disable: flag("Plain HTTP. Without it a listener needs a certificate", false),
  tls_auto_reload: flag("Look for new certificate files every 30 s", false),
  tls_handshake_timeout: duration("For the handshake of TLS", "10s", { from: "100ms", to: "10m" }),
  http2: flag("Offer HTTP/2 beside HTTP/1.1 (needs TLS)", false),
  x_forwarded_for_authorized_addrs: list(
    "Addresses and networks of proxies whose `X-Forwarded-For` is believed",
    "none",
  ),
  proxy_protocol_behavior: absent("the PROXY protocol; x_forwarded_for_authorized_addrs is there"),
  proxy_protocol_authorized_addrs: absent("the PROXY protocol"),
  max_connections_per_address: count(
    "Connections at a time from one address, and ten times as many from this machine",
    200,
    {
      from: 1,
      to: 1_000_000,
    },
  ),
  ...listenerFields,
};

const unixFields = {
  address: text(
    "Path of the socket; the file must be in a directory that others cannot write",
    "–",
  ),
  ...listenerFields,
};

const auditFields = {
  description: text("For people", "none"),
  local: flag("Not carried over to replicas", false),
  options: table("Options of the device, as in `sys/audit`", { reloads: true }),
};

export const SETTINGS = {
  api_addr: text(
    "Where clients reach this node: `https://host:port`",
    "the address of the first listener",
    { env: "HOLDFAST_API_ADDR" },
  ),
  cluster_addr: text(
    "Where other clusters are told to reach the cluster port: `https://host:port`; needs `cluster_address`",
    "`cluster_address`",
    { env: "HOLDFAST_CLUSTER_ADDR" },
  ),
  cluster_name: text("Name of the cluster, given at initialisation", "`holdfast-` and 8 digits"),
  region: textOr(
    "Name of the region that this cluster is, given at initialisation; what is stored counts",
    "global",
  ),
  node_id: text("Name of this node", "the name of the host"),
  data_dir: textOr("Directory of everything that the server keeps", "./data", {
    env: "HOLDFAST_DATA_DIR",
  }),

  storage: blocks(
    "Where data is kept",
    { labels: 1, repeat: "last" },
    {
      sqlite: section("Embedded and durable: the default", {
        path: text("Directory of the store", "`store` in `data_dir`"),
        ...storageFields,
      }),
      memory: section("Gone with the process", storageFields),
      etcd: absent('clusters of several nodes on etcd; storage "sqlite" {} is there'),
      raft: absent('an engine of that kind; storage "sqlite" {} is durable and needs no peers'),
      file: absent('an engine of that kind; storage "sqlite" {} is one'),
      postgresql: absent('an engine of that kind; storage "sqlite" {} is there'),
    },
  ),

  listener: blocks(
    "Where requests are taken; at least one",
    { labels: 1, repeat: "each" },
    {
      tcp: section("A TCP port", tcpFields),
      unix: section("A Unix socket, without TLS", unixFields),
    },
  ),

  seal: blocks(
    "What protects the root key",
    { labels: 1, repeat: "last" },
    {
      shamir: section("Shares of operators: the default", {}),
      static: section("A key of 32 bytes, in hex or base64 (a file may hold it raw)", {
        key: secret("The key, from the environment or a file"),
        key_file: text("A file with the key", "none"),
      }),
      transit: absent("a seal of that kind; shamir and static are there"),
      awskms: absent("a seal of that kind; shamir and static are there"),
      azurekeyvault: absent("a seal of that kind; shamir and static are there"),
      gcpckms: absent("a seal of that kind; shamir and static are there"),
      pkcs11: absent("a seal of that kind; shamir and static are there"),
    },
  ),

  acl: section("Tokens", {
    bootstrap: oneOf(
      "Who may use an open bootstrap: anyone, callers on loopback, nobody",
      ["open", "loopback", "closed"],
      "open",
    ),
    token_min_expiration_ttl: duration(
      "Shortest lifetime that a token of `acl/token` can be given; `auth/token/create` and logins may give less",
      "1m",
      LEASES,
    ),
    token_max_expiration_ttl: duration(
      "Longest lifetime that a token can be given; one that management makes without any never expires",
      "24h",
      LEASES,
    ),
    token_gc_threshold: duration("How long an expired token stays listed", "1h", {
      from: "1m",
      to: "8760h",
    }),
    anonymous_self: flag("Answer `acl/token/self` without a token by the anonymous one", false),
    enabled: absent("switching tokens and policies off: they are always on"),
    replication_token: absent("a token for replication: regions are clusters, which need none"),
  }),
  policy_override_requires_sudo: flag(
    "`X-Service-Policy-Override` counts only for callers with `sudo` on the path",
    false,
  ),
  disable_policy_trace: flag(
    "A denial by an RGP or EGP names the policy and does not show which of its rules failed",
    false,
  ),
  default_lease_ttl: duration("Lifetime of a lease for which none was asked", "768h", LEASES),
  max_lease_ttl: duration("Longest lifetime of a lease", "768h", LEASES),

  api: section("The HTTP API", {
    compat: flag("Header and path aliases for existing clients", true),
  }),
  client_aliases: flag("Old name of `api.compat`", null, "none"),
  ui: flag("Serve a page with the server's state under `/ui/`", true, { env: "HOLDFAST_UI" }),

  audit: blocks(
    "Audit devices that the API cannot change; the second label is the path",
    { labels: 2, repeat: "name" },
    {
      file: section("Appends to a file", auditFields),
      socket: section("Sends to a socket", auditFields),
      syslog: section("Sends to the local syslog", auditFields),
      http: absent("an audit device of that kind; file, socket and syslog are there"),
    },
  ),
  audit_file_roots: list(
    "Directories in which devices made over the API may write files",
    "`audit` in `data_dir`",
  ),
  audit_allow_prefix: flag("Devices made over the API may have a `prefix`", false),
  snapshot_roots: list(
    "Directories below which automated snapshots of type `local` may lie",
    "`snapshots` in `data_dir`",
  ),

  log_level: oneOf("Least level that is logged", LEVELS, "info", {
    env: "HOLDFAST_LOG_LEVEL",
    reloads: true,
  }),
  log_format: oneOf("Lines for people or for programs", ["standard", "json"], "standard", {
    env: "HOLDFAST_LOG_FORMAT",
  }),
  log_file: text("File for the log", "standard error"),
  log_rotate_bytes: size("Start a new file at this size; 0 is never", 0, {
    from: 0,
    to: GIB * KIB,
  }),
  log_rotate_duration: duration("Start a new file after this time", "24h", {
    from: "1m",
    to: "8760h",
  }),
  log_rotate_max_files: count("Old files that are kept; 0 keeps all", 0, { from: 0, to: 10_000 }),
  log_requests_level: oneOf("Level at which answered requests are logged", LEVELS, "off"),

  cache_size: size("Memory for decrypted entries", 32 * MIB, { from: MIB, to: 64 * GIB }),
  disable_cache: flag("Decrypt at every read", false),
  outbound_allow: list(
    "Private addresses, networks and hosts that engines may call",
    "none; loopback and private addresses are refused",
  ),
  default_mounts: listOr(
    "Engines that initialisation mounts, at the name of their type; later changes have no effect",
    ["clouda", "cloudb"],
  ),
  cloud_name_prefix: textOr(
    "What names of things that engines make outside begin with",
    "service-",
  ),
  cloudb_endpoints: section("Addresses instead of the provider's own; all three or none", {
    authority: text("Where tokens are asked for; `http` for loopback only", "the provider's"),
    graph: text("Where applications and groups are", "the provider's"),
    arm: text("Where roles are assigned", "the provider's"),
  }),
  pid_file: text("File with the process number, while the server runs", "none"),
  shutdown_timeout: duration(
    "How long running requests may take to end when the server is told to stop",
    "30s",
    { from: "0s", to: "1h" },
    { reloads: true },
  ),

  telemetry: section("Metrics", {
    prometheus_retention: absent("keeping metrics: sys/metrics always gives the present values"),
    prometheus_retention_time: absent(
      "keeping metrics: sys/metrics always gives the present values",
    ),
    usage_gauge_period: absent("a period: gauges are read when they are asked for"),
    otlp_endpoint: absent("traces over OTLP"),
  }),
  replication: section("Replication between clusters", {
    status_access: oneOf(
      "What status tells who has no token: all but names, `mode` and `state`, or nothing; a secondary always tells these two, and the rest to who shows an operation token",
      ["open", "minimal", "authenticated"],
      "open",
    ),
    wal_retention_bytes: size(
      "Log that is kept for a secondary that is away; twice as much while one copies everything. Beyond it the secondary compares",
      2 * GIB,
      { from: 16 * MIB, to: 1024 * GIB },
    ),
    wal_retention_time: duration("How long it is kept, in the same way", "24h", {
      from: "1m",
      to: "2160h",
    }),
    max_secondaries: count(
      "Secondaries of one primary, of each kind; tokens that nobody has used are among them. What was admitted before stays",
      50,
      { from: 1, to: 64 },
    ),
    accept_fence: flag(
      "Stop writing when another cluster of the set proves that it was promoted. Without it two primaries write until somebody demotes one",
      true,
    ),
    operation_token_max_age: duration(
      "How long operation tokens of a secondary are good; `0s` is until they are deleted",
      "0s",
      { from: "0s", to: "8760h" },
    ),
    primary_lease: duration(
      "A primary that has reached no secondary for so long writes nothing until it does: 15s or more; `0s` is that it goes on alone",
      "0s",
      { from: "0s", to: "24h" },
    ),
    max_global_token_staleness: duration(
      "A performance secondary whose shared data may be older than this takes no global tokens until it has caught up: 30s or more; `0s` is that it does",
      "0s",
      { from: "0s", to: "8760h" },
    ),
    operation_token_auth: oneOf(
      "Who may take part in making an operation token on a secondary: whoever has key shares, or only who also shows an operation token or a ticket for `operation-token`",
      ["open", "required"],
      "open",
    ),
    best_effort_wal_wait: duration(
      "How long a performance secondary waits until what its primary has written for a request, or what `await-state` asks for, is to be seen there; `0s` is not at all",
      "2s",
      { from: "0s", to: "60s" },
    ),
    allow_forwarding_via_header: flag(
      "Take `X-Service-Forward: active-node` and `X-Service-Inconsistent: forward-active-node`, which are 400 without it. The node that answers is the active one",
      false,
    ),
    heartbeat: absent("a period of heartbeats: it is 5 seconds"),
    dead_after: absent("a time after which a peer counts as gone: it is 15 seconds"),
    tail_entries: absent("a length of the log in memory: it is 16,384 entries"),
    tail_bytes: absent("a size of the log in memory: it is 64 MiB"),
    serve_while_syncing: absent(
      "serving before the first copy is whole: from then on a performance secondary always answers, also while it compares",
    ),
    resolver_discover_servers: absent("clusters of several nodes"),
  }),
  ...PLUGIN_SETTINGS,
  initialize: absent("requests that run at first initialisation"),
  disable_standby_reads: absent("standby nodes"),
  ha_storage: absent("clusters of several nodes"),
  service_registration: absent("clusters of several nodes"),
  raw_storage_endpoint: absent("reading raw storage over the API"),
  introspection_endpoint: absent("looking into the server's objects over the API"),
  trust_roots: absent("authorities of one's own for calls outside"),
  disable_mlock: absent("locked memory; instead forbid swap for the process (see the manual)"),
  license_path: absent("a licence: everything is free"),
};
