// What reaches over several secrets asks the caller's policies about each,
// with real policies, in a child namespace, under a mount with several segments.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  done,
  type EngineServer,
  engineServer,
  grants,
} from "../../support/servers/engine-server.ts";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";

const NAMESPACE = "team";
const MOUNT = "deep/kv";

interface Scene {
  readonly server: EngineServer;
  readonly ask: (method: string, path: string, body?: unknown, token?: string) => Promise<Answer>;
  readonly client: (...rules: readonly string[]) => Promise<string>;
}

async function scene(t: Parameters<typeof engineServer>[0], ...paths: string[]): Promise<Scene> {
  const server = await engineServer(t);
  await server.namespaces(NAMESPACE);
  await server.enable(MOUNT, "kv", {}, NAMESPACE);
  const ask: Scene["ask"] = (method, path, body, token = server.root) =>
    server.ask(method, `${MOUNT}/${path}`, body, { token, namespace: NAMESPACE });
  for (const path of paths) {
    const written = await ask("POST", `data/${path}`, { data: { path } });
    assert.equal(written.status, 200, written.text);
  }
  const client = (...rules: readonly string[]) => server.client(rules.join(""), {}, NAMESPACE);
  return { server, ask, client };
}

/** `on("data/a", "read")`: a rule below the mount. */
function on(path: string, ...capabilities: readonly string[]): string {
  return grants(`${MOUNT}/${path}`, ...capabilities);
}

function keys(answer: Answer): unknown {
  return at(answer, "data", "keys");
}

test("a scan goes into the folders that the caller may scan, and past the others", async (t) => {
  const { ask, client } = await scene(t, "a", "closed/b", "open/c", "open/closed/d", "open/e/f");
  const token = await client(
    on("metadata/", "scan"),
    on("metadata/open/*", "scan"),
    on("metadata/open/closed/", "deny"),
  );
  assert.deepEqual(keys(await ask("GET", "metadata?scan=true", undefined, token)), [
    "a",
    "open/c",
    "open/e/f",
  ]);
  assert.equal((await ask("GET", "metadata/closed?scan=true", undefined, token)).status, 403);
  const one = await client(on("metadata/open/", "scan"));
  assert.deepEqual(keys(await ask("GET", "metadata/open?scan=true", undefined, one)), ["c"]);
  // To list is another right, in both directions and by every spelling.
  const lists = await client(on("metadata/*", "list"));
  assert.equal((await ask("GET", "metadata?list=true", undefined, lists)).status, 200);
  for (const [method, path] of [
    ["GET", "metadata?scan=true"],
    ["GET", "metadata?scan=1&list=true"],
    ["LIST", "metadata?scan=true"],
  ] as const) {
    assert.equal((await ask(method, path, undefined, lists)).status, 403, `${method} ${path}`);
  }
  assert.equal((await ask("LIST", "metadata/open", undefined, one)).status, 403);
  assert.deepEqual(keys(await ask("LIST", "metadata/open?scan=true", undefined, one)), ["c"]);
});

test("a scan is refused where nothing can be scanned, and needs its right before that is told", async (t) => {
  const { client, server } = await scene(t);
  await server.enable("plain", "kv", { options: { version: "1" } }, NAMESPACE);
  const ask = (path: string, token = server.root) =>
    server.ask("GET", path, undefined, { token, namespace: NAMESPACE });
  const lists = await client(grants("plain/*", "list"), grants("sys/policies/*", "list"));
  const scans = await client(grants("plain/*", "scan"), grants("sys/policies/*", "scan"));
  for (const path of ["plain/a?scan=true", "sys/policies/acl?scan=true"]) {
    assert.equal((await ask(path)).status, 405, path);
    assert.equal((await ask(path, scans)).status, 405, path);
    assert.equal((await ask(path, lists)).status, 403, path);
  }
});

test("a search shows what the caller may read, and nothing of the rest", async (t) => {
  const { ask, client } = await scene(t, "db/mine", "db/other", "x");
  const token = await client(
    on("search", "read"),
    on("data/db/mine", "read"),
    on("data/x", "list"),
  );
  const found = await ask("GET", "search?q=db", undefined, token);
  assert.deepEqual(at(found, "data"), { keys: ["db/mine"] });
  assert.ok(!found.text.includes("other"));
  const none = await ask("GET", "search?q=x", undefined, token);
  assert.equal(none.status, 200); // no list: "nothing among these" is an answer
  assert.deepEqual(keys(none), []);
  assert.equal(
    (await ask("GET", "search?q=db", undefined, await client(on("data/*", "read")))).status,
    403,
  );
});

