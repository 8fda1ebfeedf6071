import assert from "node:assert/strict";
import test from "node:test";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { SmallHouse } from "../../tests/support/small-house.ts";

const endpoint = endpointsOf<null>();
const common = { summary: "for a test", input: {}, output: out.nothing } as const;

function house(): SmallHouse {
  const made = new SmallHouse(
    serve(
      null,
      (
        [
          ["unwrap", "POST", access.capability, true],
          ["look", "POST", access.openWithCaller, true],
          ["granted", "GET", access.capability, false],
          ["any", "GET", access.token, false],
          ["open", "GET", access.openWithCaller, false],
          ["managed", "GET", access.management, false],
        ] as const
      ).map(([name, method, may, unwraps]) =>
        endpoint({
          name,
          method,
          path: `/sys/${name}`,
          access: may,
          belongs: "local",
          unwraps,
          ...common,
          handler: (_, _input, { caller }) => {
            made.trace.push(`for ${caller?.name ?? "nobody"}`);
            return undefined;
          },
        }),
      ),
    ),
  );
  const caller = made.add("wrapping", "client");
  made.tokens.set("wrapping", { ...caller, wrapping: "token", counted: true });
  made.uses.set("wrapping", 1);
  made.namespaces.set("team", { id: "t1", path: "team", created: 1n });
  return made;
}

const HELD = { token: "wrapping" };

test("what takes wrapping tokens gets them without a rule, and spends them itself", async () => {
  const made = house();
  assert.equal(await made.answer("POST", "/sys/unwrap", HELD), "ok");
  assert.equal(await made.answer("POST", "/sys/look", HELD), "ok");
  assert.ok(made.trace.includes("for wrapping"));
  assert.equal(made.uses.get("wrapping"), 1);
  assert.ok(!made.trace.some((word) => word.startsWith("spent")));
});

test("T-E02: a wrapping token opens nothing else, and is not used up by the attempt", async () => {
  const made = house();
  made.grants.add("read |sys/granted");
  for (const path of ["granted", "any", "managed", "nothing", "granted?help=1", "any?help=1"]) {
    const answer = await made.answer("GET", `/sys/${path}`, HELD);
    assert.equal(answer, "denied permission-denied", path);
  }
  made.trace.length = 0;
  assert.equal(await made.answer("GET", "/sys/open", HELD), "ok");
  assert.ok(made.trace.includes("for nobody"));
  assert.equal(made.uses.get("wrapping"), 1);
});

test("programs judge an unwrap, and what they or the audit refuse has not run", async () => {
  const made = house();
  made.failing.add("egp sys/unwrap");
  assert.equal(await made.answer("POST", "/sys/unwrap", HELD), "denied policy-denied");
  made.failing.clear();
  made.auditFails = "request";
  assert.match(await made.answer("POST", "/sys/unwrap", HELD), /^internal/);
  assert.ok(!made.trace.includes("run unwrap"));
});

test("whoever may unwrap needs the right, and whoever has no token at all is told so", async () => {
  const made = house();
  made.add("client", "client");
  assert.equal(
    await made.answer("POST", "/sys/unwrap", { token: "client" }),
    "denied permission-denied",
  );
  made.grants.add("update |sys/unwrap");
  assert.equal(await made.answer("POST", "/sys/unwrap", { token: "client" }), "ok");
  assert.equal(await made.answer("POST", "/sys/unwrap"), "denied missing-token");
});

test("an unknown wrapping token is told so, counted and on record, in namespaces that are not there too", async () => {
  const made = house();
  made.loopback = false;
  made.namespaces.set("other", { id: "o1", path: "other", created: 2n });
  const team = made.add("of team", "client", "team");
  made.tokens.set("of team", { ...team, wrapping: "token", counted: true });
  for (const [token, namespace] of [
    ["unknown", ""],
    ["unknown", "team"],
    ["unknown", "none"],
    ["of team", ""],
    ["of team", "other"],
    ["wrapping", "none"],
  ] as const) {
    made.attempts = 0;
    made.records.length = 0;
    const answer = await made.answer("POST", "/sys/unwrap", { token, namespace });
    assert.equal(answer, "invalid wrapping-token-invalid", `${token} in ${namespace}`);
    assert.equal(made.attempts, token === "unknown" ? 1 : 0);
    assert.equal(made.records.length, 2);
  }
  assert.equal(
    await made.answer("POST", "/sys/unwrap", { token: "of team", namespace: "team" }),
    "ok",
  );
});

test("a body that is the word null is no body", async () => {
  const made = house();
  assert.equal(await made.answer("POST", "/sys/unwrap", { ...HELD, body: "null" }), "ok");
  assert.equal(await made.answer("POST", "/sys/unwrap", { ...HELD, body: "null\n" }), "ok");
  for (const body of ["nul", "nullx", "[]", "1", '"a"']) {
    assert.match(await made.answer("POST", "/sys/unwrap", { ...HELD, body }), /^invalid /, body);
  }
});
