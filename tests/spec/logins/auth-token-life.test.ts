// The life of tokens in the view that existing clients know, through
// HTTP: lifetimes, renewals, revocation, uses.

import assert from "node:assert/strict";
import test from "node:test";
import {
  aclServer,
  HOUR,
  MINUTE,
  nanosOf,
  SECOND,
  StoppableClock,
  tokenOf,
  type WireToken,
} from "../../support/servers/acl-server.ts";
import { until } from "../../support/until.ts";
import { at } from "../../support/http-client.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import { startServer } from "../../support/servers/test-server.ts";
import {
  type Auth,
  ask,
  authOf,
  create,
  facts,
  isGood,
  refused,
  unknownToken,
  stopped,
} from "../../support/auth-token.ts";

const EVERYTHING_HERE = 'path "auth/token/*" { capabilities = ["update", "read"] }';

// --- time ---

test("a lifetime is cut to the longest, and that is told, also of the default one", async (t) => {
  const { server, clock } = await stopped(t);
  for (const ttl of [undefined, 0, "0s", "25h"]) {
    const answer = await ask(server, "create", { policies: ["readonly"], ttl });
    const auth = authOf(answer);
    assert.equal(auth.lease_duration, 86_400);
    const what = ttl === "25h" ? "lifetime of 25h0m0s" : "default lifetime of 768h0m0s";
    assert.deepEqual(at(answer, "warnings"), [
      `the ${what} was cut to 24h0m0s, the longest lifetime of tokens here`,
    ]);
    const until_ = (await facts(server, auth.client_token))["expire_time"];
    assert.equal(nanosOf(String(until_)), clock.now() + 24n * HOUR);
  }
  const bounded = await ask(server, "create", { ttl: "2h", explicit_max_ttl: "1h" });
  assert.equal(authOf(bounded).lease_duration, 3600);
  assert.match(String(at(bounded, "warnings", 0)), /2h0m0s was cut to 1h0m0s, explicit_max_ttl/);
});

test("without a ttl it is default_lease_ttl", async (t) => {
  const server = await aclServer(t, { settings: { default_lease_ttl: "2h" } });
  const answer = await ask(server, "create", { policies: ["readonly"] });
  assert.equal(authOf(answer).lease_duration, 7200);
  assert.equal(at(answer, "warnings"), null);
});

test("T-B14: no lifetime is for ever, and none that makes no sense is taken", async (t) => {
  const { server, pass } = await stopped(t);
  for (const ttl of [
    -1,
    "-1s",
    "1ns",
    "999ms",
    "NaN",
    "∞",
    "1e400",
    0.4,
    "275761-09-13T00:00:00Z",
    {},
    [1],
  ]) {
    for (const field of ["ttl", "explicit_max_ttl", "period"]) {
      const answer = await ask(server, "create", { [field]: ttl });
      assert.equal(answer.status, 400, `${field} ${JSON.stringify(ttl)} ${answer.text}`);
    }
  }
  const raw = await ask(server, "create", '{"ttl":1e400}' as unknown as object);
  assert.equal(raw.status, 400);
  const short = await create(server, { ttl: "1s" });
  assert.equal(short.lease_duration, 1);
  pass(SECOND + 1n);
  assert.equal(await isGood(server, short.client_token), false);

  // In the last moment before the longest lifetime ends, a renewal gives what is left of it.
  const { client_token: token } = await create(server, { ttl: "23h59m59s" });
  pass(24n * HOUR - SECOND - 1_000_000n);
  const renewed = await ask(server, "renew-self", { increment: 0 }, { token });
  assert.equal(authOf(renewed).lease_duration, 2);
  pass(SECOND);
  const again = await ask(server, "renew-self", { increment: "1h" }, { token });
  assert.equal(authOf(again).lease_duration, 1);
  assert.match(String(at(again, "warnings", 0)), /cannot live longer/);
  pass(SECOND);
  unknownToken(await ask(server, "renew-self", {}, { token }));
});

