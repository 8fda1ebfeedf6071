// Token commands against a server that answers as the real one does: what is sent, what is printed, and
// where a secret is and is not.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FakeToken } from "./fakes/acl-fake.ts";
import { findCommand, loadAll } from "../../src/cli/catalogue.ts";
import type { FakeServer } from "./fakes/fake-server.ts";
import { ROOT_TOKEN } from "./fakes/fake-server.ts";
import { eachWithServer } from "./fakes/each-with-server.ts";
import { type Ran, type RunOptions } from "./harness.ts";

// Half a second after the server's clock.
const NOW = 1_772_359_200_500_000_000n;
const SECRET = "0a1b2c3d-1111-4222-8333-444455556666";
const ACCESSOR = "c8427da3-8cf6-48b2-beaf-9bb747302196";

let server: FakeServer;
let home: string;
const usual = { world: { clock: { now: () => NOW, elapsed: () => 0n } } };
const cli = eachWithServer((...began) => {
  [server, home] = began;
  server.opened().tokens.time = () => Date.parse("2026-03-01T10:00:00Z");
}, usual);

const token = (args: readonly string[], options?: RunOptions) =>
  cli(["acl", "token", ...args], options);

function client(fields: Partial<FakeToken> = {}): FakeToken {
  return server.tokens.add({ Name: "ci reader", Policies: ["readonly"], ...fields });
}

test("acl bootstrap makes the first token, prints it once and sends no token of its own", async () => {
  server.tokens.bootstrapped = null;
  const { code, stdout, stderr } = await cli(["acl", "bootstrap"]);
  assert.equal(code, 0, stderr);
  const made = [...server.tokens.all.values()].at(-1)!;
  assert.equal(stdout.split(made.SecretID).length, 2);
  assert.ok(!stderr.includes(made.SecretID));
  assert.match(stdout, /^Name {9}= Bootstrap Token\nType {9}= management\nGlobal {7}= true$/m);
  assert.match(stdout, /^Policies {5}= n\/a\nRoles {8}= n\/a$/m);
  assert.match(stderr, /holdfast login/);
  const { headers, body } = server.seen.at(-1)!;
  assert.equal(headers["x-service-token"], undefined);
  assert.deepEqual(body, { BootstrapSecret: "" }, "the object is always sent");
});

test("acl bootstrap takes a chosen secret from a file or standard input, never from the line", async () => {
  const file = join(home, "chosen");
  writeFileSync(file, `${SECRET}\n`);
  server.tokens.bootstrapped = null;
  assert.equal((await cli(["acl", "bootstrap", file])).code, 0);
  assert.deepEqual(server.seen.at(-1)?.body, { BootstrapSecret: SECRET });
  server.tokens.bootstrapped = null;
  assert.equal((await cli(["acl", "bootstrap", "-"], { stdin: `${SECRET}\n` })).code, 0);
  const sent = server.seen.length;
  for (const [args, stdin] of [
    [["acl", "bootstrap", SECRET], ""],
    [["acl", "bootstrap", "-"], "hunter2-canary"],
    [["acl", "bootstrap", `-secret=${SECRET}`], ""],
    [["acl", "token", "one-time", "exchange", SECRET], ""],
    [["acl", "token", "one-time", "exchange", "-"], "hunter2-canary"],
    [["acl", "token", "upload", ACCESSOR, SECRET], ""],
    [["acl", "token", "create", "-accessor", ACCESSOR, SECRET], ""],
    [["acl", "token", "create", "-accessor", "hunter2-canary", "-"], SECRET],
    [["acl", "token", "create", SECRET], ""],
    [["acl", "token", "info", "hunter2-canary"], ""],
  ] as const) {
    const { code, all } = await cli(args, { stdin });
    assert.equal(code, 2, all);
    assert.ok(!all.includes(SECRET) && !all.includes("canary"), all);
  }
  assert.equal(server.seen.length, sent, "nothing of it was sent");
});

test("acl bootstrap that is spent tells how it is reset", async () => {
  const { code, stderr } = await cli(["acl", "bootstrap"]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^Error: POST acl\/bootstrap: ACL bootstrap already done \(reset index: 41\)/,
  );
  assert.match(stderr, /^Next: .*write 41 to server\/acl-bootstrap-reset/m);
});

