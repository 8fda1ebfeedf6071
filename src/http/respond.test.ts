import assert from "node:assert/strict";
import test from "node:test";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { rawNumber } from "@holdfast/shared/json/json";
import type { Outcome } from "../core/incoming.ts";
import type { AuthBlock } from "@holdfast/shared/endpoint/auth";
import { JSON_TYPE, TextBody } from "@holdfast/shared/endpoint/output";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { PLAIN } from "../../tests/support/http-front.ts";
import { answerTo, type Answer } from "./respond.ts";
import { STATUS } from "./status.ts";

const ID = "11111111-2222-4333-8444-555555555555";

function answer(result: Outcome["result"], outcome: Partial<Outcome> = {}) {
  const made = answerTo({ ...PLAIN, ...outcome, result }, ID);
  assert.ok(typeof made.body === "string");
  return { ...made, body: made.body };
}

function header({ headers }: Answer, name: string): string | undefined {
  const at = headers.indexOf(name);
  return at < 0 ? undefined : headers[at + 1];
}

const ENVELOPE = {
  request_id: ID,
  lease_id: "",
  renewable: false,
  lease_duration: 0,
  data: null,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: "system",
};

test("data goes into the envelope", () => {
  const { status, body, contentType } = answer(new Reply({ a: 1 }));
  assert.equal(status, 200);
  assert.equal(contentType, "application/json");
  assert.deepEqual(JSON.parse(body), { ...ENVELOPE, data: { a: 1 } });
});

test("a token that is given out stands in auth, also where there is no data", () => {
  const auth: AuthBlock = {
    client_token: "t",
    accessor: "a",
    policies: ["default"],
    token_policies: ["default"],
    metadata: {},
    lease_duration: 60,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: true,
    num_uses: 0,
  };
  const { status, body } = answer(new Reply(undefined, { auth, warnings: ["cut"] }));
  assert.equal(status, 200);
  assert.deepEqual(JSON.parse(body), { ...ENVELOPE, auth, warnings: ["cut"] });
  assert.equal(answer(new Reply(undefined, { auth })).status, 200);
});

test("a number keeps its digits", () => {
  const { body } = answer(new Reply({ big: rawNumber("12345678901234567890.10") }));
  assert.match(body, /"big":12345678901234567890\.10}/);
});

test("a flat answer repeats the members of data, save those that the envelope has itself", () => {
  const data = { a: [1], b: { c: null }, gone: undefined };
  assert.deepEqual(JSON.parse(answer(new Reply(data), { flat: true }).body), {
    ...ENVELOPE,
    data: { a: [1], b: { c: null } },
    a: [1],
    b: { c: null },
  });
  const taken = { a: 1, warnings: "mine", request_id: "mine" };
  assert.deepEqual(JSON.parse(answer(new Reply(taken), { flat: true }).body), {
    ...ENVELOPE,
    data: taken,
    a: 1,
  });
  const none = JSON.parse(answer(new Reply({ auth: 1 }), { flat: true }).body);
  assert.deepEqual(none, { ...ENVELOPE, data: { auth: 1 } });
  assert.deepEqual(JSON.parse(answer(new Reply({}), { flat: true }).body), {
    ...ENVELOPE,
    data: {},
  });
});

test("no data and no warnings is 204 without a body; warnings alone are an envelope", () => {
  const nothing = answer(new Reply(undefined));
  assert.deepEqual([nothing.status, nothing.body, nothing.contentType], [204, "", null]);
  const warned = answer(new Reply(undefined, { warnings: ["careful"] }));
  assert.equal(warned.status, 200);
  assert.deepEqual(JSON.parse(String(warned.body)), { ...ENVELOPE, warnings: ["careful"] });
});

test("an answer whose number says that nothing follows has no body and no type, whatever it is given", () => {
  for (const status of [204, 304]) {
    for (const family of ["bare", "enveloped"] as const) {
      const sent = answer(new Reply(new TextBody(JSON_TYPE, "some words"), { status }), {
        family,
      });
      assert.deepEqual([sent.status, sent.body, sent.contentType], [status, "", null]);
    }
  }
});

test("bare data stands for itself, and its warnings are headers", () => {
  const { status, body, headers } = answer(
    new Reply({ sealed: true }, { warnings: ["a", "b\r\nü"] }),
    {
      family: "bare",
    },
  );
  assert.deepEqual([status, body], [200, '{"sealed":true}']);
  assert.deepEqual(headers, ["X-Service-Warning", "a", "X-Service-Warning", "b???"]);
});

test("text goes out under its own type", () => {
  const text = new TextBody("text/plain; version=0.0.4; charset=utf-8", "up 1\n");
  for (const family of ["bare", "enveloped"] as const) {
    const { contentType, body } = answer(new Reply(text), { family });
    assert.deepEqual([contentType, body], [text.contentType, text.text]);
  }
});

