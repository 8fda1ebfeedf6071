// Configuration from files to Config: notations, precedence, substitution, and every way of refusing
// with file and line.

import assert from "node:assert/strict";
import test from "node:test";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { memoryFiles } from "../../tests/support/memory-files.ts";
import { type Loaded, loadConfig, type Sources } from "./load.ts";
import { ConfigFailure, showProblem } from "./problem.ts";

const LISTENER = 'listener "tcp" { tls_disable = true }\n';

function load(
  files: Readonly<Record<string, string>>,
  more: Partial<Sources> = {},
): Promise<Loaded> {
  return loadConfig({
    paths: Object.keys(files).filter((path) => path.startsWith("/etc/")),
    env: {},
    files: memoryFiles(files),
    directory: "/srv",
    hostname: "host.example",
    ...more,
  });
}

async function problemsOf(
  files: Readonly<Record<string, string>> | string,
  more: Partial<Sources> = {},
): Promise<string[]> {
  try {
    await load(typeof files === "string" ? { "/etc/h.hcl": files } : files, more);
  } catch (error) {
    assert.ok(error instanceof ConfigFailure, String(error));
    return error.problems.map(showProblem);
  }
  return assert.fail("it was accepted");
}

test("a listener is all that must be said, and everything else has its default", async () => {
  const { config, warnings, files } = await load({ "/etc/h.hcl": LISTENER });
  assert.deepEqual(warnings, []);
  assert.deepEqual(files, ["/etc/h.hcl"]);
  const { listeners, effective, ...rest } = config;
  assert.deepEqual(rest, {
    apiAddr: null,
    clusterAddr: null,
    clusterPort: null,
    clusterName: null,
    region: "global",
    nodeId: "host.example",
    directories: {
      data: "/srv/data",
      store: "/srv/data/store",
      server: "/srv/data/server",
      audit: "/srv/data/audit",
      snapshots: "/srv/data/snapshots",
    },
    storage: { type: "sqlite", maxEntryBytes: 2 ** 20 },
    seal: { type: "shamir" },
    acl: {
      bootstrap: "open",
      tokenMinExpirationTtl: MINUTE,
      tokenMaxExpirationTtl: 24n * HOUR,
      tokenGcThreshold: HOUR,
      anonymousSelf: false,
    },
    policies: { overrideNeedsSudo: false, trace: true },
    replication: {
      statusAccess: "open",
      logBytes: 2 * 2 ** 30,
      logAge: 24n * HOUR,
      acceptFence: true,
      operationTokenMaxAge: 0n,
      primaryLease: 0n,
      operationTokenAuth: "open",
    },
    defaultLeaseTtl: 768n * HOUR,
    maxLeaseTtl: 768n * HOUR,
    compat: true,
    ui: true,
    audit: { devices: [], fileRoots: ["/srv/data/audit"], allowPrefix: false },
    snapshotRoots: ["/srv/data/snapshots"],
    log: {
      level: "info",
      format: "standard",
      file: null,
      rotateBytes: 0,
      rotateAfter: 24n * HOUR,
      rotateKeep: 0,
      requests: "off",
    },
    cacheBytes: 32 * 2 ** 20,
    outboundAllow: [],
    clouds: {
      defaultMounts: ["clouda", "cloudb"],
      namePrefix: "service-",
      cloudbEndpoints: null,
    },
    pidFile: null,
    shutdownTimeout: 30n * SECOND,
  });
  assert.deepEqual(listeners, [
    {
      kind: "tcp",
      host: "127.0.0.1",
      port: 8200,
      loopback: true,
      tls: null,
      http2: false,
      allowedHosts: [],
      maxRequestBytes: 2 ** 20,
      maxRequestDuration: 90n * SECOND,
      keyCeremonies: "open",
      requireRequestHeader: false,
      openMetrics: false,
      metricsOnly: false,
      customResponseHeaders: new Map(),
      forwardedForFrom: [],
      limits: {
        headerBytes: 16_384,
        headers: 64,
        connections: 12_000,
        connectionsPerAddress: 200,
        requestsPerConnection: 1000,
        tlsHandshake: 10n * SECOND,
        header: 10n * SECOND,
        body: 30n * SECOND,
        answer: 60n * SECOND,
        idle: 30n * SECOND,
      },
    },
  ]);
  assert.equal(effective["region"], "global");
});