test("a renewal moves ExpirationTime and ModifyIndex, never past the maximum", async (t) => {
  const { server, clock, pass } = await stopped(t);
  const made = await create(server, { policies: ["readonly"], ttl: "1h" });
  const issued = clock.now();
  const { client_token: token, accessor } = made;
  const record = async (): Promise<WireToken> =>
    tokenOf(await server.manage("GET", `/acl/token/${accessor}`));
  const first = await record();
  pass(30n * MINUTE);
  const self = authOf(await ask(server, "renew-self", undefined, { token }));
  assert.equal(self.client_token, token);
  assert.equal(self.lease_duration, 3600, "as long as it was made for");
  const second = await record();
  assert.equal(nanosOf(second.ExpirationTime), issued + 90n * MINUTE);
  assert.ok(second.ModifyIndex > first.ModifyIndex);
  assert.equal(second.CreateIndex, first.CreateIndex);

  const bySecret = authOf(await ask(server, "renew", { token, increment: "2h" }));
  assert.equal(bySecret.lease_duration, 7200);
  const shorter = authOf(await ask(server, "renew", { token, increment: 60 }));
  assert.equal(shorter.lease_duration, 7200, "a renewal takes nothing away");
  const renewed = await ask(server, "renew-accessor", { accessor, increment: "100h" });
  assert.equal(authOf(renewed).client_token, "", "the accessor does not buy the secret");
  assert.equal(nanosOf((await record()).ExpirationTime), issued + 24n * HOUR);
  assert.deepEqual(at(renewed, "warnings"), [
    "the renewal of 100h0m0s was cut to 23h30m0s: the token cannot live longer",
  ]);
  pass(SECOND / 100n);
  const fraction = await ask(server, "renew", { token, increment: "24h" });
  assert.match(String(at(fraction, "warnings", 0)), /24h0m0s was cut to 23h30m0s: /);
  const rest = await ask(server, "renew", { token, increment: "23h30m" });
  assert.equal(at(rest, "warnings"), null, "a part of a second is no cut");
  pass(20n * HOUR);
  assert.equal(await isGood(server, token), true);
  pass(3n * HOUR);
  for (const body of [{}, { increment: 0 }]) {
    const nothing = await ask(server, "renew-self", body, { token });
    assert.equal(authOf(nothing).lease_duration, 1800);
    assert.equal(at(nothing, "warnings"), null, "nobody asked for more");
  }
  pass(HOUR);
  assert.equal(await isGood(server, token), false);
});

test("only what was made here as renewable can be renewed", async (t) => {
  const server = await aclServer(t);
  const fixed = await create(server, { policies: ["readonly"], ttl: 60, renewable: false });
  const { SecretID } = await server.create({ ExpirationTTL: "1h" });
  for (const token of [fixed.client_token, SecretID, server.management]) {
    const answer = await ask(server, "renew-self", {}, { token });
    assert.equal(answer.status, 400);
    assert.match(String(at(answer, "errors", 0)), /^lease is not renewable/);
  }
});

test("explicit_max_ttl bounds renewals, and a period is what each of them gives", async (t) => {
  const { server, clock, pass } = await stopped(t);
  const issued = clock.now();
  const bounded = await create(server, { ttl: "1h", explicit_max_ttl: "90m" });
  const periodic = await create(server, { ttl: "5h", period: "1h" });
  assert.equal(periodic.lease_duration, 3600);
  pass(50n * MINUTE);
  await ask(server, "renew", { token: bounded.client_token, increment: "1h" });
  const { expire_time: end } = await facts(server, bounded.client_token);
  assert.equal(nanosOf(String(end)), issued + 90n * MINUTE);
  const renewed = await ask(server, "renew", { token: periodic.client_token, increment: "9h" });
  assert.equal(authOf(renewed).lease_duration, 3600);
  assert.equal((await facts(server, periodic.client_token))["period"], 3600);
});

test("a ttl that a period leaves without effect is told", async (t) => {
  const { server } = await stopped(t);
  const warningsOf = async (body: object) => at(await ask(server, "create", body), "warnings");
  assert.deepEqual(await warningsOf({ policies: ["default"], ttl: "5h", period: "1h" }), [
    "the ttl of 5h0m0s does not count: with a period of 1h0m0s the token lives that long from each renewal on",
  ]);
  assert.equal(await warningsOf({ policies: ["default"], ttl: "1h", period: "1h" }), null);
  assert.equal(await warningsOf({ policies: ["default"], ttl: 0, period: "1h" }), null);
});

test("policies that fall beside root are told", async (t) => {
  const { server } = await stopped(t);
  const warningsOf = async (...policies: string[]) =>
    at(await ask(server, "create", { policies, ttl: "1h" }), "warnings");
  assert.deepEqual(await warningsOf("root", "wide"), [
    "beside root other policies add nothing and were left out: wide",
  ]);
  assert.equal(await warningsOf("root"), null);
});

test("a periodic token lives for as long as it is renewed in time; an explicit maximum ends it", async (t) => {
  const { server, pass } = await stopped(t);
  const policies = ["readonly"];
  const made = await ask(server, "create", { policies, period: "30h" });
  assert.equal(at(made, "warnings"), null);
  const { client_token: token, lease_duration } = authOf(made);
  assert.equal(lease_duration, 30 * 3600, "the longest lifetime of others does not cut it");
  const bounded = await create(server, { policies, period: "30h", explicit_max_ttl: "50h" });
  for (let day = 0; day < 40; day++) {
    pass(29n * HOUR);
    const renewed = await ask(server, "renew-self", { increment: "1h" }, { token });
    assert.equal(authOf(renewed).lease_duration, 30 * 3600);
    assert.equal(at(renewed, "warnings"), null);
    if (day > 0) continue;
    const last = await ask(server, "renew-self", {}, { token: bounded.client_token });
    assert.equal(authOf(last).lease_duration, 21 * 3600);
  }
  assert.equal(await isGood(server, bounded.client_token), false);
  pass(31n * HOUR);
  assert.equal(await isGood(server, token), false, "not renewed in time");
});

