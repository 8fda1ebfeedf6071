// `server --validate`: each check on something good and something bad, on real files, ports and stores.

import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import test, { type TestContext } from "node:test";
import { SystemClock } from "../../system/clock.ts";
import { DAY } from "@holdfast/shared/text/duration";
import { SystemFs } from "../../system/fs.ts";
import { SystemNet } from "../../system/net.ts";
import type { World } from "@holdfast/shared/world";
import { fakeDaemon } from "../../../tests/support/fake-daemon.ts";
import { freePort } from "../../../tests/support/replication/tcp-proxy.ts";
import { SqliteEngine } from "../../storage/engines/sqlite.ts";
import { makeDevCertificate } from "../dev/dev-certificate.ts";
import { runServer } from "../server-command.ts";
import { showFindings } from "./validation.ts";
import { SystemHost } from "../system-host.ts";

interface Outcome {
  readonly code: number;
  readonly table: string;
}

interface Circumstances {
  readonly at?: bigint;
  readonly canWrite?: () => boolean;
  /** Below the directory. Default "data". */
  readonly data?: string;
}

/** A directory with a configuration in it, and the command run on that. */
function validating(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-validate-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const clock = new SystemClock();
  const real = new SystemHost({});
  const run = async (
    config: string,
    {
      at = clock.now(),
      canWrite = () => real.canWrite(directory),
      data = "data",
    }: Circumstances = {},
  ): Promise<Outcome> => {
    const file = join(directory, "h.hcl");
    writeFileSync(file, `data_dir = "${join(directory, data)}"\n${config}`);
    const fake = fakeDaemon();
    const { host } = fake;
    host.realPath = (path) => real.realPath(path);
    host.socketProblem = (path) => real.socketProblem(path);
    host.canWrite = canWrite;
    const fs = new SystemFs();
    const world: World = {
      ...fake.world,
      fs,
      net: new SystemNet(),
      clock: { now: () => at, elapsed: () => 0n },
    };
    const code = await runServer(["--config", file, "--validate"], { ...fake, host, world });
    assert.equal(fake.opened.length, 0, "nothing is started");
    return { code, table: host.printed.join("") };
  };
  return { directory, run, clock };
}

const PLAIN = 'listener "tcp" { address = "127.0.0.1:0" tls_disable = true }\n';

test("a good configuration passes with 0, and nothing is made", async (t) => {
  const { run, directory } = validating(t);
  const { code, table } = await run(PLAIN);
  assert.equal(code, 0, table);
  assert.match(table, /^ok {4}configuration {2}1 file read$/m);
  assert.match(table, /^ok {4}listener {7}127\.0\.0\.1:0$/m);
  assert.match(table, /^ok {4}seal {11}shamir$/m);
  assert.match(
    table,
    /^ok {4}storage {8}\S+\/data\/store, not there yet: right for a new server; .* its disk is not mounted$/m,
  );
  assert.equal(new SystemFs().info(join(directory, "data")), null);
});

test("a file with no store in it is warned of, and is no running server", async (t) => {
  const { run, directory } = validating(t);
  const store = join(directory, "data", "store");
  mkdirSync(store, { recursive: true, mode: 0o700 });
  writeFileSync(join(store, "store.db"), "", { mode: 0o600 });
  const { port } = (await listening(t, { port: 0 })).address() as AddressInfo;
  const { code, table } = await run(PLAIN.replace(":0", `:${port}`));
  assert.match(table, /^warn {2}storage {8}\S+\/data\/store, there is a file with no store in it/m);
  assert.match(table, /^FAIL {2}listener/m, "something else listens there");
  assert.notEqual(code, 0);
});

test("a broken configuration is a table of its problems, and 2", async (t) => {
  const { run } = validating(t);
  const { code, table } = await run("ui = 3\nregoin = 1\n");
  assert.equal(code, 2);
  assert.match(table, /^FAIL {2}configuration {2}\S+h\.hcl:2:6: "ui": expected true or false$/m);
  assert.match(table, /^FAIL {2}configuration {2}\S+h\.hcl:3:1: there is no setting "regoin"/m);
});

async function listening(t: TestContext, at: { port: number } | { path: string }): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", ...at }, resolve));
  t.after(() => server.close());
  return server;
}

