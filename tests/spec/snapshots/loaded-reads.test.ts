// What is read and listed from a loaded snapshot: by the handlers of today over the data of then, with the rights of
// today, in the same namespace and of the same mount.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  absent,
  dataOf,
  done,
  grants,
  keysOf,
  refused,
} from "../../support/servers/engine-server.ts";
import { LOAD, loadedServer, refusedWith } from "../../support/snapshots/loaded-server.ts";

const BOUND = { timeout: 300_000 };

test(
  "key/value with versions: data, versions, metadata, subkeys and lists as they were",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app/db", { data: { password: "one" } });
    await server.must("POST", "kv/data/app/db", { data: { password: "two" } });
    await server.must("POST", "kv/data/gone", { data: { a: 1 } });
    await server.must("POST", "kv/metadata/app/db", { custom_metadata: { owner: "ada" } });
    const id = await loaded.load();
    await server.must("POST", "kv/data/app/db", { data: { password: "three" } });
    await server.must("DELETE", "kv/metadata/gone");
    await server.must("POST", "kv/data/later", { data: { a: 1 } });

    const now = dataOf(await server.ask("GET", "kv/data/app/db"));
    const then = dataOf(await loaded.read(id, "kv/data/app/db"));
    assert.deepEqual(now["data"], { password: "three" });
    assert.deepEqual(then["data"], { password: "two" });
    assert.equal((then["metadata"] as Record<string, unknown>)["version"], 2);
    const first = dataOf(await loaded.read(id, "kv/data/app/db?version=1"));
    assert.deepEqual(first["data"], { password: "one" });
    assert.deepEqual(dataOf(await loaded.read(id, "kv/data/gone"))["data"], { a: 1 });
    absent(await loaded.read(id, "kv/data/later"));
    const metadata = dataOf(await loaded.read(id, "kv/metadata/app/db"));
    assert.equal(metadata["current_version"], 2);
    assert.deepEqual(metadata["custom_metadata"], { owner: "ada" });
    assert.deepEqual(dataOf(await loaded.read(id, "kv/subkeys/app/db"))["subkeys"], {
      password: null,
    });
    assert.deepEqual(keysOf(await loaded.list(id, "kv/metadata")), ["app/", "gone"]);
    assert.deepEqual(keysOf(await server.ask("LIST", "kv/metadata")), ["app/", "later"]);
    assert.deepEqual(keysOf(await loaded.read(id, "kv/metadata/?list=true")), ["app/", "gone"]);
    assert.deepEqual(keysOf(await loaded.list(id, "kv/detailed-metadata/app")), ["db"]);
    const scanned = await server.ask("LIST", `kv/metadata?scan=true&read_snapshot_id=${id}`);
    assert.deepEqual(keysOf(scanned), ["app/db", "gone"]);
    assert.equal(at(scanned, "warnings"), null);
    assert.equal((await loaded.read(id.toUpperCase(), "kv/data/app/db")).status, 200);
  },
);

test("key/value without versions, policies of all kinds, and roles", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  await server.enable("plain", "kv", { options: { version: "1" } });
  await server.must("POST", "plain/a/b", { value: "then" });
  await server.must("POST", "sys/policies/acl/team/dev", { policy: grants("plain/*", "read") });
  const program = { policy: "main { true }", enforcement_level: "advisory" };
  await server.must("POST", "sys/policies/rgp/watch", program);
  await server.must("POST", "sys/policies/egp/guard", { ...program, paths: ["plain/*"] });
  done(await server.ask("POST", "sys/auth/approle", { type: "approle" }));
  done(await server.ask("POST", "auth/approle/role/web", { token_policies: ["team/dev"] }));
  const roleId = dataOf(await server.ask("GET", "auth/approle/role/web/role-id"))["role_id"];
  const id = await loaded.load();
  await server.must("POST", "plain/a/b", { value: "now" });
  for (const path of [
    "sys/policies/acl/team/dev",
    "sys/policies/rgp/watch",
    "sys/policies/egp/guard",
    "auth/approle/role/web",
  ]) {
    await server.must("DELETE", path);
  }

  assert.deepEqual(dataOf(await loaded.read(id, "plain/a/b")), { value: "then" });
  assert.deepEqual(keysOf(await loaded.list(id, "plain/a")), ["b"]);
  const policy = dataOf(await loaded.read(id, "sys/policies/acl/team/dev"));
  assert.equal(policy["policy"], grants("plain/*", "read"));
  assert.equal(dataOf(await loaded.read(id, "sys/policy/team/dev"))["rules"], policy["policy"]);
  assert.deepEqual(keysOf(await loaded.list(id, "sys/policies/acl/team")), ["dev"]);
  const names = keysOf(await loaded.list(id, "sys/policies/acl")) as string[];
  assert.ok(names.includes("team/dev"));
  assert.ok(
    !(keysOf(await server.ask("LIST", "sys/policies/acl")) as string[]).includes("team/dev"),
  );
  assert.equal(dataOf(await loaded.read(id, "sys/policies/rgp/watch"))["policy"], program.policy);
  assert.deepEqual(dataOf(await loaded.read(id, "sys/policies/egp/guard"))["paths"], ["plain/*"]);
  assert.deepEqual(keysOf(await loaded.list(id, "sys/policies/egp")), ["guard"]);
  const role = dataOf(await loaded.read(id, "auth/approle/role/web"));
  assert.deepEqual(role["token_policies"], ["team/dev"]);
  assert.deepEqual(keysOf(await loaded.list(id, "auth/approle/role")), ["web"]);
  const held = dataOf(await loaded.read(id, "auth/approle/role/web/role-id"));
  assert.equal(held["role_id"], roleId);
});

