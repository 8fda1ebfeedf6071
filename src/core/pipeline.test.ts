import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { Reply, reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { type AskOptions, SmallHouse } from "../../tests/support/small-house.ts";
import { until } from "../../tests/support/until.ts";

interface Room {
  present: boolean;
  fault: (() => unknown) | null;
  /** What handlers wait for that wait. */
  turn: Promise<void>;
}

const endpoint = endpointsOf<Room>();
const any = out.anyObject("anything");

const declared = [
  endpoint({
    name: "health",
    method: "GET",
    path: "/sys/health",
    summary: "open in every state",
    access: access.open,
    rootOnly: true,
    answers: "always",
    family: "bare",
    audited: false,
    forMonitoring: true,
    head: true,
    input: {},
    output: any,
    handler: () => ({ fine: true }),
  }),
  endpoint({
    name: "readThing",
    method: "GET",
    path: "/sys/things/:name",
    summary: "needs read",
    access: access.capability,
    input: { name: wire.path("name").string("name") },
    output: any,
    handler: (room, { name }) => (room.fault === null ? { name } : (room.fault() as object) && {}),
  }),
  endpoint({
    name: "listThings",
    method: "LIST",
    path: "/sys/things",
    summary: "needs list",
    access: access.capability,
    input: {},
    output: out.keys("things"),
    handler: () => ({ keys: ["a"] }),
  }),
  endpoint({
    name: "writeThing",
    method: "POST",
    path: "/sys/things/:name",
    summary: "needs create or update",
    access: access.capability,
    input: {
      name: wire.path("name").string("name"),
      size: wire.body("size").integer("size"),
    },
    output: any,
    exists: (room) => room.present,
    handler: (_, { size }) => reply({ size }, { warnings: ["from the handler"] }),
  }),
  endpoint({
    name: "rotate",
    method: "POST",
    path: "/sys/rotate",
    summary: "needs sudo",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: () => undefined,
  }),
  endpoint({
    name: "start",
    method: "POST",
    path: "/sys/ceremony",
    summary: "a ceremony",
    access: access.ceremony,
    rootOnly: true,
    input: {},
    output: any,
    handler: async (_, __, context) => ({
      caller: context.caller?.name ?? null,
      can: await context.isPrivileged(),
    }),
  }),
  endpoint({
    name: "login",
    method: "POST",
    path: "/sys/login",
    summary: "a way to a token",
    access: access.open,
    login: true,
    input: {},
    output: any,
    handler: async ({ turn }, _, context) => {
      await context.waitFor(turn);
      return { in: true };
    },
  }),
  endpoint({
    name: "look",
    method: "GET",
    path: "/sys/look",
    summary: "shows more to whoever has a token",
    access: access.openWithCaller,
    input: {},
    output: any,
    handler: async ({ turn }, _, context) => {
      await context.waitFor(turn);
      return { caller: context.caller?.name ?? null };
    },
  }),
  endpoint({
    name: "keep",
    method: "POST",
    path: "/sys/keep",
    summary: "may be given a secret",
    access: access.capability,
    input: {
      note: wire.body("note").string("note").optional(),
      secret: wire.body("secret").secret("secret").optional(),
    },
    output: any,
    handler: () => ({}),
  }),
  endpoint({
    name: "metrics",
    method: "GET",
    path: "/sys/metrics",
    summary: "open where the listener says so",
    access: access.capabilityUnlessOpen("metrics"),
    forMonitoring: true,
    input: {},
    output: any,
    handler: () => ({ ok: true }),
  }),
];

function house() {
  const room: Room = { present: false, fault: null, turn: Promise.resolve() };
  const made = new SmallHouse(serve(room, declared));
  made.namespaces.set("team", { id: "n1", path: "team", created: 3n });
  made.namespaces.set("team/deep", { id: "n2", path: "team/deep", created: 4n });
  made.namespaces.set("other", { id: "n3", path: "other", created: 5n });
  made.add("root", "management");
  made.add("client", "client");
  made.add("team-admin", "management", "team");
  made.add("team-client", "client", "team");
  return Object.assign(made, { room });
}

test("the stages come in their order", async () => {
  const small = house();
  small.grants.add("create |sys/things/x");
  assert.equal(
    await small.answer("POST", "/sys/things/x", { token: "client", body: { size: 1 } }),
    "ok",
  );
  assert.deepEqual(small.trace, [
    "quota",
    "token",
    "body",
    "decide create |sys/things/x",
    "audit request",
    "run writeThing",
    "audit response",
  ]);
});

test("RGPs, then EGPs, come after the ACL and before the record", async () => {
  const small = house();
  small.carry("client", ["office"]);
  for (const one of ["rgp office", "egp sys/things/x"]) small.failing.add(one);
  const write = () => small.answer("POST", "/sys/things/x", { token: "client", body: { size: 1 } });
  assert.equal(await write(), "denied permission-denied");
  assert.deepEqual(small.trace.slice(3), [
    "decide create |sys/things/x",
    "audit request refused",
    "audit response refused",
  ]);
  small.trace.length = 0;
  small.grants.add("create |sys/things/x");
  assert.equal(await write(), "denied policy-denied");
  assert.deepEqual(small.trace.slice(3), [
    "decide create |sys/things/x",
    "rgp office",
    "egp sys/things/x",
    "audit request refused",
    "audit response refused",
  ]);
  const { request, error } = small.records.at(-1) ?? assert.fail();
  assert.equal(request.judgement?.results.length, 2);
  assert.doesNotMatch(error, /the trace/); // that is for the caller; a record has the results
});

test("a denial tells its trace, by the words of whoever asks where", async () => {
  const small = house();
  small.carry("client", ["office"]);
  small.failing.add("rgp office");
  small.grants.add("read |sys/things/x");
  const { result } = await small.ask("GET", "/sys/things/x", { token: "client" });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["the trace"]);
  const { result: onAcl } = await small.ask("GET", "/acl/nothing", { token: "client" });
  assert.ok(onAcl instanceof Failure);
  assert.equal(onAcl.code, "permission_denied"); // the ACL comes first
});

