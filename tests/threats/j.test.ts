// Threats J: leases. Through HTTP, against a whole server, with an engine that counts what is outside.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Failure } from "@holdfast/shared/failure";
import {
  dataOf,
  DAY,
  done,
  engineServer,
  grants,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../support/servers/engine-server.ts";
import { until } from "../support/until.ts";
import { at } from "../support/http-client.ts";

test("T-J01: no renewal makes a lease that does not end, whatever it asks for", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60, max_ttl: 3600 });
  const { id, object } = await server.issue();
  for (const increment of [
    -1,
    "-1h",
    "9223372036854775807",
    "1e309",
    Number.MAX_SAFE_INTEGER,
    "106751d",
    "292y",
    null,
    0,
    "0s",
    "",
    {},
    [],
    true,
  ]) {
    const answer = await server.renew(id, { increment });
    assert.ok([200, 400].includes(answer.status), `${JSON.stringify(increment)}: ${answer.text}`);
    if (answer.status === 200) {
      const seconds = Number(at(answer, "lease_duration"));
      assert.ok(seconds >= 1 && seconds <= 3600, `${JSON.stringify(increment)}: ${seconds}`);
    }
    const ttl = Number(dataOf(await server.lookup(id))["ttl"]);
    assert.ok(ttl >= 1 && ttl <= 3600, `${ttl}`);
  }
  for (let minute = 0; minute < 60; minute++) {
    if (minute > 0) await server.time.pass(MINUTE);
    const renewed = await server.renew(id, { increment: "1h" });
    assert.equal(renewed.status, 200, `after ${minute} minutes: ${renewed.text}`);
    assert.ok(Number(at(renewed, "lease_duration")) <= 3600 - 60 * minute, renewed.text);
  }
  assert.equal(server.outside.has(object), true);
  await server.time.passSlowly(MINUTE + SECOND, 10n * SECOND);
  await until(() => !server.outside.has(object)); // an hour after its issue, without another second
});

test("T-J02: leases of odd paths are made, listed, renewed and revoked like any other", async (t) => {
  const server = await engineServer(t);
  await server.enable("count", "counting");
  const long = Array.from({ length: 4 }, () => "x".repeat(125)).join("/");
  for (const role of ["a.b", "v1.2.3/x.y", "é-ü", "blank space", "a~b'c", "(1)", long]) {
    const path = role.split("/").map(encodeURIComponent).join("/");
    const written = await server.ask("POST", `count/roles/${path}`, { ttl: 600 });
    assert.equal(written.status, 204, `${role}: ${written.text}`);
    const { id, object } = await server.issue(`count/creds/${path}`);
    assert.equal(id.startsWith(`count/creds/${role}/`), true, id);
    assert.equal(await server.isThere(id), true);
    const listed = await server.ask("LIST", `sys/leases/lookup/count/creds/${path}`);
    assert.deepEqual(dataOf(listed)["keys"], [id.split("/").at(-1)]);
    assert.equal((await server.renew(id)).status, 200);
    done(await server.revoke(id, { sync: true }));
    assert.equal(server.outside.has(object), false, role);
    const second = await server.issue(`count/creds/${path}`);
    done(await server.ask("POST", `sys/leases/revoke-prefix/count/creds/${path}`, { sync: true }));
    assert.equal(server.outside.has(second.object), false, role);
  }
});

test("T-J03: a prefix of secrets ends no token, one of a login no secret but its own, nor a token's end other people's", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  done(await server.ask("POST", "sys/auth/people", { type: "userpass" }));
  await server.must("POST", "auth/people/users/ann", { password: "correct horse battery" });
  const login = await server.test.call("POST", "/v1/auth/people/login/ann", {
    body: { password: "correct horse battery" },
  });
  const token = String(at(login, "auth", "client_token"));
  const isGood = async (secret: string) => {
    const options = { token: secret };
    return (await server.ask("GET", "auth/token/lookup-self", undefined, options)).status === 200;
  };
  assert.equal(await isGood(token), true, login.text);
  const other = await server.client(grants("count/creds/r", "read"));
  const revoke = async (prefix: string) => {
    await server.ask("POST", `sys/leases/revoke-prefix/${prefix}`, { sync: true });
    await server.ask("POST", `sys/leases/revoke-force/${prefix}`, {});
  };
  await server.issue();
  for (const prefix of ["count", "sys", "people", "tokens", "auth/token", "auth/peop"]) {
    await revoke(prefix);
    assert.equal(await isGood(token), true, prefix);
  }
  assert.deepEqual(server.outside.objects, []);
  const kept = [await server.issue(), await server.issue("count/creds/r", { token: other })];
  for (const prefix of ["auth/people/login/ann", "auth/people", "auth"]) {
    await revoke(prefix);
    assert.deepEqual([await isGood(token), await isGood(other)], [false, true], prefix);
  }
  await server.must("POST", "auth/token/revoke", { token });
  for (let i = 0; i < 10; i++) await server.ask("GET", "sys/health");
  for (const { object } of kept) assert.equal(server.outside.has(object), true);
});

