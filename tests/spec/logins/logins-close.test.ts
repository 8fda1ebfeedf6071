// When a way in closes: disabling an auth mount, moving it, and revoking by its path end every token that
// came through it, with what those have made and leased, before success is answered.

import assert from "node:assert/strict";
import test from "node:test";
import { anyEngine } from "@holdfast/plugin-sdk/engine";
import { Failure } from "@holdfast/shared/failure";
import { userpassType } from "@holdfast/engines/userpass/userpass";
import {
  dataOf,
  done,
  type EngineServer,
  engineServer,
  grants,
  refused,
} from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";
import { at, type CallOptions } from "../../support/http-client.ts";
import { CHEAP } from "../../support/made/made-login-engine.ts";

const PASSWORD = "correct horse battery staple";
const TYPE = "cheap-userpass";
const down = () => new Failure("upstream", "provider-down", "the provider is down");

class Stage {
  readonly server: EngineServer;

  constructor(server: EngineServer) {
    this.server = server;
  }

  /** An auth mount with these people, all of whom may make tokens and take secrets. */
  async mount(path: string, ...people: readonly string[]): Promise<void> {
    done(await this.server.ask("POST", `sys/auth/${path}`, { type: TYPE }));
    const body = { password: PASSWORD, token_policies: "works" };
    for (const user of people) await this.server.must("POST", `auth/${path}/users/${user}`, body);
  }

  async login(mount: string, user: string): Promise<string> {
    const path = `auth/${mount}/login/${user}`;
    return tokenIn(await this.server.must("POST", path, { password: PASSWORD }));
  }

  async child(token: string, path = "auth/token/create", more: CallOptions = {}): Promise<string> {
    return tokenIn(await this.server.must("POST", path, {}, { token, ...more }));
  }

  /** Which of them still let somebody in. */
  async good(tokens: Readonly<Record<string, string>>): Promise<string> {
    const found: string[] = [];
    for (const [name, token] of Object.entries(tokens)) {
      const answer = await this.server.ask("GET", "auth/token/lookup-self", undefined, { token });
      assert.ok(answer.status === 200 || answer.status === 403, answer.text);
      if (answer.status === 200) found.push(name);
    }
    return found.join(" ");
  }

  async accessors(): Promise<number> {
    return (dataOf(await this.server.ask("LIST", "auth/token/accessors"))["keys"] as []).length;
  }
}

function tokenIn(answer: Awaited<ReturnType<EngineServer["ask"]>>): string {
  return String(at(answer, "auth", "client_token"));
}

async function stage(t: Parameters<typeof engineServer>[0]): Promise<Stage> {
  const type = anyEngine({ ...userpassType(CHEAP), type: TYPE });
  const server = await engineServer(t, { engineTypes: [type] });
  await server.counting("count");
  const policy =
    grants("auth/token/create", "update") +
    grants("auth/token/create-orphan", "update") +
    grants("auth/token/renew-self", "update") +
    grants("count/creds/r", "read");
  await server.must("POST", "sys/policies/acl/works", { policy });
  return new Stage(server);
}

test("disabling an auth mount ends its tokens, what they made, and all their leases, before it answers", async (t) => {
  const on = await stage(t);
  const { server } = on;
  await on.mount("people", "ada", "bob");
  await on.mount("staff", "ada");
  const ada = await on.login("people", "ada");
  const child = await on.child(ada);
  const tokens = {
    ada,
    bob: await on.login("people", "bob"),
    child,
    grandchild: await on.child(child),
    orphan: await on.child(ada, "auth/token/create-orphan"),
    staff: await on.login("staff", "ada"),
  };
  const before = await on.accessors();
  for (const token of Object.values(tokens)) await server.issue("count/creds/r", { token });
  const kept = await server.issue();
  assert.equal(server.outside.objects.length, 7);
  done(await server.ask("DELETE", "sys/auth/people"));
  assert.equal(server.outside.objects.length, 2, "of staff and of root");
  assert.ok(server.outside.has(kept.object));
  assert.equal(await on.good(tokens), "staff");
  assert.equal(await on.accessors(), before - 5);
  assert.deepEqual(server.storedKeys("by-login").length, 1, "nothing of it is left");
  // A mount of the same name is another.
  await on.mount("people", "ada");
  assert.equal(await on.good(tokens), "staff");
  assert.equal(await on.good({ anew: await on.login("people", "ada") }), "anew");
});

