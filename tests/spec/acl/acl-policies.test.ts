// ACL policies under /acl/: what unmodified clients of the token API send and expect, written by management,
// read by those who carry them.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  indexOf,
  refused,
  succeeded,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";
import { goClient } from "../../clients/nomad-client.ts";
import { at } from "../../support/http-client.ts";

const RULES = 'path "sys/mounts" { capabilities = ["read"] }';
/** As the other client's library encodes a policy. */
const policy = (Name: string, Rules: string, more: object = {}) => ({
  Name,
  Description: "",
  Rules,
  JobACL: null,
  CreateIndex: 0,
  ModifyIndex: 0,
  ...more,
});

test("replayed: apply, info, list, self and delete", async (t) => {
  const server = await aclServer(t);
  const client = await goClient(t, server);
  const index = await client.apply(
    "/v1/acl/policy/team-a",
    policy("team-a", RULES, { Description: "of team a" }),
  );
  assert.ok(index > 0n);
  const info = (await client.query("/v1/acl/policy/team-a")).body as Record<string, unknown>;
  assert.deepEqual(
    [info["Name"], info["Description"], info["Rules"]],
    ["team-a", "of team a", RULES],
  );
  assert.equal(info["ModifyIndex"], Number(index));
  await client.apply("/v1/acl/policy/team-a", policy("team-a", `${RULES}\n`));
  const again = (await client.query("/v1/acl/policy/team-a")).body as Record<string, unknown>;
  assert.deepEqual(
    [again["Rules"], again["Description"], again["CreateIndex"]],
    [`${RULES}\n`, "", info["CreateIndex"]],
  );
  const names = async (path: string) =>
    ((await client.query(path)).body as { Name: string }[]).map(({ Name }) => Name);
  assert.deepEqual(await names("/v1/acl/policies"), ["default", "readonly", "team-a"]);
  assert.deepEqual(await names("/v1/acl/policy/self"), ["default", "readonly", "team-a"]);
  const { SecretID } = await server.create({ Policies: ["team-a"] });
  client.token = SecretID;
  assert.deepEqual(await names("/v1/acl/policy/self"), ["default", "team-a"]);
  client.token = server.management;
  await client.delete("/v1/acl/policy/team-a");
  await client.delete("/v1/acl/policy/team-a");
  assert.match(await client.refusal("GET", "/v1/acl/policy/team-a"), /404 .*ACL policy not found/);
});

test("what is written here is the policy that decides", async (t) => {
  const server = await aclServer(t);
  const { SecretID: token } = await server.create({ Policies: ["mounts"] });
  const ask = () => server.ask("GET", "/v1/sys/mounts", { token });
  assert.equal((await ask()).status, 403);
  const body = policy("mounts", 'path "sys/mounts" { capabilities = ["read"] }');
  succeeded(await server.manage("POST", "/acl/policy/mounts", { body }));
  assert.equal((await ask()).status, 200);
  const kept = await server.manage("GET", "/v1/sys/policies/acl/mounts");
  assert.equal(at(kept, "data", "policy"), body.Rules);
  succeeded(await server.manage("DELETE", "/acl/policy/mounts"));
  assert.equal((await ask()).status, 403);
});

test("a policy in the other product's language is refused, and the refusal says so", async (t) => {
  const server = await aclServer(t);
  for (const [word, rules] of [
    ["namespace", 'namespace "default" {\n  policy = "read"\n}\n'],
    ["node", 'node {\n  policy = "write"\n}'],
    ["agent", '# for operators\nagent { policy = "read" }'],
    ["namespace", '{"namespace": {"default": {"policy": "read"}}}'],
    ["host_volume", 'host_volume "prod-*" { capabilities = ["mount-readonly"] }'],
  ] as const) {
    const answer = await server.manage("PUT", "/acl/policy/x", { body: policy("x", rules) });
    refused(
      answer,
      400,
      new RegExp(`^Rules is a policy in another product's language \\(${word}\\); .*path "secret`),
      "invalid_parameter",
    );
  }
  // What is simply wrong is told as it is.
  const wrong = 'path "a" { capabilities = ["raed"] }';
  const answer = await server.manage("PUT", "/acl/policy/x", { body: policy("x", wrong) });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /raed/);
  assert.equal((await server.manage("GET", "/acl/policy/x")).status, 404);
});

