// Snapshots that somebody asks for, over HTTP: taken, checked, cut off, refused.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { ArchiveParser } from "../../../src/snapshots/archive/archive-parser.ts";
import { FORMAT } from "../../../src/storage/engines/sqlite-format.ts";
import { SystemFs } from "../../../src/system/fs.ts";
import { at } from "../../support/http-client.ts";
import { done, engineServer } from "../../support/servers/engine-server.ts";
import {
  exchange,
  heldBack,
  sendSnapshot,
  takeSnapshot,
} from "../../support/snapshots/snapshot-calls.ts";
import { until } from "../../support/until.ts";

/** Of 500 KB: more than any system holds for a client that does not read. */
const LARGE = 26;
const BOUND = { timeout: 300_000 };
const CANARY = "canary-6b1f";

async function filled(t: TestContext, count = 50) {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "1" } });
  for (let i = 0; i < count; i++) {
    await server.must("POST", `kv/secret-${i}`, { value: `${CANARY}-${i}` });
  }
  const { url } = server.test;
  return { server, url, take: () => takeSnapshot(url, server.root) };
}

test(
  "a download is a whole archive with its sum behind it, of everything and in clear of nothing",
  BOUND,
  async (t) => {
    const { server, take } = await filled(t);
    const taken = await take();
    assert.equal(taken.status, 200);
    assert.equal(taken.headers["content-type"], "application/gzip");
    assert.match(
      taken.headers["content-disposition"] ?? "",
      /^attachment; filename="holdfast-\d{8}T\d{6}Z-\d+\.snap"$/,
    );
    assert.equal(taken.headers.trailer, "X-Snapshot-Sha256, X-Snapshot-Complete");
    assert.equal(taken.headers["x-snapshot-size"], String(taken.body.length));
    assert.equal(taken.trailers["x-snapshot-complete"], "true");
    const sum = createHash("sha256").update(taken.body).digest("hex");
    assert.equal(taken.trailers["x-snapshot-sha256"], sum);
    const parser = new ArchiveParser(FORMAT);
    const keys = parser.push(taken.body).map(({ key }) => key);
    const { meta } = parser.end();
    assert.equal(BigInt(meta.index), server.test.server.store.index);
    assert.ok(keys.includes("core/keyring") && keys.includes("core/cluster"));
    assert.ok(!keys.some((key) => key.startsWith("core/versions/")));
    assert.ok(keys.filter((key) => key.startsWith("shared/")).length > 50);
    for (const secret of [CANARY, server.root, ...server.shares]) {
      assert.ok(!taken.body.includes(secret));
    }
  },
);

test(
  "case 123: a download that breaks off is seen: no trailer, no last member, and the spool is gone",
  BOUND,
  async (t) => {
    const { server, url } = await filled(t);
    for (let i = 0; i < LARGE; i++) {
      await server.must("POST", `kv/large-${i}`, { value: "x".repeat(500_000) });
    }
    const parts: Buffer[] = [];
    const { promise: paused, resolve } = Promise.withResolvers<void>();
    const headers = { "X-Service-Token": server.root };
    const sent = request(`${url}/v1/sys/storage/raft/snapshot`, { headers, agent: false });
    sent.on("error", () => {});
    sent.on("response", (answer) => {
      answer.on("error", () => {});
      answer.once("data", (part: Buffer) => {
        parts.push(part);
        answer.pause();
        resolve();
      });
    });
    sent.end();
    await paused;
    const spool = join(server.test.directory, "server", "spool");
    assert.deepEqual(readdirSync(spool), [], "it has no name while it is sent");
    sent.destroy();
    const running = async () => JSON.stringify((await server.ask("GET", "sys/in-flight-req")).json);
    await until(async () => !(await running()).includes("takeSnapshot"));
    const parser = new ArchiveParser(FORMAT);
    for (const part of parts) parser.push(part);
    assert.throws(() => parser.end(), /the snapshot ends early/);
    // The place is free again.
    for (let i = 0; i < 3; i++) assert.equal((await takeSnapshot(url, server.root)).status, 200);
  },
);

