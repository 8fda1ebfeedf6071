// Threats B: what a token makes, and whom a login has let in. A child has at most its parent's rights and at
// least its limits; names and notes that somebody chose prove nothing. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { SECOND } from "../../support/servers/acl-server.ts";
import { loggedIn, PASSWORD } from "../../support/servers/login-server.ts";
import { EVERYTHING, rule } from "../scene.ts";
import {
  HARD,
  KV,
  MAKES,
  MAKES_BOTH,
  TIMEOUT,
  childOf,
  policiesOf,
  sortedPoliciesOf,
  statusOf,
  stoppedLogins,
  withKv,
} from "./children.ts";

test("T-B11: a child has at most the policies of its parent, whatever its parent asks for", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("makes", MAKES);
  await logins.server.acl("kv", KV);
  const { secret: token } = await logins.server.client(["makes"]);
  for (const policies of [["kv"], ["makes", "kv"], ["KV"], ["root"], ["makes", "Root"]]) {
    const body = { policies };
    const answer = await logins.server.call("POST", "/v1/auth/token/create", { token, body });
    assert.equal(answer.status, 400, `${policies.join()}: ${answer.text}`);
  }
  const child = await childOf(logins, token);
  assert.deepEqual(await policiesOf(logins, child), ["default", "makes"]);
  assert.equal(await statusOf(logins, child, "kv/a", "POST"), 403);
});

test("T-B16: a child keeps every RGP of its parent", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("app", MAKES + KV);
  await logins.server.rgp(
    "readonly",
    'request.operation == "read" || request.path == "auth/token/create"',
    HARD,
  );
  const { secret: parent } = await logins.server.client(["app", "readonly"]);
  assert.equal(await statusOf(logins, parent, "kv/a", "POST"), 403);
  let token = parent;
  for (const body of [{ policies: ["app"] }, { policies: "app" }, {}]) {
    token = await childOf(logins, token, body);
    assert.deepEqual(await policiesOf(logins, token), ["default", "app", "readonly"]);
    assert.equal(await statusOf(logins, token, "kv/a", "POST"), 403);
    assert.equal(await statusOf(logins, token, "kv/a"), 404);
  }
  // Whoever may give what it likes leaves it out on purpose.
  const free = await childOf(logins, logins.server.root, { policies: ["app"] });
  assert.equal(await statusOf(logins, free, "kv/a", "POST"), 204);
});

test("T-B16: a child keeps every policy of its parent that denies something, the default one too", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("app", MAKES + KV);
  await logins.server.acl("no-prod", rule("kv/prod/*", ["deny"]));
  await logins.server.acl("more", rule("other/extra/*", ["read"]));
  const { secret: parent } = await logins.server.client(["app", "no-prod", "more"]);
  const child = await childOf(logins, parent, { policies: ["app"] });
  assert.deepEqual(await policiesOf(logins, child), ["default", "app", "no-prod"]);
  assert.equal(await statusOf(logins, child, "kv/prod/a", "POST"), 403);
  assert.equal(await statusOf(logins, child, "kv/dev/a", "POST"), 204);
  const old = await logins.server.must("GET", "/v1/sys/policies/acl/default");
  const text = String(at(old, "data", "policy"));
  await logins.server.acl("default", text + rule("kv/payroll/*", ["deny"]));
  const made = await logins.server.call("POST", "/v1/auth/token/create", {
    token: parent,
    body: { policies: ["app", "no-prod"], ttl: "1h", no_default_policy: true },
  });
  assert.deepEqual(at(made, "warnings"), [
    "no_default_policy has no effect: the policy default limits the token's maker, and stays",
  ]);
  const { secret: bare } = loggedIn(made);
  assert.equal(await statusOf(logins, bare, "kv/payroll/a", "POST"), 403);
});