const FULL_HCL = `
api_addr = "https://h.example:8200/"
region = "eu"
default_lease_ttl = 3600
storage "sqlite" { path = "/var/store" max_entry_size = "2 MiB" }
listener "tcp" {
  address = "[::]:8200"
  tls_cert_file = "cert.pem"
  tls_key_file = "/etc/key.pem"
  tls_min_version = "tls13"
  http2 = true
  x_forwarded_for_authorized_addrs = ["10.0.0.0/8", "::1"]
  telemetry { unauthenticated_metrics_access = true }
  custom_response_headers { "4xx" = { "X-Team" = ["a", "b"] } "404" = { "X-One" = "c" } }
}
listener "unix" { address = "/run/h.sock" }
acl { bootstrap = "loopback" token_max_expiration_ttl = "48h" }
audit "file" "main" { description = "d" options { file_path = "/var/log/a.log" mode = "0600" log_raw = false } }
api { compat = false }
`;

const FULL_JSON = JSON.stringify({
  api_addr: "https://h.example:8200/",
  region: "eu",
  default_lease_ttl: 3600,
  storage: { sqlite: { path: "/var/store", max_entry_size: "2 MiB" } },
  listener: [
    {
      tcp: {
        address: "[::]:8200",
        tls_cert_file: "cert.pem",
        tls_key_file: "/etc/key.pem",
        tls_min_version: "tls13",
        http2: true,
        x_forwarded_for_authorized_addrs: ["10.0.0.0/8", "::1"],
        telemetry: { unauthenticated_metrics_access: true },
        custom_response_headers: { "4xx": { "X-Team": ["a", "b"] }, "404": { "X-One": "c" } },
      },
    },
    { unix: { address: "/run/h.sock" } },
  ],
  acl: { bootstrap: "loopback", token_max_expiration_ttl: "48h" },
  audit: {
    file: {
      main: {
        description: "d",
        options: { file_path: "/var/log/a.log", mode: "0600", log_raw: false },
      },
    },
  },
  api: { compat: false },
});

const FULL_YAML = `
api_addr: https://h.example:8200/
region: eu
default_lease_ttl: 3600
storage: { sqlite: { path: /var/store, max_entry_size: 2 MiB } }
listener:
  - tcp:
      address: "[::]:8200"
      tls_cert_file: cert.pem
      tls_key_file: /etc/key.pem
      tls_min_version: tls13
      http2: true
      x_forwarded_for_authorized_addrs:
        - 10.0.0.0/8
        - "::1"
      telemetry:
        unauthenticated_metrics_access: true
      custom_response_headers:
        4xx: { X-Team: [a, b] }
        404: { X-One: c }
  - unix: { address: /run/h.sock }
acl:
  bootstrap: loopback
  token_max_expiration_ttl: 48h
audit:
  file:
    main:
      description: d
      options: { file_path: /var/log/a.log, mode: "0600", log_raw: false }
api: { compat: false }
`;

test("HCL, JSON and YAML express the same configuration", async () => {
  const { config } = await load({ "/etc/h.hcl": FULL_HCL });
  assert.deepEqual((await load({ "/etc/h.json": FULL_JSON })).config, config);
  assert.deepEqual((await load({ "/etc/h.yaml": FULL_YAML })).config, config);
  assert.equal(config.apiAddr, "https://h.example:8200");
  assert.equal(config.directories.store, "/var/store");
  const [tcp, unix] = config.listeners;
  assert.ok(tcp?.kind === "tcp" && tcp.tls !== null);
  assert.deepEqual([tcp.host, tcp.loopback, tcp.keyCeremonies], ["::", false, "token"]);
  assert.equal(tcp.tls.certFile, "/srv/cert.pem");
  assert.deepEqual(tcp.customResponseHeaders.get("404"), new Map([["X-One", ["c"]]]));
  assert.ok(unix?.kind === "unix" && unix.keyCeremonies === "open");
  assert.equal(config.audit.devices[0]?.options.get("log_raw"), "false");
});

