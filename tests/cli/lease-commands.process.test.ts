// Leases, wrapping and logins beyond what transcripts say: what is sent and with which token, questions,
// and secrets that are neither taken from the command line nor shown.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { makeHome, run, type RunOptions } from "./harness.ts";

async function fakeFor(t: TestContext) {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
  const cli = (args: readonly string[], options: RunOptions = {}) => run(args, { env, ...options });
  return { server, home, env, cli };
}

const LEASE = "cloud/creds/ci/8sTnqV0tQ3xWn5Yb1R7pKd2f";

test("leases are looked up, listed, renewed and revoked by their ids", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.leases.add(LEASE);
  server.leases.add("cloud/creds/ci/2", { revoke_error: "access denied", renewable: false });
  const found = await cli(["lease", "lookup", LEASE]);
  assert.match(found.stdout, /issue_time +2026-01-01T00:00:00Z \(.* ago\)/);
  assert.match(found.stdout, /last_renewal +<none>/);
  assert.equal((await cli(["lease", "list", "cloud/creds"])).stdout, "Keys\n----\nci/\n");
  assert.equal((await cli(["lease", "list"])).stdout, "Keys\n----\ncloud/\n");
  const stuck = await cli(["lease", "list", "-irrevocable"]);
  assert.match(stuck.stdout, /cloud\/creds\/ci\/2 +cloud\/creds\/ci +access denied\n$/);
  const renewed = await cli(["lease", "renew", "-increment", "1h", LEASE]);
  assert.deepEqual(server.seen.at(-1)?.body, { lease_id: LEASE, increment: "1h0m0s" });
  assert.match(renewed.stdout, /lease_duration +3600\nlease_renewable +true/);
  const fixed = await cli(["lease", "renew", "cloud/creds/ci/2"]);
  assert.equal(fixed.code, 1);
  assert.match(fixed.stderr, /Next: ask for a new secret at its path instead/);

  const queued = await cli(["lease", "revoke", LEASE]);
  assert.match(queued.stdout, /^Queued: the server takes up the revocation of the lease: cloud/);
  assert.deepEqual(server.seen.at(-1)?.body, { lease_id: LEASE, sync: false });
  const synced = await cli(["lease", "revoke", "-sync", LEASE, "b", LEASE]);
  assert.equal(
    synced.stdout,
    `Success! Revoked the lease: ${LEASE}\nSuccess! Revoked the lease: b\n`,
  );
});

test("a revocation that fails says what becomes of the lease, whatever the provider's status", async (t) => {
  const { server, cli } = await fakeFor(t);
  const why = "cloud B refused: bad secret";
  for (const [path, text, args] of [
    ["revoke", `the lease could not be revoked and will be tried again: ${why}`, ["-sync", LEASE]],
    [
      "revoke-prefix/cloud",
      `stopped after 0 revoked leases: ${LEASE}: ${why}`,
      ["-sync", "-prefix", "cloud"],
    ],
  ] as const) {
    server.instead.set(`POST sys/leases/${path}`, { status: 400, body: { errors: [text] } });
    const { stderr } = await cli(["lease", "revoke", ...args]);
    assert.match(stderr, /\nNext: the lease stays.*`holdfast lease lookup ID`.*-force -prefix/);
  }
});

test("whole prefixes are revoked after a question, and forgotten only by -force", async (t) => {
  const { server, cli } = await fakeFor(t);
  server.leases.add(LEASE);
  const no = await cli(["lease", "revoke", "-prefix", "cloud/creds/"], { typed: ["n"] });
  assert.equal(no.code, 1);
  assert.match(no.stderr, /End every lease below cloud\/creds\/\?/);
  assert.equal(server.seen.length, 0);
  const force = await cli(["lease", "revoke", "-force", "-prefix", "cloud"], { typed: ["y"] });
  assert.match(force.stderr, /Forget every lease below cloud\/\?/);
  assert.equal(server.seen.at(-1)?.path, "sys/leases/revoke-force/cloud");
  await cli(["lease", "revoke", "-sync", "-prefix", "cloud/creds"]);
  assert.equal(server.seen.at(-1)?.path, "sys/leases/revoke-prefix/cloud/creds");
  assert.deepEqual(server.seen.at(-1)?.body, { sync: true });
  assert.equal((await cli(["lease", "revoke", "-force", LEASE])).code, 2);
});

test("any answer can be wrapped, and unwrapped without a token of one's own", async (t) => {
  const { server, cli, home, env } = await fakeFor(t);
  const wrapped = await cli(["read", "-wrap-ttl", "5m", "-format", "json", "sys/key-status"]);
  const { token } = JSON.parse(wrapped.stdout).wrap_info as { token: string };
  const file = join(home, "token");
  writeFileSync(file, `${token}\n`);
  const { HOLDFAST_TOKEN: _, ...nobody } = env;
  const looked = await cli(["unwrap", "-lookup", file], { env: nobody });
  assert.match(looked.stdout, /creation_path +sys\/key-status/, looked.all);
  assert.equal(server.seen.at(-1)?.headers["x-service-token"], undefined);
  const rewrapped = await cli(["unwrap", "-rewrap", "-field", "wrapping_token", file], { env });
  assert.equal(server.seen.at(-1)?.headers["x-service-token"], token, "it is its own credential");
  const typed = await cli(["unwrap", "-field", "term"], { typed: [rewrapped.stdout.trim()] });
  assert.deepEqual([typed.code, typed.stdout], [0, "1"], typed.all);
  assert.deepEqual(typed.raw, [true, false], "typed without echo");
  assert.equal(server.seen.at(-1)?.body["token"], undefined);
});