test("T-B16: a child keeps the policies of its parent whose narrower rules hid a wider one that it asks for", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  await server.acl("app", MAKES + KV + rule("kv/forms/x", EVERYTHING));
  await server.acl("look", rule("kv/prod/*", ["read"]) + rule("kv/team/{{token.name}}", ["read"]));
  await server.acl("plus", rule("kv/+/config", ["read"]));
  await server.acl("form", rule("kv/forms/x", ["update"], '\ndenied_parameters = { "v" = [] }'));
  await server.acl("wrapped", rule("kv/forms/y", EVERYTHING, '\nmin_wrapping_ttl = "1m"'));
  // These take nothing from it.
  await server.acl("wide", rule("kv/wide/*", EVERYTHING));
  await server.acl("far", rule("other/*", ["read"]));
  const limits = ["look", "plus", "form", "wrapped"];
  const { secret: parent } = await server.client(["app", ...limits, "wide", "far"]);
  const paths = ["kv/prod/a", "kv/x/config", "kv/forms/x", "kv/forms/y"];
  const made = await server.call("POST", "/v1/auth/token/create", {
    token: parent,
    body: { policies: ["app"], ttl: "1h" },
  });
  const { secret: child } = loggedIn(made);
  assert.deepEqual(await sortedPoliciesOf(logins, child), ["default", "app", ...limits].toSorted());
  assert.deepEqual(at(made, "warnings"), [
    "policies that limit the token's maker stay: form, look, plus, wrapped",
  ]);
  for (const path of paths) {
    assert.equal(await statusOf(logins, parent, path, "POST"), 403, path);
    assert.equal(await statusOf(logins, child, path, "POST"), 403, path);
  }
  assert.equal(await statusOf(logins, child, "kv/dev/a", "POST"), 204);
  // A policy that brings a limit may itself be limited by a third one.
  await server.acl("chain", MAKES + rule("chain/*", EVERYTHING));
  await server.acl("chain-read", rule("chain/a/*", ["read", "list"]) + rule("deep/*", EVERYTHING));
  await server.acl("chain-deep", rule("deep/a", ["read"]));
  const { secret: top } = await server.client(["chain", "chain-read", "chain-deep"]);
  const last = await childOf(logins, top, { policies: ["chain"] });
  const chained = ["chain", "chain-deep", "chain-read", "default"];
  assert.deepEqual(await sortedPoliciesOf(logins, last), chained);
  // Whoever asks for nothing gets what it has, and no warning.
  const same = await server.call("POST", "/v1/auth/token/create", {
    token: parent,
    body: { ttl: "1h" },
  });
  assert.deepEqual(
    await sortedPoliciesOf(logins, loggedIn(same).secret),
    await sortedPoliciesOf(logins, parent),
  );
  assert.equal(at(same, "warnings"), null);
});

test("T-B16: a child keeps what limits its parent for the other form of a folder", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  await server.must("POST", "/v1/kv/foo/a", { body: { v: 1 } });
  await server.must("POST", "/v1/kv/bar/a", { body: { v: 1 } });
  await server.acl("folders", MAKES + rule("kv/+", ["list"]));
  const bounds = '\nmin_wrapping_ttl = "1m"\nmax_wrapping_ttl = "1h"';
  const wrapped = (path: string) => rule(path, ["list"], bounds);
  // Of a list the stronger of two labels decides, though neither matches what the other does.
  for (const [name, text] of Object.entries({
    star: wrapped("kv/foo/*"),
    exact: rule("kv/foo", ["read"]),
    "exact-folder": rule("kv/foo/", ["read"]),
    plus: wrapped("kv/foo/*") + rule("kv/+/", ["read"]),
  })) {
    await server.acl(name, text);
    const { secret: parent } = await server.client(["folders", name]);
    const child = await childOf(logins, parent, { policies: ["folders"] });
    assert.deepEqual(
      await sortedPoliciesOf(logins, child),
      ["default", "folders", name].toSorted(),
    );
    for (const path of ["kv/foo", "kv/foo/"]) {
      assert.equal(await statusOf(logins, parent, path, "LIST"), 403, name);
      assert.equal(await statusOf(logins, child, path, "LIST"), 403, name);
    }
    assert.equal(await statusOf(logins, child, "kv/bar", "LIST"), 200, name);
  }
});

