import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import test from "node:test";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { DAY, done, HOUR, MINUTE } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const AUDIENCE = "api://AzureADTokenExchange";
const BASE = "identity/oidc/plugins/.well-known";

async function accessorOf(server: CloudBServer, mount = "cloudb/"): Promise<string> {
  const mounts = await server.ask("GET", "sys/mounts");
  return String(at(mounts, "data", mount, "accessor") ?? at(mounts, mount, "accessor"));
}

/** The provider trusts this mount. */
async function federated(server: CloudBServer, more: object = {}): Promise<void> {
  const { fake } = server;
  const issuer = `${server.test.url}/v1/identity/oidc/plugins`;
  fake.control.federate(fake.clientId, {
    issuer,
    subject: `plugin-identity:root:secret:${await accessorOf(server)}`,
    audience: AUDIENCE,
    discovery: issuer,
  });
  await server.configure({ client_secret: "", identity_token_audience: AUDIENCE, ...more });
}

test("B39: the keys of the server's identity are public, and their document names them", async (t) => {
  const server = await cloudbServer(t);
  await federated(server);
  const open = { token: undefined };
  const issuer = `${server.test.url}/v1/identity/oidc/plugins`;
  const document = await server.test.call("GET", `/v1/${BASE}/openid-configuration`, open);
  assert.equal(document.status, 200, document.text);
  assert.equal(at(document, "issuer"), issuer);
  assert.equal(at(document, "jwks_uri"), `${issuer}/.well-known/keys`);
  assert.deepEqual(at(document, "response_types_supported"), ["id_token"]);
  assert.deepEqual(at(document, "subject_types_supported"), ["public"]);
  const keys = await server.test.call("GET", `/v1/${BASE}/keys`, open);
  assert.equal(keys.status, 200);
  assert.equal(at(keys, "keys", 0, "kty"), "RSA");
  for (const member of ["d", "p", "q", "dp", "dq", "qi"]) {
    assert.equal(at(keys, "keys", 0, member), undefined);
  }
});

test("B39: a mount shows who it is by an assertion, and needs no secret", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  await federated(server);
  await server.makeRole("r");
  const credentials = await server.creds("r");
  assert.ok(await server.logsIn(credentials));
  const tokens = server.fake.control.calls().filter(({ action }) => action === "token");
  const own = tokens.filter(({ clientId }) => clientId === server.fake.clientId);
  assert.ok(own.length > 0);
  assert.ok(own.every(({ status, keyId }) => status === 200 && keyId === ""));
  assert.equal(own[0]?.params["client_assertion"], "(secret)");
  assert.equal(own[0]?.params["grant_type"], "client_credentials");
  assert.equal(
    own[0]?.params["client_assertion_type"],
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  );
  done(await server.revokeNow(credentials.lease));
});

test("B39: another mount is another subject, and is refused", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  await federated(server);
  await server.enable("second", "cloudb");
  const config = { client_secret: "", identity_token_audience: AUDIENCE };
  await server.configure(config, "second");
  const roles = JSON.stringify([{ role_name: "Reader", scope: server.scope }]);
  const answering = server.ask("POST", "second/roles/r", { cloudb_roles: roles });
  const answer = await server.timed(answering);
  assert.equal(answer.status, 400, answer.text);
  assert.match(answer.text, /700213|invalid_client/);
  await server.configure({ ...config, identity_token_audience: "api://other" });
  assert.equal((await server.writeRole("r")).status, 400, "another audience");
});

test("B39: an assertion has the claims that the provider wants, and expires when it was told to", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  await federated(server, { identity_token_ttl: "10m" });
  await server.makeRole("r");
  const [head = "", body = "", signature = ""] = (
    server.fake.control.tenant.assertions[0] ?? ""
  ).split(".");
  const header: unknown = JSON.parse(Buffer.from(head, "base64url").toString());
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Record<string, unknown>;
  const now = Number(server.time.clock.now() / 1_000_000_000n);
  assert.equal(claims["iss"], `${server.test.url}/v1/identity/oidc/plugins`);
  assert.equal(claims["sub"], `plugin-identity:root:secret:${await accessorOf(server)}`);
  assert.equal(claims["aud"], AUDIENCE);
  assert.ok(Math.abs(Number(claims["iat"]) - now) < 30);
  assert.equal(Number(claims["exp"]) - Number(claims["iat"]), 600);
  assert.ok(Number(claims["nbf"]) <= Number(claims["iat"]));
  assert.ok(typeof claims["jti"] === "string" && claims["jti"] !== "");
  const keys = await server.test.call("GET", `/v1/${BASE}/keys`);
  const list = at(keys, "keys") as { kid: string; n: string; e: string; kty: string }[];
  const { kid, alg } = header as { kid: string; alg: string };
  const key = list.find((one) => one.kid === kid);
  assert.ok(key !== undefined);
  assert.equal(alg, "RS256");
  const signed = Buffer.from(`${head}.${body}`);
  const publicKey = createPublicKey({ format: "jwk", key });
  assert.ok(verify("RSA-SHA256", signed, publicKey, Buffer.from(signature, "base64url")));
});

test("B39: the signing key changes in time, and mounts go on working", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  await federated(server);
  await server.makeRole("one");
  const kids = async () => {
    const keys = at(await server.test.call("GET", `/v1/${BASE}/keys`), "keys");
    return (keys as { kid: string }[]).map(({ kid }) => kid);
  };
  const [first] = await kids();
  await server.pass(91n * DAY, 6n * HOUR);
  server.fake.control.expireTokens();
  await server.configure({ client_secret: "" }); // proves that it can sign: by the next key
  await server.makeRole("two");
  const after = await kids();
  assert.ok(after.some((kid) => kid !== first));
});

test("one token serves many calls, until shortly before it ends", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const tokens = () => control.actions().filter((action) => action === "token").length;
  await server.makeRole("one");
  assert.equal(tokens(), 1);
  await server.makeRole("two");
  assert.equal(tokens(), 1);
  await server.pass(56n * MINUTE, 30n * MINUTE);
  await server.makeRole("three");
  assert.equal(tokens(), 2);
});

test("many calls at once ask for one token", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const names = ["a", "b", "c", "d", "e"];
  await server.timed(Promise.all(names.map((name) => server.writeRole(name))));
  assert.equal(control.actions().filter((action) => action === "token").length, 1);
});

test("a token that is refused is thrown away, and the call made once more", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("one");
  control.expireTokens();
  await server.makeRole("two");
  const statuses = control
    .calls()
    .filter(({ action }) => action === "listRoleDefinitions")
    .map(({ status }) => status);
  assert.deepEqual(statuses, [200, 401, 200]);
  const effect = { kind: "refuse", status: 401, code: "InvalidAuthenticationToken" } as const;
  control.fault({ action: "listRoleDefinitions", effect, times: 0 });
  control.clearCalls();
  const answer = await server.writeRole("three");
  assert.equal(answer.status, 400, answer.text);
  assert.equal(control.actions().filter((action) => action === "listRoleDefinitions").length, 2);
});
