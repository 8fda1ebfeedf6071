// The key/value engine through HTTP: what the engine's own tests cannot see is the envelope, the verbs, the
// statuses and the rights that the pipeline asks for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { done, engineServer, grants } from "../../support/servers/engine-server.ts";
import { at, errorsOf } from "../../support/http-client.ts";

test("kv is version 2 unless said otherwise, and a secret makes its way through the API", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const mount = await server.ask("GET", "sys/mounts/kv");
  assert.deepEqual(at(mount, "data", "options"), { version: "2" });

  const written = await server.ask("POST", "kv/data/app/db", { data: { user: "u", pass: "p" } });
  assert.equal(written.status, 200);
  assert.equal(at(written, "mount_type"), "kv");
  assert.equal(at(written, "lease_id"), "");
  const metadata = at(written, "data") as Record<string, unknown>;
  assert.deepEqual(Object.keys(metadata).toSorted(), [
    "created_time",
    "custom_metadata",
    "deletion_time",
    "destroyed",
    "version",
  ]);
  assert.equal(metadata["version"], 1);

  const read = await server.ask("GET", "kv/data/app/db");
  assert.equal(read.status, 200);
  assert.deepEqual(at(read, "data"), { data: { user: "u", pass: "p" }, metadata });
  const put = await server.ask("PUT", "kv/data/app/db", { data: { n: 2 }, options: { cas: 1 } });
  assert.equal(at(put, "data", "version"), 2);
  const first = await server.ask("GET", "kv/data/app/db?version=1");
  assert.deepEqual(at(first, "data", "data"), { user: "u", pass: "p" });
  const patched = await server.ask("PATCH", "kv/data/app/db", { data: { n: null, m: 1 } });
  assert.equal(at(patched, "data", "version"), 3);
  assert.deepEqual(at(await server.ask("GET", "kv/data/app/db"), "data", "data"), { m: 1 });
});

test("absent is a plain 404; deleted and destroyed are 404 with metadata in a full envelope", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  for (const path of ["kv/data/a", "kv/metadata/a", "kv/subkeys/a"]) {
    const absent = await server.ask("GET", path);
    assert.equal(absent.status, 404, path);
    assert.equal(absent.text, '{"errors":[]}');
  }
  await server.must("POST", "kv/data/a", { data: { n: 1 } });
  done(await server.ask("DELETE", "kv/data/a"));
  const deleted = await server.ask("GET", "kv/data/a");
  assert.equal(deleted.status, 404);
  assert.equal(at(deleted, "data", "data"), null);
  assert.equal(at(deleted, "data", "metadata", "version"), 1);
  assert.notEqual(at(deleted, "data", "metadata", "deletion_time"), "");
  assert.equal(at(deleted, "data", "metadata", "destroyed"), false);
  assert.equal(errorsOf(deleted), undefined);
  done(await server.ask("POST", "kv/undelete/a", { versions: [1] }));
  assert.equal((await server.ask("GET", "kv/data/a")).status, 200);
  done(await server.ask("PUT", "kv/destroy/a", { versions: [1] }));
  const destroyed = await server.ask("GET", "kv/data/a");
  assert.equal(destroyed.status, 404);
  assert.equal(at(destroyed, "data", "metadata", "destroyed"), true);
  assert.equal((await server.ask("GET", "kv/data/a?version=7")).text, '{"errors":[]}');
  done(await server.ask("DELETE", "kv/metadata/a"));
  assert.equal((await server.ask("GET", "kv/data/a")).text, '{"errors":[]}');
});

test("unknown members of options are told, as unknown fields are", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const body = { data: {}, options: { Cas: 7, cas: 0, none: null }, more: 1 };
  for (const [verb, sent, warned] of [
    ["POST", body, ["unknown fields are ignored: options.Cas", "unknown fields are ignored: more"]],
    ["PATCH", { data: {}, options: { CAS: 7 } }, ["unknown fields are ignored: options.CAS"]],
    ["POST", { data: {}, options: { cas: 2 } }, null],
  ] as const) {
    const answer = await server.ask(verb, "kv/data/a", sent);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(at(answer, "warnings"), warned);
  }
});