test("a wrapping token on the command line is refused before anything is sent, and not repeated", async (t) => {
  const { server, cli } = await fakeFor(t);
  const jwt = `eyJhbGciOiJFUzUxMiJ9.${"eyJhIjoxfQ".repeat(8)}.${"c2ln".repeat(20)}`;
  for (const token of ["55555555-2222-4333-8444-000000000001", jwt]) {
    const { code, all } = await cli(["unwrap", token]);
    assert.equal(code, 2);
    assert.match(all, /not taken from the command line/);
    assert.ok(!all.includes(token));
  }
  assert.equal(server.seen.length, 0);
});

test("wrap hands over what it is given for as long as it is told", async (t) => {
  const { server, cli } = await fakeFor(t);
  await cli(["wrap", "-ttl", "90s", "a=1"]);
  const { path, body, headers } = server.seen.at(-1)!;
  assert.deepEqual(
    [path, body, headers["x-service-wrap-ttl"]],
    ["sys/wrapping/wrap", { a: "1" }, "1m30s"],
  );
  await cli(["wrap", "-"], { stdin: '{"b": {"c": 2}}' });
  assert.deepEqual(server.seen.at(-1)?.body, { b: { c: 2 } });
  assert.equal(server.seen.at(-1)?.headers["x-service-wrap-ttl"], "5m0s");
  assert.equal((await cli(["wrap"])).code, 2);
});

test("login by a method asks for the password, sends no token, and keeps the new one", async (t) => {
  const { server, cli, env, home } = await fakeFor(t);
  const { HOLDFAST_TOKEN: _, ...nobody } = env;
  const args = ["login", "-method", "userpass", "username=anna"];
  const done = await cli(args, { env: nobody, typed: ["correct horse "] });
  assert.equal(done.code, 0, done.all);
  assert.deepEqual(done.raw, [true, false]);
  const { path, body, headers } = server.seen.at(-1)!;
  assert.deepEqual([path, body], ["auth/userpass/login/anna", { password: "correct horse " }]);
  assert.equal(headers["x-service-token"], undefined);
  const kept = readFileSync(join(home, ".holdfast-token"), "utf8").trim();
  assert.equal(kept, "77777777-2222-4333-8444-555555555555");
  assert.ok(!done.all.includes(kept), "what is kept need not be shown");
  assert.match(done.stdout, /token_policies +\[default shop\]/);

  const other = await cli([...args, "password=-"], { stdin: "correct horse " });
  assert.match(other.stderr, /HOLDFAST_TOKEN is set and goes before the token just kept/);
  assert.equal(server.seen.at(-1)?.headers["x-service-token"], undefined);
});

test("login -no-store shows the token, and approle takes its secret id from a file", async (t) => {
  const { server, cli, env, home } = await fakeFor(t);
  const file = join(home, "secret-id");
  writeFileSync(file, "secret-1\n");
  const args = ["login", "-no-store", "-method", "approle", "-path", "auth/ci", "role_id=role-1"];
  const printed = await cli([...args, "-field", "token", `secret_id=@${file}`]);
  assert.equal(printed.stdout, "77777777-2222-4333-8444-555555555555", printed.all);
  assert.deepEqual(server.seen.at(-1)?.body, { role_id: "role-1", secret_id: "secret-1" });
  assert.equal((await cli(args)).code, 0, "a role may do without");
  assert.deepEqual(server.seen.at(-1)?.body, { role_id: "role-1" });
  assert.throws(() => readFileSync(join(env.HOME, ".holdfast-token")));
});

test("login asks the server for nothing where the token could not be kept", async (t) => {
  const { server, cli, env, home } = await fakeFor(t);
  const args = ["login", "-method", "userpass", "username=anna", "password=-"];
  const nowhere = { ...env, HOME: join(home, "none") };
  const refused = await cli(args, { env: nowhere, stdin: "correct horse " });
  assert.notEqual(refused.code, 0);
  assert.equal(server.seen.length, 0, "no token is left behind");
  const role = ["login", "-method", "approle", "role_id=nobody", "secret_id=-"];
  const errors = ["invalid role or secret ID"];
  server.instead.set("POST auth/approle/login", { status: 400, body: { errors } });
  const wrong = await cli(role, { stdin: "nothing" });
  assert.match(wrong.stderr, /Next: check role_id, secret_id, -path and -namespace/);
  assert.ok(!wrong.stderr.includes("locked"));
});

test("passwords on the command line are refused, and wrong ones told with what to look at", async (t) => {
  const { server, cli } = await fakeFor(t);
  const args = ["login", "-method", "userpass"];
  for (const more of [["username=anna", "password=hunter2"], ["username=anna", "hunter2"], []]) {
    const { code, all } = await cli([...args, ...more]);
    assert.equal(code, 2, all);
    assert.doesNotMatch(all, /hunter2/);
  }
  assert.equal(server.seen.length, 0);
  const wrong = await cli([...args, "username=anna", "password=-"], { stdin: "hunter2" });
  assert.equal(wrong.code, 1);
  assert.match(
    wrong.stderr,
    /invalid username or password \(status 400\)\nNext: check what was typed/,
  );
  const alone = await cli([...args, "username=anna"]);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /no terminal to ask for the password on\nNext: give password=-/);
  server.instead.set("POST auth/userpass/login/anna", {
    status: 403,
    body: { errors: ["permission denied", "too many failed logins; try again in 14m59s"] },
  });
  const locked = await cli([...args, "username=anna", "password=-"], { stdin: "hunter2" });
  assert.match(locked.stderr, /\nNext: wait as long as it says/);
  const nowhere = await cli([...args, "-path", "people", "username=anna", "password=-"], {
    stdin: "hunter2",
  });
  assert.equal(nowhere.code, 3);
  assert.match(nowhere.stderr, /`holdfast auth list` shows them/);
});