test("of several files later single values win, lists are joined, listeners are added", async () => {
  const { config } = await load({
    "/etc/a.hcl": `${LISTENER} region = "a" log_level = "warn" audit_file_roots = ["/a"]
      acl { token_gc_threshold = "2h" bootstrap = "closed" } storage "memory" {}
      audit "file" "x" { options { file_path = "/one" } }
      audit "syslog" "y" {}`,
    "/etc/b.yaml":
      "region: b\naudit_file_roots: [/b]\nacl: { bootstrap: loopback }\nstorage: { sqlite: {} }\n" +
      'listener: { tcp: { address: "127.0.0.1:8300", tls_disable: true } }\naudit: { socket: { x: {} } }',
  });
  assert.equal(config.region, "b");
  assert.equal(config.log.level, "warn");
  assert.deepEqual(config.audit.fileRoots, ["/a", "/b"]);
  assert.equal(config.acl.bootstrap, "loopback");
  assert.equal(config.acl.tokenGcThreshold, 2n * HOUR);
  assert.equal(config.storage.type, "sqlite");
  assert.equal(config.listeners.length, 2);
  const devices = config.audit.devices.map(({ type, path }) => `${type} ${path}`);
  assert.deepEqual(devices, ["socket x", "syslog y"]);
});

test("a directory gives its files in the order of names, and nothing else in it", async () => {
  const { config, files } = await load(
    {
      "/conf/20.json": '{"region": "json"}',
      "/conf/10.hcl": `${LISTENER} region = "hcl" cluster_name = "kept"`,
      "/conf/30.txt": "not ours",
      "/conf/.hidden.hcl": "broken {",
      "/conf/deeper/x.hcl": 'region = "deeper"',
    },
    { paths: ["/conf"] },
  );
  assert.deepEqual(files, ["/conf/10.hcl", "/conf/20.json"]);
  assert.deepEqual([config.region, config.clusterName], ["json", "kept"]);
});

test("the environment overrides files, and flags override the environment", async () => {
  const file = `${LISTENER} log_level = "warn" ui = true api_addr = "http://a:1"`;
  const env = {
    HOLDFAST_LOG_LEVEL: "error",
    HOLDFAST_UI: "false",
    HOLDFAST_API_ADDR: "",
    HOLDFAST_CLUSTER_ADDR: "https://c:2",
  };
  const { config } = await load({ "/etc/h.hcl": file }, { env });
  assert.deepEqual(
    [config.log.level, config.ui, config.apiAddr, config.clusterAddr],
    ["error", false, "http://a:1", "https://c:2"],
  );
  const flags = new Map([["log_level", { name: "--log-level", text: "debug" }]]);
  assert.equal((await load({ "/etc/h.hcl": file }, { env, flags })).config.log.level, "debug");
  assert.deepEqual(await problemsOf(file, { env: { HOLDFAST_UI: "maybe" } }), [
    "HOLDFAST_UI: expected true or false",
  ]);
  assert.deepEqual(
    await problemsOf(file, { flags: new Map([["log_level", { name: "--log-level", text: "x" }]]) }),
    ['--log-level: expected one of "debug", "info", "warn", "error", "off"'],
  );
});

test("substitutions take texts from the environment and from files, once, and $${ stands for itself", async () => {
  const { config, files } = await load(
    {
      "/etc/h.hcl": `${LISTENER}
        cluster_name = "\${env:NAME}"
        region = "eu-\${file:/run/region}"
        shutdown_timeout = "\${env:TIME}"
        pid_file = "/run/$\${x}/\${env:NESTED}"`,
      "/run/region": "west\n",
    },
    { env: { NAME: "n1", TIME: "5s", NESTED: "${env:NAME}" } },
  );
  assert.equal(config.clusterName, "n1");
  assert.equal(config.region, "eu-west");
  assert.equal(config.shutdownTimeout, 5n * SECOND);
  assert.equal(config.pidFile, "/run/${x}/${env:NAME}");
  assert.deepEqual(files, ["/etc/h.hcl", "/run/region"]);
});

