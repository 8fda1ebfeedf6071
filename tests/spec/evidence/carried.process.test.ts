// The same on a real disk: the server is killed between the exchange and the first unseal.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { at } from "../../support/http-client.ts";
import { configured, PROGRAM, StartedServer } from "../../support/servers/started-server.ts";
import { sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const PLACE = "core/carried/";

async function opened(t: TestContext) {
  const { home, config } = configured(t);
  const start = () => new StartedServer(t, home, [PROGRAM, "server", "--config", config]).ready();
  const server = await start();
  const body = { secret_shares: 1, secret_threshold: 1 };
  const made = await server.call("POST", "/v1/sys/init", { body });
  const key = String(at(made, "keys", 0));
  await server.call("POST", "/v1/sys/unseal", { body: { key } });
  const [, address = ""] = /addresses=(\S+)/.exec(server.log) ?? [];
  return { server, start, key, token: String(at(made, "root_token")), address, home };
}

test(
  "kill -9 after a restore with other keys, before anybody unseals: evidence goes on with the next number",
  { timeout: 300_000 },
  async (t) => {
    const source = await opened(t);
    const { body } = await takeSnapshot(source.address, source.token);
    const own = await opened(t);
    const first = await own.server.call("GET", "/v1/sys/evidence/1", { token: own.token });
    const sent = await sendSnapshot(own.address, own.token, "snapshot-force", body);
    assert.equal(sent.status, 204, sent.text);
    await until(async () => {
      const status = await own.server.call("GET", "/v1/sys/seal-status");
      return status.status === 200 && at(status, "sealed") === true;
    });
    process.kill(own.server.pid, "SIGKILL");
    await own.server.ended;
    const store = join(own.home, "data", "store");
    const files = () =>
      readdirSync(store, { recursive: true, encoding: "utf8" })
        .filter((name) => name.includes("store.db"))
        .map((name) => join(store, name));
    const inClear = () => files().filter((file) => readFileSync(file, "latin1").includes(PLACE));
    assert.notDeepEqual(inClear(), [], "it waits there");
    const again = await own.start();
    const unsealed = await again.call("POST", "/v1/sys/unseal", { body: { key: source.key } });
    assert.equal(at(unsealed, "sealed"), false, unsealed.text);
    const { token } = source;
    const kept = await again.call("GET", "/v1/sys/evidence/1", { token });
    assert.deepEqual(at(kept, "data"), at(first, "data"));
    const states = [];
    for (const number of [2, 3]) {
      const report = await again.call("GET", `/v1/sys/evidence/${number}`, { token });
      states.push(at(report, "data", "report", "result", "state"));
    }
    assert.deepEqual(states, ["exchanged", "broken"]);
    assert.equal(await again.stop(), 0);
    assert.deepEqual(inClear(), [], "nothing is left in clear");

    // Somebody puts rows there under names that no server writes.
    const database = new DatabaseSync(files().find((name) => name.endsWith("store.db")) ?? "");
    const insert = database.prepare("INSERT INTO data (key, value) VALUES (?, ?)");
    for (const name of ["letter", "rows//x", "sealed/a\u0001", "zzz/", "x".repeat(5000)]) {
      insert.run(PLACE + name, Buffer.alloc(2 << 20));
    }
    database.close();
    assert.notDeepEqual(inClear(), []);
    const last = await own.start();
    const opens = await last.call("POST", "/v1/sys/unseal", { body: { key: source.key } });
    assert.equal(at(opens, "sealed"), false, opens.text);
    assert.match(last.log, /evidence\.refused/);
    assert.equal(await last.stop(), 0);
    assert.deepEqual(inClear(), []);
  },
);
