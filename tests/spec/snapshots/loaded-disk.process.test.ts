// A loaded snapshot on a real disk: what a crash leaves of it is gone with the next unseal.

import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { at } from "../../support/http-client.ts";
import { configured, PROGRAM, StartedServer } from "../../support/servers/started-server.ts";
import { exchange, sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

test(
  "kill -9 while one is loaded, and one is being loaded: both are gone, and others can be",
  BOUND,
  async (t) => {
    const { home, config } = configured(t);
    const start = () => new StartedServer(t, home, [PROGRAM, "server", "--config", config]).ready();
    const server = await start();
    const body = { secret_shares: 1, secret_threshold: 1 };
    const made = await server.call("POST", "/v1/sys/init", { body });
    const token = String(at(made, "root_token"));
    const key = at(made, "keys", 0);
    await server.call("POST", "/v1/sys/unseal", { body: { key } });
    await server.call("POST", "/v1/sys/mounts/kv", { token, body: { type: "kv" } });
    await server.call("POST", "/v1/kv/data/app", { token, body: { data: { a: "then" } } });
    const addressOf = ({ log }: StartedServer) => /addresses=(\S+)/.exec(log)?.[1] ?? "";
    const address = addressOf(server);
    const { body: archive } = await takeSnapshot(address, token);
    const load = (base: string) => sendSnapshot(base, token, "snapshot-load", archive);
    const id = String((await load(address)).json["snapshot_id"]);
    const read = `/v1/kv/data/app?read_snapshot_id=${id}`;
    assert.equal((await server.call("GET", read, { token })).status, 200);
    const directory = join(home, "data", "server", "loaded");
    const stores = () => readdirSync(directory).filter((name) => /^\d+$/.test(name));
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of stores()) {
      assert.equal(statSync(join(directory, name, "store.db")).mode & 0o777, 0o600);
    }
    // The second one never ends.
    async function* half() {
      yield archive.subarray(0, archive.length >> 1);
      await server.ended;
    }
    const url = `${address}/v1/sys/storage/raft/snapshot-load`;
    const headers = {
      "Content-Type": "application/gzip",
      "Content-Length": String(archive.length),
    };
    const cut = exchange(url, { method: "POST", token, headers, stream: half() }).catch(() => null);
    await until(() => stores().length === 2);
    process.kill(server.pid, "SIGKILL");
    await server.ended;
    await cut;
    assert.ok(stores().length > 0);

    const again = await start();
    await again.call("POST", "/v1/sys/unseal", { body: { key } });
    assert.deepEqual(stores(), []);
    assert.equal((await again.call("GET", read, { token })).status, 404);
    assert.equal((await load(addressOf(again))).status, 200);
    assert.equal(await again.stop(), 0);
    assert.ok(!existsSync(directory) || stores().length === 0);
  },
);
