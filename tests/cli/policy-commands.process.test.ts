// Policy commands beyond what transcripts say: what is sent, files that are changed in place, cases for ACL
// documents, questions on a terminal, and refusals by governing policies.

import assert from "node:assert/strict";
import {
  chmodSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FakeServer, ROOT_TOKEN, type Answered } from "./fakes/fake-server.ts";
import { makeHome, run, type RunOptions } from "./harness.ts";

async function fakeFor(t: TestContext) {
  const server = (await FakeServer.start()).opened();
  t.after(() => server.stop());
  const env = {
    HOLDFAST_ADDR: server.address,
    HOLDFAST_TOKEN: ROOT_TOKEN,
    HOME: makeHome((call) => t.after(call)),
  };
  const policy = (args: readonly string[], options: RunOptions = {}) =>
    run(["policy", ...args], { env, ...options });
  return { server, policy };
}

function folderFor(t: TestContext): (name: string, text?: string) => string {
  const home = makeHome((call) => t.after(call));
  return (name, text) => {
    const path = join(home, name);
    if (text !== undefined) writeFileSync(path, text);
    return path;
  };
}

test("write sends a whole policy, or only what was given of one that exists", async (t) => {
  const { server, policy } = await fakeFor(t);
  const at = folderFor(t);
  const document = at("hours.cel", "true\n");
  const write = async (...args: string[]) => {
    const { code, all } = await policy(["write", ...args]);
    assert.equal(code, 0, all);
    const { method, path, body, query } = server.seen.at(-1)!;
    return { method, path, body, query: query.toString() };
  };
  assert.deepEqual(
    await write(
      "-type",
      "egp",
      "-level",
      "advisory",
      "-paths",
      "a/*",
      "-paths",
      "b,c",
      "hours",
      `@${document}`,
    ),
    {
      method: "POST",
      path: "sys/policies/egp/hours",
      body: { policy: "true\n", enforcement_level: "advisory", paths: ["a/*", "b", "c"] },
      query: "",
    },
  );
  assert.deepEqual(await write("-type", "egp", "-level", "hard-mandatory", "hours"), {
    method: "PATCH",
    path: "sys/policies/egp/hours",
    body: { enforcement_level: "hard-mandatory" },
    query: "",
  });
  assert.deepEqual(await write("-type", "egp", "-cas", "2", "-dry-run", "hours", document), {
    method: "PATCH",
    path: "sys/policies/egp/hours",
    body: { policy: "true\n", cas: 2 },
    query: "dry_run=true",
  });
  const acl = at("a.hcl", 'path "a" { capabilities = ["read"] }');
  const more = ["-cas-required", "-ttl", "90m", "team/a b", acl];
  assert.deepEqual(await write("-cas", "-1", ...more), {
    method: "POST",
    path: "sys/policies/acl/team/a b",
    body: {
      policy: 'path "a" { capabilities = ["read"] }',
      cas_required: true,
      ttl: "1h30m0s",
      cas: -1,
    },
    query: "",
  });
});

test("write refuses what cannot be meant before anything is sent", async (t) => {
  const { server, policy } = await fakeFor(t);
  for (const [args, message] of [
    [["-level", "advisory", "a", "-"], "-level is for -type rgp and egp"],
    [["-type", "rgp", "-paths", "a", "a", "-"], "-paths is for -type egp"],
    [["-ttl", "1h", "-expires-at", "2030-01-01T00:00:00Z", "a", "-"], "exclude each other"],
    [["-cas", "-2", "a", "-"], "-cas takes the version that is to be replaced, or -1"],
    [["-type", "sentinel", "a", "-"], "-type takes one of acl, rgp, egp"],
    [["a"], "FILE is missing"],
    [["a", "/nowhere/b.hcl"], "cannot read /nowhere/b.hcl: there is no such file"],
  ] as const) {
    const { code, stderr } = await policy(["write", ...args], { stdin: "true" });
    assert.equal(code, 2, args.join(" "));
    assert.ok(stderr.includes(message), stderr);
  }
  assert.deepEqual(server.seen, []);
});

