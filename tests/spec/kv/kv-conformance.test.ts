// Version 2 of the key/value engine, operation by operation, through HTTP.

import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  dataOf,
  done,
  engineServer,
  type EngineServer,
  grants,
  HOUR,
  keysOf,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

const NOW = "2026-01-01T00:00:00Z";
const fresh = (version: number) => ({
  version,
  created_time: NOW,
  deletion_time: "",
  destroyed: false,
  custom_metadata: null,
});

async function kvServer(t: After): Promise<EngineServer> {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  return server;
}

function put(server: EngineServer, path: string, data: unknown, options?: object): Promise<Answer> {
  const body = options === undefined ? { data } : { data, options };
  return server.ask("POST", `kv/data/${path}`, body);
}

async function versionsOf(server: EngineServer, path: string): Promise<Record<string, unknown>> {
  return dataOf(await server.ask("GET", `kv/metadata/${path}`))["versions"] as Record<
    string,
    unknown
  >;
}

test("a write answers with its version, a read with data and the version's facts", async (t) => {
  const server = await kvServer(t);
  assert.deepEqual(dataOf(await put(server, "app/db", { user: "u", n: 1 })), fresh(1));
  assert.deepEqual(dataOf(await put(server, "app/db", { user: "v" })), fresh(2));
  const latest = await server.ask("GET", "kv/data/app/db");
  assert.deepEqual(dataOf(latest), { data: { user: "v" }, metadata: fresh(2) });
  assert.deepEqual([at(latest, "lease_id"), at(latest, "lease_duration")], ["", 0]);
  assert.equal(at(latest, "mount_type"), "kv");
  const first = await server.ask("GET", "kv/data/app/db?version=1");
  assert.deepEqual(dataOf(first), { data: { user: "u", n: 1 }, metadata: fresh(1) });
  assert.deepEqual(
    dataOf(await server.ask("GET", "kv/data/app/db?version=0"))["metadata"],
    fresh(2),
  );
  absent(await server.ask("GET", "kv/data/app/db?version=3"));
  absent(await server.ask("GET", "kv/data/app"));
  absent(await server.ask("GET", "kv/data/never"));
  for (const data of [undefined, null, 5, "x", [1]]) {
    assert.equal((await put(server, "bad", data)).status, 400, JSON.stringify(data));
  }
  assert.equal((await server.ask("GET", "kv/data/app/db?version=x")).status, 400);
  assert.equal((await server.ask("GET", "kv/data/app/db?version=-1")).status, 400);
  assert.deepEqual(dataOf(await put(server, "empty", {})), fresh(1));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/empty"))["data"], {});
});

test("deleted and destroyed versions: 404 with the facts and without the data", async (t) => {
  const server = await kvServer(t);
  for (let i = 1; i <= 3; i++) await put(server, "k", { i });
  await server.time.pass(5n * SECOND);
  done(await server.ask("DELETE", "kv/data/k"));
  const deleted = await server.ask("GET", "kv/data/k");
  assert.equal(deleted.status, 404);
  assert.deepEqual(at(deleted, "data"), {
    data: null,
    metadata: { ...fresh(3), deletion_time: "2026-01-01T00:00:05Z" },
  });
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/k?version=2"))["data"], { i: 2 });
  done(await server.ask("POST", "kv/undelete/k", { versions: [3] }));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/k")), {
    data: { i: 3 },
    metadata: fresh(3),
  });
  done(await server.ask("POST", "kv/delete/k", { versions: [1, "2", 99] }));
  assert.equal((await server.ask("GET", "kv/data/k?version=1")).status, 404);
  assert.equal((await server.ask("GET", "kv/data/k?version=2")).status, 404);
  done(await server.ask("PUT", "kv/destroy/k", { versions: [2] }));
  done(await server.ask("POST", "kv/undelete/k", { versions: [1, 2] }));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/k?version=1"))["data"], { i: 1 });
  const destroyed = await server.ask("GET", "kv/data/k?version=2");
  assert.equal(destroyed.status, 404);
  assert.equal(at(destroyed, "data", "metadata", "destroyed"), true);
  assert.equal(at(destroyed, "data", "data"), null);
  // Destroying needs no deletion before, and deleting nothing is fine.
  done(await server.ask("POST", "kv/destroy/k", { versions: [3] }));
  assert.equal((await server.ask("GET", "kv/data/k")).status, 404);
  for (const verb of ["delete", "undelete", "destroy"]) {
    assert.equal((await server.ask("POST", `kv/${verb}/k`, {})).status, 400, verb);
    assert.equal((await server.ask("POST", `kv/${verb}/k`, { versions: ["x"] })).status, 400, verb);
  }
  done(await server.ask("DELETE", "kv/data/never"));
});