test("a wrong cas is 400 with both numbers, and changes nothing", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/a", { data: { n: 1 }, options: { cas: 0 } });
  const wrong = await server.ask("POST", "kv/data/a", { data: { n: 2 }, options: { cas: 7 } });
  assert.equal(wrong.status, 400);
  assert.deepEqual(errorsOf(wrong), [
    "check-and-set parameter did not match the current version: cas is 7, the current version is 1",
  ]);
  done(await server.ask("POST", "kv/config", { cas_required: true }));
  const missing = await server.ask("POST", "kv/data/a", { data: { n: 2 } });
  assert.equal(missing.status, 400);
  assert.deepEqual(errorsOf(missing), [
    "check-and-set parameter required for this call: cas is missing, the current version is 1",
  ]);
  assert.deepEqual(at(await server.ask("GET", "kv/data/a"), "data", "data"), { n: 1 });
});

test("numbers leave as they came, digit by digit", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const data = '{"big":123456789012345678901234567890,"price":1.50,"e":1E5}';
  await server.must("POST", "kv/data/a", `{"data":${data}}`);
  const read = await server.ask("GET", "kv/data/a");
  assert.ok(read.text.includes(`"data":{"data":${data},`), read.text);
});

test("lists: LIST, list=true, scan=true, pages, and 404 for none", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  for (const path of ["a", "f/b", "f/g/c"]) {
    await server.must("POST", `kv/data/${path}`, { data: {} });
  }
  const keys = async (method: string, path: string) =>
    at(await server.ask(method, path), "data", "keys");
  assert.deepEqual(await keys("LIST", "kv/metadata"), ["a", "f/"]);
  assert.deepEqual(await keys("LIST", "kv/metadata/"), ["a", "f/"]);
  assert.deepEqual(await keys("GET", "kv/metadata/f/?list=true"), ["b", "g/"]);
  assert.deepEqual(await keys("GET", "kv/metadata?scan=true"), ["a", "f/b", "f/g/c"]);
  assert.deepEqual(await keys("GET", "kv/metadata/f?scan=true"), ["b", "g/c"]);
  assert.deepEqual(await keys("LIST", "kv/metadata?limit=1"), ["a"]);
  assert.deepEqual(await keys("LIST", "kv/metadata?after=a"), ["f/"]);
  for (const path of ["kv/metadata/none", "kv/recycle", "kv/detailed-metadata/none"]) {
    const none = await server.ask("LIST", path);
    assert.equal(none.status, 404, path);
    assert.equal(none.text, '{"errors":[]}');
  }
  const detailed = await server.ask("LIST", "kv/detailed-metadata/f");
  assert.equal(at(detailed, "data", "key_info", "b", "current_version"), 1);
});

test("a write asks for create where there is no version yet, and for update where there is one", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const creator = await server.client(grants("kv/data/*", "create"));
  const updater = await server.client(grants("kv/data/*", "update"));
  const write = async (token: string) =>
    (await server.ask("POST", "kv/data/a", { data: {} }, { token })).status;
  assert.equal(await write(updater), 403);
  done(await server.ask("POST", "kv/metadata/a", { max_versions: 2 })); // no version by itself
  assert.equal(await write(updater), 403);
  assert.equal(await write(creator), 200);
  assert.equal(await write(creator), 403);
  assert.equal(await write(updater), 200);
  done(await server.ask("DELETE", "kv/data/a")); // still there
  assert.equal(await write(creator), 403);
  done(await server.ask("DELETE", "kv/metadata/a"));
  assert.equal(await write(creator), 200);
});