test("a port or a socket that is taken fails", async (t) => {
  const { run, directory } = validating(t);
  const bound = (await listening(t, { port: 0 })).address();
  assert.ok(typeof bound === "object" && bound !== null);
  const port = await run(
    `listener "tcp" { address = "127.0.0.1:${bound.port}" tls_disable = true }`,
  );
  assert.equal(port.code, 2);
  assert.match(port.table, /^FAIL {2}listener .*: the address is in use$/m);
  const path = join(directory, "s.sock");
  assert.equal((await run(`listener "unix" { address = "${path}" }`)).code, 0);
  await listening(t, { path });
  const socket = await run(`listener "unix" { address = "${path}" }`);
  assert.equal(socket.code, 2);
  assert.match(socket.table, /^FAIL {2}listener .*another process listens there$/m);
});

test("a cluster port that cannot be listened at fails, also where a listener of the same file has its address", async (t) => {
  const { run } = validating(t);
  const bound = (await listening(t, { port: 0 })).address() as AddressInfo;
  const free = await listening(t, { port: 0 });
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const at = (listener: number, cluster: number) =>
    `listener "tcp" { address = "127.0.0.1:${listener}" tls_disable = true cluster_address = "127.0.0.1:${cluster}" }`;
  const good = await run(at(0, 0));
  assert.equal(good.code, 0, good.table);
  assert.match(good.table, /^ok {4}cluster port {3}127\.0\.0\.1:0$/m);
  for (const config of [at(0, bound.port), at(port, port)]) {
    const { code, table } = await run(config);
    assert.equal(code, 2, table);
    assert.match(table, /^ok {4}listener/m);
    assert.match(table, /^FAIL {2}cluster port .*: the address is in use$/m);
  }
});

test("a cluster port at an address that no cluster is sent to is warned of, with the setting that is missing", async (t) => {
  const { run } = validating(t);
  const config = (address: string, more = "") =>
    `${more}\nlistener "tcp" { address = "127.0.0.1:0" tls_disable = true cluster_address = "${address}" }`;
  const everywhere = `0.0.0.0:${await freePort()}`;
  const { code, table } = await run(config(everywhere));
  assert.equal(code, 0, table);
  assert.match(table, /^ok {4}cluster port {3}0\.0\.0\.0:\d+$/m);
  assert.match(table, /^warn {2}cluster port {3}.* add cluster_addr = "https:\/\/host:port"/m);
  const wrong = await run(config("127.0.0.1:0", 'cluster_addr = "https://0.0.0.0:8201"'));
  assert.match(wrong.table, /^warn {2}cluster port {3}cluster_addr is called by no other/m);
  const named = 'cluster_addr = "https://dr.example:8201"';
  for (const good of [config(everywhere, named), config("127.0.0.1:0")]) {
    assert.doesNotMatch((await run(good)).table, /^warn {2}cluster port/m);
  }
});

test("certificates must be there, be a pair, and be valid now", async (t) => {
  const { run, directory, clock } = validating(t);
  const made = await makeDevCertificate([{ type: "dns", value: "h.example" }], clock.now());
  const other = await makeDevCertificate([{ type: "dns", value: "h.example" }], clock.now());
  const files = {
    "c.pem": made.certificate,
    "k.pem": made.key,
    "other.pem": other.key,
    "ca.pem": made.authority,
    "text.pem": "nonsense",
  };
  for (const [name, pem] of Object.entries(files))
    writeFileSync(join(directory, name), pem, { mode: 0o600 });
  const config = (cert: string, key: string, more = "") =>
    `listener "tcp" { address = "127.0.0.1:0" tls_cert_file = "${directory}/${cert}" tls_key_file = "${directory}/${key}" ${more} }`;
  const good = await run(config("c.pem", "k.pem", `tls_client_ca_file = "${directory}/ca.pem"`));
  assert.equal(good.code, 0, good.table);
  assert.match(good.table, /^ok {4}certificate {4}DNS:h\.example, until /m);

  const table: readonly [Promise<Outcome>, RegExp][] = [
    [run(config("c.pem", "other.pem")), /other\.pem is not the key of \S+c\.pem/],
    [run(config("none.pem", "k.pem")), /there is no file \S+none\.pem/],
    [run(config("text.pem", "k.pem")), /text\.pem does not hold what is expected there/],
    [
      run(config("c.pem", "k.pem", `tls_client_ca_file = "${directory}/text.pem"`)),
      /text\.pem does not hold/,
    ],
    [run(config("c.pem", "k.pem"), { at: clock.now() + 31n * DAY }), /c\.pem expired on/],
    [run(config("c.pem", "k.pem"), { at: clock.now() - 2n * DAY }), /c\.pem is not valid before/],
  ];
  for (const [outcome, text] of table) {
    const { code, table: output } = await outcome;
    assert.equal(code, 2, output);
    assert.match(output, text);
  }
  const soon = await run(config("c.pem", "k.pem"), { at: clock.now() + 20n * DAY });
  assert.equal(soon.code, 0);
  assert.match(soon.table, /^warn {2}certificate .* expires on /m);
  chmodSync(join(directory, "k.pem"), 0o644);
  assert.match(
    (await run(config("c.pem", "k.pem"))).table,
    /^warn .*k\.pem is open to every user/m,
  );
});

