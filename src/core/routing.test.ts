// Which endpoint a path and a verb mean, in which namespace, and what a node answers in its state.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { madeHouse } from "../../tests/support/made/made-house.ts";

test("PUT is POST, and GET with list=true is LIST; a scan is neither, and only where it is declared", async () => {
  const small = madeHouse();
  assert.equal(
    await small.answer("PUT", "/sys/things/x", { token: "root", body: { size: 1 } }),
    "ok",
  );
  small.grants.add("list |sys/things/");
  for (const target of ["/sys/things?list=true", "/sys/things/?list=true"]) {
    assert.equal(await small.answer("GET", target, { token: "client" }), "ok");
  }
  assert.equal(await small.answer("LIST", "/sys/things", { token: "client" }), "ok");
  for (const verb of ["GET", "LIST"]) {
    const answerTo = (token: string) => small.answer(verb, "/sys/things?scan=true", { token });
    assert.match(await answerTo("client"), /denied/);
    assert.match(await answerTo("root"), /unsupported/);
  }
});

test("only lists end in a slash", async () => {
  const small = madeHouse();
  assert.equal(
    await small.answer("GET", "/sys/things/x/", { token: "root" }),
    "invalid trailing-slash",
  );
});

test("T-A14: without a token all paths look alike, whether or not there is something", async () => {
  const small = madeHouse();
  for (const target of ["/sys/things/x", "/sys/nothing", "/secret/x", "/team/sys/rotate"]) {
    for (const verb of ["GET", "POST", "DELETE", "PATCH", "LIST"]) {
      assert.equal(await small.answer(verb, target), "denied missing-token", `${verb} ${target}`);
    }
  }
});

test("T-A14 on /acl/ : one refusal for everybody, in the words of the ACL API", async () => {
  const small = madeHouse();
  small.expired.add("old");
  for (const options of [{}, { token: "nobody" }, { token: "client" }]) {
    assert.equal(await small.answer("GET", "/acl/x", options), "denied permission_denied");
    const { result } = await small.ask("GET", "/acl/x", options);
    assert.ok(result instanceof Failure);
    assert.deepEqual(result.texts, ["Permission denied"]);
  }
  assert.equal(await small.answer("GET", "/acl/x", { token: "old" }), "denied token_expired");
});

test("a path without an endpoint is told as such only to those who may act there", async () => {
  const small = madeHouse();
  assert.equal(
    await small.answer("GET", "/sys/nothing", { token: "client" }),
    "denied permission-denied",
  );
  small.grants.add("read |sys/nothing");
  assert.equal(
    await small.answer("GET", "/sys/nothing", { token: "client" }),
    "not-found unsupported-path",
  );
  assert.equal(
    await small.answer("GET", "/sys/nothing", { token: "root" }),
    "not-found unsupported-path",
  );
  assert.equal(
    await small.answer("DELETE", "/sys/things/x", { token: "root" }),
    "unsupported unsupported-operation",
  );
});

test("T-A18: kinds of work that are not on the wire cannot be named", async () => {
  const small = madeHouse();
  for (const verb of ["REVOKE", "RENEW", "ROLLBACK", "HELP", "get", "LINK", "SCAN", ""]) {
    assert.equal(
      await small.answer(verb, "/sys/things/x", { token: "root" }),
      "unsupported unsupported-operation",
    );
  }
});

test("an endpoint of the root namespace does not exist in a child", async () => {
  const small = madeHouse();
  const child = { token: "root", namespace: "team" };
  assert.equal(await small.answer("POST", "/sys/rotate", child), "denied restricted-endpoint");
  assert.equal(
    await small.answer("POST", "/team/sys/rotate", { token: "root" }),
    "denied restricted-endpoint",
  );
  assert.equal(
    await small.answer("GET", "/team/sys/health", { token: "root" }),
    "denied restricted-endpoint",
  );
  assert.equal(await small.answer("GET", "/team/sys/health"), "denied missing-token");
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
});

test("header and path prefix name one namespace together", async () => {
  const small = madeHouse();
  small.grants.add("read team/deep|sys/things/x");
  small.add("client", "client");
  for (const [namespace, target] of [
    ["", "/team/deep/sys/things/x"],
    ["team", "/deep/sys/things/x"],
    ["/team/", "/deep/sys/things/x"],
    ["team/deep", "/sys/things/x"],
    ["team/deep/", "/sys/things/x"],
  ] as const) {
    assert.equal(
      await small.answer("GET", target, { token: "client", namespace }),
      "ok",
      namespace + target,
    );
  }
});

test("a namespace that does not exist is a refusal, whoever asks", async () => {
  const small = madeHouse();
  assert.equal(
    await small.answer("GET", "/sys/things/x", { namespace: "nope" }),
    "denied missing-token",
  );
  const options = { token: "root", namespace: "nope" };
  assert.equal(await small.answer("GET", "/sys/things/x", options), "denied permission-denied");
  for (const namespace of ["a//b", "..", "a/../b", "a b/", "te%61m", "*"]) {
    const answer = await small.answer("GET", "/sys/things/x", { token: "root", namespace });
    assert.ok(
      ["invalid namespace-malformed", "denied permission-denied"].includes(answer),
      namespace,
    );
  }
});

