// Threats A where policies are written through the API and EGPs judge: spellings, documents, changes,
// headers. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import { Agent } from "node:http";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { governedServer } from "../../support/servers/governed-server.ts";
import { Dice } from "../dice.ts";
import { auditLines, EVERYTHING, rule, type Scene, scene } from "../scene.ts";
import { misspell } from "../spelling.ts";

async function writeEgp(stage: Scene, name: string, policy: string, paths: string): Promise<void> {
  const body = { policy, paths, enforcement_level: "hard-mandatory" };
  await stage.must("POST", `/v1/sys/policies/egp/${name}`, { body });
}

test("T-A03 T-A04: of a thousand spellings none gets past an EGP, and each leaves its two records", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("locked", "locked/x");
  await writeEgp(stage, "locked", "false", "sys/namespaces/locked/*");
  const token = await stage.clientWith(rule("sys/namespaces/*", EVERYTHING));
  const file = await stage.audit();
  const path = "/sys/namespaces/locked/x";
  assert.equal((await stage.server.call("GET", `/v1${path}`, { token })).status, 403);
  assert.equal((await stage.server.call("LIST", "/v1/sys/namespaces", { token })).status, 200);
  const before = auditLines(file).length;
  const dice = new Dice(7);
  let connection = await stage.connect();
  t.after(() => connection.destroy());
  const sent: string[] = [];
  for (let i = 0; i < 1000; i++) {
    const target = `/v1${misspell(path, dice)}`;
    const verb = dice.of(["GET", "DELETE", "LIST"]);
    const bytes = `${verb} ${target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${token}\r\n\r\n`;
    const { status, headers } = await connection.ask(bytes);
    assert.ok(status === 400 || status === 403, `${status} ${verb} ${target}`);
    sent.push(target);
    if (headers.get("connection") === "close") {
      connection.destroy();
      connection = await stage.connect();
    }
  }
  assert.ok(new Set(sent).size > 700, `${new Set(sent).size} spellings`);
  const lines = auditLines(file).slice(before);
  assert.equal(lines.filter(({ type }) => type === "request").length, sent.length);
  assert.equal(lines.filter(({ type }) => type === "response").length, sent.length);
  await stage.must("GET", `/v1${path}`);
});

test("T-A10: a rule without its place, or with something unknown in it, is refused with line and column", async (t) => {
  const server = await governedServer(t);
  const write = async (policy: string) => {
    const answer = await server.manage("POST", "/v1/sys/policies/acl/p", { body: { policy } });
    return { status: answer.status, text: String(at(answer, "errors", 0)), all: answer.text };
  };
  for (const [line, policy] of [
    [2, '\npath "" { capabilities = ["read"] }'],
    [1, 'path { capabilities = ["read"] }'],
    [3, 'path "a" {\n  capabilities = ["read"]\n  capabilities = ["list"]\n}'],
    [2, 'path "a" {\n  capabilites = ["read"]\n}'],
    [2, 'path "a" {\n  capabilities = ["read", "banana"]\n}'],
    [1, 'paths "a" { capabilities = ["read"] }'],
    [1, 'capabilities = ["read"]'],
    [1, 'path "a" "b" { capabilities = ["read"] }'],
    [1, '{"path":{"a":{"capabilities":["read"],"capabilities":["list"]}}}'],
  ] as const) {
    const { status, text } = await write(policy);
    assert.equal(status, 400, policy);
    assert.match(text, /^failed to parse policy: /);
    const position = /(?:At |line )(\d+)(?::|, column )(\d+)/.exec(text);
    assert.ok(position !== null, `no line and column: ${text}`);
    assert.equal(Number(position[1]), line, text);
  }
  assert.equal((await server.manage("GET", "/v1/sys/policies/acl/p")).status, 404);
  // One path twice is legal and merges, with a warning.
  const twice = rule("a", ["read"]) + rule("a", ["deny"]);
  const { status, all } = await write(twice);
  assert.equal(status, 200);
  assert.match(all, /warnings/);
});

