// Configuration from files to Config: notations, precedence, substitution. What is refused is in load-refused.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import { showProblem } from "./problem.ts";
import { LISTENER, load, problemsOf } from "../../tests/support/daemon/loaded-config.ts";

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
      plugins: null,
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
      maxSecondaries: 50,
      acceptFence: true,
      operationTokenMaxAge: 0n,
      primaryLease: 0n,
      maxGlobalTokenStaleness: 0n,
      operationTokenAuth: "open",
      sharedWait: 2n * SECOND,
      forwardsByHeader: false,
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
    plugins: {
      fileOwner: null,
      filePermissions: 0o755,
      tmpdir: null,
      user: null,
      isolation: "auto",
      inheritEnv: false,
      ociRuntimes: ["runsc", "crun", "runc"],
      withoutMultiplexing: [],
      databaseTimeout: 1_000_000_000n,
      containerSocket: null,
      declared: [],
    },
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
  const port =
    'listener "tcp" { address = "127.0.0.1:1" tls_disable = true cluster_address = "127.0.0.1:2" }';
  const file = `${LISTENER} ${port} log_level = "warn" ui = true api_addr = "http://a:1"`;
  const env = {
    HOLDFAST_LOG_LEVEL: "error",
    HOLDFAST_UI: "false",
    HOLDFAST_API_ADDR: "",
    HOLDFAST_CLUSTER_ADDR: "https://c:2/",
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

const NOTHING = {
  type: "secret",
  name: "mine",
  version: "",
  sha256: "ab".repeat(32),
  command: "mine",
  args: [],
  env: [],
  ociImage: "",
  runtime: "",
  network: "none",
};

test("plugins are declared with all they need, several versions of one too, and their environment is never shown", async () => {
  const sum = "ab".repeat(32);
  const text = `${LISTENER}
    plugin_directory = "plugins"
    plugin_file_uid = 0
    plugin_file_permissions = "0550"
    plugin "secret" "mine" { command = "mine" sha256 = "${sum}" args = ["-x"] env = ["A=canary"] }
    plugin "secret" "mine" { command = "mine" sha256 = "${sum}" version = "1.2" }
    plugin "auth" "mine" { image = "mine" sha256 = "${sum}" runtime = "r" network = "host" }`;
  const { config } = await load({ "/etc/h.hcl": text });
  assert.equal(config.directories.plugins, "/srv/plugins");
  assert.equal(config.plugins.fileOwner, 0);
  assert.equal(config.plugins.filePermissions, 0o550);
  assert.deepEqual(config.plugins.declared, [
    { ...NOTHING, args: ["-x"], env: ["A=canary"] },
    { ...NOTHING, version: "1.2" },
    { ...NOTHING, type: "auth", command: "", ociImage: "mine", runtime: "r", network: "host" },
  ]);
  const visible = JSON.stringify(config.effective);
  assert.ok(visible.includes(sum) && !visible.includes("canary"));
});

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

test("0 and 1 are taken for false and true, as files for other servers have them", async () => {
  const with_ = (value: string) => `listener "tcp" { tls_disable = ${value} }\n`;
  const { config } = await load({ "/etc/h.hcl": with_("1") });
  assert.equal(config.listeners[0]?.tls, null);
  assert.match((await problemsOf(with_("0"))).join("\n"), /needs tls_cert_file/);
  assert.match((await problemsOf(with_("2"))).join("\n"), /expected true or false/);
});
