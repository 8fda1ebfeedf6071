// Threats A where a value in a body has several spellings: accessors and tokens in either case, paths with a
// slash at an end, ranges of addresses, names of clouds. Rules, programs and records go by the one that is
// acted on. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { auditLines, EVERYTHING, rule, scene, type Scene } from "../scene.ts";

const HARD = { enforcement_level: "hard-mandatory" };

async function child(stage: Scene): Promise<{ accessor: string; secret: string }> {
  const made = await stage.must("POST", "/v1/auth/token/create", {
    body: { policies: ["default"] },
  });
  return {
    accessor: String(at(made, "auth", "accessor")),
    secret: String(at(made, "auth", "client_token")),
  };
}

function denying(stage: Scene, paths: string | string[], values: object): Promise<string> {
  const pairs = Object.entries(values).map(([k, v]) => `"${k}" = ${JSON.stringify(v)}`);
  const more = `denied_parameters = { ${pairs.join("\n")} }`;
  const rules = [paths].flat().map((path) => rule(path, [...EVERYTHING, "sudo"], more));
  return stage.clientWith(rules.join(""));
}

test("T-A13: an accessor or a token that a rule or program names is that one in either case", async (t) => {
  const stage = await scene(t);
  const { accessor, secret } = await child(stage);
  const denied = {
    accessor: [accessor],
    token: [secret.toUpperCase()],
    token_accessor: [accessor],
  };
  const token = await denying(stage, ["+/*", "sys/wrapping/unwrap"], denied);
  for (const [path, body] of [
    ["auth/token/lookup-accessor", { accessor }],
    ["auth/token/renew-accessor", { accessor }],
    ["auth/token/revoke-accessor", { accessor }],
    ["auth/token/lookup", { token: secret }],
    ["auth/token/renew", { token: secret }],
    ["auth/token/revoke", { token: secret }],
    ["sys/capabilities", { token: secret, paths: "x" }],
    ["sys/capabilities-accessor", { accessor, paths: "x" }],
    ["sys/inspect/request", { token_accessor: accessor, operation: "read", path: "x" }],
    ["sys/wrapping/unwrap", { token: secret }],
  ] as const) {
    const [name = "", value = ""] = Object.entries(body)[0] ?? [];
    for (const spelling of [value.toLowerCase(), value.toUpperCase()]) {
      const sent = { ...body, [name]: spelling };
      const answer = await stage.server.call("POST", `/v1/${path}`, { token, body: sent });
      assert.equal(answer.status, 403, `${path} ${name === "token" ? "token" : spelling}`);
    }
  }
  const policy = `!has(request.data.accessor) || request.data.accessor != ${JSON.stringify(accessor)}`;
  const body = { policy, paths: "auth/token/*", ...HARD };
  await stage.must("POST", "/v1/sys/policies/egp/that-one", { body });
  const anyone = await stage.clientWith(rule("auth/token/*", EVERYTHING));
  for (const spelling of [accessor, accessor.toUpperCase()]) {
    const options = { token: anyone, body: { accessor: spelling } };
    const answer = await stage.server.call("POST", "/v1/auth/token/revoke-accessor", options);
    assert.equal(answer.status, 403, answer.text);
  }
  await stage.must("GET", "/v1/auth/token/lookup-self", { token: secret });
});

test("T-A13: a path that a rule names is that one with a slash at either end", async (t) => {
  const stage = await scene(t);
  for (const path of ["kv", "k1"]) {
    const body = { type: "kv", options: { version: "2" } };
    await stage.must("POST", `/v1/sys/mounts/${path}`, { body });
  }
  await stage.must("POST", "/v1/kv/data/closed/b", { body: { data: { v: 1 } } });
  const spellings = (path: string) => [path, `/${path}`, `${path}/`, `/${path}/`];
  const token = await denying(stage, "kv/copy", { from: ["closed/b"] });
  const target = await denying(stage, "kv/copy", { to: ["/open/q/"] });
  for (const from of spellings("closed/b")) {
    const body = { from, to: "open/x" };
    assert.equal((await stage.server.call("POST", "/v1/kv/copy", { token, body })).status, 403);
  }
  for (const to of spellings("open/q")) {
    const options = { token: target, body: { from: "closed/b", to } };
    assert.equal((await stage.server.call("POST", "/v1/kv/copy", options)).status, 403);
  }
  const deletes = await denying(stage, "kv/bulk-delete", { paths: ["/closed/b"] });
  for (const path of spellings("closed/b")) {
    for (const paths of [path, [path], ["open/x", path]]) {
      const options = { token: deletes, body: { paths } };
      const answer = await stage.server.call("POST", "/v1/kv/bulk-delete", options);
      assert.equal(answer.status, 403, JSON.stringify(paths));
    }
  }
  for (const named of ["k1", "k1/"]) {
    const moves = await denying(stage, "sys/remount", { from: [named] });
    const quotas = await denying(stage, "sys/quotas/*", { path: [named] });
    for (const from of spellings("k1")) {
      const moved = { token: moves, body: { from, to: "k2" } };
      assert.equal((await stage.server.call("POST", "/v1/sys/remount", moved)).status, 403, from);
      const counted = { token: quotas, body: { path: from, rate: 5 } };
      const answer = await stage.server.call("POST", "/v1/sys/quotas/rate-limit/q", counted);
      assert.equal(answer.status, 403, from);
    }
  }
  const guards = await denying(stage, "sys/policies/egp/*", { paths: ["k1/*"] });
  for (const paths of ["/k1/*", ["/k1/*"], "a/b,/k1/*", [" k1/* "]]) {
    const options = { token: guards, body: { policy: "true", paths, ...HARD } };
    const answer = await stage.server.call("POST", "/v1/sys/policies/egp/x", options);
    assert.equal(answer.status, 403, JSON.stringify(paths));
  }
});

