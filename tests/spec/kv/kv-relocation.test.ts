// What users of such servers have asked for in vain: move, copy, search,
// bulk delete and the recycle bin, and that none of them shows a caller what it may not read.

import assert from "node:assert/strict";
import test from "node:test";
import {
  absent,
  dataOf,
  DAY,
  engineServer,
  type EngineServer,
  grants,
  keysOf,
  refused,
} from "../../support/servers/engine-server.ts";
import { type Answer } from "../../support/http-client.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

async function kvServer(t: After, ...paths: readonly string[]): Promise<EngineServer> {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  for (const path of paths) {
    await server.must("POST", `kv/data/${path}`, { data: { of: path, v: 1 } });
    await server.must("POST", `kv/data/${path}`, { data: { of: path, v: 2 } });
  }
  return server;
}

const read = (server: EngineServer, path: string, token?: string): Promise<Answer> =>
  server.ask("GET", `kv/data/${path}`, undefined, token === undefined ? {} : { token });

test("a copy has every version and its custom metadata; the source stays", async (t) => {
  const server = await kvServer(t, "a");
  await server.must("POST", "kv/metadata/a", { custom_metadata: { owner: "ops" } });
  await server.must("POST", "kv/copy", { from: "a", to: "b/c" });
  for (const path of ["a", "b/c"]) {
    assert.deepEqual(dataOf(await read(server, path))["data"], { of: "a", v: 2 });
    const old = await server.ask("GET", `kv/data/${path}?version=1`);
    assert.deepEqual(dataOf(old)["data"], { of: "a", v: 1 });
    const metadata = dataOf(await server.ask("GET", `kv/metadata/${path}`));
    assert.deepEqual(metadata["custom_metadata"], { owner: "ops" });
  }
});

test("a move leaves nothing behind and does not overwrite", async (t) => {
  const server = await kvServer(t, "a", "taken");
  const onto = await server.ask("POST", "kv/move", { from: "a", to: "taken" });
  assert.equal(onto.status, 400, onto.text);
  assert.deepEqual(dataOf(await read(server, "taken"))["data"], { of: "taken", v: 2 });
  await server.must("POST", "kv/move", { from: "a", to: "z" });
  absent(await read(server, "a"));
  absent(await server.ask("GET", "kv/metadata/a"));
  assert.deepEqual(dataOf(await read(server, "z"))["data"], { of: "a", v: 2 });
  const gone = await server.ask("POST", "kv/move", { from: "a", to: "y" });
  assert.ok([400, 404].includes(gone.status), gone.text);
});

test("whole folders move and are copied", async (t) => {
  const server = await kvServer(t, "dir/a", "dir/sub/b", "dirt");
  await server.must("POST", "kv/copy", { from: "dir", to: "copied", recursive: true });
  await server.must("POST", "kv/move", { from: "dir", to: "moved", recursive: true });
  const scanned = keysOf(await server.ask("GET", "kv/metadata?scan=true")) as string[];
  const expected = ["copied/a", "copied/sub/b", "dirt", "moved/a", "moved/sub/b"];
  assert.deepEqual(scanned.toSorted(), expected);
});

test("copying needs read there and create here", async (t) => {
  const server = await kvServer(t, "a/x", "secret/x");
  const token = await server.client(
    grants("kv/copy", "update", "create") +
      grants("kv/data/a/*", "read") +
      grants("kv/data/b/*", "create") +
      grants("kv/data/c/*", "update", "read"),
  );
  const copy = (from: string, to: string) => server.ask("POST", "kv/copy", { from, to }, { token });
  for (const [from, to] of [
    ["secret/x", "b/x"], // not to be read
    ["a/x", "c/x"], // not to be made
    ["a/x", "a/y"],
    ["none", "b/x"], // what is not there is not told apart
  ] as const) {
    refused(await copy(from, to), 403, "permission denied");
  }
  assert.ok((await copy("a/x", "b/x")).status < 300);
  assert.deepEqual(dataOf(await read(server, "b/x"))["data"], { of: "a/x", v: 2 });
});

test("moving never makes readable to its caller what it could not read", async (t) => {
  const server = await kvServer(t, "secret/x", "own/x");
  const rules = (extra: string) =>
    grants("kv/move", "update", "create") +
    grants("kv/data/secret/*", "delete") +
    grants("kv/data/blind/*", "create") +
    grants("kv/data/own/*", "create", "read", "delete") +
    extra;
  const token = await server.client(rules(""));
  const move = (from: string, to: string, more: object = {}) =>
    server.ask("POST", "kv/move", { from, to, ...more }, { token });
  refused(await move("secret/x", "own/y"), 403, "permission denied");
  refused(await move("secret", "own", { recursive: true }), 403, "permission denied");
  absent(await read(server, "own/y"));
  assert.deepEqual(dataOf(await read(server, "secret/x"))["data"], { of: "secret/x", v: 2 });
  // From blind to blind it may, though it can read neither.
  assert.ok((await move("secret/x", "blind/x")).status < 300);
  refused(await read(server, "blind/x", token), 403, "permission denied");
  // Without delete on the source, or create on the target, not at all.
  refused(await move("blind/x", "own/z"), 403, "permission denied");
  assert.ok((await move("own/x", "own/z")).status < 300);
});