test("management is not governed, and nobody is where no token is known", async () => {
  const small = house();
  for (const path of ["sys/things/x", "sys/health", "sys/ceremony"])
    small.failing.add(`egp ${path}`);
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "ok");
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
  assert.equal(await small.answer("POST", "/sys/ceremony"), "ok");
  assert.equal(await small.answer("POST", "/sys/ceremony", { token: "client" }), "ok");
});

test("a login is governed though nobody is known, and tells nothing", async () => {
  const small = house();
  small.failing.add("egp sys/login");
  const { result } = await small.ask("POST", "/sys/login", { body: {} });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["permission denied"]);
  small.failing.clear();
  assert.equal(await small.answer("POST", "/sys/login", { body: {} }), "ok");
});

/** Asks, and has something change while that waits for its turn. */
async function meanwhile(
  small: ReturnType<typeof house>,
  [verb, path, options]: readonly [string, string, AskOptions?],
  change: () => void,
) {
  const { promise, resolve } = Promise.withResolvers<void>();
  small.room.turn = promise;
  const outcome = small.ask(verb, path, options);
  await until(() => small.trace.some((word) => word.startsWith("run ")));
  change();
  small.node = { ...small.node, index: small.node.index + 1n };
  resolve();
  return (await outcome).result;
}

test("a login that waited is governed as of its turn", async () => {
  const small = house();
  const result = await meanwhile(small, ["POST", "/sys/login"], () =>
    small.failing.add("egp sys/login"),
  );
  assert.ok(result instanceof Failure);
  assert.deepEqual([result.kind, result.texts], ["denied", ["permission denied"]]);
  const last = small.records.at(-1);
  assert.deepEqual([last?.kind, last?.request.judgement?.allowed], ["response", false]);
  small.failing.clear();
  assert.ok((await meanwhile(house(), ["POST", "/sys/login"], () => {})) instanceof Reply);
});

test("what is judged again as before is recorded as it was: nothing of it is hashed twice", async () => {
  const small = house();
  assert.ok(
    (await meanwhile(small, ["GET", "/sys/look", { token: "client" }], () => {})) instanceof Reply,
  );
  assert.equal(small.trace.filter((word) => word === "token").length, 2);
  const [request, response] = small.records;
  assert.deepEqual([request?.kind, response?.kind], ["request", "response"]);
  assert.equal(response?.request, request?.request);
  const other = house();
  const client = other.tokens.get("client");
  assert.ok(client !== undefined);
  await meanwhile(other, ["GET", "/sys/look", { token: "client" }], () => {
    other.tokens.set("client", { ...client, name: "renamed" });
  });
  assert.equal(other.records.at(-1)?.request.caller?.name, "renamed");
});

