// The method by itself. That a login ends in a token, through HTTP: tests/spec/logins/logins.test.ts.

import { OWN_WORK } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import test from "node:test";
import { Secret } from "@holdfast/shared/secret";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import { Reply, reply } from "@holdfast/shared/endpoint/reply";
import {
  CHEAP,
  HOUR,
  madeLoginEngine,
  MINUTE,
} from "../../tests/support/made/made-login-engine.ts";
import { refused } from "../../tests/support/made/made-tokens.ts";
import { userpassType } from "./userpass.ts";

const PASSWORD = "correct horse battery staple";
const INVALID = refused("invalid username or password");
const LOCKED = refused(/^permission denied\ntoo many failed logins/, "denied");

async function made(options = {}) {
  const all = await madeLoginEngine(userpassType(CHEAP), options);
  const user = (username: string, more = {}) =>
    all.ask("userpassWriteUser", { username, password: PASSWORD, ...more });
  const login = async (username: string, password = PASSWORD, address = "127.0.0.1") => {
    const remote = { address, port: 1, loopback: true };
    const answer = await all.ask("userpassLogin", { username, password }, { remote });
    assert.ok(answer instanceof Reply && answer.login !== null);
    return answer.login as LoginOffer;
  };
  const fail = async (username: string, times: number) => {
    for (let i = 0; i < times; i += 1) await assert.rejects(login(username, "wrong"), INVALID);
  };
  return { ...all, user, login, fail };
}

test("a login with the right password offers what the user's record says", async () => {
  const { user, login } = await made();
  await user("ada", {
    token_policies: "Ops, dev",
    token_ttl: "1h",
    token_max_ttl: "8h",
    token_explicit_max_ttl: "4h",
    token_num_uses: 3,
    token_period: "30m",
    token_no_default_policy: true,
  });
  const { owner, ...offer } = await login("ada");
  assert.match(owner?.["id"] ?? "", /^[0-9a-f-]{36}$/);
  assert.deepEqual(offer, {
    displayName: "ada",
    metadata: { username: "ada" },
    global: false,
    policies: ["ops", "dev"],
    ttl: HOUR,
    maxTtl: 4n * HOUR,
    period: 30n * MINUTE,
    uses: 3,
    boundTo: [],
    withoutDefaultPolicy: true,
  });
});

test("the option token_scope makes tokens for every cluster; others are refused", async () => {
  const { user, login, type } = await made({ token_scope: "global" });
  await user("ada");
  assert.equal((await login("ada")).global, true);
  assert.deepEqual(type.checkOptions({}), { token_scope: "local" });
  assert.throws(() => type.checkOptions({ token_scope: "wide" }), refused(/local or global/));
  assert.throws(() => type.checkOptions({ version: "2" }), refused(/unknown option "version"/));
});

test("T-B22: unknown user, wrong password and wrong place are refused alike", async () => {
  const { user, login, lines } = await made().then((all) => ({ ...all, ...all.world }));
  await user("ada", { token_bound_cidrs: ["10.0.0.0/8"] });
  await assert.rejects(login("nobody"), INVALID);
  await assert.rejects(login("ada", "wrong", "10.0.0.1"), INVALID);
  await assert.rejects(login("ada", PASSWORD, "11.0.0.1"), INVALID);
  assert.ok(lines.some((line) => line.includes("refused for its address")));
  assert.deepEqual((await login("ada", PASSWORD, "10.0.0.1")).boundTo, ["10.0.0.0/8"]);
});

test("T-B22: a name that nobody has costs a check like any other", async () => {
  const { user, method } = await made();
  await user("ada");
  const password = new Secret(PASSWORD);
  const request = { ...OWN_WORK, signal: AbortSignal.abort() }; // seen where the work would begin
  for (const name of ["ada", "nobody"]) {
    const login = method.login(name, { password, address: "127.0.0.1", request });
    await assert.rejects(login, refused(/did not wait/, "timed-out"), name);
  }
});