test(
  "T-A20: the rights of today decide, not those of the snapshot: ACL policies, RGPs and EGPs",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app", { data: { a: "then" } });
    await server.must("POST", "sys/policies/acl/reader", {
      policy: grants("kv/*", "read", "list"),
    });
    const body = { policies: ["reader"] };
    const made = await server.must("POST", "auth/token/create-orphan", body);
    const token = String(at(made, "auth", "client_token"));
    const id = await loaded.load();
    dataOf(await loaded.read(id, "kv/data/app", { token }));
    refused(
      await loaded.read(id, "kv/data/app", { token: "none" }),
      403,
      "permission denied",
      "invalid token",
    );
    await server.must("POST", "sys/policies/egp/no-looking-back", {
      policy: 'main { request.path != "kv/data/app" }',
      enforcement_level: "hard-mandatory",
      paths: ["kv/*"],
    });
    assert.equal((await loaded.read(id, "kv/data/app", { token })).status, 403);
    await server.must("DELETE", "sys/policies/egp/no-looking-back");
    dataOf(await loaded.read(id, "kv/data/app", { token }));
    // The snapshot still allows it; today does not.
    await server.must("POST", "sys/policies/acl/reader", { policy: grants("kv/*", "list") });
    refused(await loaded.read(id, "kv/data/app", { token }), 403, "permission denied");
    // Whether a snapshot is loaded is told to those alone who may read the path.
    const unknown = "00000000-0000-4000-8000-000000000000";
    refused(await loaded.read(unknown, "kv/data/app", { token }), 403, "permission denied");
    refusedWith(await loaded.read(unknown, "kv/data/app"), 404, "snapshot_not_loaded");
    refusedWith(await loaded.read("", "kv/data/app"), 404, "snapshot_not_loaded");
  },
);

test(
  "T-D06: a namespace sees its own and nothing of others, nor of one that had its name",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.namespaces("east", "west");
    for (const namespace of ["east", "west"]) {
      await server.enable("kv", "kv", {}, namespace);
      await server.must("POST", "kv/data/app", { data: { of: namespace } }, { namespace });
      await server.must(
        "POST",
        "sys/policies/acl/own",
        { policy: grants(`kv/data/${namespace}`, "read") },
        { namespace },
      );
    }
    const id = await loaded.load();
    const token = await server.client(
      `${grants("kv/*", "read")}${grants("sys/policies/acl/*", "read", "list")}`,
      {},
      "east",
    );
    const [east, west] = [
      { token, namespace: "east" },
      { token, namespace: "west" },
    ];
    assert.deepEqual(dataOf(await loaded.read(id, "kv/data/app", east))["data"], { of: "east" });
    refused(await loaded.read(id, "kv/data/app", west), 403, "permission denied");
    const policy = dataOf(await loaded.read(id, "sys/policies/acl/own", east));
    assert.equal(policy["policy"], grants("kv/data/east", "read"));

    // Another namespace of the same name is another one.
    await server.must("DELETE", "sys/namespaces/west");
    await server.passUntil(
      async () => (await server.ask("POST", "sys/namespaces/west", {})).status < 300,
    );
    const again = { namespace: "west" };
    refusedWith(
      await loaded.read(id, "sys/policies/acl/own", again),
      400,
      "snapshot_namespace_absent",
    );
    await server.enable("kv", "kv", {}, "west");
    refusedWith(await loaded.read(id, "kv/data/app", again), 400, "snapshot_mount_absent");
  },
);

