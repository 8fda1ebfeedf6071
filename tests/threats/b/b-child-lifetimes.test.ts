// Threats B, how long tokens live that tokens have made, and what ends with whom.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { HOUR, MINUTE, SECOND } from "../../support/servers/acl-server.ts";
import { loggedIn } from "../../support/servers/login-server.ts";
import { rule } from "../scene.ts";
import { MAKES, childOf, stoppedLogins, withKv } from "./children.ts";

const PATHS = ["create", "create-orphan"] as const;

test("T-B16: neither a child nor an orphan outlives the maximum of its maker, however it is made and renewed", async (t) => {
  const { logins, ask, make, facts, pass } = await stoppedLogins(t);
  const policies = ["makes"];
  const life = { ttl: "10m", explicit_max_ttl: "30m" };
  const makers = {
    bounded: await make("create", { policies, ...life }),
    periodic: await make("create", { policies, period: "10m", explicit_max_ttl: "30m" }),
    fixed: await make("create-orphan", { policies, ttl: "30m", renewable: false }),
  };
  for (const [name, maker] of Object.entries(makers)) {
    const end = Number((await facts(maker))["creation_time"]) + 1800;
    for (const path of PATHS) {
      let token = maker;
      // Also along a chain of them.
      for (let depth = 0; depth < 3; depth++) {
        const answer = await ask(path, token, { ttl: "24h", explicit_max_ttl: "48h" });
        assert.match(answer.text, /lifetime of 24h0m0s was cut to 30m0s, the time that the caller/);
        assert.match(answer.text, /explicit_max_ttl of 48h0m0s was cut to 30m0s/);
        token = loggedIn(answer).secret;
        const lookup = await facts(token);
        assert.equal(lookup["explicit_max_ttl"], 1800, name);
        assert.equal(lookup["ttl"], 1800, name);
        assert.equal(lookup["renewable"], name !== "fixed", name);
        assert.ok(Date.parse(String(lookup["expire_time"])) / 1000 < end + 1, name);
        assert.equal(lookup["orphan"], path === "create-orphan");
      }
    }
  }
  pass(5n * MINUTE);
  const made: string[] = [];
  for (const path of PATHS) {
    const token = await make(path, { ttl: "1m" }, makers.bounded);
    assert.equal((await facts(token))["explicit_max_ttl"], 1500);
    const renewed = await ask("renew-self", token, { increment: "24h" });
    assert.equal(loggedIn(renewed).auth["lease_duration"], 1500);
    made.push(token);
  }
  // One that is let go keeps its end.
  await logins.server.must("POST", "/v1/auth/token/revoke-orphan", {
    body: { token: makers.bounded },
  });
  for (const token of made) assert.equal((await logins.self(token)).status, 200);
  pass(26n * MINUTE);
  for (const token of made) assert.equal((await logins.self(token)).status, 403);
});

test("T-B16: an orphan of a login ends with the maximum of its role, and of a token without renewals with its expiry", async (t) => {
  const { logins, ask, make, facts, pass } = await stoppedLogins(t);
  await logins.people({ token_policies: "makes", token_ttl: "10s", token_explicit_max_ttl: "30s" });
  const { secret: login } = loggedIn(await logins.login());
  const { SecretID } = at(
    await logins.server.must("POST", "/v1/acl/token", {
      body: { Type: "client", Policies: ["makes"], ExpirationTTL: "1h" },
    }),
  ) as { SecretID: string };
  for (const path of PATHS) {
    assert.equal((await facts(await make(path, { ttl: "24h" }, login)))["ttl"], 30);
    const { ttl, renewable } = await facts(await make(path, { ttl: "24h" }, SecretID));
    assert.deepEqual([ttl, renewable], [3600, false]);
  }
  const orphan = await make("create-orphan", { ttl: "24h" }, login);
  pass(31n * SECOND);
  assert.equal((await logins.self(orphan)).status, 403);
  // The server's own maximum counts from the first of a chain.
  let token = await make("create", { policies: ["makes"], ttl: "24h" });
  for (let hours = 20; hours > 0; hours -= 4) {
    pass(4n * HOUR);
    token = await make("create-orphan", {}, token);
    assert.equal((await facts(token))["ttl"], hours * 3600);
  }
  pass(4n * HOUR + SECOND);
  assert.equal((await ask("create-orphan", token)).status, 403);
});