test("delete asks on a terminal, and deletes nothing when the answer is no", async (t) => {
  const { server, policy } = await fakeFor(t);
  for (const name of ["a", "b"]) {
    const write = ["write", "-type", "rgp", "-level", "advisory", name, "-"];
    assert.equal((await policy(write, { stdin: "main = rule { true }" })).code, 0);
  }
  server.seen.length = 0;
  const args = ["delete", "-type", "rgp", "a", "b"];
  const no = await policy(args, { typed: ["n"], columns: 80 });
  assert.deepEqual([no.code, server.seen.length], [1, 0], no.all);
  assert.match(no.stderr, /Delete RGP 2 policies\? \[y\/N\]/);
  assert.equal((await policy(args, { typed: ["y"], columns: 80 })).code, 0);
  assert.deepEqual(
    server.seen.filter(({ method }) => method === "DELETE").map(({ path }) => path),
    ["sys/policies/rgp/a", "sys/policies/rgp/b"],
  );
  assert.equal((await policy(["delete"])).code, 2);
});

test("deleting a policy that is not there says so, and names the kind that has the name", async (t) => {
  const { server, policy } = await fakeFor(t);
  const write = ["write", "-type", "egp", "-level", "advisory", "-paths", "*", "hours", "-"];
  assert.equal((await policy(write, { stdin: "main = rule { true }" })).code, 0);
  const none = await policy(["delete", "nosuch"]);
  assert.deepEqual([none.code, none.stdout], [3, ""]);
  assert.match(none.stderr, /there is no ACL policy nosuch: nothing was deleted\n$/);
  const other = await policy(["delete", "hours"]);
  assert.equal(other.code, 3);
  assert.match(other.stderr, /there is an EGP of that name: give -type egp/);
  assert.ok(server.seen.every(({ method }) => method !== "DELETE"));
  // Who may not look deletes as before.
  server.instead.set("GET sys/policies/egp/hours", { status: 403, body: { errors: ["no"] } });
  const blind = await policy(["delete", "-type", "egp", "hours"]);
  assert.deepEqual([blind.code, blind.stdout], [0, "Success! EGP deleted: hours\n"]);
});

test("fmt changes files in place: comments, mode and links stay, and nothing is left behind", async (t) => {
  const at = folderFor(t);
  const ugly = '# why\npath "a"{ capabilities=["read"] } # not more';
  const pretty = '# why\npath "a" {\n  capabilities = ["read"]\n} # not more\n';
  const file = at("a.hcl", ugly);
  const rules = at("b.cel", "main{ true }");
  const fine = at("c.cel", "main { true }\n");
  chmodSync(file, 0o640);
  symlinkSync("a.hcl", at("link.hcl"));

  const check = await run(["policy", "fmt", "-check", file, rules, fine]);
  assert.deepEqual([check.code, check.stdout], [1, `${file}\n${rules}\n`]);
  assert.equal(readFileSync(file, "utf8"), ugly);

  const link = at("link.hcl");
  const first = await run(["policy", "fmt", "-format", "json", link, rules, fine]);
  assert.deepEqual([first.code, JSON.parse(first.stdout)], [0, [link, rules]], first.all);
  assert.equal(readFileSync(file, "utf8"), pretty);
  assert.equal(readFileSync(rules, "utf8"), "main { true }\n");
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(join(file, "..")).toSorted(), [
    "a.hcl",
    "b.cel",
    "c.cel",
    "link.hcl",
  ]);

  const second = await run(["policy", "fmt", "-check", link, rules, fine]);
  assert.deepEqual([second.code, second.stdout], [0, ""]);
});

test("fmt goes on after a document that cannot be read, and leaves that one alone", async (t) => {
  const at = folderFor(t);
  const broken = at("broken.hcl", 'path "a" {\n  capabilities = [\n}\n');
  const other = at("other.hcl", 'path "a"{}');
  const { code, stdout, stderr } = await run(["policy", "fmt", broken, other]);
  assert.equal(code, 1);
  assert.equal(stdout, `${other}\n`);
  assert.match(stderr, /^Error: .*broken\.hcl: At 3:1: /);
  assert.equal(readFileSync(broken, "utf8"), 'path "a" {\n  capabilities = [\n}\n');
  assert.equal(readFileSync(other, "utf8"), 'path "a" {}\n');
});

