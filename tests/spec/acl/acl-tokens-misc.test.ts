// Cases of docs/cases/token-api.md: regions by name, header families, bodies, and
// the form of every refusal.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  indexOf,
  refused,
  succeeded,
  tokenOf,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";
import { at, type CallOptions } from "../../support/http-client.ts";

test("A-115 there is no path to a region that nobody knows", async (t) => {
  const server = await aclServer(t);
  const { AccessorID, SecretID } = await server.create();
  const client = { AccessorID, Type: "client", Policies: ["p"] };
  const before = indexOf(await server.list());
  const requests: readonly [string, string, CallOptions][] = [
    ["GET", "/acl/tokens", {}],
    ["POST", "/acl/token", { body: { Type: "client", Policies: ["p"] } }],
    ["POST", `/acl/token/${AccessorID}`, { body: client }],
    ["GET", `/acl/token/${AccessorID}`, {}],
    ["GET", "/acl/token/self", {}],
    ["DELETE", `/acl/token/${AccessorID}`, {}],
    ["POST", "/acl/token/onetime", {}],
    ["POST", "/acl/token/onetime/exchange", { body: { OneTimeSecretID: UNKNOWN } }],
  ];
  for (const [verb, path, options] of requests) {
    const answer = await server.manage(verb, `${path}?region=nowhere`, options);
    refused(answer, 404, "No path to region", "no_region_path");
  }
  assert.equal(indexOf(await server.list({ region: "global" })), before);
  succeeded(await server.self(SecretID));
});

test("A-117 a client of another family of headers finds them under both names", async (t) => {
  const server = await aclServer(t);
  await server.create();
  const headers = { "X-Nomad-Token": server.management };
  const answer = await server.ask("GET", "/v1/acl/tokens?per_page=1", { headers });
  succeeded(answer);
  for (const name of ["index", "lastcontact", "knownleader", "nexttoken"]) {
    const own = answer.headers[`x-service-${name}`];
    assert.ok(own !== undefined, name);
    assert.equal(answer.headers[`x-nomad-${name}`], own, name);
  }
  // Who asks under our names is answered under ours alone.
  const plain = await server.list({ per_page: "1" });
  assert.equal(plain.headers["x-nomad-index"], undefined);
});

test("A-118 names of fields are read in any case", async (t) => {
  const server = await aclServer(t);
  const body = { type: "client", policies: ["p"], name: "x" };
  const token = tokenOf(await server.manage("POST", "/acl/token", { body }));
  assert.deepEqual([token.Type, token.Policies, token.Name], ["client", ["p"], "x"]);
  // Twice is once too often, in other case too.
  const twice = { Name: "a", name: "b", Type: "client", Policies: ["p"] };
  refused(await server.manage("POST", "/acl/token", { body: twice }), 400, /./);
});

test("A-119 a field that nobody knows is ignored, and told", async (t) => {
  const server = await aclServer(t);
  const body = { Type: "client", Policies: ["readonly"], Colour: "blue" };
  const answer = await server.manage("POST", "/acl/token", { body });
  assert.equal(tokenOf(answer).Type, "client");
  assert.match(String(answer.headers["x-service-warning"]), /Colour/i);
  assert.equal(indexOf(answer), BigInt(tokenOf(answer).CreateIndex));
  assert.ok(!answer.text.includes("blue"));
});

test("A-120 every refusal is JSON with a text and a word, and without an index", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const requests: readonly [number, string, string, CallOptions][] = [
    [400, "POST", "/acl/bootstrap", {}],
    [400, "POST", "/acl/token", { body: "{" }],
    [400, "POST", "/acl/token", { body: "[]" }],
    [400, "POST", "/acl/token", { body: { Type: "client" } }],
    [400, "POST", "/acl/token", { body: { Type: 7, Policies: ["p"] } }],
    [400, "POST", `/acl/token/${UNKNOWN}`, { body: { AccessorID: UNKNOWN, Type: "client" } }],
    [400, "GET", "/acl/token/", {}],
    [400, "GET", "/acl/tokens?prefix=abc", {}],
    [400, "GET", "/acl/tokens?next_token=x", {}],
    [400, "GET", "/acl/tokens?filter=(", {}],
    [400, "GET", "/acl/tokens?index=x", {}],
    [400, "DELETE", `/acl/token/${UNKNOWN}`, {}],
    [400, "POST", "/acl/token/onetime/exchange", { body: {} }],
    [403, "GET", "/acl/tokens", { token: SecretID }],
    [403, "GET", "/acl/tokens", { token: "" }],
    [403, "POST", "/acl/token/onetime/exchange", { body: { OneTimeSecretID: UNKNOWN } }],
    [404, "GET", "/acl/tokens?region=nowhere", {}],
    [404, "GET", "/acl/nothing", {}],
    [405, "DELETE", "/acl/tokens", {}],
    [405, "GET", "/acl/bootstrap", {}],
  ];
  for (const [status, verb, path, options] of requests) {
    const answer = await server.manage(verb, path, options);
    refused(answer, status, /./);
    assert.equal(answer.headers["x-service-index"], undefined, path);
  }
  // Refused before its path is read, so in the words of the whole server.
  const body = { Name: "n".repeat(1 << 20) };
  const large = await server.manage("POST", "/acl/token", { body });
  assert.equal(large.status, 413);
  assert.equal(large.headers["content-type"], "application/json");
  assert.ok(large.headers["x-service-error"] !== undefined);
  assert.equal(typeof at(large, "errors", 0), "string");
});

test("an answer can be read by people: pretty", async (t) => {
  const server = await aclServer(t);
  const plain = await server.list();
  for (const query of ["pretty", "pretty=true", "pretty=x"]) {
    const answer = await server.manage("GET", `/acl/tokens?${query}`);
    assert.equal(answer.text, `${JSON.stringify(plain.json, null, 4)}\n`);
  }
  assert.equal((await server.manage("GET", "/acl/tokens?pretty=0")).text, plain.text);
});
