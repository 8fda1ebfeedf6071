// Audit over the API. What devices do with records is tested beside them.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { Agent } from "node:http";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { at, errorsOf } from "../support/http-client.ts";
import { MemoryDisk } from "../../src/storage/engines/memory.ts";
import { PassingClock } from "../support/servers/sealed-node.ts";
import { startServer, type TestServer } from "../support/servers/test-server.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

async function opened(t: After, settings: object = {}) {
  const server = await startServer({ settings });
  t.after(() => server.stop());
  const { token } = await server.open();
  return { server, token };
}

async function enableFile(server: TestServer, token: string, name = "file"): Promise<string> {
  const file_path = join(server.auditDirectory, `${name}.log`);
  const body = { type: "file", options: { file_path } };
  const answer = await server.call("POST", `/v1/sys/audit/${name}`, { token, body });
  assert.equal(answer.status, 204, answer.text);
  return file_path;
}

interface AuditLine {
  readonly type: string;
  readonly error?: string;
  readonly request: {
    readonly id: string;
    readonly path: string;
    readonly raw_path?: string;
    readonly operation: string;
  };
}

function linesOf(file: string): AuditLine[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ request }) => request !== undefined);
}

/** A sink that takes connections and never reads, and can be made to go away. */
async function stalledSink(t: After): Promise<{ address: string; end: () => Promise<void> }> {
  const open = new Set<Socket>();
  const sink: NetServer = createServer((socket) => {
    socket.pause();
    socket.on("error", () => {});
    open.add(socket);
  });
  await new Promise<void>((resolve) => sink.listen(0, "127.0.0.1", resolve));
  const { port } = sink.address() as { port: number };
  const end = () => {
    for (const socket of open) socket.destroy();
    return new Promise<void>((resolve) => sink.close(() => resolve()));
  };
  t.after(end);
  return { address: `127.0.0.1:${port}`, end };
}

test("every request has two records with its id, before and after, and open endpoints none", async (t) => {
  const { server, token } = await opened(t);
  const file = await enableFile(server, token);
  const before = linesOf(file).length;
  const answer = await server.call("GET", "/v1/sys/key-status", { token });
  for (const path of ["init", "seal-status", "health", "leader"])
    await server.call("GET", `/v1/sys/${path}`);
  const lines = linesOf(file).slice(before);
  const id = at(answer, "request_id");
  assert.equal(answer.headers["x-service-request-id"], id);
  assert.deepEqual(
    lines.map(({ type, request }) => [type, request.id, request.operation, request.path]),
    [
      ["request", id, "read", "sys/key-status"],
      ["response", id, "read", "sys/key-status"],
    ],
  );
});

test("T-A04: as many pairs of records as refusals, with the path quoted as it came", async (t) => {
  const { server, token } = await opened(t);
  const file = await enableFile(server, token);
  const before = linesOf(file).length;
  const targets = [
    "/v1/sys/%2e%2e/audit",
    "/v1/sys//audit",
    "/v1/sys/./audit",
    "/v1/sys/audit%00",
    "/v1/%73ys/audit",
  ];
  for (const target of targets) {
    assert.equal((await server.call("GET", target, { token })).status, 400);
  }
  await server.call("GET", "/v1/sys/key-status", { token: "nobody" });
  await server.call("GET", "/v1/sys/key-status");
  const lines = linesOf(file).slice(before);
  assert.equal(lines.length, 2 * (targets.length + 2));
  assert.ok(lines.every(({ error }) => error !== undefined && error !== ""));
  for (const target of targets) {
    const raw = target.slice("/v1".length);
    assert.equal(lines.filter(({ request }) => request.raw_path === raw).length, 2, raw);
  }
});

test("T-G04: two devices, one hanging: requests go on", async (t) => {
  const { server, token } = await opened(t);
  const { address } = await stalledSink(t);
  await enableFile(server, token);
  const options = { address, socket_type: "tcp", write_timeout: "1s" };
  const body = { type: "socket", options };
  assert.equal((await server.call("POST", "/v1/sys/audit/stalled", { token, body })).status, 204);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  // Enough to fill every buffer between the two: from there on the sink hangs.
  const metadata = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`key-${i}`, "x".repeat(100)]),
  );
  for (let i = 0; i < 600; i++) {
    const write = { token, body: { custom_metadata: metadata }, agent };
    const answer = await server.call("POST", "/v1/sys/namespaces/team", write);
    assert.equal(answer.status, 200, answer.text);
  }
  const listed = await server.call("GET", "/v1/sys/audit", { token });
  assert.deepEqual(Object.keys(at(listed, "data") as object).toSorted(), ["file/", "stalled/"]);
});

