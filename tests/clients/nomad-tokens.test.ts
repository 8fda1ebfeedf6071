// The existing ecosystem's client library, replayed: everything it does with tokens, in its own requests.

import assert from "node:assert/strict";
import test from "node:test";
import { aclServer, unclaimedServer, UUID } from "../support/servers/acl-server.ts";
import { asToken, goClient, type GoToken, goToken, type Query } from "./nomad-client.ts";

test("replayed: bootstrap with and without a secret of the operator's", async (t) => {
  const chosen = "2b778dd9-f5f1-6f29-b4b4-9a5fa948757a";
  for (const [body, secret] of [
    [null, UUID],
    [{ BootstrapSecret: "" }, UUID],
    [{ BootstrapSecret: chosen }, new RegExp(`^${chosen}$`)],
  ] as const) {
    const client = await goClient(t, await unclaimedServer(t));
    const token = asToken((await client.put("/v1/acl/bootstrap", body)).body);
    assert.match(token.SecretID, secret);
    assert.equal(token.Type, "management");
    client.token = token.SecretID;
    const again = await client.refusal("PUT", "/v1/acl/bootstrap", body);
    assert.match(again, /response code: 400 .*ACL bootstrap already done \(reset index: \d+\)/);
  }
  const client = await goClient(t, await unclaimedServer(t));
  const refusal = await client.refusal("PUT", "/v1/acl/bootstrap", { BootstrapSecret: "badtoken" });
  assert.match(refusal, /400 .*invalid acl token/);
});

test("replayed: create, read, read self, update with the record that was read, delete", async (t) => {
  const client = await goClient(t, await aclServer(t));
  const fields = { Name: "<ci> & co", Type: "client", Policies: ["readonly"], Global: true };
  const { index, body } = await client.put("/v1/acl/token", goToken(fields));
  const token = asToken(body);
  assert.equal(index, BigInt(token.CreateIndex));
  assert.deepEqual([token.Name, token.Policies, token.Global], [fields.Name, ["readonly"], true]);
  const path = `/v1/acl/token/${token.AccessorID}`;
  const read = await client.query(path);
  assert.deepEqual(asToken(read.body), token);
  const lastIndex = BigInt(token.ModifyIndex);
  const meta = { lastIndex, lastContact: 0n, nextToken: "", knownLeader: true };
  assert.deepEqual(read.meta, meta);
  const changed = await client.put(path, goToken({ ...token, Name: "ci 2" }));
  assert.equal(asToken(changed.body).Name, "ci 2");
  assert.equal(asToken(changed.body).SecretID, token.SecretID);
  const management = client.token;
  client.token = token.SecretID;
  assert.deepEqual((await client.query("/v1/acl/token/self")).body, changed.body);
  client.token = management;
  assert.ok((await client.delete(path)) > changed.index);
  assert.match(await client.refusal("GET", path), /404 .*ACL token not found/);
  client.token = token.SecretID;
  assert.match(await client.refusal("GET", "/v1/acl/token/self"), /403 .*Permission denied/);
});

test("replayed: a token with a TTL goes to and fro without losing its time", async (t) => {
  const client = await goClient(t, await aclServer(t));
  const fields = { Name: "brief", Type: "client", Policies: ["readonly"], ExpirationTTL: "8h0m0s" };
  const token = asToken((await client.put("/v1/acl/token", goToken(fields))).body);
  assert.equal(token.ExpirationTTL, "8h0m0s");
  const path = `/v1/acl/token/${token.AccessorID}`;
  const changed = asToken((await client.put(path, goToken(token))).body);
  assert.equal(changed.ExpirationTime, token.ExpirationTime);
  assert.equal(changed.ExpirationTTL, token.ExpirationTTL);
});

test("replayed: upload with chosen identifiers", async (t) => {
  const client = await goClient(t, await aclServer(t));
  const AccessorID = "fa1a1a1a-2b2b-3c3c-4d4d-5e5e5e5e5e5e";
  const SecretID = "0a1a1a1a-2b2b-3c3c-4d4d-5e5e5e5e5e5e";
  const fields = { AccessorID, SecretID, Name: "restored", Type: "client", Policies: ["readonly"] };
  const { body } = await client.put(`/v1/acl/token/${AccessorID}`, goToken(fields));
  assert.deepEqual([asToken(body).AccessorID, asToken(body).SecretID], [AccessorID, SecretID]);
});

