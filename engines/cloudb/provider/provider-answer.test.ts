import assert from "node:assert/strict";
import test from "node:test";
import type { JsonObject } from "@holdfast/shared/json/json";
import { errorIn } from "./provider-answer.ts";
import { isHarmless } from "../../cloud/provider-error.ts";

function error(status: number, body: JsonObject, more: object = {}) {
  const usual = { step: "doing it", headers: {}, secrets: [], finds: true };
  return errorIn({ ...usual, status, body, ...more });
}

const graph = (code: string, inner: JsonObject = {}, details: JsonObject[] = []) => ({
  error: { code, message: "Text.", innerError: { "request-id": "rid", ...inner }, details },
});

test("the errors of all three services are read, each in its own shape", () => {
  const nested = graph("A", { code: "B", innerError: { code: "C" } }, [{ code: "D" }]);
  const first = error(400, nested);
  assert.deepEqual([first.code, first.requestId, first.kind], ["A", "rid", "refused"]);
  assert.ok(["A", "B", "C", "D"].every((code) => first.has(code)));
  assert.equal(first.message, "doing it: A: Text. (provider request id rid)");
  const arm = error(403, { error: { code: "AuthorizationFailed", message: "No." } });
  assert.equal(arm.message, "doing it: AuthorizationFailed: No.");
  const token = { error: "invalid_client", error_description: "Bad.", error_codes: [7000215] };
  assert.ok(error(401, token).has("7000215"));
  assert.equal(error(502, {}).message, "doing it: status 502");
});

test("T-I07: only the provider's own word means that something is not there", () => {
  assert.equal(error(404, graph("Request_ResourceNotFound")).gone, true);
  assert.equal(error(400, graph("Request_ResourceNotFound")).gone, true);
  assert.equal(error(404, { error: { code: "RoleAssignmentNotFound" } }).gone, true);
  assert.equal(error(404, {}).gone, false, "a page of something on the way");
  assert.equal(error(404, graph("NotFound"), { finds: false }).gone, false, "it was a token's");
  for (const status of [200, 400, 401, 403, 409, 410, 429, 500]) {
    assert.equal(error(status, graph("Other")).gone, false, String(status));
  }
});

test("what may have had its effect is told from what did not", () => {
  const kinds = {
    200: "unknown",
    302: "unknown",
    400: "refused",
    429: "throttled",
    500: "unknown",
  };
  for (const [status, kind] of Object.entries(kinds)) {
    const found = error(Number(status), graph("X"));
    assert.equal(found.kind, kind, status);
    assert.equal(isHarmless(found), kind !== "unknown", status);
  }
  assert.equal(error(503, {}).kind, "unknown");
  const busy = error(503, {}, { headers: { "retry-after": "7" } });
  assert.deepEqual([busy.kind, busy.retryAfter], ["throttled", 7]);
  for (const odd of ["-1", "soon", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"]) {
    assert.equal(error(429, {}, { headers: { "retry-after": odd } }).retryAfter, null, odd);
  }
  assert.equal(error(429, {}, { headers: { "retry-after": "999999999" } }).retryAfter, 3600);
});

test("T-I06: secrets that a service repeats are blanked out, in codes and ids as well", () => {
  const secret = "s3cr3t-Value/+";
  const body = { error: { code: secret, message: `you sent ${encodeURIComponent(secret)}` } };
  const { message } = error(400, body, { secrets: [secret], headers: { "request-id": secret } });
  assert.ok(!message.includes("s3cr3t"), message);
});

test("bodies that make no sense are errors without a code, whatever they hold", () => {
  const bodies: JsonObject[] = [
    { error: null },
    { error: [] },
    { error: { code: 7, message: {}, details: "x", innerError: [] } },
    { error: { details: [null, 1, { code: {} }] } },
  ];
  for (const body of bodies) assert.equal(error(400, body).message, "doing it: status 400");
});
