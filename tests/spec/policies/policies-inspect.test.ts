// sys/inspect/request: what would become of a request, and why.
// Nothing is executed, and nothing of it is told to the caller itself.

import assert from "node:assert/strict";
import test from "node:test";
import { governedServer, type GovernedServer } from "../../support/servers/governed-server.ts";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";

const HARD = "hard-mandatory";
const SOFT = "soft-mandatory";
const NOBODY = "11111111-2222-4333-8444-555555555555";
const INSPECT = "/v1/sys/inspect/request";
const APP = `# what the application may do
path "secret/data/*" {
  capabilities = ["read"]
}
`;

interface Step {
  readonly kind: string;
  readonly name: string;
  readonly result: string;
  readonly level?: string;
  readonly message?: string;
  readonly rules?: readonly { readonly name: string; readonly value: boolean | null }[];
}

function inspect(server: GovernedServer, body: object, namespace?: string): Promise<Answer> {
  return server.manage("POST", INSPECT, { body, namespace });
}

async function said(server: GovernedServer, body: object, namespace?: string) {
  const answer = await inspect(server, body, namespace);
  assert.equal(answer.status, 200, answer.text);
  const steps = at(answer, "data", "steps") as readonly Step[];
  return {
    allowed: at(answer, "data", "allowed"),
    reason: String(at(answer, "data", "reason")),
    rule: at(answer, "data", "rule") as { policy: string; path: string; line: number } | null,
    minimal: at(answer, "data", "minimal_policy"),
    steps: steps.map(({ kind, name, result }) => `${kind} ${name} ${result}`),
    full: steps,
  };
}

test("a token has policies of its own: whoever names others beside it is told so", async (t) => {
  const server = await governedServer(t);
  await server.acl("app", APP);
  const { accessor } = await server.client(["app"]);
  const body = { operation: "read", path: "secret/data/x", token_accessor: accessor };
  for (const more of [{ policies: ["app"] }, { policies: [] }, { no_default_policy: true }]) {
    const answer = await inspect(server, { ...body, ...more });
    assert.equal(answer.status, 400, answer.text);
    assert.match(String(errorsOf(answer)), /token_accessor, or policies/);
  }
  assert.equal((await inspect(server, { ...body, no_default_policy: false })).status, 200);
});

test("a denial names policy, rule and line, and the smallest rule that would allow it", async (t) => {
  const server = await governedServer(t);
  await server.acl("app", APP);
  const { accessor } = await server.client(["app"]);
  const body = { operation: "update", path: "secret/data/x" };
  for (const who of [{ token_accessor: accessor }, { policies: ["app"] }, { policies: "app" }]) {
    const { allowed, rule, steps, minimal, reason } = await said(server, { ...who, ...body });
    assert.equal(allowed, false);
    assert.deepEqual([rule?.policy, rule?.path, rule?.line], ["app", "secret/data/*", 2]);
    assert.deepEqual(steps, ["acl app deny"]);
    assert.match(reason, /not update/);
    assert.match(String(minimal), /path "secret\/data\/x" \{[^}]*"update"/);
  }
  const again = await said(server, { ...body, operation: "read", policies: ["app"] });
  assert.deepEqual([again.allowed, again.steps, again.minimal], [true, ["acl app allow"], null]);
  const other = await said(server, { ...body, path: "other", policies: ["app"] });
  assert.deepEqual([other.allowed, other.rule, other.steps], [false, null, ["acl  deny"]]);
});

test("governing policies are listed in their order, with the values of their rules", async (t) => {
  const server = await governedServer(t);
  await server.acl("app", APP);
  await server.rgp("fine", "true", HARD);
  const program = [
    "# Only from the office",
    'rule office { ip_in(request.connection.remote_addr, "10.0.0.0/8") }',
    "rule day { now.getHours() >= 8 && now.getHours() < 18 }",
    "main { rule.office && rule.day }",
  ].join("\n");
  await server.egp("hours", program, SOFT, ["secret/*"]);
  await server.egp("team", 'token.metadata.team == "a"', "advisory", ["*"]);
  const body = { policies: ["app", "fine"], operation: "read", path: "secret/data/x" };
  const office = { ...body, remote_address: "10.1.2.3", time: "2026-03-02T10:00:00Z" };
  const day = await said(server, office);
  assert.deepEqual(day.steps, [
    "acl app allow",
    "rgp fine pass",
    "egp hours pass",
    "egp team error",
  ]);
  assert.equal(day.allowed, true);
  const night = await said(server, { ...office, time: "2026-03-02T22:00:00Z" });
  assert.equal(night.allowed, false);
  const hours = night.full.find(({ name }) => name === "hours");
  assert.deepEqual([hours?.level, hours?.result], [SOFT, "fail"]);
  assert.deepEqual(
    hours?.rules?.map(({ name, value }) => [name, value]),
    [
      ["main", false],
      ["office", true],
      ["day", false],
    ],
  );
  const overridden = await inspect(server, {
    ...office,
    time: "2026-03-02T22:00:00Z",
    policy_override: true,
  });
  assert.equal(at(overridden, "data", "allowed"), true);
  assert.equal(at(overridden, "data", "override_needed"), true);
  assert.match(String(night.full.find(({ name }) => name === "team")?.message), /team/);
});

