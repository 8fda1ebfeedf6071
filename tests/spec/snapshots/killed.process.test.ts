// A snapshot whose server is killed in the middle, on a real disk: nothing of it is left on either side, and the
// server comes up again as it was.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { run } from "../../cli/harness.ts";
import { at } from "../../support/http-client.ts";
import { configured, PROGRAM, StartedServer } from "../../support/servers/started-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

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

test(
  "T-L03: kill -9 in a restore, at whatever moment, leaves the data before or the data of the snapshot, whole",
  { timeout: 600_000 },
  async (t) => {
    const { server: first, start, token, key, address, data } = await started(t);
    const { body } = await takeSnapshot(address, token);
    let server = first;
    const store = join(data, "store");
    const current = () => {
      const file = join(store, "current");
      return existsSync(file) ? readFileSync(file, "utf8") : "";
    };
    const filling = () => readdirSync(store).filter((name) => /^\d+$/.test(name)).length;
    const outcomes = new Set<string>();
    const moments = ["sent", "filling", "half", "exchanged", "answered"] as const;
    for (const moment of moments) {
      for (const i of [0, 30, 59]) {
        const written = { token, body: { data: { value: "later" } } };
        assert.equal((await server.call("POST", `/v1/kv/data/${i}`, written)).status, 200);
      }
      const before = [current(), filling()] as const;
      const [, where = ""] = /addresses=(\S+)/.exec(server.log) ?? [];
      let answered = false;
      const sent = sendSnapshot(where, token, "snapshot", body)
        .then(() => void (answered = true))
        .catch(() => {});
      const size = () =>
        readdirSync(store, { recursive: true, encoding: "utf8" }).reduce(
          (sum, name) => sum + (statSync(join(store, name), { throwIfNoEntry: false })?.size ?? 0),
          0,
        );
      const bytes = size();
      await until(() => {
        if (moment === "sent") return true;
        if (moment === "filling") return filling() > before[1] || answered;
        if (moment === "half") return size() > bytes + body.length / 2 || answered;
        if (moment === "answered") return answered;
        return current() !== before[0];
      });
      process.kill(server.pid, "SIGKILL");
      await server.ended;
      await sent;
      server = await start();
      const unsealed = await server.call("POST", "/v1/sys/unseal", { body: { key } });
      assert.equal(at(unsealed, "sealed"), false, `${moment}: ${unsealed.text}`);
      const values: string[] = [];
      for (const i of [0, 30, 59]) {
        const read = await server.call("GET", `/v1/kv/data/${i}`, { token });
        // As they begin: "xxxxx" were in the archive, "later" was written behind it.
        values.push(String(at(read, "data", "data", "value")).slice(0, 5));
      }
      assert.equal(new Set(values).size, 1, `${moment}: ${values.join()}`);
      const [value = ""] = values;
      assert.ok(["later", "xxxxx"].includes(value), `${moment}: ${value}`);
      if (moment === "sent") assert.equal(value, "later");
      if (moment === "exchanged") assert.equal(value, "xxxxx");
      outcomes.add(value);
      for (let i = 0; i < 60; i++) {
        const read = await server.call("GET", `/v1/kv/data/${i}`, { token });
        assert.equal(read.status, 200, `${moment}: ${i}`);
      }
      assert.ok(filling() <= 1, `${moment}: one generation is left`);
    }
    assert.equal(outcomes.size, 2, "both were seen");
    assert.equal(await server.stop(), 0);
  },
);