test("cas must be the current version; 0 means that nothing is there; both numbers are told", async (t) => {
  const server = await kvServer(t);
  assert.deepEqual(dataOf(await put(server, "k", { a: 1 }, { cas: 0 })), fresh(1));
  refused(await put(server, "k", { a: 2 }, { cas: 0 }), 400, /0.*1|1.*0/);
  refused(await put(server, "k", { a: 2 }, { cas: 7 }), 400, /7.*1|1.*7/);
  assert.deepEqual(dataOf(await put(server, "k", { a: 2 }, { cas: 1 })), fresh(2));
  assert.equal((await put(server, "other", { a: 1 }, { cas: 1 })).status, 400);
  assert.equal((await put(server, "k", { a: 1 }, { cas: "x" })).status, 400);
  done(await server.ask("POST", "kv/config", { cas_required: true }));
  assert.equal((await put(server, "k", { a: 3 })).status, 400);
  assert.deepEqual(dataOf(await put(server, "k", { a: 3 }, { cas: "2" })), fresh(3));
  done(await server.ask("POST", "kv/config", { cas_required: false }));
  done(await server.ask("POST", "kv/metadata/k", { cas_required: true }));
  assert.equal((await put(server, "k", { a: 4 })).status, 400);
  assert.equal((await put(server, "free", { a: 1 })).status, 200);
  // Of sixteen that compare with the same version, one writes.
  const raced = await Promise.all(
    Array.from({ length: 16 }, (_, i) => put(server, "k", { i }, { cas: 3 })),
  );
  assert.equal(raced.filter(({ status }) => status === 200).length, 1);
  assert.equal(raced.filter(({ status }) => status === 400).length, 15);
});

test("a patch merges into the newest version and needs one that lives", async (t) => {
  const server = await kvServer(t);
  const patch = (path: string, data: unknown, options?: object) =>
    server.ask("PATCH", `kv/data/${path}`, options === undefined ? { data } : { data, options });
  assert.equal((await patch("k", { a: 1 })).status, 404);
  await put(server, "k", { a: { b: 1, c: 2 }, d: [1, 2], e: "x" });
  assert.deepEqual(dataOf(await patch("k", { a: { b: null, z: 3 }, d: [9], f: "new" })), fresh(2));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/k"))["data"], {
    a: { c: 2, z: 3 },
    d: [9],
    e: "x",
    f: "new",
  });
  refused(await patch("k", { a: null }, { cas: 1 }), 400, /1.*2|2.*1/);
  assert.deepEqual(dataOf(await patch("k", { a: null }, { cas: 2 })), fresh(3));
  done(await server.ask("DELETE", "kv/data/k"));
  assert.equal((await patch("k", { a: 1 })).status, 404);
  await put(server, "k", { a: 1 });
  const headers = { "Content-Type": "application/json" };
  const plain = await server.ask("PATCH", "kv/data/k", { data: { a: 2 } }, { headers });
  assert.equal(plain.status, 415, "decision 33");
  const update = await server.client(grants("kv/data/k", "create", "read", "update"));
  const denied = await server.ask("PATCH", "kv/data/k", { data: {} }, { token: update });
  refused(denied, 403, "permission denied");
});

