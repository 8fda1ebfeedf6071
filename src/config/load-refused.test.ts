// Configuration that is refused, every problem with file, line and column, and none with a value.

import assert from "node:assert/strict";
import test from "node:test";
import { showProblem } from "./problem.ts";
import { LISTENER, load, problemsOf } from "../../tests/support/daemon/loaded-config.ts";

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

const CLUSTER_PORT =
  'listener "tcp" { address = "127.0.0.1:1" tls_disable = true cluster_address = "127.0.0.1:2" }';

type Refused = readonly [name: string, text: string, problem: RegExp];

const refused: readonly Refused[] = [
  ["etcd", 'storage "etcd" {}', /:2:9: "storage etcd" is not in this version: clusters/],
  ["raft", 'storage "raft" { path = "x" }', /"storage raft" is not in this version/],
  [
    "waiting for too long",
    'replication { best_effort_wal_wait = "61s" }',
    /"best_effort_wal_wait": expected .*60s/,
  ],
  [
    "a header perhaps",
    'replication { allow_forwarding_via_header = "perhaps" }',
    /"allow_forwarding_via_header": expected/,
  ],
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
  [
    "tokens that would be refused between two heartbeats",
    'replication { max_global_token_staleness = "29s" }',
    /2:\d+: max_global_token_staleness must be 0s or at least 30s/,
  ],
  ["plugins inside the data", 'plugin_directory = "data/store/p"', /plugin_directory \(.*apart/],
  ["a link as a user", 'plugin_user = "a b"', /"plugin_user": expected the name or number/],
  ["plugins as root", 'plugin_user = "root"', /"plugin_user": expected .* not root/],
  ["plugins as user 0", 'plugin_user = "00"', /"plugin_user": expected .* not root/],
  ["permissions in decimal", "plugin_file_permissions = 493", /octal, such as "0755"/],
  ["permissions that are none", 'plugin_file_permissions = "0788"', /octal, such as "0755"/],
  ["a user without a number", 'plugin_file_uid = "holdfast"', /expected the number of a user/],
  ["a sandbox of another name", 'plugin_isolation = "jail"', /one of "auto", "bwrap", "none"/],
  ["a runtime beside us", 'plugin_oci_runtimes = ["./runc"]', /names such as runc, or whole paths/],
  ["two runtimes of a name", 'plugin_oci_runtimes = ["runc", "/x/runc"]', /another name at its/],
  ["the process of no plugin", 'plugin_no_multiplexing = ["A b"]', /expected names of plugins/],
  ["a plugin of no type", 'plugin "vm" "a" {}', /"plugin" "vm" is not known|plugin "vm" is not/],
  ["a plugin of a bad name", 'plugin "auth" "A" { image = "a" }', /:2:1: the name of a plugin has/],
  ["a plugin that is nothing", 'plugin "auth" "a" { sha256 = "x" }', /a plugin needs command or/],
  ["a plugin from nowhere", 'plugin "auth" "a" { command = "x" }', /needs plugin_directory/],
  ["a plugin without a sum", 'plugin "auth" "a" { image = "x" }', /a plugin needs sha256: 64/],
  [
    "a sum in capitals",
    `plugin "auth" "a" { image = "x" sha256 = "${"AB".repeat(32)}" }`,
    /a plugin needs sha256: 64 digits, with letters in lower case/,
  ],
  [
    "one plugin twice",
    `plugin "auth" "a" { image = "x" }\nplugin "auth" "a" { image = "y" }`,
    /:3:1: the plugin is there already, in this version: \/etc\/h.hcl:2:1/,
  ],
  [
    "a network for a process",
    'plugin_directory = "/p"\nplugin "auth" "a" { command = "x" network = "host" }',
    /:3:1: network is for a plugin with an image or a runtime/,
  ],
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
  ...[
    "https://a.example",
    "http://a.example:8201",
    "a.example:8201",
    "https://a.example:0",
    "https://a.example:65536",
    "https://u@a.example:8201",
    "https://a.example:8201/x",
    "https://::1:8201",
  ].map((address): Refused => [
    `a cluster at ${address}`,
    `cluster_addr = "${address}" ${CLUSTER_PORT}`,
    /:2:\d+: "cluster_addr": expected https:\/\/host:port, such as https:/,
  ]),
  [
    "an address of no cluster port",
    'cluster_addr = "https://a.example:8201"',
    /:2:\d+: "cluster_addr": has no meaning without a cluster port: add cluster_address/,
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
