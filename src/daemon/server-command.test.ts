// The process around a server, with a host and a server that are made up: exit codes, signals, what is looked at before it
// starts. Dev mode and reloads have files beside this one; real processes are in launcher.process.test.ts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { OwnError } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import {
  CONFIG_FILE,
  fakeDaemon,
  type FakeDaemon,
  LISTENER,
} from "../../tests/support/fake-daemon.ts";
import { nextTurn } from "../../tests/support/fake-world.ts";
import { SERVER_USAGE } from "./flags.ts";
import { VERSION } from "../system/version.ts";
import { ends, started, until, up } from "../../tests/support/daemon/started-daemon.ts";

test("the version is that of package.json", () => {
  const manifest: unknown = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"),
  );
  assert.ok(typeof manifest === "object" && manifest !== null && "version" in manifest);
  assert.equal(VERSION, manifest.version);
});

test("SIGTERM and SIGINT stop the server in good order: exit code 0", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const { host, server, ended } = await up();
    host.signal(signal);
    assert.equal(await ended, 0);
    assert.equal(server.stops, 1);
    assert.deepEqual(host.exits, []);
  }
});

test("a second signal ends the process at once with 1, but the echo of the first one does not", async () => {
  const { host, server, ended, clock, code } = await up();
  const stopping = Promise.withResolvers<void>();
  server.stopping = () => stopping.promise;
  host.signal("SIGINT");
  host.signal("SIGINT"); // npm passes on what the terminal sent to both of us
  await nextTurn();
  assert.deepEqual(host.exits, []);
  assert.equal(code.value, null);
  clock.pass(SECOND);
  host.signal("SIGTERM");
  assert.deepEqual(host.exits, [1]);
  stopping.resolve();
  await ended;
  assert.equal(server.stops, 1);
});

test("a server that does not stop in shutdown_timeout and ten seconds is left behind: exit code 1", async () => {
  const { host, server, ended, timers, code, log } = await up(
    `${LISTENER} shutdown_timeout = "5s"`,
  );
  server.stopping = () => new Promise(() => {});
  host.signal("SIGTERM");
  await nextTurn();
  await timers.advance(14n * SECOND);
  assert.equal(code.value, null);
  await timers.advance(2n * SECOND);
  assert.equal(await ended, 1);
  assert.match(log(), /could not stop in time/);
});

test("a signal to stop that comes while the server opens is not lost", async () => {
  const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
  const opening = Promise.withResolvers<void>();
  daemon.opening = () => opening.promise;
  const { ended } = started(daemon, "--config", CONFIG_FILE);
  await until(() => daemon.opened.length === 1);
  daemon.host.signal("SIGTERM");
  opening.resolve();
  assert.equal(await ended, 0);
  assert.equal(daemon.server.stops, 1);
});

test("a storage failure seals and ends with 1 and the cause, within a second even if sealing hangs", async () => {
  const { server, ended, timers, log } = await up();
  server.stopping = () => new Promise(() => {});
  server.fail(new OwnError("disk is gone"));
  await nextTurn();
  await timers.advance(SECOND);
  assert.equal(await ended, 1);
  assert.equal(server.stops, 1);
  assert.match(log(), /the storage failed; sealing and ending: cause="disk is gone"/);
});

test("exit codes of a start: 2 for a bad configuration, 3 for a locked storage, 1 for the rest", async () => {
  const bad = fakeDaemon({ [CONFIG_FILE]: 'ui = 7\nregoin = "x"\n' });
  assert.equal(await ends(bad, "-config", CONFIG_FILE), 2);
  assert.deepEqual(bad.host.errors, [
    'holdfast: /etc/h.hcl:1:6: "ui": expected true or false\n',
    'holdfast: /etc/h.hcl:2:1: there is no setting "regoin" here; did you mean "region"?\n',
  ]);
  assert.equal(bad.opened.length, 0);
  for (const [message, code] of [
    ["locked", 3],
    ["no port", 1],
  ] as const) {
    const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
    daemon.opening = () => Promise.reject(new OwnError(message));
    assert.equal(await ends(daemon, `--config=${CONFIG_FILE}`), code);
    assert.match(daemon.host.errors.join(""), new RegExp(`could not start: cause="?${message}`));
  }
});

