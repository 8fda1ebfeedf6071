// What is written back from a loaded snapshot: as if the caller had sent it, judged and recorded so.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { absent, dataOf, done, grants, refused } from "../../support/servers/engine-server.ts";
import { loadedServer, refusedWith } from "../../support/snapshots/loaded-server.ts";

const BOUND = { timeout: 300_000 };

test(
  "a secret with versions comes back as a new version, also where it was removed or needs cas",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app", { data: { password: "then" } });
    await server.must("POST", "kv/data/removed", { data: { n: 12345678901234567890n.toString() } });
    await server.must("POST", "kv/metadata/removed", {
      custom_metadata: { owner: "ada" },
      max_versions: 4,
    });
    await server.must("POST", "kv/data/deleted", { data: { a: 1 } });
    await server.must("DELETE", "kv/data/deleted");
    const id = await loaded.load();
    await server.must("POST", "kv/data/app", { data: { password: "now" } });
    await server.must("DELETE", "kv/metadata/removed");

    assert.equal(dataOf(await loaded.recover(id, "kv/data/app"))["version"], 3);
    assert.deepEqual(dataOf(await server.ask("GET", "kv/data/app"))["data"], { password: "then" });
    dataOf(await loaded.recover(id, "kv/data/removed"));
    const back = dataOf(await server.ask("GET", "kv/data/removed"));
    assert.deepEqual(back["data"], { n: "12345678901234567890" });
    done(await loaded.recover(id, "kv/metadata/removed"));
    const metadata = dataOf(await server.ask("GET", "kv/metadata/removed"));
    assert.deepEqual(metadata["custom_metadata"], { owner: "ada" });
    assert.equal(metadata["max_versions"], 4);

    await server.must("POST", "kv/config", { cas_required: true });
    assert.equal(dataOf(await loaded.recover(id, "kv/data/app"))["version"], 4);
    refusedWith(await loaded.recover(id, "kv/data/never"), 404, "snapshot_nothing_held");
    refusedWith(await loaded.recover(id, "kv/data/deleted"), 404, "snapshot_nothing_held");
  },
);

test("secrets without versions, policies of all kinds and roles come back", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  await server.enable("plain", "kv", { options: { version: "1" } });
  await server.must("POST", "plain/a", { value: "then" });
  await server.must("POST", "sys/policies/acl/dev", { policy: grants("plain/*", "read") });
  await server.must("POST", "sys/policies/acl/kept", {
    policy: grants("plain/a", "read"),
    cas_required: true,
  });
  const program = { policy: "main { true }", enforcement_level: "advisory" };
  await server.must("POST", "sys/policies/rgp/watch", program);
  await server.must("POST", "sys/policies/egp/guard", { ...program, paths: ["plain/*"] });
  done(await server.ask("POST", "sys/auth/approle", { type: "approle" }));
  const role = { token_policies: ["dev"], token_ttl: "20m", secret_id_num_uses: 3 };
  done(await server.ask("POST", "auth/approle/role/web", role));
  const paths = [
    "sys/policies/acl/dev",
    "sys/policies/rgp/watch",
    "sys/policies/egp/guard",
    "auth/approle/role/web",
    "auth/approle/role/web/role-id",
  ];
  const look = async () => {
    const found = await Promise.all(paths.map((path) => server.ask("GET", path)));
    return found.map((one) => {
      const { modified: _, ...rest } = dataOf(one);
      return rest;
    });
  };
  const before = await look();
  const id = await loaded.load();
  await server.must("DELETE", "plain/a");
  for (const path of paths.slice(0, 4)) await server.must("DELETE", path);
  const cas = { policy: grants("other", "read"), cas: 1, cas_required: true };
  await server.must("POST", "sys/policies/acl/kept", cas);

  done(await loaded.recover(id, "plain/a"));
  assert.deepEqual(dataOf(await server.ask("GET", "plain/a")), { value: "then" });
  for (const path of [...paths.slice(0, 4), "sys/policies/acl/kept"]) {
    const answer = await loaded.recover(id, path);
    assert.ok(answer.status === 204 || answer.status === 200, `${path}: ${answer.text}`);
  }
  assert.deepEqual(await look(), before);
  const kept = dataOf(await server.ask("GET", "sys/policies/acl/kept"));
  assert.equal(kept["policy"], grants("plain/a", "read"));
  assert.equal(kept["version"], 3);
  refusedWith(await loaded.recover(id, "sys/policies/acl/none"), 404, "snapshot_nothing_held");
});