test("T-A17: whoever waits is judged again when it is woken, by EGP and by RGP", async (t) => {
  const server = await governedServer(t);
  await server.rgp("rgp", "true", "hard-mandatory");
  const { secret: token, accessor } = await server.client(["default", "rgp"]);
  const change = (Name: string) => {
    const body = { AccessorID: accessor, Name, Type: "client", Policies: ["default", "rgp"] };
    return server.must("POST", `/v1/acl/token/${accessor}`, { body });
  };
  /** In an object, so that only the wait for it to stand in line is awaited. */
  const parked = async () => {
    const self = await server.call("GET", "/v1/acl/token/self", { token });
    assert.equal(self.status, 200, self.text);
    const path = `/v1/acl/token/self?index=${String(self.headers["x-service-index"])}&wait=30s`;
    const answer = server.call("GET", path, { token });
    for (let i = 0; i < 10; i++) await server.must("GET", "/v1/sys/health");
    return { answer };
  };
  const { answer: unhindered } = await parked();
  await change("one");
  assert.equal((await unhindered).status, 200);
  for (const [kind, deny, allow] of [
    [
      "egp",
      () => server.egp("no", "false", "hard-mandatory", ["acl/*"]),
      () => server.must("DELETE", "/v1/sys/policies/egp/no"),
    ],
    [
      "rgp",
      () => server.rgp("rgp", "false", "hard-mandatory"),
      () => server.rgp("rgp", "true", "hard-mandatory"),
    ],
  ] as const) {
    const { answer } = await parked();
    await deny();
    await change(`changed by ${kind}`);
    const { status, text } = await answer;
    assert.equal(status, 403, `${kind}: ${text}`);
    assert.doesNotMatch(text, /changed by/);
    await allow();
  }
});

const FLIPS = 20;
const CONNECTIONS = 32;

interface Flip {
  readonly kind: string;
  /** Of the path without a route: 404 is what lets pass. */
  readonly write: (allow: boolean) => Promise<unknown>;
}

test("T-A20: while 32 connections ask, none is answered by a text that a newer one had replaced", async (t) => {
  const server = await governedServer(t);
  await server.acl("reads", rule("secret/*", ["read"]));
  await server.acl("acl", rule("secret/*", ["read"]));
  await server.rgp("rgp", "true", "hard-mandatory");
  const { secret: token } = await server.client(["reads", "acl", "rgp"]);
  const hard = "hard-mandatory";
  const flips: readonly Flip[] = [
    {
      kind: "acl",
      write: (allow) => server.acl("acl", rule("secret/*", [allow ? "read" : "deny"])),
    },
    { kind: "rgp", write: (allow) => server.rgp("rgp", String(allow), hard) },
    { kind: "egp", write: (allow) => server.egp("egp", String(allow), hard, ["secret/*"]) },
    {
      kind: "egp that is deleted",
      write: (allow) =>
        allow
          ? server.must("DELETE", "/v1/sys/policies/egp/gone")
          : server.egp("gone", "false", hard, ["secret/x"]),
    },
    {
      kind: "acl that is deleted",
      write: (allow) =>
        allow
          ? server.must("DELETE", "/v1/sys/policies/acl/acl")
          : server.acl("acl", rule("secret/*", ["deny"])),
    },
  ];
  for (const { kind, write } of flips) {
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    // Even numbers allow. What is answered must be a text between the last that was acknowledged
    // when the request was sent and the last that was begun when its answer came.
    const version = { begun: 0, acknowledged: 0 };
    await write(true);
    let running = true;
    let settled = 0;
    const hammer = async () => {
      while (running) {
        const from = version.acknowledged;
        const { status } = await server.call("GET", "/v1/secret/x", { token, agent });
        const to = version.begun;
        assert.ok(status === 404 || status === 403, String(status));
        if (from !== to) continue;
        settled += 1;
        assert.equal(status, to % 2 === 0 ? 404 : 403, `${kind}: ${status} at version ${to}`);
      }
    };
    const hammers = Array.from({ length: CONNECTIONS }, hammer);
    try {
      for (let i = 1; i <= FLIPS; i++) {
        version.begun = i;
        await write(i % 2 === 0);
        version.acknowledged = i;
        const { status } = await server.call("GET", "/v1/secret/x", { token, agent });
        assert.equal(status, i % 2 === 0 ? 404 : 403, `${kind}: the next request`);
      }
    } finally {
      running = false;
      await Promise.all(hammers);
      agent.destroy();
    }
    assert.ok(settled > FLIPS, `${kind}: ${settled} answers between two writes`);
  }
});