test("a search tells of notes, and of a secret without versions, only to who may read its metadata", async (t) => {
  const { ask, client } = await scene(t, "with-version");
  const note = { custom_metadata: { owner: "topsecretnote42" } };
  for (const path of ["bare", "with-version"]) done(await ask("POST", `metadata/${path}`, note));
  const data = await client(on("search", "read"), on("data/*", "read"));
  const metadata = await client(on("search", "read"), on("metadata/*", "read"));
  const found = async (q: string, token: string) =>
    keys(await ask("GET", `search?q=${q}`, undefined, token));
  assert.deepEqual(await found("topsecretnote4", data), ["with-version"]);
  assert.deepEqual(await found("bare", data), []);
  assert.deepEqual(await found("topsecretnote4", metadata), ["bare"]);
  assert.equal((await ask("POST", "data/bare", { data: {} })).status, 200);
  assert.deepEqual(await found("topsecretnote4", data), ["bare", "with-version"]);
});

test("a detailed list shows names to who may list, and more to who may read", async (t) => {
  const { ask, client } = await scene(t, "f/a", "f/b");
  const rules = [on("detailed-metadata/*", "list"), on("metadata/f/b", "read")] as const;
  const token = await client(...rules, on("metadata/f/", "list"));
  const listed = await ask("LIST", "detailed-metadata/f", undefined, token);
  assert.deepEqual(keys(listed), ["a", "b"]);
  assert.deepEqual(Object.keys(at(listed, "data", "key_info") as object), ["b"]);
  assert.equal((await ask("LIST", "detailed-metadata", undefined, token)).status, 403);
});

test("T-A06: a folder whose list is denied shows its names in no other list", async (t) => {
  const { ask, client } = await scene(t, "closed/a", "open/b");
  const token = await client(on("*", "list", "scan", "read"), on("metadata/closed/*", "deny"));
  for (const path of ["metadata/closed", "detailed-metadata/closed"]) {
    const listed = await ask("LIST", path, undefined, token);
    assert.equal(listed.status, 403, path);
    assert.deepEqual(errorsOf(listed), ["permission denied"]);
  }
  assert.deepEqual(keys(await ask("LIST", "detailed-metadata/open", undefined, token)), ["b"]);
});

test("an EGP on scans holds for the folders within as well", async (t) => {
  const { server, ask, client } = await scene(t, "open/a", "open/closed/b");
  const body = {
    policy: "!has(request.data.scan)",
    enforcement_level: "hard-mandatory",
    paths: [`${MOUNT}/metadata/open/closed/*`],
  };
  const options = { token: server.root, namespace: NAMESPACE };
  done(await server.ask("POST", "sys/policies/egp/no-scans", body, options));
  const token = await client(on("metadata/*", "scan"));
  const direct = await ask("GET", "metadata/open/closed?scan=true", undefined, token);
  assert.equal(direct.status, 403);
  assert.deepEqual(keys(await ask("GET", "metadata/open?scan=true", undefined, token)), ["a"]);
});

test("what a search looks for is judged as it is looked for, in whatever case it came", async (t) => {
  const { ask, client, server } = await scene(t, "db/mine");
  const rule = (more: string) =>
    `path "${MOUNT}/search" { capabilities = ["read"] ${more} }\n${on("data/*", "read")}`;
  const denied = await client(rule('denied_parameters = { "q" = ["Mine"] }'));
  const open = await client(rule(""));
  for (const q of ["mine", "Mine", "MINE"]) {
    assert.equal((await ask("GET", `search?q=${q}`, undefined, denied)).status, 403, q);
    assert.deepEqual(keys(await ask("GET", `search?q=${q}`, undefined, open)), ["db/mine"]);
  }
  assert.equal((await ask("GET", "search?q=other", undefined, denied)).status, 200);
  const body = {
    policy: '!has(request.data.q) || request.data.q != "mine"',
    enforcement_level: "hard-mandatory",
    paths: [`${MOUNT}/search`],
  };
  const options = { token: server.root, namespace: NAMESPACE };
  done(await server.ask("POST", "sys/policies/egp/words", body, options));
  assert.equal((await ask("GET", "search?q=MinE", undefined, open)).status, 403);
});

test("T-D08: a bulk deletion with one foreign path is refused whole", async (t) => {
  const { ask, client } = await scene(t, "mine/a", "mine/b", "other");
  const token = await client(on("bulk-delete", "update"), on("data/mine/*", "delete"));
  const refused = await ask("POST", "bulk-delete", { paths: ["mine/a", "other"] }, token);
  assert.equal(refused.status, 403);
  assert.deepEqual(errorsOf(refused), ["permission denied"]);
  assert.equal((await ask("GET", "data/mine/a")).status, 200);
  const deleted = await ask(
    "POST",
    "bulk-delete",
    { paths: ["mine/a", "mine/b", "mine/c"] },
    token,
  );
  assert.deepEqual(at(deleted, "data"), { deleted: 2, absent: 1 });
  assert.equal((await ask("GET", "data/mine/a")).status, 404);
});

