// Two regions, of which the first is the authoritative one: cases of docs/cases/token-api.md.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.equal(got.status, 200, got.text);
  return got;
}

type TokenRecord = Readonly<Record<string, unknown>> & {
  readonly AccessorID: string;
  readonly SecretID: string;
};

async function newToken(server: TestServer, token: string, fields: object): Promise<TokenRecord> {
  const body = { Type: "client", Policies: ["p"], ...fields };
  return (await done(server.call("POST", "/v1/acl/token", { token, body }))).json as TokenRecord;
}

async function readToken(server: TestServer, token: string, id: string): Promise<TokenRecord> {
  return (await done(server.call("GET", `/v1/acl/token/${id}`, { token }))).json as TokenRecord;
}

test("A-106 a global token that is made in the second region is the same in both", async (t) => {
  const { a, b, root } = await twoRegions(t);
  for (const region of ["", "?region=b", "?region=a"]) {
    const body = { Type: "client", Policies: ["p"], Global: true };
    const answer = await done(b.call("POST", `/v1/acl/token${region}`, { token: root, body }));
    const made = answer.json as TokenRecord;
    for (const there of [a, b]) {
      const {
        CreateIndex: _,
        ModifyIndex: __,
        ...found
      } = await readToken(there, root, made.AccessorID);
      const { CreateIndex: ___, ModifyIndex: ____, ...rest } = made;
      assert.deepEqual(found, rest);
    }
  }
});

test("A-107 a token of the second region is nobody to the first, also where that is named", async (t) => {
  const { b, root } = await twoRegions(t);
  for (const fields of [{}, { Type: "management", Policies: [] }]) {
    const { SecretID: token } = await newToken(b, root, fields);
    await done(b.call("GET", "/v1/acl/token/self", { token }));
    const refused = await b.call("GET", "/v1/acl/token/self?region=a", { token });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /Permission denied/);
  }
});

test("A-107 a token of the first region alone is good in the second where that names the first", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const { SecretID: token, AccessorID: id } = await newToken(a, root, {
    Type: "management",
    Policies: [],
  });
  assert.equal((await b.call("GET", "/v1/acl/tokens", { token })).status, 403);
  const list = await done(b.call("GET", "/v1/acl/tokens?region=a&prefix=", { token }));
  assert.ok((list.json as TokenRecord[]).some(({ AccessorID }) => AccessorID === id));
  const body = { Type: "client", Policies: ["p"] };
  const made = await done(b.call("POST", "/v1/acl/token?region=a", { token, body }));
  await readToken(a, root, String(at(made, "AccessorID")));
  const missing = await b.call("GET", `/v1/acl/token/${String(at(made, "AccessorID"))}`, {
    token: root,
  });
  assert.equal(missing.status, 404, "a local one of the first");
});

test("A-109 a global token that is deleted in the second region is gone in both", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const { AccessorID: id, SecretID: token } = await newToken(a, root, { Global: true });
  await done(b.call("GET", "/v1/acl/token/self", { token }));
  await done(b.call("DELETE", `/v1/acl/token/${id}`, { token: root }));
  for (const region of [a, b]) {
    assert.equal((await region.call("GET", "/v1/acl/token/self", { token })).status, 403);
    assert.equal((await region.call("GET", `/v1/acl/token/${id}`, { token: root })).status, 404);
  }
});

test("A-110 policies of a global token that are changed in one region are changed in both", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const { AccessorID: id } = await newToken(a, root, { Global: true, Policies: ["ab", "c"] });
  assert.deepEqual((await readToken(b, root, id))["Policies"], ["ab", "c"]);
  const change = (server: TestServer, policies: readonly string[]) => {
    const body = { AccessorID: id, Type: "client", Policies: policies };
    return done(server.call("POST", `/v1/acl/token/${id}`, { token: root, body }));
  };
  await change(a, ["a", "bc"]);
  assert.deepEqual((await readToken(b, root, id))["Policies"], ["a", "bc"]);
  await change(b, ["d"]);
  for (const region of [a, b]) {
    assert.deepEqual((await readToken(region, root, id))["Policies"], ["d"]);
  }
});