test("T-B05: a large request is judged again behind its record, however short that took", async () => {
  for (const [size, expected] of [
    [20_000, "denied invalid-token"],
    [10, "ok"], // nothing has waited: the revocation came behind it
  ] as const) {
    const small = house();
    small.grants.add("create |sys/things/x");
    small.recorded = () => {
      small.tokens.delete("client");
      small.node = { ...small.node, index: small.node.index + 1n };
    };
    const body = { size: 1, more: "m".repeat(size) };
    const answer = await small.answer("POST", "/sys/things/x", { token: "client", body });
    assert.equal(answer, expected);
  }
});

test("T-N02: a large body is counted as what it becomes when it is read", async () => {
  const small = house();
  small.grants.add("create |sys/things/x");
  const parts = Array.from({ length: 4 }, () => Array.from({ length: 4000 }, () => ({})));
  const body = { size: 1, parts };
  assert.equal(await small.answer("POST", "/sys/things/x", { token: "client", body }), "ok");
  assert.ok(small.held > 16_000 * 60, `${small.held} bytes for 16,000 objects`);
});

test("a token that ends while its request waits is as none where none is needed, as at the door", async () => {
  const small = house();
  const go = () => small.tokens.delete("client");
  const result = await meanwhile(small, ["GET", "/sys/look", { token: "client" }], go);
  assert.ok(result instanceof Reply);
  assert.deepEqual(result.data, { caller: null });
  assert.equal(small.records.at(-1)?.request.caller, null);
  const { result: atTheDoor } = await small.ask("GET", "/sys/look", { token: "client" });
  assert.ok(atTheDoor instanceof Reply);
  assert.deepEqual(atTheDoor.data, result.data);
  const other = house();
  const still = await meanwhile(other, ["GET", "/sys/look", { token: "client" }], () => {});
  assert.deepEqual(still instanceof Reply && still.data, { caller: "client" });
});

test("T-A14: who waits without a token where one is needed meanwhile learns what it would at the door", async () => {
  const small = house();
  const team = { namespace: "team" };
  const result = await meanwhile(small, ["POST", "/sys/login", team], () => {
    small.namespaces.delete("team");
  });
  assert.ok(result instanceof Failure);
  const { result: atTheDoor } = await small.ask("POST", "/sys/login", team);
  assert.ok(atTheDoor instanceof Failure);
  assert.deepEqual([result.code, result.texts], [atTheDoor.code, atTheDoor.texts]);
});

test("who may act on a path where there is nothing is governed before it learns so", async () => {
  const small = house();
  small.grants.add("read |secret/x");
  small.grants.add("delete |sys/things/x");
  assert.equal(
    await small.answer("GET", "/secret/x", { token: "client" }),
    "not-found unsupported-path",
  );
  for (const path of ["secret/x", "sys/things/x"]) small.failing.add(`egp ${path}`);
  assert.equal(await small.answer("GET", "/secret/x", { token: "client" }), "denied policy-denied");
  assert.equal(
    await small.answer("DELETE", "/sys/things/x", { token: "client" }),
    "denied policy-denied",
  );
});

test("a restricted endpoint is refused as such, governed or not", async () => {
  const small = house();
  small.failing.add("egp sys/rotate");
  const options = { token: "team-client", namespace: "team", body: {} };
  assert.equal(await small.answer("POST", "/sys/rotate", options), "denied restricted-endpoint");
});

test("who has no right gets a refusal and no word about the fields", async () => {
  const small = house();
  const options = { token: "client", body: { size: "not a number" } };
  assert.equal(await small.answer("POST", "/sys/things/x", options), "denied permission-denied");
  assert.equal(
    await small.answer("POST", "/sys/things/x", { ...options, token: "root" }),
    "invalid field-invalid",
  );
  assert.deepEqual(
    small.records.map(({ kind, error }) => [kind, error !== ""]),
    [
      ["request", true],
      ["response", true],
      ["request", false], // it had the right; only its field was wrong
      ["response", true],
    ],
  );
});