test("a substitution that cannot be made is refused with its place and without its value", async () => {
  const problems = await problemsOf(
    {
      "/etc/h.json": `{
        "region": "\${env:NONE}",
        "node_id": "\${file:/none}",
        "cluster_name": "\${vault:x}",
        "pid_file": "\${env:open",
        "log_level": "\${env:SECRET}"
      }`,
    },
    { env: { SECRET: "hunter2" } },
  );
  const malformed =
    "this is no substitution; accepted are ${env:NAME} and ${file:/absolute/path}; for the characters themselves, $${";
  assert.deepEqual(problems, [
    '/etc/h.json:2:19: "region": the environment has no "NONE", which ${env:…} asks for',
    '/etc/h.json:3:20: "node_id": there is no file "/none"',
    `/etc/h.json:4:25: "cluster_name": ${malformed}`,
    `/etc/h.json:5:21: "pid_file": ${malformed}`,
    '/etc/h.json:6:22: "log_level": expected one of "debug", "info", "warn", "error", "off"',
  ]);
});

test("the key of a static seal comes from the environment or a file, and is never shown", async () => {
  const env = { SEAL: "s3cr3t" };
  const inline = await load(
    { "/etc/h.hcl": `${LISTENER} seal "static" { key = "\${env:SEAL}" }` },
    { env },
  );
  const { seal } = inline.config;
  assert.ok(seal.type === "static" && seal.key instanceof Secret);
  assert.equal(seal.key.reveal(), "s3cr3t");
  assert.ok(!JSON.stringify(inline.config.effective).includes("s3cr3t"));
  const file = await load({ "/etc/h.hcl": `${LISTENER} seal "static" { key_file = "k" }` });
  assert.deepEqual(file.config.seal, { type: "static", key: { file: "/srv/k" } });
  const problems = await problemsOf(`${LISTENER}seal "static" { key = "s3cr3t" }`);
  assert.deepEqual(problems, [
    '/etc/h.hcl:2:23: "key": a secret does not belong in this file; put ${env:NAME} or ${file:/path} in its place',
  ]);
  assert.deepEqual(await problemsOf(`${LISTENER}seal "static" {}`), [
    "/etc/h.hcl:2:1: a static seal needs either key or key_file",
  ]);
});

test("substituted values are hidden in what the server shows of its configuration", async () => {
  const { config } = await load(
    {
      "/etc/h.hcl": `${LISTENER} cluster_name = "a-\${env:X}" audit "file" "m" { options { file_path = "\${env:X}" } }`,
    },
    { env: { X: "canary" } },
  );
  assert.equal(config.clusterName, "a-canary");
  assert.ok(!JSON.stringify(config.effective).includes("canary"));
});

test("every problem of every file is told at once, with file, line and column", async () => {
  const problems = await problemsOf({
    "/etc/a.hcl": `ui = 3\nlog_levle = "info"\nlistener "tpc" {}\nmax_lease_ttl = "forever"\n`,
    "/etc/b.json": `{\n  "regoin": "x",\n  "cache_size": "many"\n}`,
    "/etc/c.yaml": `acl:\n  bootstrap: maybe\n  token_gc_treshold: 1h\n`,
    "/etc/d.hcl": "listener {",
    "/etc/e.yaml": "a: [1, 2\nb: }",
  });
  assert.deepEqual(problems, [
    '/etc/a.hcl:1:6: "ui": expected true or false',
    '/etc/a.hcl:2:1: there is no setting "log_levle" here; did you mean "log_level"?',
    '/etc/a.hcl:3:10: listener "tpc" is not known; accepted are "tcp", "unix"',
    '/etc/a.hcl:4:17: "max_lease_ttl": expected a duration: text such as "90s" or "1h30m", or whole seconds, from 1s to 87600h',
    '/etc/b.json:2:3: there is no setting "regoin" here; did you mean "region"?',
    '/etc/b.json:3:17: "cache_size": expected a number of bytes, or text with B, KiB, MiB or GiB, from 1 MiB to 64 GiB',
    '/etc/c.yaml:2:14: "bootstrap": expected one of "open", "loopback", "closed"',
    '/etc/c.yaml:3:3: there is no setting "token_gc_treshold" here; did you mean "token_gc_threshold"?',
    "/etc/d.hcl:1:11: expected a key or the } for the { on line 1, found the end of the document",
    "/etc/e.yaml:2:1: the indentation does not fit the lines above (BAD_INDENT)",
  ]);
});

