// Response wrapping through HTTP: what is wrapped and how it looks, the five
// endpoints, and each refusal in its words.

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  dataOf,
  done,
  engineServer,
  type EngineServer,
  grants,
  issuedIn,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { type Answer, at, type CallOptions } from "../../support/http-client.ts";
import { loggedIn, loginServer, PASSWORD } from "../../support/servers/login-server.ts";

const INVALID = "wrapping token is not valid or does not exist";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

interface WrapInfo {
  readonly token: string;
  readonly accessor: string;
  readonly ttl: number;
  readonly creation_time: string;
  readonly creation_path: string;
  readonly wrapped_accessor: string;
}

function wrapIn(answer: Answer): WrapInfo {
  assert.equal(answer.status, 200, answer.text);
  const info = at(answer, "wrap_info");
  assert.ok(typeof info === "object" && info !== null, answer.text);
  return info as WrapInfo;
}

const forAWhile = (ttl = "5m"): CallOptions => ({ headers: { "X-Service-Wrap-TTL": ttl } });

async function wrapped(server: EngineServer, data: object = { a: "b" }, ttl = "5m") {
  return wrapIn(await server.ask("POST", "sys/wrapping/wrap", data, forAWhile(ttl)));
}

function unwrap(server: EngineServer, token: string): Promise<Answer> {
  return server.test.call("POST", "/v1/sys/wrapping/unwrap", { token });
}

async function kvWith(server: EngineServer): Promise<void> {
  await server.enable("kv", "kv", { options: { version: "1" } });
  await server.must("POST", "kv/app", { password: "opens-it", number: 1 });
}

test("instead of the answer there is a wrapping, and nothing of the answer", async (t) => {
  const server = await engineServer(t);
  await kvWith(server);
  const answer = await server.ask("GET", "kv/app", undefined, forAWhile("300"));
  const info = wrapIn(answer);
  const { request_id, ...envelope } = answer.json as Record<string, unknown>;
  assert.match(String(request_id), UUID);
  assert.deepEqual(envelope, {
    lease_id: "",
    renewable: false,
    lease_duration: 0,
    data: null,
    wrap_info: info,
    warnings: null,
    auth: null,
    mount_type: "kv",
  });
  assert.match(info.accessor, UUID);
  assert.deepEqual(
    [info.ttl, info.creation_path, info.wrapped_accessor, info.creation_time],
    [300, "kv/app", "", "2026-01-01T00:00:00Z"],
  );
  assert.ok(!answer.text.includes("opens-it"));
  const plain = await unwrap(server, info.token);
  assert.deepEqual(dataOf(plain), { password: "opens-it", number: 1 });
  assert.equal(at(plain, "wrap_info"), null);
});

test("a wrapping is opened once: by its own token, or by another's holder", async (t) => {
  const server = await engineServer(t);
  const [first, second] = [await wrapped(server), await wrapped(server)];
  assert.deepEqual(dataOf(await unwrap(server, first.token)), { a: "b" });
  refused(await unwrap(server, first.token), 400, INVALID);
  const client = await server.client(grants("kv/none", "read"));
  const byOther = (token: string) =>
    server.ask("POST", "sys/wrapping/unwrap", { token }, { token: client });
  assert.deepEqual(dataOf(await byOther(second.token)), { a: "b" });
  refused(await byOther(second.token), 400, INVALID);
});

test("a look-up tells where it comes from without opening it, to anybody", async (t) => {
  const server = await engineServer(t);
  await kvWith(server);
  const info = wrapIn(await server.ask("GET", "kv/app", undefined, forAWhile("90s")));
  const lookup = (token: unknown) =>
    server.test.call("POST", "/v1/sys/wrapping/lookup", { body: { token } });
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(dataOf(await lookup(info.token)), {
      creation_time: info.creation_time,
      creation_ttl: 90,
      creation_path: "kv/app",
    });
  }
  assert.equal((await unwrap(server, info.token)).status, 200);
  refused(await lookup(info.token), 400, INVALID);
  refused(await lookup("11111111-2222-4333-8444-555555555555"), 400, INVALID);
  refused(await lookup(server.root), 400, INVALID);
});