test("without a configuration, with an unknown flag, or with flags that do not go together: 2", async () => {
  const table: readonly [args: string[], text: RegExp][] = [
    [[], /say which configuration: --config FILE, or --dev/],
    [["-confg", "x"], /there is no flag --confg; did you mean --config\?/],
    [["extra"], /extra/],
    [["--config"], /config/],
    [["--dev", "--config", "x"], /--dev goes without --config/],
    [["--dev-root-token-id", "x"], /--dev-root-token-id needs --dev/],
    [["--dev", "--dev-listen-address", "0.0.0.0:8200"], /add --dev-insecure-listen/],
    [["--dev", "--dev-listen-address", "8200"], /takes host:port/],
    [["--dev", "--dev-root-token-id", "a b"], /printable characters without blanks/],
    [["--dev", "--dev-replica", "both"], /--dev-replica takes dr .*, performance .* or four/],
    [["--dev", "--dev-replica", "dr", "--dev-persist", "d"], /goes without --dev-persist/],
    [["--dev-replica", "dr"], /--dev-replica needs --dev/],
    [["--dev", "--log-level", "loud"], /--log-level: expected one of/],
  ];
  for (const [args, text] of table) {
    const daemon = fakeDaemon();
    assert.equal(await ends(daemon, ...args), 2, args.join(" "));
    assert.match(daemon.host.errors.join(""), text);
    assert.equal(daemon.opened.length, 0);
  }
});

