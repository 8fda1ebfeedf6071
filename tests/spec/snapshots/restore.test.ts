// Snapshots that are brought back, over HTTP: by the same server, by others, and into one that has nothing.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import test, { type TestContext } from "node:test";
import { SystemFs } from "../../../src/system/fs.ts";
import { at, call } from "../../support/http-client.ts";
import { type EngineServer, engineServer, SECOND } from "../../support/servers/engine-server.ts";
import { startServer, type TestServer } from "../../support/servers/test-server.ts";
import { exchange, sendSnapshot, takeSnapshot } from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

const BOUND = { timeout: 300_000 };

async function filled(t: TestContext): Promise<EngineServer> {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "1" } });
  for (let n = 0; n < 30; n++) await server.must("POST", `kv/s${n}`, { value: `old-${n}` });
  return server;
}

async function taken(server: EngineServer): Promise<Buffer> {
  const { status, body } = await takeSnapshot(server.test.url, server.root);
  assert.equal(status, 200);
  return body;
}

function send(server: EngineServer, body: Uint8Array, force = false) {
  return sendSnapshot(server.test.url, server.root, force ? "snapshot-force" : "snapshot", body);
}

async function statusOf(server: EngineServer): Promise<Record<string, unknown>> {
  const answer = await server.ask("GET", "sys/storage/raft/restore-status");
  return answer.status === 200 ? (at(answer, "data") as Record<string, unknown>) : {};
}

async function restored(server: EngineServer): Promise<Record<string, unknown>> {
  let status: Record<string, unknown> = {};
  await until(async () => {
    status = await statusOf(server);
    return status["state"] === "done" || status["state"] === "failed";
  });
  return status;
}

test(
  "what was there when it was taken is there again, and the server goes on above both",
  BOUND,
  async (t) => {
    const server = await filled(t);
    assert.equal((await statusOf(server))["state"], "idle");
    const archive = await taken(server);
    await server.must("POST", "kv/s1", { value: "new" });
    await server.must("POST", "kv/later", { value: "new" });
    await server.must("DELETE", "kv/s2");
    const gone = await server.client('path "kv/*" { capabilities = ["read"] }');
    const before = server.test.server.store.head!;
    const cluster = server.test.server.keeper.clusterId;

    assert.equal((await send(server, archive)).status, 204);
    assert.notEqual((await statusOf(server))["state"], "receiving", "all of it is there");
    const status = await restored(server);
    assert.equal(status["state"], "done", JSON.stringify(status));
    assert.equal(status["bytes_done"], archive.length);
    assert.equal(status["error"], "");
    assert.equal(server.test.server.keeper.sealed, false, "it unsealed by itself");
    assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
    assert.equal(at(await server.must("GET", "kv/s2"), "data", "value"), "old-2");
    assert.equal((await server.ask("GET", "kv/later")).status, 404);
    assert.equal((await server.ask("GET", "kv/s1", undefined, { token: gone })).status, 403);
    assert.equal(server.test.server.keeper.clusterId, cluster);

    const { head, timeline } = server.test.server.store;
    assert.equal(head?.epoch, before.epoch + 1);
    assert.ok(head.index > before.index, "no index is used twice");
    assert.notEqual(
      Buffer.from(head.lineage).toString("hex"),
      Buffer.from(before.lineage).toString("hex"),
    );
    assert.equal(timeline?.origin?.replaced?.index, String(before.index));
    assert.equal(timeline.origin.restored.epoch, before.epoch);
    assert.equal((await server.test.server.store.check()).ok, true);

    // The same archive once more: it is of an older epoch now, which is said.
    assert.equal((await send(server, archive)).status, 204);
    const again = await restored(server);
    assert.equal(again["state"], "done");
    assert.match(String(again["warnings"]), /epoch 1, and the data here of epoch 2/);
    assert.equal(server.test.server.store.head?.epoch, before.epoch + 2);
  },
);

test("data keys that were rotated since the snapshot stay, and so do shares", BOUND, async (t) => {
  const server = await filled(t);
  const archive = await taken(server);
  await server.must("POST", "sys/rotate", {});
  await server.must("POST", "kv/s1", { value: "under the new key" });
  assert.equal((await send(server, archive)).status, 204);
  assert.equal((await restored(server))["state"], "done");
  assert.equal(at(await server.must("GET", "sys/key-status"), "data", "term"), 2);
  assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
  await server.must("POST", "sys/seal", {});
  await server.test.unseal(server.shares);
  assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
});