test("A-110 what the second region tells of a token can be compared with there, and what the first tells in the first", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  await newToken(b, token, {}); // so that indexes differ
  const made = await newToken(b, token, { Global: true });
  const { AccessorID: id } = made;
  const change = (server: TestServer, cas: unknown, name: string) => {
    const body = { AccessorID: id, Name: name, Type: "client", Policies: ["p"] };
    return server.call("POST", `/v1/acl/token/${id}?cas=${String(cas)}`, { token, body });
  };
  const [here, there] = [await readToken(b, token, id), await readToken(a, token, id)];
  assert.notEqual(here["ModifyIndex"], there["ModifyIndex"]);
  assert.equal(made["ModifyIndex"], here["ModifyIndex"], "the answer has those of here");
  assert.equal((await change(b, there["ModifyIndex"], "no")).status, 409);
  const first = await done(change(b, made["ModifyIndex"], "one"));
  assert.equal((await change(b, made["ModifyIndex"], "late")).status, 409);
  assert.ok(Number(first.headers["x-service-index"]) >= Number(at(first, "ModifyIndex")));
  await done(change(b, at(first, "ModifyIndex"), "two"));
  await done(change(a, (await readToken(a, token, id))["ModifyIndex"], "three"));
  const last = (await readToken(b, token, id))["ModifyIndex"];
  const path = `/v1/acl/token/${id}?cas=`;
  assert.equal((await b.call("DELETE", `${path}1`, { token })).status, 409);
  await done(b.call("DELETE", `${path}${String(last)}&region=b`, { token }));
});

test("A-111 without the first region no global token is made; local ones are, and global ones are read", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  const { AccessorID: id } = await newToken(a, root, { Global: true });
  await regions.cut();
  const body = { Type: "client", Policies: ["p"], Global: true };
  for (const path of ["/v1/acl/token", "/v1/acl/token?region=a"]) {
    const refused = await b.call("POST", path, { token: root, body });
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.headers["retry-after"], "5");
  }
  assert.equal((await b.call("GET", "/v1/acl/tokens?region=a", { token: root })).status, 503);
  await newToken(b, root, {});
  await readToken(b, root, id);
});

test("A-112 what comes from the first region leaves the local tokens of the second alone", async (t) => {
  const { a, b, root } = await twoRegions(t);
  const own = await newToken(b, root, {});
  const global = await newToken(a, root, { Global: true });
  await done(a.call("DELETE", `/v1/acl/token/${global.AccessorID}`, { token: root }));
  const list = (await done(b.call("GET", "/v1/acl/tokens", { token: root }))).json as TokenRecord[];
  const ids = list.map(({ AccessorID }) => AccessorID);
  assert.ok(ids.includes(own.AccessorID));
  assert.ok(!ids.includes(global.AccessorID));
});

test("A-113 a bootstrap in the second region makes its token in the first", async (t) => {
  const { a, b } = await twoRegions(t);
  const refused = await b.call("POST", "/v1/acl/bootstrap");
  const [, number] = /reset index: (\d+)/.exec(refused.text) ?? [];
  mkdirSync(join(a.directory, "server"), { recursive: true });
  writeFileSync(join(a.directory, "server", "acl-bootstrap-reset"), `${number}\n`);
  const made = (await done(b.call("POST", "/v1/acl/bootstrap"))).json as TokenRecord;
  for (const region of [a, b]) {
    await done(region.call("GET", "/v1/acl/token/self", { token: made.SecretID }));
  }
});

