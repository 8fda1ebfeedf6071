// Decisions of the token contract that no conformance case shows: paths, times given twice or as zero,
// uploads, doors to the first token, JSON of another type.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  HOUR,
  indexOf,
  nanosOf,
  problems,
  refused,
  succeeded,
  timeText,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";

const SECRET = "0f8fad5b-d9cb-469f-a165-70867728950e";
const UPLOAD = { AccessorID: UNKNOWN, SecretID: SECRET, Type: "client", Policies: ["readonly"] };

test("every path is served with /v1 and without", async (t) => {
  const server = await aclServer(t);
  const own = await server.manage("GET", "/v1/acl/token/self");
  assert.deepEqual(tokenOf(own), tokenOf(await server.manage("GET", "/acl/token/self")));
  assert.equal((await server.manage("GET", "/v1/acl/tokens")).text, (await server.list()).text);
});

test("an empty time and the zero time are no time", async (t) => {
  const server = await aclServer(t);
  for (const ExpirationTime of ["", null, "0001-01-01T00:00:00Z"]) {
    assert.equal((await server.create({ ExpirationTime })).ExpirationTime, null);
    const token = await server.create({ ExpirationTime, ExpirationTTL: "1h" });
    assert.equal(nanosOf(token.ExpirationTime) - nanosOf(token.CreateTime), HOUR);
  }
});

test("a TTL wins over a time", async (t) => {
  const server = await aclServer(t);
  const ExpirationTime = timeText(BigInt(Date.now()) * 1_000_000n + 3n * HOUR);
  const token = await server.create({ ExpirationTime, ExpirationTTL: "1h" });
  assert.equal(nanosOf(token.ExpirationTime) - nanosOf(token.CreateTime), HOUR);
  assert.equal(token.ExpirationTTL, "1h0m0s");
});

test("create with an accessor changes or uploads that token", async (t) => {
  const server = await aclServer(t);
  const made = tokenOf(await server.manage("POST", "/acl/token", { body: UPLOAD }));
  assert.deepEqual([made.AccessorID, made.SecretID], [UNKNOWN, SECRET]);
  const body = { AccessorID: UNKNOWN, Name: "n2", Type: "client", Policies: ["readonly"] };
  const changed = tokenOf(await server.manage("POST", "/acl/token", { body }));
  assert.deepEqual([changed.Name, changed.SecretID], ["n2", SECRET]);
  assert.equal(changed.CreateIndex, made.CreateIndex);
});

test("an upload keeps a time of creation that is past, and expires by it", async (t) => {
  const server = await aclServer(t);
  const put = (more: object) =>
    server.manage("PUT", `/acl/token/${UNKNOWN}`, { body: { ...UPLOAD, ...more } });
  const now = BigInt(Date.now()) * 1_000_000n;
  const over = await put({ CreateTime: timeText(now - 2n * HOUR), ExpirationTTL: "1h" });
  refused(over, 400, /./, "invalid_token");
  denied(await server.self(SECRET));
  const CreateTime = timeText(now - HOUR);
  const token = tokenOf(await put({ CreateTime, ExpirationTTL: "2h" }));
  assert.equal(nanosOf(token.CreateTime), nanosOf(CreateTime));
  assert.equal(nanosOf(token.ExpirationTime), nanosOf(CreateTime) + 2n * HOUR);
  succeeded(await server.manage("DELETE", `/acl/token/${UNKNOWN}`));
  // Nobody was made in the future.
  const early = tokenOf(await put({ CreateTime: timeText(now + HOUR) }));
  assert.ok(nanosOf(early.CreateTime) < now + HOUR);
});

test("a token that goes takes its one-time token along, and the secret is free again", async (t) => {
  const server = await aclServer(t);
  const put = () => server.manage("PUT", `/acl/token/${UNKNOWN}`, { body: UPLOAD });
  tokenOf(await put());
  const made = await server.ask("POST", "/acl/token/onetime", { token: SECRET });
  const { OneTimeToken } = made.json as { OneTimeToken: { OneTimeSecretID: string } };
  const { OneTimeSecretID } = OneTimeToken;
  succeeded(await server.manage("DELETE", `/acl/token/${UNKNOWN}`));
  tokenOf(await put()); // the same identifiers, another token
  const body = { OneTimeSecretID };
  denied(await server.ask("POST", "/acl/token/onetime/exchange", { body }));
});

test("8 an index from another time waits in vain and learns the present one", async (t) => {
  const server = await aclServer(t);
  const now = indexOf(await server.list());
  const ahead = await server.list({ index: "18446744073709551615", wait: "50ms" });
  succeeded(ahead);
  assert.equal(indexOf(ahead), now);
});

test("development has a root token, and its bootstrap is open besides", async (t) => {
  const server = await aclServer(t, { dev: { rootToken: "any text" } });
  assert.equal(server.management, "any text");
  const { SecretID } = tokenOf(await server.bootstrap());
  succeeded(await server.list({}, SecretID));
  succeeded(await server.list());
  refused(await server.bootstrap(), 400, /already done/, "already_bootstrapped");
});

test("the configuration narrows the door", async (t) => {
  const from = { "X-Forwarded-For": "203.0.113.7" };
  const listener = { forwardedForFrom: ["127.0.0.1"] };
  const closed = await unclaimedServer(t, { settings: { acl: { bootstrap: "closed" } }, listener });
  refused(await closed.bootstrap(), 403, /^Permission denied/, "permission_denied");
  const near = await unclaimedServer(t, { settings: { acl: { bootstrap: "loopback" } }, listener });
  const far = await near.ask("POST", "/acl/bootstrap", { headers: from });
  refused(far, 403, /^Permission denied/, "permission_denied");
  succeeded(await near.bootstrap());
});

test("16 there are no roles yet", async (t) => {
  const server = await aclServer(t);
  for (const Roles of [null, []]) assert.equal((await server.create({ Roles })).Roles, null);
  const body = { Type: "client", Policies: ["readonly"], Roles: [{ Name: "dev" }] };
  refused(await server.manage("POST", "/acl/token", { body }), 400, "cannot find role dev");
});

test("4 problems of an update are told together as well", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const change = { Name: "n".repeat(257), Type: "clown", Global: true };
  const answer = await server.update(token, change);
  problems(
    answer,
    "token name too long",
    "token type must be client or management",
    "cannot toggle global mode",
  );
});

test("1 a value of another JSON type is refused, not read as what it might have meant", async (t) => {
  const server = await aclServer(t);
  for (const more of [{ Policies: "readonly" }, { Policies: "a,b" }, { Global: "true" }]) {
    const body = { Type: "client", Policies: ["readonly"], ...more };
    refused(await server.manage("POST", "/acl/token", { body }), 400, /./);
  }
});
