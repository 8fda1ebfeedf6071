// The method by itself. That a login ends in a token, through HTTP: tests/spec/logins/logins.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import type { JsonValue } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import { Reply, reply } from "@holdfast/shared/endpoint/reply";
import { HOUR, madeLoginEngine, MINUTE } from "../../tests/support/made/made-login-engine.ts";
import { refused } from "../../tests/support/made/made-tokens.ts";
import { approleType } from "./approle.ts";

const INVALID = refused("invalid role or secret ID");
const GONE = refused("", "not-found");

type Fields = Readonly<Record<string, JsonValue>>;

interface Made {
  readonly secret_id: string;
  readonly secret_id_accessor: string;
  readonly secret_id_ttl: number;
  readonly secret_id_num_uses: number;
}

async function made(options = {}) {
  const all = await madeLoginEngine(approleType(), options);
  const { ask, method } = all;
  const role = (name: string, more: Fields = {}) =>
    ask("approleWriteRole", { role_name: name, ...more });
  const roleId = async (name: string) => (await method.roles.read(name)).roleId;
  const secret = async (name: string, more: Fields = {}) =>
    (await ask("approleMakeSecretId", { role_name: name, ...more })) as Made;
  const login = async (id: string, secretId?: string, address = "127.0.0.1") => {
    const remote = { address, port: 1, loopback: true };
    const fields = secretId === undefined ? {} : { secret_id: secretId };
    const answer = await ask("approleLogin", { role_id: id, ...fields }, { remote });
    assert.ok(answer instanceof Reply && answer.login !== null);
    return answer.login as LoginOffer;
  };
  const lookUp = async (name: string, accessor: string) =>
    (await ask("approleLookUpAccessor", {
      role_name: name,
      secret_id_accessor: accessor,
    })) as Record<string, unknown>;
  const tidy = () => method.secretIds.tidy(new AbortController().signal);
  return { ...all, role, roleId, secret, login, lookUp, tidy };
}

test("a login with role id and secret id offers what the role says", async () => {
  const { role, roleId, secret, login } = await made();
  await role("ci", { token_policies: ["deploy"], token_ttl: "20m", token_max_ttl: "1h" });
  const { secret_id: id } = await secret("ci", { metadata: '{"run":"7","role_name":"forged"}' });
  const { owner, ...offer } = await login(await roleId("ci"), id);
  assert.match(owner?.["id"] ?? "", /^[0-9a-f-]{36}$/);
  assert.deepEqual(offer, {
    displayName: "",
    identity: "ci",
    metadata: { role_name: "ci" },
    notes: { run: "7", role_name: "forged" }, // whoever made it had no sudo
    global: false,
    policies: ["deploy"],
    ttl: 20n * MINUTE,
    maxTtl: HOUR,
    period: null,
    uses: 0,
    boundTo: [],
    withoutDefaultPolicy: false,
  });
});

test("T-B22: whatever is wrong with a login, it is refused alike", async () => {
  const { role, roleId, secret, login, world, ask } = await made();
  await assert.rejects(login("x", "y"), INVALID); // nothing was ever made here
  await role("ci", { secret_id_ttl: "10m" });
  await role("other");
  const id = await roleId("ci");
  const good = await secret("ci");
  const foreign = await secret("other");
  const ended = await secret("ci");
  await ask("approleDestroySecretId", { role_name: "ci", secret_id: ended.secret_id });
  await assert.rejects(login("unknown", good.secret_id), INVALID);
  await assert.rejects(login(id), INVALID);
  await assert.rejects(login(id, ""), INVALID);
  await assert.rejects(login(id, foreign.secret_id), INVALID);
  await assert.rejects(login(id, ended.secret_id), INVALID);
  await assert.rejects(login(id, ` ${good.secret_id}`), INVALID);
  await login(id, good.secret_id);
  world.clock.pass(10n * MINUTE);
  await assert.rejects(login(id, good.secret_id), INVALID);
});

test("a secret id with uses is good for so many logins, also for parallel ones", async () => {
  const { role, roleId, secret, login, lookUp, keys } = await made();
  await role("ci", { secret_id_num_uses: 3 });
  const id = await roleId("ci");
  const before = keys().length;
  const one = await secret("ci");
  assert.equal(one.secret_id_num_uses, 3);
  await login(id, one.secret_id);
  assert.equal((await lookUp("ci", one.secret_id_accessor))["secret_id_num_uses"], 2);
  const tries = await Promise.allSettled(
    Array.from({ length: 50 }, () => login(id, one.secret_id)),
  );
  assert.equal(tries.filter(({ status }) => status === "fulfilled").length, 2);
  await assert.rejects(lookUp("ci", one.secret_id_accessor), GONE);
  assert.equal(keys().length, before); // nothing of it is left
});

test("a login from the wrong place takes no use", async () => {
  const { role, roleId, secret, login } = await made();
  await role("ci", { secret_id_num_uses: 1, secret_id_bound_cidrs: "10.0.0.0/8" });
  const id = await roleId("ci");
  const one = await secret("ci", { cidr_list: ["10.1.0.0/16"] });
  await assert.rejects(login(id, one.secret_id, "192.0.2.1"), INVALID);
  await assert.rejects(login(id, one.secret_id, "10.2.0.1"), INVALID);
  await login(id, one.secret_id, "10.1.0.1");
});