test("T-A13: a range of addresses and a cloud are judged by what they are, not by how they are written", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/approle", { body: { type: "approle" } });
  await stage.must("POST", "/v1/sys/mounts/b", { body: { type: "cloudb" } });
  const denied = ["10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"];
  const token = await denying(stage, "auth/approle/role/*", { token_bound_cidrs: denied });
  for (const range of ["10.0.0.0/8", "10.1.2.3/8", "127.0.0.1", "2001:DB8:0:1::/32"]) {
    for (const ranges of [range, [range], ["192.0.2.1", range]]) {
      const options = { token, body: { token_bound_cidrs: ranges } };
      const answer = await stage.server.call("POST", "/v1/auth/approle/role/r", options);
      assert.equal(answer.status, 403, JSON.stringify(ranges));
    }
  }
  // What is shown again is what was written.
  const body = { token_bound_cidrs: ["10.1.2.3/9"] };
  await stage.must("POST", "/v1/auth/approle/role/r", { token, body });
  const role = await stage.must("GET", "/v1/auth/approle/role/r");
  assert.deepEqual(at(role, "data", "token_bound_cidrs"), ["10.1.2.3/9"]);
  for (const [named, spellings] of [
    ["CloudBChinaCloud", ["AzureChinaCloud", "CLOUDBCHINACLOUD"]],
    ["AzurePublicCloud", ["cloudbpubliccloud", "AzurePublicCloud", ""]],
  ] as const) {
    const clouds = await denying(stage, "b/config", { environment: [named] });
    for (const environment of spellings) {
      const options = { token: clouds, body: { environment } };
      const answer = await stage.server.call("POST", "/v1/b/config", options);
      assert.equal(answer.status, 403, environment);
    }
  }
});

test("T-A13: what a role of cloud B grants is judged without blanks, case and members that nobody reads", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/b", { body: { type: "cloudb" } });
  const scope = "/subscriptions/cd88a6b0-1111-4222-8333-444455556666";
  const id = `${scope}/providers/Microsoft.Authorization/roleDefinitions/r1`;
  const policy =
    "!has(request.data.cloudb_roles) || request.data.cloudb_roles.all(r, " +
    `!r.scope.startsWith(${JSON.stringify(scope)}) && (!has(r.role_name) || r.role_name != "owner") && ` +
    `(!has(r.role_id) || r.role_id != ${JSON.stringify(id.toLowerCase())}))`;
  const body = { policy, paths: "b/roles/*", ...HARD };
  await stage.must("POST", "/v1/sys/policies/egp/scopes", { body });
  const token = await stage.clientWith(rule("b/roles/*", EVERYTHING));
  const grant = { role_name: "Contributor", scope };
  const denied = `[[{ "role_name" = "Contributor", "scope" = "${scope}x" }]]`;
  const other = await stage.clientWith(
    rule("b/roles/*", EVERYTHING, `denied_parameters = { "cloudb_roles" = ${denied} }`),
  );
  const far = "/subscriptions/other";
  for (const [who, element] of [
    [token, grant],
    [token, { ...grant, scope: ` ${scope}` }],
    [token, { ...grant, scope: `\u00a0${scope}` }],
    [token, { ...grant, scope: scope.toUpperCase() }],
    [token, { role_name: "Owner", scope: far }],
    [token, { role_name: "OWNER", scope: far }],
    [token, { role_id: id, scope: far }],
    [token, { role_id: `${id} `, scope: far }],
    [token, { role_id: id.slice(1), scope: far }],
    [token, { role_id: id.toUpperCase(), scope: far }],
    [other, { ...grant, scope: `${scope}x` }],
    [other, { ...grant, scope: `${scope}x//` }],
    [other, { ...grant, role_name: "contributor", scope: `${scope}X/` }],
    [other, { ...grant, scope: `${scope}x `, role_id: "", x: 1 }],
  ] as const) {
    for (const roles of [[element], JSON.stringify([element])]) {
      const options = { token: who, body: { cloudb_roles: roles } };
      const answer = await stage.server.call("POST", "/v1/b/roles/x", options);
      assert.equal(answer.status, 403, JSON.stringify(element));
    }
  }
});