test("headers are seen as of a real request: only those that are audited", async (t) => {
  const server = await governedServer(t);
  await server.acl("app", APP);
  await server.must("POST", "/v1/sys/config/auditing/request-headers/x-ticket", { body: {} });
  const policy = 'request.headers == {"x-ticket": ["A-1", "B-2"]}';
  const documents = [{ type: "egp", name: "ticket", policy }];
  const headers = { "X-Ticket": "A-1, B-2", "X-Other": "hidden" };
  const body = { policies: ["app"], operation: "read", path: "secret/data/x", documents };
  assert.equal((await said(server, { ...body, headers })).allowed, true);
  assert.equal((await said(server, body)).allowed, false);
});

test("after a denial by the ACL no program is asked", async (t) => {
  const server = await governedServer(t);
  await server.egp("no", "false", HARD, ["*"]);
  const { steps } = await said(server, { policies: ["none"], operation: "read", path: "secret/x" });
  assert.deepEqual(steps, ["acl  deny"]);
});

test("wrapping and parameters count as they do for a request", async (t) => {
  const server = await governedServer(t);
  const wrapped =
    'path "a" { capabilities = ["read"] min_wrapping_ttl = "1m" max_wrapping_ttl = "1h" }';
  const document = 'path "b" { capabilities = ["update"] required_parameters = ["why"] }';
  await server.acl("bounds", `${wrapped}\n${document}`);
  await server.egp("wrapped", "request.wrapping.ttl_seconds < 1000", HARD, ["a"]);
  const read = { policies: ["bounds"], operation: "read", path: "a" };
  const results = [];
  for (const wrap_ttl of [0, "30s", "5m", 3600, "2h"]) {
    results.push((await said(server, { ...read, wrap_ttl })).allowed);
  }
  assert.deepEqual(results, [false, false, true, false, false]);
  const write = { policies: ["bounds"], operation: "update", path: "b" };
  assert.equal((await said(server, write)).allowed, false);
  assert.equal((await said(server, { ...write, data: { why: "x" } })).allowed, true);
});

test("documents are tried in place of the stored ones, and stored nowhere", async (t) => {
  const server = await governedServer(t);
  await server.acl("app", APP);
  await server.rgp("bound", "true", HARD);
  await server.egp("gate", "true", HARD, ["*"]);
  const { accessor } = await server.client(["app", "bound"]);
  const body = { token_accessor: accessor, operation: "read", path: "secret/data/x" };
  const tried = async (...documents: object[]) => said(server, { ...body, documents });
  assert.equal((await tried()).allowed, true);
  const acl = { type: "acl", name: "app", policy: 'path "other" { capabilities = ["read"] }' };
  assert.equal((await tried(acl)).allowed, false);
  const deny = 'path "secret/data/x" { capabilities = ["deny"] }';
  const more = await tried({ type: "acl", name: "more", policy: deny });
  assert.deepEqual([more.allowed, more.rule?.policy], [false, "more"]);
  const rgp = await tried({ type: "rgp", name: "bound", policy: "false" });
  assert.deepEqual(rgp.steps, ["acl app allow", "rgp bound fail", "egp gate pass"]);
  const egp = { type: "egp", name: "gate", policy: "false", enforcement_level: "advisory" };
  const gate = await tried({ ...egp, paths: ["secret/data/x"] });
  assert.deepEqual(gate.steps, ["acl app allow", "rgp bound pass", "egp gate fail"]);
  assert.equal(gate.allowed, true);
  const elsewhere = await tried({ ...egp, paths: "elsewhere/*" });
  assert.deepEqual(elsewhere.steps, ["acl app allow", "rgp bound pass"]);
  assert.equal((await tried()).allowed, true);
  assert.deepEqual((await tried()).steps, ["acl app allow", "rgp bound pass", "egp gate pass"]);
});