test("the tokens of a secret id are bound to its own ranges, else to the role's", async () => {
  const { role, roleId, secret, login } = await made();
  await role("ci", { token_bound_cidrs: ["10.0.0.0/8"] });
  const id = await roleId("ci");
  const wide = await secret("ci");
  const narrow = await secret("ci", { token_bound_cidrs: "10.3.0.0/16" });
  assert.deepEqual((await login(id, wide.secret_id, "10.0.0.1")).boundTo, ["10.0.0.0/8"]);
  assert.deepEqual((await login(id, narrow.secret_id, "10.0.0.1")).boundTo, ["10.3.0.0/16"]);
  await assert.rejects(login(id, wide.secret_id, "11.0.0.1"), INVALID);
});

test("T-B16: a secret id never gets more than its role grants", async () => {
  const { role, secret } = await made();
  await role("ci", {
    secret_id_num_uses: 5,
    secret_id_ttl: "1h",
    secret_id_bound_cidrs: ["10.0.0.0/8"],
    token_bound_cidrs: ["10.0.0.0/8"],
  });
  const rows: [Fields, RegExp][] = [
    [{ num_uses: 6 }, /num_uses must not be greater than secret_id_num_uses/],
    [{ num_uses: 0 }, /num_uses must not be greater/],
    [{ ttl: "61m" }, /ttl must not be greater than secret_id_ttl/],
    [{ ttl: 0 }, /ttl must not be greater/],
    [{ cidr_list: "10.0.0.0/7" }, /cidr_list must lie within secret_id_bound_cidrs/],
    [{ token_bound_cidrs: ["::/0"] }, /token_bound_cidrs must lie within/],
    [{ cidr_list: "x" }, /cidr_list must be addresses or ranges/],
    [{ metadata: "{" }, /metadata must be an object of strings, or/],
    [{ metadata: { a: 1 } }, /metadata must be an object of strings/],
  ];
  for (const [fields, says] of rows) await assert.rejects(secret("ci", fields), refused(says));
  const narrow = await secret("ci", { num_uses: 2, ttl: "30m", metadata: { team: "a" } });
  assert.deepEqual([narrow.secret_id_num_uses, narrow.secret_id_ttl], [2, 1800]);
});

test("a role must be bound to something", async () => {
  const { role, roleId, login } = await made();
  const says = refused(/at least one constraint should be enabled on the role/);
  await assert.rejects(role("open", { bind_secret_id: false }), says);
  await role("net", { bind_secret_id: false, secret_id_bound_cidrs: ["10.0.0.0/8"] });
  const id = await roleId("net");
  assert.deepEqual((await login(id, undefined, "10.0.0.1")).metadata, { role_name: "net" });
  await assert.rejects(login(id, undefined, "11.0.0.1"), INVALID);
  await assert.rejects(role("net", { secret_id_bound_cidrs: [] }), says);
});

test("where no secret id is needed none is made", async () => {
  const { role, secret } = await made();
  await role("net", { bind_secret_id: false, token_bound_cidrs: ["10.0.0.0/8"] });
  await assert.rejects(secret("net"), refused("bind_secret_id is not set on the role"));
  await assert.rejects(secret("nobody"), GONE);
});

test("of a secret id only a keyed hash is kept", async () => {
  const { role, secret, keys, stored } = await made();
  await role("ci");
  const { secret_id: id } = await secret("ci");
  const all = keys().map((key) => `${key} ${JSON.stringify(stored(key))}`);
  assert.ok(all.length > 4);
  assert.equal(
    all.some((text) => text.includes(id)),
    false,
  );
});

test("a secret id that was made elsewhere can be registered, if it is long enough", async () => {
  const { role, roleId, login, ask } = await made();
  await role("ci");
  const choose = (secret_id: string) =>
    ask("approleChooseSecretId", { role_name: "ci", secret_id });
  await choose("0123456789abcdef");
  await login(await roleId("ci"), "0123456789abcdef");
  await assert.rejects(choose("0123456789abcdef"), refused("secret_id is already registered"));
  await assert.rejects(choose("short"), refused(/secret_id must have 16 to 1024/));
});

test("secret ids are found, listed and ended by their accessors", async () => {
  const { role, roleId, secret, login, lookUp, ask } = await made();
  await role("ci");
  await role("other");
  const one = await secret("ci", { metadata: { a: "b" }, ttl: 90 });
  const two = await secret("ci");
  const accessor = one.secret_id_accessor;
  const listed = await ask("approleSecretIds", { role_name: "ci" });
  assert.deepEqual(listed, reply({ keys: [accessor, two.secret_id_accessor].toSorted() }));
  const facts = await lookUp("ci", accessor);
  assert.equal(facts["secret_id_ttl"], 90);
  assert.deepEqual(facts["metadata"], { a: "b" });
  const same = await ask("approleLookUpSecretId", { role_name: "ci", secret_id: one.secret_id });
  assert.deepEqual(same, facts);
  await assert.rejects(lookUp("other", accessor), GONE);
  const end = (role_name: string) =>
    ask("approleDestroyAccessor", { role_name, secret_id_accessor: accessor });
  await end("other");
  await login(await roleId("ci"), one.secret_id); // another role's name does nothing to it
  await end("ci");
  await assert.rejects(login(await roleId("ci"), one.secret_id), INVALID);
  await end("ci"); // what is not there is what was asked for
  await login(await roleId("ci"), two.secret_id);
});