test("-config-lenient turns unknown keys into warnings, and nothing else", async () => {
  const { config, warnings } = await load(
    { "/etc/h.hcl": `${LISTENER}\nlog_levle = "debug"\n` },
    { lenient: true },
  );
  assert.equal(config.log.level, "info");
  assert.deepEqual(warnings.map(showProblem), [
    '/etc/h.hcl:3:1: there is no setting "log_levle" here; did you mean "log_level"?',
  ]);
  const problems = await problemsOf(`${LISTENER}ha_storage {}\nui = 7\n`, { lenient: true });
  assert.equal(problems.length, 2);
});

const refused: readonly [name: string, text: string, problem: RegExp][] = [
  ["etcd", 'storage "etcd" {}', /:2:9: "storage etcd" is not in this version: clusters/],
  ["raft", 'storage "raft" { path = "x" }', /"storage raft" is not in this version/],
  ["waiting", "replication { best_effort_wal_wait = 2 }", /"best_effort_wal_wait" is not in/],
  [
    "a ceremony for whom",
    'replication { operation_token_auth = "perhaps" }',
    /"operation_token_auth": expected one of "open", "required"/,
  ],
  [
    "a short lease",
    'replication { primary_lease = "14s" }',
    /2:\d+: primary_lease must be 0s or at least 15s/,
  ],
  ["plugins", 'plugin_directory = "/p"', /"plugin_directory" is not in this version: plugins/],
  ["first-run requests", 'initialize "a" { request "b" { path = "c" } }', /"initialize" is not in/],
  ["mlock", "disable_mlock = true", /"disable_mlock" is not in this version: locked memory/],
  ["traces", 'telemetry { otlp_endpoint = "x" }', /"otlp_endpoint" is not in this version/],
  ["ACLs off", "acl { enabled = false }", /"enabled" is not in this version: switching/],
  [
    "the PROXY protocol",
    'listener "tcp" { address = "127.0.0.1:1" tls_disable = true proxy_protocol_behavior = "x" }',
    /"proxy_protocol_behavior" is not in this version/,
  ],
  [
    "a listener with neither certificate nor tls_disable",
    'listener "tcp" { address = "0.0.0.0:8300" }',
    /:2:1: a listener needs tls_cert_file and tls_key_file, or tls_disable = true/,
  ],
  [
    "half a pair",
    'listener "tcp" { address = "0.0.0.0:8300" tls_cert_file = "x" }',
    /needs tls_cert_file and tls_key_file/,
  ],
  [
    "a certificate and tls_disable",
    'listener "tcp" { address = "0.0.0.0:83" tls_disable = true tls_cert_file = "x" }',
    /"tls_cert_file": has no meaning with tls_disable/,
  ],
  [
    "HTTP/2 without TLS",
    'listener "tcp" { address = "127.0.0.1:83" tls_disable = true http2 = true }',
    /"http2": HTTP\/2 needs TLS/,
  ],
  [
    "one address twice",
    LISTENER,
    /:2:1: another listener has this address already: \/etc\/h.hcl:1:1/,
  ],
  [
    "a bad address",
    'listener "tcp" { address = "8200" tls_disable = true }',
    /"address": expected host:port/,
  ],
  [
    "a bad network",
    'listener "tcp" { address = "127.0.0.1:1" tls_disable = true x_forwarded_for_authorized_addrs = ["10.0.0.0/33"] }',
    /expected addresses and networks/,
  ],
  [
    "a header of ours",
    'listener "unix" { address = "/s" custom_response_headers { "default" = { "Content-Length" = "1" } } }',
    /Content-Length is set by the server itself/,
  ],
  [
    "a header with a line break",
    'listener "unix" { address = "/s" custom_response_headers { "200" = { "X-A" = "1\\r\\nX-B: 2" } } }',
    /values of headers are printable ASCII/,
  ],
  [
    "a status that is none",
    'listener "unix" { address = "/s" custom_response_headers { "6xx" = {} } }',
    /statuses are "default"/,
  ],
  [
    "a body above 32 MiB",
    'listener "unix" { address = "/s" max_request_size = "33 MiB" }',
    /from 4 KiB to 32 MiB/,
  ],
  [
    "an address with a path",
    'api_addr = "https://h/v1"',
    /"api_addr": expected an address such as/,
  ],
  [
    "a default above the maximum",
    'default_lease_ttl = "2h" max_lease_ttl = "1h"',
    /default_lease_ttl must not be longer/,
  ],
  [
    "a minimum above the maximum",
    'acl { token_min_expiration_ttl = "48h" }',
    /token_min_expiration_ttl must not be longer/,
  ],
  [
    "a cluster port without a port",
    'listener "tcp" { address = "127.0.0.1:1" tls_disable = true cluster_address = "x" }',
    /"cluster_address": expected host:port/,
  ],
  [
    "two cluster ports",
    'listener "tcp" { address = "127.0.0.1:1" tls_disable = true cluster_address = "127.0.0.1:2" }\n' +
      'listener "tcp" { address = "127.0.0.1:3" tls_disable = true cluster_address = "127.0.0.1:4" }',
    /another listener has the cluster port already: .*:2:/,
  ],
  ["a name with a space", 'cluster_name = "a b"', /"cluster_name": expected letters/],
  [
    "both names of one switch, saying different things",
    "client_aliases = true api { compat = false }",
    /old name of api.compat/,
  ],
  [
    "two storages in one file",
    'storage "memory" {}\nstorage "sqlite" {}',
    /:3:1: there is one already on line 2/,
  ],
  [
    "one audit path twice in a file",
    'audit "file" "a" {}\naudit "socket" "a" {}',
    /:3:1: there is one already on line 2/,
  ],
  ["one label too few", 'audit "file" {}', /"audit" is a block with 2 labels/],
  ["a block where a value belongs", 'region "x" {}', /"region" takes no labels/],
  ["a value where a block belongs", "acl = 1", /"acl" takes an object/],
  ["the prototype as a key", "__proto__ { x = 1 }\nconstructor = 1", /no setting "__proto__"/],
];
for (const [name, text, problem] of refused) {
  test(`refused: ${name}`, async () => {
    const problems = await problemsOf(`${LISTENER}${text}`);
    assert.match(problems.join("\n"), problem);
    assert.ok(problems.every((one) => one.startsWith("/etc/h.hcl")));
  });
}

