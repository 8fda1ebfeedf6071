// Cases of docs/cases/token-api.md: reads that wait for a change, and consistency modes.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  indexOf,
  refused,
  staysParked,
  succeeded,
  tokenOf,
  type WireStub,
} from "../../support/servers/acl-server.ts";

test("A-84 a list that waits is answered by the next token", async (t) => {
  const server = await aclServer(t);
  const index = indexOf(await server.list());
  const waiting = server.list({ index: String(index), wait: "10s" });
  assert.ok(await staysParked(server, waiting));
  const { AccessorID, CreateIndex } = await server.create();
  const answer = await waiting;
  succeeded(answer);
  assert.ok(indexOf(answer) > index);
  assert.equal(indexOf(answer), BigInt(CreateIndex));
  const stubs = answer.json as WireStub[];
  assert.ok(stubs.some((stub) => stub.AccessorID === AccessorID));
});

test("A-85 a list that waits in vain is answered after its time, with the same index", async (t) => {
  const server = await aclServer(t);
  const index = indexOf(await server.list());
  const start = performance.now();
  const answer = await server.list({ index: String(index), wait: "1s" });
  const passed = performance.now() - start;
  succeeded(answer);
  assert.equal(indexOf(answer), index);
  assert.equal((answer.json as WireStub[]).length, 1);
  // At most 1.0625 s; the rest is for a machine that has other things to do.
  assert.ok(passed >= 1000 && passed < 15_000, `${passed} ms`);
});

test("A-86 an index that is long past is answered at once", async (t) => {
  const server = await aclServer(t);
  const { AccessorID, SecretID } = await server.create();
  for (const path of ["/acl/tokens", `/acl/token/${AccessorID}`, "/acl/token/self"]) {
    for (const query of ["index=1", "index=0&wait=1m", "wait=1m", "index="]) {
      // Self as the client token: its own record is the newest.
      const token = path.endsWith("self") ? SecretID : server.management;
      succeeded(await server.ask("GET", `${path}?${query}`, { token }));
    }
  }
});

test("A-87 whoever waits for a token learns of its end", async (t) => {
  const server = await aclServer(t);
  const { AccessorID, ModifyIndex } = await server.create();
  const path = `/acl/token/${AccessorID}`;
  const waiting = server.manage("GET", `${path}?index=${ModifyIndex}&wait=30s`);
  assert.ok(await staysParked(server, waiting));
  const deleted = await server.manage("DELETE", path);
  const answer = await waiting;
  refused(answer, 404, "ACL token not found", "token_not_found");
  assert.equal(indexOf(answer), indexOf(deleted));
  assert.equal(answer.headers["x-service-lastcontact"], "0");
  assert.equal(answer.headers["x-service-knownleader"], "true");
});

test("A-88 other tokens do not wake who waits for one", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const path = `/acl/token/${token.AccessorID}?index=${token.ModifyIndex}&wait=30s`;
  const waiting = server.manage("GET", path);
  assert.ok(await staysParked(server, waiting));
  const other = await server.create();
  succeeded(await server.update(other, { Name: "n2" }));
  succeeded(await server.manage("DELETE", `/acl/token/${other.AccessorID}`));
  await server.ask("POST", "/acl/token/onetime", { token: token.SecretID });
  assert.ok(await staysParked(server, waiting));
  const changed = tokenOf(await server.update(token, { Name: "n3" }));
  assert.deepEqual(tokenOf(await waiting), changed);
});

test("A-89 whoever waits for its own token sees the update", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const path = `/acl/token/self?index=${token.ModifyIndex}&wait=30s`;
  const waiting = server.ask("GET", path, { token: token.SecretID });
  assert.ok(await staysParked(server, waiting));
  const changed = tokenOf(await server.update(token, { Name: "n2" }));
  const answer = await waiting;
  assert.deepEqual(tokenOf(answer), changed);
  assert.equal(indexOf(answer), BigInt(changed.ModifyIndex));
});

test("A-90 whoever waits with a token that is deleted is refused", async (t) => {
  const server = await aclServer(t);
  const client = await server.create();
  const self = `/acl/token/self?index=${client.ModifyIndex}`;
  const own = server.ask("GET", self, { token: client.SecretID });
  assert.ok(await staysParked(server, own));
  succeeded(await server.manage("DELETE", `/acl/token/${client.AccessorID}`));
  denied(await own);
  // The deletion that wakes a list is the list's own end here.
  const management = await server.createManagement();
  const index = String(indexOf(await server.list()));
  const list = server.list({ index }, management.SecretID);
  assert.ok(await staysParked(server, list));
  succeeded(await server.manage("DELETE", `/acl/token/${management.AccessorID}`));
  denied(await list);
});

test("A-91 an index or a wait that is none is refused", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  for (const path of ["/acl/tokens", `/acl/token/${AccessorID}`, "/acl/token/self"]) {
    for (const index of ["abc", "-1", "1.5", "18446744073709551616"]) {
      const answer = await server.manage("GET", `${path}?index=${index}`);
      refused(answer, 400, "Invalid index", "invalid_parameter");
    }
    const answer = await server.manage("GET", `${path}?index=1&wait=abc`);
    refused(answer, 400, "Invalid wait time", "invalid_parameter");
  }
});

test("A-92 every consistency mode is answered, with the headers of a read", async (t) => {
  const server = await aclServer(t);
  const { AccessorID } = await server.create();
  for (const path of ["/acl/tokens", `/acl/token/${AccessorID}`, "/acl/token/self"]) {
    for (const query of ["stale", "stale=", "stale=true", "stale=1", "stale=false", "consistent"]) {
      const answer = await server.manage("GET", `${path}?${query}`);
      succeeded(answer);
      assert.equal(answer.headers["x-service-lastcontact"], "0", query);
      assert.equal(answer.headers["x-service-knownleader"], "true", query);
    }
  }
});

test("A-93 a mode that is none is refused", async (t) => {
  const server = await aclServer(t);
  const text = "Expect `true` or `false` for `stale` query string parameter";
  for (const path of ["/acl/tokens", "/acl/token/self"]) {
    const answer = await server.manage("GET", `${path}?stale=maybe`);
    refused(answer, 400, text, "invalid_parameter");
  }
});