test("whose request: management, nobody's, and what needs no policy", async (t) => {
  const server = await governedServer(t);
  await server.egp("no", "false", HARD, ["*"]);
  const self = await server.must("GET", "/v1/acl/token/self");
  const read = { operation: "read", path: "sys/key-status" };
  const root = await said(server, { ...read, token_accessor: at(self, "AccessorID") });
  assert.deepEqual([root.allowed, root.steps], [true, []]);
  assert.match(root.reason, /management/);
  const nobody = await said(server, read);
  assert.deepEqual([nobody.allowed, nobody.reason], [false, "missing client token"]);
  const open = await said(server, { operation: "read", path: "sys/health" });
  assert.deepEqual([open.allowed, open.steps], [true, []]);
  const login = { operation: "update", path: "acl/token/onetime/exchange" };
  assert.deepEqual((await said(server, login)).steps, ["egp no fail"]);
  const spec1 = await said(server, { policies: ["x"], operation: "read", path: "acl/token/self" });
  assert.deepEqual([spec1.allowed, spec1.steps], [false, ["egp no fail"]]);
  const managed = await said(server, { policies: ["x"], operation: "list", path: "acl/tokens" });
  assert.equal(managed.allowed, false);
});

test("sudo is asked for where the path needs it", async (t) => {
  const server = await governedServer(t);
  await server.acl("weak", 'path "sys/*" { capabilities = ["update"] }');
  await server.acl("strong", 'path "sys/*" { capabilities = ["update", "sudo"] }');
  for (const [policy, allowed] of [
    ["weak", false],
    ["strong", true],
  ] as const) {
    const body = { policies: [policy], operation: "update", path: "sys/seal" };
    assert.equal((await said(server, body)).allowed, allowed);
  }
});

test("namespaces: below the one that is asked in, and no further", async (t) => {
  const server = await governedServer(t);
  for (const path of ["team", "team/deep", "beside"]) {
    await server.must("POST", `/v1/sys/namespaces/${path}`);
  }
  await server.acl("app", APP, "team");
  await server.egp("from-above", "true", HARD, ["team/*"]);
  const { accessor } = await server.client(["app"], "team");
  const question = { token_accessor: accessor, operation: "read", path: "secret/data/x" };
  const steps = ["acl app allow", "egp from-above pass"];
  assert.deepEqual((await said(server, { ...question, namespace: "team/" })).steps, steps);
  assert.deepEqual((await said(server, { ...question, path: "team/secret/data/x" })).steps, steps);
  assert.deepEqual((await said(server, question, "team")).steps, steps);
  for (const body of [
    question, // its token is not of the root namespace
    { ...question, namespace: "beside" },
  ]) {
    const refused = await inspect(server, body);
    assert.deepEqual([refused.status, errorsOf(refused)], [400, ["invalid accessor"]]);
  }
  const out = await inspect(server, { ...question, namespace: "../beside" }, "team");
  assert.equal(out.status, 400);
  const restricted = { policies: ["app"], operation: "read", path: "sys/metrics" };
  assert.match((await said(server, restricted, "team")).reason, /restricted/);
});

test("only management and sudo may ask; a caller learns nothing of its own denial by it", async (t) => {
  const server = await governedServer(t);
  await server.acl("update", `path "sys/inspect/request" { capabilities = ["update"] }`);
  await server.acl("sudo", `path "sys/inspect/request" { capabilities = ["update", "sudo"] }`);
  const body = { policies: ["x"], operation: "read", path: "x" };
  for (const [policy, status] of [
    ["update", 403],
    ["sudo", 200],
  ] as const) {
    const { secret: token } = await server.client([policy]);
    assert.equal((await server.call("POST", INSPECT, { body, token })).status, status);
  }
});

test("nothing is executed, counted or spent", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", 'path "sys/namespaces/new" { capabilities = ["create", "update"] }');
  await server.egp("hint", "false", "advisory", ["*"]);
  const { allowed } = await said(server, {
    policies: ["all"],
    operation: "create",
    path: "sys/namespaces/new",
  });
  assert.equal(allowed, true);
  assert.equal((await server.manage("GET", "/v1/sys/namespaces/new")).status, 404);
  const { text } = await server.must("GET", "/v1/sys/metrics?format=prometheus");
  assert.doesNotMatch(text, /policy_would_deny_total\{/);
  assert.doesNotMatch(server.test.lines.join(""), /advisory policy failed/);
});