test("on a running server what it uses itself is told and does not fail, so that changes can be checked", async (t) => {
  const { run, directory } = validating(t);
  const engine = await SqliteEngine.open({
    directory: join(directory, "data", "store"),
    fs: new SystemFs(),
  });
  const bound = (await listening(t, { port: 0 })).address();
  assert.ok(typeof bound === "object" && bound !== null);
  const path = join(directory, "s.sock");
  await listening(t, { path });
  const listeners = `
    listener "tcp" { address = "127.0.0.1:${bound.port}" tls_disable = true }
    listener "unix" { address = "${path}" }
  `;
  const busy = await run(listeners);
  assert.equal(busy.code, 0, busy.table);
  assert.match(busy.table, /^warn {2}storage .*in use by a running server/m);
  assert.match(busy.table, /^warn {2}listener {7}127\.0\.0\.1:\d+, in use/m);
  assert.match(busy.table, /^warn {2}listener .*s\.sock, in use/m);
  const broken = await run(`${listeners} seal "static" { key_file = "${directory}/none" }`);
  assert.equal(broken.code, 2, broken.table);
  await engine.close();
  const free = await run(PLAIN);
  assert.equal(free.code, 0, free.table);
  assert.match(free.table, /^ok {4}storage .*not in use$/m);
});

test("the key of a static seal must be readable as one", async (t) => {
  const { run, directory } = validating(t);
  writeFileSync(join(directory, "good"), "ab".repeat(32), { mode: 0o600 });
  writeFileSync(join(directory, "bad"), "hunter2", { mode: 0o600 });
  const seal = (name: string) => `${PLAIN}seal "static" { key_file = "${directory}/${name}" }`;
  assert.equal((await run(seal("good"))).code, 0);
  const bad = await run(seal("bad"));
  assert.equal(bad.code, 2);
  assert.match(bad.table, /^FAIL {2}seal /m);
  assert.ok(!bad.table.includes("hunter2"));
  assert.equal((await run(seal("none"))).code, 2);
});

test("T-G02: directories that links lead into each other fail, and those that others can write", async (t) => {
  const { run, directory } = validating(t);
  mkdirSync(join(directory, "data", "store"), { recursive: true, mode: 0o700 });
  symlinkSync(join(directory, "data", "store"), join(directory, "audit"));
  const linked = await run(`${PLAIN}audit_file_roots = ["${directory}/audit/x"]`);
  assert.equal(linked.code, 2);
  assert.match(linked.table, /^FAIL {2}directories .*must be apart/m);
  chmodSync(join(directory, "data"), 0o777);
  const open = await run(PLAIN);
  assert.equal(open.code, 2);
  assert.match(open.table, /^FAIL {2}directories .*can be written by others/m);
});

test("a data directory whose parents are missing is told: the server would make all of them", async (t) => {
  const { run, directory } = validating(t);
  const missing = join(directory, "no", "such", "data");
  const { code, table } = await run(PLAIN, { data: "no/such/data" });
  assert.equal(code, 0, table);
  const line = `${missing}, not there yet: the server makes it at its start, below ${directory}`;
  assert.ok(table.includes(line), table);
  assert.ok(!existsSync(join(directory, "no")), "nothing is made");
});