test("T-G04: when all devices fail requests are refused and change nothing", async (t) => {
  const disk = new MemoryDisk();
  const server = await startServer({ disk });
  t.after(() => server.stop());
  const { token } = await server.open();
  const { address, end } = await stalledSink(t);
  const options = { address, socket_type: "tcp", write_timeout: "5s" };
  const body = { type: "socket", options };
  assert.equal((await server.call("POST", "/v1/sys/audit/only", { token, body })).status, 204);
  await end();
  const write = () => server.call("POST", "/v1/sys/namespaces/team", { token });
  // The first write to a connection that the peer has left may still be taken by the system.
  let answer = await write();
  for (let i = 0; i < 20 && answer.status !== 500; i++) answer = await write();
  assert.equal(answer.status, 500);
  assert.deepEqual(errorsOf(answer), ["no audit device succeeded in logging the request"]);
  const wal = async () => at(await server.call("GET", "/v1/sys/health"), "last_wal");
  const before = await wal();
  for (const path of ["key-status", "namespaces/team", "audit"]) {
    assert.equal((await server.call("GET", `/v1/sys/${path}`, { token })).status, 500, path);
  }
  assert.equal((await write()).status, 500);
  assert.equal(await wal(), before, "nothing was written");
  assert.equal((await server.call("GET", "/v1/sys/health")).status, 200, "open endpoints answer");
});

test("devices: listed, not twice, gone after DELETE, and kept over a restart", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk });
  const { token, shares } = await first.open();
  const file = await enableFile(first, token);
  const again = await first.call("POST", "/v1/sys/audit/file", {
    token,
    body: { type: "file", options: { file_path: `${file}2` } },
  });
  assert.equal(again.status, 400);
  const listed = await first.call("GET", "/v1/sys/audit", { token });
  assert.equal(at(listed, "data", "file/", "type"), "file");
  const hash = await first.call("POST", "/v1/sys/audit-hash/file", {
    token,
    body: { input: token },
  });
  const hashed = String(at(hash, "data", "hash"));
  assert.match(hashed, /^hmac-sha256:[0-9a-f]{64}$/);
  assert.ok(readFileSync(file, "utf8").includes(hashed), "the hash finds the token in the trail");
  assert.equal((await first.call("DELETE", "/v1/sys/audit/file", { token })).status, 204);
  assert.deepEqual(at(await first.call("GET", "/v1/sys/audit", { token }), "data"), {});
  await first.stop();
  const second = await startServer({ disk });
  t.after(() => second.stop());
  await second.unseal(shares);
  assert.deepEqual(at(await second.call("GET", "/v1/sys/audit", { token }), "data"), {});
});

const REFUSED: readonly [string, object, RegExp][] = [
  ["T-G03: no path", { type: "file", options: { file_path: "" } }, /file_path/],
  ["T-G03: a directory", { type: "file", options: { file_path: "AUDIT" } }, /./],
  ["T-G03: a device node", { type: "file", options: { file_path: "/dev/full" } }, /./],
  ["T-G03: /proc", { type: "file", options: { file_path: "/proc/self/environ" } }, /./],
  ["T-G02: beside the roots", { type: "file", options: { file_path: "/tmp/audit.log" } }, /./],
  ["T-G02: the way up", { type: "file", options: { file_path: "AUDIT/../x.log" } }, /./],
  [
    "T-G02: an execute bit",
    { type: "file", options: { file_path: "AUDIT/x.log", mode: "0755" } },
    /mode/,
  ],
  [
    "T-G02: a prefix",
    { type: "file", options: { file_path: "AUDIT/x.log", prefix: "#!" } },
    /prefix/,
  ],
  [
    "an unknown option",
    { type: "file", options: { file_path: "AUDIT/x.log", colour: "red" } },
    /colour/,
  ],
  [
    "where a cloud talks to its machines",
    { type: "socket", options: { address: "169.254.169.254:80", socket_type: "tcp" } },
    /did not take a test record/,
  ],
  ["an unknown type", { type: "paper", options: {} }, /file, socket, syslog/],
  ["no type", { options: {} }, /type/],
];

test("refused devices change nothing", async (t) => {
  const { server, token } = await opened(t);
  for (const [what, body, says] of REFUSED) {
    const entry = JSON.parse(
      JSON.stringify(body).replaceAll("AUDIT", server.auditDirectory),
    ) as object;
    const answer = await server.call("POST", "/v1/sys/audit/bad", { token, body: entry });
    assert.equal(answer.status, 400, `${what}: ${answer.status} ${answer.text}`);
    assert.match(String(at(answer, "errors", 0)), says, what);
  }
  assert.deepEqual(at(await server.call("GET", "/v1/sys/audit", { token }), "data"), {});
});

