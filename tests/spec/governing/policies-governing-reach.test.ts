// Whom RGPs and EGPs reach, and whom they do not.

import assert from "node:assert/strict";
import test from "node:test";
import { governedServer } from "../../support/servers/governed-server.ts";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";

const HARD = "hard-mandatory";
const EVERYTHING = 'path "*" { capabilities = ["create", "read", "update", "delete", "list"] }';
const SELF = "/v1/acl/token/self";
const LOOKUP = "/v1/auth/token/lookup-self";

function word(answer: Answer): string {
  return `${answer.status} ${String(answer.headers["x-service-error"] ?? "")}`;
}

test("a client's request that no policy applies to goes its way", async (t) => {
  const server = await governedServer(t);
  const { secret: token } = await server.client(["other"]);
  await server.rgp("not-carried", "false", HARD);
  await server.egp("elsewhere", "false", HARD, ["sys/*", "auth/token/lookup"]);
  assert.equal((await server.call("GET", LOOKUP, { token })).status, 200);
  assert.equal((await server.call("GET", SELF, { token })).status, 200);
});

test("on /acl/ policies grant nothing and deny nothing, but RGPs and EGPs judge clients", async (t) => {
  const server = await governedServer(t);
  await server.rgp("no", "false", HARD);
  const free = await server.client(["other"]);
  const bound = await server.client(["other", "no"]);
  assert.equal((await server.call("GET", SELF, { token: free.secret })).status, 200);
  const refused = await server.call("GET", SELF, { token: bound.secret });
  assert.equal(word(refused), "403 policy_denied");
  assert.match(String(at(refused, "errors", 0)), /rgp standard policy "root\/no"/);
  await server.egp("no", "false", HARD, ["acl/token/self"]);
  assert.equal(word(await server.call("GET", SELF, { token: free.secret })), "403 policy_denied");
  await server.must("GET", SELF); // management
});

test("a path with nothing on it is judged before its caller learns so", async (t) => {
  const server = await governedServer(t);
  await server.acl("all", EVERYTHING);
  const { secret: token } = await server.client(["all"]);
  const ask = () => server.call("GET", "/v1/secret/locked/x", { token });
  assert.equal(word(await ask()), "404 unsupported_path");
  await server.egp("locked", "false", HARD, ["secret/locked/*"]);
  assert.equal(word(await ask()), "403 policy_denied");
});

test("a request for help is a request", async (t) => {
  const server = await governedServer(t);
  const { secret: token } = await server.client(["other"]);
  const ask = () => server.call("GET", "/v1/sys/key-status?help=1", { token });
  assert.equal((await ask()).status, 200);
  await server.egp("no", 'request.operation != "read"', HARD, ["sys/key-status"]);
  assert.equal(word(await ask()), "403 policy_denied");
});

test("no EGP reaches a ceremony, with a token or without", async (t) => {
  const server = await governedServer(t, { listener: { keyCeremonies: "token" } });
  await server.egp("no", "false", HARD, ["*", "sys/*", "sys/generate-root/attempt"]);
  const { secret: token } = await server.client(["other"]);
  for (const path of ["sys/generate-root/attempt", "sys/rekey/init"]) {
    assert.equal((await server.call("GET", `/v1/${path}`, { token })).status, 200, path);
  }
  assert.equal(word(await server.call("GET", LOOKUP, { token })), "403 policy_denied");
});

test("an RGP follows its token to every path, ceremonies included", async (t) => {
  const server = await governedServer(t, { listener: { keyCeremonies: "token" } });
  await server.rgp("no", "false", HARD);
  const { secret: token } = await server.client(["no"]);
  const answer = await server.call("GET", "/v1/sys/generate-root/attempt", { token });
  assert.equal(word(answer), "403 policy_denied");
});