test(
  "case 124, T-L03: wrong keys, cut, flipped, without sums, with more in it: 400 each, and nothing has changed",
  BOUND,
  async (t) => {
    const server = await filled(t);
    const archive = await taken(server);
    const stranger = await filled(t);
    const foreign = await taken(stranger);
    const { store } = server.test.server;
    const { index } = store;
    const refuse = async (body: Uint8Array, code: RegExp, force = false) => {
      const { status, text } = await send(server, body, force);
      assert.equal(status, 400, text);
      assert.match(text, code);
      assert.equal(server.test.server.store, store, "the same house");
      assert.equal((await statusOf(server))["state"], "failed");
      assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
    };
    await refuse(foreign, /another cluster .*snapshot-force restores it/);
    for (const force of [false, true]) {
      for (const length of [
        1,
        600,
        archive.length >> 1,
        archive.length - 600,
        archive.length - 1,
      ]) {
        await refuse(archive.subarray(0, length), /ends early|not a snapshot|missing/, force);
      }
      for (let byte = 7; byte < archive.length; byte += Math.ceil(archive.length / 23)) {
        const flipped = Buffer.from(archive);
        flipped[byte]! ^= 0x10;
        await refuse(
          flipped,
          /damaged|not a snapshot|ends early|snapshot has|later form|missing/,
          force,
        );
      }
      await refuse(Buffer.concat([archive, archive.subarray(0, 100)]), /not a snapshot/, force);
      await refuse(gunzipSync(archive), /not a snapshot/, force);
      await refuse(Buffer.from("hello"), /not a snapshot|ends early/, force);
    }
    assert.equal(store.index, index, "nothing was written");
    const none = await exchange(`${server.test.url}/v1/sys/storage/raft/snapshot`, {
      method: "POST",
      token: server.root,
      headers: { "Content-Type": "application/gzip" },
    });
    assert.equal(none.status, 400);
    const type = await exchange(`${server.test.url}/v1/sys/storage/raft/snapshot`, {
      method: "POST",
      token: server.root,
      headers: { "Content-Type": "application/json" },
      body: archive,
    });
    assert.equal(type.status, 415);
  },
);

test(
  "case 125: by force from another cluster: its data after an unseal with its shares, and the epoch above both",
  BOUND,
  async (t) => {
    const source = await filled(t);
    const archive = await taken(source);
    const server = await engineServer(t);
    await server.enable("other", "kv", { options: { version: "1" } });
    const own = server.test.server.store.head!;
    const { status } = await send(server, archive, true);
    assert.equal(status, 204);
    await until(
      () => server.test.server.keeper.initialised && server.test.server.store.unhashed !== null,
    );
    await until(async () => (await server.test.call("GET", "/v1/sys/seal-status")).status === 200);
    assert.equal(server.test.server.keeper.sealed, true);
    const refused = await server.test.call("POST", "/v1/sys/unseal", {
      body: { key: server.shares[0] },
    });
    assert.equal(refused.status, 400, "its own shares are of no use any more");
    await server.test.unseal(source.shares);
    assert.equal(server.test.server.keeper.sealed, false);
    server.root = source.root;
    assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
    assert.equal((await server.ask("GET", "other/x")).status, 404);
    const { store, keeper } = server.test.server;
    assert.equal(store.head?.epoch, own.epoch + 1);
    assert.ok(store.index > own.index);
    assert.equal(keeper.clusterId, source.test.server.keeper.clusterId);
    assert.equal((await store.check()).ok, true);
    await server.must("POST", "kv/s1", { value: "goes on" });
    const shows = await statusOf(server);
    assert.deepEqual([shows["state"], shows["force"]], ["done", true]);
  },
);