test("create sends what was given and prints the token with its secret", async () => {
  const args = ["create", "-name", "ci", "-policy", "readonly", "--policy=deploy", "-ttl", "480m"];
  const { code, stdout, stderr } = await token([...args, "-global"]);
  assert.equal(code, 0, stderr);
  const { method, path, body } = server.seen.at(-1)!;
  assert.equal(`${method} ${path}`, "POST acl/token");
  assert.deepEqual(body, {
    Name: "ci",
    Policies: ["readonly", "deploy"],
    Global: true,
    ExpirationTTL: "8h0m0s",
    Type: "client",
  });
  const made = [...server.tokens.all.values()].at(-1)!;
  assert.deepEqual(stdout.split("\n"), [
    `Accessor ID  = ${made.AccessorID}`,
    `Secret ID    = ${made.SecretID}`,
    "Name         = ci",
    "Type         = client",
    "Global       = true",
    `Create Time  = ${made.CreateTime} (now)`,
    `Expiry Time  = ${made.ExpirationTime} (in 7h59m)`,
    `Create Index = ${made.CreateIndex}`,
    `Modify Index = ${made.ModifyIndex}`,
    "Policies     = [readonly deploy]",
    "",
    "Roles",
    "<none>",
    "",
  ]);
});

test("create gives programs the exact record, one member, or the accessor alone", async () => {
  const args = ["create", "-policy", "readonly"];
  const record = JSON.parse((await token([...args, "-format", "json"])).stdout);
  assert.match(record.CreateTime, /^\d{4}-.*Z$/);
  assert.ok(server.tokens.all.has(record.AccessorID));
  assert.equal(record.ExpirationTime, null);
  const { stdout: secret } = await token([...args, "-field", "SecretID"]);
  assert.equal(secret.trim(), [...server.tokens.all.values()].at(-1)!.SecretID);
  const { stdout: accessor } = await token([...args, "-quiet"]);
  assert.equal(accessor.trim(), [...server.tokens.all.keys()].at(-1));
  assert.match((await token([...args, "-format", "yaml"])).stdout, /^AccessorID: /m);
});

test("create tells warnings of the server and its refusals, each on one line", async () => {
  const typo = await token(["create", "-policy", "raedonly", "-policy", "nope"]);
  assert.equal(typo.code, 0);
  assert.equal(typo.stderr, "Warning: unknown policies: raedonly, nope\n");
  const none = await token(["create"]);
  assert.equal(none.code, 1);
  assert.equal(
    none.stderr,
    "Error: POST acl/token: token 0 invalid: 1 error occurred: " +
      "client token missing policies or roles (status 400)\n" +
      "Next: give -policy NAME (`holdfast policy list` shows the names), or -type management\n",
  );
  const both = await token(["create", "-ttl", "1h", "-expires-at", "2026-03-01T10:00:00Z"]);
  assert.equal(both.code, 2);
  assert.equal((await token(["create", "-expires-at", "tomorrow"])).code, 2);
  const lower = await token(["create", "-type", "Client", "-policy", "a"]);
  assert.match(lower.stderr, /-type takes one of client, management/);
});

test("create -expires-at sends the time as it was written", async () => {
  await token([
    "create",
    "-policy",
    "deploy",
    "-expires-at",
    "2036-03-01T10:00:00.123456789+02:00",
  ]);
  const { body } = server.seen.at(-1)!;
  assert.equal(body["ExpirationTime"], "2036-03-01T10:00:00.123456789+02:00");
});

test("create -like copies a token but for what is given", async () => {
  // The model is looked at once more when the copy is there.
  const sent = () => server.seen.findLast(({ path }) => path === "acl/token")!.body;
  const model = client({ ExpirationTTL: "8h0m0s", Policies: ["readonly", "deploy"] });
  await token(["create", "-like", model.AccessorID.slice(0, 8), "-name", "copy"]);
  assert.deepEqual(sent(), {
    Name: "copy",
    Type: "client",
    Policies: ["readonly", "deploy"],
    Global: false,
    ExpirationTTL: "8h0m0s",
  });
  await token(["create", "-like", model.AccessorID, "-type", "management"]);
  assert.equal(sent()["Policies"], undefined);
  const dated = client({ ExpirationTime: "2036-01-01T00:00:00Z" });
  await token(["create", "-like", dated.AccessorID]);
  assert.equal(sent()["ExpirationTime"], "2036-01-01T00:00:00Z");
  await token(["create", "-like", dated.AccessorID, "-ttl", "1h"]);
  const body = sent();
  assert.deepEqual([body["ExpirationTime"], body["ExpirationTTL"]], [undefined, "1h0m0s"]);
});

