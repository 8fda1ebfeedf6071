// Secrets that end and logins of plugins: leases and tokens like those of every other engine.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import test from "node:test";
import { type Answer, at, errorsOf } from "../../support/http-client.ts";
import { deriveKey } from "../../../src/crypto/aead.ts";
import { until } from "../../support/until.ts";
import { PluginServer } from "../../support/plugins/mounted-plugins.ts";

const texts = (answer: Answer) => (errorsOf(answer) as string[]).join();

function object(server: PluginServer, number: number): Promise<string | null> {
  return server.storage(`objects/${number}`);
}

test("a secret has a lease: looked up, renewed, revoked by the plugin with what it had answered", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const issued = await server.ok("GET", "small/creds/usual");
  assert.match(issued.text, /"big":12345678901234567890/, "every digit of it");
  const lease = String(at(issued, "lease_id"));
  assert.match(lease, /^small\/creds\/usual\//);
  assert.equal(at(issued, "lease_duration"), 60);
  assert.equal(at(issued, "renewable"), true);
  assert.equal(at(issued, "data", "object"), 1);
  const renewed = await server.ok("POST", "sys/leases/renew", {
    lease_id: lease,
    increment: "300s",
  });
  assert.equal(at(renewed, "lease_duration"), 300);
  await server.ok("POST", "sys/leases/revoke", { lease_id: lease, sync: true });
  assert.equal(await object(server, 1), "ended");
  const gone = await server.call("POST", "sys/leases/lookup", { body: { lease_id: lease } });
  assert.equal(gone.status, 400);

  const kept = String(at(await server.ok("GET", "small/creds/stuck"), "lease_id"));
  const stuck = await server.call("POST", "sys/leases/revoke", {
    body: { lease_id: kept, sync: true },
  });
  assert.ok(stuck.status >= 400, "what can never be ended is told");
  assert.doesNotMatch(server.test.lines.join("\n"), /its account is gone/, "in our words alone");
  await server.ok("POST", "sys/leases/revoke-force/small");

  await server.ok("GET", "small/creds/usual");
  await server.ok("DELETE", "sys/mounts/small");
  assert.ok(server.calls().includes("revoke creds/usual"));
});

test("how long a value may be kept is told without a lease, whatever the plugin is called, and its mount is disabled", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const value = await server.ok("GET", "small/values/one");
  assert.deepEqual(
    [at(value, "lease_id"), at(value, "lease_duration"), at(value, "renewable")],
    ["", 900, false],
  );
  assert.equal((await server.call("LIST", "sys/leases/lookup/small")).status, 404);
  await server.ok("DELETE", "sys/mounts/small");
  assert.ok(!server.calls().some((line) => line.startsWith("revoke")));
});

test("no lease is left of a token that ends with its request, and its secret is ended", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  await server.ok("POST", "sys/policies/acl/few", {
    policy: 'path "small/creds/*" { capabilities = ["read"] }',
  });
  const made = await server.ok("POST", "auth/token/create", { policies: ["few"], num_uses: 1 });
  const token = String(at(made, "auth", "client_token"));
  const refused = await server.call("GET", "small/creds/usual", { token });
  assert.equal(refused.status, 400, refused.text);
  assert.equal(await object(server, 1), "ended");
});