test("a token works in its namespace and below, nowhere else", async () => {
  const small = madeHouse();
  const read = (namespace: string) =>
    small.answer("GET", "/sys/things/x", { token: "team-admin", namespace });
  assert.equal(await read("team"), "ok");
  assert.equal(await read("team/deep"), "ok");
  assert.equal(await read(""), "denied permission-denied");
  assert.equal(await read("other"), "denied permission-denied");
  assert.equal(small.records.at(-1)?.request.caller?.name, "team-admin");
});

test("a sealed node answers what is declared for every state, and nothing else", async () => {
  const small = madeHouse();
  small.node = { ...small.node, sealed: true };
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
  assert.equal(await small.answer("HEAD", "/sys/health"), "ok");
  for (const target of ["/sys/things/x", "/sys/nothing", "/team/x"]) {
    assert.equal(await small.answer("GET", target, { token: "root" }), "sealed sealed");
  }
  assert.equal(await small.answer("POST", "/sys/ceremony"), "sealed sealed");
  assert.deepEqual(small.records, []);
  assert.equal(small.trace.includes("token"), false);
  small.node = { ...small.node, initialised: false };
  assert.equal(await small.answer("GET", "/sys/things/x"), "uninitialised not-initialised");
  assert.equal(await small.answer("POST", "/sys/ceremony"), "invalid seal-not-initialised");
});

test("a DR secondary answers only what is declared for it", async () => {
  const small = madeHouse();
  small.node = { ...small.node, drSecondary: true };
  assert.equal(
    await small.answer("GET", "/sys/things/x", { token: "root" }),
    "unavailable dr-secondary",
  );
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
});

test("a standby refuses what is not about itself, before it looks at anything but the path", async () => {
  const small = madeHouse();
  small.node = { ...small.node, role: "standby" };
  small.loopback = false;
  const root = { token: "root" };
  for (const [verb, target, options] of [
    ["GET", "/sys/things/x", root],
    ["GET", "/sys/things/x?help=1", root],
    ["GET", "/sys/things/x", {}],
    ["GET", "/sys/nothing", root],
    ["POST", "/sys/things/x", { ...root, body: { size: "wrong" } }],
    ["POST", "/sys/login", { body: {} }],
    ["GET", "/team/sys/things/x", { token: "unknown" }],
  ] as const) {
    assert.equal(await small.answer(verb, target, options), "unavailable not-active", target);
  }
  const { result } = await small.ask("GET", "/sys/things/x", root);
  assert.ok(result instanceof Failure);
  assert.equal(result.retryAfter, 1);
  assert.match(result.message, /^no active node: this node is a standby/);
  for (const stage of ["quota", "token", "body"]) assert.ok(!small.trace.includes(stage), stage);
  assert.equal(small.attempts, 0, "a login that was not looked at is no attempt");
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
});

test("a standby that answers reads leaves writes, logins and wrapped answers to the active node", async () => {
  const small = madeHouse();
  small.node = { ...small.node, role: "performance-standby" };
  const root = { token: "root" };
  const elsewhere = "unavailable not-active";
  assert.equal(await small.answer("GET", "/sys/things/x", root), "ok");
  assert.equal(await small.answer("GET", "/sys/things/x?help=1", root), "ok");
  assert.equal(await small.answer("GET", "/sys/things/x"), "denied missing-token");
  assert.equal(await small.answer("GET", "/sys/nothing", root), elsewhere);
  assert.equal(await small.answer("POST", "/sys/login", { body: {} }), elsewhere);
  assert.equal(
    await small.answer("POST", "/sys/things/x", { ...root, body: { size: 1 } }),
    elsewhere,
  );
  assert.equal(await small.answer("POST", "/sys/rotate", root), elsewhere);
});

test("a sealed standby says first that it is sealed", async () => {
  const small = madeHouse();
  small.node = { ...small.node, role: "standby", sealed: true };
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "sealed sealed");
});

test("HEAD is for endpoints that declare it", async () => {
  const small = madeHouse();
  assert.equal((await small.ask("HEAD", "/sys/health")).headOnly, true);
  // As every other verb that a path does not have: told to those who may know of the path.
  for (const verb of ["HEAD", "TRACE", "REVOKE"]) {
    assert.equal(await small.answer(verb, "/sys/things/x"), "denied missing-token");
    const answer = await small.answer(verb, "/sys/things/x", { token: "root" });
    assert.equal(answer, "unsupported unsupported-operation");
    const { headers } = await small.ask(verb, "/sys/things/x", { token: "root" });
    assert.match(String(headers["Allow"]), /GET/);
    assert.equal(
      await small.answer(verb, "/sys/nothing", { token: "root" }),
      "not-found unsupported-path",
    );
  }
});