test("rights that must be worked out first are waited for, and nothing goes on without them", async () => {
  const small = house();
  small.grants.add("create |sys/things/x");
  const { promise, resolve } = Promise.withResolvers<void>();
  small.rights = promise;
  const answers = ["x", "y"].map((id) =>
    small.answer("POST", `/sys/things/${id}`, { token: "client", body: { size: 1 } }),
  );
  await new Promise((turn) => setImmediate(turn));
  assert.deepEqual(small.trace, ["quota", "token", "body", "quota", "token", "body"]);
  resolve();
  assert.deepEqual(await Promise.all(answers), ["ok", "denied permission-denied"]);
});

test("rights that cannot be worked out are a refusal, recorded as such", async () => {
  const small = house();
  small.rights = Promise.reject(new Failure("damaged", "policy-damaged", "it cannot be read"));
  const body = { size: 1 };
  assert.equal(
    await small.answer("POST", "/sys/things/x", { token: "client", body }),
    "damaged policy-damaged",
  );
  assert.deepEqual(small.trace.slice(-2), ["audit request refused", "audit response refused"]);
  assert.deepEqual(
    small.records.map(({ error }) => error),
    ["it cannot be read", "it cannot be read"],
  );
});

test("a body is not read before there is a valid token", async () => {
  const small = house();
  assert.equal(
    await small.answer("POST", "/sys/things/x", { body: { size: 1 } }),
    "denied missing-token",
  );
  const unknown = { token: "nobody", body: { size: 1 } };
  assert.equal(await small.answer("POST", "/sys/things/x", unknown), "denied invalid-token");
  assert.equal(small.trace.includes("body"), false);
});

test("what exists asks for update, what does not for create", async () => {
  const small = house();
  small.grants.add("update |sys/things/x");
  const write = () => small.answer("POST", "/sys/things/x", { token: "client", body: { size: 1 } });
  assert.equal(await write(), "denied permission-denied");
  small.room.present = true;
  assert.equal(await write(), "ok");
});

test("PUT is POST, and GET with list=true is LIST; a scan is neither, and only where it is declared", async () => {
  const small = house();
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
  const small = house();
  assert.equal(
    await small.answer("GET", "/sys/things/x/", { token: "root" }),
    "invalid trailing-slash",
  );
});

test("T-A14: without a token all paths look alike, whether or not there is something", async () => {
  const small = house();
  for (const target of ["/sys/things/x", "/sys/nothing", "/secret/x", "/team/sys/rotate"]) {
    for (const verb of ["GET", "POST", "DELETE", "PATCH", "LIST"]) {
      assert.equal(await small.answer(verb, target), "denied missing-token", `${verb} ${target}`);
    }
  }
});

test("T-A14 on /acl/ : one refusal for everybody, in the words of the ACL API", async () => {
  const small = house();
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
  const small = house();
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
  const small = house();
  for (const verb of ["REVOKE", "RENEW", "ROLLBACK", "HELP", "get", "LINK", "SCAN", ""]) {
    assert.equal(
      await small.answer(verb, "/sys/things/x", { token: "root" }),
      "unsupported unsupported-operation",
    );
  }
});

test("an endpoint of the root namespace does not exist in a child", async () => {
  const small = house();
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
  const small = house();
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
  const small = house();
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
  const small = house();
  const read = (namespace: string) =>
    small.answer("GET", "/sys/things/x", { token: "team-admin", namespace });
  assert.equal(await read("team"), "ok");
  assert.equal(await read("team/deep"), "ok");
  assert.equal(await read(""), "denied permission-denied");
  assert.equal(await read("other"), "denied permission-denied");
  assert.equal(small.records.at(-1)?.request.caller?.name, "team-admin");
});

test("a sealed node answers what is declared for every state, and nothing else", async () => {
  const small = house();
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
  const small = house();
  small.node = { ...small.node, drSecondary: true };
  assert.equal(
    await small.answer("GET", "/sys/things/x", { token: "root" }),
    "unavailable dr-secondary",
  );
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
});

