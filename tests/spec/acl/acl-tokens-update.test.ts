// Cases of docs/cases/token-api.md: what an update changes, what it never changes, and
// tokens with identifiers that were chosen.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  HOUR,
  indexOf,
  nanosOf,
  problems,
  refused,
  StoppableClock,
  succeeded,
  timeText,
  tokenOf,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";

const ACCESSOR = "aabbccdd-1122-4334-8556-677889900aab";
const SECRET = "0f8fad5b-d9cb-469f-a165-70867728950e";

test("A-35 update replaces name and policies and leaves the rest", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ Name: "n1", Policies: ["p1"] });
  const body = { AccessorID: token.AccessorID, Name: "n2", Type: "client", Policies: ["p2"] };
  const answer = await server.manage("POST", `/acl/token/${token.AccessorID}`, { body });
  const changed = tokenOf(answer);
  assert.deepEqual([changed.Name, changed.Policies], ["n2", ["p2"]]);
  assert.ok(changed.ModifyIndex > token.ModifyIndex);
  assert.equal(BigInt(changed.ModifyIndex), indexOf(answer));
  assert.notEqual(changed.Hash, token.Hash);
  const { Name, Policies, ModifyIndex, Hash } = changed;
  assert.deepEqual(changed, { ...token, Name, Policies, ModifyIndex, Hash });
  assert.deepEqual(tokenOf(await server.self(token.SecretID)), changed);
});

test("A-36 path and body must name the same token", async (t) => {
  const server = await aclServer(t);
  const [a, b] = [await server.create(), await server.create()];
  const text = "ACL token accessor does not match request path";
  for (const AccessorID of [b.AccessorID, undefined, "", null]) {
    const body = { AccessorID, Name: "taken", Type: "client", Policies: ["p"] };
    refused(await server.manage("POST", `/acl/token/${a.AccessorID}`, { body }), 400, text);
  }
  assert.deepEqual(tokenOf(await server.self(a.SecretID)), a);
  assert.deepEqual(tokenOf(await server.self(b.SecretID)), b);
});

test("A-37 update of a token that is not there names it", async (t) => {
  const server = await aclServer(t);
  for (const accessor of [UNKNOWN, "no-uuid"]) {
    const body = { AccessorID: accessor, Type: "client", Policies: ["p"] };
    const answer = await server.manage("POST", `/acl/token/${accessor}`, { body });
    refused(answer, 400, `cannot find token ${accessor}`);
  }
});

test("A-38 a local token does not become global, nor a global one local", async (t) => {
  const server = await aclServer(t);
  for (const Global of [false, true]) {
    const token = await server.create({ Global });
    problems(await server.update(token, { Global: !Global }), "cannot toggle global mode");
    succeeded(await server.update(token, { Global }));
  }
});

test("A-39 a global token stays global where the update does not say", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ Global: true });
  assert.equal(tokenOf(await server.update(token, { Name: "n2" })).Global, true);
});

test("A-40 an update without expiry fields leaves the TTL as it is", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ ExpirationTTL: "8h" });
  const changed = tokenOf(await server.update(token, { Name: "n2" }));
  const { ExpirationTime, ExpirationTTL } = token;
  assert.deepEqual(
    [changed.ExpirationTime, changed.ExpirationTTL],
    [ExpirationTime, ExpirationTTL],
  );
  assert.equal(changed.Name, "n2");
});

test("A-41 an update without expiry fields leaves an explicit time as it is", async (t) => {
  const server = await aclServer(t);
  const ExpirationTime = timeText(BigInt(Date.now()) * 1_000_000n + 2n * HOUR);
  const token = await server.create({ ExpirationTime });
  const changed = tokenOf(await server.update(token, { Name: "n2" }));
  assert.equal(nanosOf(changed.ExpirationTime), nanosOf(ExpirationTime));
  assert.equal(changed.ExpirationTTL, "");
});

test("A-42 the expiry never changes", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ ExpirationTTL: "8h" });
  const later = timeText(nanosOf(token.ExpirationTime) + HOUR);
  problems(await server.update(token, { ExpirationTime: later }), "cannot update expiration time");
  problems(await server.update(token, { ExpirationTTL: "9h" }), "cannot update expiration TTL");
  assert.deepEqual(tokenOf(await server.self(token.SecretID)), token);
});

