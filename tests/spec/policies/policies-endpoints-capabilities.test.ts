// What a token may do, for those who ask (case 94 of docs/cases/policies.md), and the
// policies as clients of the ACL API read them, through HTTP.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import {
  dataOf,
  grants,
  policyServer,
  refused,
  warningsOf,
} from "../../support/servers/policy-server.ts";

test("94: words for two paths, for one, and for management", async (t) => {
  const server = await policyServer(t);
  const policy =
    grants("kv/*", "read", "list") + grants("kv/no/*", "deny") + grants("kv/x", "update");
  await server.write("acl/dev", { policy });
  const { secret, accessor } = await server.client("dev");
  const self = (body: object, token = secret) =>
    server.sys("POST", "capabilities-self", body, { token });

  const two = { "kv/a": ["list", "read"], "kv/x": ["update"] };
  assert.deepEqual(dataOf(await self({ paths: ["kv/a", "kv/x"] })), two);
  assert.deepEqual(dataOf(await self({ paths: "kv/a, kv/x" })), two);
  const one = { "kv/a": ["list", "read"], capabilities: ["list", "read"] };
  assert.deepEqual(dataOf(await self({ paths: ["kv/a"] })), one);
  assert.deepEqual(dataOf(await self({ path: "kv/a" })), one);
  assert.deepEqual(dataOf(await self({ paths: ["kv/a", "kv/a"] })), one);
  const none = dataOf(await self({ paths: ["kv/no/a", "elsewhere"] }));
  assert.deepEqual(none, { "kv/no/a": ["deny"], elsewhere: ["deny"] });
  const management = await self({ paths: ["kv/a"] }, server.root);
  assert.deepEqual(dataOf(management), { "kv/a": ["root"], capabilities: ["root"] });

  const by = { token: secret, paths: ["kv/a"] };
  assert.deepEqual(dataOf(await server.sys("POST", "capabilities", by)), one);
  const named = { accessor, paths: ["kv/a"] };
  assert.deepEqual(dataOf(await server.sys("POST", "capabilities-accessor", named)), one);
  assert.equal(warningsOf(await server.sys("POST", "capabilities-accessor", named)), null);
});

test("a word is left out where the path needs sudo besides, and the rule has none", async (t) => {
  const server = await policyServer(t);
  const rules =
    grants("sys/auth/zz", "create", "update", "read") +
    grants("sys/auth/free", "create", "update", "sudo") +
    grants("sys/leases/lookup/*", "list") +
    grants("sys/leases/lookup/free/*", "list", "sudo");
  await server.write("acl/dev", { policy: rules });
  const { secret: token } = await server.client("dev");
  const paths = ["sys/auth/zz", "sys/auth/free", "sys/leases/lookup/a", "sys/leases/lookup/free/"];
  const answer = await server.sys("POST", "capabilities-self", { paths }, { token });
  assert.deepEqual(dataOf(answer), {
    "sys/auth/zz": ["read"],
    "sys/auth/free": ["create", "sudo", "update"],
    "sys/leases/lookup/a": ["deny"],
    "sys/leases/lookup/free/": ["list", "sudo"],
  });
  const ask = async (method: string, path: string, more: object = {}) =>
    (await server.test.call(method, `/v1/${path}`, { token, ...more })).status;
  const body = { type: "userpass" };
  assert.equal(await ask("POST", "sys/auth/zz", { body }), 403);
  assert.notEqual(await ask("POST", "sys/auth/free", { body }), 403);
  assert.equal(await ask("LIST", "sys/leases/lookup/a"), 403);
  assert.notEqual(await ask("LIST", "sys/leases/lookup/free"), 403);
});

