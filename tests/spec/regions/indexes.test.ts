// Indexes are those of the cluster that answers, whoever has written what is read.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { type TwoRegions, twoRegions } from "../../support/replication/regions/two-regions.ts";
import type { TestServer } from "../../support/servers/test-server.ts";

const RULES = 'path "sys/mounts" { capabilities = ["read"] }';

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.equal(got.status, 200, got.text);
  return got;
}

interface Indexes {
  readonly create: number;
  readonly modify: number;
}

function indexesIn(record: unknown): Indexes {
  const { CreateIndex: create, ModifyIndex: modify } = record as Record<string, number>;
  return { create: Number(create), modify: Number(modify) };
}

async function policy(server: TestServer, token: string, name: string): Promise<Indexes> {
  const read = await done(server.call("GET", `/v1/acl/policy/${name}`, { token }));
  const list = await done(server.call("GET", "/v1/acl/policies", { token }));
  const listed = (list.json as { readonly Name: string }[]).find(({ Name }) => Name === name);
  assert.deepEqual(indexesIn(listed), indexesIn(read.json));
  return indexesIn(read.json);
}

function write(server: TestServer, token: string, name: string, rules = RULES): Promise<Answer> {
  const body = { Name: name, Rules: rules };
  return done(server.call("POST", `/v1/acl/policy/${name}`, { token, body }));
}

/** So that indexes of the two differ. */
async function apart({ b, root: token }: TwoRegions): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const body = { Type: "client", Policies: ["p"] };
    await done(b.call("POST", "/v1/acl/token", { token, body }));
  }
}

test("a policy has the indexes of the region that shows it, however it was written, also where its name has folders", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  await apart(regions);
  for (const name of ["p", "team/p"]) {
    const since = b.server.store.index;
    const written = await write(b, root, name);
    const [here, there] = [await policy(b, root, name), await policy(a, root, name)];
    assert.equal(here.create, here.modify);
    assert.notDeepEqual(here, there);
    assert.ok(here.modify > Number(since));
    assert.ok(Number(written.headers["x-service-index"]) >= here.modify);
    await apart(regions);
    const then = b.server.store.index;
    await write(a, root, name, `${RULES} # again`);
    await regions.apply();
    const changed = await policy(b, root, name);
    assert.equal(changed.create, here.create);
    assert.ok(changed.modify > Number(then));
    await apart(regions);
    assert.deepEqual(await policy(b, root, name), changed);
    await done(b.call("DELETE", `/v1/acl/policy/${name}`, { token: root }));
    await write(a, root, name);
    await regions.apply();
    const anew = await policy(b, root, name);
    assert.equal(anew.create, anew.modify, "it is another one");
    assert.ok(anew.create > changed.modify);
  }
});

test("a cluster that writes policies itself from now on shows them with its own indexes", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  await apart(regions);
  await write(a, root, "p");
  await write(a, root, "q");
  await regions.apply();
  const before = await policy(b, root, "p");
  const folder = "ns/root/policies/indexes/";
  const kept = () => {
    const keys = b.server.barrier.view("local/").keys(folder, { limit: 9 });
    return keys.map((key) => key.slice(folder.length));
  };
  assert.deepEqual(kept(), ["default", "p", "q"]);
  regions.alone();
  const since = b.server.store.index;
  await write(b, root, "p", `${RULES} # here`);
  const after = await policy(b, root, "p");
  assert.equal(after.create, before.create);
  assert.ok(after.modify > Number(since));
  await done(b.call("DELETE", "/v1/acl/policy/q", { token: root }));
  assert.deepEqual(kept(), ["default", "p"]);
});

test("A-113 the token of a bootstrap in the second region is told with the indexes that it has there", async (t) => {
  const regions = await twoRegions(t);
  const { a, b } = regions;
  await apart(regions);
  await reset(regions);
  const made = await done(b.call("POST", "/v1/acl/bootstrap"));
  const token = String(at(made, "SecretID"));
  const [here, there] = [await selfOf(b, token), await selfOf(a, token)];
  assert.notDeepEqual(here, there);
  assert.deepEqual(indexesIn(made.json), here);
});

test("a secret that a token of the region has that was asked is not taken for a bootstrap, nor for a global token that is uploaded", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  const body = { Type: "client", Policies: ["p"] };
  const made = await done(b.call("POST", "/v1/acl/token", { token: root, body }));
  const secret = String(at(made, "SecretID"));
  await reset(regions);
  const refused = await b.call("POST", "/v1/acl/bootstrap", { body: { BootstrapSecret: secret } });
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, /invalid acl token/);
  const AccessorID = "9a8f2c1e-3b4d-4e5f-8a6b-7c8d9e0f1a2b";
  const upload = { ...body, AccessorID, SecretID: secret, Global: true };
  for (const path of ["/v1/acl/token", `/v1/acl/token/${AccessorID}`]) {
    const answer = await b.call("POST", path, { token: root, body: upload });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /secret already in use/);
  }
  assert.equal((await a.call("GET", `/v1/acl/token/${AccessorID}`, { token: root })).status, 404);
  await done(b.call("POST", "/v1/acl/bootstrap")); // nothing was spent
});

test("who has a token of one region gains nothing by a global one that was made elsewhere with its secret", async (t) => {
  const regions = await twoRegions(t);
  const { a, b, root } = regions;
  const body = { Type: "client", Policies: ["p"] };
  const made = await done(b.call("POST", "/v1/acl/token", { token: root, body }));
  const secret = String(at(made, "SecretID"));
  await reset(regions);
  await done(a.call("POST", "/v1/acl/bootstrap", { body: { BootstrapSecret: secret } }));
  await regions.apply();
  const self = await done(b.call("GET", "/v1/acl/token/self", { token: secret }));
  assert.deepEqual([at(self, "Type"), at(self, "AccessorID")], ["client", at(made, "AccessorID")]);
});

/** Lets the first region bootstrap once more. */
async function reset({ a, b }: TwoRegions): Promise<void> {
  const refused = await b.call("POST", "/v1/acl/bootstrap");
  const [, number] = /reset index: (\d+)/.exec(refused.text) ?? [];
  mkdirSync(join(a.directory, "server"), { recursive: true });
  writeFileSync(join(a.directory, "server", "acl-bootstrap-reset"), `${number}\n`);
}

async function selfOf(server: TestServer, token: string): Promise<Indexes> {
  return indexesIn((await done(server.call("GET", "/v1/acl/token/self", { token }))).json);
}