test("a development certificate is good for its hosts, by an authority that is one", async () => {
  const clock = new SystemClock();
  const hosts = [
    { type: "dns", value: "localhost" },
    { type: "ip", value: "127.0.0.1" },
  ] as const;
  const made = await makeDevCertificate(hosts, clock.now());
  const [authority, certificate] = [
    new X509Certificate(made.authority),
    new X509Certificate(made.certificate),
  ];
  assert.ok(authority.ca && !certificate.ca);
  assert.ok(certificate.checkIssued(authority) && certificate.verify(authority.publicKey));
  assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(certificate.checkHost("localhost"), "localhost");
  assert.equal(certificate.checkHost("example.com"), undefined);
});

test("a declared audit file whose directory is missing, or not ours to write to, is told", async (t) => {
  const { run, directory } = validating(t);
  const device = (path: string) =>
    `${PLAIN}audit "file" "trail" { options { file_path = "${path}" } }\n`;
  const missing = await run(device(`${directory}/logs/audit.log`));
  assert.equal(missing.code, 2);
  assert.match(
    missing.table,
    /^FAIL {2}audit +audit device trail\/: \S+\/logs\/audit.log: the directory/m,
  );
  assert.match(missing.table, /mkdir -p \S+\/logs/);
  mkdirSync(join(directory, "logs"));
  const there = await run(device(`${directory}/logs/audit.log`));
  assert.equal(there.code, 0, there.table);
  assert.match(there.table, /^ok {4}audit +audit device trail\/$/m);
  assert.deepEqual(readdirSync(join(directory, "logs")), [], "nothing is left behind");
  symlinkSync("/dev/null", join(directory, "logs", "link"));
  const link = await run(device(`${directory}/logs/link`));
  assert.match(link.table, /^FAIL {2}audit .*links are not followed/m);
  const option = await run(
    `${PLAIN}audit "file" "trail" { options { file_path = "/tmp/a.log" colour = "red" } }\n`,
  );
  assert.equal(option.code, 2, option.table);
  const closed = await run(device(`${directory}/logs/audit.log`), { canWrite: () => false });
  assert.match(closed.table, /^FAIL {2}audit .*no file can be made in/m);
});

test("a store that was put there without its lock is looked into, and nothing is made", async (t) => {
  const { run, directory } = validating(t);
  const store = join(directory, "data", "store");
  const file = join(store, "store.db");
  const engine = await SqliteEngine.open({ directory: store, fs: new SystemFs() });
  await engine.close();
  rmSync(join(store, "lock.db"));
  const whole = readFileSync(file);
  const before = readdirSync(store);
  const good = await run(PLAIN);
  assert.equal(good.code, 0, good.table);
  assert.match(good.table, /^ok {4}storage .*store, not in use$/m);
  assert.deepEqual(readdirSync(store), before);

  const damaged: readonly [RegExp, () => void][] = [
    [/file is not a database/, () => writeFileSync(file, randomBytes(50_000))],
    [/written by a newer version of Holdfast \(format 99/, () => setVersion(file, 99)],
    [/mode 644\); make it private with: chmod 600/, () => chmodSync(file, 0o644)],
    [/is closed to its owner/, () => chmodSync(file, 0o000)],
  ];
  for (const [text, damage] of damaged) {
    chmodSync(file, 0o600);
    writeFileSync(file, whole);
    damage();
    const { code, table } = await run(PLAIN);
    assert.equal(code, 2, table);
    assert.match(table, /^FAIL {2}storage /m);
    assert.match(table, text);
    assert.deepEqual(readdirSync(store), before);
  }
});

function setVersion(file: string, version: number): void {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${version}`);
  db.close();
}

test("on a terminal a long note goes on below its beginning, and a path is whole", () => {
  const path = `/var/lib/${"holdfast/".repeat(3)}store`;
  const note = `${path}, not there yet: ${"some more words ".repeat(8)}at the end`;
  const findings = [{ check: "storage", result: "ok" as const, note }];
  const lines = showFindings(findings, 80).trimEnd().split("\n");
  for (const line of lines) assert.ok(line.length <= 80, line);
  assert.ok(lines[0]!.includes(path));
  assert.ok(
    lines.slice(1).every((line) => /^ {15}\S/.test(line)),
    lines.join("\n"),
  );
  assert.equal(lines.map((line) => line.slice(15)).join(" "), note);
  assert.equal(showFindings(findings, null), `ok    storage  ${note}\n`);
});