test("T-A21: a condition on a header sees every value, or the request is refused", async (t) => {
  const stage = await scene(t);
  const header = "/v1/sys/config/auditing/request-headers/X-Region";
  await stage.must("POST", header, { body: { hmac: false } });
  const program =
    '!("x-region" in request.headers) || request.headers["x-region"].all(v, v == "eu")';
  await writeEgp(stage, "region", program, "secret/*");
  await writeEgp(stage, "named", '"x-region" in request.headers', "named/*");
  const token = await stage.clientWith(rule("secret/*", ["read"]) + rule("named/*", ["read"]));
  const status = async (path: string, ...headers: readonly string[]) =>
    (await stage.target("GET", `/v1/${path}`, `X-Service-Token: ${token}`, ...headers)).status;
  assert.equal(await status("secret/x"), 404);
  assert.equal(await status("secret/x", "X-Region: eu"), 404);
  assert.equal(await status("named/x"), 403);
  for (const name of ["X-Region", "x-region", "X-REGION", "x-ReGiOn"]) {
    assert.equal(await status("named/x", `${name}: eu`), 404, name);
    assert.equal(await status("secret/x", `${name}: us`), 403, name);
  }
  for (const headers of [
    ["X-Region: eu", "X-Region: us"],
    ["X-Region: us", "x-region: eu"],
    ["X-Region: eu, us"],
    ["X-Region: eu,us"],
    ["X-Region: us,eu"],
    ["X-Region: eu;us"],
    ["X-Region: EU"],
    ["X-Region:"],
    ["X-Region: eu\r\n us"], // folded
    ["X-Region : us"],
    ["X_Region: eu", "X-Region: us"],
  ]) {
    const seen = await status("secret/x", ...headers);
    assert.ok(seen === 403 || seen === 400, `${headers.join(" | ")}: ${seen}`);
  }
});

test("T-A21: a header in two families of names is one where both mean the same, and refused where not", async (t) => {
  const stage = await scene(t);
  await stage.namespaces("team");
  const status = async (path: string, ...headers: readonly string[]) =>
    (await stage.target("GET", `/v1/${path}`, `X-Service-Token: ${stage.root}`, ...headers)).status;
  const read = "sys/policies/acl/default";
  for (const [name, values, others] of [
    ["Namespace", ["team", "team/", "/team", "/team/"], ["", "tea", "team//", "team/x", "TEAM"]],
    ["Wrap-TTL", ["60", "60s", "1m", "1m0s"], ["", "61s", "60x", "6"]],
    ["Wrap-Format", ["jwt", "JWT"], ["token", ""]],
    ["Policy-Override", ["true", "1", "TRUE", "t"], ["false", "0", "x"]],
  ] as const) {
    for (const value of values) {
      assert.equal(await status(read, `X-Vault-${name}: ${value}`), 200, `${name} ${value}`);
      for (const other of values) {
        const both = [`X-Vault-${name}: ${value}`, `X-Service-${name}: ${other}`] as const;
        assert.equal(await status(read, ...both), 200, both.join(" | "));
      }
      for (const other of others) {
        const both = [`X-Vault-${name}: ${value}`, `X-Service-${name}: ${other}`] as const;
        assert.equal(await status(read, ...both), 400, both.join(" | "));
      }
    }
  }
});

