// Logging in through HTTP: from a password or a secret id to a client token, and what
// that is good for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { post, RawClient } from "../../support/http-front.ts";
import { FakeClock } from "../../support/fake-world.ts";
import { loggedIn, loginServer, PASSWORD } from "../../support/servers/login-server.ts";

const WRAP = { "X-Service-Wrap-TTL": "60" };

test("a client that ends its side of the connection when it has asked is logged in", async (t) => {
  const server = await loginServer(t);
  await server.people();
  const body = JSON.stringify({ password: PASSWORD });
  const { port } = new URL(server.server.test.url);
  for (const path of ["auth/people/login/ada", "auth/people/login/ada"]) {
    const client = await RawClient.connect(Number(port));
    await client.send(post(`/v1/${path}`, body, "Content-Type: application/json"));
    client.socket.end();
    const answer = await client.answer();
    assert.equal(answer.status, 200, answer.body);
  }
});

test("a person logs in with the built-in method, at its full cost", async (t) => {
  const logins = await loginServer(t);
  await logins.enable("userpass", "userpass");
  const body = { password: PASSWORD, token_policies: "default" };
  await logins.server.must("POST", "/v1/auth/userpass/users/ada", { body });
  const login = (password: string) =>
    logins.server.call("POST", "/v1/auth/userpass/login/ADA", { body: { password } });
  const wrong = await login("wrong");
  assert.deepEqual([wrong.status, errorsOf(wrong)], [400, ["invalid username or password"]]);
  const { secret } = loggedIn(await login(PASSWORD));
  assert.equal(at(await logins.self(secret), "data", "display_name"), "userpass-ada");
  // How the pages tell operators to see whom the revocation of a prefix would log out.
  const filter = encodeURIComponent('Name matches "^userpass-"');
  const management = { token: logins.server.root };
  const listed = await logins.server.call("GET", `/v1/acl/tokens?filter=${filter}`, management);
  assert.deepEqual(
    (listed.json as { Name: string }[]).map(({ Name }) => Name),
    ["userpass-ada"],
  );
});

test("the token of a login is a client token with the policies of the user", async (t) => {
  const logins = await loginServer(t);
  await logins.server.acl("ops", 'path "sys/mounts" { capabilities = ["read"] }');
  await logins.people({ token_policies: ["ops"], token_ttl: "30m", token_num_uses: 0 });
  const { secret, accessor, auth } = loggedIn(await logins.login());
  assert.deepEqual(auth, {
    client_token: secret,
    accessor,
    policies: ["default", "ops"],
    token_policies: ["default", "ops"],
    metadata: { username: "ada" },
    lease_duration: 1800,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: true,
    num_uses: 0,
  });
  const { data } = (await logins.self(secret)).json as { data: Record<string, unknown> };
  assert.equal(data["display_name"], "people-ada");
  assert.equal(data["path"], "auth/people/login/ada");
  assert.deepEqual(data["meta"], { username: "ada" });
  const allowed = await logins.server.call("GET", "/v1/sys/mounts", { token: secret });
  assert.equal(allowed.status, 200);
  const denied = await logins.server.call("LIST", "/v1/auth/people/users", { token: secret });
  assert.equal(denied.status, 403);
  const renewed = await logins.server.call("POST", "/v1/auth/token/renew-self", { token: secret });
  assert.equal(renewed.status, 200, renewed.text);
});

test("a token that came with the login counts for nothing, good or bad", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  for (const token of ["nobody's", logins.server.root]) {
    const { auth } = loggedIn(await logins.login(PASSWORD, { token }));
    assert.deepEqual(auth["policies"], ["default"]);
  }
});

test("T-B20: no login that fails makes a token", async (t) => {
  const logins = await loginServer(t);
  await logins.people({ token_bound_cidrs: ["10.0.0.0/8"] });
  const roleId = await logins.machines({ secret_id_num_uses: 1 });
  const made = await logins.secretId();
  const secretId = String(at(made, "data", "secret_id"));
  loggedIn(await logins.machineLogin(roleId, secretId));
  const before = await logins.tokens();
  assert.equal((await logins.login("wrong")).status, 400);
  assert.equal((await logins.login()).status, 400); // from the wrong place
  assert.equal((await logins.login(PASSWORD, { body: {} })).status, 400);
  assert.equal((await logins.login(PASSWORD, { body: "[" })).status, 400);
  assert.equal((await logins.machineLogin(roleId, secretId)).status, 400); // used up
  assert.equal((await logins.machineLogin("unknown", secretId)).status, 400);
  await logins.server.egp("no", "false", "hard-mandatory", ["auth/people/*"]);
  assert.equal((await logins.login()).status, 403);
  assert.equal(await logins.tokens(), before);
});