test("create -accessor and upload take the secret from standard input, a file or a prompt", async () => {
  const file = join(home, "secret");
  writeFileSync(file, SECRET);
  for (const [args, options] of [
    [["create", "-accessor", ACCESSOR.toUpperCase(), "-policy", "deploy", "-"], { stdin: SECRET }],
    [["create", "-accessor", ACCESSOR, "-policy", "deploy", file], {}],
    [["create", "-accessor", ACCESSOR, "-policy", "deploy"], { typed: [SECRET] }],
    [["upload", "-policy", "deploy", ACCESSOR, "-"], { stdin: `${SECRET}\n` }],
    [["upload", "-policy", "deploy", ACCESSOR], { typed: [SECRET] }],
  ] as const) {
    server.tokens.all.delete(ACCESSOR);
    const ran = await token(args, options);
    assert.equal(ran.code, 0, ran.all);
    const { method, path, body } = server.seen.at(-1)!;
    assert.equal(`${method} ${path}`, `POST acl/token/${ACCESSOR}`);
    assert.deepEqual(body, {
      Policies: ["deploy"],
      Type: "client",
      AccessorID: ACCESSOR,
      SecretID: SECRET,
    });
    assert.ok(!ran.stderr.includes(SECRET));
    if ("typed" in options) assert.deepEqual(ran.raw, [true, false], "echo was off");
  }
});

test("-secret-out writes the secret for its owner alone and does not show it", async () => {
  const file = join(home, "out");
  const args = ["create", "-policy", "readonly", "-secret-out", file];
  const { code, all } = await token(args);
  assert.equal(code, 0, all);
  const made = [...server.tokens.all.values()].at(-1)!;
  assert.equal(readFileSync(file, "utf8"), `${made.SecretID}\n`);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(!all.includes(made.SecretID), all);
  const before = server.tokens.all.size;
  const again = await token(args);
  assert.equal(again.code, 2, "a file that is there is not overwritten");
  assert.equal(server.tokens.all.size, before);
  const nowhere = await token(["create", "-policy", "a", "-secret-out", join(home, "no", "out")]);
  assert.notEqual(nowhere.code, 0);
  assert.equal(server.tokens.all.size, before, "no token is made whose secret cannot be kept");
  const refused = join(home, "refused");
  assert.equal((await token(["create", "-secret-out", refused])).code, 1);
  assert.throws(() => statSync(refused), "nothing is left of a failure");
});

test("info and self hide the secret until it is asked for", async () => {
  const { AccessorID, SecretID } = client();
  for (const args of [["info", AccessorID], ["read", AccessorID], ["self"]]) {
    const env = { HOLDFAST_TOKEN: args[0] === "self" ? SecretID : ROOT_TOKEN };
    const hidden = await token(args, { env });
    assert.equal(hidden.code, 0, hidden.all);
    assert.match(hidden.stdout, /^Secret ID {4}= <hidden>$/m);
    assert.ok(!hidden.all.includes(SecretID));
    const json = await token([...args, "-json"], { env });
    assert.equal(JSON.parse(json.stdout).SecretID, "");
    const field = await token([...args, "-field", "SecretID"], { env });
    assert.equal(field.code, 2);
    assert.match(field.stderr, /-show-secret/);
    const printed = await token([...args, "-show-secret", "-field", "SecretID"], { env });
    assert.equal(printed.stdout, SecretID);
  }
});

test("self needs a token, and says so without asking the server", async () => {
  const { code, stderr } = await token(["self"], { env: { HOLDFAST_TOKEN: "" } });
  assert.equal(code, 2);
  assert.match(stderr, /there is no token[^]*holdfast login/);
  assert.equal(server.seen.length, 0);
});