test("A-114 a one-time token of the second region is none in the first", async (t) => {
  const { b, root } = await twoRegions(t);
  const { SecretID: token } = await newToken(b, root, { Global: true });
  const made = await done(b.call("POST", "/v1/acl/token/onetime", { token }));
  const body = { OneTimeSecretID: at(made, "OneTimeToken", "OneTimeSecretID") };
  const refused = await b.call("POST", "/v1/acl/token/onetime/exchange?region=a", { body });
  assert.equal(refused.status, 403, refused.text);
  const exchanged = await done(b.call("POST", "/v1/acl/token/onetime/exchange", { body }));
  assert.equal(at(exchanged, "Token", "SecretID"), token);
});

test("A-115 of regions the own one and the authoritative one are known, and no other", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const ask = async (server: TestServer, region: string) => {
    const { status, text } = await server.call("GET", `/v1/acl/tokens?region=${region}`, { token });
    return `${status}${/No path to region/.exec(text)?.[0] ?? ""}`;
  };
  for (const server of [a, b]) assert.equal(await ask(server, "nowhere"), "404No path to region");
  assert.equal(await ask(a, "a"), "200");
  assert.equal(await ask(b, "b"), "200");
  assert.equal(await ask(b, "a"), "200");
  assert.equal(await ask(a, "b"), "404No path to region", "it is not the authoritative one");
});

test("A-115 a write that names a region that nobody knows is refused wherever it would be written, and one that names the own is not", async (t) => {
  const { a, b, root: token } = await twoRegions(t);
  const body = { Name: "p", Rules: 'path "sys/mounts" { capabilities = ["read"] }' };
  const write = (server: TestServer, region: string) =>
    server.call("POST", `/v1/acl/policy/p?region=${region}`, { token, body });
  for (const server of [a, b]) {
    const refused = await write(server, "nowhere");
    assert.equal(refused.status, 404, refused.text);
    assert.match(refused.text, /No path to region/);
  }
  assert.equal(
    (await a.call("GET", "/v1/acl/policy/p", { token })).status,
    404,
    "nothing is written",
  );
  await done(write(b, "b"));
  await done(a.call("GET", "/v1/acl/policy/p", { token }));
});

test("where global tokens come from is told: to everybody that they do, to management the rest", async (t) => {
  const { a, b, root: token, primary } = await twoRegions(t);
  const read = async (server: TestServer, path: string, as: object = {}) =>
    (await done(server.call("GET", path, as))).json;
  const path = "/v1/acl/replication";
  assert.deepEqual(await read(b, path), { Enabled: true, Running: true });
  primary.isRunning = false;
  primary.lastError = { at: 1_000_000_000n, message: "the link was lost" };
  const all = (await read(b, path, { token })) as Record<string, unknown>;
  assert.equal(all["Running"], false);
  assert.equal(all["SourceRegion"], "a");
  assert.equal(all["ReplicatedTokenIndex"], Number(primary.applied));
  assert.equal(all["ReplicatedPolicyIndex"], Number(primary.applied));
  assert.equal(all["LastError"], "1970-01-01T00:00:01Z");
  assert.equal(all["LastErrorMessage"], "the link was lost");
  assert.equal(typeof all["LastSuccess"], "string");
  assert.deepEqual(await read(a, path), { Enabled: false, Running: false });
  assert.deepEqual(await read(b, `${path}?region=a`), { Enabled: false, Running: false });
});

test("what is passed on to a region is recorded where it was asked, by nobody whom that knows", async (t) => {
  const { b, root: token } = await twoRegions(t);
  const path = join(b.auditDirectory, "log");
  const device = { type: "file", local: true, options: { file_path: path } };
  await b.call("POST", "/v1/sys/audit/file", { token, body: device });
  const body = { Type: "client", Policies: ["p"] };
  await done(b.call("POST", "/v1/acl/token?region=a", { token, body }));
  const unread = await b.call("POST", "/v1/acl/token?region=a", { token, body: "{" });
  assert.equal(unread.status, 400);
  const records = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.includes('"path":"acl/token"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    records.map(({ type, auth, error }) => [type, auth, error === ""]),
    [
      ["request", null, true],
      ["response", null, true],
      ["request", null, false],
      ["response", null, false],
    ],
  );
});