test("A-43 a record can be sent back as it was read", async (t) => {
  const server = await aclServer(t);
  for (const more of [{}, { ExpirationTTL: "90m" }, { Global: true }]) {
    const { AccessorID } = await server.create(more);
    const path = `/acl/token/${AccessorID}`;
    const read = tokenOf(await server.manage("GET", path));
    const sent = tokenOf(await server.manage("PUT", path, { body: read }));
    // It moves the index all the same, and wakes who waits.
    assert.ok(sent.ModifyIndex > read.ModifyIndex);
    assert.deepEqual(sent, { ...read, ModifyIndex: sent.ModifyIndex });
  }
});

test("A-44 a token without an expiry does not get one", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const later = timeText(nanosOf(token.CreateTime) + HOUR);
  problems(await server.update(token, { ExpirationTime: later }), "cannot update expiration time");
  const ttl = await server.update(token, { ExpirationTTL: "8h" });
  refused(ttl, 400, /cannot update expiration TTL/, "invalid_token");
  assert.deepEqual(tokenOf(await server.self(token.SecretID)), token);
});

test("A-45 a client token becomes management, for its next request", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  denied(await server.list({}, token.SecretID));
  const change = { Type: "management", Policies: null };
  assert.equal(tokenOf(await server.update(token, change)).Policies, null);
  succeeded(await server.list({}, token.SecretID));
  succeeded(await server.update(token, {}));
  denied(await server.list({}, token.SecretID));
});

test("A-46 an expired token is not updated", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const token = await server.create({ ExpirationTTL: "1m" });
  clock.stoppedAt = nanosOf(token.ExpirationTime) + 1n;
  problems(await server.update(token, { Name: "back" }), "token has expired");
  denied(await server.self(token.SecretID), "ACL token expired");
});

test("A-47 a client token can be put with chosen identifiers", async (t) => {
  const server = await aclServer(t);
  const body = { AccessorID: ACCESSOR, SecretID: SECRET, Type: "client", Policies: ["readonly"] };
  const answer = await server.manage("PUT", `/acl/token/${ACCESSOR}`, { body });
  const token = tokenOf(answer);
  assert.deepEqual([token.AccessorID, token.SecretID], [ACCESSOR, SECRET]);
  assert.equal(BigInt(token.CreateIndex), indexOf(answer));
  assert.deepEqual(tokenOf(await server.self(SECRET)), token);
});

test("A-48 a management token cannot be put with chosen identifiers", async (t) => {
  const server = await aclServer(t);
  const text = `cannot find token ${ACCESSOR}`;
  for (const change of [
    { Type: "management", Policies: null },
    { SecretID: undefined },
    { SecretID: "no-uuid" },
  ]) {
    const fields = { AccessorID: ACCESSOR, SecretID: SECRET, Type: "client", Policies: ["p"] };
    const body = { ...fields, ...change };
    refused(await server.manage("PUT", `/acl/token/${ACCESSOR}`, { body }), 400, text);
  }
  denied(await server.self(SECRET));
});

test("A-49 a secret belongs to one token", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  for (const secret of [SecretID, SecretID.toUpperCase(), server.management]) {
    const body = { AccessorID: ACCESSOR, SecretID: secret, Type: "client", Policies: ["p"] };
    const answer = await server.manage("PUT", `/acl/token/${ACCESSOR}`, { body });
    refused(answer, 400, "secret already in use");
  }
  assert.equal((await server.manage("GET", `/acl/token/${ACCESSOR}`)).status, 404);
});

test("an update can insist on the record that it was made from", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const path = `/acl/token/${token.AccessorID}?cas=${token.ModifyIndex}`;
  const body = { AccessorID: token.AccessorID, Type: "client", Policies: ["p2"] };
  const { ModifyIndex } = tokenOf(await server.manage("POST", path, { body }));
  const late = await server.manage("POST", path, { body });
  refused(late, 409, `token was modified (index ${ModifyIndex})`);
});