test("refusals are told with what helps: unknown accessor, a client's rights, an unknown token", async () => {
  const missing = await token(["info", ACCESSOR]);
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /ACL token not found[^]*acl token list/);
  const { SecretID } = client();
  const denied = await token(["list"], { env: { HOLDFAST_TOKEN: SecretID } });
  assert.equal(denied.code, 4);
  assert.match(denied.stderr, /Permission denied[^]*HOLDFAST_TOKEN .*no management token/);
  const unknown = await token(["self"], { env: { HOLDFAST_TOKEN: SECRET } });
  assert.match(
    unknown.stderr,
    /unknown or expired: set HOLDFAST_TOKEN to another, or unset it and run `holdfast login`/,
  );
  const errors = ["ACL token expired"];
  server.instead.set("GET acl/token/self", { status: 403, body: { errors } });
  assert.match((await token(["self"])).stderr, /HOLDFAST_TOKEN is expired/);
});

test("info, update and delete take the unique beginning of an accessor, odd ones too", async () => {
  client({ AccessorID: "aabbccd0-0000-4000-8000-000000000001", Name: "one" });
  client({ AccessorID: "aabbccd1-0000-4000-8000-000000000002", Name: "two" });
  const name = async (prefix: string) => (await token(["info", prefix, "-field", "Name"])).stdout;
  assert.equal(await name("aabbccd0"), "one");
  assert.equal(await name("AABBCCD1-0"), "two");
  const several = await token(["info", "aabbccd"]);
  assert.equal(several.code, 2);
  assert.match(several.stderr, /several accessors begin with aabbccd/);
  const { SecretID } = client();
  const refused = await token(["info", "aabbccd0"], { env: { HOLDFAST_TOKEN: SecretID } });
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /by its beginning\nNext: give the accessor whole/);
  assert.equal((await token(["info", "ffff0000"])).code, 3);
  assert.equal((await token(["info", "a"])).code, 2, "one digit is no prefix");
});

test("update keeps what is not given, and goes by the version that it read", async () => {
  const { AccessorID, ModifyIndex, SecretID } = client({ Policies: ["readonly"] });
  const named = await token(["update", AccessorID, "-name", "other"]);
  assert.equal(named.code, 0, named.all);
  const { body, query } = server.seen.at(-1)!;
  assert.equal(query.get("cas"), String(ModifyIndex));
  assert.deepEqual(body, {
    AccessorID,
    Name: "other",
    Type: "client",
    Policies: ["readonly"],
    Roles: null,
  });
  assert.ok(!named.all.includes(SecretID), "it is not what was asked for");
  assert.equal((await token(["update", AccessorID, "-type", "management"])).code, 0);
  assert.equal(server.seen.at(-1)?.body["Policies"], null);
  const nothing = await token(["update", AccessorID]);
  assert.equal(nothing.code, 2);
});

test("update reads again when somebody else was faster", async () => {
  const { AccessorID } = client();
  const path = `POST acl/token/${AccessorID}`;
  const body = { errors: ["token was modified (index 99)"] };
  server.instead.set(path, () => {
    server.instead.delete(path);
    server.tokens.change(AccessorID, { Policies: ["deploy"] });
    return Promise.resolve({ status: 409, body });
  });
  assert.equal((await token(["update", AccessorID, "-name", "n2"])).code, 0);
  const changed = server.tokens.all.get(AccessorID)!;
  assert.deepEqual([changed.Name, changed.Policies], ["n2", ["deploy"]]);
  server.instead.set(path, { status: 409, body });
  assert.equal((await token(["update", AccessorID, "-name", "n3"])).code, 1, "but not for ever");
});

test("list has its columns, and more with -wide", async () => {
  const { AccessorID, SecretID } = client({ ExpirationTTL: "8h0m0s" });
  client({ Name: "", ExpirationTime: "2020-01-01T00:00:00Z" });
  const { stdout, all } = await token(["list"]);
  const [head = "", , first = "", second = "", third = ""] = stdout.split("\n");
  assert.match(head, /^Name +Type +Global +Accessor ID +Expired$/);
  assert.match(first, /^Bootstrap Token +management +true +\S+ +false$/);
  assert.match(second, new RegExp(`^ci reader +client +false +${AccessorID} +false$`));
  assert.match(third, /^<none> +client +false +\S+ +true$/);
  assert.ok(!all.includes(SecretID));
  const wide = (await token(["list", "-wide"])).stdout;
  assert.match(wide, /Expired +Policies +Expires +Created\n/);
  assert.match(wide, /^Bootstrap.* n\/a +<none> +\S.*$/m);
  assert.match(wide, /^ci reader.* \[readonly\] +in 7h59m +now$/m);
  const { stdout: json } = await token(["list", "-json"]);
  assert.match(JSON.parse(json)[1].ExpirationTime, /^\d{4}-.*Z$/, "programs get exact times");
  assert.equal((await token(["list", "-expired", "-quiet"])).stdout.split("\n").length, 2);
});