test("a search finds names and custom metadata, and only what the caller may read", async (t) => {
  const server = await kvServer(t, "app/db-main", "app/web", "team/db-other", "hidden/db-secret");
  await server.must("POST", "kv/metadata/app/web", { custom_metadata: { uses: "db-main" } });
  const search = (query: string, token = server.root) =>
    server.ask("GET", `kv/search?${query}`, undefined, { token });
  const all = keysOf(await search("q=db-")) as string[];
  assert.deepEqual(all.toSorted(), ["app/db-main", "app/web", "hidden/db-secret", "team/db-other"]);
  assert.deepEqual(keysOf(await search("q=db-&under=team")), ["team/db-other"]);
  const token = await server.client(
    grants("kv/search", "read") +
      grants("kv/data/app/*", "read") +
      grants("kv/data/team/*", "list"),
  );
  const own = await search("q=db-", token);
  assert.deepEqual((keysOf(own) as string[]).toSorted(), ["app/db-main", "app/web"]);
  assert.doesNotMatch(own.text, /hidden|team/);
  // With nothing that it may read there is no telling that something is there.
  const blind = await server.client(grants("kv/search", "read"));
  const nothing = await search("q=db-", blind);
  const none = await search("q=no-such-name", blind);
  assert.equal(nothing.status, none.status);
  assert.doesNotMatch(nothing.text, /db-/);
});

test("bulk delete is soft, in one answer, and whole: one that is not allowed refuses all", async (t) => {
  const server = await kvServer(t, "a", "b", "c", "kept");
  const token = await server.client(
    grants("kv/bulk-delete", "update", "create") +
      grants("kv/data/a", "delete") +
      grants("kv/data/b", "delete"),
  );
  const bulk = (paths: unknown, as = token) =>
    server.ask("POST", "kv/bulk-delete", { paths }, { token: as });
  refused(await bulk(["a", "b", "c"]), 403, "permission denied");
  for (const path of ["a", "b", "c"]) assert.equal((await read(server, path)).status, 200);
  assert.ok((await bulk(["a", "b"])).status < 300);
  for (const path of ["a", "b"]) assert.equal((await read(server, path)).status, 404);
  assert.equal((await server.ask("POST", "kv/undelete/a", { versions: [2] })).status, 204);
  assert.deepEqual(dataOf(await read(server, "a"))["data"], { of: "a", v: 2 });
  const many = Array.from({ length: 1001 }, (_, i) => `k${i}`);
  assert.equal((await bulk(many, server.root)).status, 400);
  assert.equal((await bulk(["../a"], server.root)).status, 400);
  assert.equal((await bulk("kept,", server.root)).status, 400);
  assert.equal((await read(server, "kept")).status, 200);
});

test("the recycle bin shows what was deleted, for its window, to who may read it", async (t) => {
  const server = await kvServer(t, "a", "dir/b", "kept");
  absent(await server.ask("LIST", "kv/recycle"));
  await server.must("DELETE", "kv/data/a");
  await server.must("DELETE", "kv/data/dir/b");
  const keys = keysOf(await server.ask("LIST", "kv/recycle")) as string[];
  assert.ok(keys.includes("a"));
  assert.ok(!keys.includes("kept"));
  await server.must("POST", "kv/undelete/a", { versions: [2] });
  const left = await server.ask("LIST", "kv/recycle");
  assert.ok(!JSON.stringify(left.json).includes('"a"'));
  await server.time.passSlowly(8n * DAY, DAY);
  absent(await server.ask("LIST", "kv/recycle"));
  assert.deepEqual(dataOf(await server.ask("GET", "kv/config"))["recycle_window"], "168h0m0s");
});

test("a copy too large for one go is refused before it is made; a move of it is not", async (t) => {
  const server = await kvServer(t);
  const large = "x".repeat(900_000);
  for (let v = 0; v < 2; v++) await server.must("POST", "kv/data/dir/a", { data: { v, large } });
  await server.must("POST", "kv/copy", { from: "dir/a", to: "two" });
  const first = dataOf(await server.ask("GET", "kv/data/two?version=1"))["data"];
  assert.deepEqual(first, { v: 0, large });
  for (let v = 2; v < 7; v++) await server.must("POST", "kv/data/dir/a", { data: { v, large } });
  await server.must("POST", "kv/data/dir/b", { data: {} });
  const copy = await server.ask("POST", "kv/copy", { from: "dir/a", to: "copied" });
  assert.equal(copy.status, 413, copy.text);
  assert.match(copy.text, /at most 2097152 bytes/);
  absent(await server.ask("GET", "kv/metadata/copied"));
  const folder = { from: "dir", to: "copied", recursive: true };
  const whole = await server.ask("POST", "kv/copy", folder);
  assert.deepEqual(dataOf(whole), { copied: 1, taken: 0, refused: 1 });
  assert.match(whole.text, /too large for one copy: dir\/a/);
  await server.must("POST", "kv/move", { from: "dir/a", to: "moved" });
  const last = dataOf(await read(server, "moved"))["data"];
  assert.deepEqual(last, { v: 6, large });
});