test("a mount is known by itself and not by its path", BOUND, async (t) => {
  const loaded = await loadedServer(t);
  const { server } = loaded;
  await server.enable("kv", "kv");
  await server.enable("moved", "kv");
  await server.enable("plain", "kv", { options: { version: "1" } });
  await server.must("POST", "kv/data/app", { data: { a: 1 } });
  await server.must("POST", "moved/data/app", { data: { a: 2 } });
  await server.must("POST", "plain/app", { a: 3 });
  const id = await loaded.load();
  // What was opened once is not what it becomes.
  dataOf(await loaded.read(id, "kv/data/app"));
  dataOf(await loaded.read(id, "moved/data/app"));
  dataOf(await loaded.read(id, "plain/app"));
  await server.must("DELETE", "sys/mounts/kv");
  await server.passUntil(
    async () => (await server.ask("POST", "sys/mounts/kv", { type: "kv" })).status < 300,
  );
  const replaced = refusedWith(
    await loaded.read(id, "kv/data/app"),
    400,
    "snapshot_mount_replaced",
  );
  assert.match(replaced, /another mount at kv\/, which was disabled since/);
  await server.enable("fresh", "kv");
  refusedWith(await loaded.read(id, "fresh/data/app"), 400, "snapshot_mount_absent");
  await server.must("POST", "sys/remount", { from: "moved", to: "elsewhere" });
  await server.passUntil(
    async () => (await server.ask("LIST", "elsewhere/metadata")).status === 200,
  );
  assert.deepEqual(dataOf(await loaded.read(id, "elsewhere/data/app"))["data"], { a: 2 });
  // What a list may show is judged where the mount is now.
  const token = await server.client(grants("elsewhere/*", "read", "list"));
  const detailed = await loaded.list(id, "elsewhere/detailed-metadata", { token });
  assert.equal(at(detailed, "data", "key_info", "app", "current_version"), 1, detailed.text);
  await server.must("POST", "sys/mounts/plain/tune", { options: { version: "2" } });
  refusedWith(await loaded.read(id, "plain/data/app"), 400, "snapshot_mount_changed");
});

test(
  "where nothing is read from a snapshot the parameter is refused, and after the caller's right",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    const id = await loaded.load();
    const word = "snapshot_not_read_here";
    for (const [method, path, body] of [
      ["GET", "sys/mounts", undefined],
      ["GET", "sys/health", undefined],
      ["GET", "kv/config", undefined],
      ["GET", "cubbyhole/a", undefined],
      ["GET", "kv/data/app?help=true", undefined],
      ["POST", "kv/data/app", { data: { a: 1 } }],
      ["DELETE", "kv/data/app", undefined],
      ["GET", `${LOAD}/${id}`, undefined],
    ] as const) {
      const sign = path.includes("?") ? "&" : "?";
      const answer = await server.ask(method, `${path}${sign}read_snapshot_id=${id}`, body);
      refusedWith(answer, 400, word);
    }
    absent(await server.ask("GET", "kv/data/app"));
    const token = await server.client(grants("kv/*", "read"));
    refused(await loaded.read(id, "sys/mounts", { token }), 403, "permission denied");
  },
);

test(
  "the audit records name the snapshot, and nothing else that was sent for one",
  BOUND,
  async (t) => {
    const loaded = await loadedServer(t);
    const { server } = loaded;
    await server.enable("kv", "kv");
    await server.must("POST", "kv/data/app", { data: { password: "canary-9f2e" } });
    const file = join(server.test.auditDirectory, "audit.log");
    await server.must("POST", "sys/audit/file", { type: "file", options: { file_path: file } });
    const id = await loaded.load();
    dataOf(await loaded.read(id, "kv/data/app"));
    refusedWith(await loaded.read("my-secret", "kv/data/app"), 404, "snapshot_not_loaded");
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const records = lines.map((line) => JSON.parse(line) as { request?: Record<string, unknown> });
    const named = records.flatMap(({ request }) =>
      request?.["path"] === "kv/data/app" ? [request["snapshot_id"]] : [],
    );
    assert.deepEqual(named, [id, id, "", ""]);
    const others = records.filter(({ request }) => request?.["path"] === LOAD);
    assert.ok(
      others.length > 0 && others.every(({ request }) => !("snapshot_id" in (request ?? {}))),
    );
    const text = lines.join("\n");
    assert.ok(!text.includes("canary-9f2e") && !text.includes("my-secret"));
  },
);
