// What a disaster-recovery secondary answers, and to whom: nothing of tokens, namespaces, policies and quotas is open
// there, so nothing of them may be asked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { type AskOptions, SmallHouse } from "../../tests/support/small-house.ts";

interface Stage {
  /** What a handler waits for. */
  turn: Promise<void>;
}

const endpoint = endpointsOf<Stage>();
const any = out.anyObject("anything");
const common = { summary: "one of them", output: any, rootOnly: true } as const;

const declared = [
  endpoint({
    ...common,
    name: "promote",
    method: "POST",
    path: "/sys/promote",
    access: access.drOperation("promote"),
    belongs: "local",
    input: { force: wire.body("force").boolean("whatever the checks say").default(false) },
    handler: async ({ turn }, { force }, context) => {
      await context.waitFor(turn);
      return { force, caller: context.caller?.name ?? null };
    },
  }),
  endpoint({
    ...common,
    name: "ceremony",
    method: "POST",
    path: "/sys/ceremony",
    access: access.drCeremony,
    belongs: "local",
    input: {},
    handler: () => ({}),
  }),
  endpoint({
    ...common,
    name: "seal",
    method: "POST",
    path: "/sys/seal",
    access: access.sudoOr("seal"),
    belongs: "local",
    input: {},
    handler: () => ({}),
  }),
  endpoint({
    ...common,
    name: "evidence",
    method: "GET",
    path: "/sys/evidence",
    rootOnly: false,
    access: access.capabilityOr("read"),
    input: {},
    handler: (_, __, { caller }) => ({ caller: caller?.name ?? null }),
  }),
  endpoint({
    ...common,
    name: "status",
    method: "GET",
    path: "/sys/status",
    access: access.openWithCaller,
    onDrSecondary: true,
    input: {},
    handler: (_, __, { caller }) => ({ caller: caller?.name ?? null }),
  }),
  endpoint({
    ...common,
    name: "everywhere",
    method: "GET",
    path: "/sys/everywhere",
    rootOnly: false,
    access: access.open,
    onDrSecondary: true,
    input: {},
    handler: () => ({}),
  }),
  endpoint({
    ...common,
    name: "attempt",
    method: "GET",
    path: "/sys/ceremony",
    rootOnly: false,
    access: access.drCeremony,
    input: {},
    handler: () => ({}),
  }),
  endpoint({
    ...common,
    name: "thing",
    method: "POST",
    path: "/sys/thing",
    access: access.capability,
    belongs: "local",
    input: {},
    handler: () => ({}),
  }),
];

function stage({ dr = true }: { readonly dr?: boolean } = {}) {
  const room: Stage = { turn: Promise.resolve() };
  const house = new SmallHouse(serve(room, declared));
  house.node = { ...house.node, drSecondary: dr };
  house.add("root", "management");
  house.namespaces.set("team", { id: "n1", path: "team", created: 3n });
  house.operators.set("all", ["promote", "seal", "read"]);
  house.operators.set("one", ["seal"]);
  const data = async (verb: string, target: string, options: AskOptions) => {
    const { result } = await house.ask(verb, target, options);
    assert.ok(result instanceof Reply);
    return result.data;
  };
  return Object.assign(house, { room, data });
}

test("an operation is done with an operation token, in the body or in the header; that of the body counts", async () => {
  const small = stage();
  const promote = (options: AskOptions) => small.data("POST", "/sys/promote", options);
  const done = { force: false, caller: "all" };
  assert.deepEqual(await promote({ body: { dr_operation_token: "all" } }), done);
  assert.deepEqual(await promote({ token: "all", body: {} }), done);
  assert.deepEqual(await promote({ token: "all" }), done);
  assert.deepEqual(await promote({ token: "none", body: { dr_operation_token: "all" } }), done);
  assert.equal(
    await small.answer("POST", "/sys/promote", {
      token: "all",
      body: { dr_operation_token: "none" },
    }),
    "denied invalid-operation-token",
  );
});