test("a standby refuses what is not about itself, before it looks at anything but the path", async () => {
  const small = house();
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
  const small = house();
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
  const small = house();
  small.node = { ...small.node, role: "standby", sealed: true };
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "sealed sealed");
});

test("HEAD is for endpoints that declare it", async () => {
  const small = house();
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

test("key ceremonies are open, need a token or are off, as the listener says", async () => {
  const small = house();
  const start = (keyCeremonies: "open" | "token" | "off", token?: string) =>
    small.ask("POST", "/sys/ceremony", {
      listener: { keyCeremonies },
      ...(token === undefined ? {} : { token }),
    });
  const data = async (answer: ReturnType<typeof start>) => {
    const { result } = await answer;
    return result instanceof Reply ? result.data : result.code;
  };
  assert.deepEqual(await data(start("open")), { caller: null, can: false });
  assert.deepEqual(await data(start("open", "nobody")), { caller: null, can: false });
  assert.deepEqual(await data(start("open", "root")), { caller: "root", can: true });
  assert.deepEqual(await data(start("open", "client")), { caller: "client", can: false });
  assert.equal(await data(start("token")), "missing-token");
  assert.equal(await data(start("token", "nobody")), "invalid-token");
  assert.deepEqual(await data(start("token", "client")), { caller: "client", can: false });
  assert.equal(await data(start("off", "root")), "ceremonies-off");
});

test("metrics are open where the listener says so, and a listener can be for them alone", async () => {
  const small = house();
  assert.equal(await small.answer("GET", "/sys/metrics"), "denied missing-token");
  const open = { listener: { openings: { metrics: true } } };
  assert.equal(await small.answer("GET", "/sys/metrics", open), "ok");
  assert.equal(await small.answer("GET", "/sys/metrics", { ...open, token: "nobody" }), "ok");
  const only = { listener: { metricsOnly: true, openings: { metrics: true } } };
  assert.equal(await small.answer("GET", "/sys/metrics", only), "ok");
  assert.equal(await small.answer("GET", "/sys/health", only), "ok");
  assert.equal(
    await small.answer("GET", "/sys/things/x", { ...only, token: "root" }),
    "not-found metrics-only",
  );
});

test("a request that cannot be recorded does not run", async () => {
  const small = house();
  small.auditFails = "request";
  assert.equal(
    await small.answer("GET", "/sys/things/x", { token: "root" }),
    "internal audit-failed",
  );
  assert.equal(
    small.trace.some((step) => step.startsWith("run")),
    false,
  );
  assert.equal(await small.answer("GET", "/sys/things/x"), "internal audit-failed");
});

test("an answer that cannot be recorded does not leave", async () => {
  const small = house();
  small.auditFails = "response";
  const { result } = await small.ask("GET", "/sys/things/x", { token: "root" });
  assert.ok(result instanceof Failure && result.code === "audit-failed");
});

test("an answer made while the node waits for it is recorded and leaves; later it does not", async () => {
  const small = house();
  small.room.fault = () => {
    small.node = { ...small.node, sealed: true };
    return {};
  };
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "ok");
  assert.deepEqual(
    small.records.map(({ kind }) => kind),
    ["request", "response"],
  );
  small.node = { ...small.node, sealed: false };
  small.room.fault = () => {
    small.auditOpen = false;
    return {};
  };
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "sealed sealed");
});

test("T-A04: a request refused for its path is recorded with the path as it came", async () => {
  const small = house();
  assert.equal(
    await small.answer("GET", "/sys/%2e%2e/x", { token: "root" }),
    "invalid path-malformed",
  );
  assert.deepEqual(
    small.records.map(({ kind, request }) => [kind, request.path, request.rawPath]),
    [
      ["request", null, "/sys/%2e%2e/x"],
      ["response", null, "/sys/%2e%2e/x"],
    ],
  );
});

test("refusals of a quota are recorded only where that is asked for, and come before the token", async () => {
  const small = house();
  small.overQuota = true;
  assert.equal(
    await small.answer("GET", "/sys/things/x", { token: "root" }),
    "rate-limited rate-limited",
  );
  assert.deepEqual(small.trace, ["quota"]);
  small.auditRefusals = true;
  await small.answer("GET", "/sys/things/x", { token: "root" });
  assert.equal(small.records.length, 2);
});