test("T-B16: who has no end, or sudo, bounds nothing; who has a number of uses makes nothing", async (t) => {
  const { logins, ask, make, facts } = await stoppedLogins(t);
  const { secret: endless } = await logins.server.client(["makes"]);
  const lookup = async (token: string) => {
    const { explicit_max_ttl, renewable, ttl } = await facts(token);
    return { explicit_max_ttl, renewable, ttl };
  };
  await logins.server.acl("free", rule("auth/token/create*", ["update", "sudo"]));
  const free = await make("create", { policies: ["free"], ttl: "5s", renewable: false });
  const counted = await make("create", { policies: ["makes", "free"], num_uses: 9 });
  for (const path of PATHS) {
    for (const maker of [endless, free, logins.server.root]) {
      const expected = { explicit_max_ttl: 0, renewable: true, ttl: 7200 };
      assert.deepEqual(await lookup(await make(path, { ttl: "2h" }, maker)), expected);
    }
    const refused = await ask(path, counted, { num_uses: 1 });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /a token with a number of uses cannot make others/);
  }
});

test("T-B16: when its user is gone, neither a login nor what it made is renewed, nor makes what lives longer", async (t) => {
  const { logins, ask, make, facts } = await stoppedLogins(t);
  const { server } = logins;
  await server.acl("free", rule("auth/token/create", ["update", "sudo"]));
  await logins.people({ token_policies: "makes,free", token_ttl: "1h", token_max_ttl: "10h" });
  await server.acl("makes", rule("auth/token/create-orphan", ["update"]));
  const { secret: login } = loggedIn(await logins.login());
  const orphan = await make("create-orphan", { ttl: "1h" }, login);
  // Made with sudo: it is called and noted as its maker wants, and has come through the login all the same.
  const child = await make("create", { ttl: "1h", meta: { username: "root" } }, login);
  const grandchild = await make("create-orphan", { ttl: "1h" }, child);
  const own = await make("create", { ttl: "1h", no_parent: true }, login);
  const all = [login, orphan, child, grandchild];
  for (const token of all) assert.equal((await ask("renew-self", token)).status, 200);
  await server.must("DELETE", "/v1/auth/people/users/ada");
  for (const token of all) {
    const answer = await ask("renew-self", token);
    assert.equal(answer.status, 403, answer.text);
    assert.match(answer.text, /does not know the owner/);
  }
  assert.equal((await ask("renew-self", own)).status, 200);
  const late = await facts(await make("create-orphan", { ttl: "9h" }, login));
  assert.deepEqual([late["ttl"], late["renewable"]], [3600, false]);
});

test("T-B11: a period, and tokens of another namespace, are not for callers without sudo", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  await server.must("POST", "/v1/sys/namespaces/team", { body: {} });
  await server.acl("makes", MAKES + rule("team/auth/token/create", ["update"]));
  const { secret: token } = await server.client(["makes"]);
  const create = (body: object, namespace?: string) =>
    server.call("POST", "/v1/auth/token/create", {
      token,
      body,
      ...(namespace === undefined ? {} : { namespace }),
    });
  assert.equal((await create({ ttl: "1h" })).status, 200);
  const periodic = await create({ period: "1h" });
  assert.equal(periodic.status, 403, periodic.text);
  assert.match(periodic.text, /period needs the capability sudo on this path/);
  // The same names mean other policies there.
  for (const body of [{}, { policies: ["default"] }, { policies: ["makes"] }]) {
    const elsewhere = await create(body, "team");
    assert.equal(elsewhere.status, 400, elsewhere.text);
    assert.match(elsewhere.text, /child policies must be subset of parent/);
  }
});

test("T-B16: leaving what a token made to itself needs sudo; making an orphan needs the right to that path", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  const paths = ["auth/token/create", "auth/token/create-orphan", "auth/token/revoke-orphan"];
  await server.acl("plain", paths.map((path) => rule(path, ["update"])).join("\n"));
  await server.acl("free", rule("auth/token/revoke-orphan", ["update", "sudo"]));
  const { secret: plain } = await server.client(["plain"]);
  const { secret: free } = await server.client(["free"]);
  const child = await childOf(logins, plain);
  const grandchild = await childOf(logins, child);
  const end = (token: string) =>
    server.call("POST", "/v1/auth/token/revoke-orphan", { token, body: { token: child } });
  assert.equal((await end(plain)).status, 403, "or children would outlive what was to end them");
  assert.equal((await end(free)).status, 204);
  assert.equal((await logins.self(child)).status, 403);
  assert.equal((await logins.self(grandchild)).status, 200);
  const orphan = await server.call("POST", "/v1/auth/token/create-orphan", { token: plain });
  assert.equal(at(orphan, "auth", "orphan"), true, orphan.text);
});