test("more tokens than one transaction takes", async (t) => {
  const on = await stage(t);
  await on.mount("people", "ada");
  const before = await on.accessors();
  const tokens: Record<string, string> = {};
  for (let i = 0; i < 70; i++) tokens[`t${i}`] = await on.login("people", "ada");
  done(await on.server.ask("DELETE", "sys/auth/people"));
  assert.equal(await on.good(tokens), "");
  assert.equal(await on.accessors(), before);
});

test("tokens are refused from the moment at which their mount is closed, whatever it waits for", async (t) => {
  const on = await stage(t);
  const { server } = on;
  await on.mount("people", "ada");
  const ada = await on.login("people", "ada");
  const accessor = dataOf(
    await server.ask("GET", "auth/token/lookup-self", undefined, { token: ada }),
  )["accessor"];
  const lease = await server.issue("count/creds/r", { token: ada });
  const offered = await server.must("POST", "acl/token/onetime", undefined, { token: ada });
  server.outside.fail("revoke", down);
  const failed = await server.ask("DELETE", "sys/auth/people");
  assert.ok(failed.status >= 400, failed.text);
  assert.match(failed.text, /the provider is down/);
  const child = { token: ada, body: {} };
  for (const [method, path] of [
    ["GET", "auth/token/lookup-self"],
    ["POST", "auth/token/renew-self"],
    ["POST", "auth/token/create"],
    ["GET", "count/creds/r"],
  ] as const) {
    const answer = await server.ask(
      method,
      path,
      undefined,
      method === "POST" ? child : { token: ada },
    );
    refused(answer, 403, "permission denied", "invalid token");
  }
  refused(
    await server.ask("POST", "auth/token/renew-accessor", { accessor }),
    403,
    "permission denied",
    "invalid accessor",
  );
  const secret = at(offered, "OneTimeToken", "OneTimeSecretID");
  const body = { OneTimeSecretID: secret };
  const exchanged = await server.ask("POST", "acl/token/onetime/exchange", body);
  assert.equal(exchanged.status, 403, exchanged.text);
  assert.ok(server.outside.has(lease.object));
  await server.crash();
  server.outside.heal();
  assert.equal(await on.good({ ada }), "", "after a crash as well");
  await server.ask("DELETE", "sys/auth/people");
  await until(() => server.outside.objects.length === 0);
  await until(async () => !JSON.stringify(await server.ask("GET", "sys/auth")).includes("people/"));
  assert.deepEqual(server.storedKeys("by-login"), []);
});

test("it goes on after a crash and waits for the leases then", async (t) => {
  const on = await stage(t);
  const { server } = on;
  await on.mount("people", "ada");
  const tokens: Record<string, string> = {};
  for (let i = 0; i < 5; i++) {
    tokens[`t${i}`] = await on.login("people", "ada");
    await server.issue("count/creds/r", { token: tokens[`t${i}`] ?? "" });
  }
  server.outside.hold("revoke"); // never let go: the process dies with it
  void server.ask("DELETE", "sys/auth/people").catch(() => {});
  await until(() => server.outside.reached("revoke") === 5);
  await server.crash();
  const mounts = async () => dataOf(await server.ask("GET", "sys/auth"));
  await until(async () => !("people/" in (await mounts())));
  assert.deepEqual(server.outside.objects, [], "it did not go before them");
  assert.equal(await on.good(tokens), "");
  assert.deepEqual(server.storedKeys("by-login"), []);
});