test("a rewrap keeps content, path and creation TTL, and ends the old one", async (t) => {
  const server = await engineServer(t);
  await kvWith(server);
  const old = wrapIn(await server.ask("GET", "kv/app", undefined, forAWhile("5m")));
  await server.time.pass(60n * SECOND);
  const answer = await server.ask("POST", "sys/wrapping/rewrap", { token: old.token });
  const fresh = wrapIn(answer);
  assert.notEqual(fresh.token, old.token);
  assert.deepEqual([fresh.ttl, fresh.creation_path], [300, "kv/app"]);
  refused(await unwrap(server, old.token), 400, INVALID);
  const again = wrapIn(
    await server.test.call("POST", "/v1/sys/wrapping/rewrap", { token: fresh.token }),
  );
  refused(await unwrap(server, fresh.token), 400, INVALID);
  assert.deepEqual(dataOf(await unwrap(server, again.token)), { password: "opens-it", number: 1 });
});

test("sys/wrapping/wrap wraps any JSON, for any token, and needs a time", async (t) => {
  const server = await engineServer(t);
  const client = await server.client(grants("kv/none", "read"));
  const body = { a: [1, { b: null }], token: "t", ttl: "u", path: "v" };
  const made = await server.ask("POST", "sys/wrapping/wrap", body, {
    ...forAWhile(),
    token: client,
  });
  assert.equal(wrapIn(made).creation_path, "sys/wrapping/wrap");
  assert.equal(at(made, "warnings"), null, "every member is part of what is wrapped");
  assert.deepEqual(dataOf(await unwrap(server, wrapIn(made).token)), body);
  const without = await server.ask("POST", "sys/wrapping/wrap", body);
  assert.equal(without.status, 400, without.text);
  const nobody = await server.test.call("POST", "/v1/sys/wrapping/wrap", { body, ...forAWhile() });
  assert.equal(nobody.status, 403);
});

test("refusals, empty lists and answers without a body are not wrapped", async (t) => {
  const server = await engineServer(t);
  await server.enable("kv", "kv");
  for (const [method, path, status, body] of [
    ["GET", "kv/data/none", 404, undefined],
    ["LIST", "kv/metadata", 404, undefined],
    ["GET", "none/such", 404, undefined],
    ["POST", "kv/data/x", 400, { data: 5 }],
    ["POST", "kv/config", 204, { max_versions: 5 }],
    ["DELETE", "kv/data/none", 204, undefined],
  ] as const) {
    const answer = await server.ask(method, path, body, forAWhile());
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    assert.ok(!answer.text.includes('"token"'), answer.text);
  }
  await server.must("POST", "kv/data/x", { data: { a: "1" } });
  done(await server.ask("DELETE", "kv/data/x"));
  const deleted = await server.ask("GET", "kv/data/x", undefined, forAWhile());
  assert.equal(deleted.status, 404);
  assert.ok((at(deleted, "wrap_info") ?? null) === null, "a 404 that has data is still a 404");
});

test("a login and a lease are wrapped whole; the accessor of the token inside is told", async (t) => {
  const server = await engineServer(t);
  const made = await server.ask(
    "POST",
    "auth/token/create",
    { policies: ["default"] },
    forAWhile(),
  );
  const info = wrapIn(made);
  assert.match(info.wrapped_accessor, UUID);
  assert.equal(at(made, "auth"), null);
  const opened = await unwrap(server, info.token);
  assert.equal(at(opened, "auth", "accessor"), info.wrapped_accessor);
  const token = String(at(opened, "auth", "client_token"));
  assert.equal(
    (await server.ask("GET", "auth/token/lookup-self", undefined, { token })).status,
    200,
  );
  await server.counting("count", { ttl: 600 });
  const creds = wrapIn(await server.ask("GET", "count/creds/r", undefined, forAWhile()));
  const lease = issuedIn(await unwrap(server, creds.token));
  assert.equal(lease.seconds, 600);
  assert.equal(await server.isThere(lease.id), true);
  assert.equal(server.outside.has(lease.object), true);
});

test("a wrapping ends with its time", async (t) => {
  const server = await engineServer(t);
  const info = await wrapped(server, { a: 1 }, "60s");
  await server.time.pass(59n * SECOND);
  assert.equal(
    (await server.test.call("POST", "/v1/sys/wrapping/lookup", { body: { token: info.token } }))
      .status,
    200,
  );
  await server.time.pass(2n * SECOND);
  refused(await unwrap(server, info.token), 400, INVALID);
  const byOther = await server.ask("POST", "sys/wrapping/unwrap", { token: info.token });
  refused(byOther, 400, INVALID);
});

