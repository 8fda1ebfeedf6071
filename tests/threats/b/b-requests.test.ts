// Threats B: one-time tokens, bootstrap, and odd requests about tokens.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  denied,
  indexOf,
  refused,
  succeeded,
  tokenOf,
  unclaimedServer,
  UNKNOWN,
} from "../../support/servers/acl-server.ts";
import { at } from "../../support/http-client.ts";
import { keepsNobodyWaiting } from "../../support/processor-time.ts";
import { RawClient, request } from "../../support/http-front.ts";
import {
  ACCESSOR,
  EXCHANGE,
  creating,
  oneTime,
  exchange,
  makeNamespaces,
} from "../token-requests.ts";

test("T-B16: an exchange gives the token as it is, and nothing beyond it", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ ExpirationTTL: "2m" });
  const answer = await exchange(server, await oneTime(server, token.SecretID));
  assert.deepEqual(at(answer, "Token"), token);
});

test("T-B17: of many exchanges one succeeds, and nothing like the secret is the secret", async (t) => {
  const server = await aclServer(t);
  const { SecretID, AccessorID } = await server.create();
  const secret = await oneTime(server, SecretID);
  for (const sent of [` ${secret}`, `${secret} `, `${secret}\n`, `${secret}\u0000`, [secret]]) {
    refused(await exchange(server, sent), 400, /./);
  }
  const answers = Array.from({ length: 40 }, () => exchange(server, secret));
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((a, b) => a - b),
    [200, ...Array<number>(39).fill(403)],
  );
  // In capitals it is the same secret, and as used up as that.
  const next = await oneTime(server, SecretID);
  succeeded(await exchange(server, next.toUpperCase()));
  denied(await exchange(server, next));
  const orphan = await oneTime(server, SecretID);
  succeeded(await server.manage("DELETE", `/acl/token/${AccessorID}`));
  denied(await exchange(server, orphan));
});

test("T-B18 T-B24: a credential is presented once, in one way, and is not endless", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const { port } = new URL(server.test.url);
  const ask = async (...headers: readonly string[]) => {
    const client = await RawClient.connect(Number(port));
    const bytes = request("POST", "/acl/token/onetime", "Content-Length: 0", ...headers);
    const { status } = await client.ask(
      bytes.replace("Host: localhost", `Host: 127.0.0.1:${port}`),
    );
    client.destroy();
    return status;
  };
  const own = `X-Service-Token: ${SecretID}`;
  assert.equal(await ask(own), 200);
  assert.equal(await ask(), 403);
  assert.equal(await ask("X-Service-Token:"), 403);
  assert.equal(await ask(own, own), 400);
  assert.equal(await ask(own, `X-Service-Token: ${server.management}`), 400);
  assert.equal(await ask(own, `X-Nomad-Token: ${server.management}`), 400);
  assert.equal(await ask(own, `Authorization: Bearer ${server.management}`), 400);
  assert.equal(await ask(own, `Authorization: Bearer ${SecretID}`), 200);
  assert.equal(await ask(`X-Service-Token: ${"x".repeat(8192)}`), 403);
  assert.equal(await ask(`X-Service-Token: ${"x".repeat(8193)}`), 431);
});

test("T-B19: bootstrap has one winner, however many ask, and one more after a reset", async (t) => {
  const server = await unclaimedServer(t);
  const rush = async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => server.bootstrap()));
    const won = answers.filter(({ status }) => status === 200);
    assert.ok(answers.every(({ status }) => status === 200 || status === 400));
    return won.map(tokenOf);
  };
  const [first, ...others] = await rush();
  assert.ok(first !== undefined && others.length === 0);
  assert.deepEqual(await rush(), []);
  server.management = first.SecretID;
  const { SecretID } = await server.create();
  server.writeResetFile(String(first.CreateIndex));
  // A secret that somebody has is not taken over, in whatever case.
  for (const secret of [SecretID, SecretID.toUpperCase(), first.SecretID, "x", ` ${UNKNOWN}`]) {
    refused(await server.bootstrap({ BootstrapSecret: secret }), 400, "invalid acl token");
  }
  assert.equal((await rush()).length, 1);
  assert.deepEqual(await rush(), []);
  assert.equal((await server.stubs()).length, 3);
});