test(
  "case 124: verify names what is wrong with an archive, and nothing here changes",
  BOUND,
  async (t) => {
    const { server, url, take } = await filled(t);
    const { body } = await take();
    const verify = (archive: Uint8Array) =>
      sendSnapshot(url, server.root, "snapshot-verify", archive);
    const before = server.test.server.store.index;

    const whole = await verify(body);
    assert.equal(whole.status, 200, whole.text);
    const { meta } = (() => {
      const parser = new ArchiveParser(FORMAT);
      parser.push(body);
      return parser.end();
    })();
    assert.match(whole.text, /^\{"request_id":.*"data":\{"ok":true,"errors":\[\]/);
    assert.equal(whole.json["opens"], true);
    assert.equal(whole.json["reason"], "");
    assert.equal(whole.json["index"], meta.index);
    assert.equal(whole.json["epoch"], 1);
    assert.equal(whole.json["cluster_id"], meta.clusterId);
    assert.equal(whole.json["entries"], meta.entries);
    assert.equal(whole.json["size"], body.length);
    assert.equal(whole.json["sha256"], createHash("sha256").update(body).digest("hex"));
    const counts = ["shared_entries", "local_entries", "core_entries"].map(
      (name) => whole.json[name],
    );
    assert.equal(
      counts.reduce((sum: number, count) => sum + Number(count), 0),
      meta.entries,
    );

    const flipped = Buffer.from(body);
    flipped[body.length >> 1]! ^= 1;
    const cases: [what: string, archive: Uint8Array, text: RegExp][] = [
      [
        "truncated",
        body.subarray(0, body.length - 100),
        /the snapshot ends early: it has \d+ bytes/,
      ],
      ["flipped bit", flipped, /the snapshot is damaged: /],
      ["something behind", Buffer.concat([body, body]), /something follows its end/],
      ["foreign", Buffer.from("not an archive at all"), /it does not begin as gzip does/],
      ["empty", Buffer.alloc(0), /send the snapshot as the body/],
    ];
    for (const [what, archive, text] of cases) {
      const answer = await verify(archive);
      assert.equal(answer.status, 400, what);
      assert.match(answer.text, text);
    }
    assert.equal(server.test.server.store.index, before);
  },
);

test(
  "case 124: an archive from before a rekey, and one of another cluster, are told apart",
  BOUND,
  async (t) => {
    const { server, url, take } = await filled(t, 1);
    const { body } = await take();
    const other = await filled(t, 1);
    const foreign = await sendSnapshot(other.url, other.server.root, "snapshot-verify", body);
    assert.equal(foreign.status, 200);
    assert.equal(foreign.json["opens"], false);
    assert.deepEqual(
      [foreign.json["ok"], foreign.json["errors"]],
      [false, [foreign.json["reason"]]],
    );
    assert.match(String(foreign.json["reason"]), /is of another cluster .*snapshot-force/);

    await server.time.pass(3_600_000_000_000n);
    const started = await server.must("POST", "sys/rekey/init", {
      secret_shares: 1,
      secret_threshold: 1,
    });
    const nonce = at(started, "nonce");
    await server.must("POST", "sys/rekey/update", { key: server.shares[0], nonce });
    const older = await sendSnapshot(url, server.root, "snapshot-verify", body);
    assert.equal(older.json["opens"], false);
    assert.match(
      String(older.json["reason"]),
      /^the snapshot of \S+ does not open with today's root key, which dates from \S+; .*snapshot-force/,
    );
    assert.equal(
      (await sendSnapshot(url, server.root, "snapshot-verify", (await take()).body)).json["opens"],
      true,
    );
  },
);

test(
  "who may: read for the download, update for the check, in the root namespace alone",
  BOUND,
  async (t) => {
    const { server, url } = await filled(t, 1);
    const allowed = await server.client(
      'path "sys/storage/raft/snapshot" { capabilities = ["read"] }',
    );
    const other = await server.client('path "kv/*" { capabilities = ["read"] }');
    assert.equal((await takeSnapshot(url, allowed)).status, 200);
    assert.equal((await takeSnapshot(url, other)).status, 403);
    assert.equal((await takeSnapshot(url, "")).status, 403);
    assert.equal(
      (await sendSnapshot(url, allowed, "snapshot-verify", Buffer.from("x"))).status,
      403,
    );
    await server.namespaces("team");
    const path = `${url}/v1/team/sys/storage/raft/snapshot`;
    const inside = await exchange(path, { method: "GET", token: server.root });
    assert.equal(inside.status, 403);
  },
);

test(
  "what was taken is counted, logged and in the audit trail; case 129: without a secret",
  BOUND,
  async (t) => {
    const { server, take } = await filled(t, 3);
    const file = join(server.test.auditDirectory, "audit.log");
    done(
      await server.ask("POST", "sys/audit/file", { type: "file", options: { file_path: file } }),
    );
    await take();
    const metrics = await server.ask("GET", "sys/metrics?format=prometheus");
    assert.match(metrics.text, /holdfast_snapshot_size_bytes\{kind="manual"\} \d+/);
    assert.match(
      metrics.text,
      /holdfast_snapshot_last_success_timestamp_seconds\{kind="manual"\} \d+/,
    );
    assert.match(metrics.text, /holdfast_snapshot_errors_total\{kind="manual"\} 0/);
    const log = server.test.lines.join("\n");
    assert.match(log, /snapshot\.started/);
    assert.match(log, /snapshot\.succeeded/);
    const trail = readFileSync(file, "utf8");
    assert.match(trail, /"path":"sys\/storage\/raft\/snapshot"/);
    for (const secret of [CANARY, server.root, ...server.shares]) {
      assert.ok(!log.includes(secret) && !trail.includes(secret) && !metrics.text.includes(secret));
    }
  },
);

test("a disk without room for it is told, counted, and costs nothing else", BOUND, async (t) => {
  const fs = new SystemFs();
  let free = 100 * 1024 * 1024;
  fs.freeBytes = () => free;
  const server = await engineServer(t, { world: { fs } });
  const { url } = server.test;
  const refused = await takeSnapshot(url, server.root);
  assert.equal(refused.status, 503);
  assert.match(refused.body.toString(), /there is no room for a snapshot/);
  const metrics = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(metrics.text, /holdfast_snapshot_errors_total\{kind="manual"\} 1/);
  assert.match(server.test.lines.join("\n"), /snapshot\.failed/);
  free = 1024 * 1024 * 1024;
  assert.equal((await takeSnapshot(url, server.root)).status, 200);
});

test(
  "of more than two downloads at once, and of more than two checks, one is asked to wait: neither for the other",
  BOUND,
  async (t) => {
    const { server, url } = await filled(t, 1);
    for (let i = 0; i < LARGE; i++) {
      await server.must("POST", `kv/large-${i}`, { value: "x".repeat(500_000) });
    }
    const held = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const headers = { "X-Service-Token": server.root };
      const sent = request(`${url}/v1/sys/storage/raft/snapshot`, { headers, agent: false });
      sent.on("error", () => {});
      sent.on("response", (answer) => {
        answer.on("error", () => {});
        answer.pause();
        resolve();
      });
      sent.end();
      return promise.then(() => sent);
    };
    const both = [await held(), await held()];
    const third = await takeSnapshot(url, server.root);
    assert.equal(third.status, 503);
    assert.match(third.body.toString(), /2 snapshots are being downloaded already/);
    assert.ok(Number(third.headers["retry-after"]) > 0);
    const verify = (archive: Uint8Array) =>
      sendSnapshot(url, server.root, "snapshot-verify", archive);
    assert.equal((await verify(Buffer.from("none"))).status, 400, "a check waits for no download");
    for (const sent of both) sent.destroy();

    await until(async () => (await takeSnapshot(url, server.root)).status === 200);
    const { body: archive } = await takeSnapshot(url, server.root);
    const options = { path: "sys/storage/raft/snapshot-verify", token: server.root };
    const slow = [heldBack(url, archive, options), heldBack(url, archive, options)];
    for (const { sent } of slow) await sent;
    await until(async () => (await verify(Buffer.from("none"))).status === 503);
    assert.match((await verify(archive)).text, /2 snapshots are being checked already/);
    assert.equal((await takeSnapshot(url, server.root)).status, 200, "a download for no check");
    for (const { release, answer } of slow) {
      release();
      assert.equal((await answer).status, 200);
    }
  },
);

test(
  "deep: the server proves with its own keys that an archive restores, and says where it cannot",
  BOUND,
  async (t) => {
    const { server, url, take } = await filled(t, 20);
    await server.must("POST", "sys/rotate");
    await server.must("POST", "kv/after-rotation", { value: CANARY });
    const { body } = await take();
    const prove = (archive: Uint8Array) =>
      sendSnapshot(url, server.root, "snapshot-verify?deep=true", archive);
    const proven = await prove(body);
    assert.equal(proven.status, 200, proven.text);
    assert.equal(proven.json["proven"], true);
    assert.deepEqual(proven.json["problems"], []);
    assert.ok(Number(proven.json["opened_entries"]) > 20);
    assert.deepEqual([proven.json["ok"], proven.json["keyring_terms"]], [true, 2]);
    assert.ok(!proven.text.includes(CANARY));
    const shallow = await sendSnapshot(url, server.root, "snapshot-verify", body);
    assert.ok(!("proven" in shallow.json));

    const other = await filled(t, 1);
    const foreign = await sendSnapshot(
      other.url,
      other.server.root,
      "snapshot-verify?deep=true",
      body,
    );
    assert.equal(foreign.status, 400);
    assert.match(foreign.text, /is of another cluster/);
    const flipped = Buffer.from(body);
    flipped[body.length - 5000]! ^= 1;
    assert.equal((await prove(flipped)).status, 400);
  },
);

test("deep: others are answered while a large archive is proven", BOUND, async (t) => {
  const { server, url, take } = await filled(t, 300);
  const { body } = await take();
  const proving = sendSnapshot(url, server.root, "snapshot-verify?deep=true", body);
  for (let i = 0; i < 5; i++) assert.equal((await server.ask("GET", "sys/health")).status, 200);
  assert.equal((await proving).json["proven"], true);
});