test("what is no wrapping token cannot be unwrapped", async (t) => {
  const server = await engineServer(t);
  const client = await server.client(grants("kv/none", "read"));
  for (const token of [client, server.root, "nonsense", "", "eyJhbGciOiJub25lIn0.e30."]) {
    const answer = await server.ask("POST", "sys/wrapping/unwrap", { token });
    refused(answer, 400, INVALID);
  }
  // The caller's own token, without one in the body, is none either.
  refused(await unwrap(server, client), 400, INVALID);
  refused(await unwrap(server, "11111111-2222-4333-8444-555555555555"), 400, INVALID);
});

test("bounds of a policy decide whether and for how long an answer must be wrapped", async (t) => {
  const server = await engineServer(t);
  await kvWith(server);
  const token = await server.client(
    'path "kv/app" { capabilities = ["read"]\n min_wrapping_ttl = "1m"\n max_wrapping_ttl = "1h" }',
  );
  const ask = (headers: Record<string, string>) =>
    server.ask("GET", "kv/app", undefined, { token, headers });
  for (const [ttl, status] of [
    [null, 403],
    ["30s", 403],
    ["1m", 200],
    ["1h", 200],
    ["2h", 403],
  ] as const) {
    const answer = await ask(ttl === null ? {} : { "X-Service-Wrap-TTL": ttl });
    assert.equal(answer.status, status, `${ttl}: ${answer.text}`);
    assert.ok(!answer.text.includes("opens-it"));
  }
});

test("a failed unwrap is on record, and no wrapping token in clear", async (t) => {
  const server = await engineServer(t);
  const file_path = join(server.test.auditDirectory, "file.log");
  await server.must("POST", "sys/audit/file", { type: "file", options: { file_path } });
  const info = await wrapped(server, { a: "the-content" });
  await unwrap(server, info.token);
  await unwrap(server, info.token);
  await server.ask("POST", "sys/wrapping/unwrap", { token: info.token });
  const text = readFileSync(file_path, "utf8");
  for (const secret of [info.token, "the-content"]) assert.ok(!text.includes(secret), secret);
  const failed = text
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { type?: string; error?: string; request?: { path: string } },
    )
    .filter(
      ({ request, error }) => request?.path === "sys/wrapping/unwrap" && (error ?? "") !== "",
    );
  assert.ok(failed.length >= 2, `${failed.length}`);
  for (const { error } of failed) assert.match(String(error), /wrapping token is not valid/);
});

test("the JWT form: signed by the cluster, a reference and the secret apart, opened like the other", async (t) => {
  const server = await engineServer(t);
  const headers = { "X-Service-Wrap-TTL": "5m", "X-Service-Wrap-Format": "jwt" };
  const info = wrapIn(await server.ask("POST", "sys/wrapping/wrap", { a: "b" }, { headers }));
  const [head, claims, signature] = info.token
    .split(".")
    .map((part) => Buffer.from(part, "base64url"));
  assert.ok(head !== undefined && claims !== undefined && signature !== undefined);
  assert.equal((JSON.parse(head.toString()) as { alg: string }).alg, "ES512");
  const claim = JSON.parse(claims.toString()) as Record<string, unknown>;
  assert.equal(typeof claim["jti"], "string");
  assert.equal(typeof claim["st"], "string");
  assert.notEqual(claim["jti"], claim["st"]);
  assert.equal(claim["exp"], Number(claim["iat"]) + 300);
  const published = await server.test.call("GET", "/v1/sys/wrapping/pubkey");
  assert.equal(published.status, 200, published.text);
  const pem = JSON.stringify(published.json).match(/-----BEGIN.*?END PUBLIC KEY-----\\n/)?.[0];
  assert.ok(pem !== undefined, published.text);
  const key = createPublicKey(JSON.parse(`"${pem}"`) as string);
  const signed = info.token.slice(0, info.token.lastIndexOf("."));
  const isGood = verify(
    "sha512",
    Buffer.from(signed),
    { key, dsaEncoding: "ieee-p1363" },
    signature,
  );
  assert.equal(isGood, true);
  // Every change of it is no wrapping token.
  const flipped = Buffer.from(signature);
  flipped[10]! ^= 1;
  const later = { ...claim, exp: Number(claim["exp"]) + 600 };
  for (const token of [
    `${signed}.${flipped.toString("base64url")}`,
    `${signed}.`,
    signed,
    [
      head.toString("base64url"),
      Buffer.from(JSON.stringify(later)).toString("base64url"),
      signature.toString("base64url"),
    ].join("."),
    String(claim["jti"]),
  ]) {
    refused(await server.ask("POST", "sys/wrapping/unwrap", { token }), 400, INVALID);
  }
  assert.deepEqual(dataOf(await server.ask("POST", "sys/wrapping/unwrap", { token: info.token })), {
    a: "b",
  });
  refused(await server.ask("POST", "sys/wrapping/unwrap", { token: info.token }), 400, INVALID);
});