test("old versions are destroyed past max_versions: of the key, else of the mount, else ten", async (t) => {
  const server = await kvServer(t);
  for (let i = 1; i <= 12; i++) await put(server, "k", { i });
  const metadata = dataOf(await server.ask("GET", "kv/metadata/k"));
  assert.deepEqual([metadata["oldest_version"], metadata["current_version"]], [3, 12]);
  assert.equal(Object.keys(metadata["versions"] as object).length, 10);
  absent(await server.ask("GET", "kv/data/k?version=2"));
  done(await server.ask("POST", "kv/config", { max_versions: 4 }));
  await put(server, "k", { i: 13 });
  assert.deepEqual(Object.keys(await versionsOf(server, "k")), ["10", "11", "12", "13"]);
  done(await server.ask("POST", "kv/metadata/k", { max_versions: 2 }));
  assert.equal(Object.keys(await versionsOf(server, "k")).length, 4, "not before the next write");
  await put(server, "k", { i: 14 });
  assert.deepEqual(Object.keys(await versionsOf(server, "k")), ["13", "14"]);
});

test("delete_version_after sets an end on new versions, and it comes", async (t) => {
  const server = await kvServer(t);
  await put(server, "old", { a: 1 });
  done(await server.ask("POST", "kv/config", { delete_version_after: "1h" }));
  const config = dataOf(await server.ask("GET", "kv/config"));
  assert.deepEqual(config["delete_version_after"], "1h0m0s");
  const written = dataOf(await put(server, "k", { a: 1 }));
  assert.equal(written["deletion_time"], "2026-01-01T01:00:00Z");
  done(await server.ask("POST", "kv/metadata/brief", { delete_version_after: "10m" }));
  assert.equal(
    dataOf(await put(server, "brief", { a: 1 }))["deletion_time"],
    "2026-01-01T00:10:00Z",
  );
  await server.time.pass(HOUR - SECOND);
  assert.equal((await server.ask("GET", "kv/data/k")).status, 200);
  assert.equal((await server.ask("GET", "kv/data/brief")).status, 404);
  await server.time.pass(2n * SECOND);
  const over = await server.ask("GET", "kv/data/k");
  assert.equal(over.status, 404);
  assert.equal(at(over, "data", "metadata", "deletion_time"), "2026-01-01T01:00:00Z");
  assert.equal((await server.ask("GET", "kv/data/old")).status, 200);
});

test("metadata: written before any version, shown in full, patched, removed with all versions", async (t) => {
  const server = await kvServer(t);
  const custom_metadata = { owner: "ops", note: "" };
  done(await server.ask("POST", "kv/metadata/k", { max_versions: 3, custom_metadata }));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/metadata/k")), {
    current_version: 0,
    oldest_version: 0,
    max_versions: 3,
    cas_required: false,
    delete_version_after: "0s",
    created_time: NOW,
    updated_time: NOW,
    custom_metadata,
    versions: {},
  });
  absent(await server.ask("GET", "kv/data/k"));
  const wrote = await put(server, "k", { a: 1 });
  assert.deepEqual(dataOf(wrote), { ...fresh(1), custom_metadata });
  done(await server.ask("PATCH", "kv/metadata/k", { custom_metadata: { note: null, more: "x" } }));
  const patched = dataOf(await server.ask("GET", "kv/metadata/k"));
  assert.deepEqual(patched["custom_metadata"], { owner: "ops", more: "x" });
  assert.equal(patched["max_versions"], 3);
  assert.deepEqual(patched["versions"], {
    1: { created_time: NOW, deletion_time: "", destroyed: false },
  });
  // A POST changes what it names.
  done(await server.ask("POST", "kv/metadata/k", { custom_metadata: { only: "this" } }));
  const replaced = dataOf(await server.ask("GET", "kv/metadata/k"));
  assert.deepEqual([replaced["custom_metadata"], replaced["max_versions"]], [{ only: "this" }, 3]);
  assert.equal((await server.ask("PATCH", "kv/metadata/none", { max_versions: 1 })).status, 404);
  done(await server.ask("DELETE", "kv/metadata/k"));
  absent(await server.ask("GET", "kv/metadata/k"));
  absent(await server.ask("GET", "kv/data/k"));
  assert.deepEqual(dataOf(await put(server, "k", { a: 1 })), fresh(1), "begins anew");
});