test("of unauthenticated endpoints only ways to a token are judged, and nobody is told by what", async (t) => {
  const server = await governedServer(t);
  const client = await server.client(["other"]);
  const secret = await server.oneTime(client);
  await server.egp("no", "false", HARD, ["*"]);
  for (const path of ["sys/health", "sys/internal/specs/openapi", "sys/internal/ui/namespaces"]) {
    assert.equal((await server.call("GET", `/v1/${path}`)).status, 200, path);
  }
  const refused = await server.exchange(secret);
  assert.deepEqual([refused.status, errorsOf(refused)], [403, ["Permission denied"]]);
  // With a token the same endpoint is an authenticated request.
  const known = await server.call("GET", "/v1/sys/internal/specs/openapi", {
    token: client.secret,
  });
  assert.equal(word(known), "403 policy_denied");
});

test("an advisory EGP on a login tells its caller nothing", async (t) => {
  const server = await governedServer(t);
  const secret = await server.oneTime(await server.client(["other"]));
  await server.egp("hint", "false", "advisory", ["*"]);
  const answer = await server.exchange(secret);
  assert.equal(answer.status, 200, answer.text);
  assert.doesNotMatch(JSON.stringify([answer.text, answer.headers]), /hint/);
  assert.match(server.test.lines.join(""), /an advisory policy failed.*root\/hint/);
});

test("a restricted endpoint in a child namespace is refused as such, before any policy is asked", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/team");
  await server.acl("all", EVERYTHING, "team");
  await server.egp("no", "false", HARD, ["*"]);
  const { secret: token } = await server.client(["all"], "team");
  const answer = await server.call("GET", "/v1/sys/metrics", { token, namespace: "team" });
  assert.deepEqual([answer.status, errorsOf(answer)], [403, ["restricted endpoint"]]);
});

test("a program sees the request as it is, and nothing of its credential", async (t) => {
  const server = await governedServer(t);
  await server.must("POST", "/v1/sys/namespaces/team");
  await server.must("POST", "/v1/sys/config/auditing/request-headers/X-Ticket", { body: {} });
  await server.acl("all", EVERYTHING, "team");
  const program = [
    'request.path == "sys/namespaces/deep"',
    'request.operation == "create"',
    'request.data == {"custom_metadata": {"a": "b"}}',
    'request.connection.remote_addr == "127.0.0.1"',
    "request.connection.remote_port > 0",
    "request.wrapping.ttl_seconds == 0",
    "!request.policy_override && !request.unauthenticated",
    'request.mount_point == "sys/" && request.mount_type == "system"',
    'request.headers == {"x-ticket": ["A-1", "B-2"]}',
    'token.policies == ["all"] && token.type == "client" && token.display_name == "test"',
    'token.namespace.path == "team" && namespace.path == "team"',
    'token.namespace.id == namespace.id && namespace.id != "root"',
    "token.creation_time_unix > 0 && token.num_uses == 0 && token.metadata == {}",
    'replication.dr.mode == "disabled" && replication.performance.mode == "disabled"',
  ].join("\n  && ");
  await server.egp("exactly", program, HARD, ["team/sys/namespaces/deep"]);
  const { secret: token } = await server.client(["all"], "team");
  const answer = await server.call("POST", "/v1/sys/namespaces/deep", {
    token,
    namespace: "team",
    body: { custom_metadata: { a: "b" } },
    headers: { "x-ticket": "A-1, B-2", "x-other": "not shown" },
  });
  assert.equal(answer.status, 200, answer.text);
});

test("a program sees what was noted on a token that another one made", async (t) => {
  const server = await governedServer(t);
  const program =
    'token.metadata.team == "blue" && token.num_uses == 2 && token.path == "auth/token/create"';
  await server.rgp("blue", program, HARD);
  const made = await server.must("POST", "/v1/auth/token/create", {
    body: { policies: ["blue"], meta: { team: "blue" }, num_uses: 2 },
  });
  const token = String(at(made, "auth", "client_token"));
  const first = await server.call("GET", LOOKUP, { token });
  assert.equal(first.status, 200, first.text);
  assert.equal(word(await server.call("GET", LOOKUP, { token })), "403 policy_denied"); // one use left
});
