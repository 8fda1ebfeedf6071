// Threats C: the text of policies, the names they have, and what their templates are filled with.
// Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { at, errorsOf } from "../../support/http-client.ts";
import { governedServer } from "../../support/servers/governed-server.ts";
import { rule } from "../scene.ts";

const KINDS = ["acl", "rgp", "egp"] as const;
const GOVERNING = { enforcement_level: "hard-mandatory", paths: "a/*" };

/** The body of a write of any kind. */
function bodyOf(kind: (typeof KINDS)[number], policy: string): object {
  return kind === "acl" ? { policy } : { policy, ...GOVERNING };
}

function valid(kind: (typeof KINDS)[number]): string {
  return kind === "acl" ? rule("a/*", ["read"]) : "true";
}

test("T-C06: a value that could widen a rule leaves nothing of it", async (t) => {
  const server = await governedServer(t);
  await server.acl("by-name", rule("secret/{{token.name}}/*", ["read"]));
  await server.acl("by-prefix", rule("secret/{{token.name}}*", ["read"]));
  await server.acl("by-team", rule("secret/{{token.meta.team}}/*", ["read"]));
  const reach = async (token: string, path: string) => {
    const { status } = await server.call("GET", `/v1/secret/${path}`, { token });
    assert.ok(status === 403 || status === 404, String(status));
    return status === 404; // nothing is there; whoever may not ask is not told so
  };
  const named = async (policy: string, Name: string) => {
    const body = { Type: "client", Name, Policies: [policy] };
    const made = await server.manage("POST", "/v1/acl/token", { body });
    return made.status === 200 ? String(at(made, "SecretID")) : null;
  };
  const ann = await named("by-name", "ann");
  assert.ok(ann !== null);
  assert.deepEqual([await reach(ann, "ann/x"), await reach(ann, "bob/x")], [true, false]);
  const values = [
    "*",
    "+",
    "a/b",
    "..",
    ",",
    "",
    "bo*",
    "b+",
    "bob/x",
    "ann,bob",
    "{{token.name}}",
  ];
  for (const value of values) {
    for (const policy of ["by-name", "by-prefix"]) {
      const token = await named(policy, value);
      if (token === null) continue; // no name of a token
      for (const path of ["bob/x", "ann/x", "x", "a/b/x", "a/b/c/d"]) {
        assert.equal(await reach(token, path), false, `${policy} "${value}" reaches ${path}`);
      }
    }
    const body = { policies: ["by-team"], meta: { team: value } };
    const made = await server.manage("POST", "/v1/auth/token/create", { body });
    if (made.status !== 200) continue;
    const token = String(at(made, "auth", "client_token"));
    for (const path of ["bob/x", "ann/x", "x", "a/b/x"]) {
      assert.equal(await reach(token, path), false, `meta "${value}" reaches ${path}`);
    }
  }
});

test("T-C09: no document names a file, another document or a function of its own", async (t) => {
  const server = await governedServer(t);
  const texts = {
    acl: [
      'include "/etc/passwd"',
      'include = "/etc/passwd"',
      'path file("/etc/passwd") { policy = "read" }',
      "&a path: x\nb: *a",
      "!!js/function 'function(){}'",
      '{"$ref":"file:///etc/passwd"}',
      '{"path":{"$include":"/etc/passwd"}}',
      '{"path":{"a":{"<<":{"policy":"read"}}}}',
      '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
      'path "a" { policy = file("/etc/passwd") }',
      'path "a" { policy = var.x }',
      'path "a" { capabilities = concat(["read"], []) }',
    ],
    rgp: [
      'file("/etc/passwd") != ""',
      'include("x")',
      'import "strings"\nmain { true }',
      'load("x")',
      'http.get("http://localhost/") == ""',
      'env("HOME") == ""',
      'getenv("HOME") == ""',
      'rule a { true } include "b" main { rule.a }',
      '{"$ref":"file:///etc/passwd"}',
      '{"expression":"true","include":"/etc/passwd"}',
    ],
  };
  for (const kind of KINDS) {
    for (const policy of texts[kind === "acl" ? "acl" : "rgp"]) {
      for (const text of [policy, Buffer.from(policy).toString("base64")]) {
        const answer = await server.manage("POST", `/v1/sys/policies/${kind}/p`, {
          body: bodyOf(kind, text),
        });
        assert.equal(answer.status, 400, `${kind} ${policy}`);
        assert.doesNotMatch(answer.text, /root:x?:0:/);
      }
    }
    assert.equal((await server.manage("GET", `/v1/sys/policies/${kind}/p`)).status, 404);
  }
  // What is no more than text in a label stays text, whatever it looks like.
  const literal = rule('${file(\\"/etc/passwd\\")}', ["read"]);
  const made = await server.manage("POST", "/v1/sys/policies/acl/p", { body: { policy: literal } });
  if (made.status < 300) {
    const read = await server.must("GET", "/v1/sys/policies/acl/p");
    assert.equal(at(read, "data", "policy"), literal);
  }
});