test("custom metadata has bounds: 64 pairs, 128 and 512 bytes, strings alone", async (t) => {
  const server = await kvServer(t);
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
  for (const [custom_metadata, status] of [
    [many(64), 204],
    [many(65), 400],
    [{ ["k".repeat(128)]: "v".repeat(512) }, 204],
    [{ ["k".repeat(129)]: "v" }, 400],
    [{ k: "v".repeat(513) }, 400],
    [{ k: "é".repeat(257) }, 400], // bytes, not characters
    [{ k: 5 }, 400],
    [{ k: { a: "b" } }, 400],
    [["a"], 400],
    [{ "": "v" }, 400],
  ] as const) {
    const answer = await server.ask("POST", "kv/metadata/k", { custom_metadata });
    assert.equal(
      answer.status,
      status,
      `${JSON.stringify(custom_metadata).slice(0, 40)}: ${answer.text}`,
    );
  }
});

test("create or update: by whether the key is there", async (t) => {
  const server = await kvServer(t);
  const [creates, updates] = [
    await server.client(grants("kv/data/*", "create")),
    await server.client(grants("kv/data/*", "update")),
  ];
  const write = (token: string) => server.ask("POST", "kv/data/k", { data: {} }, { token });
  refused(await write(updates), 403, "permission denied");
  assert.equal((await write(creates)).status, 200);
  refused(await write(creates), 403, "permission denied");
  assert.equal((await write(updates)).status, 200);
  done(await server.ask("DELETE", "kv/data/k"));
  refused(await write(creates), 403, "permission denied");
  done(await server.ask("DELETE", "kv/metadata/k"));
  refused(await write(updates), 403, "permission denied");
  assert.equal((await write(creates)).status, 200);
});

test("lists: keys and folders in order, pages, details, everything below, 404 for nothing", async (t) => {
  const server = await kvServer(t);
  absent(await server.ask("LIST", "kv/metadata"));
  for (const path of ["b", "a", "dir/x", "dir/y/z", "dir2/q", "a/under"])
    await put(server, path, {});
  const list = (path: string) => server.ask("LIST", `kv/${path}`);
  assert.deepEqual(keysOf(await list("metadata")), ["a", "a/", "b", "dir/", "dir2/"]);
  assert.deepEqual(keysOf(await list("metadata/")), ["a", "a/", "b", "dir/", "dir2/"]);
  assert.deepEqual(keysOf(await server.ask("GET", "kv/metadata/dir?list=true")), ["x", "y/"]);
  assert.deepEqual(keysOf(await list("metadata?limit=2")), ["a", "a/"]);
  assert.deepEqual(keysOf(await list("metadata?after=a/&limit=2")), ["b", "dir/"]);
  absent(await list("metadata?after=zz"));
  absent(await list("metadata/none"));
  const scanned = keysOf(await server.ask("GET", "kv/metadata?scan=true")) as string[];
  assert.deepEqual(scanned.toSorted(), ["a", "a/under", "b", "dir/x", "dir/y/z", "dir2/q"]);
  assert.deepEqual(keysOf(await server.ask("GET", "kv/metadata/dir?scan=true")), ["x", "y/z"]);
  const detailed = dataOf(await list("detailed-metadata/dir"));
  assert.deepEqual(detailed["keys"], ["x", "y/"]);
  const info = detailed["key_info"] as Record<string, Record<string, unknown>>;
  assert.equal(info["x"]?.["current_version"], 1);
  // A deleted key is still listed: its metadata is there.
  done(await server.ask("DELETE", "kv/data/b"));
  assert.ok((keysOf(await list("metadata")) as string[]).includes("b"));
  const reader = await server.client(grants("kv/metadata/dir/*", "list"));
  const ask = (path: string) => server.ask("LIST", path, undefined, { token: reader });
  assert.deepEqual(keysOf(await ask("kv/metadata/dir/")), ["x", "y/"]);
  refused(await ask("kv/metadata/dir2/"), 403, "permission denied");
});