test(
  "needs create or update today, and read; rules on parameters and programs judge what is recovered",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv", { options: { version: "1" } });
    await server.must("POST", "kv/there", { color: "red" });
    await server.must("POST", "kv/removed", { color: "blue" });
    const id = await loaded.load();
    await server.must("POST", "kv/there", { color: "green" });
    await server.must("DELETE", "kv/removed");

    const may = async (rules: string, path: string) =>
      (await loaded.recover(id, path, { token: await server.client(rules) })).status;
    assert.equal(await may(grants("kv/*", "update", "create"), "kv/there"), 403);
    assert.equal(await may(grants("kv/*", "read"), "kv/there"), 403);
    assert.equal(await may(grants("kv/*", "read", "create"), "kv/there"), 403);
    assert.equal(await may(grants("kv/*", "read", "update"), "kv/removed"), 403);
    assert.deepEqual(dataOf(await server.ask("GET", "kv/there")), { color: "green" });
    const only = (color: string) =>
      `path "kv/*" { capabilities = ["read", "create", "update"]\nallowed_parameters = { "color" = ["${color}"] } }`;
    assert.equal(await may(only("blue"), "kv/there"), 403);
    assert.equal(await may(only("red"), "kv/there"), 204);
    assert.deepEqual(dataOf(await server.ask("GET", "kv/there")), { color: "red" });
    assert.equal(await may(grants("kv/*", "read", "create"), "kv/removed"), 204);

    // A program sees what is written, not an empty request; and one that forbids reading forbids recovering.
    const egp = async (program: string) =>
      server.must("POST", "sys/policies/egp/guard", {
        policy: program,
        enforcement_level: "hard-mandatory",
        paths: ["kv/*"],
      });
    const rules = grants("kv/*", "read", "create", "update");
    await egp('main { request.operation == "read" || request.data.color != "red" }');
    assert.equal(await may(rules, "kv/there"), 403);
    await server.must("POST", "kv/removed", { color: "green" });
    assert.equal(await may(rules, "kv/removed"), 204);
    assert.deepEqual(dataOf(await server.ask("GET", "kv/removed")), { color: "blue" });
    await egp('main { request.operation != "read" }');
    assert.equal(await may(rules, "kv/removed"), 403);
  },
);

test(
  "refused: a body of its own, both ways at once, other verbs, and paths that recover nothing",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv", { options: { version: "1" } });
    await server.must("POST", "kv/app", { a: "then" });
    const id = await loaded.load();
    await server.must("POST", "kv/app", { a: "now" });
    const headers = { "X-Service-Recover-Snapshot-Id": id };
    refusedWith(await loaded.recover(id, "kv/app", {}, { a: 1 }), 400, "snapshot_recover_body");
    const twice = await loaded.recover(id, `kv/app?read_snapshot_id=${id}`);
    refusedWith(twice, 400, "snapshot_named_twice");
    const word = "snapshot_not_recovered_here";
    for (const [method, path, body] of [
      ["GET", "kv/app", undefined],
      ["LIST", "kv", undefined],
      ["DELETE", "kv/app", undefined],
      ["POST", "sys/mounts/other", { type: "kv" }],
      ["POST", "cubbyhole/a", { a: 1 }],
      ["GET", "sys/health", undefined],
    ] as const) {
      refusedWith(await server.ask(method, path, body, { headers }), 400, word);
    }
    assert.deepEqual(dataOf(await server.ask("GET", "kv/app")), { a: "now" });
    absent(await server.ask("GET", "cubbyhole/a"));
    const token = await server.client(grants("kv/*", "read"));
    const denied = await server.ask("POST", "sys/mounts/other", { type: "kv" }, { headers, token });
    refused(denied, 403, "permission denied");
    refusedWith(await loaded.recover("", "kv/app"), 404, "snapshot_not_loaded");
    refusedWith(await loaded.recover("nothing", "kv/app"), 404, "snapshot_not_loaded");
    done(await server.ask("PUT", "kv/app", undefined, { headers }));
    assert.deepEqual(dataOf(await server.ask("GET", "kv/app")), { a: "then" });
  },
);

test(
  "the records of a recovery name the snapshot and have what was written, masked",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app", { data: { password: "canary-77c0" } });
    const file = join(server.test.auditDirectory, "audit.log");
    await server.must("POST", "sys/audit/file", { type: "file", options: { file_path: file } });
    const id = await loaded.load();
    dataOf(await loaded.recover(id, "kv/data/app"));
    const text = readFileSync(file, "utf8");
    assert.ok(!text.includes("canary-77c0"));
    const records = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { request?: Record<string, unknown> })
      .flatMap(({ request }) => (request?.["path"] === "kv/data/app" ? [request] : []));
    assert.deepEqual(
      records.map((record) => [record["operation"], record["snapshot_id"]]),
      [
        ["update", id],
        ["update", id],
      ],
    );
    const hash = await server.must("POST", "sys/audit-hash/file", { input: "canary-77c0" });
    assert.deepEqual(records[0]?.["data"], { data: { password: at(hash, "data", "hash") } });
  },
);
