// Cases of docs/cases/token-api.md: what makes a token, and what is refused in which words.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  type AclServer,
  denied,
  HOUR,
  indexOf,
  MINUTE,
  nanosOf,
  problems,
  refused,
  succeeded,
  timeText,
  tokenOf,
  UNKNOWN,
  UUID,
} from "../../support/servers/acl-server.ts";
import type { Answer } from "../../support/http-client.ts";

const KEYS = [
  "AccessorID",
  "CreateIndex",
  "CreateTime",
  "ExpirationTTL",
  "ExpirationTime",
  "Global",
  "Hash",
  "ModifyIndex",
  "Name",
  "Policies",
  "Roles",
  "SecretID",
  "Type",
];
const MISTYPED = "token type must be client or management";
const TOO_LONG = "token name too long";

function create(server: AclServer, body: unknown): Promise<Answer> {
  return server.manage("POST", "/acl/token", { body });
}

/** A client token with this much more. */
function createClient(server: AclServer, more: object): Promise<Answer> {
  return create(server, { Name: "r", Type: "client", Policies: ["readonly"], ...more });
}

test("A-12 create gives the whole record, and its secret works at once", async (t) => {
  const server = await aclServer(t);
  const answer = await create(server, { Name: "r", Type: "client", Policies: ["readonly"] });
  const token = tokenOf(answer);
  assert.deepEqual(Object.keys(token).toSorted(), KEYS);
  assert.match(token.AccessorID, UUID);
  assert.match(token.SecretID, UUID);
  assert.equal(Buffer.from(token.Hash, "base64").length, 32);
  assert.equal(token.Hash.length, 44);
  assert.equal(BigInt(token.CreateIndex), indexOf(answer));
  assert.equal(BigInt(token.ModifyIndex), indexOf(answer));
  const { Name, Type, Policies, Roles, Global, ExpirationTime, ExpirationTTL } = token;
  assert.deepEqual(
    [Name, Type, Policies, Roles, Global],
    ["r", "client", ["readonly"], null, false],
  );
  assert.deepEqual([ExpirationTime, ExpirationTTL], [null, ""]);
  assert.equal(answer.headers["x-service-warning"], undefined);
  assert.deepEqual(tokenOf(await server.self(token.SecretID)), token);
});

test("A-13 create is for management alone", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const body = { Name: "r", Type: "client", Policies: ["readonly"] };
  const before = await server.stubs();
  for (const token of [undefined, SecretID, UNKNOWN]) {
    denied(await server.ask("POST", "/acl/token", { token, body }));
    // Whoever may not is not told what else would be wrong.
    denied(await server.ask("POST", "/acl/token", { token, body: { Type: 7 } }));
  }
  assert.deepEqual(await server.stubs(), before);
});

test("A-14 create without a type is refused", async (t) => {
  const server = await aclServer(t);
  problems(await create(server, { Name: "r", Policies: ["readonly"] }), MISTYPED);
});

test("A-15 a type in other case is no type", async (t) => {
  const server = await aclServer(t);
  for (const Type of ["Client", "Management", "root", ""]) {
    problems(await create(server, { Name: "r", Type, Policies: ["readonly"] }), MISTYPED);
  }
});

test("A-16 a client token without policies is refused", async (t) => {
  const server = await aclServer(t);
  const text = "client token missing policies or roles";
  for (const Policies of [[], null, undefined]) {
    problems(await createClient(server, { Policies }), text);
  }
});

test("A-17 a management token with policies is refused", async (t) => {
  const server = await aclServer(t);
  const text = "management token cannot be associated with policies or roles";
  problems(await create(server, { Type: "management", Policies: ["x"] }), text);
});

test("A-18 a management token has no policies, and says null", async (t) => {
  const server = await aclServer(t);
  for (const Policies of [null, [], undefined]) {
    const token = tokenOf(await create(server, { Type: "management", Policies }));
    assert.equal(token.Policies, null);
    succeeded(await server.list({}, token.SecretID));
  }
});

test("A-19 a name may have 256 bytes", async (t) => {
  const server = await aclServer(t);
  problems(await createClient(server, { Name: "n".repeat(257) }), TOO_LONG);
  problems(await createClient(server, { Name: "é".repeat(129) }), TOO_LONG);
  for (const Name of ["n".repeat(256), "é".repeat(128)]) {
    assert.equal(tokenOf(await createClient(server, { Name })).Name, Name);
  }
});

for (const [row, ExpirationTTL] of [
  ["A-20", "8h"],
  ["A-21", 28_800_000_000_000],
] as const) {
  test(`${row} a TTL of ${ExpirationTTL} is told as 8h0m0s and sets the time exactly`, async (t) => {
    const server = await aclServer(t);
    const token = tokenOf(await createClient(server, { ExpirationTTL }));
    assert.equal(token.ExpirationTTL, "8h0m0s");
    assert.equal(nanosOf(token.ExpirationTime) - nanosOf(token.CreateTime), 8n * HOUR);
    // It is kept so.
    assert.deepEqual(tokenOf(await server.self(token.SecretID)), token);
  });
}