test("names are one folded form, wherever they are used", async () => {
  const { user, login, ask, keys } = await made();
  await user("Ada.Lovelace@Example");
  assert.deepEqual(keys(), ["user/ada.lovelace@example"]);
  assert.equal((await login("ADA.lovelace@example")).displayName, "ada.lovelace@example");
  await ask("userpassDeleteUser", { username: "ADA.LOVELACE@EXAMPLE" });
  await assert.rejects(login("ada.lovelace@example"), INVALID);
  for (const username of ["", "-a", "a b", "a/b", "ａda", "a".repeat(129), "root\u200b", "."]) {
    await assert.rejects(user(username), refused(/username must be 1 to 128/), username);
    await assert.rejects(login(username), INVALID);
  }
});

test("a password is the same however its letters were composed", async () => {
  const { user, login } = await made();
  await user("ada", { password: "caf\u00e9" });
  await login("ada", "cafe\u0301");
});

test("of a password only a salted hash is kept", async () => {
  const { user, stored } = await made();
  await user("ada");
  await user("bob");
  const [ada, bob] = [stored("user/ada"), stored("user/bob")];
  assert.ok(!JSON.stringify([ada, bob]).includes(PASSWORD));
  assert.notDeepEqual(ada?.["password"], bob?.["password"]);
});

test("a new user needs a password, one that is there keeps what is left out", async () => {
  const { user, login, ask } = await made();
  await assert.rejects(ask("userpassWriteUser", { username: "ada" }), refused(/missing password/));
  await user("ada", { token_policies: ["dev"], token_ttl: 60 });
  await ask("userpassWriteUser", { username: "ada", token_num_uses: 2 });
  const { policies, uses } = await login("ada");
  assert.deepEqual([policies, uses], [["dev"], 2]);
  const view = (await ask("userpassReadUser", { username: "ada" })) as Record<string, unknown>;
  assert.equal(view["token_ttl"], 60);
  assert.equal(view["token_num_uses"], 2);
  assert.equal(JSON.stringify(view).includes("scrypt"), false);
  assert.equal("password" in view, false);
});

test("password and policies can be changed by themselves, of users that are there", async () => {
  const { user, login, ask } = await made();
  await user("ada", { policies: ["dev"] });
  await ask("userpassSetPassword", { username: "ada", password: "another" });
  await assert.rejects(login("ada"), INVALID);
  assert.deepEqual((await login("ada", "another")).policies, ["dev"]);
  await ask("userpassSetPolicies", { username: "ada", token_policies: ["ops"] });
  assert.deepEqual((await login("ada", "another")).policies, ["ops"]);
  const gone = refused("", "not-found");
  await assert.rejects(ask("userpassSetPassword", { username: "eve", password: "x" }), gone);
  await assert.rejects(ask("userpassSetPolicies", { username: "eve", policies: "a" }), gone);
  await assert.rejects(ask("userpassReadUser", { username: "eve" }), gone);
});

test("users are listed by name, page by page", async () => {
  const { user, ask } = await made();
  for (const name of ["eve", "ada", "bob"]) await user(name);
  assert.deepEqual(await ask("userpassUsers"), reply({ keys: ["ada", "bob", "eve"] }));
  assert.deepEqual(
    await ask("userpassUsers", { after: "ada", limit: 1 }),
    reply({ keys: ["bob"] }, { warnings: ["there are more; go on with after=bob"] }),
  );
});

test("T-B10: no spelling of root, and nothing that is no name, becomes a policy of a user", async () => {
  const { user, keys } = await made();
  for (const name of ["root", "Root", "ROOT", " root", "root "]) {
    await assert.rejects(user("ada", { token_policies: [name] }), refused(/"root" cannot be/));
  }
  for (const name of ["ｒｏｏｔ", "root\u200b", "root/", "a b"]) {
    await assert.rejects(user("ada", { policies: [name] }), refused(/invalid policy name/), name);
  }
  assert.deepEqual(keys(), []);
});

