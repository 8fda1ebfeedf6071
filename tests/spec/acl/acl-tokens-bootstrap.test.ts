// Cases of docs/cases/token-api.md: the first management token, and the way back to one.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  aclServer,
  indexOf,
  nanosOf,
  refused,
  succeeded,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
  UUID,
} from "../../support/servers/acl-server.ts";

const CHOSEN = "5b2f0c1e-7d3a-4f68-9c1b-2a6e8d4f0b97";

test("A-1 bootstrap without a body makes the management token, global and without an end", async (t) => {
  const server = await unclaimedServer(t);
  const before = BigInt(Date.now()) * 1_000_000n;
  const answer = await server.bootstrap();
  const token = tokenOf(answer);
  assert.match(token.AccessorID, UUID);
  assert.match(token.SecretID, UUID);
  assert.notEqual(token.AccessorID, token.SecretID);
  assert.ok(nanosOf(token.CreateTime) >= before);
  assert.equal(token.Hash.length, 44);
  assert.equal(BigInt(token.CreateIndex), indexOf(answer));
  assert.equal(BigInt(token.ModifyIndex), indexOf(answer));
  const { Name, Type, Policies, Roles, Global, ExpirationTime, ExpirationTTL } = token;
  assert.deepEqual([Name, Type, Global], ["Bootstrap Token", "management", true]);
  assert.deepEqual([Policies, Roles, ExpirationTime, ExpirationTTL], [null, null, null, ""]);
  succeeded(await server.list({}, token.SecretID));
  assert.notEqual(at(await server.ask("GET", "/v1/sys/health"), "acl_bootstrap_open"), true);
});

test("A-2 bootstrap with PUT and an empty secret, or {}, generates one", async (t) => {
  for (const body of [{ BootstrapSecret: "" }, {}]) {
    const server = await unclaimedServer(t);
    const { SecretID } = tokenOf(await server.ask("PUT", "/acl/bootstrap", { body }));
    assert.match(SecretID, UUID);
    succeeded(await server.list({}, SecretID));
  }
});

test("A-3 bootstrap takes the operator's secret", async (t) => {
  const server = await unclaimedServer(t);
  const { SecretID } = tokenOf(await server.bootstrap({ BootstrapSecret: CHOSEN }));
  assert.equal(SecretID, CHOSEN);
  succeeded(await server.list({}, CHOSEN));
});

test("A-4 a secret that is no UUID is refused, and bootstrap is still available", async (t) => {
  const server = await unclaimedServer(t);
  refused(await server.bootstrap({ BootstrapSecret: "abc" }), 400, "invalid acl token");
  succeeded(await server.bootstrap());
});

test("A-5 the second bootstrap is refused with the reset index, the first one's CreateIndex", async (t) => {
  const server = await unclaimedServer(t);
  const { CreateIndex } = tokenOf(await server.bootstrap());
  const text = `ACL bootstrap already done (reset index: ${CreateIndex})`;
  refused(await server.bootstrap(), 400, text, "already_bootstrapped");
  // It is looked at before the secret is.
  refused(await server.bootstrap({ BootstrapSecret: "abc" }), 400, text, "already_bootstrapped");
});

test("A-5 after an init that made the root token, the index is that token's CreateIndex", async (t) => {
  const server = await aclServer(t);
  const { CreateIndex } = tokenOf(await server.self(server.management));
  const text = `ACL bootstrap already done (reset index: ${CreateIndex})`;
  refused(await server.bootstrap(), 400, text, "already_bootstrapped");
});

test("A-6 a credential that is nobody's does not matter to bootstrap", async (t) => {
  for (const token of ["garbage", UNKNOWN]) {
    const server = await unclaimedServer(t);
    succeeded(await server.ask("POST", "/acl/bootstrap", { token }));
  }
});

test("A-7 of parallel first bootstraps exactly one wins, the others get the usual text", async (t) => {
  const server = await unclaimedServer(t);
  const answers = await Promise.all(Array.from({ length: 8 }, () => server.bootstrap()));
  const won = answers.filter(({ status }) => status === 200);
  const [winner] = won;
  assert.ok(winner !== undefined && won.length === 1);
  const { CreateIndex } = tokenOf(winner);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    const text = `ACL bootstrap already done (reset index: ${CreateIndex})`;
    refused(answer, 400, text, "already_bootstrapped");
  }
});

test("A-8 with the reset file there is one more bootstrap, and the old token still works", async (t) => {
  const server = await unclaimedServer(t);
  const first = tokenOf(await server.bootstrap());
  server.writeResetFile(`${first.CreateIndex}\n`);
  const answer = await server.bootstrap();
  const second = tokenOf(answer);
  assert.notEqual(second.SecretID, first.SecretID);
  assert.notEqual(second.AccessorID, first.AccessorID);
  assert.equal(second.Type, "management");
  succeeded(await server.list({}, first.SecretID));
  succeeded(await server.list({}, second.SecretID));
  // it is kept under another name
  assert.match(String(answer.headers["x-service-warning"]), /management token/);
  const folder = join(server.test.directory, "server");
  assert.equal(existsSync(join(folder, "acl-bootstrap-reset")), false);
  assert.equal(existsSync(join(folder, "acl-bootstrap-reset.used")), true);
});

test("A-9 the same number does not reset twice", async (t) => {
  const server = await unclaimedServer(t);
  const first = tokenOf(await server.bootstrap());
  server.writeResetFile(String(first.CreateIndex));
  const second = tokenOf(await server.bootstrap());
  server.writeResetFile(String(first.CreateIndex));
  const text = `Invalid bootstrap reset index (specified ${first.CreateIndex}, reset index: ${second.CreateIndex})`;
  refused(await server.bootstrap(), 400, text);
});

test("A-9 a file that is no number counts as none", async (t) => {
  const server = await unclaimedServer(t);
  const { CreateIndex } = tokenOf(await server.bootstrap());
  for (const content of ["", "soon", `${CreateIndex}x`, `-${CreateIndex}`]) {
    server.writeResetFile(content);
    const text = `ACL bootstrap already done (reset index: ${CreateIndex})`;
    refused(await server.bootstrap(), 400, text, "already_bootstrapped");
  }
});

test("A-10 bootstrap is no read", async (t) => {
  const server = await unclaimedServer(t);
  const answer = await server.ask("GET", "/acl/bootstrap");
  refused(answer, 405, "Invalid method", "method_not_allowed");
  assert.equal(answer.headers["allow"], "POST, PUT");
});

test("A-11 a body that is no JSON is refused in its own words", async (t) => {
  const server = await unclaimedServer(t);
  const answer = await server.ask("POST", "/acl/bootstrap", { body: "{" });
  refused(answer, 400, /^failed to decode request body/);
  succeeded(await server.bootstrap());
});