test("T-B20: whatever is refused leaves no token behind", async (t) => {
  const server = await aclServer(t);
  const token = await server.create();
  const { AccessorID } = token;
  const before = await server.list();
  const client = { Type: "client", Policies: ["p"] };
  const chosen = { ...client, AccessorID: ACCESSOR };
  for (const [path, body] of [
    ["/acl/bootstrap", undefined],
    ["/acl/token", undefined],
    ["/acl/token", "{"],
    ["/acl/token", { ...client, Type: "x" }],
    ["/acl/token", { ...client, Policies: [] }],
    ["/acl/token", { ...client, Policies: ["root"] }],
    ["/acl/token", { ...client, Roles: [{ Name: "no-such-role" }] }],
    ["/acl/token", { ...client, ExpirationTTL: "1s" }],
    ["/acl/token", { ...client, ExpirationTime: "x" }],
    ["/acl/token", { ...client, Name: "n".repeat(257) }],
    [`/acl/token/${ACCESSOR}`, { ...chosen, SecretID: token.SecretID }],
    [`/acl/token/${ACCESSOR}`, { ...chosen, SecretID: "x" }],
    [`/acl/token/${ACCESSOR}`, { ...chosen, SecretID: UNKNOWN, Type: "management" }],
    [`/acl/token/${ACCESSOR}`, { ...chosen, SecretID: UNKNOWN, ExpirationTTL: "1s" }],
    [`/acl/token/${AccessorID}`, { ...client, AccessorID: ACCESSOR }],
    [`/acl/token/${AccessorID}`, { ...client, AccessorID, Global: true }],
    [`/acl/token/${AccessorID}?cas=1`, { ...client, AccessorID }],
    ["/acl/token?region=nowhere", client],
    [EXCHANGE, { OneTimeSecretID: UNKNOWN }],
  ] as const) {
    const answer = await server.manage("POST", path, { body });
    assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status}`);
  }
  const after = await server.list();
  assert.equal(after.text, before.text);
  assert.equal(indexOf(after), indexOf(before));
});

test("T-B23: failed exchanges are counted by address, whatever they are spelt like", async (t) => {
  // A proxy on this machine tells who asks; callers on the machine itself are not counted.
  const server = await aclServer(t, { listener: { forwardedForFrom: ["127.0.0.1"] } });
  await makeNamespaces(server, "team");
  const { SecretID } = await server.create();
  const guess = (i: number, address: string) =>
    server.ask("POST", i % 3 === 0 ? EXCHANGE : `/v1${EXCHANGE}`, {
      body: { OneTimeSecretID: i % 2 === 0 ? UNKNOWN : crypto.randomUUID().toUpperCase() },
      namespace: i % 5 === 0 ? "team" : "",
      headers: { "X-Forwarded-For": address },
    });
  let tries = 0;
  let answer = await guess(tries, "203.0.113.7");
  while (answer.status === 403 && tries < 1000) answer = await guess(++tries, "203.0.113.7");
  refused(answer, 429, /./);
  assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/);
  assert.ok(tries >= 50, `${tries} tries`);
  // Nobody else is slowed down by it.
  denied(await guess(0, "203.0.113.8"));
  const body = { OneTimeSecretID: await oneTime(server, SecretID) };
  succeeded(await server.ask("POST", EXCHANGE, { body }));
});

test("T-B29: odd bodies are refused, in bounded time", async (t) => {
  const server = await aclServer(t);
  const max = Array.from({ length: 1024 }, (_, i) => `p${i}`);
  for (const Policies of [
    { length: 1e9 },
    7,
    true,
    null,
    [["readonly"]],
    [null],
    [{}],
    ["readonly", 7],
    [""],
    Array.from({ length: 100_000 }, (_, i) => `p${i}`),
    Array.from({ length: 1025 }, (_, i) => `p${i}`),
  ]) {
    refused(await creating(server, { Type: "client", Policies }), 400, /./);
  }
  for (const body of [
    '{"Name":"\\ud800","Type":"client","Policies":["p"]}',
    '{"Type":"client","Policies":["\\udfff"]}',
    '{"__proto__":{"Type":"management"},"Type":"client","Policies":["p"]}',
    '{"Type":"client","Type":"management","Policies":["p"]}',
    "null",
    "[]",
    "7",
    '"x"',
    "\u0000",
    `{"Roles":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
  ]) {
    refused(await creating(server, body), 400, /./);
  }
  const mistyped: readonly [string, unknown][] = [
    ["Name", { toString: 1 }],
    ["Name", ["x"]],
    ["Global", "perhaps"],
    ["Global", 7],
    ["Roles", [{ ID: "x" }]],
    ["Roles", "x"],
    ["ExpirationTime", { valueOf: 1 }],
  ];
  for (const [field, value] of mistyped) {
    const body = { Type: "client", Policies: ["p"], [field]: value };
    refused(await creating(server, body), 400, /./);
  }
  assert.equal((await server.create({ Policies: max })).Policies?.length, 1024);
  const many = JSON.stringify({
    Type: "client",
    Policies: Array.from({ length: 4_900 }, () => "p"),
  });
  const nested = `{"Roles":${"[".repeat(400_000)}`;
  const long = JSON.stringify({ Type: "client", Name: "n".repeat(900_000), Policies: max });
  for (const body of [many, nested, long]) {
    await keepsNobodyWaiting(body.slice(0, 40), () => creating(server, body));
  }
});

test("T-B30: prefixes and cursors that are none are refused", async (t) => {
  const server = await aclServer(t);
  const { AccessorID, CreateIndex } = await server.create();
  for (const prefix of ["abc", "zz", "a-", "aa-bb-cc-dd-ee-ff", "ab".repeat(17), "a%", "ａａ"]) {
    refused(await server.list({ prefix }), 400, /./, "invalid_parameter");
  }
  assert.ok([400, 431].includes((await server.list({ prefix: "ab".repeat(5120) })).status));
  const good = `${CreateIndex}.${AccessorID}`;
  assert.equal((await server.stubs({ next_token: good })).length, 1);
  for (const next_token of [
    "x",
    "1",
    ".",
    AccessorID, // of the other order
    `-${good}`,
    `${good}x`,
    `x${good}`,
    `${good}.1`,
    ` ${good}`,
    `${CreateIndex}.${AccessorID.slice(1)}`,
    `99999999999999999999999.${AccessorID}`,
    "../../core",
  ]) {
    refused(await server.list({ next_token }), 400, "invalid next_token", "invalid_parameter");
  }
  const other = await server.list({ prefix: "ab", next_token: good });
  refused(other, 400, "invalid next_token", "invalid_parameter");
});