const overlapping: readonly [name: string, text: string][] = [
  ["audit files in the store", 'audit_file_roots = ["/srv/data/store/audit"]'],
  ["audit files around the store", 'audit_file_roots = ["/srv/data"]'],
  ["audit files in snapshots, by way of ..", 'audit_file_roots = ["data/audit/../snapshots"]'],
  [
    "a declared device in the store",
    'audit "file" "a" { options { file_path = "data/store/x.log" } }',
  ],
  [
    "a declared device in the server's files",
    'audit "file" "a" { options { file_path = "/srv/data/server/x" } }',
  ],
  ["the store around everything", 'storage "sqlite" { path = "/srv" }'],
  ["the log in the store", 'log_file = "/srv/data/store/log"'],
  ["the process number in snapshots", 'pid_file = "/srv/data/snapshots/pid"'],
];
for (const [name, text] of overlapping) {
  test(`T-G02: directories are disjoint: ${name}`, async () => {
    const problems = await problemsOf(`${LISTENER}${text}`);
    assert.match(problems.join("\n"), /must be apart|must not be inside/);
  });
}

test("a declared device may write below the audit directory, and anywhere else", async () => {
  const { config } = await load({
    "/etc/h.hcl": `${LISTENER} audit "file" "a" { options { file_path = "data/audit/a.log" } }
      audit "file" "b" { options { file_path = "stdout" } }`,
  });
  const [a, b] = config.audit.devices;
  assert.equal(a?.options.get("file_path"), "/srv/data/audit/a.log");
  assert.equal(b?.options.get("file_path"), "stdout");
});