test("T-A13: ids, audiences, endpoints and documents of clouds are judged by what they are", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/b", { body: { type: "cloudb" } });
  await stage.must("POST", "/v1/sys/mounts/a", { body: { type: "clouda" } });
  const id = "0a1b2c3d-1111-4222-8333-44445555abcd";
  const statement = (action: string) =>
    `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"${action}","Resource":"*"}]}`;
  const user = { credential_type: "iam_user" };
  const keys = { access_key: "AKIAIOSFODNN7EXAMPLE", secret_key: "x".repeat(40) };
  for (const [path, name, denied, spellings] of [
    ["b/roles/x", "application_object_id", id, [id, id.toUpperCase(), ` ${id}`]],
    [
      "b/roles/x",
      "sign_in_audience",
      "CloudBADMultipleOrgs",
      ["CloudBADMultipleOrgs", "AzureADMultipleOrgs"],
    ],
    ["b/config", "tenant_id", id, [id, id.toUpperCase()]],
    ["b/config", "client_id", id.toUpperCase(), [id, id.toUpperCase()]],
    [
      "a/roles/x",
      "policy_document",
      "*iam:*",
      ["iam:PassRole", "\\u0069am:PassRole"].map(statement),
    ],
    [
      "a/config/root",
      "iam_endpoint",
      "https://evil.example.com",
      ["https://EVIL.example.com", "HTTPS://evil.example.com/", "https://evil.example.com:443"],
    ],
  ] as const) {
    const token = await denying(stage, path, { [name]: [denied] });
    for (const spelling of spellings) {
      const more = path.startsWith("a/roles") ? user : path.startsWith("a/") ? keys : {};
      const options = { token, body: { ...more, [name]: spelling } };
      const answer = await stage.server.call("POST", `/v1/${path}`, options);
      assert.equal(answer.status, 403, `${name} ${spelling}: ${answer.text}`);
    }
  }
});

test("T-A13: a pattern in capitals denies what is judged in lower case, and the other way round", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/approle", { body: { type: "approle" } });
  const id = "aaaabbbb-1111-4222-8333-ccccddddeeee";
  const { accessor } = await child(stage);
  for (const [path, name, value, sent] of [
    ["cloudb/config", "tenant_id", id, {}],
    ["cloudb/config", "subscription_id", id, {}],
    ["cloudb/config", "client_id", id, {}],
    ["cloudb/config", "environment", "CloudBChinaCloud", {}],
    ["cloudb/roles/r", "application_object_id", id, {}],
    ["auth/token/lookup-accessor", "accessor", accessor, {}],
    ["sys/capabilities-accessor", "accessor", accessor, { paths: "x" }],
    ["auth/approle/role/x", "token_bound_cidrs", "fe80:0:0:0:0:0:0:0/10", {}],
    ["auth/approle/role/x", "secret_id_bound_cidrs", "fe80:0:0:0:0:0:0:0/10", {}],
    [
      "sys/policies/acl/x",
      "expiration",
      "2130-01-01T00:00:00Z",
      { policy: rule("kv/*", ["read"]) },
    ],
  ] as const) {
    const part = value.slice(0, -2);
    for (const pattern of [
      `${part.toUpperCase()}*`,
      `${part.toLowerCase()}*`,
      part.toUpperCase() + value.slice(-2),
    ]) {
      const token = await denying(stage, path, { [name]: [pattern] });
      for (const spelling of [value.toLowerCase(), value.toUpperCase()]) {
        const body = { ...sent, [name]: spelling };
        const answer = await stage.server.call("POST", `/v1/${path}`, { token, body });
        assert.equal(answer.status, 403, `${path} ${name} ${pattern} ${spelling}: ${answer.text}`);
      }
    }
    const other = await denying(stage, path, { [name]: ["zzz*"] });
    const answer = await stage.server.call("POST", `/v1/${path}`, {
      token: other,
      body: { ...sent, [name]: value },
    });
    assert.notEqual(answer.status, 403, `${path} ${name}: ${answer.text}`);
  }
});

test("T-A13: records of one token have one hash, however it was written", async (t) => {
  const stage = await scene(t);
  const { accessor, secret } = await child(stage);
  const file = await stage.audit();
  for (const token of [secret, secret.toUpperCase()]) {
    await stage.must("GET", "/v1/auth/token/lookup-self", { token });
  }
  for (const spelling of [accessor, accessor.toUpperCase()]) {
    await stage.must("POST", "/v1/auth/token/lookup-accessor", { body: { accessor: spelling } });
  }
  const lines = auditLines(file).filter(({ type }) => type === "request");
  const path = (name: string) =>
    lines.filter(({ request }) => request.path === `auth/token/${name}`);
  const own = path("lookup-self")
    .map(({ request }) => Object.entries(request))
    .map(tokenIn);
  assert.deepEqual([own.length, new Set(own).size], [2, 1]);
  const logged = path("lookup-accessor").map(({ request }) => JSON.stringify(request.data));
  assert.deepEqual([logged.length, new Set(logged).size], [2, 1]);
});

function tokenIn(members: readonly [string, unknown][]): unknown {
  return new Map(members).get("client_token");
}