test("list fits a terminal of 80 columns without breaking an accessor", async () => {
  const { AccessorID } = client({ Name: "the reader of the continuous integration" });
  for (const args of [["list"], ["list", "-wide"]]) {
    const columns = args.length === 1 ? 80 : 120;
    const { stdout } = await token(args, { columns });
    assert.ok(stdout.includes(AccessorID), stdout);
    for (const line of stdout.split("\n")) assert.ok(line.length <= columns, line);
  }
});

test("list asks for what its flags say, page by page", async () => {
  for (let i = 0; i < 5; i++) client({ Name: `t${i}`, Global: i % 2 === 0 });
  const names = (ran: Ran) => JSON.parse(ran.stdout).map(({ Name }: FakeToken) => Name);
  const first = await token(["list", "-per-page", "2", "-json"]);
  assert.deepEqual(names(first), ["Bootstrap Token", "t0"]);
  const cursor = /-page-token (\S+)/.exec(first.stderr)?.[1] ?? "";
  assert.match(cursor, /^\d+\.[0-9a-f-]{36}$/);
  for (const flag of ["-page-token", "-next"]) {
    const second = await token(["list", "-per-page", "2", flag, cursor, "-json"]);
    assert.deepEqual(names(second), ["t1", "t2"]);
  }
  const all = await token(["list", "-per-page", "2", "-all", "-reverse", "-json"]);
  assert.deepEqual(names(all), ["t4", "t3", "t2", "t1", "t0", "Bootstrap Token"]);
  assert.equal(all.stderr, "");
  assert.equal(names(await token(["list", "-global", "-json"])).length, 4);
  assert.deepEqual(names(await token(["list", "-filter", 'Name == "t3"', "-json"])), ["t3"]);
  const bad = await token(["list", "-filter", "NotValid"]);
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /failed to read filter expression/);
});

test("list of an odd prefix keeps the order of accessors and its pages", async () => {
  const ids = ["e9f", "e01", "e55", "d99", "e5a", "eff", "f00", "e00"];
  for (const id of ids) client({ AccessorID: `${id}00000-0000-4000-8000-000000000001`, Name: id });
  const list = async (...flags: string[]) => {
    const ran = await token(["list", "-field", "Name", ...flags]);
    const cursor = /-page-token (\S+)/.exec(ran.stderr)?.[1];
    return { names: ran.stdout.trimEnd().split("\n"), cursor };
  };
  const wanted = ids.filter((id) => id.startsWith("e")).toSorted();
  assert.deepEqual((await list("-prefix", "e")).names, wanted);
  assert.deepEqual((await list("-prefix", "E", "-reverse")).names, wanted.toReversed());
  for (const reverse of [[], ["-reverse"]]) {
    for (const size of ["1", "2", "3", "6", "7"]) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const from = cursor === undefined ? [] : ["-page-token", cursor];
        const page = await list("-prefix", "e", "-per-page", size, ...reverse, ...from);
        assert.ok(cursor !== undefined || page.names.length === Math.min(6, Number(size)));
        seen.push(...page.names);
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, reverse.length === 0 ? wanted : wanted.toReversed(), size);
    }
  }
  assert.deepEqual((await list("-prefix", "e5a")).names, ["e5a"]);
});

test("list asks for whole bytes of a prefix and leaves the rest out itself", async () => {
  client({ AccessorID: "aab10000-0000-4000-8000-000000000001", Name: "one" });
  client({ AccessorID: "aab20000-0000-4000-8000-000000000002", Name: "two" });
  const { stdout } = await token(["list", "-prefix", "AAb", "-field", "Name"]);
  assert.equal(stdout, "one\ntwo\n");
  const longer = await token(["list", "-prefix", "aab20", "-field", "Name"]);
  assert.equal(longer.stdout, "two\n");
  assert.equal(server.seen.at(-1)?.query.get("prefix"), "aab2");
  assert.equal((await token(["list", "-prefix", "zz"])).code, 2);
});