test("T-B16: what limits a parent when a rule or a policy has ended limits its child then", async (t) => {
  const { logins, pass, timeIn } = await stoppedLogins(t);
  const { server } = logins;
  await server.must("POST", "/v1/sys/mounts/kv", {
    body: { type: "kv", options: { version: "1" } },
  });
  await server.acl("base", MAKES_BOTH + KV);
  await server.acl(
    "ends",
    rule("kv/x", ["read"]) + rule("kv/x", EVERYTHING, `expiration = "${timeIn(8n * SECOND)}"`),
  );
  const temporary = { policy: rule("kv/y", ["read"]), ttl: "6s" };
  await server.must("POST", "/v1/sys/policies/acl/temporary", { body: temporary });
  await server.acl("reads", rule("kv/y", ["read"]));
  const { secret: parent } = await server.client(["base", "ends", "temporary", "reads"]);
  const ofBase = await childOf(logins, parent, { policies: ["base"] });
  const ofBoth = await childOf(logins, parent, { policies: ["base", "temporary"] });
  const write = (token: string, path: string) => statusOf(logins, token, path, "POST");
  for (const token of [parent, ofBase, ofBoth]) {
    assert.deepEqual([await write(token, "kv/x"), await write(token, "kv/y")], [204, 403]);
  }
  pass(9n * SECOND);
  for (const token of [parent, ofBase, ofBoth]) {
    assert.deepEqual([await write(token, "kv/x"), await write(token, "kv/y")], [403, 403]);
    assert.equal(await write(token, "kv/z"), 204);
  }
});

test("T-B16: what limits a parent in a namespace below limits its child there", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  const reads = rule("below/kv/x", ["read"]);
  await server.acl("old", reads); // written before the namespace was made: it does not count there
  await server.must("POST", "/v1/sys/namespaces/below");
  const body = { type: "kv", options: { version: "1" } };
  await server.must("POST", "/v1/sys/mounts/kv", { body, namespace: "below" });
  await server.acl("base", MAKES + rule("below/kv/*", EVERYTHING));
  await server.acl("young", reads);
  const { secret: parent } = await server.client(["base", "old", "young"]);
  const child = await childOf(logins, parent, { policies: ["base", "old"] });
  for (const token of [parent, child]) {
    assert.equal(await statusOf(logins, token, "below/kv/x", "POST"), 403);
    assert.equal(await statusOf(logins, token, "below/kv/y", "POST"), 204);
  }
});

test(
  "T-B16 T-C03: a child among thousands of rules is made in slices, and keeps what would take too long to compare",
  TIMEOUT,
  async (t) => {
    const logins = await withKv(t);
    const { server } = logins;
    const many = (count: number, of: (i: number) => string) =>
      Array.from({ length: count }, (_, i) => of(i)).join("");
    const brief = (path: string, word: string) => `path "${path}"{capabilities=["${word}"]}`;
    const deep = "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t";
    const sets = {
      // They part in their second segment.
      apart: [
        many(2_900, (i) => brief(`+/k0_${i}/${deep}/*`, "update")),
        many(50, (i) => brief(`+/zz${i}/a/b/c`, "read")),
      ],
      // These part in their last, behind many that are any.
      alike: [
        many(3_000, (i) => brief(`x/+/+/+/k${i}*`, "update")),
        many(3_000, (i) => brief(`+/+/+/+/l${i}*`, "read")),
      ],
      // One label is long, and so is another that it hides.
      long: [
        brief(`+/${"a/".repeat(60_000)}b`, "update"),
        brief(`+/${"a/".repeat(60_000)}*`, "read"),
      ],
    };
    for (const [name, [hiding = "", granting = ""]] of Object.entries(sets)) {
      await server.acl(`${name}-hides`, hiding);
      await server.acl(`${name}-grants`, MAKES + granting);
      const { secret: parent } = await server.client([`${name}-hides`, `${name}-grants`]);
      let child = "";
      const made = async () => {
        child = await childOf(logins, parent, { policies: [`${name}-grants`] });
      };
      await keepsNobodyWaiting(name, made);
      const kept = name === "apart" ? [] : [`${name}-hides`];
      const policies = ["default", `${name}-grants`, ...kept].toSorted();
      assert.deepEqual(await sortedPoliciesOf(logins, child), policies);
    }
  },
);