test("terms that no token could have are refused", async () => {
  const { user } = await made();
  const rows: [object, RegExp][] = [
    [{ token_ttl: "2h", token_max_ttl: "1h" }, /token_ttl must not be greater/],
    [{ token_period: "2h", token_explicit_max_ttl: "1h" }, /token_period must not be greater/],
    [{ token_no_default_policy: true }, /must name at least one/],
    [{ token_bound_cidrs: ["10.0.0.0/40"] }, /token_bound_cidrs must be addresses/],
    [{ password: "" }, /password must be text of 1 to 1024/],
    [{ password: "\ud800" }, /password must be text/],
    [{ token_type: "batch" }, /token_type must be one of/],
  ];
  for (const [more, says] of rows) await assert.rejects(user("ada", more), refused(says));
});

// --- lock-out ---

test("five failures in a row lock a name for a quarter of an hour, for the right password too", async () => {
  const { user, login, fail, world } = await made();
  await user("ada");
  await fail("ada", 4);
  await login("ada"); // starts the count anew
  await fail("ada", 5);
  await assert.rejects(login("ada"), LOCKED);
  world.clock.pass(15n * MINUTE - 1n);
  await assert.rejects(login("ada"), LOCKED);
  world.clock.pass(1n);
  await login("ada");
});

test("T-B22: names that nobody has lock like others", async () => {
  const { fail, login } = await made();
  await fail("nobody", 5);
  await assert.rejects(login("nobody"), LOCKED);
});

test("T-B23: all spellings of a name count on one key", async () => {
  const { user, login } = await made();
  await user("ada");
  for (const name of ["ada", "Ada", "ADA", "aDa", "adA"]) {
    await assert.rejects(login(name, "wrong"), INVALID);
  }
  await assert.rejects(login("ada"), LOCKED);
});

test("of a hundred parallel guesses no more are checked than may fail", async () => {
  const { user, login } = await made();
  await user("ada");
  const guesses = Array.from({ length: 60 }, () => login("ada", "wrong"));
  const texts = await Promise.all(
    guesses.map((guess) =>
      guess.then(
        () => "in",
        (error: Error) => error.message,
      ),
    ),
  );
  assert.equal(texts.filter((text) => text === "invalid username or password").length, 5);
  assert.equal(texts.filter((text) => text.includes("too many failed logins")).length, 55);
});

test("any number of parallel logins with the right password get through", async () => {
  const { user, login } = await made();
  await user("ada");
  await Promise.all(Array.from({ length: 40 }, () => login("ada")));
});

test("a count is forgotten after its time, and a new password ends a lock", async () => {
  const { user, login, fail, world, ask } = await made();
  await user("ada");
  await fail("ada", 4);
  world.clock.pass(15n * MINUTE);
  await fail("ada", 4);
  await login("ada");
  await fail("ada", 5);
  await ask("userpassSetPassword", { username: "ada", password: "another" });
  await login("ada", "another");
});

test("setting the wall clock neither locks nor unlocks", async () => {
  const { user, login, fail, world } = await made();
  await user("ada");
  await fail("ada", 5);
  world.clock.jump(world.clock.now() + 1000n * HOUR);
  await assert.rejects(login("ada"), LOCKED);
});

test("the mount's tuning holds from the next attempt on", async () => {
  const { user, login, fail, tuned } = await made();
  await user("ada");
  tuned.lockout = { ...tuned.lockout, threshold: 2 };
  await fail("ada", 2);
  await assert.rejects(login("ada"), LOCKED);
  tuned.lockout = { ...tuned.lockout, disabled: true };
  await fail("ada", 7);
  await login("ada");
});

test("a user who is deleted while the password is checked is not let in", async () => {
  const { user, method, ask } = await made();
  await user("ada");
  const password = new Secret(PASSWORD);
  const request = { ...OWN_WORK, signal: new AbortController().signal };
  const login = method.login("ada", { password, address: "127.0.0.1", request });
  await Promise.all([
    assert.rejects(login, INVALID),
    ask("userpassDeleteUser", { username: "ada" }),
  ]);
});