test("endpoint policies reach logins, and tell strangers nothing", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  const abroad = 'ip_in(request.connection.remote_addr, "192.0.2.0/24")';
  await logins.server.egp("net", abroad, "hard-mandatory", ["auth/people/login/*"]);
  const refused = await logins.login();
  assert.deepEqual([refused.status, errorsOf(refused)], [403, ["permission denied"]]);
});

test("a secret id is delivered wrapped, and spent once", async (t) => {
  const logins = await loginServer(t);
  const roleId = await logins.machines({ token_policies: "default", secret_id_num_uses: 1 });
  const wrapped = await logins.secretId({ metadata: { run: "7" } }, { headers: WRAP });
  assert.equal(at(wrapped, "data"), null);
  const token = String(at(wrapped, "wrap_info", "token"));
  const opened = await logins.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
  assert.equal(opened.status, 200, opened.text);
  const secretId = String(at(opened, "data", "secret_id"));
  const tries = await Promise.all(
    Array.from({ length: 20 }, () => logins.machineLogin(roleId, secretId)),
  );
  const winners = tries.filter(({ status }) => status === 200);
  assert.equal(winners.length, 1);
  const [winner] = winners;
  assert.ok(winner !== undefined);
  const { secret, auth } = loggedIn(winner);
  assert.deepEqual(auth["metadata"], { run: "7", role_name: "ci" });
  assert.equal(at(await logins.self(secret), "data", "display_name"), "approle");
});

test("a login itself can be answered wrapped", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  const wrapped = await logins.login(PASSWORD, { headers: WRAP });
  assert.equal(at(wrapped, "auth"), null);
  const token = String(at(wrapped, "wrap_info", "token"));
  const opened = await logins.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
  const { secret, accessor } = loggedIn(opened);
  assert.equal(at(wrapped, "wrap_info", "wrapped_accessor"), accessor);
  assert.equal((await logins.self(secret)).status, 200);
});

test("a token that is bound to places is refused elsewhere, wherever it is shown", async (t) => {
  const logins = await loginServer(t);
  const roleId = await logins.machines();
  const made = await logins.secretId({ token_bound_cidrs: "10.0.0.0/8" });
  const answer = await logins.machineLogin(roleId, String(at(made, "data", "secret_id")));
  const { secret, accessor } = loggedIn(answer);
  const refused = await logins.self(secret);
  assert.deepEqual([refused.status, errorsOf(refused)], [403, ["permission denied"]]);
  assert.equal((await logins.server.call("GET", "/acl/token/self", { token: secret })).status, 403);
  const body = { accessor };
  const facts = await logins.server.must("POST", "/v1/auth/token/lookup-accessor", { body });
  assert.deepEqual(at(facts, "data", "bound_cidrs"), ["10.0.0.0/8"]);
});

test("T-B16: what a bound token makes is bound like it", async (t) => {
  const logins = await loginServer(t);
  await logins.server.acl("maker", 'path "auth/token/create" { capabilities = ["update"] }');
  await logins.people({ token_policies: "maker", token_bound_cidrs: ["127.0.0.0/8", "::1"] });
  const { secret: token } = loggedIn(await logins.login());
  const child = await logins.server.call("POST", "/v1/auth/token/create", { token, body: {} });
  const facts = await logins.self(loggedIn(child).secret);
  assert.deepEqual(at(facts, "data", "bound_cidrs"), ["127.0.0.0/8", "::1"]);
});

test("methods of a child namespace log in there", async (t) => {
  const logins = await loginServer(t);
  await logins.server.must("POST", "/v1/sys/namespaces/team");
  await logins.people({}, {}, "team");
  assert.equal((await logins.login()).status, 403); // there is none in the root namespace
  const { secret } = loggedIn(await logins.login(PASSWORD, { namespace: "team" }));
  assert.equal((await logins.self(secret, "team")).status, 200);
  assert.equal((await logins.self(secret)).status, 403);
});

test("creating a user and changing one are different rights", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  await logins.server.acl("hire", 'path "auth/people/users/*" { capabilities = ["create"] }');
  const { secret: token } = await logins.server.client(["hire"]);
  const write = (name: string) =>
    logins.server.call("POST", `/v1/auth/people/users/${name}`, { token, body: { password: "x" } });
  assert.equal((await write("bob")).status, 204);
  assert.equal((await write("bob")).status, 403);
  assert.equal((await write("Ada")).status, 403);
});

test("user_lockout_config of the mount is what counts", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  const user_lockout_config = { lockout_threshold: "2", lockout_duration: "10m" };
  await logins.server.must("POST", "/v1/sys/auth/people/tune", { body: { user_lockout_config } });
  assert.equal((await logins.login("wrong")).status, 400);
  assert.equal((await logins.login("wrong")).status, 400);
  const locked = await logins.login();
  assert.equal(locked.status, 403);
  const [first, second] = errorsOf(locked) as string[];
  assert.equal(first, "permission denied");
  assert.match(String(second), /^too many failed logins; try again in /);
});

