// Cases of docs/cases/token-api.md: reading one token, one's own, and deleting.

import assert from "node:assert/strict";
import test from "node:test";
import type { Answer } from "../../support/http-client.ts";
import {
  aclServer,
  denied,
  indexOf,
  nanosOf,
  refused,
  StoppableClock,
  succeeded,
  tokenOf,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";

/** The headers of every read, also of one that finds nothing. */
function readHeaders(answer: Answer): void {
  assert.ok(indexOf(answer) > 0n);
  assert.equal(answer.headers["x-service-lastcontact"], "0");
  assert.equal(answer.headers["x-service-knownleader"], "true");
}

test("A-50 management reads the record with its secret, as of its last change", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  await server.create(); // the index of the answer is the token's own
  const answer = await server.manage("GET", `/acl/token/${token.AccessorID}`);
  assert.deepEqual(tokenOf(answer), token);
  readHeaders(answer);
  assert.equal(indexOf(answer), BigInt(token.ModifyIndex));
});

test("A-51 a client token reads its own record", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const path = `/acl/token/${token.AccessorID}`;
  assert.deepEqual(tokenOf(await server.ask("GET", path, { token: token.SecretID })), token);
  const upper = { token: token.SecretID.toUpperCase() };
  assert.deepEqual(tokenOf(await server.ask("GET", path, upper)), token);
});

test("A-52 others do not read it", async (t) => {
  const server = await aclServer(t);
  const [token, other] = [await server.create(), await server.create()];
  const path = `/acl/token/${token.AccessorID}`;
  denied(await server.ask("GET", path, { token: other.SecretID }));
  denied(await server.ask("GET", path));
  denied(await server.ask("GET", path, { token: UNKNOWN }));
});

test("A-53 an accessor that is not there is told to management alone", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const last = await server.create();
  const answer = await server.manage("GET", `/acl/token/${UNKNOWN}`);
  refused(answer, 404, "ACL token not found", "token_not_found");
  readHeaders(answer);
  assert.equal(indexOf(answer), BigInt(last.CreateIndex), "as of the table");
  const refusal = await server.ask("GET", `/acl/token/${UNKNOWN}`, { token: SecretID });
  denied(refusal);
  assert.equal(refusal.headers["x-service-index"], undefined);
});

test("A-54 what is no UUID is an accessor that is not there", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const path = "/acl/token/not-a-uuid";
  refused(await server.manage("GET", path), 404, "ACL token not found", "token_not_found");
  denied(await server.ask("GET", path, { token: SecretID }));
});

test("A-55 nothing after the slash is told so", async (t) => {
  const server = await aclServer(t);
  refused(await server.manage("GET", "/acl/token/"), 400, "Missing Token Accessor");
});

test("A-56 self reads the record of the credential, whichever way it is presented", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const own = await server.self(token.SecretID);
  assert.deepEqual(tokenOf(own), token);
  readHeaders(own);
  assert.equal(indexOf(own), BigInt(token.ModifyIndex));
  for (const scheme of ["Bearer", "bearer"]) {
    const headers = { Authorization: `${scheme} ${token.SecretID}` };
    assert.deepEqual(tokenOf(await server.ask("GET", "/acl/token/self", { headers })), token);
  }
});

test("A-57 self with a secret that nobody has is refused", async (t) => {
  const server = await aclServer(t);
  for (const secret of [UNKNOWN, "no-uuid", "x"]) denied(await server.self(secret));
});

test("A-58 self with an expired token is told so", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const token = await server.create({ ExpirationTTL: "1m" });
  clock.stoppedAt = nanosOf(token.ExpirationTime) + 1n;
  denied(await server.self(token.SecretID), "ACL token expired");
  const path = `/acl/token/${token.AccessorID}`;
  denied(await server.ask("GET", path, { token: token.SecretID }), "ACL token expired");
});

test("A-59 self without a credential is refused", async (t) => {
  const server = await aclServer(t);
  denied(await server.ask("GET", "/acl/token/self"));
  const headers = { Authorization: "Basic YTpi" }; // another scheme is nothing
  denied(await server.ask("GET", "/acl/token/self", { headers }));
});

test("A-59 with anonymous_self, self without a credential shows the built-in token", async (t) => {
  const server = await aclServer(t, { settings: { acl: { anonymous_self: true } } });
  const answer = await server.ask("GET", "/acl/token/self");
  assert.equal(answer.status, 200, answer.text);
  const { AccessorID, SecretID, Name, Type, Policies, Global, CreateTime, CreateIndex } =
    answer.json as Record<string, unknown>;
  assert.deepEqual([AccessorID, SecretID, Name], ["anonymous", "", "Anonymous Token"]);
  assert.deepEqual([Type, Policies, Global], ["client", ["anonymous"], false]);
  assert.deepEqual([CreateTime, CreateIndex], ["0001-01-01T00:00:00Z", 0]);
  denied(await server.self(UNKNOWN));
});

test("A-60 self is read and nothing else", async (t) => {
  const server = await aclServer(t);
  for (const verb of ["DELETE", "POST", "PUT"]) {
    const answer = await server.manage(verb, "/acl/token/self");
    refused(answer, 405, "Invalid method", "method_not_allowed");
    assert.equal(answer.headers["allow"], "GET, HEAD");
  }
  succeeded(await server.list());
});

test("A-61 a deleted token lets nobody in", async (t) => {
  const server = await aclServer(t);
  const { AccessorID, SecretID } = await server.create();
  succeeded(await server.self(SecretID));
  const before = indexOf(await server.list());
  const answer = await server.manage("DELETE", `/acl/token/${AccessorID}`);
  succeeded(answer);
  assert.equal(answer.text, "");
  assert.ok(indexOf(answer) > before);
  denied(await server.self(SecretID));
  denied(await server.list({}, SecretID));
  assert.equal((await server.manage("GET", `/acl/token/${AccessorID}`)).status, 404);
});

test("A-62 what is not there cannot be deleted", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  succeeded(await server.manage("DELETE", `/acl/token/${AccessorID}`));
  for (const accessor of [AccessorID, UNKNOWN, "not-a-uuid"]) {
    const answer = await server.manage("DELETE", `/acl/token/${accessor}`);
    refused(answer, 400, `Cannot delete nonexistent tokens: ${accessor}`);
  }
});

test("A-63 delete is for management alone", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const path = `/acl/token/${token.AccessorID}`;
  for (const secret of [token.SecretID, UNKNOWN, undefined]) {
    denied(await server.ask("DELETE", path, { token: secret }));
  }
  assert.deepEqual(tokenOf(await server.self(token.SecretID)), token);
});

test("the last management token can go, with a warning", async (t) => {
  const server = await aclServer(t);
  const other = await server.createManagement();
  const own = tokenOf(await server.self(server.management));
  const first = await server.manage("DELETE", `/acl/token/${other.AccessorID}`);
  succeeded(first);
  assert.equal(first.headers["x-service-warning"], undefined);
  const last = await server.manage("DELETE", `/acl/token/${own.AccessorID}`);
  succeeded(last);
  assert.match(String(last.headers["x-service-warning"]), /last/);
  denied(await server.list());
});