test("T-J04: the last use of a token ends it and its leases", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  const token = await server.client(grants("count/creds/r", "read"), { num_uses: 3 });
  const leases = [];
  for (let i = 0; i < 2; i++) leases.push(await server.issue("count/creds/r", { token }));
  for (let i = 0; i < 10; i++) await server.ask("GET", "sys/health");
  assert.equal(server.outside.objects.length, 2, "it has one use left");
  const last = await server.ask("GET", "count/creds/r", undefined, { token });
  refused(last, 400, /last use of the token/); // nothing is made that would end with it
  await until(() => server.outside.objects.length === 0);
  for (const { id } of leases) await until(async () => !(await server.isThere(id)));
  const spent = await server.ask("GET", "count/creds/r", undefined, { token });
  refused(spent, 403, "permission denied", "invalid token");
});

test("T-J07: what cannot be revoked is listed, counted and tried again, and only force forgets it, on record", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 60 });
  const { id, object } = await server.issue();
  server.outside.fail("revoke", () => new Failure("upstream", "down", "the provider is down"));
  const stuck = async () => dataOf(await server.ask("GET", "sys/leases?type=irrevocable"));
  await server.passUntil(async () => (await stuck())["lease_count"] === 1);
  const metrics = await server.ask("GET", "sys/metrics?format=prometheus");
  assert.match(metrics.text, /irrevocable[^\n]* 1\n/);
  const tries = server.outside.reached("revoke");
  for (let day = 1; day <= 3; day++) {
    await server.time.passSlowly(DAY, HOUR);
    await server.passUntil(() => server.outside.reached("revoke") >= tries + day, MINUTE);
  }
  assert.ok(server.outside.reached("revoke") <= tries + 4, "slowly");
  assert.equal((await stuck())["lease_count"], 1, "never dropped");
  await server.ask("POST", "sys/leases/tidy");
  await server.crash();
  assert.equal((await stuck())["lease_count"], 1, "also after a crash");
  server.outside.fail("revoke", () => new Failure("upstream", "down", "the provider is down"));
  const file_path = join(server.test.auditDirectory, "file.log");
  await server.must("POST", "sys/audit/file", { type: "file", options: { file_path } });
  const forced = await server.ask("POST", "sys/leases/revoke-force/count");
  assert.equal(forced.status, 200, forced.text);
  assert.match(readFileSync(file_path, "utf8"), /"path":"sys\/leases\/revoke-force\/count"/);
  assert.ok(String(at(forced, "warnings", 0)).includes(id));
  assert.equal((await stuck())["lease_count"], 0);
  assert.equal(server.outside.has(object), true);
});

test("T-J08: a clock that is set back lengthens no lease", async (t) => {
  const server = await engineServer(t);
  await server.counting("count", { ttl: 600 });
  const { object } = await server.issue();
  const { clock } = server.time;
  clock.jump(clock.now() - HOUR);
  await server.time.passSlowly(601n * SECOND, 10n * SECOND);
  await until(() => !server.outside.has(object)); // without another second
});

test("T-J08: a clock that jumps far ahead does not revoke everything at once without a word", async (t) => {
  const server = await engineServer(t);
  await server.counting("count");
  for (let i = 0; i < 20; i++) await server.issue();
  const { clock } = server.time;
  const before = clock.now();
  clock.jump(before + 3650n * DAY);
  await server.time.passSlowly(2n * MINUTE, 30n * SECOND);
  clock.jump(before + 2n * MINUTE);
  await server.time.passSlowly(MINUTE, 10n * SECOND);
  assert.equal(server.outside.objects.length, 20);
});

test("T-J: what audit writes of a lease names it and never its secret", async (t) => {
  const server = await engineServer(t);
  const file_path = join(server.test.auditDirectory, "file.log");
  await server.must("POST", "sys/audit/file", { type: "file", options: { file_path } });
  await server.counting("count");
  const made = await server.must("GET", "count/creds/r");
  const text = readFileSync(file_path, "utf8");
  assert.ok(!text.includes(String(at(made, "data", "password"))));
  assert.match(text, /"path":"count\/creds\/r"/);
});