test("replayed: list with pages, filter, prefix, reverse and a stale read", async (t) => {
  const server = await aclServer(t);
  for (const name of ["a", "b"]) {
    await server.writePolicy(name, 'path "secret/*" { capabilities = ["read"] }');
  }
  const client = await goClient(t, server);
  for (let i = 0; i < 5; i++) {
    const fields = { Name: `token ${i}`, Type: "client", Policies: [i % 2 === 0 ? "a" : "b"] };
    await client.put("/v1/acl/token", goToken(fields));
  }
  const all = (await client.query("/v1/acl/tokens")).body as GoToken[];
  assert.equal(all.length, 6);
  const found: GoToken[] = [];
  let query: Query = { per_page: "2" };
  for (let page = 1; page <= 3; page++) {
    const { meta, body } = await client.query("/v1/acl/tokens", query);
    found.push(...(body as GoToken[]));
    assert.equal(meta.nextToken !== "", page < 3);
    query = { per_page: "2", next_token: meta.nextToken };
  }
  assert.deepEqual(found, all);
  const names = (body: unknown) => (body as GoToken[]).map(({ Name }) => Name);
  const filter = 'Policies contains "a" and Name != "token 0"';
  const filtered = await client.query("/v1/acl/tokens", { filter });
  assert.deepEqual(names(filtered.body), ["token 2", "token 4"]);
  const reversed = await client.query("/v1/acl/tokens", { reverse: "true", stale: "" });
  assert.deepEqual(reversed.body, all.toReversed());
  const prefix = all[3]?.AccessorID.slice(0, 8) ?? "";
  assert.deepEqual(names((await client.query("/v1/acl/tokens", { prefix })).body), ["token 2"]);
  const refusal = await client.refusal("GET", "/v1/acl/tokens?filter=NotValid");
  assert.match(refusal, /400 .*failed to create result paginator/);
});

test("replayed: a blocking list returns with what happened, and goes on from there", async (t) => {
  const server = await aclServer(t);
  const [watcher, writer] = [await goClient(t, server), await goClient(t, server)];
  let { meta } = await watcher.query("/v1/acl/tokens");
  for (const name of ["first", "second"]) {
    const waiting = watcher.query("/v1/acl/tokens", {
      index: `${meta.lastIndex}`,
      wait: "30000ms",
    });
    const fields = { Name: name, Type: "client", Policies: ["readonly"] };
    const { index } = await writer.put("/v1/acl/token", goToken(fields));
    const seen = await waiting;
    assert.equal(seen.meta.lastIndex, index);
    assert.equal((seen.body as GoToken[]).at(-1)?.Name, name);
    meta = seen.meta;
  }
});

test("replayed: a one-time token is made and exchanged", async (t) => {
  const client = await goClient(t, await aclServer(t));
  const fields = { Type: "client", Policies: ["readonly"] };
  const token = asToken((await client.put("/v1/acl/token", goToken(fields))).body);
  client.token = token.SecretID;
  const made = (await client.put("/v1/acl/token/onetime", null)).body as {
    readonly OneTimeToken: { readonly OneTimeSecretID: string; readonly AccessorID: string };
  };
  assert.equal(made.OneTimeToken.AccessorID, token.AccessorID);
  client.token = "";
  const { OneTimeSecretID } = made.OneTimeToken;
  const path = "/v1/acl/token/onetime/exchange";
  const exchanged = (await client.put(path, { OneTimeSecretID })).body as { Token: unknown };
  assert.deepEqual(asToken(exchanged.Token), token);
  assert.match(await client.refusal("PUT", path, { OneTimeSecretID }), /403 .*Permission denied/);
});

test("replayed: a region, a namespace and basic authentication from the environment do no harm", async (t) => {
  const server = await aclServer(t);
  const client = await goClient(t, server, {
    query: { namespace: "default", region: "global" },
    headers: { Authorization: "Basic dXNlcjpwYXNzd29yZA==" },
  });
  const fields = { Type: "client", Policies: ["readonly"] };
  const token = asToken((await client.put("/v1/acl/token", goToken(fields))).body);
  assert.equal(((await client.query("/v1/acl/tokens")).body as GoToken[]).length, 2);
  await client.delete(`/v1/acl/token/${token.AccessorID}`);
});