test("a node with devices of which none can be opened stays sealed, keeps right shares, and goes on with them", async (t) => {
  const disk = new MemoryDisk();
  const clock = new PassingClock();
  const place = mkdtempSync(join(tmpdir(), "holdfast-audit-"));
  t.after(() => rmSync(place, { recursive: true }));
  const file_path = join(place, "logs", "audit.log");
  const settings = { audit: { file: { trail: { options: { file_path } } } } };
  const server = await startServer({ disk, settings, world: { clock } });
  t.after(() => server.stop());
  const { shares, token } = await server.init(3, 2);
  const unseal = (body: object, headers = {}) =>
    server.call("POST", "/v1/sys/unseal", { body, headers });
  assert.equal((await unseal({ key: shares[0] })).status, 200);
  const refused = await unseal({ key: shares[1] });
  assert.equal(refused.status, 503, refused.text);
  const texts = (errorsOf(refused) as string[]).join("\n");
  assert.match(texts, /not one of them can be opened/);
  assert.ok(texts.includes(`audit device trail/: cannot open ${file_path}`), texts);
  assert.match(texts, /are kept for 1 h: mend the cause, then run `holdfast operator unseal`/);
  const status = await server.call("GET", "/v1/sys/seal-status");
  assert.deepEqual([at(status, "sealed"), at(status, "progress")], [true, 2]);
  assert.equal((await server.call("GET", "/v1/sys/key-status", { token })).status, 503);

  clock.ahead += 2n * 1_000_000_000n;
  const afar = await unseal({}, { "X-Forwarded-For": "203.0.113.9" });
  assert.equal(afar.status, 503, afar.text);
  assert.ok(!afar.text.includes(place), "places of this machine are for callers on it");
  assert.ok(server.lines.some((line) => line.includes(file_path)));

  mkdirSync(join(place, "logs"));
  clock.ahead += 2n * 1_000_000_000n;
  const opened = await unseal({});
  assert.deepEqual([opened.status, at(opened, "sealed")], [200, false], opened.text);
  assert.equal((await server.call("GET", "/v1/sys/key-status", { token })).status, 200);
  const list = await server.call("GET", "/v1/sys/audit", { token });
  assert.equal(at(list, "data", "trail/", "local"), false, "as the configuration has it");
});

test("no audit file lies in a directory of the server's own, whoever asks for it", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-places-"));
  t.after(() => rmSync(directory, { recursive: true }));
  // The roots around it, so that nothing but the rule on the server's own directories stands against it:
  // the configuration would not let them be, and what a link or a mount leads to is seen only here.
  const server = await startServer({
    settings: { data_dir: directory },
    config: (config) => ({ ...config, audit: { ...config.audit, fileRoots: [directory] } }),
  });
  t.after(() => server.stop());
  const { token } = await server.open();
  const enable = (name: string, file_path: string) =>
    server.call("POST", `/v1/sys/audit/${name}`, {
      token,
      body: { type: "file", options: { file_path } },
    });
  for (const own of ["server", "snapshots"]) {
    mkdirSync(join(directory, own, "below"), { recursive: true, mode: 0o700 });
    for (const file of [join(own, "x.log"), join(own, "below", "x.log")]) {
      const refused = await enable("bad", join(directory, file));
      assert.equal(refused.status, 400, `${file}: ${refused.text}`);
      assert.match(refused.text, /audit_file_roots/);
      assert.equal(existsSync(join(directory, file)), false, file);
    }
  }
  mkdirSync(join(directory, "trail"), { mode: 0o700 });
  assert.equal((await enable("good", join(directory, "trail", "x.log"))).status, 204);
});

test("a declared audit file that a link puts among the server's own files is not opened", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-places-"));
  t.after(() => rmSync(directory, { recursive: true }));
  for (const own of ["server", "snapshots"]) {
    const data = join(directory, own);
    mkdirSync(join(data, own), { recursive: true, mode: 0o700 });
    symlinkSync(join(data, own), join(directory, `${own}-link`));
    const file_path = join(directory, `${own}-link`, "x.log");
    const audit = { file: { trail: { options: { file_path } } } };
    const server = await startServer({ settings: { data_dir: data, audit } });
    t.after(() => server.stop());
    const { shares } = await server.init();
    const refused = await server.call("POST", "/v1/sys/unseal", { body: { key: shares[0] } });
    assert.equal(refused.status, 503, own);
    assert.match(refused.text, /holds data or programs of the server/);
    assert.equal(existsSync(file_path), false);
  }
});

test("a node with devices of which none can be opened stays sealed and says so", async (t) => {
  const disk = new MemoryDisk();
  const first = await startServer({ disk });
  const { token, shares } = await first.open();
  await enableFile(first, token);
  await first.stop(); // its directory goes with it: the next server has another
  const second = await startServer({ disk });
  t.after(() => second.stop());
  const answer = await second.call("POST", "/v1/sys/unseal", { body: { key: shares[0] } });
  assert.notEqual(answer.status, 200);
  assert.match(answer.text, /audit/);
  assert.equal(at(await second.call("GET", "/v1/sys/seal-status"), "sealed"), true);
});
