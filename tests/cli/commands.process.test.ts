// Commands against a server that answers as the real one does: what is sent, what is printed. `operator` and `doctor` have files
// of their own.

import assert from "node:assert/strict";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { enveloped, FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { eachWithServer } from "./fakes/each-with-server.ts";

let server: FakeServer;
let home: string;
const cli = eachWithServer((...began) => ([server, home] = began));

test("status tells the state and exits 2 until the server is unsealed", async () => {
  const fresh = await cli(["status"]);
  assert.equal(fresh.code, 2, "1 is for a server that cannot be reached");
  assert.match(fresh.stdout, /^Initialized +false$/m);
  assert.match(fresh.stderr, /operator init/);
  server.opened();
  const open = await cli(["status"]);
  assert.equal(open.code, 0);
  assert.match(open.stdout, /^Sealed +false$/m);
  assert.match(open.stdout, /^Cluster Name +fake$/m);
  assert.equal(open.stderr, "");
});

test("every command sends its token, its namespace and the mark of a command line", async () => {
  server.opened();
  await cli(["-namespace", "team", "read", "sys/key-status"]);
  const headers = server.seen[0]?.headers;
  assert.equal(headers?.["x-service-token"], ROOT_TOKEN);
  assert.equal(headers?.["x-service-namespace"], "team");
  assert.equal(headers?.["x-service-request"], "true");
});

test("login asks without echo, checks the token and keeps it for its owner alone", async () => {
  server.opened();
  const env = { HOLDFAST_TOKEN: "" };
  const { code, stdout, stderr, all } = await cli(["login"], { typed: [ROOT_TOKEN], env });
  assert.equal(code, 0);
  assert.ok(!all.includes(ROOT_TOKEN));
  assert.match(stderr, /read acl\/token\/self/);
  const file = join(home, ".holdfast-token");
  assert.match(stdout, /kept in/);
  assert.equal(readFileSync(file, "utf8"), `${ROOT_TOKEN}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await cli(["operator", "key-status"], { env })).code, 0, "other commands use it");
});

test("login refuses a token that the server does not know and keeps nothing", async () => {
  server.opened();
  const { code, stderr } = await cli(["login", "-"], { stdin: "nonsense\n" });
  assert.equal(code, 4);
  assert.match(stderr, /does not know this token/);
  assert.throws(() => statSync(join(home, ".holdfast-token")));
});

test("login knows a good token by a denial that does not call it invalid", async () => {
  server.opened();
  const denied = { status: 403, body: { errors: ["permission denied"] } };
  server.instead.set("GET auth/token/lookup-self", denied);
  assert.equal((await cli(["login", "-"], { stdin: "some-token" })).code, 0);
});

test("login replaces a link instead of writing through it", async () => {
  server.opened();
  const target = join(home, "elsewhere");
  writeFileSync(target, "untouched");
  symlinkSync(target, join(home, ".holdfast-token"));
  assert.equal((await cli(["login", "-"], { stdin: ROOT_TOKEN })).code, 0);
  assert.equal(readFileSync(target, "utf8"), "untouched");
});

test("a token file that others can read, or that is a link, is not used", async () => {
  server.opened();
  const env = { HOLDFAST_TOKEN: "" };
  const file = join(home, ".holdfast-token");
  writeFileSync(file, ROOT_TOKEN, { mode: 0o644 });
  const loose = await cli(["read", "sys/key-status"], { env });
  assert.equal(loose.code, 1);
  assert.match(loose.stderr, /mode 0644[^]*chmod 600/);
  assert.equal(server.seen.length, 0);
});

test("read prints data for people, the envelope for programs, one value for scripts", async () => {
  server.opened();
  assert.match((await cli(["read", "sys/key-status"])).stdout, /^term +1$/m);
  const { data } = JSON.parse((await cli(["read", "-json", "/v1/sys/key-status"])).stdout);
  assert.equal(data.term, 1);
  assert.equal((await cli(["read", "-field=term", "sys/key-status"])).stdout, "1");
  const yaml = await cli(["read", "-format", "yaml", "sys/key-status"]);
  assert.match(yaml.stdout, /^data:\n {2}term: 1$/m);
  const absent = await cli(["read", "-field=nope", "sys/key-status"]);
  assert.equal(absent.code, 3);
  assert.match(absent.stderr, /no nope; there is term, install_time/);
});

test("read passes parameters on and prints what is not JSON as it is", async () => {
  server.opened();
  const text = "# metrics\nup 1\n";
  server.instead.set("GET sys/metrics", {
    status: 200,
    text,
    headers: { "Content-Type": "text/plain" },
  });
  const { stdout } = await cli(["read", "sys/metrics", "format=prometheus"]);
  assert.equal(stdout, text);
  assert.equal(server.seen[0]?.query.get("format"), "prometheus");
});

test("read shows a lease and a token beside the data", async () => {
  server.opened();
  const { body } = enveloped({ password: "p" }) as { body: object };
  const lease = { lease_id: "x/1", lease_duration: 60, renewable: true };
  const auth = { client_token: "t-1", accessor: "a-1", policies: ["default", "app"] };
  server.instead.set("GET x/creds", { status: 200, body: { ...body, ...lease, auth } });
  const { stdout } = await cli(["read", "x/creds"]);
  for (const line of [/^lease_id +x\/1$/m, /^token +t-1$/m, /^token_policies +\[default app\]$/m]) {
    assert.match(stdout, line);
  }
  assert.match(stdout, /^password +p$/m);
});

test("numbers that a double cannot hold keep their digits in every format", async () => {
  server.opened();
  const headers = { "Content-Type": "application/json" };
  const text = '{"request_id":"r","data":{"big":12345678901234567890,"fine":1.5}}';
  server.instead.set("GET x/big", { status: 200, text, headers });
  for (const format of ["table", "json", "yaml"]) {
    const { stdout } = await cli(["read", "-format", format, "x/big"]);
    assert.ok(stdout.includes("12345678901234567890"), stdout);
  }
});

test("write sends values from arguments, files and standard input", async () => {
  server.opened();
  const file = join(home, "value");
  writeFileSync(file, "from a file\n");
  symlinkSync(file, join(home, "link"));
  server.instead.set("POST kv/a", { status: 204 });
  const args = [
    "write",
    "kv/a",
    "a=1=2",
    `b=@${join(home, "link")}`,
    "c=-",
    "d=x",
    "d=y",
    "e=\\@f",
  ];
  const { code, stdout } = await cli(args, { stdin: "piped\n" });
  assert.equal(code, 0);
  assert.equal(stdout, "Success! Data written to: kv/a\n");
  assert.deepEqual(server.seen[0]?.body, {
    a: "1=2",
    b: "from a file\n",
    c: "piped\n",
    d: ["x", "y"],
    e: "@f",
  });
  assert.equal(server.seen[0]?.headers["content-type"], "application/json");
});

test("write takes a whole JSON body, and needs -force for none", async () => {
  server.opened();
  server.instead.set("POST kv/a", { status: 204 });
  await cli(["write", "kv/a", "-"], { stdin: '{"n":{"deep":[1,null]}}' });
  assert.deepEqual(server.seen[0]?.body, { n: { deep: [1, null] } });
  assert.equal((await cli(["write", "kv/a"])).code, 2);
  assert.equal((await cli(["write", "-force", "kv/a"])).code, 0);
  assert.equal(server.seen.length, 2);
});

test("patch, delete and list use their verbs", async () => {
  server.opened();
  await cli(["namespace", "create", "team"]);
  await cli(["patch", "sys/namespaces/team", "-"], { stdin: '{"custom_metadata":{"a":"1"}}' });
  const patched = server.seen.at(-1);
  assert.equal(patched?.method, "PATCH");
  assert.equal(patched?.headers["content-type"], "application/merge-patch+json");
  assert.match((await cli(["list", "sys/namespaces/"])).stdout, /^Keys\n----\nteam\/\n$/);
  assert.equal(server.seen.at(-1)?.method, "LIST");
  assert.deepEqual(JSON.parse((await cli(["list", "-json", "sys/namespaces"])).stdout), ["team/"]);
  await cli(["delete", "kv/a", "versions=1"]);
  assert.equal(server.seen.find(({ path }) => path === "kv/a")?.query.get("versions"), "1");
  const gone = await cli(["delete", "sys/namespaces/team"]);
  assert.equal(gone.code, 0);
  assert.equal((await cli(["list", "sys/namespaces"])).code, 3, "an empty list is not found");
});

test("namespace commands create, show, change, list and delete", async () => {
  server.opened();
  const none = await cli(["namespace", "list"]);
  assert.deepEqual([none.code, none.stdout], [3, ""]);
  assert.equal((await cli(["namespace", "list", "-json"])).stdout, "[]\n");
  const made = await cli(["namespace", "create", "-custom-metadata", "owner=anna", "team/"]);
  assert.match(made.stdout, /^custom_metadata +{"owner":"anna"}$/m);
  assert.match((await cli(["namespace", "lookup", "team"])).stdout, /^id +a1b2c$/m);
  assert.match((await cli(["namespace", "list"])).stdout, /^team\/ +a1b2c +{"owner":"anna"}$/m);
  const change = ["-custom-metadata=b=2", "-remove-custom-metadata=owner"];
  assert.match((await cli(["namespace", "patch", ...change, "team"])).stdout, /{"b":"2"}/);
  assert.equal((await cli(["namespace", "list", "-field", "path"])).stdout, "team/\n");
  assert.equal((await cli(["namespace", "delete", "team"])).code, 0);
  assert.equal((await cli(["namespace", "lookup", "team"])).code, 3);
});

test("creating a namespace again does not take its notes away", async () => {
  server.opened();
  await cli(["namespace", "create", "team"]);
  assert.deepEqual(server.seen[0]?.body, {});
});

test("namespace delete asks at a terminal, unless told not to", async () => {
  server.opened();
  await cli(["namespace", "create", "team"]);
  const no = await cli(["namespace", "delete", "team"], { typed: ["n"] });
  assert.equal(no.code, 1);
  assert.equal(server.namespaces.size, 1);
  assert.deepEqual(no.raw, [], "the answer to a question is no secret");
  assert.equal((await cli(["namespace", "delete", "team"], { typed: ["yes"] })).code, 0);
  assert.equal(server.namespaces.size, 0);
  await cli(["namespace", "create", "team"]);
  assert.equal((await cli(["namespace", "delete", "-yes", "team"], { typed: [] })).code, 0);
});

test("audit commands enable, list, hash and disable", async () => {
  server.opened();
  assert.match((await cli(["audit", "list"])).stderr, /not recorded/);
  const flags = ["-path=first", "-description", "for us"];
  const enabled = await cli(["audit", "enable", ...flags, "file", "file_path=a.log"]);
  assert.equal(enabled.stdout, "Success! Enabled the file audit device at: first/\n");
  const { body } = server.seen.at(-1) ?? {};
  assert.deepEqual(body, { type: "file", options: { file_path: "a.log" }, description: "for us" });
  assert.match((await cli(["audit", "list"])).stdout, /^first\/ +file +true +for us$/m);
  const hash = await cli(["audit", "hash", "first"], { typed: ["hunter2"] });
  assert.match(hash.stdout, /^hash +hmac-sha256:0123$/m);
  assert.ok(!hash.all.includes("hunter2"));
  assert.equal(server.seen.at(-1)?.body["input"], "hunter2");
  assert.equal((await cli(["audit", "disable", "first/"])).code, 0);
  assert.equal(server.devices.size, 0);
});

test("path-help shows the server's own words", async () => {
  server.opened();
  const help = "POST or PUT sys/unseal\n\n  Give one share.\n";
  server.instead.set("GET sys/unseal", { status: 200, body: { help, openapi: {} } });
  assert.equal((await cli(["path-help", "sys/unseal"])).stdout, help);
  assert.equal(server.seen[0]?.query.get("help"), "1");
});

test("a warning of the server is told on standard error", async () => {
  server.opened();
  const { body } = enveloped({ a: 1 }) as { body: object };
  server.instead.set("GET kv/a", {
    status: 200,
    body: { ...body, warnings: ["old\u001b[31m key"] },
  });
  const { stdout, stderr } = await cli(["read", "-json", "kv/a"]);
  assert.equal(stderr, "Warning: old\\x1b[31m key\n", "and cannot steer the terminal");
  assert.equal(JSON.parse(stdout).data.a, 1);
});

test("version and help need no server, no token and no sane environment", async () => {
  const env = { HOLDFAST_ADDR: "nonsense", HOLDFAST_SKIP_VERIFY: "perhaps" };
  assert.equal((await cli(["version"], { env })).stdout, "Holdfast 0.1.0\n");
  assert.equal((await cli(["--version"], { env })).stdout, "Holdfast 0.1.0\n");
  assert.match((await cli([], { env })).stdout, /^ {2}server +Run the server$/m);
  assert.match(
    (await cli(["operator", "init", "-h"], { env })).stdout,
    /^Usage: holdfast operator/,
  );
  assert.equal(server.seen.length, 0);
});

test("the kept token goes to the server it is for, and to no other", async (t) => {
  server.opened();
  const other = (await FakeServer.start()).opened();
  t.after(() => other.stop());
  const HOLDFAST_TOKEN = "";
  await cli(["login", "-"], { stdin: ROOT_TOKEN, env: { HOLDFAST_TOKEN } });
  const read = (env: Record<string, string>) =>
    cli(["read", "sys/key-status"], { env: { HOLDFAST_TOKEN, HOLDFAST_ADDR: "", ...env } });
  for (const name of ["HOLDFAST_ADDR", "VAULT_ADDR"]) {
    const wrong = await read({ [name]: other.address });
    assert.equal(wrong.code, 4);
    assert.ok(wrong.stderr.includes(`is for ${server.address} and is not sent to`), wrong.stderr);
    assert.ok(wrong.stderr.includes(`${other.address} (from ${name})`));
  }
  // Where no token is needed none is missed.
  const status = await cli(["status"], { env: { HOLDFAST_TOKEN, HOLDFAST_ADDR: other.address } });
  assert.deepEqual([status.code, status.stderr], [0, ""]);
  assert.ok(other.seen.every(({ headers }) => headers["x-service-token"] === undefined));
  const right = await read({ VAULT_ADDR: server.address.replace("127.0.0.1", "localhost") });
  assert.deepEqual([right.code, right.stderr], [0, ""]);
  // The same token of both, where somebody says so.
  const env = { HOLDFAST_TOKEN, HOLDFAST_ADDR: other.address };
  await cli(["login", "-"], { stdin: ROOT_TOKEN, env });
  for (const { address } of [server, other]) {
    assert.equal((await read({ HOLDFAST_ADDR: address })).code, 0);
  }
});

test("a token that was written by hand goes to our own address, and to another client's only after a login", async () => {
  server.opened();
  writeFileSync(join(home, ".holdfast-token"), ROOT_TOKEN, { mode: 0o600 });
  const read = (env: Record<string, string>) =>
    cli(["read", "sys/key-status"], { env: { HOLDFAST_TOKEN: "", ...env } });
  assert.equal((await read({})).code, 0);
  const foreign = await read({ HOLDFAST_ADDR: "", VAULT_ADDR: server.address });
  assert.equal(foreign.code, 4);
  assert.match(foreign.stderr, /\(from VAULT_ADDR\): it is not known to be for that server/);
  const besides = await read({ VAULT_TOKEN: "canary" });
  assert.equal(besides.code, 0);
  assert.match(besides.stderr, /Warning: VAULT_TOKEN is not used beside HOLDFAST_ADDR/);
});

test("what is the node's is read outside of the namespace that the environment names", async () => {
  server.opened();
  const env = { VAULT_NAMESPACE: "team", HOLDFAST_NAMESPACE: "team" };
  assert.equal((await cli(["status"], { env })).code, 0);
  assert.equal((await cli(["operator", "key-status"], { env })).code, 0);
  const doctor = await cli(["doctor"], { env });
  assert.equal(doctor.code, 0, doctor.all);
  assert.match(doctor.stdout, /^namespace +good +team \(from HOLDFAST_NAMESPACE\)/m);
  const audit = await cli(["audit", "list"], { env });
  assert.match(audit.stderr, /HOLDFAST_NAMESPACE says team: give -namespace \//);
  for (const args of [["-namespace", "/"], ["-namespace=root"], ["-namespace="]]) {
    assert.equal((await cli(["audit", "list", ...args], { env })).code, 3, "none, and no refusal");
  }
  const empty = { ...env, HOLDFAST_NAMESPACE: "" };
  assert.equal((await cli(["audit", "list"], { env: empty })).code, 3);
});

test("an audit device of the configuration is refused before anybody is asked", async () => {
  server.opened();
  const device = { type: "file", description: "", options: {}, local: false, path: "main/" };
  const devices = { "main/": { ...device, declared: true, healthy: true } };
  server.instead.set("GET sys/audit", enveloped(devices));
  const errors = ["the audit device comes from the configuration file; change it there"];
  server.instead.set("DELETE sys/audit/main", { status: 400, body: { errors } });
  const ran = await cli(["audit", "disable", "main"], { typed: ["y"] });
  assert.equal(ran.code, 1);
  assert.doesNotMatch(ran.stderr, /y\/N/);
  assert.match(ran.stderr, /comes from the configuration\s+file/);
  // Whoever may not list them is asked as before.
  server.instead.set("GET sys/audit", { status: 403, body: { errors: ["permission denied"] } });
  const unseen = await cli(["audit", "disable", "main"], { typed: ["n"] });
  assert.match(unseen.stderr, /y\/N/);
});

test("a new password is asked for twice at a terminal, and one that is only shown to be known is not", async () => {
  server.opened();
  const write = (path: string, pair: string, ...typed: string[]) => {
    server.instead.set(`POST ${path}`, { status: 204 });
    return cli(["write", path, pair], { typed });
  };
  const user = "auth/userpass/users/anna";
  const set = await write(user, "password=-", "canary-1", "canary-1");
  assert.equal(set.code, 0, set.all);
  assert.match(set.stderr, /password \(not shown\): \npassword again \(not shown\): /);
  assert.deepEqual(server.seen.at(-1)?.body, { password: "canary-1" });
  const sent = server.seen.length;
  const differing = await write(user, "password=-", "canary-1", "canary-2");
  assert.equal(differing.code, 2);
  assert.match(differing.stderr, /password was not typed the same twice/);
  assert.ok(!differing.all.includes("canary"));
  assert.equal(server.seen.length, sent, "nothing was sent");
  for (const [path, pair] of [
    ["auth/userpass/login/anna", "password=-"],
    ["auth/token/revoke", "token=-"],
  ] as const) {
    const once = await write(path, pair, "canary-1");
    assert.equal(once.code, 0, once.all);
    assert.doesNotMatch(once.stderr, /again/);
  }
});

test("a value that is read and turns out empty is remarked on", async () => {
  server.opened();
  server.instead.set("POST kv/a", { status: 204 });
  const { code, stderr } = await cli(["write", "kv/a", "password=-"], { stdin: "" });
  assert.equal(code, 0);
  assert.match(stderr, /^Note: password is empty/m);
  const filled = await cli(["write", "kv/a", "password=-"], { stdin: "x" });
  assert.equal(filled.stderr, "");
});

test("audit disable asks on a terminal, and -yes does not", async () => {
  server.opened();
  const enable = () => cli(["audit", "enable", "file", "file_path=/var/audit.log"]);
  assert.equal((await enable()).code, 0);
  const no = await cli(["audit", "disable", "file"], { typed: ["n"] });
  assert.equal(no.code, 1);
  assert.match(
    no.stderr,
    /Disable the audit device at file\/\? Its hashes can no longer be computed/,
  );
  assert.ok(server.devices.has("file/"));
  assert.equal((await cli(["audit", "disable", "file"], { typed: ["y"] })).code, 0);
  assert.ok(!server.devices.has("file/"));
  assert.equal((await enable()).code, 0);
  assert.equal((await cli(["audit", "disable", "-yes", "file"], { typed: [] })).code, 0);
  assert.ok(!server.devices.has("file/"));
});