test("what cannot be asked is refused by name", async (t) => {
  const server = await governedServer(t);
  const body = { policies: ["x"], operation: "read", path: "x" };
  for (const [change, text] of [
    [{ operation: "revoke" }, /^operation must be one of create, read, update/],
    [{ path: "a//b" }, /^path must be names joined by single slashes$/],
    [{ path: "a/../b" }, /^path must be/],
    [{ token_accessor: NOBODY, policies: undefined }, /^invalid accessor$/],
    [{ namespace: "none" }, /^namespace must be one that exists/],
    [{ time: "soon" }, /RFC 3339/],
    [{ documents: [{ type: "acl", name: "x" }] }, /^documents must be a list/],
    [{ documents: [{ type: "rgp", name: "x", policy: "request.pth" }] }, /did you mean/],
    [{ documents: [{ type: "acl", name: "x", policy: "path {" }] }, /./],
  ] as const) {
    const answer = await inspect(server, { ...body, ...change });
    assert.equal(answer.status, 400, JSON.stringify(change));
    assert.match(String(at(answer, "errors", 0)), text);
  }
});

test("a value is the same in every spelling that its endpoint reads as the same, here as in a request", async (t) => {
  const server = await governedServer(t);
  const path = "auth/token/create";
  const text = (rules: string) => `path "${path}" { capabilities = ["create", "update"] ${rules} }`;
  await server.acl("short", text('allowed_parameters = { "ttl" = ["1h"] }'));
  await server.acl("plain", text('denied_parameters = { "renewable" = [true], "num_uses" = [0] }'));
  await server.acl("must", text('required_parameters = ["ttl"]'));
  const rows: readonly [policy: string, data: object, allowed: boolean][] = [
    ["short", { ttl: "60m" }, true],
    ["short", { ttl: 3600 }, true],
    ["short", { ttl: "3601" }, false],
    ["plain", { renewable: "true" }, false],
    ["plain", { renewable: "1" }, false],
    ["plain", { renewable: "f" }, true],
    ["plain", { num_uses: "0" }, false],
    ["must", { ttl: null }, false],
    ["must", { TTL: "1h" }, false],
    ["must", { ttl: "1h" }, true],
  ];
  for (const [policy, data, allowed] of rows) {
    const { secret: token, accessor } = await server.client([policy]);
    const body = { operation: "update", path, data, token_accessor: accessor };
    assert.equal((await said(server, body)).allowed, allowed, JSON.stringify([policy, data]));
    const answer = await server.call("POST", `/v1/${path}`, { token, body: data });
    assert.equal(answer.status, allowed ? 200 : 403, answer.text);
  }
  const { secret: token } = await server.client(["must"]);
  const query = await server.call("POST", `/v1/${path}?ttl=1h`, { token, body: {} });
  assert.equal(query.status, 403, "a query that nothing reads satisfies no rule");
});

test("what denies a length by its meaning is explained, and ends", async (t) => {
  const server = await governedServer(t);
  const path = "auth/token/create";
  const denied = 'denied_parameters = { "ttl" = ["30m", "1h"] }';
  await server.acl("half", `path "${path}" { capabilities = ["update"] ${denied} }`);
  for (const ttl of ["30m", "1800s", 1800, "1h"]) {
    const body = { operation: "update", path, data: { ttl }, policies: ["half"] };
    const { allowed, minimal } = await said(server, body);
    assert.equal(allowed, false);
    assert.match(String(minimal), /path "auth\/token\/create"/);
  }
});

test("a request comes from an address, and from nothing else", async (t) => {
  const server = await governedServer(t);
  const body = { operation: "read", path: "secret/data/x", policies: [] };
  for (const remote_address of ["10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3", "unix"]) {
    assert.equal((await inspect(server, { ...body, remote_address })).status, 200, remote_address);
  }
  for (const remote_address of ["not an address", "", "10.1.2", "10.0.0.0/8", "10.1.2.3:80"]) {
    const answer = await inspect(server, { ...body, remote_address });
    assert.equal(answer.status, 400, remote_address);
    assert.match(
      String(errorsOf(answer)),
      /^remote_address must be an IP address such as 10\.1\.2\.3/,
    );
  }
});
