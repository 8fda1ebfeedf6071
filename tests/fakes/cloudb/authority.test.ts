import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test from "node:test";
import { at, call } from "../../support/http-client.ts";
import { graphCode, rawClient } from "./raw-client.ts";

test("a client secret gives a token for one of the two APIs, until it expires", async (t) => {
  const client = await rawClient(t);
  const { graph, arm } = client.fake.endpoints;
  const answer = await client.token(client.credentials());
  assert.equal(answer.status, 200);
  assert.equal(at(answer, "expires_in"), 3599);
  const headers = { Authorization: `Bearer ${String(at(answer, "access_token"))}` };
  const ask = (base: string) => call(base, "GET", "/v1.0/groups", { headers });
  assert.equal((await ask(graph)).status, 200);
  assert.deepEqual(graphCode(await ask(arm)), [401, "InvalidAuthenticationTokenAudience"]);
  client.fake.control.pass(3600);
  assert.deepEqual(graphCode(await ask(graph)), [401, "InvalidAuthenticationToken"]);
  assert.deepEqual(graphCode(await call(graph, "GET", "/v1.0/groups")), [
    401,
    "InvalidAuthenticationToken",
  ]);
});

test("refusals of the token endpoint have their own shape and numbers", async (t) => {
  const client = await rawClient(t);
  const refused = async (members: Readonly<Record<string, string>>, tenant?: string) => {
    const answer = await client.token(client.credentials(members), tenant);
    return [answer.status, at(answer, "error"), at(answer, "error_codes", 0)];
  };
  assert.deepEqual(await refused({ client_secret: "wrong" }), [401, "invalid_client", 7000215]);
  assert.deepEqual(await refused({ client_id: "who" }), [400, "unauthorized_client", 700016]);
  assert.deepEqual(await refused({ scope: "https://other/.default" }), [
    400,
    "invalid_scope",
    70011,
  ]);
  assert.deepEqual(await refused({ grant_type: "password" }), [
    400,
    "unsupported_grant_type",
    70003,
  ]);
  assert.deepEqual(await refused({}, "nobody"), [400, "invalid_request", 90002]);
  assert.deepEqual(await refused({ client_secret: "" }), [401, "invalid_client", 7000215]);
});

test("a password of a principal is good too, and one that has ended is refused", async (t) => {
  const client = await rawClient(t);
  const { appId, id } = await client.principal();
  const end = new Date(Date.now() + 3_600_000).toISOString();
  const passwordCredential = { endDateTime: end };
  const added = await client.graph("POST", `/servicePrincipals/${id}/addPassword`, {
    passwordCredential,
  });
  const members = { client_id: appId, client_secret: String(at(added, "secretText")) };
  assert.equal((await client.token(client.credentials(members))).status, 200);
  client.fake.control.pass(3601);
  const late = await client.token(client.credentials(members));
  assert.deepEqual([late.status, at(late, "error_codes", 0)], [401, 7000222]);
});

test("a new password is refused at first, then flaps, then holds", async (t) => {
  const client = await rawClient(t);
  client.fake.control.set({ lags: { passwordToTokens: { attempts: 2 } }, flapping: true });
  const { id, appId, passwords } = client.fake.control.makeApplication("some", 1);
  assert.ok(id !== "");
  const members = { client_id: appId, client_secret: passwords[0]?.secretText ?? "" };
  const seen: number[] = [];
  for (let i = 0; i < 6; i++) seen.push((await client.token(client.credentials(members))).status);
  assert.deepEqual(seen, [401, 401, 200, 401, 200, 200]);
});

test("an assertion must be signed by its issuer and fit a federated credential", async (t) => {
  const client = await rawClient(t);
  const { fake } = client;
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "RS256", use: "sig" }];
  let issuer = "";
  const server = createServer((request, response) => {
    const forKeys = request.url === "/.well-known/keys";
    const document = { issuer, jwks_uri: `${issuer}/.well-known/keys` };
    response.end(JSON.stringify(forKeys ? { keys } : document));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  fake.control.federate(fake.clientId, {
    issuer,
    subject: "me",
    audience: "them",
    discovery: issuer,
  });
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, sub: "me", aud: "them", iat: now, nbf: now, exp: now + 60 };
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = (members: object, kid = "k1") => {
    const text = `${encoded({ alg: "RS256", kid })}.${encoded({ ...claims, ...members })}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  };
  const ask = async (assertion: string) => {
    const { client_secret: _, ...fields } = client.credentials();
    const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const assertionFields = { client_assertion_type: type, client_assertion: assertion };
    const answer = await client.token({ ...fields, ...assertionFields });
    return answer.status === 200 ? 200 : at(answer, "error_codes", 0);
  };
  assert.equal(await ask(signed({})), 200);
  assert.equal(await ask(signed({ sub: "other" })), 700213);
  assert.equal(await ask(signed({ aud: "other" })), 700212);
  assert.equal(await ask(signed({ iss: "http://127.0.0.1:9" })), 700211);
  assert.equal(await ask(signed({ exp: now - 3600 })), 700024);
  assert.equal(await ask(signed({}, "k2")), 700027);
  assert.equal(await ask(`${signed({}).slice(0, -8)}AAAAAAAA`), 700027);
  assert.equal(await ask("nonsense"), 50027);
});

test("a machine gets a token only with the header that a remote caller cannot send", async (t) => {
  const { fake } = await rawClient(t);
  const resource = encodeURIComponent(fake.endpoints.graph);
  const ask = (query: string, headers: Record<string, string>) =>
    call(fake.url, "GET", `/msi/token?resource=${resource}&${query}`, { headers });
  const header = { "X-IDENTITY-HEADER": fake.identityHeader };
  assert.equal((await ask("api-version=2019-08-01", header)).status, 200);
  assert.equal((await ask("api-version=2019-08-01", {})).status, 400);
  assert.equal((await ask("api-version=2018-02-01", { Metadata: "true" })).status, 200);
  assert.equal((await ask("api-version=2018-02-01", {})).status, 400);
});