test("the bin shows names to who may list their folder; undelete empties it", async (t) => {
  const { ask, client } = await scene(t, "a/x", "b/y");
  done(await ask("DELETE", "data/a/x"));
  done(await ask("DELETE", "data/b/y"));
  const token = await client(
    on("recycle/", "list"),
    on("metadata/", "list"),
    on("metadata/a/", "list"),
    on("undelete/a/*", "update"),
  );
  assert.deepEqual(keys(await ask("LIST", "recycle", undefined, token)), ["a/x"]);
  done(await ask("POST", "undelete/a/x", { versions: [1] }, token));
  assert.equal((await ask("LIST", "recycle", undefined, token)).status, 404);
  assert.deepEqual(keys(await ask("LIST", "recycle")), ["b/y"]);
});

test("secrets of one mount and namespace are not those of another", async (t) => {
  const { server, ask } = await scene(t, "same");
  await server.enable(MOUNT, "kv");
  await server.enable("other", "kv", {}, NAMESPACE);
  for (const [path, namespace] of [
    [`${MOUNT}/data/same`, ""],
    ["other/data/same", NAMESPACE],
  ]) {
    assert.equal((await server.ask("GET", path ?? "", undefined, { namespace })).status, 404);
  }
  assert.equal((await ask("GET", "data/same")).status, 200);
});

test("a mount of version 1 that is tuned to version 2 keeps its secrets; there is no way back", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv", { options: { version: "1" } });
  done(await server.ask("POST", "kv/a/b", { n: 1 }));
  done(await server.ask("POST", "sys/mounts/kv/tune", { options: { version: "2" } }));
  const read = await server.ask("GET", "kv/data/a/b");
  assert.deepEqual(at(read, "data", "data"), { n: 1 });
  assert.equal(at(read, "data", "metadata", "version"), 1);
  const back = await server.ask("POST", "sys/mounts/kv/tune", { options: { version: "1" } });
  assert.equal(back.status, 400);
});

test("a deleted secret is not wrapped: its answer is a refusal", async (t) => {
  const { server, ask } = await scene(t, "a");
  done(await ask("DELETE", "data/a"));
  const headers = { "X-Service-Wrap-TTL": "60s" };
  const path = `${MOUNT}/data/a`;
  const deleted = await server.ask("GET", path, undefined, { namespace: NAMESPACE, headers });
  assert.equal(deleted.status, 404);
  assert.equal(at(deleted, "wrap_info"), null);
});

test("an EGP on a secret holds for what is found and copied from it as well", async (t) => {
  const { server, ask, client } = await scene(t, "open/a", "closed/b");
  const body = {
    policy: 'request.connection.remote_addr == "192.0.2.1"',
    enforcement_level: "hard-mandatory",
    paths: [`${MOUNT}/data/closed/*`],
  };
  const options = { token: server.root, namespace: NAMESPACE };
  const written = await server.ask("POST", "sys/policies/egp/elsewhere", body, options);
  assert.equal(written.status, 204, written.text);
  const token = await client(on("*", "create", "read", "update", "list", "delete"));
  assert.equal((await ask("GET", "data/closed/b", undefined, token)).status, 403);
  assert.deepEqual(keys(await ask("GET", "search?q=e", undefined, token)), ["open/a"]);
  const copied = await ask("POST", "copy", { from: "closed/b", to: "open/b" }, token);
  assert.equal(copied.status, 403);
  assert.equal((await ask("GET", "data/open/b")).status, 404);
});

test("a folder goes nowhere where one of its secrets would have a path that no request can name", async (t) => {
  const deep = Array.from({ length: 12 }, (_, at) => `d${at}`).join("/");
  const long = `${"n".repeat(250)}/${"m".repeat(250)}`;
  const { ask } = await scene(t, "from/a", `from/${deep}/z`, "wide/a", `wide/${long}`);
  for (const kind of ["copy", "move"]) {
    for (const [from, to, lost] of [
      ["from", `to/${deep}/e`, `to/${deep}/e/${deep}/z`],
      ["wide", `to/${long}`, `to/${long}/${long}`],
    ] as const) {
      const answer = await ask("POST", kind, { from, to, recursive: true });
      assert.equal(answer.status, 400, answer.text);
      assert.ok(answer.text.includes(lost), answer.text);
      assert.equal((await ask("GET", `metadata/${from}/a`)).status, 200);
      assert.equal((await ask("LIST", "metadata/to")).status, 404);
    }
  }
  const fits = await ask("POST", "copy", { from: "from", to: "to", recursive: true });
  assert.equal(fits.status, 200, fits.text);
  assert.equal((await ask("GET", `data/to/${deep}/z`)).status, 200);
});