test("plain HTTP off loopback is accepted with a warning", async () => {
  const { warnings } = await load({
    "/etc/h.hcl": 'listener "tcp" {\n  address = "0.0.0.0:8200"\n  tls_disable = true\n}',
  });
  assert.deepEqual(warnings.map(showProblem), [
    "/etc/h.hcl:3:3: tls_disable: tokens and secrets cross the network in clear on this listener",
  ]);
});

test("client_aliases is the old name of api.compat", async () => {
  const { config } = await load({ "/etc/h.hcl": `${LISTENER} client_aliases = false` });
  assert.equal(config.compat, false);
});

test("no file, no listener, no configuration: each is told", async () => {
  assert.deepEqual(await problemsOf({}, { paths: ["none.hcl"] }), [
    "/srv/none.hcl: there is no such file or directory",
  ]);
  assert.match((await problemsOf("")).join(), /^\/etc\/h.hcl: there is no listener; add one/);
  assert.match((await problemsOf({ "/x/a.txt": "" }, { paths: ["/x"] })).join(), /no \*\.hcl/);
});

const badYaml: readonly [name: string, text: string, problem: RegExp][] = [
  ["an alias", "region: &a x\ncluster_name: *a\n", /h.yaml:1:\d+: anchors/],
  ["a tag", "region: !!str x\n", /h.yaml:1:\d+: tags/],
  ["null", "region:\n", /h.yaml:1:\d+: an empty value/],
  ["two documents", "region: x\n---\nregion: y\n", /one document/],
  [
    "a key twice",
    "region: x\nregion: y\n",
    /h.yaml:2:1: attribute "region" was already set on line 1/,
  ],
  ["a list at the top", "- a\n", /expected keys with values/],
  ["hexadecimal", "cache_size: 0x10\n", /decimal digits/],
  ["a tab", "acl:\n\tbootstrap: open\n", /h.yaml:2:1: /],
];
for (const [name, text, problem] of badYaml) {
  test(`YAML is refused for ${name}`, async () => {
    assert.match((await problemsOf({ "/etc/h.yaml": text })).join("\n"), problem);
  });
}

test("no message repeats a value", async () => {
  const marker = "hunter2canary";
  const texts = [
    `region: "${marker} ${marker}"`,
    `region: "${marker}\nx`,
    `ui: ${marker}\ncache_size: ${marker}\ndefault_lease_ttl: ${marker}\nlog_level: ${marker}\napi_addr: ${marker} x`,
    `region: *${marker}`,
    `acl: ${marker}\nlistener: [${marker}]`,
    `region: @${marker}`,
  ];
  for (const text of texts) {
    const problems = await problemsOf({ "/etc/h.yaml": text });
    assert.ok(!problems.join("\n").includes(marker), problems.join("\n"));
  }
});

test("what engines may call is a list of hosts, addresses and networks, none of them everything", async () => {
  const allow = (...list: string[]) => `${LISTENER}outbound_allow = ${JSON.stringify(list)}\n`;
  const good = [
    "10.0.0.0/8",
    "192.168.7.5",
    "fc00::/7",
    "::1",
    "iam.internal.example",
    "localhost",
  ];
  const { config } = await load({ "/etc/h.hcl": allow(...good) });
  assert.deepEqual(config.outboundAllow, good);
  for (const one of [
    "0.0.0.0/0",
    "::/0",
    "10.0.0.0/7",
    "10.0.0.0/08",
    "127.1",
    "http://h",
    "h:80",
  ]) {
    const [problem = "", ...others] = await problemsOf(allow(one));
    assert.match(problem, /"outbound_allow": expected hosts, addresses and networks/, one);
    assert.deepEqual(others, []);
  }
});

test("0 and 1 are taken for false and true, as files for other servers have them", async () => {
  const with_ = (value: string) => `listener "tcp" { tls_disable = ${value} }\n`;
  const { config } = await load({ "/etc/h.hcl": with_("1") });
  assert.equal(config.listeners[0]?.tls, null);
  assert.match((await problemsOf(with_("0"))).join("\n"), /needs tls_cert_file/);
  assert.match((await problemsOf(with_("2"))).join("\n"), /expected true or false/);
});