test("no token, a bad one, one of the primary and one for something else are refused before the handler", async () => {
  const small = stage();
  const missing = "denied missing-operation-token";
  const invalid = "denied invalid-operation-token";
  assert.equal(await small.answer("POST", "/sys/promote", { body: {} }), missing);
  assert.equal(await small.answer("POST", "/sys/promote", { token: "root" }), invalid);
  assert.equal(await small.answer("POST", "/sys/promote", { token: "one" }), invalid);
  // Who has no right learns nothing of what is wrong with its fields.
  assert.equal(
    await small.answer("POST", "/sys/promote", { token: "one", body: { force: "perhaps" } }),
    invalid,
  );
  assert.equal(await small.answer("POST", "/sys/seal", { token: "one" }), "ok");
  assert.equal(await small.answer("GET", "/sys/evidence", { token: "one" }), invalid);
  assert.deepEqual(
    small.trace.filter((word) => word.startsWith("run")),
    ["run seal"],
  );
});

test("nothing that is not open there is asked: tokens, namespaces, mounts, quotas, policies, programs", async () => {
  const small = stage();
  small.overQuota = true;
  small.failing.add("egp sys/promote");
  await small.data("POST", "/sys/promote", { token: "all" });
  await small.data("GET", "/sys/evidence", { token: "all" });
  await small.answer("POST", "/sys/thing", { token: "root" });
  await small.answer("GET", "/secret/data/x", { token: "root" });
  await small.answer("GET", "/sys/evidence", { token: "all", namespace: "team" });
  assert.deepEqual(small.places, []);
  const consulted = small.trace.filter((word) => /^(?:token|quota|decide|[re]gp)/.test(word));
  assert.deepEqual(consulted, []);
});

test("ordinary paths say what the cluster is, whoever asks, in every namespace", async () => {
  const small = stage();
  for (const options of [{}, { token: "root" }, { token: "all" }, { token: "none" }]) {
    for (const [verb, target] of [
      ["POST", "/sys/thing"],
      ["GET", "/sys/thing"],
      ["GET", "/secret/data/x"],
      ["GET", "/team/sys/evidence"],
    ] as const) {
      assert.equal(await small.answer(verb, target, options), "unavailable dr-secondary", target);
    }
    const inTeam = { ...options, namespace: "team" };
    assert.equal(await small.answer("GET", "/sys/evidence", inTeam), "unavailable dr-secondary");
    // By the header or by the path.
    const restricted = "denied restricted-endpoint";
    assert.equal(await small.answer("POST", "/sys/promote", inTeam), restricted);
    assert.equal(await small.answer("POST", "/team/sys/promote", options), restricted);
    for (const verb of ["GET", "DELETE"]) {
      const answer = await small.answer(verb, "/sys/promote", options);
      assert.equal(answer, "unsupported unsupported-operation", verb);
    }
  }
});

test("what is open to all stays so; the holder of an operation token is known there", async () => {
  const small = stage();
  assert.deepEqual(await small.data("GET", "/sys/status", {}), { caller: null });
  assert.deepEqual(await small.data("GET", "/sys/status", { token: "root" }), { caller: null });
  assert.deepEqual(await small.data("GET", "/sys/status", { token: "all" }), { caller: "all" });
});

test("what is the same in every namespace answers in all of them, named by the header or by the path", async () => {
  const small = stage();
  for (const path of ["/sys/everywhere", "/sys/ceremony"]) {
    for (const name of ["team", "nobody", "team/below"]) {
      assert.equal(await small.answer("GET", path, { namespace: name }), "ok");
      assert.equal(await small.answer("GET", `/${name}${path}`, {}), "ok");
      assert.equal(await small.answer("GET", `/below${path}`, { namespace: name }), "ok");
    }
  }
  assert.deepEqual(small.places, []);
  // what is for root alone is refused as that, by the path as by the header
  for (const [verb, path] of [
    ["GET", "/sys/status"],
    ["POST", "/sys/ceremony"],
  ] as const) {
    for (const [target, options] of [
      [`/team${path}`, {}],
      [path, { namespace: "team" }],
    ] as const) {
      assert.equal(await small.answer(verb, target, options), "denied restricted-endpoint", target);
    }
  }
  assert.equal(await small.answer("POST", "/team/sys/everywhere", {}), "unavailable dr-secondary");
});

