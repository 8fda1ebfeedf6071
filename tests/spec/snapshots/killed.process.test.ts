// A snapshot whose server is killed in the middle, on a real disk: nothing of it is left on either side, and the
// server comes up again as it was.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { configured, PROGRAM, StartedServer } from "../../support/servers/started-server.ts";

const BOUND = { timeout: 120_000 };

async function started(t: TestContext) {
  const { home, config } = configured(t);
  const start = () => new StartedServer(t, home, [PROGRAM, "server", "--config", config]).ready();
  const server = await start();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = await server.call("POST", "/v1/sys/init", { body });
  const token = String(at(made, "root_token"));
  const key = at(made, "keys", 0);
  await server.call("POST", "/v1/sys/unseal", { body: { key } });
  await server.call("POST", "/v1/sys/mounts/kv", { token, body: { type: "kv" } });
  const value = "x".repeat(500_000);
  for (let i = 0; i < 60; i++) {
    const answer = await server.call("POST", `/v1/kv/data/${i}`, {
      token,
      body: { data: { value } },
    });
    assert.equal(answer.status, 200, answer.text);
  }
  const [, address = ""] = /addresses=(\S+)/.exec(server.log) ?? [];
  return { server, start, token, key, address, data: join(home, "data") };
}

test(
  "kill -9 while a download is under way leaves no spool, no file, and a server that starts",
  BOUND,
  async (t) => {
    const { server, start, token, key, address, data } = await started(t);
    const spool = join(data, "server", "spool");
    const headers = { "X-Service-Token": token };
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    const sent = request(`${address}/v1/sys/storage/raft/snapshot`, { headers, agent: false });
    sent.on("error", () => {});
    sent.on("response", (answer) => {
      answer.on("error", () => {});
      answer.pause();
      resolve();
    });
    sent.end();
    await begun;
    assert.deepEqual(readdirSync(spool), []);
    assert.equal(statSync(spool).mode & 0o777, 0o700);
    process.kill(server.pid, "SIGKILL");
    await server.ended;
    sent.destroy();
    assert.deepEqual(readdirSync(spool), []);
    const again = await start();
    const unsealed = await again.call("POST", "/v1/sys/unseal", { body: { key } });
    assert.equal(at(unsealed, "sealed"), false);
    const read = await again.call("GET", "/v1/kv/data/59", { token });
    assert.equal(read.status, 200);
    assert.equal(await again.stop(), 0);
  },
);

test(
  "kill -9 while `snapshot save` runs leaves no file under its name, nor another",
  BOUND,
  async (t) => {
    const { server, token, address } = await started(t);
    const home = mkdtempSync(join(tmpdir(), "holdfast-killed-"));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const env = { HOLDFAST_ADDR: address, HOLDFAST_TOKEN: token, HOME: home };
    const file = join(home, "a.snap");
    const saving = run(["snapshot", "save", file], { env });
    // As soon as something of it is there.
    for (let parts: string[] = []; parts.length === 0;) {
      parts = readdirSync(home).filter((name) => name.endsWith(".part"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    process.kill(server.pid, "SIGKILL");
    const { code, all } = await saving;
    assert.notEqual(code, 0, all);
    assert.deepEqual(
      readdirSync(home).filter((name) => name.includes("snap")),
      [],
    );
  },
);
