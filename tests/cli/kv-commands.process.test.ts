// kv commands beyond what transcripts say: what is sent, pages that are followed, questions on a
// terminal, and paths that lead elsewhere.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FakeServer, ROOT_TOKEN } from "./fakes/fake-server.ts";
import { makeHome, run, type RunOptions } from "./harness.ts";

async function fakeFor(t: TestContext) {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const { kv } = server.engines.add("team/secret/", { type: "kv", options: { version: "2" } });
  server.engines.add("plain/", { type: "kv", options: { version: "1" } });
  server.engines.add("cloud/", { type: "cloud" });
  const home = makeHome((call) => t.after(call));
  const env = { HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
  const cli = (args: readonly string[], options: RunOptions = {}) =>
    run(["kv", ...args], { env, ...options });
  const sent = async (...args: string[]) => {
    const { code, all } = await cli(args);
    assert.equal(code, 0, all);
    const { method, path, body, query } = server.seen.at(-1)!;
    return { method, path, body, query: query.toString() };
  };
  const put = async (...keys: string[]) => {
    for (const key of keys) await sent("put", `team/secret/${key}`, "a=1");
  };
  return { server, home, kv, cli, sent, put };
}

test("put and patch send data apart from options; files and standard input hold values", async (t) => {
  const { home, cli, sent, server } = await fakeFor(t);
  const file = join(home, "password");
  writeFileSync(file, "correct horse\n");
  const at = { path: "team/secret/data/app/a b", query: "" };
  assert.deepEqual(await sent("put", "-cas", "0", "team/secret/app/a b", `p=@${file}`, "x=\\@y"), {
    ...at,
    method: "POST",
    body: { data: { p: "correct horse\n", x: "@y" }, options: { cas: 0 } },
  });
  assert.deepEqual(await sent("patch", "-remove", "x", "/team/secret/app/a b/", "y=2"), {
    ...at,
    method: "PATCH",
    body: { data: { y: "2", x: null } },
  });
  for (const name of ["put", "patch"]) {
    const { code, stderr } = await cli([name, "plain/app", "who=a", "who=b"]);
    assert.equal(code, 2);
    assert.match(stderr, /who is given twice\nNext: .*JSON/);
  }
  const json = await cli(["put", "-mount", "team/secret", "app", "-"], {
    stdin: '{"n": 12345678901234567890}',
  });
  assert.equal(json.code, 0, json.all);
  assert.equal(server.seen.at(-1)?.path, "team/secret/data/app");
  assert.deepEqual((await sent("put", "plain/app", "a=1")).body, { a: "1" }, "version 1 is bare");
});

test("get gives programs the whole answer, and people data and version apart", async (t) => {
  const { cli, put, server } = await fakeFor(t);
  await put("app");
  const json = await cli(["get", "-format", "json", "team/secret/app"]);
  assert.equal(json.stderr, "");
  assert.equal(JSON.parse(json.stdout).data.data.a, "1");
  assert.equal((await cli(["get", "-field", "a", "team/secret/app"])).all, "1\n");
  await cli(["get", "-version", "1", "team/secret/app"]);
  assert.equal(server.seen.at(-1)?.query.get("version"), "1");
  const wrapped = await cli([
    "get",
    "-wrap-ttl",
    "90s",
    "-field",
    "wrapping_token",
    "team/secret/app",
  ]);
  assert.match(wrapped.stdout, /^[0-9a-f-]{36}$/, wrapped.all);
  assert.equal(server.seen.at(-1)?.headers["x-service-wrap-ttl"], "1m30s");
  const look = server.seen.at(-2);
  assert.equal(look?.path, "sys/internal/ui/mounts/team/secret/app");
  assert.equal(look?.headers["x-service-wrap-ttl"], undefined, "the look at the mount is not");
});

const PEM = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\nByqGSM49\n-----END PRIVATE KEY-----\n";

test("files and pipes go in and come out byte for byte", async (t) => {
  const { home, cli, sent } = await fakeFor(t);
  const file = join(home, "value");
  const values = [PEM, "abc\n", "abc", "\n", "", "a\r\nb\r\n", "\ufeffbom\ufffd", "a\0b\u2028"];
  for (const value of values) {
    writeFileSync(file, value);
    const named = await sent("put", "team/secret/app", `v=@${file}`);
    assert.deepEqual(named.body, { data: { v: value } });
    const piped = await cli(["put", "team/secret/app", "v=-"], { stdin: value });
    assert.equal(piped.code, 0, piped.all);
    const noted = /^[^\r\n]+\n$/.test(value);
    const empty =
      value === "" ? "Note: v is empty: nothing came from where it was to be read.\n" : "";
    assert.equal(
      piped.stderr,
      noted ? "Note: v ends with a newline, which is kept; printf '%s' makes none.\n" : empty,
    );
    assert.equal((await cli(["get", "-field", "v", "team/secret/app"])).stdout, value);
  }
  const onScreen = await cli(["get", "-field", "v", "team/secret/app"], { columns: 80 });
  assert.equal(
    onScreen.stdout,
    "a\\x00b\\u2028\n",
    "a terminal gets a newline, and nothing that steers it",
  );
});

test("a path without data/ is told which command is meant, and a version that is not there which are", async (t) => {
  const { cli, put, server, home } = await fakeFor(t);
  await put("app");
  const env = { HOLDFAST_ADDR: server.address, HOLDFAST_TOKEN: ROOT_TOKEN, HOME: home };
  for (const [words, meant] of [
    [["read", "team/secret/app"], "get"],
    [["write", "team/secret/app", "a=1"], "put"],
    [["delete", "team/secret/app"], "delete"],
  ] as const) {
    const verb = server.seen.length;
    const { code, stderr } = await run(words, { env });
    assert.equal(code, 3, stderr);
    assert.ok(stderr.includes(`use \`holdfast kv ${meant} team/secret/app\``), stderr);
    assert.ok(server.seen.length > verb);
  }
  const version = await cli(["get", "-version", "99", "team/secret/app"]);
  assert.equal(version.code, 3);
  assert.match(version.stderr, /team\/secret\/app has no version 99; there are \S+ to 1\n/);
  const none = await cli(["get", "team/secret/x/y"]);
  assert.match(none.stderr, /`holdfast kv list team\/secret\/x` shows what is there/);
});

test("bytes that are no UTF-8 are refused, and how to store them is said", async (t) => {
  const { home, cli, server } = await fakeFor(t);
  const bytes = Buffer.from([0x61, 0xff, 0x0a]);
  const file = join(home, "bytes");
  writeFileSync(file, bytes);
  const before = server.seen.length;
  const named = await cli(["put", "team/secret/app", `v=@${file}`]);
  assert.equal(named.code, 2);
  assert.match(named.stderr, /cannot read .*bytes: it is not UTF-8 text; encode it, in base64 say/);
  const piped = await cli(["put", "team/secret/app", "v=-"], { stdin: bytes });
  assert.equal(piped.code, 2);
  assert.match(piped.stderr, /standard input is not UTF-8 text\nNext: encode it, in base64 say/);
  assert.ok(server.seen.slice(before).every(({ method }) => method === "GET"));
});

test("on a terminal name=- asks without echo, for each name", async (t) => {
  const { cli, server } = await fakeFor(t);
  const typed = [" hunter2-canary ", " hunter2-canary ", "second-canary"];
  const { code, all, raw } = await cli(["put", "team/secret/app", "password=-", "pin=-"], {
    typed,
  });
  assert.equal(code, 0, all);
  assert.deepEqual(server.seen.at(-1)?.body, {
    data: { password: " hunter2-canary ", pin: "second-canary" },
  });
  assert.match(
    all,
    /password \(not shown\): [^]*password again \(not shown\): [^]*pin \(not shown\): /,
  );
  assert.ok(!all.includes("canary"));
  assert.deepEqual(raw, [true, false, true, false, true, false]);
  const never = await cli(["-non-interactive", "put", "team/secret/app", "password=-"], { typed });
  assert.equal(never.code, 2);
});

test("lists, searches and moves go on to the last page without a word", async (t) => {
  const { kv, cli, put, server } = await fakeFor(t);
  await put("s/a", "s/b", "s/c/d", "s/e", "t");
  kv.page = 2;
  const all = await cli(["list", "-recursive", "team/secret/s"]);
  assert.deepEqual([all.code, all.stderr], [0, ""]);
  assert.equal(all.stdout, "Keys\n----\na\nb\nc/d\ne\n");
  assert.equal((await cli(["search", "s/", "team/secret"])).stdout.split("\n").length, 7);
  const before = server.seen.length;
  const two = await cli(["search", "-limit", "2", "s/", "team/secret"]);
  assert.equal(two.stdout.split("\n").length, 5);
  assert.equal(server.seen.length, before + 2, "no page more than needed");
  const some = await cli(["list", "-recursive", "-limit", "1", "team/secret/s"]);
  assert.equal(some.stdout, "Keys\n----\na\n");
  assert.match(some.stderr, /there are more; go on with after=a/);

  const moved = await cli(["move", "-recursive", "team/secret/s", "team/secret/u"]);
  assert.equal(moved.stdout, "Success! Moved 4 secrets from team/secret/s to team/secret/u\n");
  assert.deepEqual([...kv.secrets.keys()].toSorted(), ["t", "u/a", "u/b", "u/c/d", "u/e"]);
  const copied = await cli([
    "copy",
    "-recursive",
    "-format",
    "json",
    "team/secret/u",
    "team/secret/v",
  ]);
  assert.deepEqual(JSON.parse(copied.stdout), { copied: 4 });

  await cli(["delete", "team/secret/u/a", "team/secret/u/b", "team/secret/v/e", "team/secret/x"]);
  assert.deepEqual(server.seen.at(-1)?.body, { paths: ["u/a", "u/b", "v/e", "x"] });
  const bin = await cli(["list", "-deleted", "team/secret/u"]);
  assert.match(bin.stdout, /\nu\/a +1 .*\nu\/b +1 .*\n$/, bin.all);
  const detailed = await cli(["list", "-detailed", "team/secret/u"]);
  assert.match(detailed.stdout, /Key +Version +Changed/);
});

test("delete, undelete and destroy name versions; destroy asks on a terminal", async (t) => {
  const { cli, sent, put, server } = await fakeFor(t);
  await put("app", "app", "app");
  const at = (area: string) => ({ method: "POST", path: `team/secret/${area}/app`, query: "" });
  const app = "team/secret/app";
  assert.deepEqual(await sent("delete", "-versions", "1,2", app), {
    ...at("delete"),
    body: { versions: [1, 2] },
  });
  assert.deepEqual(await sent("undelete", "-versions", "2", "-versions", "1", app), {
    ...at("undelete"),
    body: { versions: [2, 1] },
  });
  assert.deepEqual((await sent("undelete", app)).body, { versions: [3] }, "the newest by itself");
  for (const name of ["delete", "undelete", "destroy"]) {
    const { code, stderr } = await cli([name, "-versions", "1,7", app]);
    assert.equal(code, 3, name);
    assert.match(stderr, /there is no version 7 of team\/secret\/app; there are 1 to 3/);
    assert.notEqual(server.seen.at(-1)?.method, "POST", "nothing is done in part");
  }
  const no = await cli(["destroy", "-versions", "1", app], { typed: ["n"] });
  assert.deepEqual([no.code, server.seen.at(-1)?.method], [1, "GET"]);
  assert.match(no.stderr, /Destroy version 1 of team\/secret\/app for good\?/);
  assert.equal((await cli(["destroy", app])).code, 2);
  assert.equal((await cli(["metadata", "delete", app], { typed: ["n"] })).code, 1);
  assert.equal((await cli(["metadata", "delete", "-yes", app], { typed: [] })).code, 0);
});

test("a rollback is refused where somebody writes in between", async (t) => {
  const { cli, put, server } = await fakeFor(t);
  await put("app", "app");
  const rolled = await cli(["rollback", "-version", "1", "team/secret/app"]);
  assert.equal(rolled.code, 0, rolled.all);
  assert.deepEqual(server.seen.at(-1)?.body, { data: { a: "1" }, options: { cas: 2 } });
});

test("metadata is set and patched by flags", async (t) => {
  const { sent, put, cli } = await fakeFor(t);
  await put("app");
  const at = { path: "team/secret/metadata/app", query: "" };
  const flags = ["-max-versions", "3", "-cas-required", "true", "-delete-version-after", "24h"];
  assert.deepEqual(
    await sent("metadata", "put", ...flags, "-custom-metadata", "owner=anna", "team/secret/app"),
    {
      ...at,
      method: "POST",
      body: {
        max_versions: 3,
        cas_required: true,
        delete_version_after: "24h0m0s",
        custom_metadata: { owner: "anna" },
      },
    },
  );
  const notes = ["-custom-metadata", "floor=2", "-remove-custom-metadata", "owner"];
  assert.deepEqual(await sent("metadata", "patch", ...notes, "team/secret/app"), {
    ...at,
    method: "PATCH",
    body: { custom_metadata: { floor: "2", owner: null } },
  });
  assert.equal((await cli(["metadata", "put", "team/secret/app"])).code, 2);
});

test("paths that cannot be meant are told as such, and secrets are not repeated", async (t) => {
  const { cli } = await fakeFor(t);
  for (const [args, code, message] of [
    [["get", "cloud/app"], 2, "cloud/ is no kv mount, but one of type cloud"],
    [["get", "team/secret"], 2, "team/secret/ is the mount; the path of a secret goes further"],
    [["get", "-mount", "team", "secret/app"], 2, "there is no mount team/; team/secret/ serves"],
    [["copy", "team/secret/app", "plain/app"], 2, "are in two mounts"],
    [["put", "team/secret/app", "hunter2"], 2, "data argument 1 is not NAME=VALUE"],
    [["put", "team/secret/app"], 2, "there is no data"],
    [["put", "-cas", "1", "plain/app", "a=1"], 2, "plain/ is of version 1"],
    [["list", "-deleted", "-recursive", "team/secret"], 2, "exclude each other"],
    [["list"], 2, "PATH is missing"],
    [["get", "elsewhere/app"], 3, "no mount serves elsewhere/app"],
  ] as const) {
    const ran = await cli(args);
    assert.equal(ran.code, code, ran.all);
    assert.ok(ran.stderr.includes(message), ran.stderr);
    assert.doesNotMatch(ran.all, /hunter2/);
  }
});

test("a mount that is hidden from the token, and a token that is no good, are told apart", async (t) => {
  const { cli, server } = await fakeFor(t);
  const answers = (...errors: string[]) =>
    server.instead.set("GET sys/internal/ui/mounts/team/secret/app", {
      status: 403,
      body: { errors },
    });
  answers("permission denied");
  const hidden = await cli(["get", "team/secret/app"]);
  assert.equal(hidden.code, 4);
  assert.match(
    hidden.stderr,
    /no mount that this token may use serves team\/secret\/app\nNext: check/,
  );
  const astray = await cli(["get", "-namespace", "tema", "team/secret/app"]);
  assert.match(astray.stderr, /Next: .*the namespace tema, if there is one of that name/);
  answers(
    '2 errors occurred:\n\t* egp standard policy "root/all" evaluation resulted in denial.\n\t* permission denied\n\n',
  );
  const governed = await cli(["get", "team/secret/app"]);
  assert.equal(governed.code, 4);
  assert.match(governed.stderr, /denied by egp root\/all[^]*Next: ask those who write policies/);
  answers("permission denied", "invalid token");
  const wrong = await cli(["get", "team/secret/app"]);
  assert.equal(wrong.code, 4);
  assert.match(wrong.stderr, /Next: the token from HOLDFAST_TOKEN is unknown or expired/);
});