test("T-B16: name and metadata that a token chooses for its child open nothing", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl(
    "homes",
    MAKES +
      rule("auth/token/create-orphan", ["update"]) +
      rule("kv/home/{{token.name}}/*", EVERYTHING) +
      rule("kv/team/{{token.meta.team}}/*", EVERYTHING) +
      rule("kv/cleared", ["read"]),
  );
  await logins.server.egp(
    "cleared",
    'has(token.metadata.cleared) && token.metadata.cleared == "yes" && token.display_name == "chief"',
    HARD,
    ["kv/cleared"],
  );
  for (const path of ["kv/home/bob/s", "kv/home/people-ada/s", "kv/team/blue/s", "kv/cleared"]) {
    await logins.server.must("POST", `/v1/${path}`, { body: { v: 1 } });
  }
  await logins.people({ token_policies: "homes" });
  const { secret: ada } = loggedIn(await logins.login());
  const chosen = { display_name: "bob", meta: { team: "blue", cleared: "yes" } };
  const child = await childOf(logins, ada, chosen);
  const chief = await childOf(logins, child, { ...chosen, display_name: "chief" });
  const orphan = await logins.server.call("POST", "/v1/auth/token/create-orphan", {
    token: ada,
    body: chosen,
  });
  // It is shown for what it is: what its maker has noted.
  assert.equal(at(await logins.self(child), "data", "display_name"), "bob");
  assert.deepEqual(at(await logins.self(child), "data", "meta"), chosen.meta);
  for (const token of [ada, child, chief, loggedIn(orphan).secret]) {
    assert.equal(await statusOf(logins, token, "kv/home/bob/s"), 403);
    assert.equal(await statusOf(logins, token, "kv/team/blue/s"), 403);
    assert.equal(await statusOf(logins, token, "kv/cleared"), 403);
    // It is still the person who has logged in.
    assert.equal(await statusOf(logins, token, "kv/home/people-ada/s"), 200);
  }
  // What management writes is so.
  const meta = { team: "blue", cleared: "yes" };
  const body = { display_name: "chief", policies: ["homes"], meta };
  const trusted = await childOf(logins, logins.server.root, body);
  assert.equal(await statusOf(logins, trusted, "kv/team/blue/s"), 200);
  assert.equal(await statusOf(logins, trusted, "kv/cleared"), 200);
  assert.equal(await statusOf(logins, trusted, "kv/home/bob/s"), 403);
});

test("T-B16: changing a token gives its own words no weight, but management's", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("homes", MAKES + rule("kv/home/{{token.name}}/*", ["read"]));
  await logins.server.must("POST", "/v1/kv/home/bob/s", { body: { v: 1 } });
  const { secret: parent } = await logins.server.client(["homes"]);
  const made = await logins.server.call("POST", "/v1/auth/token/create", {
    token: parent,
    body: { display_name: "bob" },
  });
  const { secret: child, accessor } = loggedIn(made);
  const update = async (Name: string) => {
    const body = { AccessorID: accessor, Type: "client", Policies: ["homes"], Name };
    await logins.server.must("POST", `/v1/acl/token/${accessor}`, { body });
  };
  await update("bob");
  assert.equal(await statusOf(logins, child, "kv/home/bob/s"), 403);
  await update("carol");
  await update("bob");
  assert.equal(await statusOf(logins, child, "kv/home/bob/s"), 200);
});