test("an empty list says so, and is an empty list for programs", async () => {
  const args = ["list", "-filter", 'Name == "nobody"'];
  const people = await token(args);
  assert.deepEqual([people.code, people.stdout, people.stderr], [3, "", "No tokens found\n"]);
  assert.equal((await token([...args, "-json"])).stdout, "[]\n");
});

test("delete takes several, asks on a terminal, and finds all before it deletes one", async () => {
  const [a, b, c] = [client(), client(), client()];
  const no = await token(["delete", a.AccessorID], { typed: ["n"] });
  assert.equal(no.code, 1);
  assert.ok(server.tokens.all.has(a.AccessorID));
  const wrong = await token(["delete", a.AccessorID, "ffff0000"]);
  assert.equal(wrong.code, 3);
  assert.ok(server.tokens.all.has(a.AccessorID), "a wrong one stops the whole command");
  const two = await token(["delete", a.AccessorID, b.AccessorID.slice(0, 13)]);
  assert.equal(two.code, 0, two.all);
  const lines = [a, b].map((one) => `Token ${one.AccessorID} successfully deleted\n`);
  assert.equal(two.stdout, lines.join(""));
  assert.equal((await token(["delete", "-yes", c.AccessorID], { typed: [] })).code, 0);
  const again = await token(["delete", c.AccessorID]);
  assert.equal(again.code, 3);
  assert.match(again.stderr, new RegExp(`Cannot delete nonexistent tokens: ${c.AccessorID}`));
  assert.equal((await token(["delete"])).code, 2);
});

test("a one-time secret is made, and exchanged without a token and without echo", async () => {
  const { AccessorID, SecretID } = client();
  const env = { HOLDFAST_TOKEN: SecretID };
  const made = await token(["one-time", "create"], { env });
  assert.match(made.stdout, /^One-Time Secret ID = [0-9a-f-]{36}$/m);
  assert.match(made.stdout, new RegExp(`^Accessor ID {8}= ${AccessorID}$`, "m"));
  assert.match(made.stdout, /^Expires At {9}= \S+Z \(in 9m59s\)$/m);
  const { stdout } = await token(["onetime", "create", "-field", "OneTimeSecretID"], { env });
  const oneTime = stdout.trim();
  const exchanged = await token(["one-time", "exchange"], { typed: [oneTime] });
  assert.equal(exchanged.code, 0, exchanged.all);
  assert.deepEqual(exchanged.raw, [true, false], "echo was off");
  assert.ok(!exchanged.all.includes(oneTime));
  assert.ok(exchanged.stdout.includes(`Secret ID    = ${SecretID}\n`));
  assert.equal(server.seen.at(-1)?.headers["x-service-token"], undefined);
  const again = await token(["one-time", "exchange", "-"], { stdin: oneTime });
  assert.equal(again.code, 4);
  assert.match(again.stderr, /unknown, used or expired[^]*one-time create/);
  assert.ok(!again.all.includes(oneTime));
});

test("an exchange gives programs the whole answer, -field looks into the token", async () => {
  const { AccessorID, SecretID } = client();
  const exchange = (...more: string[]) => {
    server.tokens.oneTime.set(SECRET, AccessorID);
    return token(["one-time", "exchange", "-", ...more], { stdin: SECRET });
  };
  const { Index, Token } = JSON.parse((await exchange("-json")).stdout);
  assert.equal(Token.SecretID, SecretID);
  assert.equal(Index, server.tokens.index);
  assert.equal((await exchange("-field", "SecretID")).stdout, SecretID);
  const file = join(home, "out");
  const quiet = await exchange("-secret-out", file, "-quiet");
  assert.equal(quiet.stdout, `${AccessorID}\n`);
  assert.equal(readFileSync(file, "utf8"), `${SecretID}\n`);
});