test("a secret in an answer that is refused is ended by the plugin, tried again where it cannot be, and what is honest is answered", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const honest = await server.ok("GET", "small/creds/honest");
  assert.match(honest.text, /"constructor":\{"prototype":1\},"prototype":"p","hasOwnProperty":/);
  await server.ok("POST", "sys/leases/revoke", {
    lease_id: String(at(honest, "lease_id")),
    sync: true,
  });
  let made = 1;
  assert.equal(await object(server, made), "ended");
  const refused: readonly [what: string, status: number][] = [
    ["prototype", 502],
    ["twice", 502],
    ["broken", 502],
    ["large", 502],
    ["error", 500],
    ["softly", 400],
    ["wraps", 502],
  ];
  for (const [what, status] of refused) {
    const answer = await server.call("GET", `small/creds/${what}`);
    assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 200)}`);
    assert.equal(await object(server, ++made), "ended", what);
  }
  assert.equal((await server.call("LIST", "sys/leases/lookup/small/creds")).status, 404);
  await server.call("GET", "small/creds/broken-later");
  made++;
  await until(async () => (await object(server, made)) === "ended");
  await until(
    async () => (await server.call("LIST", "sys/leases/lookup/small/creds")).status === 404,
  );
  await server.ok("DELETE", "sys/mounts/small");
});

test("what is asked for wrapped is opened once, with its lease", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const wrapped = await server.call("GET", "small/creds/usual", {
    headers: { "X-Service-Wrap-TTL": "60s" },
  });
  const token = String(at(wrapped, "wrap_info", "token"));
  const inside = await server.call("POST", "sys/wrapping/unwrap", { token, body: {} });
  assert.equal(at(inside, "data", "object"), 1);
  assert.match(String(at(inside, "lease_id")), /^small\/creds/);
});

test("a login makes a token, which the plugin is asked about before it lives on", async (t) => {
  const server = await PluginServer.start(t);
  await server.register({ type: "auth", args: [`--log=${server.log}`, "--auth"] });
  await server.ok("POST", "sys/auth/small", { type: "small" });
  await server.ok("POST", "sys/policies/acl/reader", {
    policy: 'path "auth/small/echo" { capabilities = ["read", "update"] }',
  });
  const wrong = await server.call("POST", "auth/small/login", {
    token: undefined,
    body: { user: "ada", password: "wrong" },
  });
  assert.equal(wrong.status, 400);
  assert.equal(texts(wrong), "no such user: ada");
  const login = await server.call("POST", "auth/small/login", {
    token: undefined,
    body: { user: "ada", password: "right" },
  });
  assert.equal(login.status, 200, login.text);
  assert.equal(at(login, "auth", "lease_duration"), 60);
  assert.deepEqual(at(login, "auth", "metadata"), { user: "ada" });
  const token = String(at(login, "auth", "client_token"));
  const echo = await server.call("GET", "auth/small/echo", { token });
  assert.equal(at(echo, "data", "mount"), "auth/small/");
  assert.match(String(at(echo, "data", "display_name")), /ada/);
  const stamp = String(at(echo, "data", "client_token"));
  assert.match(stamp, /^[0-9a-f]{40}$/, "what stands for the token is no credential");
  assert.notEqual(stamp, token);
  // Whoever knows the accessor and the mount cannot make it: it is by a key of the server's own.
  const { uuid } = await server.data("sys/auth/small");
  const key = deriveKey(
    server.test.server.barrier.handOver().treeKey,
    "stamps of tokens for plugins",
  );
  const identity = `${String(uuid)} ${String(at(login, "auth", "accessor"))}`;
  const made = createHmac("sha256", key).update(identity).digest("hex");
  assert.equal(stamp, made.slice(0, 40));
  const again = await server.call("GET", "auth/small/echo", { token });
  assert.equal(at(again, "data", "client_token"), stamp, "and the same for the same one");
  const renewed = await server.call("POST", "auth/token/renew-self", { token, body: {} });
  assert.equal(renewed.status, 200, renewed.text);
  await server.store("auth/small", "gone/ada", "yes");
  const refused = await server.call("POST", "auth/token/renew-self", { token, body: {} });
  assert.equal(refused.status, 403, refused.text);
  const { length } = server.calls().filter((line) => line === "renew login");
  assert.equal(length, 2);
  await server.ok("DELETE", "sys/auth/small");
  assert.equal((await server.call("GET", "auth/token/lookup-self", { token })).status, 403);
});

/** With tokens of the method, by what the plugin answers to a login; times in nanoseconds. */
async function methodOf(t: { after(call: () => Promise<void>): void }) {
  const server = await PluginServer.start(t);
  await server.register({ type: "auth", args: [`--log=${server.log}`, "--auth"] });
  await server.ok("POST", "sys/auth/small", { type: "small", config: { max_lease_ttl: "1h" } });
  const login = (says: object) =>
    server.call("POST", "auth/small/login", {
      token: undefined,
      body: { user: "ada", password: "right", says: { policies: ["default"], ...says } },
    });
  const renew = (token: string) =>
    server.call("POST", "auth/token/renew-self", { token, body: {} });
  const accessors = async () =>
    (at(await server.ok("LIST", "auth/token/accessors"), "data", "keys") as unknown[]).length;
  return { server, login, renew, accessors };
}

test("a login that no token can be made of is refused as the plugin's fault, and none is made", async (t) => {
  const { login, accessors, renew } = await methodOf(t);
  const before = await accessors();
  const wrong: readonly [says: object, why: RegExp][] = [
    [{ ttl: "-1" }, /a lifetime below zero/],
    [{ maxTtl: "-1" }, /a longest lifetime below zero/],
    [{ period: "-60000000000" }, /a period below zero/],
    [{ explicitMaxTtl: "-1" }, /an explicit longest lifetime below zero/],
    [{ numUses: "-1" }, /a number of uses/],
    [{ numUses: "2147483648" }, /a number of uses/],
    [{ tokenType: 2 }, /service tokens alone/],
    [{ tokenType: 4 }, /service tokens alone/],
    [{ tokenType: 77 }, /service tokens alone/],
    [{ boundCidrs: ["10.0.0.0/8", "anywhere"] }, /an address range/],
    [{ boundCidrs: ["10.0.0.0/33"] }, /an address range/],
    [{ boundCidrs: Array.from({ length: 257 }, () => "10.0.0.1") }, /256 address ranges/],
    [{ policies: ["Root"] }, /"root"/],
    [{ policies: ["a b"] }, /no name of a policy/],
    [{ policies: Array.from({ length: 1025 }, (_, i) => `p${i}`) }, /1024 policies/],
    [{ policies: [], noDefaultPolicy: true }, /no policy at all/],
    [{ note: 130 * 1024 }, /bytes to be kept/],
  ];
  for (const [says, why] of wrong) {
    const answer = await login(says);
    assert.equal(answer.status, 502, `${JSON.stringify(says).slice(0, 99)}: ${answer.text}`);
    assert.match(texts(answer), why);
  }
  assert.equal(await accessors(), before, "nothing was made");
  const renewed = await login({ renewal: { period: "-1" } });
  const token = String(at(renewed, "auth", "client_token"));
  assert.equal((await renew(token)).status, 502);
});

test("nobody logs in at a plugin for secrets, whatever it answers", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  assert.equal((await server.mount("small")).status, 204);
  const accessors = async () =>
    (at(await server.ok("LIST", "auth/token/accessors"), "data", "keys") as unknown[]).length;
  const before = await accessors();
  const answer = await server.call("POST", "small/login", {
    token: undefined,
    body: { user: "ada", password: "right" },
  });
  assert.equal(answer.status, 502, answer.text);
  assert.match(texts(answer), /answered with a login, and is no auth method/);
  assert.equal(await accessors(), before);
});

test("what a plugin grants to a login is bounded by its mount, a period too, also when it is renewed", async (t) => {
  const { server, login, renew } = await methodOf(t);
  const [minute, day] = ["60000000000", "86400000000000"];
  const length = async (says: object) => {
    const answer = await login(says);
    assert.equal(answer.status, 200, answer.text);
    return [at(answer, "auth", "lease_duration"), at(answer, "warnings") ?? null] as const;
  };
  assert.deepEqual(await length({ ttl: day }), [
    3600,
    ["the lifetime of 24h0m0s was cut to 1h0m0s, the longest that is allowed here"],
  ]);
  assert.deepEqual(await length({ period: day }), [
    3600,
    ["the period of 24h0m0s was cut to 1h0m0s, the longest that its mount allows"],
  ]);
  assert.deepEqual(await length({ ttl: "9223372036854775807" }).then(([seconds]) => seconds), 3600);
  assert.deepEqual(await length({ period: day, explicitMaxTtl: minute }).then(([s]) => s), 60);
  const periodic = await login({ period: minute, renewal: { period: day } });
  const token = String(at(periodic, "auth", "client_token"));
  const renewed = await renew(token);
  assert.equal(at(renewed, "auth", "lease_duration"), 3600, renewed.text);

  const bound = await login({
    boundCidrs: ["192.0.2.0/24"],
    numUses: "7",
    tokenType: 1,
    renewable: false,
  });
  assert.deepEqual([at(bound, "auth", "num_uses"), at(bound, "auth", "renewable")], [7, false]);
  const elsewhere = String(at(bound, "auth", "client_token"));
  assert.equal((await server.call("GET", "auth/small/echo", { token: elsewhere })).status, 403);
  const once = await login({ renewable: false });
  const kept = String(at(once, "auth", "client_token"));
  assert.notEqual((await renew(kept)).status, 200);
});

test("its paths are open, ordinary or for sudo as it says, also while it cannot be started", async (t) => {
  const server = await PluginServer.start(t);
  const entry = await server.register();
  await server.mount("small");
  await server.ok("POST", "sys/policies/acl/all", {
    policy: 'path "small/*" { capabilities = ["create", "read", "update", "list", "delete"] }',
  });
  const made = await server.ok("POST", "auth/token/create", { policies: ["all"] });
  const token = String(at(made, "auth", "client_token"));
  const status = async (path: string, how: { token?: string | undefined } = { token }) =>
    (await server.call("GET", `small/${path}`, how)).status;
  const nobody = { token: undefined };
  assert.deepEqual(
    [await status("echo"), await status("config"), await status("root/a"), await status("open/a")],
    [200, 403, 403, 200],
  );
  assert.deepEqual([await status("open/a", nobody), await status("echo", nobody)], [200, 403]);
  await server.test.server.plugins.catalog.delete(entry);
  await server.ok("POST", "sys/seal");
  await server.test.unseal(server.opened.shares);
  assert.deepEqual(
    [await status("echo"), await status("config"), await status("open/a", nobody)],
    [503, 403, 503],
  );
});

test("what a plugin says went wrong reaches its caller, by its kind, and neither log nor audit", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const statuses: readonly [what: string, status: number][] = [
    ["0", 500],
    ["1", 400],
    ["2", 500],
    ["3-409", 409],
    ["3-422", 400],
    ["3-599", 500],
    ["4", 400],
    ["5", 405],
    ["6", 404],
    ["7", 400],
    ["8", 403],
    ["10", 500],
    ["softly", 400],
  ];
  for (const [what, status] of statuses) {
    const answer = await server.call("GET", `small/fails/${what}`);
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.equal(texts(answer), what === "softly" ? "it says no" : "my own words", what);
  }
  assert.doesNotMatch(server.test.lines.join("\n"), /my own words|it says no/);
});

test("an answer that is no JSON is given as what no browser runs", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small");
  const raw = await server.call("GET", "small/raw");
  assert.equal(raw.status, 200);
  assert.equal(raw.headers["content-type"], "application/octet-stream");
  assert.equal(raw.headers["x-content-type-options"], "nosniff");
  assert.match(raw.text, /<script>/);
  for (const status of [204, 304]) {
    const bare = await server.call("GET", `small/raw/${status}`);
    assert.deepEqual([bare.status, bare.text], [status, ""]);
    assert.equal(bare.headers["content-length"], undefined, "nothing follows");
    assert.equal(bare.headers["content-type"], undefined);
  }
  const wrapped = await server.call("GET", "small/raw", {
    headers: { "X-Service-Wrap-TTL": "60s" },
  });
  assert.equal(wrapped.status, 400);
});

test("a plugin may ask of its mount and of the cluster, and has its own help", async (t) => {
  const server = await PluginServer.start(t);
  await server.register();
  await server.mount("small", { config: { default_lease_ttl: "90s" }, options: { colour: "red" } });
  const found = await server.data("small/system");
  assert.equal(found["ttl"], 90);
  assert.equal(found["state"], 4096 + 8192);
  assert.equal(found["local"], false);
  assert.deepEqual(found["config"], {
    colour: "red",
    plugin_name: "small",
    plugin_type: "secret",
    plugin_version: "",
  });
  const help = await server.ok("GET", "small/kv/a?help=1");
  assert.match(help.text, /a small engine/);
});