test("a wrapping outlives a crash and is opened in the namespace it was made in", async (t) => {
  const server = await engineServer(t);
  await server.namespaces("team");
  const options = { namespace: "team", ...forAWhile() };
  const info = wrapIn(await server.ask("POST", "sys/wrapping/wrap", { a: "b" }, options));
  await server.crash();
  const opened = await server.test.call("POST", "/v1/sys/wrapping/unwrap", {
    token: info.token,
    namespace: "team",
  });
  assert.deepEqual(dataOf(opened), { a: "b" });
});

test("no token fills the store with wrappings: its own, however small or large, are counted", async (t) => {
  const server = await engineServer(t);
  const token = await server.client(grants("kv/none", "read"));
  const large = { text: "x".repeat(1000 * 1024) };
  const wrap = (more: CallOptions = {}) =>
    server.ask("POST", "sys/wrapping/wrap", large, { token, ...forAWhile("24h"), ...more });
  const made: string[] = [];
  let last = await wrap();
  while (last.status === 200) {
    made.push(wrapIn(last).token);
    last = await wrap();
  }
  refused(
    last,
    429,
    "there may be at most 4096 entries and 33554432 bytes of wrapped answers made by one login or token; " +
      "unwrap some, or ask again when some have ended",
  );
  assert.ok(made.length === 33 || made.length === 34, String(made.length));
  // What would be wrapped is not even done: nothing is lost.
  const before = server.storedKeys("").length;
  const child = await server.ask("POST", "auth/token/create", {}, { token, ...forAWhile() });
  assert.ok([403, 429].includes(child.status), child.text);
  assert.equal(server.storedKeys("").length, before);
  // Others are not held up by it, and what was unwrapped makes room, after a crash too.
  assert.equal((await wrap({ token: server.root })).status, 200);
  await server.crash();
  assert.equal((await wrap()).status, 429);
  for (const one of made.slice(0, 3)) assert.equal((await unwrap(server, one)).status, 200);
  assert.equal((await wrap()).status, 200);
  const tooLong = await wrap(forAWhile("769h"));
  assert.equal(tooLong.status, 400);
  assert.match(tooLong.text, /at most 768h0m0s, which is max_lease_ttl/);
});

test("however often somebody logs in, the wrappings and cubbyholes of all tokens count as one's", async (t) => {
  const logins = await loginServer(t);
  await logins.server.acl("maker", grants("auth/token/create", "create", "update"));
  await logins.people({ token_policies: ["maker"] });
  const large = { text: "x".repeat(1000 * 1024) };
  const token = async () => loggedIn(await logins.login()).secret;
  const wrap = (secret: string) =>
    logins.server.call("POST", "/v1/sys/wrapping/wrap", {
      token: secret,
      body: large,
      ...forAWhile("768h"),
    });
  const keep = (secret: string, name: string) =>
    logins.server.call("POST", `/v1/cubbyhole/${name}`, { token: secret, body: large });
  const revoke = (secret: string) =>
    logins.server.call("POST", "/v1/auth/token/revoke-self", { token: secret });

  let wrappings = 0;
  let last: Answer;
  do {
    const secret = await token();
    for (let i = 0; i < 8; i++) last = await wrap(secret);
    assert.equal((await revoke(secret)).status, 204);
    wrappings += 8;
  } while (last!.status === 200 && wrappings < 80);
  assert.equal(last!.status, 429, "the wrappings of tokens that are gone still count");
  assert.ok(wrappings <= 40, String(wrappings));
  const child = await logins.server.must("POST", "/v1/auth/token/create", { token: await token() });
  const secret = String(at(child, "auth", "client_token"));
  assert.equal((await wrap(secret)).status, 429, "and a child is nobody else");
  assert.equal((await wrap(logins.server.root)).status, 200);

  const keepers: string[] = [];
  for (let kept = await keep(secret, "first"); kept.status < 300;) {
    const keeper = await token();
    keepers.push(keeper);
    for (let i = 0; i < 8; i++) kept = await keep(keeper, `entry-${i}`);
    assert.ok(keepers.length < 8);
    if (kept.status >= 300) {
      refused(
        kept,
        400,
        "the cubbyholes of all tokens of one login hold together at most 4096 entries and " +
          "33554432 bytes; delete some first",
      );
    }
  }
  assert.equal((await revoke(keepers[0]!)).status, 204);
  assert.equal((await keep(secret, "more")).status, 204, "what ends with its token makes room");
});

