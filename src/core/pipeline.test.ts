import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { madeHouse } from "../../tests/support/made/made-house.ts";

test("the stages come in their order", async () => {
  const small = madeHouse();
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

test("T-N02: a large body is counted as what it becomes when it is read", async () => {
  const small = madeHouse();
  small.grants.add("create |sys/things/x");
  const parts = Array.from({ length: 4 }, () => Array.from({ length: 4000 }, () => ({})));
  const body = { size: 1, parts };
  assert.equal(await small.answer("POST", "/sys/things/x", { token: "client", body }), "ok");
  assert.ok(small.held > 16_000 * 60, `${small.held} bytes for 16,000 objects`);
});

test("whoever tries out secrets is slowed down; whoever has one is not", async () => {
  const small = madeHouse();
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
  const small = madeHouse();
  small.room.fault = () => JSON.parse('{"password":"hunter2secret" oops');
  const { result } = await small.ask("GET", "/sys/things/x", { token: "root" });
  assert.ok(result instanceof Failure);
  assert.deepEqual(result.texts, ["internal error; request a-request"]);
  assert.equal(small.lines.length, 1);
  assert.match(small.lines[0] ?? "", /SyntaxError/);
  assert.doesNotMatch(small.lines.join(""), /hunter2|password/);
});

test("fields that an endpoint does not know are ignored and told", async () => {
  const small = madeHouse();
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
  const small = madeHouse();
  assert.equal(await small.answer("GET", "/sys/health?help=1"), "ok");
  assert.equal(await small.answer("GET", "/sys/things/x?help=1"), "denied missing-token");
  assert.equal(await small.answer("GET", "/sys/things/x?help=1", { token: "client" }), "ok");
  assert.equal(
    await small.answer("GET", "/sys/nothing?help=1", { token: "client" }),
    "denied permission-denied",
  );
});

test("nothing runs any more once every request has ended", async () => {
  const small = madeHouse();
  await Promise.all([small.ask("GET", "/sys/health"), small.ask("GET", "/sys/nothing")]);
  assert.equal(small.running.count, 0);
  assert.equal(await small.running.drained(0n), 0);
});

test("each request of a counted token takes a use, and the last one ends the token", async () => {
  const small = madeHouse();
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
    const small = madeHouse();
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