test("each way to a secret has a right of its own", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/a", { data: { n: 1 } });
  const reader = await server.client(grants("kv/data/a", "read"));
  const rows: [string, string, unknown, number][] = [
    ["GET", "kv/data/a", undefined, 200],
    ["GET", "kv/metadata/a", undefined, 403],
    ["GET", "kv/subkeys/a", undefined, 403],
    ["LIST", "kv/metadata", undefined, 403],
    ["GET", "kv/metadata?scan=true", undefined, 403],
    ["POST", "kv/data/a", { data: {} }, 403],
    ["PATCH", "kv/data/a", { data: {} }, 403],
    ["DELETE", "kv/data/a", undefined, 403],
    ["POST", "kv/delete/a", { versions: [1] }, 403],
    ["POST", "kv/destroy/a", { versions: [1] }, 403],
    ["DELETE", "kv/metadata/a", undefined, 403],
    ["POST", "kv/copy", { from: "a", to: "b" }, 403],
    ["GET", "kv/search?q=a", undefined, 403],
    ["GET", "kv/config", undefined, 403],
  ];
  for (const [method, path, body, status] of rows) {
    const answer = await server.ask(method, path, body, { token: reader });
    assert.equal(answer.status, status, `${method} ${path}`);
  }
  const patcher = await server.client(grants("kv/data/a", "patch"));
  const patch = await server.ask("PATCH", "kv/data/a", { data: { m: 2 } }, { token: patcher });
  assert.equal(patch.status, 200);
});

test("version 1 keeps whatever object it is given, and has no other endpoints", async (t) => {
  const server = await engineServer(t);
  await server.enable("one", "kv", { options: { version: "1" } });
  const body = { data: { x: 1 }, options: "mine" };
  done(await server.ask("POST", "one/a/b", body));
  const read = await server.ask("GET", "one/a/b");
  assert.deepEqual(at(read, "data"), body);
  assert.equal(at(read, "warnings"), null);
  assert.equal(at(read, "lease_id"), "");
  assert.ok(Number(at(read, "lease_duration")) > 0);
  assert.deepEqual(at(await server.ask("LIST", "one"), "data", "keys"), ["a/"]);
  assert.deepEqual(at(await server.ask("LIST", "one/a/"), "data", "keys"), ["b"]);
  assert.equal((await server.ask("GET", "one/search?q=a")).status, 404);
  done(await server.ask("DELETE", "one/a/b"));
  assert.equal((await server.ask("GET", "one/a/b")).status, 404);
});

test("an empty list and a deleted version have a word in the header, as every refusal has", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  const empty = await server.ask("LIST", "kv/metadata");
  assert.deepEqual([empty.status, empty.json], [404, { errors: [] }]);
  await server.must("POST", "kv/data/a", { data: { n: 1 } });
  done(await server.ask("DELETE", "kv/data/a"));
  const deleted = await server.ask("GET", "kv/data/a");
  assert.equal(deleted.status, 404);
  assert.equal(at(deleted, "data", "metadata", "version"), 1);
  const answers = [empty, deleted, await server.ask("GET", "kv/subkeys/a")];
  for (const { headers } of answers) assert.equal(headers["x-service-error"], "nothing_there");
  const health = await server.test.call("GET", "/v1/sys/health?activecode=404");
  assert.deepEqual([health.status, health.headers["x-service-error"]], [404, undefined]);
});

test("a secret over the size of a stored entry is 413, and the one before it stays", async (t) => {
  const server = await engineServer(t, { listener: { maxBody: 4 * 1024 * 1024 } as never });
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/a", { data: { n: 1 } });
  const large = await server.ask("POST", "kv/data/a", { data: { n: "x".repeat(1_200_000) } });
  assert.equal(large.status, 413, large.text);
  assert.deepEqual(at(await server.ask("GET", "kv/data/a"), "data", "data"), { n: 1 });
});

test("a secret is in no log line and in no key of storage; after a restart it is there", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  await server.must("POST", "kv/data/a", { data: { value: "needle-7f3a" } });
  await server.crash();
  const read = await server.ask("GET", "kv/data/a");
  assert.deepEqual(at(read, "data", "data"), { value: "needle-7f3a" });
  assert.ok(!server.test.lines.some((line) => line.includes("needle-7f3a")));
  assert.deepEqual(server.storedKeys("needle-7f3a"), []);
});