test("a wrapped login counts for whoever logs in, and is refused before there is a token", async (t) => {
  const logins = await loginServer(t);
  await logins.people();
  await logins.server.must("POST", "/v1/auth/people/users/bob", { body: { password: PASSWORD } });
  const fill = async () => {
    const { secret } = loggedIn(await logins.login());
    const body = { text: "x".repeat(1000 * 1024) };
    const wrap = () =>
      logins.server.call("POST", "/v1/sys/wrapping/wrap", { token: secret, body, ...forAWhile() });
    const made: string[] = [];
    for (let last = await wrap(); last.status === 200; last = await wrap()) {
      made.push(wrapIn(last).token);
      assert.ok(made.length < 40);
    }
    return made;
  };
  const first = wrapIn(await logins.login(PASSWORD, forAWhile())); // there is room for it
  const made = await fill();
  const before = await logins.tokens();
  const full = await logins.login(PASSWORD, forAWhile());
  assert.equal(full.status, 429, full.text);
  assert.match(full.text, /wrapped answers made by one login or token/);
  assert.equal(await logins.tokens(), before, "no token that nobody has");
  loggedIn(await logins.login());
  const bob = await logins.server.call("POST", "/v1/auth/people/login/bob", {
    body: { password: PASSWORD },
    ...forAWhile(),
  });
  wrapIn(bob); // somebody else
  for (const token of [first.token, ...made.slice(0, 2)]) {
    const opened = await logins.server.call("POST", "/v1/sys/wrapping/unwrap", { token });
    assert.equal(opened.status, 200, opened.text);
  }
  wrapIn(await logins.login(PASSWORD, forAWhile()));
});

test("a wrapped login of a role counts for the role", async (t) => {
  const logins = await loginServer(t);
  const role_id = await logins.machines({ token_policies: "default" });
  const secret_id = String(at(await logins.secretId(), "data", "secret_id"));
  const login = (options: CallOptions = {}) =>
    logins.server.call("POST", "/v1/auth/approle/login", {
      body: { role_id, secret_id },
      ...options,
    });
  const { secret: token } = loggedIn(await login());
  const body = { text: "x".repeat(1000 * 1024) };
  const wrap = () =>
    logins.server.call("POST", "/v1/sys/wrapping/wrap", { token, body, ...forAWhile() });
  let last = await login(forAWhile());
  for (let i = 0; last.status === 200 && i < 40; i++) last = await wrap();
  assert.equal(last.status, 429, last.text);
  assert.equal((await login(forAWhile())).status, 429);
  loggedIn(await login());
});

test("without a token nothing is kept for anybody but what lets somebody in", async (t) => {
  const server = await engineServer(t);
  const before = server.storedKeys("wrapping-made").length;
  for (const path of ["sys/wrapping/pubkey", "sys/internal/ui/mounts", "acl/replication"]) {
    const answer = await server.test.call("GET", `/v1/${path}`, forAWhile());
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
    assert.match(answer.text, /without a token only a login is answered wrapped; send a token/);
    wrapIn(await server.ask("GET", path, undefined, forAWhile())); // whose it is can be told
  }
  assert.equal(server.storedKeys("wrapping-made").length, before + 3);
});

test("what cannot be wrapped is refused, not given out", async (t) => {
  const server = await engineServer(t);
  for (const path of [
    "sys/health",
    "sys/metrics",
    "sys/generate-root/attempt",
    "sys/seal-status",
  ]) {
    const answer = await server.ask("GET", path, undefined, forAWhile());
    refused(answer, 400, "answers of this path cannot be wrapped; leave X-Service-Wrap-TTL out");
  }
  assert.equal((await server.ask("GET", "sys/health")).status, 200);
});