test("T-A13: a document in base64, however often, is that document to rules and programs", async (t) => {
  const stage = await scene(t);
  const path = "sys/policies/acl/+";
  const token = await stage.clientWith(
    `path "${path}" { capabilities = ["create", "update"] denied_parameters = { policy = ["*secret*"] } }`,
  );
  const other = await stage.clientWith(rule("sys/policies/acl/*", ["create", "update"]));
  const program = '!(has(request.data.policy) && request.data.policy.contains("secret"))';
  await writeEgp(stage, "no-secret", program, "sys/policies/acl/*");
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const plain = rule("secret/*", ["read"]);
  const wrapped = base64(plain).replaceAll(/.{20}/g, "$&\n");
  // What a comment may hold beside the characters that people write.
  const odd = ["\x7f", "\u0080", "\u0085", "\u009f", "\ufffd", "\u2028", "\ufeff"].map(
    (character) => base64(`# ${character}\n${plain}`),
  );
  const marked = base64(`\ufeff${plain}`);
  const spellings = [plain, base64(plain), wrapped, base64(base64(plain)), marked, ...odd];
  for (const policy of spellings) {
    for (const who of [token, other]) {
      const how = { token: who, body: { policy } };
      const answer = await stage.server.call("POST", "/v1/sys/policies/acl/x", how);
      assert.equal(answer.status, 403, `${policy}: ${answer.text}`);
    }
  }
  const harmless = { token, body: { policy: base64(rule("kv/*", ["read"])) } };
  const written = await stage.server.call("POST", "/v1/sys/policies/acl/x", harmless);
  assert.ok(written.status < 300, written.text);
});

test("T-A13: of a document in any encoding that is stored, rules and programs have seen the stored text", async (t) => {
  const server = await governedServer(t);
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const plain = rule("kv/*", ["read"]);
  await server.egp("seen", '!request.data.policy.contains("kv")', "hard-mandatory", [
    "sys/policies/acl/*",
    "sys/policies/rgp/*",
    "sys/policy/*",
  ]);
  const { secret: token } = await server.client([
    await server.acl("writes", rule("sys/polic*", ["create", "update"])).then(() => "writes"),
  ]);
  const kinds = [
    ["sys/policies/acl/p", plain, {}],
    ["sys/policy/p", plain, {}],
    ["sys/policies/rgp/p", 'request.path != "kv"', { enforcement_level: "advisory" }],
  ] as const;
  for (const [path, document, beside] of kinds) {
    for (let code = 0; code < 0xa0; code++) {
      const policy = base64(`${document}\n# ${String.fromCharCode(code)}`);
      const how = { token, body: { ...beside, policy } };
      const { status, text } = await server.call("POST", `/v1/${path}`, how);
      // Denied for what it holds, or, as no document in either form, refused by the parser.
      if (status !== 403)
        assert.match(text, /failed to parse policy/, `${path} ${code}: ${status}`);
    }
    assert.equal((await server.manage("GET", `/v1/${path}`)).status, 404, path);
  }
});

test("T-A16: who has no right hears nothing of a field that is given twice, and null is not given", async (t) => {
  const stage = await scene(t);
  const target = "/v1/sys/config/cors?allowed_origins=https://a.example";
  const token = await stage.clientWith(rule("kv/*", ["read"]));
  const twice = { body: { allowed_origins: "https://b.example" } };
  const denied = await stage.server.call("POST", target, { token, ...twice });
  assert.equal(denied.status, 403, denied.text);
  const answer = await stage.server.call("POST", target, { token: stage.root, ...twice });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /in the body and in the query/);
  const once = { token: stage.root, body: { allowed_origins: null } };
  const taken = await stage.server.call("POST", target, once);
  assert.ok(taken.status < 300, taken.text);
});
