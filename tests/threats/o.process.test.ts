// Threats O that concern a process: what its dumps tell, and what the runtime would let out. The program as
// operators start it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { at } from "../support/http-client.ts";
import { configured, PROGRAM, ROOT, StartedServer } from "../support/servers/started-server.ts";

const MARKER = "marker-8e21c7";

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!holds()) {
    assert.ok(performance.now() < end, "it never came to that");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("T-O04: neither the dump of the server nor what commands print of themselves holds a secret", async (t) => {
  const { home, config } = configured(t, `storage "memory" {}\nlog_level = "debug"\n`);
  const server = await new StartedServer(t, home, [
    "/usr/bin/env",
    `AWS_SECRET_ACCESS_KEY=${MARKER}`,
    `HOLDFAST_TOKEN=${MARKER}`,
    PROGRAM,
    "server",
    "--config",
    config,
  ]).ready();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = await server.call("POST", "/v1/sys/init", { body });
  const [token, key] = [String(at(made, "root_token")), String(at(made, "keys", 0))];
  await server.call("POST", "/v1/sys/unseal", { body: { key } });
  const mount = { type: "kv", options: { version: "1" } };
  await server.call("POST", "/v1/sys/mounts/kv", { token, body: mount });
  const written = await server.call("POST", "/v1/kv/a", { token, body: { password: MARKER } });
  assert.equal(written.status, 204, written.text);
  process.kill(server.pid, "SIGUSR2");
  await until(() => server.log.includes("dump: audit"));
  for (const fact of ["process", "memory", "event loop", "seal", "storage", "listener"]) {
    assert.match(server.log, new RegExp(`dump: ${fact}`));
  }
  for (const secret of [MARKER, token, key]) assert.ok(!server.log.includes(secret));

  const [, address = ""] = /addresses=(\S+)/.exec(server.log) ?? [];
  const env = { PATH: process.env["PATH"], HOME: home, HOLDFAST_ADDR: address };
  const run = (secret: string, ...args: readonly string[]) =>
    spawnSync(PROGRAM, args, { env: { ...env, HOLDFAST_TOKEN: secret }, encoding: "utf8" });
  const tries = [
    [run(MARKER, "version"), 0],
    [run(MARKER, "status", "-debug"), 0],
    [run(MARKER, "read", "-debug", "kv/b"), null],
    [run(token, "write", "-debug", "kv/b", `password=${MARKER}`), 0],
  ] as const;
  for (const [{ status, stdout, stderr }, expected] of tries) {
    if (expected === null) assert.notEqual(status, 0);
    else assert.equal(status, expected, stderr);
    assert.ok(stdout.length + stderr.length > 10, "it said something");
    for (const secret of [MARKER, token]) assert.ok(!(stdout + stderr).includes(secret));
  }
});

test("T-O05: no signal, flag or fault lets memory or environment out of the process", async (t) => {
  const { home, config } = configured(t, 'storage "memory" {}\n');
  const server = await new StartedServer(t, home, [PROGRAM, "server", "--config", config]).ready();
  assert.match(readFileSync(`/proc/${server.pid}/limits`, "utf8"), /^Max core file size +0 /m);
  const command = readFileSync(`/proc/${server.pid}/cmdline`, "utf8").split("\0");
  assert.ok(command.includes("--report-exclude-env"));
  process.kill(server.pid, "SIGUSR1");
  process.kill(server.pid, "SIGUSR2");
  await until(() => server.log.includes("dump: audit"));
  assert.equal((await server.call("GET", "/v1/sys/health")).status, 501, "it lives");
  assert.doesNotMatch(server.log, /Debugger listening/);
  const debuggers = await new Promise((resolve) => {
    const socket = createConnection(9229, "127.0.0.1", () => resolve(socket.destroy()));
    socket.on("error", () => resolve(null));
  });
  assert.equal(debuggers, null);
  const left = readdirSync(home, { recursive: true, encoding: "utf8" });
  assert.deepEqual(
    left.filter((name) => /report\.|\.heapsnapshot|core/.test(name)),
    [],
  );

  for (const [flags, variables, text] of [
    [["--inspect=127.0.0.1:0"], {}, /started with --inspect/],
    [["--heapsnapshot-signal=SIGUSR2"], {}, /started with --heapsnapshot-signal/],
    [["--report-on-signal"], {}, /started with --report-on-signal/],
    [["--abort-on-uncaught-exception"], {}, /started with --abort-on-uncaught-exception/],
    [[], { NODE_OPTIONS: "--report-on-signal" }, /NODE_OPTIONS is set/],
    [[], { NODE_DEBUG: "http" }, /NODE_DEBUG is set/],
  ] as const) {
    const args = [...flags, join(ROOT, "src", "main.ts"), "server", "--config", config];
    const env = { PATH: process.env["PATH"], HOME: home, ...variables };
    const refused = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 300_000 });
    assert.equal(refused.status, 2, refused.stderr);
    assert.match(refused.stderr, text);
  }
});