test("a ceremony needs no token there; a listener can turn it off", async () => {
  const small = stage();
  small.loopback = false;
  const listener = { keyCeremonies: "token" } as const;
  assert.equal(await small.answer("POST", "/sys/ceremony", { listener }), "ok");
  const off = { listener: { keyCeremonies: "off" } } as const;
  assert.equal(await small.answer("POST", "/sys/ceremony", off), "denied ceremonies-off");
});

test("elsewhere its operations and ceremonies are refused, and what is also an ordinary right is one", async () => {
  const small = stage({ dr: false });
  for (const path of ["/sys/promote", "/sys/ceremony"]) {
    for (const options of [{}, { token: "root" }, { token: "all" }]) {
      assert.equal(await small.answer("POST", path, options), "invalid not-dr-secondary");
    }
  }
  assert.equal(await small.answer("POST", "/sys/seal", { token: "root" }), "ok");
  assert.equal(await small.answer("POST", "/sys/seal", { token: "all" }), "denied invalid-token");
  const inBody = { body: { dr_operation_token: "all" } };
  assert.equal(await small.answer("POST", "/sys/seal", inBody), "denied missing-token");
  assert.ok(small.trace.every((word) => !word.startsWith("judge")));
});

test("whoever tries out operation tokens is slowed down", async () => {
  const small = stage();
  small.loopback = false;
  for (let i = 0; i < 3; i++) {
    const answer = await small.answer("POST", "/sys/promote", { token: "guess" });
    assert.equal(answer, "denied invalid-operation-token");
  }
  const answer = await small.answer("POST", "/sys/promote", { token: "guess" });
  assert.equal(answer, "rate-limited too-often");
});

test("an operation that has waited is judged again: its token may be gone, and the cluster another", async () => {
  for (const change of ["token", "role"] as const) {
    const small = stage();
    const { promise, resolve } = Promise.withResolvers<void>();
    small.room.turn = promise;
    const answer = small.answer("POST", "/sys/promote", { token: "all" });
    while (!small.trace.includes("run promote")) await new Promise(setImmediate);
    small.node = { ...small.node, index: 8n, drSecondary: change !== "role" };
    if (change === "token") small.operators.delete("all");
    resolve();
    const expected =
      change === "token" ? "denied invalid-operation-token" : "invalid not-dr-secondary";
    assert.equal(await answer, expected);
  }
});

test("a request of before is nobody's once the cluster is a secondary", async () => {
  const small = stage({ dr: false });
  const { promise, resolve } = Promise.withResolvers<void>();
  small.bodies = promise;
  const answer = small.answer("POST", "/sys/thing", { token: "root", body: {} });
  await new Promise(setImmediate);
  small.node = { ...small.node, index: 8n, drSecondary: true };
  resolve();
  assert.equal(await answer, "unavailable dr-secondary");
});

test("the holder of an old token is told so with its answer", async () => {
  const small = stage();
  small.operatorWarnings = ["it is old"];
  const { result } = await small.ask("POST", "/sys/promote", { token: "all" });
  assert.ok(result instanceof Reply);
  assert.deepEqual(result.warnings, ["it is old"]);
});

test("the token in the body is wiped with it", async () => {
  const small = stage();
  await small.data("POST", "/sys/promote", { body: { dr_operation_token: "all" } });
  assert.ok(small.trace.includes("wipe"));
});

test("what answers there and needs a token says which operation it is", () => {
  assert.throws(() =>
    endpoint({
      ...common,
      name: "wrong",
      method: "GET",
      path: "/sys/wrong",
      access: access.capability,
      onDrSecondary: true,
      input: {},
      handler: () => ({}),
    }),
  );
});
