// Cases of docs/cases/token-api.md: one-time tokens, expiry to the nanosecond, collection.

import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../support/http-client.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import {
  aclServer,
  type AclServer,
  denied,
  HeldTimers,
  HOUR,
  indexOf,
  MINUTE,
  nanosOf,
  refused,
  StoppableClock,
  succeeded,
  tokenOf,
  UNKNOWN,
  UUID,
} from "../../support/servers/acl-server.ts";
import { until } from "../../support/until.ts";

interface OneTime {
  readonly OneTimeSecretID: string;
  readonly AccessorID: string;
  readonly ExpiresAt: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

async function oneTime(server: AclServer, token: string): Promise<OneTime> {
  const answer = await server.ask("POST", "/acl/token/onetime", { token });
  succeeded(answer);
  return at(answer, "OneTimeToken") as OneTime;
}

function exchange(server: AclServer, OneTimeSecretID: string): Promise<Answer> {
  return server.ask("POST", "/acl/token/onetime/exchange", { body: { OneTimeSecretID } });
}

test("A-94 any token makes a one-time token for itself, good for ten minutes", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const { AccessorID, SecretID } = await server.create();
  clock.stoppedAt = clock.now();
  const answer = await server.ask("POST", "/acl/token/onetime", { token: SecretID });
  succeeded(answer);
  assert.deepEqual(Object.keys(answer.json as object).toSorted(), ["Index", "OneTimeToken"]);
  const made = at(answer, "OneTimeToken") as OneTime;
  const keys = ["AccessorID", "CreateIndex", "ExpiresAt", "ModifyIndex", "OneTimeSecretID"];
  assert.deepEqual(Object.keys(made).toSorted(), keys);
  assert.match(made.OneTimeSecretID, UUID);
  assert.equal(made.AccessorID, AccessorID);
  assert.equal(nanosOf(made.ExpiresAt), clock.stoppedAt + 10n * MINUTE);
  const index = Number(indexOf(answer));
  assert.deepEqual(
    [made.CreateIndex, made.ModifyIndex, at(answer, "Index")],
    [index, index, index],
  );
  succeeded(await server.ask("POST", "/acl/token/onetime", { token: server.management }));
});

test("A-94 making one does not move the index of the list", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const before = indexOf(await server.list());
  const { OneTimeSecretID } = await oneTime(server, SecretID);
  assert.equal(indexOf(await server.list()), before);
  succeeded(await exchange(server, OneTimeSecretID));
  assert.equal(indexOf(await server.list()), before);
});

test("A-95 without a token that works there is no one-time token", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const { SecretID, ExpirationTime } = await server.create({ ExpirationTTL: "1m" });
  denied(await server.ask("POST", "/acl/token/onetime"));
  denied(await server.ask("POST", "/acl/token/onetime", { token: UNKNOWN }));
  clock.stoppedAt = nanosOf(ExpirationTime) + 1n;
  const answer = await server.ask("POST", "/acl/token/onetime", { token: SecretID });
  refused(answer, 403, "Permission denied", "token_expired");
});

test("A-96 a second one-time token takes the place of the first", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const first = await oneTime(server, SecretID);
  const second = await oneTime(server, SecretID);
  denied(await exchange(server, first.OneTimeSecretID));
  succeeded(await exchange(server, second.OneTimeSecretID));
});

test("A-97 nobody in particular exchanges it for the original token", async (t) => {
  const server = await aclServer(t);
  const token = await server.create({ ExpirationTTL: "1h" });
  const { OneTimeSecretID } = await oneTime(server, token.SecretID);
  const answer = await exchange(server, OneTimeSecretID);
  succeeded(answer);
  assert.deepEqual(Object.keys(answer.json as object).toSorted(), ["Index", "Token"]);
  assert.deepEqual(at(answer, "Token"), token);
  assert.equal(at(answer, "Index"), Number(indexOf(answer)));
});

test("A-98 it is exchanged once", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const { OneTimeSecretID } = await oneTime(server, SecretID);
  succeeded(await exchange(server, OneTimeSecretID));
  denied(await exchange(server, OneTimeSecretID));
  denied(await exchange(server, UNKNOWN));
});

test("A-99 of parallel exchanges exactly one succeeds", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  const { OneTimeSecretID } = await oneTime(server, SecretID);
  const exchanges = Array.from({ length: 20 }, () => exchange(server, OneTimeSecretID));
  const answers = await Promise.all(exchanges);
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200)) denied(answer);
});