test("--dev-clouds is refused where there is no checkout, and where a stand-in does not start", async () => {
  const bare = fakeDaemon();
  assert.equal(await ends(bare, "--dev", "--dev-clouds"), 1);
  assert.match(bare.host.errors.join(""), /in a checkout of the source only: there is no \/opt\//);
  assert.equal(await ends(fakeDaemon(), "--dev-clouds"), 2);

  const [a, b] = ["a", "b"].map((one) => `/opt/holdfast/tests/fakes/cloud${one}/main.ts`);
  assert.ok(a !== undefined && b !== undefined);
  const keys = { accessKeyId: "AKIA", secretAccessKey: "very-secret" };
  for (const says of [null, "no JSON very-secret", "{}"]) {
    const daemon = fakeDaemon({ [a]: "", [b]: "" });
    daemon.host.helpers.set(a, JSON.stringify({ url: "http://127.0.0.1:1", ...keys }));
    if (says !== null) daemon.host.helpers.set(b, says);
    assert.equal(await ends(daemon, "--dev", "--dev-clouds"), 1);
    const output = daemon.host.errors.join("");
    assert.match(output, /the stand-ins for the clouds could not be started/);
    assert.doesNotMatch(output, /very-secret/);
    assert.ok(daemon.host.stopped.includes(a), "the other one is ended");
    assert.equal(daemon.opened.length, 0);
  }
});

test("--help prints the usage and exits with 0", async () => {
  for (const help of ["--help", "-help", "-h"]) {
    const daemon = fakeDaemon();
    assert.equal(await ends(daemon, help), 0);
    assert.match(daemon.host.printed.join(""), /^Usage: holdfast server --config/);
  }
});

test("HOLDFAST_CONFIG names the configuration when no flag does", async () => {
  const daemon = fakeDaemon({ "/a.hcl": LISTENER, "/b.hcl": 'region = "b"' });
  daemon.host.env = { HOLDFAST_CONFIG: "/a.hcl:/b.hcl" };
  const { ended } = started(daemon);
  await until(() => daemon.host.starts === 1);
  assert.equal(daemon.opened[0]?.config.region, "b");
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("configuration and the files it names may be links, as orchestrators mount it", async () => {
  const daemon = fakeDaemon({ "/data/v1/h.hcl": LISTENER });
  daemon.host.links.set("/etc/h.hcl", "/data/now/h.hcl");
  daemon.host.links.set("/data/now", "/data/v1");
  const { ended } = started(daemon, "--config", "/etc/h.hcl");
  await until(() => daemon.host.starts === 1);
  const files = daemon.opened[0]?.parts.operatorFiles;
  assert.equal(files?.read("/etc/h.hcl", 1000)?.toString("utf8"), LISTENER);
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
});

test("a data directory that cannot be written is told before anything is opened", async () => {
  const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
  daemon.host.writable = false;
  assert.equal(await ends(daemon, "--config", CONFIG_FILE), 2);
  const log = daemon.host.errors.join("");
  assert.match(log, / cannot be written by the user that the server runs as; chown /);
  assert.equal(daemon.opened.length, 0);
});

test("the log of a start says what to do next, and which audit device cannot be opened", async () => {
  for (const [initialised, says] of [
    [false, /not initialised: run `holdfast operator init` once .*its disk is not mounted/],
    [true, /sealed: run `holdfast operator unseal`/],
  ] as const) {
    const device = 'audit "file" "trail" { options { file_path = "/nowhere/a.log" } }';
    const daemon = fakeDaemon({ [CONFIG_FILE]: `${LISTENER}\n${device}` });
    daemon.server.initialised = initialised;
    const { ended } = started(daemon, "--config", CONFIG_FILE);
    await until(() => daemon.host.starts === 1);
    const log = daemon.host.errors.join("");
    assert.match(log, says);
    assert.match(
      log,
      /audit device trail\/: \/nowhere\/a.log: the directory \/nowhere does not exist/,
    );
    daemon.host.signal("SIGTERM");
    assert.equal(await ended, 0);
  }
});

test("T-O05: SIGUSR1 is listened to from the start and does nothing", async () => {
  const { host, server, code, ended } = await up();
  assert.ok(host.signal("SIGUSR1"));
  await nextTurn();
  assert.deepEqual([code.value, server.stops, server.reloads.length], [null, 0, 0]);
  host.signal("SIGTERM");
  await ended;
});

test("T-O04: SIGUSR2 writes a dump to the log, without secrets", async () => {
  const marker = "hunter2canary";
  const daemon = fakeDaemon({
    [CONFIG_FILE]: `${LISTENER} seal "static" { key = "\${env:KEY}" } cluster_name = "\${env:KEY}"
      audit "socket" "a" { options { address = "\${env:KEY}" } }`,
  });
  daemon.host.env = { KEY: marker };
  const { ended } = started(daemon, "--config", CONFIG_FILE);
  await until(() => daemon.host.starts === 1);
  daemon.host.signal("SIGUSR2");
  const log = daemon.host.errors.join("");
  assert.match(log, /dump: process: version=\S+ runtime=26.10.0 pid=4711/);
  assert.match(log, /dump: memory: rss=1/);
  assert.match(log, /dump: event loop: Timeout=4/);
  assert.match(log, /dump: seal: initialized=true sealed=true type=shamir/);
  assert.match(log, /dump: listener: address=http:\/\/127.0.0.1:8200/);
  daemon.host.signal("SIGHUP");
  await until(() => daemon.server.reloads.length === 1);
  daemon.host.signal("SIGTERM");
  assert.equal(await ended, 0);
  assert.ok(![...daemon.host.errors, ...daemon.host.printed].join("").includes(marker));
});

test("T-O05: a runtime that lets memory out is refused, with the reason", async () => {
  const refused: readonly [prepare: (daemon: FakeDaemon) => void, text: RegExp][] = [
    [({ host }) => (host.env = { NODE_OPTIONS: "--inspect" }), /NODE_OPTIONS is set/],
    [({ host }) => (host.env = { NODE_DEBUG: "http" }), /NODE_DEBUG is set/],
    [({ host }) => (host.env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" }), /check of certificates/],
    [({ host }) => (host.runtime = { ...host.runtime, flags: ["--inspect=0.0.0.0"] }), /--inspect/],
    [
      ({ host }) => (host.runtime = { ...host.runtime, flags: ["--heapsnapshot-signal=SIGUSR2"] }),
      /--heapsnapshot-signal/,
    ],
    [
      ({ host }) => (host.runtime = { ...host.runtime, flags: ["--report-on-signal"] }),
      /--report-on-signal/,
    ],
    [({ host }) => (host.runtime = { ...host.runtime, inspecting: true }), /debugger is open/],
  ];
  for (const [prepare, text] of refused) {
    const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
    prepare(daemon);
    assert.equal(await ends(daemon, "--config", CONFIG_FILE), 2);
    assert.match(daemon.host.errors.join(""), text);
    assert.equal(daemon.opened.length, 0);
  }
});

test("warnings about the host are logged once, at the start", async () => {
  const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
  const { host, files } = daemon;
  host.runtime = { ...host.runtime, user: 0 };
  host.kernel.set(
    "/proc/self/limits",
    "Max core file size        1024                 unlimited            bytes",
  );
  host.kernel.set("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n");
  files.modes.set(CONFIG_FILE, 0o666);
  const { ended } = started(daemon, "--config", CONFIG_FILE);
  await until(() => host.starts === 1);
  host.signal("SIGTERM");
  await ended;
  const warnings = host.errors.filter((line) => line.includes("[WARN]"));
  assert.equal(warnings.length, 4, warnings.join(""));
  for (const word of [
    /core dump limit is not 0/,
    /swapped to \/dev\/sda2/,
    /running as root/,
    /h.hcl can be written by others/,
  ]) {
    assert.match(warnings.join(""), word);
  }
});

test("swap that is compressed memory, encrypted, or forbidden to us gives no warning", async () => {
  const table: readonly [swap: string, files: Readonly<Record<string, string>>][] = [
    ["/dev/zram0", {}],
    ["/dev/dm-1", { "/sys/block/dm-1/dm/uuid": "CRYPT-PLAIN-swap\n" }],
    [
      "/swapfile",
      { "/proc/self/cgroup": "0::/h.service\n", "/sys/fs/cgroup/h.service/memory.swap.max": "0\n" },
    ],
  ];
  for (const [swap, files] of table) {
    const daemon = fakeDaemon({ [CONFIG_FILE]: LISTENER });
    daemon.host.kernel.set("/proc/swaps", `Filename Type Size\n${swap} partition 1 0 -2\n`);
    for (const [path, text] of Object.entries(files)) daemon.host.kernel.set(path, text);
    const { ended } = started(daemon, "--config", CONFIG_FILE);
    await until(() => daemon.host.starts === 1);
    daemon.host.signal("SIGTERM");
    await ended;
    assert.ok(!daemon.host.errors.join("").includes("[WARN]"), swap);
  }
});

test("T-G02: directories that links lead into each other are refused at the start", async () => {
  const daemon = fakeDaemon({ [CONFIG_FILE]: `${LISTENER} audit_file_roots = ["/var/audit"]` });
  daemon.host.links.set("/var/audit", "/srv/data/store");
  assert.equal(await ends(daemon, "--config", CONFIG_FILE), 2);
  assert.match(daemon.host.errors.join(""), /must be apart/);
  const open = fakeDaemon({ [CONFIG_FILE]: LISTENER, "/srv/data/store/x": "" });
  open.files.modes.set("/srv/data/store", 0o777);
  assert.equal(await ends(open, "--config", CONFIG_FILE), 2);
  assert.match(open.host.errors.join(""), /can be written by others/);
});

test("the process number is in its file while the server runs, and another's is left alone", async () => {
  const { host, files, ended } = await up(`${LISTENER} pid_file = "/run/h.pid"`);
  assert.equal(files.texts.get("/run/h.pid"), "4711\n");
  host.signal("SIGTERM");
  await ended;
  assert.ok(!files.texts.has("/run/h.pid"));
  const other = await up(`${LISTENER} pid_file = "/run/h.pid"`);
  other.files.texts.set("/run/h.pid", "99\n");
  other.host.signal("SIGTERM");
  await other.ended;
  assert.equal(other.files.texts.get("/run/h.pid"), "99\n");
});

test("what nobody caught is logged with its place in the code, and ends the process with 1", async () => {
  const { host, ended, log } = await up();
  host.crash(new Error("boom"));
  assert.deepEqual(host.exits, [1]);
  assert.match(
    log(),
    /a mistake in the server itself; ending at once: cause=.* at=".*server-command.test.ts/,
  );
  assert.doesNotMatch(log(), /boom/, "what it says may quote a secret");
  host.signal("SIGTERM");
  await ended;
});

test("the usage fits a terminal of 80 columns and has examples", () => {
  for (const line of SERVER_USAGE.split("\n")) assert.ok(line.length <= 80, line);
  assert.match(SERVER_USAGE, /^Examples:\n {2}holdfast server --dev$/m);
});