test("who may, and what else is refused", async (t) => {
  const server = await aclServer(t);
  const { SecretID: token } = await server.create();
  const body = policy("x", RULES);
  for (const credential of [undefined, token, UNKNOWN]) {
    denied(await server.ask("POST", "/acl/policy/x", { token: credential, body }));
    denied(await server.ask("DELETE", "/acl/policy/readonly", { token: credential }));
  }
  const write = (fields: object, path = "x") =>
    server.manage("POST", `/acl/policy/${path}`, { body: fields });
  refused(await write(policy("y", RULES)), 400, "ACL policy name does not match request path");
  assert.equal((await write({ Rules: RULES })).status, 200, "left out, it is the path's");
  assert.equal((await server.manage("DELETE", "/acl/policy/x")).status, 200);
  refused(await write(policy("x", " ")), 400, /^Rules is missing/);
  refused(await write(policy("x", RULES, { JobACL: { Namespace: "a" } })), 400, /^JobACL must be/);
  refused(await write(policy("x", RULES, { Description: "x".repeat(257) })), 400, /256/);
  refused(await write(policy("root", RULES), "root"), 400, 'cannot update "root" policy');
  refused(await server.manage("DELETE", "/acl/policy/default"), 400, /cannot delete default/);
  refused(await server.manage("POST", "/acl/policy/x"), 400, "Request body is empty");
  refused(await server.manage("POST", "/acl/policy/x?region=b", { body }), 404, /^No path to/);
  const folded = await write(policy("MyPol", RULES), "MyPol");
  succeeded(folded);
  assert.equal(folded.headers["x-service-warning"], "policy name was converted to mypol");
  const self = await server.manage("POST", "/acl/policy/self", { body: policy("self", RULES) });
  refused(self, 405, "Invalid method", "method_not_allowed");
});

test("anybody reads the policy anonymous, and no other", async (t) => {
  const server = await aclServer(t);
  refused(await server.ask("GET", "/acl/policy/anonymous"), 404, "ACL policy not found");
  const body = policy("anonymous", RULES);
  denied(await server.ask("POST", "/acl/policy/anonymous", { body }));
  succeeded(await server.manage("POST", "/acl/policy/anonymous", { body }));
  const { SecretID } = await server.create();
  for (const token of [undefined, SecretID, server.management]) {
    const answer = await server.ask("GET", "/acl/policy/anonymous", { token });
    succeeded(answer);
    assert.equal(at(answer, "Rules"), RULES);
  }
  denied(await server.ask("GET", "/acl/policy/readonly"));
  denied(await server.ask("GET", "/acl/policies"));
  denied(await server.ask("GET", "/acl/policy/self"));
  denied(await server.ask("DELETE", "/acl/policy/anonymous"));
  succeeded(await server.manage("DELETE", "/acl/policy/anonymous"));
});

test("lists of policies honour their options, or refuse them", async (t) => {
  const server = await aclServer(t);
  for (const name of ["a", "b", "c", "d"]) await server.writePolicy(name, RULES);
  const list = (text: string) => server.manage("GET", `/acl/policies?${text}`);
  const names = async (text: string) =>
    ((await list(text)).json as { Name: string }[]).map(({ Name }) => Name);
  const all = await names("");
  assert.deepEqual(all, ["a", "b", "c", "d", "default", "readonly"]);
  assert.deepEqual(await names("reverse"), all.toReversed());
  for (const reverse of [false, true]) {
    const found: string[] = [];
    let next = "";
    do {
      const page = await list(`per_page=2&reverse=${reverse}&next_token=${next}`);
      found.push(...(page.json as { Name: string }[]).map(({ Name }) => Name));
      next = String(page.headers["x-service-nexttoken"] ?? "");
    } while (next !== "");
    assert.deepEqual(found, reverse ? all.toReversed() : all);
  }
  assert.deepEqual(await names("prefix=d&per_page=1"), ["d"]);
  succeeded(await list("region=global&stale&index=0&wait=1s"));
  refused(await list("region=nowhere"), 404, "No path to region", "no_region_path");
  refused(await list("per_page=x"), 400, /`per_page`/);
  refused(await list("stale=maybe"), 400, /`stale`/);
  refused(await list("filter=Name == a".replaceAll(" ", "%20")), 400, /^`filter` is not supported/);
  const index = indexOf(await list(""));
  refused(await list(`index=${index}&wait=1s`), 400, /^`index` is not supported here; /);
  refused(await server.manage("GET", "/acl/policy/a?region=nowhere"), 404, "No path to region");
});