test("T-B16: who may make secret ids does not say what their tokens are", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("team", rule("kv/team/{{token.meta.team}}/*", ["read"]));
  await logins.server.acl("hands-out", rule("auth/approle/role/ci/secret-id", ["update"]));
  await logins.server.must("POST", "/v1/kv/team/blue/s", { body: { v: 1 } });
  const roleId = await logins.machines({ token_policies: "team" });
  const { secret: token } = await logins.server.client(["hands-out"]);
  const body = { metadata: { team: "blue", role_name: "other" } };
  const create = async (by: object) =>
    String(at(await logins.secretId(body, by), "data", "secret_id"));
  const secret = async (by: object) =>
    loggedIn(await logins.machineLogin(roleId, await create(by))).secret;
  const noted = await secret({ token });
  assert.deepEqual(at(await logins.self(noted), "data", "meta"), { team: "blue", role_name: "ci" });
  assert.equal(await statusOf(logins, noted, "kv/team/blue/s"), 403);
  assert.equal(await statusOf(logins, await secret({}), "kv/team/blue/s"), 200);
});

test("T-B27: nobody of one mount is somebody of another, whatever they are called", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  await server.acl("home", rule("kv/home/{{token.name}}", EVERYTHING));
  const people: readonly (readonly [mount: string, user: string])[] = [
    ["corp-admin", "alice"],
    ["corp", "admin-alice"],
    ["team/admin", "alice"],
    ["team-admin", "alice"],
    ["corp~admin", "alice"],
    ["corp~-admin", "alice"],
    ["corp.admin", "alice"],
  ];
  const type = "cheap-userpass";
  const tokens: string[] = [];
  for (const [mount, user] of people) {
    await logins.enable(mount, type);
    const body = { password: PASSWORD, token_policies: "home" };
    await server.must("POST", `/v1/auth/${mount}/users/${user}`, { body });
    const login = await server.call("POST", `/v1/auth/${mount}/login/${user}`, {
      body: { password: PASSWORD },
    });
    tokens.push(loggedIn(login).secret);
  }
  const names = [
    "corp~-admin-alice",
    "corp-admin-alice",
    "team~.admin-alice",
    "team~-admin-alice",
    "corp~~admin-alice",
    "corp~~~-admin-alice",
    "corp.admin-alice",
  ];
  for (const [whose, name] of names.entries()) {
    for (const [who, token] of tokens.entries()) {
      const expected = who === whose ? 204 : 403;
      assert.equal(await statusOf(logins, token, `kv/home/${name}`, "POST"), expected, name);
    }
  }
});

test("T-B27: two roles of one mount are not the same, and their metadata is their own", async (t) => {
  const logins = await withKv(t);
  const { server } = logins;
  await server.acl("home", rule("kv/home/{{token.name}}/{{token.meta.role_name}}", EVERYTHING));
  await logins.enable("approle", "approle");
  const tokens: string[] = [];
  for (const role of ["web", "db"]) {
    const path = `/v1/auth/approle/role/${role}`;
    await server.must("POST", path, { body: { token_policies: "home" } });
    const roleId = at(await server.must("GET", `${path}/role-id`), "data", "role_id");
    const made = await server.must("POST", `${path}/secret-id`, { body: {} });
    const login = logins.machineLogin(String(roleId), String(at(made, "data", "secret_id")));
    tokens.push(loggedIn(await login).secret);
  }
  const [web = "", db = ""] = tokens;
  assert.equal(await statusOf(logins, web, "kv/home/approle-web/web", "POST"), 204);
  assert.equal(await statusOf(logins, db, "kv/home/approle-db/db", "POST"), 204);
  assert.equal(await statusOf(logins, db, "kv/home/approle-web/web", "POST"), 403);
});

test("T-B16: what a bound token makes is bound like it, with sudo too", async (t) => {
  const logins = await withKv(t);
  await logins.server.acl("maker", rule("auth/token/create*", ["update", "sudo"]));
  const boundTo = ["127.0.0.0/8", "::1"];
  await logins.people({ token_policies: "maker", token_bound_cidrs: boundTo });
  const { secret: token } = loggedIn(await logins.login());
  for (const path of ["create", "create-orphan"]) {
    const body = { policies: ["maker"] };
    const made = await logins.server.call("POST", `/v1/auth/token/${path}`, { token, body });
    const facts = await logins.self(loggedIn(made).secret);
    assert.deepEqual(at(facts, "data", "bound_cidrs"), boundTo, path);
  }
});

// --- how long what a token makes may live ---