test("each word is what the decision for that operation on that path would be", async (t) => {
  const server = await policyServer(t);
  let made = 0;
  const words = async (rules: string, path: string) => {
    const name = `p${++made}`;
    await server.sys("POST", `policies/acl/${name}`, { policy: rules });
    const { secret: token } = await server.client(name);
    const answer = await server.sys("POST", "capabilities-self", { paths: [path] }, { token });
    const ask = async (method: string, body?: object) =>
      (await server.test.call(method, `/v1/${path}`, { token, ...(body ? { body } : {}) })).status;
    const done = { read: await ask("GET"), list: await ask("LIST"), delete: await ask("DELETE") };
    return { words: dataOf(answer)["capabilities"] as string[], done };
  };
  for (const [rules, path, want] of [
    [grants("+/c*", "read", "update", "list") + grants("kv/+/c*", "patch"), "kv/c/c", ["patch"]],
    [
      grants("kv/*", "read", "list") + grants("kv/+/x", "create", "update"),
      "kv/a/x",
      ["create", "list", "update"],
    ],
    [grants("kv/+/+", "delete") + grants("kv/+/*", "deny"), "kv/b/b", ["delete"]],
    [grants("kv/a/*", "read") + grants("kv/+/*", "deny"), "kv/a/a/b", ["read"]],
    [
      grants("kv/*", "list") + grants("kv/+/x", "read", "update"),
      "kv/a/x",
      ["list", "read", "update"],
    ],
    [grants("kv/+/*", "list") + grants("kv/private/*", "read"), "kv/private", ["deny"]],
  ] as const) {
    const answer = await words(rules, path);
    assert.deepEqual(answer.words, want, rules);
    for (const [word, status] of Object.entries(answer.done)) {
      assert.equal(status === 403, !answer.words.includes(word), `${word} ${path}: ${status}`);
    }
  }
});

test("what default grants is there to be asked", async (t) => {
  const server = await policyServer(t);
  const { secret: token } = await server.client("default");
  const found = dataOf(await server.sys("GET", "internal/ui/resultant-acl", undefined, { token }));
  for (const [path, granted] of Object.entries(found["exact_paths"] as Record<string, unknown>)) {
    const method = JSON.stringify(granted).includes("read") ? "GET" : "POST";
    const { secret } = await server.client("default"); // one of them ends its token
    const { text } = await server.test.call(method, `/v1/${path}`, { token: secret });
    assert.doesNotMatch(text, /unsupported (path|operation)|permission denied/, path);
  }
});

test("what is missing or unknown is refused with the texts that clients know", async (t) => {
  const server = await policyServer(t);
  const { secret, accessor } = await server.client("default");
  const ask = (path: string, body: object) => server.sys("POST", path, body);
  const paths = ["a"];
  for (const [path, body] of [
    ["capabilities-self", {}],
    ["capabilities-self", { paths: [] }],
    ["capabilities", { token: secret }],
    ["capabilities-accessor", { accessor }],
  ] as const) {
    refused(await ask(path, body), 400, "paths must be supplied");
  }
  refused(await ask("capabilities", { paths }), 400, "missing token");
  refused(await ask("capabilities", { token: "none", paths }), 400, "invalid token");
  refused(await ask("capabilities-accessor", { paths }), 400, "missing accessor");
  refused(await ask("capabilities-accessor", { accessor: "none", paths }), 400, "invalid accessor");
  const unknown = { accessor: "11111111-2222-4333-8444-555555555555", paths };
  refused(await ask("capabilities-accessor", unknown), 400, "invalid accessor");
});

