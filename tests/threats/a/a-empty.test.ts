// Threats A, T-A13 where a value says nothing: what the handler reads as not given is not there for rules and
// programs either. Whoever must say how long, or which policies, does not get around it with 0 or an empty list.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { governedServer } from "../../support/servers/governed-server.ts";
import { rule, scene } from "../scene.ts";

const EMPTY_LENGTHS = [0, "", "0", "0s", "0h0m", null];

test("T-A13: what must be given is not given by a value that says nothing", async (t) => {
  const stage = await scene(t);
  const create = (token: string, body: object) =>
    stage.server.call("POST", "/v1/auth/token/create", { token, body });
  for (const field of ["ttl", "explicit_max_ttl"]) {
    const token = await stage.clientWith(
      `path "auth/token/create" { capabilities = ["create", "update"] required_parameters = ["${field}"] }`,
    );
    for (const empty of EMPTY_LENGTHS) {
      const { status } = await create(token, { [field]: empty });
      assert.equal(status, 403, `${field} ${JSON.stringify(empty)}`);
    }
    assert.equal((await create(token, { [field]: "1m" })).status, 200);
  }
  const named = await stage.clientWith(
    'path "auth/token/create" { capabilities = ["create", "update"] required_parameters = ["policies"] }',
  );
  for (const policies of [[], "", null]) {
    assert.equal((await create(named, { policies })).status, 403, JSON.stringify(policies));
  }
  assert.equal((await create(named, { policies: ["default"] })).status, 200);
  const renews = await stage.clientWith(
    'path "auth/token/renew-self" { capabilities = ["update"] required_parameters = ["increment"] }',
  );
  for (const increment of EMPTY_LENGTHS) {
    const body = { increment };
    const answer = await stage.server.call("POST", "/v1/auth/token/renew-self", {
      token: renews,
      body,
    });
    assert.equal(answer.status, 403, JSON.stringify(increment));
  }
  // Who need not give them may: it is as if they were left out.
  const free = await stage.clientWith(rule("auth/token/create", ["create", "update"]));
  const answer = await create(free, { ttl: 0, explicit_max_ttl: "", policies: [], period: 0 });
  assert.equal(answer.status, 200, answer.text);
});

test("T-A13: a program sees what is given, and an empty list of policies is none", async (t) => {
  const server = await governedServer(t);
  await server.acl("makes", rule("auth/token/create", ["create", "update"]));
  await server.egp(
    "pin",
    'has(request.data.policies) && request.data.policies.all(p, p == "default")',
    "hard-mandatory",
    ["auth/token/create"],
  );
  const { secret: token } = await server.client(["makes"]);
  for (const body of [{}, { policies: [] }, { policies: "" }, { policies: null }]) {
    const answer = await server.call("POST", "/v1/auth/token/create", { token, body });
    assert.equal(answer.status, 403, JSON.stringify(body));
  }
  const body = { policies: ["default"] };
  const answer = await server.call("POST", "/v1/auth/token/create", { token, body });
  assert.deepEqual(at(answer, "auth", "token_policies"), ["default"], answer.text);
});

test("T-A13: nor by an empty list of addresses or an empty object", async (t) => {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/auth/approle", { body: { type: "approle" } });
  await stage.must("POST", "/v1/auth/approle/role/r", { body: { token_policies: "default" } });
  const path = "auth/approle/role/r/secret-id";
  for (const [field, empty, full] of [
    ["cidr_list", [[], ""], ["127.0.0.1/32"]],
    ["token_bound_cidrs", [[], ""], ["127.0.0.1/32"]],
    ["metadata", ["", {}, "{}"], { team: "a" }],
  ] as const) {
    const token = await stage.clientWith(
      `path "${path}" { capabilities = ["update"] required_parameters = ["${field}"] }`,
    );
    const ask = (value: unknown) =>
      stage.server.call("POST", `/v1/${path}`, { token, body: { [field]: value } });
    for (const value of empty)
      assert.equal((await ask(value)).status, 403, JSON.stringify([field, value]));
    assert.equal((await ask(full)).status, 200, field);
  }
  const meta = await stage.clientWith(
    'path "auth/token/create" { capabilities = ["create", "update"] required_parameters = ["meta"] }',
  );
  const create = (body: object) =>
    stage.server.call("POST", "/v1/auth/token/create", { token: meta, body });
  assert.equal((await create({ meta: {} })).status, 403);
  assert.equal((await create({ meta: { a: "b" } })).status, 200);
});

test("a text with thousands of denied values is compared as it was sent", async (t) => {
  const stage = await scene(t);
  const names = Array.from({ length: 4200 }, (_, i) => `"n${i}"`).join(", ");
  const token = await stage.clientWith(
    `path "auth/token/create" { capabilities = ["update"] denied_parameters = { display_name = [${names}] } }`,
  );
  for (const [display_name, status] of [
    ["ok", 200],
    ["n4199", 403],
  ] as const) {
    const answer = await stage.server.call("POST", "/v1/auth/token/create", {
      token,
      body: { display_name },
    });
    assert.equal(answer.status, status, answer.text);
  }
});