// --- the end ---

test("a token that is revoked takes along what it made, by whichever door", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  const family = async () => {
    const parent = await create(server, { policies: ["makes"], ttl: "1h" });
    const by = { token: parent.client_token };
    const child = await create(server, {}, by);
    const grandchild = await create(server, {}, { token: child.client_token });
    const { client_token: orphan } = authOf(await ask(server, "create-orphan", {}, by));
    return { parent, child, grandchild, orphan };
  };
  const ends = {
    "revoke-self": (_: string, token: string) => ask(server, "revoke-self", {}, { token }),
    revoke: (_: string, token: string) => ask(server, "revoke", { token }),
    accessor: (accessor: string) => ask(server, "revoke-accessor", { accessor }),
  };
  for (const [name, end] of Object.entries(ends)) {
    const { orphan, ...tree } = await family();
    const { accessor, client_token: secret } = tree.parent;
    assert.equal((await end(accessor, secret)).status, 204, name);
    for (const { client_token: token } of Object.values(tree)) {
      unknownToken(await ask(server, "lookup-self", undefined, { token }));
    }
    assert.equal(await isGood(server, orphan), true, name);
  }
  // A deletion on /acl/ does the same; its answer does not wait for it.
  const { parent, grandchild, orphan } = await family();
  const gone = await server.manage("DELETE", `/acl/token/${parent.accessor}`);
  assert.equal(gone.status, 200);
  await until(async () => !(await isGood(server, grandchild.client_token)));
  assert.equal(await isGood(server, orphan), true);
});

test("more children than one transaction takes go with their parent, or stay without it", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  for (const [path, stay] of [
    ["revoke", false],
    ["revoke-orphan", true],
  ] as const) {
    const { client_token: token } = await create(server, { policies: ["makes"], ttl: "1h" });
    const children: Auth[] = [];
    for (let i = 0; i < 40; i++) children.push(await create(server, {}, { token }));
    assert.equal((await ask(server, path, { token })).status, 204);
    assert.equal(await isGood(server, token), false);
    for (const child of children) assert.equal(await isGood(server, child.client_token), stay);
    if (!stay) continue;
    const [first] = children;
    assert.equal((await facts(server, first?.client_token ?? ""))["orphan"], true);
  }
});

test("children of a token that has expired go within a minute, also after a crash", async (t) => {
  const disk = new MemoryDisk();
  const clock = new StoppableClock();
  clock.stoppedAt = clock.now();
  const first = await startServer({ disk, world: { clock } });
  const { token: management, shares } = await first.open();
  const make = async (token: string, body: object) =>
    authOf(await first.call("POST", "/v1/auth/token/create", { token, body }));
  await first.server.policies.write("root", { name: "makes", text: EVERYTHING_HERE });
  const parent = await make(management, { policies: ["makes"], ttl: "1m" });
  const child = await make(parent.client_token, { ttl: "10h" });
  await first.crash();
  clock.stoppedAt += 2n * MINUTE;

  const second = await startServer({ disk, world: { clock } });
  t.after(() => second.stop());
  await second.unseal(shares);
  await until(async () => {
    const token = child.client_token;
    return (await second.call("GET", "/v1/auth/token/lookup-self", { token })).status === 403;
  });
});

test("a token may be used as often as its number says, also by many at once", async (t) => {
  const server = await aclServer(t);
  await server.writePolicy("makes", EVERYTHING_HERE);
  const made = await create(server, { policies: ["makes"], ttl: "1h", num_uses: 3 });
  const { client_token: token, accessor } = made;
  assert.equal((await facts(server, token))["num_uses"], 2);
  refused(
    await ask(server, "create", {}, { token }),
    400,
    "a token with a number of uses cannot make others",
  );
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => ask(server, "lookup-self", undefined, { token })),
  );
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array(7).fill(403)],
  );
  unknownToken(await ask(server, "lookup-self", undefined, { token }));
  const found = await server.manage("GET", `/acl/token/${accessor}`);
  assert.equal(found.status, 404, "after its last use it is gone");
});

test("a use counts whether or not the request succeeds", async (t) => {
  const server = await aclServer(t);
  const { client_token: token } = await create(server, {
    policies: ["default"],
    num_uses: 1,
  });
  refused(await server.ask("GET", "/v1/sys/namespaces/x", { token }), 403, "permission denied");
  assert.equal(await isGood(server, token), false);
});