test("in a child namespace, by header and by path; a token from elsewhere is none", async (t) => {
  const server = await policyServer(t);
  await server.namespace("team");
  await server.namespace("other");
  const team = { namespace: "team" };
  await server.write("acl/dev", { policy: grants("team/kv/*", "read") + grants("kv/*", "list") });
  const { secret } = await server.client("dev");
  const self = async (paths: string[], namespace?: string) =>
    dataOf(
      await server.sys("POST", "capabilities-self", { paths }, { token: server.root, namespace }),
    );
  assert.deepEqual((await self(["a"], "team"))["a"], ["root"]);
  const of = (paths: string[], options = {}) =>
    server.sys("POST", "capabilities", { token: secret, paths }, options);
  const words = { "team/kv/a": ["read"], "kv/a": ["list"] };
  assert.deepEqual(dataOf(await of(["team/kv/a", "kv/a"])), words);
  const inside = { "kv/a": ["read"], "team/kv/a": ["deny"] };
  assert.deepEqual(dataOf(await of(["kv/a", "team/kv/a"], team)), inside);

  // A child that is younger than the policy is not reached.
  await server.namespace("young");
  await server.write("acl/late", { policy: grants("young/*", "read") });
  await server.namespace("young/er");
  const late = await server.client("late");
  const body = { token: late.secret, paths: ["young/a", "young/er/a"] };
  const reached = { "young/a": ["read"], "young/er/a": ["deny"] };
  assert.deepEqual(dataOf(await server.sys("POST", "capabilities", body)), reached);

  const made = await server.test.call("POST", "/acl/token", {
    token: server.root,
    namespace: "other",
    body: { Name: "o", Type: "management" },
  });
  const foreign = { token: String(at(made, "SecretID")), paths: ["a"] };
  refused(await server.sys("POST", "capabilities", foreign, team), 400, "invalid token");
  const accessor = { accessor: String(at(made, "AccessorID")), paths: ["a"] };
  refused(await server.sys("POST", "capabilities-accessor", accessor), 400, "invalid accessor");
});

test("?explain=true names the rule that decides, its policies and their lines", async (t) => {
  const server = await policyServer(t);
  await server.write("acl/a", { policy: `\n  ${grants("kv/*", "read")}` });
  await server.write("acl/b", { policy: grants("kv/*", "list") });
  const { secret, accessor } = await server.client("a", "b");
  const paths = ["kv/x", "sys/renew", "none"];
  const explain = {
    "kv/x": {
      rule: "kv/*",
      policies: [
        { name: "a", line: 2, column: 3 },
        { name: "b", line: 1, column: 1 },
      ],
    },
    // 11.1: the exact rule of default hides broader ones.
    "sys/renew": { rule: "sys/renew", policies: [{ name: "default", line: 14, column: 1 }] },
    none: null,
  };
  for (const [path, whose] of [
    ["capabilities", { token: secret }],
    ["capabilities-accessor", { accessor }],
  ] as const) {
    const answer = await server.sys("POST", `${path}?explain=true`, { ...whose, paths });
    assert.deepEqual(dataOf(answer)["explain"], explain);
    assert.deepEqual(dataOf(answer)["kv/x"], ["list", "read"]);
  }
  // Not for the caller itself: names of policies and their lines are for those who may ask.
  const self = await server.sys(
    "POST",
    "capabilities-self?explain=true",
    { paths },
    { token: secret },
  );
  assert.equal("explain" in dataOf(self), false);
});

test("resultant-acl gives every rule, by kind; management is root", async (t) => {
  const server = await policyServer(t);
  const policy =
    grants("kv/*", "read", "list") + grants("kv/+/x", "update") + grants("kv/no", "deny");
  await server.write("acl/dev", { policy });
  const { secret } = await server.client("dev");
  const read = (token: string) =>
    server.sys("GET", "internal/ui/resultant-acl", undefined, { token });
  const { root, chroot_namespace, exact_paths, glob_paths } = dataOf(await read(secret));
  assert.deepEqual([root, chroot_namespace], [false, ""]);
  const globs = glob_paths as Record<string, unknown>;
  assert.deepEqual(globs["kv/"], { capabilities: ["list", "read"] });
  assert.deepEqual(globs["kv/+/x"], { capabilities: ["update"] });
  const own = ["create", "delete", "list", "read", "update"];
  assert.deepEqual(globs["cubbyhole/"], { capabilities: own });
  const exact = exact_paths as Record<string, unknown>;
  assert.deepEqual(exact["kv/no"], { capabilities: ["deny"] });
  assert.deepEqual(exact["sys/renew"], { capabilities: ["update"] });
  assert.equal(Object.keys(exact).length, 13);
  const nothing = { root: true, chroot_namespace: "", exact_paths: {}, glob_paths: {} };
  assert.deepEqual(dataOf(await read(server.root)), nothing);
});