test("subkeys show the structure and none of the values", async (t) => {
  const server = await kvServer(t);
  await put(server, "k", { a: { b: { c: "secret-1" }, d: ["secret-2"] }, e: "secret-3", f: {} });
  await put(server, "k", { x: "secret-4" });
  const subkeys = (query: string) => server.ask("GET", `kv/subkeys/k${query}`);
  const whole = await subkeys("?version=1");
  assert.deepEqual(dataOf(whole)["subkeys"], { a: { b: { c: null }, d: null }, e: null, f: null });
  assert.deepEqual(dataOf(whole)["metadata"], fresh(1));
  assert.deepEqual(dataOf(await subkeys("?version=1&depth=1"))["subkeys"], {
    a: null,
    e: null,
    f: null,
  });
  assert.deepEqual(dataOf(await subkeys("?version=1&depth=2"))["subkeys"], {
    a: { b: null, d: null },
    e: null,
    f: null,
  });
  assert.deepEqual(dataOf(await subkeys(""))["subkeys"], { x: null });
  assert.doesNotMatch(whole.text, /secret-/);
  done(await server.ask("DELETE", "kv/data/k"));
  const deleted = await subkeys("");
  assert.equal(deleted.status, 404);
  assert.equal(at(deleted, "data", "subkeys"), null);
});

test("the mount's settings: defaults, what is written, and what is not", async (t) => {
  const server = await kvServer(t);
  const first = dataOf(await server.ask("GET", "kv/config"));
  assert.deepEqual(
    [first["max_versions"], first["cas_required"], first["delete_version_after"]],
    [0, false, "0s"],
  );
  done(await server.ask("POST", "kv/config", { max_versions: 5, cas_required: true }));
  done(await server.ask("POST", "kv/config", { delete_version_after: 90 }));
  const then = dataOf(await server.ask("GET", "kv/config"));
  assert.deepEqual(
    [then["max_versions"], then["cas_required"], then["delete_version_after"]],
    [5, true, "1m30s"],
  );
  for (const body of [
    { max_versions: -1 },
    { cas_required: "perhaps" },
    { delete_version_after: "x" },
  ]) {
    assert.equal((await server.ask("POST", "kv/config", body)).status, 400, JSON.stringify(body));
  }
});

test("version 1: every path is a secret, replaced as a whole", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "1" } });
  const body = { data: { a: 1 }, options: { cas: 5 }, ttl: "1h", n: 1 };
  done(await server.ask("POST", "kv/data/app", body));
  const read = await server.ask("GET", "kv/data/app");
  assert.deepEqual(dataOf(read), body);
  assert.deepEqual([at(read, "lease_id"), at(read, "renewable")], ["", false]);
  done(await server.ask("PUT", "kv/data/app", { b: 2 }));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/data/app")), { b: 2 });
  for (const path of ["config", "search", "copy", "move", "recycle", "metadata/x", "bulk-delete"]) {
    done(await server.ask("POST", `kv/${path}`, { is: path }));
    assert.deepEqual(dataOf(await server.ask("GET", `kv/${path}`)), { is: path });
  }
  assert.deepEqual(keysOf(await server.ask("LIST", "kv/data")), ["app"]);
  done(await server.ask("DELETE", "kv/data/app"));
  absent(await server.ask("GET", "kv/data/app"));
  assert.equal((await server.ask("PATCH", "kv/config", { a: 1 })).status, 405);
});

test("numbers keep the digits they came with", async (t) => {
  const server = await kvServer(t);
  const text = '{"data":{"big":12345678901234567890,"exact":1.10,"exp":1E400}}';
  assert.equal((await server.ask("POST", "kv/data/k", text)).status, 200);
  const { text: read } = await server.ask("GET", "kv/data/k");
  for (const digits of ["12345678901234567890", ":1.10", "1E400"])
    assert.ok(read.includes(digits), digits);
});