test("login checks a token by reading it, and tells its name and expiry", async () => {
  const { SecretID, ExpirationTime } = client({ ExpirationTTL: "8h0m0s" });
  const { stdout, stderr } = await cli(["login", "-json", "-"], { stdin: SecretID });
  assert.deepEqual(JSON.parse(stdout), {
    valid: true,
    display_name: "ci reader",
    expire_time: ExpirationTime,
    stored_in: join(home, ".holdfast-token"),
  });
  assert.match(stderr, /read acl\/token\/self/);
  assert.equal((await cli(["login", "-"], { stdin: SECRET })).code, 4);
});

test("doctor names the command that closes an open bootstrap", async () => {
  server.tokens.bootstrapped = null;
  const { stdout } = await cli(["doctor"]);
  assert.match(stdout, /^bootstrap +watch .*run `holdfast acl bootstrap` now$/m);
});

test("groups of commands help at each depth, and near misses are told", async () => {
  assert.match((await cli(["acl", "token", "-help"])).stdout, /^ {2}acl token one-time create /m);
  assert.match((await cli(["help", "acl"])).stdout, /^ {2}acl bootstrap /m);
  assert.equal((await cli(["acl"])).code, 2);
  const near = await token(["lsit"]);
  assert.match(near.stderr, /did you mean `holdfast acl token list`\?/);
  const deep = await token(["one-time", "exchnage"]);
  assert.match(deep.stderr, /did you mean `holdfast acl token one-time exchange`\?/);
});

test("a region that was chosen goes with whatever a command sends about tokens", async () => {
  const { AccessorID: id } = client();
  const lines = (file: string): readonly (readonly string[])[] => [
    ["create", "-policy", "readonly"],
    ["create", "-like", id],
    ["create", "-policy", "readonly", "-accessor", ACCESSOR, "-"],
    ["clone", id],
    ["upload", "-policy", "readonly", SECRET, "-"],
    ["update", "-name", "other", id],
    ["list"],
    ["info", id],
    ["self"],
    ["export", file, id],
    ["import", file],
    ["one-time", "create"],
    ["one-time", "exchange", "-"],
    ["delete", "-yes", "c8427da3"],
  ];
  const commands = (file: string) => [
    ...lines(file).map((line) => ["acl", "token", ...line]),
    ["acl", "replication", "status"],
  ];
  const tried = new Set<string>();
  for (const way of ["flag", "environment"]) {
    for (const line of commands(join(home, way))) {
      const since = server.seen.length;
      const args = way === "flag" ? ["-region", "global"] : [];
      const env: Record<string, string> =
        way === "flag" ? { HOLDFAST_REGION: "nowhere" } : { HOLDFAST_REGION: "global" };
      await cli([...line, ...args], { stdin: `${SECRET}\n`, env });
      const sent = server.seen.slice(since).filter(({ path }) => path.startsWith("acl/"));
      assert.ok(sent.length > 0, line.join(" "));
      for (const { method, path, query } of sent) {
        assert.equal(query.get("region"), "global", `${line.join(" ")}: ${method} ${path}`);
      }
      const found = findCommand(line);
      assert.ok(found.kind === "command");
      tried.add(found.name);
    }
  }
  const taking = (await loadAll()).filter(
    (one) => one.name.startsWith("acl") && one.takesRegion({}),
  );
  assert.deepEqual([...tried].toSorted(), taking.map(({ name }) => name).toSorted());
});

test("where no request has a region, -region is refused, and that of the environment is nobody's concern", async () => {
  for (const line of [
    ["kv", "list", "secret"],
    ["status"],
    ["version"],
    ["read", "sys/health"],
    ["acl", "bootstrap"],
    ["token", "lookup"],
    ["policy", "list"],
  ]) {
    const since = server.seen.length;
    const { code, stderr } = await cli([...line, "-region", "nowhere"]);
    assert.equal(code, 2, line.join(" "));
    assert.match(stderr, /^Error: -region does not belong here/m);
    assert.equal(server.seen.length, since);
  }
  const silent = await cli(["read", "sys/health"], { env: { HOLDFAST_REGION: "nowhere" } });
  assert.equal(silent.code, 0, silent.stderr);
  assert.ok(!silent.stderr.includes("region"));
  await cli(["read", "-region", "global", "acl/token/self"]);
  const { path, query } = server.seen.at(-1)!;
  assert.deepEqual([path, query.get("region")], ["acl/token/self", "global"]);
});