test("a record with the members of a text is a record", () => {
  const record = { contentType: "text/html", text: "<h1>", password: "x" };
  for (const family of ["bare", "enveloped"] as const) {
    const { contentType, body } = answer(new Reply(record), { family });
    assert.equal(contentType, "application/json");
    const parsed = JSON.parse(body) as { data?: unknown };
    assert.deepEqual(family === "bare" ? parsed : parsed.data, record);
  }
});

test("the ACL family is bare, an empty list is a list, and the index is told", () => {
  const list = answer(new Reply([]), { family: "acl", operation: "list", index: 2n ** 60n + 1n });
  assert.deepEqual([list.status, list.body], [200, "[]"]);
  assert.equal(header(list, "X-Service-Index"), "1152921504606846977");
  const refused = answer(new Failure("denied", "x", "Permission denied"), { family: "acl" });
  assert.equal(header(refused, "X-Service-Index"), "7");
  assert.equal(
    header(answer(new Reply([]), { family: "acl", index: null }), "X-Service-Index"),
    undefined,
  );
  assert.equal(header(answer(new Reply({})), "X-Service-Index"), undefined);
});

test("a list without keys is 404 with no errors, unless the handler says what it is", () => {
  const list = { operation: "list" } as const;
  const empty = answer(new Reply({ keys: [] }), list);
  assert.deepEqual([empty.status, empty.body], [404, '{"errors":[]}']);
  assert.equal(answer(new Reply({ keys: ["a"] }), list).status, 200);
  assert.equal(answer(new Reply({ keys: [] }, { status: 200 }), list).status, 200);
  assert.equal(answer(new Reply({ keys: [] })).status, 200, "a read of something with that member");
});

test("a status of the handler's own is sent as it is", () => {
  assert.equal(answer(new Reply({ a: 1 }, { status: 202 })).status, 202);
  const health = answer(new Reply({ sealed: true }, { status: 503 }), { family: "bare" });
  assert.deepEqual([health.status, health.body], [503, '{"sealed":true}']);
  assert.equal(answer(new Reply(undefined, { status: 429 }), { family: "bare" }).status, 429);
});

test("a status that would promise a further answer is refused", () => {
  for (const status of [100, 101, 199]) {
    const { status: sent } = answer(new Reply({ a: 1 }, { status }), { family: "bare" });
    assert.equal(sent, 400);
  }
});

test("every kind of failure has its status, and its code and texts are told", () => {
  const expected: Record<FailureKind, number> = {
    invalid: 400,
    denied: 403,
    "not-found": 404,
    conflict: 409,
    "too-large": 413,
    sealed: 503,
    uninitialised: 503,
    unavailable: 503,
    damaged: 500,
    unsupported: 405,
    "media-type": 415,
    "headers-too-large": 431,
    misdirected: 421,
    "rate-limited": 429,
    behind: 412,
    late: 408,
    "timed-out": 503,
    looping: 508,
    upstream: 502,
    internal: 500,
  };
  assert.deepEqual(STATUS, expected);
  for (const [kind, status] of Object.entries(expected)) {
    const failure = new Failure(kind as FailureKind, "some-code", "what was wrong");
    const refused = answer(failure);
    assert.equal(refused.status, status);
    assert.equal(header(refused, "X-Service-Error"), "some_code");
    const extra = status === 500 ? { request_id: ID } : {};
    assert.deepEqual(JSON.parse(refused.body), { errors: ["what was wrong"], ...extra });
  }
});

test("a failure may have several texts or none", () => {
  const texts = (warnings: readonly string[]) =>
    JSON.parse(answer(new Failure("denied", "x", "m", { texts: warnings })).body).errors;
  assert.deepEqual(texts(["permission denied", "invalid token"]), [
    "permission denied",
    "invalid token",
  ]);
  assert.deepEqual(texts([]), []);
});

test("when to come back is told on 412, 429 and 503, by the failure or by default", () => {
  const after = (kind: FailureKind, retryAfter?: number) =>
    header(
      answer(new Failure(kind, "x", "m", { ...(retryAfter && { retryAfter }) })),
      "Retry-After",
    );
  assert.deepEqual(
    [after("behind"), after("rate-limited"), after("sealed"), after("invalid")],
    ["1", "1", "5", undefined],
  );
  assert.equal(after("rate-limited", 2.2), "3");
});

test("headers of the pipeline and of the reply are sent, without what a header cannot hold", () => {
  const reply = new Reply({}, { headers: { "X-Service-NextToken": "a\r\nSet-Cookie: b" } });
  const { headers } = answer(reply, { headers: { "X-Ratelimit-Limit": "5" } });
  assert.deepEqual(headers, ["X-Service-NextToken", "a??Set-Cookie: b", "X-Ratelimit-Limit", "5"]);
});
