// What is recorded of a request, and what happens when it cannot be.

import assert from "node:assert/strict";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import { madeHouse } from "../../tests/support/made/made-house.ts";

test("a request that cannot be recorded does not run", async () => {
  const small = madeHouse();
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
  const small = madeHouse();
  small.auditFails = "response";
  const { result } = await small.ask("GET", "/sys/things/x", { token: "root" });
  assert.ok(result instanceof Failure && result.code === "audit-failed");
});

test("an answer made while the node waits for it is recorded and leaves; later it does not", async () => {
  const small = madeHouse();
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
  const small = madeHouse();
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
  const small = madeHouse();
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