test("test puts cases to ACL documents, and says which rule decided", async (t) => {
  const at = folderFor(t);
  const shop = at("shop.hcl", '# shop\npath "secret/shop/*" { capabilities = ["read", "list"] }\n');
  const deny = at("deny.hcl", 'path "secret/shop/till" { capabilities = ["deny"] }\n');
  const cases = at(
    "cases.hcl",
    `test "reads prices" { path = "secret/shop/prices" operation = "read" want = true }
test "not the till" { path = "secret/shop/till" operation = "read" want = false }
`,
  );
  const ran = await run(["policy", "test", "-cases", cases, shop, deny]);
  assert.equal(ran.code, 0, ran.all);
  const rows = ran.stdout.split("\n").slice(2, -1);
  assert.deepEqual(rows, [
    `passed    reads prices    ${cases}:1    true      true     –`,
    `passed    not the till    ${cases}:2    false     false    –`,
  ]);
  assert.equal(ran.stderr, "2 tests passed, 0 failed.\n");

  const without = await run(["policy", "test", "-format", "json", "-cases", cases, shop]);
  assert.equal(without.code, 1);
  const found = JSON.parse(without.stdout) as Record<string, unknown>[];
  assert.deepEqual(
    found.map(({ test: name, passed, got }) => [name, passed, got]),
    [
      ["reads prices", true, true],
      ["not the till", false, true],
    ],
  );
  assert.match(
    String(found[1]?.["because"]),
    /^"secret\/shop\/\*" of policy .* on line 2, column 1 grants/,
  );
});

test("test reports what cannot be read, and warns of what is hardly meant", async (t) => {
  const at = folderFor(t);
  const wrong = at("wrong.hcl", '\npath "a" { capabilities = ["raed"] }\n');
  const odd = at(
    "odd.hcl",
    'path "a/*/b" { capabilities = ["read"] }\npath "u/{{token.name}}" { capabilities = ["read"] }\n',
  );
  const { code, stdout, stderr } = await run(["policy", "test", wrong, odd]);
  assert.equal(code, 1);
  assert.match(stdout, /FAILED {4}– {7}.*wrong\.hcl:2 .*invalid capability "raed"/);
  assert.match(stderr, /Warning: .*odd\.hcl: .*a\/\*\/b/);
  assert.match(stderr, /odd\.hcl: rules with \{\{…\}\} are left out/);
  assert.match(stderr, /odd\.hcl: nothing is tested; give cases with -cases/);
});

const DENIED =
  '2 errors occurred:\n\t* egp standard policy "root/hours" evaluation resulted in denial.\n\n' +
  "The specific error was:\n<nil>\n\n" +
  'A trace of the execution for policy "root/hours" is available:\n\n' +
  "Result: false\n\nDescription: Nobody changes prices at night.\n\n" +
  'Rule "main" (root/hours:3:1) = false\nRule "day" (root/hours:1:1) = false\n' +
  "\t* permission denied\n\n";

test("a denial by a governing policy is told with its trace, legibly", async (t) => {
  const { server, policy } = await fakeFor(t);
  const refused: Answered = { status: 403, body: { errors: [DENIED] } };
  server.instead.set("GET sys/policies/acl/x", refused);
  const { code, stderr } = await policy(["read", "x"]);
  assert.equal(code, 4);
  assert.equal(
    stderr,
    `Error: GET sys/policies/acl/x: denied by egp root/hours (status 403)
  Description: Nobody changes prices at night.
  Rule "main" (root/hours:3:1) = false
  Rule "day" (root/hours:1:1) = false
Next: ask those who write policies: \`holdfast policy why\` tells them the reason, and the level. A soft-mandatory one is passed by with -policy-override, which is audited; a hard-mandatory one is not
`,
  );
});

test("-policy-override asks for it, and nothing else does", async (t) => {
  const { server, policy } = await fakeFor(t);
  await policy(["list"]);
  await policy(["list", "-policy-override"]);
  const overrides = server.seen.map(({ headers }) => headers["x-service-policy-override"]);
  assert.deepEqual(overrides, [undefined, "true"]);
});