test("T-B28: a role made in one case and deleted in another is gone for good", async () => {
  const { role, roleId, secret, login, ask, keys, tidy } = await made();
  await role("CI-Prod");
  const id = await roleId("ci-prod");
  const { secret_id: old } = await secret("Ci-Prod");
  await ask("approleDeleteRole", { role_name: "CI-PROD" });
  await assert.rejects(login(id, old), INVALID);
  await role("ci-prod", { role_id: id });
  await assert.rejects(login(id, old), INVALID); // of another role, though of that name and id
  await tidy();
  assert.deepEqual(
    keys().map((key) => key.split("/")[0]),
    ["role-id", "role", "salt"],
  );
});

test("a role id can be chosen and changed, and no two roles have the same", async () => {
  const { role, roleId, secret, login, ask } = await made();
  await role("a", { role_id: "web" });
  await role("b");
  const { secret_id: id } = await secret("a");
  await login("web", id);
  const taken = refused("role_id is already in use by another role");
  await assert.rejects(role("c", { role_id: "web" }), taken);
  await assert.rejects(ask("approleWriteRoleId", { role_name: "b", role_id: "web" }), taken);
  await ask("approleWriteRoleId", { role_name: "a", role_id: "web-2" });
  await assert.rejects(login("web", id), INVALID);
  await login("web-2", id);
  assert.deepEqual(await ask("approleReadRoleId", { role_name: "a" }), { role_id: "web-2" });
  await ask("approleWriteRoleId", { role_name: "b", role_id: "web" });
  assert.equal(await roleId("b"), "web");
  const none = ask("approleWriteRoleId", { role_name: "none", role_id: "x" });
  await assert.rejects(none, GONE);
});

test("what has expired, and what deleted roles leave, is cleared away in bounded pieces", async () => {
  const { role, secret, ask, keys, tidy, world, method, type } = await made();
  await role("ci", { secret_id_ttl: "10m" });
  await role("big");
  for (let i = 0; i < 70; i += 1) await secret("ci");
  for (let i = 0; i < 130; i += 1) await secret("big");
  await ask("approleDeleteRole", { role_name: "big" });
  world.clock.pass(10n * MINUTE);
  const fresh = await secret("ci");
  await type.periodic?.(method, new AbortController().signal);
  const left = keys().filter((key) => /^(secret-id|accessor|ends|gone)\//.test(key));
  assert.equal(left.length, 3);
  assert.ok(left.some((key) => key.endsWith(fresh.secret_id_accessor)));
  await tidy();
});

test("each property of a role has a path of its own", async () => {
  const { role, ask } = await made();
  await role("ci", { token_policies: ["a"], token_ttl: 60 });
  const at = (verb: string, property: string, more: Fields = {}) =>
    ask(`approle${verb}${property}`, { role_name: "ci", ...more });
  assert.deepEqual(await at("Read", "Policies"), { token_policies: ["a"] });
  await at("Write", "Policies", { policies: "b,c" });
  assert.deepEqual(await at("Read", "Policies"), { token_policies: ["b", "c"] });
  await at("Clear", "Policies");
  assert.deepEqual(await at("Read", "Policies"), { token_policies: [] });
  await at("Write", "SecretIdTtl", { secret_id_ttl: "2m" });
  assert.deepEqual(await at("Read", "SecretIdTtl"), { secret_id_ttl: 120 });
  await at("Clear", "Ttl");
  assert.deepEqual(await at("Read", "Ttl"), { token_ttl: 0 });
  await assert.rejects(
    at("Write", "BindSecretId", { bind_secret_id: false }),
    refused(/at least one constraint/),
  );
  await assert.rejects(ask("approleWriteTtl", { role_name: "no", token_ttl: 1 }), GONE);
});

test("T-B10: no spelling of root becomes a policy of a role", async () => {
  const { role, keys } = await made();
  for (const name of ["root", "ROOT", " Root "]) {
    await assert.rejects(role("ci", { token_policies: [name] }), refused(/"root" cannot be/));
  }
  assert.deepEqual(keys(), ["salt"]);
});

test("what is kept is found again by the next opening", async () => {
  const { role, roleId, secret, again } = await made();
  await role("ci");
  const { secret_id: id } = await secret("ci");
  const method = await again();

  const login = { roleId: await roleId("ci"), secretId: new Secret(id), address: "::1" };
  assert.equal((await method.login(login)).metadata?.["role_name"], "ci");
});