test(
  "after a rekey an older snapshot is refused with the date and the way, and by force opens with the shares of its day",
  BOUND,
  async (t) => {
    const server = await filled(t);
    const archive = await taken(server);
    const old = server.shares;
    await server.time.passSlowly(2n * SECOND, SECOND);
    const begun = await server.must("POST", "sys/rekey/init", {
      secret_shares: 1,
      secret_threshold: 1,
    });
    const nonce = String(at(begun, "data", "nonce") ?? at(begun, "nonce"));
    const made = await server.must("POST", "sys/rekey/update", { key: old[0], nonce });
    assert.notEqual(made.text, "");
    const { status, text } = await send(server, archive);
    assert.equal(status, 400);
    assert.match(
      text,
      /does not open with today's root key, which dates from \d{4}.*snapshot-force/,
    );
    assert.equal((await send(server, archive, true)).status, 204);
    await until(
      () => server.test.server.keeper.sealed && server.test.server.store.unhashed !== null,
    );
    await until(async () => (await server.test.call("GET", "/v1/sys/seal-status")).status === 200);
    await server.test.unseal(old);
    assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
  },
);

test(
  "leases and write-ahead records newer than the snapshot are taken over and end; what has no mount is counted",
  BOUND,
  async (t) => {
    const server = await filled(t);
    await server.counting("count", { ttl: 3600 });
    const kept = await server.issue();
    const archive = await taken(server);
    const since = [await server.issue(), await server.issue()];
    // One that was recorded and made, whose lease never came to be.
    server.outside.fail("made", () => new Error("the provider hangs up"), 1);
    await server.ask("GET", "count/creds/r");
    await server.counting("newer");
    await server.issue("newer/creds/r");
    const outside = server.outside.objects;
    assert.ok(outside.length >= 5, String(outside));

    assert.equal((await send(server, archive)).status, 204);
    const status = await restored(server);
    assert.equal(status["state"], "done", JSON.stringify(status));
    assert.equal(status["adopted"], 3, JSON.stringify(status));
    assert.equal(status["left"], 1);
    await server.passUntil(() => server.outside.objects.length <= 2, 30n * SECOND);
    const left = server.outside.objects;
    assert.ok(left.includes(kept.object), "what the snapshot knows stays");
    for (const { object } of since) assert.ok(!left.includes(object));
    assert.equal(left.length, 2, "and what is left is what the status counts");
    assert.equal(await server.isThere(kept.id), true);
    assert.equal((await server.test.server.store.check()).ok, true);
  },
);

test("who may: sudo and update, in the root namespace", BOUND, async (t) => {
  const server = await filled(t);
  const archive = await taken(server);
  await server.namespaces("team");
  for (const path of ["snapshot", "snapshot-force"]) {
    const full = `sys/storage/raft/${path}`;
    const updates = await server.client(`path "${full}" { capabilities = ["update"] }`);
    const sudo = await server.client(`path "${full}" { capabilities = ["sudo"] }`);
    for (const token of [updates, sudo, ""]) {
      const { status } = await sendSnapshot(server.test.url, token, path, archive);
      assert.equal(status, 403);
    }
    const headers = { "Content-Type": "application/gzip", "X-Service-Namespace": "team/" };
    const url = `${server.test.url}/v1/${full}`;
    const inTeam = await exchange(url, {
      method: "POST",
      token: server.root,
      headers,
      body: archive,
    });
    assert.equal(inTeam.status, 403);
    const both = await server.client(`path "${full}" { capabilities = ["update", "sudo"] }`);
    assert.equal((await sendSnapshot(server.test.url, both, path, archive)).status, 204);
    assert.equal((await restored(server))["state"], "done");
  }
  const reader = await server.client(
    'path "sys/storage/raft/restore-status" { capabilities = ["read"] }',
  );
  assert.equal(
    (await server.ask("GET", "sys/storage/raft/restore-status", undefined, { token: reader }))
      .status,
    200,
  );
});