test("neither passwords nor secret ids are in the audit trail or the log", async (t) => {
  const logins = await loginServer(t);
  const records = await logins.server.audit();
  await logins.people();
  await logins.login("a-wrong-password");
  loggedIn(await logins.login());
  const roleId = await logins.machines();
  const secretId = String(at(await logins.secretId(), "data", "secret_id"));
  const { secret } = loggedIn(await logins.machineLogin(roleId, secretId));
  const login = records().filter(({ request }) => request.path.startsWith("auth/people/login/"));
  assert.equal(login.length, 4);
  const file = readFileSync(join(logins.server.test.auditDirectory, "file.log"), "utf8");
  const everything = file + logins.server.test.lines.join("\n");
  for (const text of [PASSWORD, "a-wrong-password", secretId, secret]) {
    assert.equal(everything.includes(text), false);
  }
});

test("a method that was disabled lets nobody in", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  await logins.server.must("DELETE", "/v1/sys/auth/people");
  assert.equal((await logins.login()).status, 403);
});

test("a rate quota on a method slows down who tries passwords of many names", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  const body = { path: "auth/people", rate: 3, interval: "1h" };
  await logins.server.must("POST", "/v1/sys/quotas/rate-limit/logins", { body });
  const statuses: number[] = [];
  for (const name of ["a", "b", "c", "d"]) {
    const path = `/v1/auth/people/login/${name}`;
    const guess = await logins.server.call("POST", path, { body: { password: "x" } });
    statuses.push(guess.status);
  }
  assert.deepEqual(statuses, [400, 400, 400, 429]);
});

test("who was deleted since is not renewed, and lives no longer than was granted", async (t) => {
  const logins = await loginServer(t);
  const { server } = logins;
  const renew = (token: string) => server.call("POST", "/v1/auth/token/renew-self", { token });
  await logins.people({ token_period: "1h" });
  const roleId = await logins.machines({ token_policies: "default" });
  const secretId = String(at(await logins.secretId(), "data", "secret_id"));
  const ada = loggedIn(await logins.login()).secret;
  const ci = loggedIn(await logins.machineLogin(roleId, secretId)).secret;
  for (const token of [ada, ci]) assert.equal((await renew(token)).status, 200);
  await server.must("DELETE", "/v1/auth/people/users/ada");
  await server.must("DELETE", "/v1/auth/approle/role/ci");
  for (const token of [ada, ci]) {
    const refused = await renew(token);
    assert.equal(refused.status, 403);
    const why = "its login method does not know the owner of this token any more";
    assert.deepEqual(errorsOf(refused), ["permission denied", why]);
    assert.equal((await logins.self(token)).status, 200);
  }
  // Who is made anew under the name is another.
  const body = { password: "another password", token_period: "1h" };
  await server.must("POST", "/v1/auth/people/users/ada", { body });
  await server.must("POST", "/v1/auth/approle/role/ci", { body: { token_policies: "default" } });
  for (const token of [ada, ci]) assert.equal((await renew(token)).status, 403);
  const next = loggedIn(await logins.login(body.password)).secret;
  await server.must("POST", "/v1/auth/people/users/ada", { body: { password: "a third one" } });
  assert.equal((await renew(next)).status, 200, "who is changed stays who they are");
});

test("T-N03: failed logins of one address are slowed down, those of others and good ones are not", async (t) => {
  const listener = { forwardedForFrom: ["127.0.0.1"] };
  // Time stands still: what an address may do comes back with it.
  const logins = await loginServer(t, { listener, world: { clock: new FakeClock() } });
  await logins.people();
  const from = (address: string, password: string) =>
    logins.login(password, { headers: { "X-Forwarded-For": address } });
  for (let i = 0; i < 60; i++) assert.equal((await from("192.0.2.2", PASSWORD)).status, 200);
  const statuses = new Set<number>();
  for (let i = 0; i < 120 && !statuses.has(429); i++) {
    const name = `/v1/auth/people/login/nobody-${i}`;
    const headers = { "X-Forwarded-For": "192.0.2.1" };
    const answer = await logins.server.call("POST", name, { body: { password: "x" }, headers });
    statuses.add(answer.status);
    if (answer.status === 429) assert.ok(Number(answer.headers["retry-after"]) >= 1);
  }
  assert.deepEqual([...statuses], [400, 429]);
  assert.equal((await from("192.0.2.1", PASSWORD)).status, 429);
  assert.equal((await from("192.0.2.2", PASSWORD)).status, 200);
});