test("revoking by the path of a login ends its tokens: of the mount, or of one person, in any spelling", async (t) => {
  const on = await stage(t);
  const { server } = on;
  const people = ["ada", "ada2", "bob"];
  for (const [act, body] of [
    ["sys/leases/revoke-prefix", {}],
    ["sys/leases/revoke-prefix", { sync: true }],
    ["sys/leases/revoke-force", {}],
    ["sys/revoke-prefix", {}],
  ] as const) {
    await on.mount("corp/people", ...people);
    await on.mount("staff", "ada");
    const fresh = async () => ({
      ada: await on.login("corp/people", "ada"),
      ada2: await on.login("corp/people", "ada2"),
      bob: await on.login("corp/people", "BOB"),
      staff: await on.login("staff", "ada"),
    });
    for (const [prefix, left] of [
      ["auth/corp/people/login/ada", "ada2 bob staff"],
      ["auth/corp/people/login/bob", "ada ada2 staff"],
      ["auth/corp/people/login/Ada", "ada2 bob staff"],
      ["auth/corp/people/login", "staff"],
      ["auth/corp/people", "staff"],
      ["auth/corp", "staff"],
      ["auth", ""],
      ["auth/cor", "ada ada2 bob staff"],
      ["auth/corp/people/login/ada/root", "ada ada2 bob staff"],
      ["count", "ada ada2 bob staff"],
    ] as const) {
      const tokens = await fresh();
      for (const token of Object.values(tokens)) await server.issue("count/creds/r", { token });
      const answer = await server.ask("POST", `${act}/${prefix}`, body);
      assert.ok(answer.status < 300, `${act} ${prefix}: ${answer.text}`);
      assert.equal(await on.good(tokens), left, `${act} ${prefix}`);
      const count = prefix === "count" ? 0 : left.split(" ").filter((name) => name !== "").length;
      if ("sync" in body) assert.equal(server.outside.objects.length, count, prefix);
      else await until(() => server.outside.objects.length === count);
      await server.must("POST", "sys/leases/revoke-prefix/count", { sync: true });
    }
    done(await server.ask("DELETE", "sys/auth/corp/people"));
    done(await server.ask("DELETE", "sys/auth/staff"));
  }
});

test("a prefix of auth/token is told to be none", async (t) => {
  const on = await stage(t);
  for (const act of ["revoke-prefix", "revoke-force"]) {
    for (const prefix of ["auth/token", "auth/token/create"]) {
      const answer = await on.server.ask("POST", `sys/leases/${act}/${prefix}`, {});
      refused(answer, 400, /^tokens made through auth\/token have no common prefix: end each with/);
    }
  }
});

test("a revocation that is waited for covers what the children of its tokens have leased", async (t) => {
  const on = await stage(t);
  const { server } = on;
  await on.mount("people", "ada");
  let token = await on.login("people", "ada");
  for (let i = 0; i < 20; i++) {
    await server.issue("count/creds/r", { token });
    token = await on.child(token);
  }
  done(await server.ask("POST", "sys/leases/revoke-prefix/auth/people", { sync: true }));
  assert.deepEqual(server.outside.objects, []);
});

test("tokens that are good in every cluster end by the path of their mount as well", async (t) => {
  const on = await stage(t);
  const { server } = on;
  const options = { token_scope: "global" };
  done(await server.ask("POST", "sys/auth/people", { type: TYPE, options }));
  await server.must("POST", "auth/people/users/ada", { password: PASSWORD });
  for (const act of [
    "revoke-prefix/auth/people",
    "revoke-force/auth/people",
    "revoke-prefix/auth",
  ]) {
    const ada = await on.login("people", "ada");
    const answer = await server.ask("POST", `sys/leases/${act}`, { sync: true });
    assert.ok(answer.status < 300, answer.text);
    assert.equal(await on.good({ ada }), "", act);
  }
  const ada = await on.login("people", "ada");
  done(await server.ask("DELETE", "sys/auth/people"));
  assert.equal(await on.good({ ada }), "");
});

test("an auth mount that moves takes nobody along, and one that cannot move lets them in again", async (t) => {
  const on = await stage(t);
  const { server } = on;
  await on.mount("people", "ada");
  const ada = await on.login("people", "ada");
  await server.issue("count/creds/r", { token: ada });
  const move = async () => {
    const begun = await server.ask("POST", "sys/remount", { from: "auth/people", to: "auth/folk" });
    const id = String(at(begun, "data", "migration_id"));
    const status = async () =>
      at(await server.ask("GET", `sys/remount/status/${id}`), "data", "migration_info", "status");
    await until(async () => (await status()) !== "in-progress");
    return status();
  };
  server.outside.fail("revoke", down);
  assert.equal(await move(), "failure");
  assert.equal(await on.good({ ada }), "ada");
  server.outside.heal();
  assert.equal(await move(), "success");
  assert.equal(await on.good({ ada }), "");
  assert.deepEqual(server.outside.objects, []);
  assert.equal(await on.good({ anew: await on.login("folk", "ada") }), "anew");
});