test("T-C09: the leaf that reads documents opens no file and no socket", () => {
  const folder = join(import.meta.dirname, "../../../src");
  const sources = ["document", "acl", "program"]
    .flatMap((room) => globSync(`${room}/**/*.ts`, { cwd: folder }))
    .filter((name) => !name.endsWith(".test.ts"));
  assert.ok(sources.length > 20);
  for (const name of sources) {
    const source = readFileSync(join(folder, name), "utf8");
    assert.doesNotMatch(source, /from "node:(?:fs|net|http|https|child_process|vm|worker_threads)/);
    assert.doesNotMatch(
      source,
      /\beval\(|new Function\b|\bprocess\.|\bfetch\(|import\(\s*[^"]/,
      name,
    );
  }
});

test("T-C10: what a write does not know is told, and never stored", async (t) => {
  const server = await governedServer(t);
  for (const kind of KINDS) {
    const path = `/v1/sys/policies/${kind}/p-${kind}`;
    const body = { ...bodyOf(kind, valid(kind)), owner: "root", version: 77, name: "other" };
    const answer = await server.must("POST", path, { body });
    assert.match(JSON.stringify(at(answer, "warnings")), /owner/);
    const read = await server.must("GET", path);
    assert.equal(at(read, "data", "owner"), undefined);
    assert.equal(at(read, "data", "version"), 1);
    assert.equal(at(read, "data", "name"), `p-${kind}`);
  }
});

test("T-C11: who may not write learns nothing of the text, and nothing of it is read", async (t) => {
  const server = await governedServer(t);
  await server.acl("weak", rule("sys/policies/acl/mine", ["update"]));
  const { secret } = await server.client(["weak"]);
  const bomb = `path "a" { x = ${"[".repeat(50_000)}`;
  for (const kind of KINDS) {
    for (const policy of [bomb, "no policy at all {", valid(kind)]) {
      const body = bodyOf(kind, policy);
      const path = `/v1/sys/policies/${kind}/other`;
      const nobody = await server.call("POST", path, { body });
      assert.deepEqual([nobody.status, errorsOf(nobody)], [403, ["missing client token"]]);
      const weak = await server.call("POST", path, { body, token: secret });
      assert.deepEqual([weak.status, errorsOf(weak)], [403, ["permission denied"]]);
      const tried = await server.call("POST", `${path}?dry_run=true`, { body, token: secret });
      assert.deepEqual([tried.status, errorsOf(tried)], [403, ["permission denied"]]);
    }
  }
  const described = { operation: "read", path: "a", policies: ["weak"] };
  const inspect = "/v1/sys/inspect/request";
  assert.equal((await server.call("POST", inspect, { body: described })).status, 403);
  const answer = await server.call("POST", inspect, { body: described, token: secret });
  assert.deepEqual([answer.status, errorsOf(answer)], [403, ["permission denied"]]);
});

test("T-C12: nothing of the language underneath can be reached from a program", async (t) => {
  const server = await governedServer(t);
  for (const policy of [
    "__proto__ == null",
    "this == null",
    "globalThis == null",
    "process.env == null",
    "constructor != null",
    "request.constructor != null",
    "request.__proto__ != null",
    'request["constructor"] != null',
    "token.toString() != ''",
    "request.path.constructor('return 1')() == 1",
    "Function('return true')()",
    "eval('true')",
    "require('fs') != null",
    "[].map.constructor('x') != null",
    "has(request.__proto__)",
    "rule.constructor",
    "`a` == 'a'",
  ]) {
    const body = { policy, enforcement_level: "hard-mandatory" };
    const answer = await server.manage("POST", "/v1/sys/policies/rgp/p", { body });
    assert.equal(answer.status, 400, policy);
    assert.match(String(at(answer, "errors", 0)), /^failed to parse policy: /);
  }
  // Names that only the data of a request could have: not found, hence a no.
  await server.acl("reads", rule("*", ["read"]));
  for (const [i, policy] of [
    "request.data.constructor != null",
    'request.data["__proto__"] != null',
    'request.data["toString"] != null',
    "token.metadata.hasOwnProperty != null",
    'request.headers["constructor"] != []',
  ].entries()) {
    await server.rgp(`data-${i}`, policy, "hard-mandatory");
    const { secret: token } = await server.client(["reads", `data-${i}`]);
    const answer = await server.call("GET", "/v1/secret/x", { token });
    assert.equal(answer.status, 403, policy);
    assert.doesNotMatch(answer.text, /native code|\[object|Object\b/);
    for (const name of ["__proto__", "constructor"]) {
      const sent = await server.call("GET", `/v1/secret/x?${name}=1`, { token });
      assert.ok(sent.status === 400 || sent.status === 403, `${policy} ${name} ${sent.status}`);
    }
  }
});

test("T-C16: no name of a policy reaches out of its place", async (t) => {
  const server = await governedServer(t);
  const names = [
    "..",
    ".",
    "a/../b",
    "a/./b",
    "a//b",
    "a/",
    "%2E%2E",
    "a%2Fb",
    "a%00b",
    "a%0Ab",
    "a%5Cb",
    "a%E2%80%AEb", // right to left from here
    "%EF%BD%92oot", // wide letters
    "a%C3%A9",
    "a%20b",
    "a:b",
    "a@b",
    "a~b",
    "a".repeat(129),
    "a".repeat(300),
  ];
  for (const kind of KINDS) {
    for (const name of names) {
      const body = bodyOf(kind, valid(kind));
      const headers = { token: server.root, body };
      const answer = await server.call("POST", `/v1/sys/policies/${kind}/${name}`, headers);
      assert.equal(answer.status, 400, `${kind} ${name}: ${answer.text}`);
    }
    const list = await server.manage("LIST", `/v1/sys/policies/${kind}`);
    const keys = list.status === 404 ? [] : at(list, "data", "keys");
    assert.deepEqual(keys, kind === "acl" ? ["default", "root"] : []);
    // Those of an old system are folded like every other.
    const made = await server.must("POST", `/v1/sys/policies/${kind}/CON-${kind}`, {
      body: bodyOf(kind, valid(kind)),
    });
    assert.match(made.text, /policy name was converted to con-/);
    await server.must("GET", `/v1/sys/policies/${kind}/con-${kind}`);
    await server.must("DELETE", `/v1/sys/policies/${kind}/con-${kind}`);
  }
});

test("T-C17: a policy that is deleted is empty, and counts again only from its next writing on", async (t) => {
  const server = await governedServer(t);
  const audit = await server.audit();
  const text = rule("secret/*", ["read"]);
  await server.acl("p", text);
  const { secret: token } = await server.client(["p"]);
  const status = async () => (await server.call("GET", "/v1/secret/x", { token })).status;
  assert.equal(await status(), 404);
  for (let i = 0; i < 5; i++) {
    await server.must("DELETE", "/v1/sys/policies/acl/p");
    assert.equal(await status(), 403);
    assert.equal((await server.call("GET", "/v1/auth/token/lookup-self", { token })).status, 200);
    await server.acl("p", text);
    assert.equal(await status(), 404);
  }
  const operations = audit()
    .filter(({ type, request }) => type === "response" && request.path === "sys/policies/acl/p")
    .map(({ request }) => request.operation);
  assert.equal(operations.filter((one) => one === "delete").length, 5);
  assert.equal(operations.filter((one) => one === "update").length, 6);
  // A restriction that is deleted restricts no more, until it is there again.
  await server.rgp("no", "false", "hard-mandatory");
  const governed = await server.client(["p", "no"]);
  const statusOf = async () =>
    (await server.call("GET", "/v1/secret/x", { token: governed.secret })).status;
  assert.equal(await statusOf(), 403);
  await server.must("DELETE", "/v1/sys/policies/rgp/no");
  assert.equal(await statusOf(), 404);
  await server.rgp("no", "false", "hard-mandatory");
  assert.equal(await statusOf(), 403);
});

test("T-C18: base64 is taken off by one rule, and what is read back is what is in force", async (t) => {
  const server = await governedServer(t);
  const kv = { type: "kv", options: { version: "1" } };
  await server.must("POST", "/v1/sys/mounts/secret", { body: kv }); // rules about nothing are warned of
  const text = `# ÿþ>?>?\n${rule("secret/*", ["read"])}`;
  const bytes = Buffer.from(text, "utf8");
  const standard = bytes.toString("base64");
  assert.match(standard, /[+/]/);
  const read = async () => at(await server.must("GET", "/v1/sys/policies/acl/p"), "data", "policy");
  const write = (policy: string) =>
    server.manage("POST", "/v1/sys/policies/acl/p", { body: { policy } });
  assert.equal((await write(text)).status, 204);
  assert.equal(await read(), text);
  // However often it is encoded: rules and programs look at the text that is stored.
  for (const encoded of [standard, Buffer.from(standard).toString("base64")]) {
    assert.equal((await write(encoded)).status, 204);
    assert.equal(await read(), text);
  }
  for (const other of [
    bytes.toString("base64url"),
    standard.replace(/=*$/, "").slice(0, -1),
    `${standard}=`,
    ` ${standard}`,
    standard.replaceAll(/(.{40})/g, "$1 "),
    Buffer.from([0xc3, 0x28, ...bytes]).toString("base64"), // no UTF-8
  ]) {
    const answer = await write(other);
    assert.equal(answer.status, 400, other);
    assert.equal(await read(), text, "nothing was stored");
  }
  // A document as it stands, and base64 of nothing that is one.
  for (const policy of ["", "Zm9v", "AAAA", "path"]) {
    assert.equal((await write(policy)).status, 400);
  }
  const { secret: token } = await server.client(["p"]);
  assert.equal((await server.call("GET", "/v1/secret/x", { token })).status, 404);
});

test("T-C18: base64 as commands print it, wrapped and with a line end, is the document for every kind", async (t) => {
  const server = await governedServer(t);
  const long = "x".repeat(300);
  for (const kind of KINDS) {
    const text = kind === "acl" ? `# ${long}\n${valid(kind)}` : `true || "${long}" == ""`;
    const base64 = Buffer.from(text).toString("base64");
    const lines = base64.replaceAll(/.{76}/g, "$&\n");
    for (const sent of [`${base64}\n`, `${lines}\n`, lines, lines.replaceAll("\n", "\r\n")]) {
      const name = `/v1/sys/policies/${kind}/wrapped-${kind}`;
      const written = await server.manage("POST", name, { body: bodyOf(kind, sent) });
      assert.ok(written.status < 300, `${kind}: ${written.text}`);
      assert.equal(at(await server.manage("GET", name), "data", "policy"), text);
    }
  }
});

test("T-A10: a list of two bodies, an empty list of paths, and limits that nobody keeps are refused", async (t) => {
  const server = await governedServer(t);
  for (const [policy, problem] of [
    ['{"path":[]}', /At 1:9: "path" is an empty list: expected at least one object/],
    ['{"path":{"a":[{"policy":"read"},{"policy":"deny"}]}}', /At 1:14: .* takes one object below/],
    ['path "a" { pagination_limit = 5 }', /"pagination_limit" is not supported by this server/],
  ] as const) {
    const answer = await server.manage("POST", "/v1/sys/policies/acl/p", { body: { policy } });
    assert.equal(answer.status, 400, policy);
    assert.match(String(at(answer, "errors", 0)), problem);
  }
  const twice = '{"path":[{"kv/a":{"policy":"read"}},{"kv/a":{"policy":"deny"}}]}';
  const { status } = await server.manage("POST", "/v1/sys/policies/acl/p", {
    body: { policy: twice },
  });
  assert.ok(status < 300);
});