test("/acl/policies and /acl/policy/:name: all for management, their own for clients", async (t) => {
  const server = await policyServer(t);
  const text = grants("kv/*", "read");
  await server.write("acl/dev", { policy: text });
  await server.write("acl/ops", { policy: text });
  await server.write("acl/dev", { policy: `${text}#\n` });
  const { secret } = await server.client("dev", "gone");
  const read = (path: string, token = server.root) => server.test.call("GET", path, { token });

  const all = await read("/acl/policies");
  assert.equal(all.status, 200, all.text);
  assert.ok(Number(all.headers["x-service-index"]) > 0);
  const stubs = all.json as Record<string, unknown>[];
  assert.deepEqual(
    stubs.map(({ Name }) => Name),
    ["default", "dev", "ops"],
  );
  const [, dev, ops] = stubs;
  assert.deepEqual(Object.keys(dev ?? {}), [
    "Name",
    "Description",
    "Hash",
    "CreateIndex",
    "ModifyIndex",
  ]);
  assert.ok(Number(dev?.["CreateIndex"]) < Number(ops?.["CreateIndex"]));
  assert.ok(Number(dev?.["ModifyIndex"]) > Number(ops?.["ModifyIndex"]));
  assert.notEqual(dev?.["Hash"], ops?.["Hash"]);
  assert.deepEqual((await read("/v1/acl/policies?prefix=d&")).json, stubs.slice(0, 2));
  assert.deepEqual((await read("/acl/policies", secret)).json, stubs.slice(0, 2));

  const found = await read("/acl/policy/dev");
  assert.deepEqual(found.json, { ...dev, Rules: `${text}#\n` });
  assert.deepEqual((await read("/acl/policy/Dev", secret)).json, found.json);
  assert.equal((await read("/acl/policy/default", secret)).status, 200);
  // Whoever may not read it does not learn whether it is there.
  for (const name of ["ops", "none", "root"]) {
    refused(await read(`/acl/policy/${name}`, secret), 403, "Permission denied");
  }
  refused(await read("/acl/policy/gone", secret), 404, "ACL policy not found");
  for (const name of ["none", "root"]) {
    refused(await read(`/acl/policy/${name}`), 404, "ACL policy not found");
  }
  refused(await server.test.call("GET", "/acl/policies"), 403, "Permission denied");

  // Names on a token mean policies of its own namespace, and no other.
  await server.namespace("team");
  const team = { namespace: "team" };
  await server.write("acl/dev", { policy: text }, team);
  const there = { token: secret, ...team };
  assert.deepEqual((await server.test.call("GET", "/acl/policies", there)).json, []);
  refused(await server.test.call("GET", "/acl/policy/dev", there), 403, "Permission denied");
});

test("strict_policies refuses unknown names, secret=false leaves the secret out", async (t) => {
  const server = await policyServer(t);
  const { root: token } = server;
  await server.write("acl/dev", { policy: grants("kv/*", "read") });
  const create = (Policies: string[], query = "") =>
    server.test.call("POST", `/acl/token${query}`, { token, body: { Type: "client", Policies } });
  const warned = await create(["dev", "nope"]);
  assert.equal(warned.headers["x-service-warning"], "unknown policies: nope");
  refused(
    await create(["dev", "nope", "x"], "?strict_policies=true"),
    400,
    "unknown policies: nope, x",
  );
  const made = await create(["dev"], "?strict_policies=true");
  assert.equal(made.status, 200, made.text);

  const AccessorID = String(at(made, "AccessorID"));
  const change = { AccessorID, Type: "client", Policies: ["nope"] };
  const path = `/acl/token/${AccessorID}`;
  const refusal = await server.test.call("POST", `${path}?strict_policies=true`, {
    token,
    body: change,
  });
  refused(refusal, 400, "unknown policies: nope");
  const read = (query: string) => server.test.call("GET", `${path}${query}`, { token });
  assert.deepEqual((await read("")).json, made.json);
  assert.deepEqual((await read("?secret=true")).json, made.json);
  assert.deepEqual((await read("?secret=false")).json, { ...(made.json as object), SecretID: "" });
  assert.equal((await read("?secret=banana")).status, 400);
});