test(
  "into a server that is not initialised: by who is on its machine, or has its secret",
  BOUND,
  async (t) => {
    const source = await filled(t);
    const archive = await taken(source);
    const empty = async (): Promise<TestServer> => {
      const node = await startServer({ listener: { forwardedForFrom: [] } });
      t.after(() => node.stop());
      return node;
    };
    const init = (node: TestServer, headers: Record<string, string>, body: Uint8Array = archive) =>
      exchange(`${node.url}/v1/sys/storage/raft/snapshot-init`, {
        method: "POST",
        token: "",
        headers: { "Content-Type": "application/gzip", ...headers },
        body,
      });
    for (const how of ["local", "secret"]) {
      const node = await empty();
      const file = join(node.directory, "server", "restore-secret");
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const secret = readFileSync(file, "utf8").trim();
      assert.match(secret, /^[0-9a-f]{64}$/);
      const afar = { "X-Forwarded-For": "192.0.2.1" };
      assert.equal((await init(node, afar)).status, 403, "a proxy brings in everybody");
      assert.equal((await init(node, { "X-Service-Restore-Secret": "guess" })).status, 403);
      assert.equal((await init(node, {}, archive.subarray(0, 999))).status, 400);
      assert.equal(node.server.keeper.initialised, false);
      const credentials = how === "local" ? {} : { ...afar, "X-Service-Restore-Secret": secret };
      const answer = await init(node, credentials);
      assert.equal(answer.status, 204, answer.body.toString());
      await until(() => node.server.keeper.initialised);
      await until(async () => (await node.call("GET", "/v1/sys/seal-status")).status === 200);
      assert.ok(existsSync(file), "until there is somebody with a token");
      assert.equal((await init(node, credentials)).status, 400, "not a second time");
      await node.unseal(source.shares);
      assert.ok(!existsSync(file));
      const read = await call(node.url, "GET", "/v1/kv/s7", { token: source.root });
      assert.equal(at(read, "data", "value"), "old-7");
      assert.equal((await node.server.store.check()).ok, true);
    }
  },
);

test(
  "one at a time; what fails while it is filled in leaves the data as it is and says why",
  BOUND,
  async (t) => {
    const server = await filled(t);
    const archive = await taken(server);
    // A body that does not come to its end.
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = exchange(`${server.test.url}/v1/sys/storage/raft/snapshot`, {
      method: "POST",
      token: server.root,
      headers: { "Content-Type": "application/gzip" },
      stream: (async function* () {
        yield archive.subarray(0, 2000);
        await promise;
        yield archive.subarray(2000);
      })(),
    });
    await until(async () => (await statusOf(server))["state"] === "receiving");
    const second = await send(server, archive);
    assert.equal(second.status, 409, second.text);
    assert.match(second.text, /restored already/);
    await server.must("POST", "kv/s1", { value: "while it comes" });
    resolve();
    assert.equal((await slow).status, 204);
    assert.equal((await restored(server))["state"], "done");
    assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
  },
);

test(
  "a disk without room refuses before anything is written, and while it fills up: the data stays as it is",
  BOUND,
  async (t) => {
    let free = 2 ** 40;
    let calls = 0;
    const fs = new SystemFs();
    fs.freeBytes = () => (calls++ === 0 ? 2 ** 40 : free);
    const server = await engineServer(t, { world: { fs } });
    await server.enable("kv", "kv", { options: { version: "1" } });
    await server.must("POST", "kv/s1", { value: "old-1" });
    const archive = await taken(server);
    free = 1024;
    calls = 1;
    const { status, text } = await send(server, archive);
    assert.equal(status, 503, text);
    assert.match(text, /no room to restore: 1024 bytes are free/);
    free = 2 ** 40;
    assert.equal(at(await server.must("GET", "kv/s1"), "data", "value"), "old-1");
    assert.equal((await send(server, archive)).status, 204);
    assert.equal((await restored(server))["state"], "done");
  },
);

test(
  "with a seal that opens by itself, one that was not initialised is open after its restore",
  BOUND,
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-seal-"));
    t.after(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "seal.key");
    writeFileSync(file, randomBytes(32).toString("base64"), { mode: 0o600 });
    const settings = { seal: { static: { key_file: file } } };
    const node = async () => {
      const started = await startServer({ settings });
      t.after(() => started.stop());
      return started;
    };
    const source = await node();
    const made = await source.call("POST", "/v1/sys/init", { body: {} });
    assert.equal(made.status, 200, made.text);
    const token = String(at(made, "root_token"));
    const body = { type: "kv", options: { version: "1" } };
    await source.call("POST", "/v1/sys/mounts/kv", { token, body });
    await source.call("POST", "/v1/kv/a", { token, body: { value: "kept" } });
    const { body: archive } = await takeSnapshot(source.url, token);
    const empty = await node();
    const answer = await sendSnapshot(empty.url, "", "snapshot-init", archive);
    assert.equal(answer.status, 204, answer.text);
    await until(() => empty.server.keeper.initialised && !empty.server.keeper.sealed);
    await until(async () => (await empty.call("GET", "/v1/sys/seal-status")).status === 200);
    const read = await call(empty.url, "GET", "/v1/kv/a", { token });
    assert.equal(at(read, "data", "value"), "kept");
  },
);