test("A-100 it ends with its time, and with its token", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const token = await server.create();
  const late = await oneTime(server, token.SecretID);
  clock.stoppedAt = nanosOf(late.ExpiresAt) + 1n;
  denied(await exchange(server, late.OneTimeSecretID));
  const orphan = await oneTime(server, token.SecretID);
  succeeded(await server.manage("DELETE", `/acl/token/${token.AccessorID}`));
  denied(await exchange(server, orphan.OneTimeSecretID));
  // Nor does it outlive the expiry of its token.
  const brief = await server.create({ ExpirationTTL: "1m" });
  const outlived = await oneTime(server, brief.SecretID);
  clock.stoppedAt = nanosOf(brief.ExpirationTime) + 1n;
  denied(await exchange(server, outlived.OneTimeSecretID));
});

test("A-101 an exchange needs the secret", async (t) => {
  const server = await aclServer(t);
  const path = "/acl/token/onetime/exchange";
  refused(await server.ask("POST", path), 400, "Request body is empty");
  const text = "missing or invalid OneTimeSecretID";
  for (const body of [{}, { OneTimeSecretID: "" }, { OneTimeSecretID: "no-uuid" }]) {
    refused(await server.ask("POST", path, { body }), 400, text);
  }
});

test("A-102 a token works up to the last nanosecond of its time, and not one longer", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const { SecretID, ExpirationTime } = await server.createManagement({ ExpirationTTL: "1m" });
  clock.stoppedAt = nanosOf(ExpirationTime);
  succeeded(await server.list({}, SecretID));
  succeeded(await server.self(SecretID));
  clock.stoppedAt += 1n;
  refused(await server.list({}, SecretID), 403, "Permission denied", "token_expired");
  denied(await server.self(SecretID), "ACL token expired");
});

test("A-103 an expired token is listed and readable until it is collected", async (t) => {
  const clock = new StoppableClock();
  const timers = new HeldTimers();
  const server = await aclServer(t, { world: { clock, timers } });
  const over = await server.create({ Name: "over", ExpirationTTL: "1m" });
  const recent = await server.create({ Name: "recent", ExpirationTTL: "30m" });
  const read = () => server.manage("GET", `/acl/token/${over.AccessorID}`);
  // Past the end of both, and an hour past the end of the first.
  clock.stoppedAt = nanosOf(over.ExpirationTime) + HOUR + 1n;
  assert.deepEqual(tokenOf(await read()), over);
  assert.equal((await server.stubs()).length, 3);
  timers.fire(5n * MINUTE);
  await until(async () => (await read()).status === 404);
  const left = (await server.stubs()).map(({ Name }) => Name);
  assert.equal(left.length, 2);
  assert.ok(left.includes("recent"));
  // Nobody is told any more that it expired.
  denied(await server.self(over.SecretID));
  denied(await server.self(recent.SecretID), "ACL token expired");
});

test("A-104 thousands of expired tokens are collected, in batches, and the list's index moves", async (t) => {
  const clock = new StoppableClock();
  const server = await aclServer(t, { world: { clock } });
  const { tokens } = server.test.server;
  const expires = clock.now() + MINUTE + MINUTE;
  const spec = { type: "client", policies: ["p"], namespaceId: ROOT_NAMESPACE.id, expires };
  const batch = 250;
  for (let made = 0; made < 5000; made += batch) {
    await Promise.all(Array.from({ length: batch }, () => tokens.writes.create(spec)));
  }
  clock.stoppedAt = expires + 1n;
  const before = indexOf(await server.list({ per_page: "1" }));
  const collected = await server.manage("POST", "/acl/gc");
  succeeded(collected);
  assert.equal(at(collected, "Tokens"), 5000);
  const answer = await server.list();
  assert.equal((answer.json as unknown[]).length, 1);
  // One index for each batch: 5000 do not go in one of 4096.
  assert.ok(indexOf(answer) >= before + 2n);
});

test("A-105 an expired one-time token is collected", async (t) => {
  const clock = new StoppableClock();
  const disk = new MemoryDisk();
  const server = await aclServer(t, { world: { clock }, disk });
  const { SecretID } = await server.create();
  const keys = () => new Set(disk.rows.keys({ from: "", to: null, limit: 10_000 }));
  const before = keys();
  const { ExpiresAt } = await oneTime(server, SecretID);
  const added = keys().difference(before);
  assert.ok(added.size > 0);
  clock.stoppedAt = nanosOf(ExpiresAt) + 1n;
  succeeded(await server.manage("POST", "/acl/gc"));
  await until(() => keys().isDisjointFrom(added));
});

test("a forced collection is for management alone", async (t) => {
  const server = await aclServer(t);
  const { SecretID } = await server.create();
  for (const token of [undefined, UNKNOWN, SecretID]) {
    denied(await server.ask("POST", "/acl/gc", { token }));
  }
});