test("A-22 a TTL below the minimum is refused", async (t) => {
  const server = await aclServer(t);
  const text = "expiration time cannot be less than 1m0s in the future (was 30s)";
  problems(await createClient(server, { ExpirationTTL: "30s" }), text);
});

test("A-23 a TTL above the maximum is refused", async (t) => {
  const server = await aclServer(t);
  const text = "expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)";
  problems(await createClient(server, { ExpirationTTL: "25h" }), text);
});

test("A-24 the bounds themselves will do", async (t) => {
  const server = await aclServer(t);
  for (const [ttl, length, display] of [
    ["1m", MINUTE, "1m0s"],
    ["24h", 24n * HOUR, "24h0m0s"],
    ["1d", 24n * HOUR, "24h0m0s"],
  ] as const) {
    const token = tokenOf(await createClient(server, { ExpirationTTL: ttl }));
    assert.equal(nanosOf(token.ExpirationTime) - nanosOf(token.CreateTime), length);
    assert.equal(token.ExpirationTTL, display);
  }
});

test("A-25 a negative TTL is refused", async (t) => {
  const server = await aclServer(t);
  const answer = await createClient(server, { ExpirationTTL: "-1h" });
  refused(answer, 400, /^token 0 invalid: /, "invalid_token");
  assert.match(answer.text, /\\t\* token expiration TTL '-1h0m0s' should not be negative\\n/);
});

test("A-26 a TTL that is no duration is refused", async (t) => {
  const server = await aclServer(t);
  refused(await createClient(server, { ExpirationTTL: "abc" }), 400, /invalid duration "abc"/);
  refused(await createClient(server, { ExpirationTTL: "10" }), 400, /missing unit in duration/);
  for (const ExpirationTTL of [true, [], {}, ["8h"]]) {
    refused(await createClient(server, { ExpirationTTL }), 400, /./);
  }
});

test("A-27 an expiry in the past is two problems", async (t) => {
  const server = await aclServer(t);
  const ExpirationTime = timeText(BigInt(Date.now()) * 1_000_000n - HOUR);
  const answer = await createClient(server, { ExpirationTime });
  problems(
    answer,
    "expiration time cannot be before create time",
    /expiration time cannot be less than 1m0s in the future \(was -1h0m[\d.]*s\)/,
  );
  assert.match(answer.text, /2 errors occurred/);
});

test("A-28 an explicit expiry comes back as the same instant, without a TTL", async (t) => {
  const server = await aclServer(t);
  const instant = (BigInt(Date.now()) / 1000n) * 1_000_000_000n + 2n * HOUR;
  const text = timeText(instant).replace("Z", "");
  for (const [sent, expected] of [
    [`${text}Z`, instant],
    [`${text}.123456789Z`, instant + 123_456_789n],
    [`${text}+01:30`, instant - 90n * MINUTE],
  ] as const) {
    const token = tokenOf(await createClient(server, { ExpirationTime: sent }));
    assert.equal(nanosOf(token.ExpirationTime), expected);
    assert.equal(token.ExpirationTTL, "");
  }
});

test("A-29 everything that is wrong is told at once", async (t) => {
  const server = await aclServer(t);
  const body = { Name: "n".repeat(257), Type: "clown", Policies: ["readonly"] };
  problems(await create(server, body), TOO_LONG, MISTYPED);
});

test("A-30 an unknown policy is taken, with a warning", async (t) => {
  const server = await aclServer(t);
  const answer = await createClient(server, { Policies: ["nope", "readonly", "nor-this"] });
  assert.deepEqual(tokenOf(answer).Policies, ["nope", "readonly", "nor-this"]);
  assert.equal(answer.headers["x-service-warning"], "unknown policies: nope, nor-this");
});

test("A-31 a policy named twice counts once, and the order is kept", async (t) => {
  const server = await aclServer(t);
  assert.deepEqual(tokenOf(await createClient(server, { Policies: ["a", "b", "a"] })).Policies, [
    "a",
    "b",
  ]);
});

test("A-32 create needs a body", async (t) => {
  const server = await aclServer(t);
  refused(await server.manage("POST", "/acl/token"), 400, "Request body is empty");
  refused(await create(server, ""), 400, "Request body is empty");
});

test("A-33 a secret without an accessor is not taken", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = tokenOf(await createClient(server, { SecretID: UNKNOWN }));
  assert.match(SecretID, UUID);
  assert.notEqual(SecretID, UNKNOWN);
  denied(await server.self(UNKNOWN));
});

test("A-34 the path that creates is no read", async (t) => {
  const server = await aclServer(t);
  const answer = await server.manage("GET", "/acl/token");
  refused(answer, 405, "Invalid method", "method_not_allowed");
  assert.equal(answer.headers["allow"], "POST, PUT");
});