test("whoever tries out secrets is slowed down; whoever has one is not", async () => {
  const small = house();
  small.loopback = false;
  const answers = [];
  for (let i = 0; i < 5; i++)
    answers.push(await small.answer("GET", "/sys/things/x", { token: "guess" }));
  assert.deepEqual(answers.slice(2), [
    "denied invalid-token",
    "rate-limited too-often",
    "rate-limited too-often",
  ]);
  assert.equal(await small.answer("GET", "/sys/things/x", { token: "root" }), "ok");
  assert.equal(await small.answer("GET", "/sys/health"), "ok");
});

test("T-O02: a fault of ours is told as such, and neither answer nor log quotes what it failed on", async () => {
  const small = house();
  small.room.fault = () => JSON.parse('{"password":"hunter2secret" oops');
  const { result } = await small.ask("GET", "/sys/things/x", { token: "root" });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["internal error; request a-request"]);
  assert.equal(small.lines.length, 1);
  assert.match(small.lines[0] ?? "", /SyntaxError/);
  assert.doesNotMatch(small.lines.join(""), /hunter2|password/);
});

test("fields that an endpoint does not know are ignored and told", async () => {
  const small = house();
  const { result } = await small.ask("POST", "/sys/things/x", {
    token: "root",
    body: { size: 2, colour: "red", __x: 1 },
  });
  assert.ok(result instanceof Reply);
  assert.deepEqual(result.data, { size: 2 });
  assert.deepEqual(result.warnings, [
    "from the handler",
    "unknown fields are ignored: colour, __x",
  ]);
});

test("help needs a valid token, except where the endpoint is open", async () => {
  const small = house();
  assert.equal(await small.answer("GET", "/sys/health?help=1"), "ok");
  assert.equal(await small.answer("GET", "/sys/things/x?help=1"), "denied missing-token");
  assert.equal(await small.answer("GET", "/sys/things/x?help=1", { token: "client" }), "ok");
  assert.equal(
    await small.answer("GET", "/sys/nothing?help=1", { token: "client" }),
    "denied permission-denied",
  );
});

test("nothing runs any more once every request has ended", async () => {
  const small = house();
  await Promise.all([small.ask("GET", "/sys/health"), small.ask("GET", "/sys/nothing")]);
  assert.equal(small.running.count, 0);
  assert.equal(await small.running.drained(0n), 0);
});

test("each request of a counted token takes a use, and the last one ends the token", async () => {
  const small = house();
  const caller = small.add("counted", "management");
  small.tokens.set("counted", { ...caller, counted: true });
  small.uses.set("counted", 2);
  const ask = (path: string) => small.answer("GET", path, { token: "counted" });
  assert.equal(await ask("/sys/things/x"), "ok");
  assert.equal(small.trace.includes("spent counted"), false);
  assert.equal(await ask("/sys/nothing"), "not-found unsupported-path");
  assert.deepEqual(small.trace.slice(-2), ["audit response refused", "spent counted"]);
  assert.equal(await ask("/sys/things/x"), "denied invalid-token");
  assert.equal(small.trace.filter((word) => word === "spent counted").length, 1);
});

test("a body is overwritten unless it is known to hold no secret", async () => {
  const wiped = async (body: string, token = "root") => {
    const small = house();
    const answer = await small.answer("POST", "/sys/keep", { token, body });
    return [answer, small.trace.filter((word) => word === "wipe").length];
  };
  assert.deepEqual(await wiped('{"note":"n"}'), ["ok", 0]);
  assert.deepEqual(await wiped('{"note":"n","secret":null}'), ["ok", 0]);
  assert.deepEqual(await wiped('{"note":"n","secret":"s"}'), ["ok", 1]);
  assert.deepEqual(await wiped('{"secert":"s"}'), ["ok", 1], "under a wrong name");
  assert.deepEqual(await wiped('{"secret":7}'), ["invalid field-invalid", 1], "of a wrong type");
  assert.deepEqual(await wiped('{"secret":"s"'), ["invalid body-malformed", 1], "not JSON");
  assert.deepEqual(await wiped('{"secret":"s"}', "stranger"), ["denied invalid-token", 1]);
  assert.deepEqual(await wiped('{"secret":"s"}', "client"), ["denied permission-denied", 1]);
});
