// Static roles of clouda: cases S1 to S16 of docs/cases/cloud-engines.md, through HTTP and before the fake provider.
// S10 waits for standbys.

import assert from "node:assert/strict";
import test from "node:test";
import { showTime } from "@holdfast/shared/text/time";
import { type CloudAServer, cloudaServer } from "../../support/servers/cloud-server.ts";
import {
  absent,
  DAY,
  dataOf,
  done,
  HOUR,
  keysOf,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

const PLACE = "clouda/static-roles/app";

async function adopted(server: CloudAServer, more: object = {}): Promise<Answer> {
  const body = { username: "app", rotation_period: "24h", ...more };
  const answer = await server.timed(server.ask("POST", PLACE, body));
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

function keys(server: CloudAServer, user = "app"): string[] {
  return server.user(user).keys.map(({ id }) => id);
}

interface StaticKey {
  readonly id: string;
  readonly secret: string;
}

async function current(server: CloudAServer, name = "app"): Promise<StaticKey> {
  const data = dataOf(await server.ask("GET", `clouda/static-creds/${name}`));
  return { id: String(data["access_key"]), secret: String(data["secret_key"]) };
}

/** Whom the provider takes the holder of a key for. */
function identity(server: CloudAServer, { id, secret }: StaticKey): Promise<string> {
  const none = { lease: "", seconds: 0, renewable: false, username: "", warnings: [] };
  return server.identity({ ...none, accessKey: id, secretKey: secret, sessionToken: null });
}

/** Time passes until the stored key is another. */
async function untilRotated(server: CloudAServer, before: string): Promise<string> {
  let id = before;
  await server.passUntil(async () => {
    ({ id } = await current(server));
    return id !== before;
  }, SECOND);
  return id;
}

test("S1: a user without keys is adopted, and its key is given without a lease", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  const written = dataOf(await adopted(server));
  const [key] = keys(server);
  const now = server.time.clock.now();
  assert.deepEqual(written, {
    name: "app",
    id: server.user("app").id,
    username: "app",
    rotation_period: 86_400,
    rotation_schedule: "",
    rotation_window: 0,
    overlap: 86_400,
    last_rotation: showTime(now),
    next_rotation: showTime(now + DAY),
    last_error: "",
  });
  const read = await server.ask("GET", "clouda/static-creds/app");
  const { secret_key: secret, ...visible } = dataOf(read);
  assert.deepEqual(visible, {
    access_key: key,
    expiration: showTime(now + DAY),
    ttl: 86_400,
    rotation_period: 86_400,
    rotation_schedule: "",
    rotation_window: 0,
    last_rotation: showTime(now),
  });
  assert.deepEqual(
    [at(read, "lease_id"), at(read, "lease_duration"), at(read, "renewable")],
    ["", 0, false],
  );
  assert.match(await identity(server, { id: String(key), secret: String(secret) }), /:user\/app$/);
  assert.deepEqual(dataOf(await server.ask("GET", PLACE)), written);
  assert.equal(JSON.stringify(written).includes(String(secret)), false);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("S2: a user with two keys loses the older one", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app", { keys: 1 });
  await server.time.pass(MINUTE);
  const [older = ""] = keys(server);
  const user = control.account.users.get("app");
  const newer = control.account.newKey("AKIA");
  user?.keys.unshift(newer); // the provider's order is no order of time
  await adopted(server);
  const left = keys(server);
  assert.equal(left.length, 2);
  assert.ok(left.includes(newer.id) && !left.includes(older));
  assert.deepEqual(
    control.calls("DeleteAccessKey").map(({ params }) => params["AccessKeyId"]),
    [older],
  );
});

test("S2: of two keys of the same second the first in the provider's list goes", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app", { keys: 2 });
  const [first = "", second = ""] = keys(server);
  await adopted(server);
  assert.deepEqual([keys(server).includes(first), keys(server).includes(second)], [false, true]);
});

test("S3: a period has at least a minute, in every form of a duration", async (t) => {
  const server = await cloudaServer(t);
  for (const odd of [59, "59s", "0", "-1h"]) {
    const body = { username: "app", rotation_period: odd };
    const answer = await server.ask("POST", PLACE, body);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /rotation_period must be/);
  }
  refused(await server.ask("POST", PLACE, { username: "app" }), 400, "rotation_period is required");
  refused(await server.ask("POST", PLACE, { rotation_period: 60 }), 400, "username is required");
  const forms: readonly (readonly [string | number, number])[] = [
    [60, 60],
    ["1m", 60],
    ["24h", 86_400],
    ["86400", 86_400],
  ];
  for (const [i, [period, seconds]] of forms.entries()) {
    server.fake.control.makeUser(`app${i}`);
    const body = { username: `app${i}`, rotation_period: period };
    const made = await server.timed(server.ask("POST", `clouda/static-roles/r${i}`, body));
    assert.equal(dataOf(made)["rotation_period"], seconds);
  }
});

test("S4: a user that cannot be read is not adopted, and nothing is stored", async (t) => {
  const server = await cloudaServer(t);
  const body = { username: "nobody", rotation_period: 60 };
  const answer = await server.timed(server.ask("POST", PLACE, body));
  refused(answer, 400, /^user nobody cannot be read: iam:GetUser: NoSuchEntity: /);
  absent(await server.ask("GET", PLACE));
  absent(await server.ask("GET", "clouda/static-creds/app"));
  assert.deepEqual(server.storedKeys("/static-"), []);
  const odd = { username: "a b&UserName=c", rotation_period: 60 };
  refused(await server.ask("POST", PLACE, odd), 400, /^username must have 1 to 64 characters/);
});

test("what remains of a key's life is rounded: a moment after its making a fresh hour says 3600", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  for (const [passes, ttl] of [
    [SECOND / 100n, 3600],
    [SECOND, 3599],
  ] as const) {
    await server.time.pass(passes);
    const read = await server.ask("GET", "clouda/static-creds/app");
    assert.equal(dataOf(read)["ttl"], ttl);
  }
});

test("S5: after a rotation the last two keys work, after the next one the oldest is gone", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  const first = await current(server);
  await server.time.passSlowly(HOUR - 2n * SECOND, MINUTE);
  assert.equal((await current(server)).id, first.id);
  const second = await untilRotated(server, first.id);
  assert.deepEqual(keys(server).toSorted(), [first.id, second].toSorted());
  assert.match(await identity(server, first), /:user\/app$/);
  await server.time.passSlowly(HOUR - MINUTE, MINUTE);
  const third = await untilRotated(server, second);
  assert.deepEqual(keys(server).toSorted(), [second, third].toSorted());
  assert.equal(await identity(server, first), "InvalidClientTokenId");
});

test("S6: another period holds from its writing on, across a restart", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server);
  const { id } = await current(server);
  await server.time.passSlowly(10n * HOUR, 5n * MINUTE);
  const changed = dataOf(await server.must("POST", PLACE, { rotation_period: "1h" }));
  const next = showTime(server.time.clock.now() + HOUR);
  assert.equal(changed["next_rotation"], next);
  assert.deepEqual(keys(server), [id]);
  await server.crash();
  assert.equal(dataOf(await server.ask("GET", PLACE))["next_rotation"], next);
  await server.time.passSlowly(HOUR - MINUTE, MINUTE);
  assert.equal((await current(server)).id, id);
  await untilRotated(server, id);
});

test("S6: writing the same period again puts nothing off", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  const made = dataOf(await adopted(server));
  await server.time.passSlowly(HOUR, MINUTE);
  const again = dataOf(await adopted(server));
  assert.equal(again["next_rotation"], made["next_rotation"]);
});

test("S7: the user of a static role cannot be another one", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  server.fake.control.makeUser("other");
  await adopted(server);
  const answer = await server.ask("POST", PLACE, { username: "other" });
  refused(answer, 400, /^static role "app" manages user app, which cannot be changed/);
  assert.deepEqual(keys(server, "other"), []);
});

test("S8: a user that was made again under the same name is not touched, and reads say why", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  control.removeUser("app");
  control.makeUser("app", { keys: 2 });
  const foreign = keys(server);
  await server.passUntil(async () => {
    const role = dataOf(await server.ask("GET", PLACE));
    return role["last_error"] !== "";
  }, MINUTE);
  const read = await server.ask("GET", PLACE);
  const error = String(dataOf(read)["last_error"]);
  assert.match(error, /^user app is not the one that was adopted/);
  assert.deepEqual(at(read, "warnings"), [`the last rotation failed: ${error}`]);
  assert.deepEqual(keys(server), foreign);
  const wait =
    Date.parse(String(dataOf(read)["next_rotation"])) -
    Number(server.time.clock.now() / 1_000_000n);
  assert.ok(wait > 10 * 60_000 && wait <= 15 * 60_000, String(wait));
  refused(
    await server.timed(server.ask("POST", PLACE, { username: "app" })),
    400,
    /^user app is not the one/,
  );
  refused(
    await server.timed(server.ask("POST", `${PLACE}/rotate`)),
    400,
    /^user app is not the one/,
  );
});

test("S9: after ten periods of downtime a role is rotated once", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  const { id } = await current(server);
  await server.die();
  server.time.clock.pass(10n * HOUR);
  control.forgetCalls();
  await server.restart();
  await untilRotated(server, id);
  await server.time.passSlowly(10n * MINUTE, 10n * SECOND);
  assert.equal(control.calls("CreateAccessKey").length, 1);
});

test("S11: while rotation fails the key stays as it is, and then it is rotated", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  const first = await current(server);
  const refusal = { status: 400, code: "LimitExceeded", message: "not now" };
  control.fault({ kind: "error", action: "CreateAccessKey", times: 3, ...refusal });
  const tries = () => control.calls("CreateAccessKey").length - 1;
  await server.time.passSlowly(HOUR - MINUTE, MINUTE);
  await server.passUntil(() => tries() === 3, SECOND);
  await server.passUntil(async () => {
    const role = dataOf(await server.ask("GET", PLACE));
    return String(role["last_error"]).startsWith("iam:CreateAccessKey: LimitExceeded");
  }, SECOND);
  assert.deepEqual(await current(server), first);
  assert.match(await identity(server, first), /:user\/app$/);
  await untilRotated(server, first.id);
  assert.equal(dataOf(await server.ask("GET", PLACE))["last_error"], "");
  const [, one = 0, two = 0, three = 0, four = 0] = control
    .calls("CreateAccessKey")
    .map((call) => call.at / 1000);
  const waits = [two - one, three - two, four - three];
  for (const [i, min] of [20, 40, 80].entries()) {
    const wait = waits[i] ?? 0;
    assert.ok(wait >= min && wait < min + 15, `${waits.join(", ")}`);
  }
});

test("S12: a crash after the key of a new static role was made leaves neither key nor role", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app", { keys: 1 });
  const before = keys(server);
  const body = { username: "app", rotation_period: "24h" };
  await server.dieAt("CreateAccessKey", "after", () => server.ask("POST", PLACE, body));
  assert.equal(keys(server).length, 2);
  await server.untilRolledBack(() => keys(server).length === 1);
  assert.deepEqual(keys(server), before);
  absent(await server.ask("GET", PLACE));
});

test("S12: a crash after a rotation has made a key leaves the stored one good", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server);
  const stored = await current(server);
  await server.dieAt("CreateAccessKey", "after", () => server.ask("POST", `${PLACE}/rotate`));
  assert.equal(keys(server).length, 2);
  assert.deepEqual(await current(server), stored);
  assert.match(await identity(server, stored), /:user\/app$/);
  await server.untilRolledBack(() => keys(server).length === 1);
  assert.deepEqual(keys(server), [stored.id]);
  const rotated = await server.timed(server.ask("POST", `${PLACE}/rotate`));
  assert.equal(rotated.status, 200, rotated.text);
});

test("S12: a key whose answer was lost is undone, an operator's own of later is not", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  control.fault({ kind: "lost", action: "CreateAccessKey" });
  const body = { username: "app", rotation_period: "24h" };
  const answer = await server.timed(server.ask("POST", PLACE, body));
  assert.equal(answer.status, 502, answer.text);
  const [lost = ""] = keys(server);
  await server.time.passSlowly(3n * MINUTE, 15n * SECOND);
  const own = control.account.newKey("AKIA");
  control.account.users.get("app")?.keys.push(own);
  await server.untilRolledBack(() => !keys(server).includes(lost));
  assert.deepEqual(keys(server), [own.id]);
});

/** Adopted, and an operator has made a second key since. */
async function withNewerKey(server: CloudAServer): Promise<{ first: StaticKey; own: string }> {
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server);
  await server.time.pass(MINUTE);
  const own = control.account.newKey("AKIA");
  control.account.users.get("app")?.keys.push(own);
  return { first: await current(server), own: own.id };
}

test("S5: the oldest key goes, be it the stored one; a newer one of somebody else stays", async (t) => {
  const server = await cloudaServer(t);
  const { first, own } = await withNewerKey(server);
  server.fake.control.forgetCalls();
  await server.must("POST", `${PLACE}/rotate`);
  const second = await current(server);
  assert.notEqual(second.id, first.id);
  assert.deepEqual(keys(server).toSorted(), [own, second.id].toSorted());
  assert.match(await identity(server, second), /:user\/app$/);
  assert.deepEqual(server.storedKeys("/wal/"), []);
  // The next one takes the operator's, which is the oldest by then.
  await server.time.pass(MINUTE);
  await server.must("POST", `${PLACE}/rotate`);
  assert.deepEqual(keys(server).toSorted(), [second.id, (await current(server)).id].toSorted());
});

test("S5: where no key may be made none is deleted", async (t) => {
  const server = await cloudaServer(t);
  const { first, own } = await withNewerKey(server);
  server.fake.control.permissions("holdfast", { deny: ["iam:CreateAccessKey"] });
  const refusal = await server.timed(server.ask("POST", `${PLACE}/rotate`));
  refused(refusal, 400, /^iam:CreateAccessKey: AccessDenied/);
  assert.deepEqual(keys(server).toSorted(), [first.id, own].toSorted());
  assert.match(await identity(server, await current(server)), /:user\/app$/);
  const read = await server.ask("GET", "clouda/static-creds/app");
  assert.equal(at(read, "warnings"), null);
});

test("S5: where the oldest may not be deleted, nothing has changed", async (t) => {
  const server = await cloudaServer(t);
  const { first, own } = await withNewerKey(server);
  server.fake.control.permissions("holdfast", { deny: ["iam:DeleteAccessKey"] });
  const refusal = await server.timed(server.ask("POST", `${PLACE}/rotate`));
  refused(refusal, 400, /^iam:DeleteAccessKey: AccessDenied/);
  assert.deepEqual(keys(server).toSorted(), [first.id, own].toSorted());
  const read = await server.ask("GET", PLACE);
  assert.equal(at(read, "warnings"), null);
  assert.equal(dataOf(read)["next_rotation"], showTime(server.time.clock.now() + DAY - MINUTE));
});

test("S5: a stored key that made room and has no successor yet is told of, and has one soon", async (t) => {
  const server = await cloudaServer(t);
  const { first } = await withNewerKey(server);
  server.fake.control.fault({ kind: "unavailable", action: "CreateAccessKey", skip: 1, times: 4 });
  const failed = await server.timed(server.ask("POST", `${PLACE}/rotate`));
  refused(failed, 502, /^iam:CreateAccessKey: /);
  const read = await server.ask("GET", "clouda/static-creds/app");
  assert.match(String(at(read, "warnings")), /^the key had to make room for the next one/);
  const second = await untilRotated(server, first.id);
  assert.match(await identity(server, await current(server)), /:user\/app$/);
  assert.ok(keys(server).includes(second));
  assert.equal(at(await server.ask("GET", "clouda/static-creds/app"), "warnings"), null);
});

test("S5: a key whose answer was lost makes room before any other", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server);
  const first = await current(server);
  await server.time.pass(HOUR);
  control.fault({ kind: "lost", action: "CreateAccessKey" });
  const failed = await server.timed(server.ask("POST", `${PLACE}/rotate`));
  assert.equal(failed.status, 502, failed.text);
  assert.equal(keys(server).length, 2);
  await server.must("POST", `${PLACE}/rotate`);
  const second = await current(server);
  assert.deepEqual(keys(server).toSorted(), [first.id, second.id].toSorted());
});

test("S13: deleting a static role deletes its keys; the user and a foreign key stay", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app", { keys: 1 });
  const [foreign = ""] = keys(server);
  await adopted(server);
  assert.equal(keys(server).length, 2);
  done(await server.timed(server.ask("DELETE", PLACE)));
  assert.deepEqual(keys(server), [foreign]);
  absent(await server.ask("GET", "clouda/static-creds/app"));
  absent(await server.ask("GET", PLACE));
  absent(await server.ask("DELETE", PLACE));
});

test("S13: with it goes the key before, which was ours as well", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server);
  await server.must("POST", `${PLACE}/rotate`);
  assert.equal(keys(server).length, 2);
  done(await server.timed(server.ask("DELETE", PLACE)));
  assert.deepEqual(keys(server), []);
});

test("S14: where the provider fails the role stays, and deleting it again works", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server);
  const id = control.fault({ kind: "unavailable", action: "DeleteAccessKey", times: null });
  const failed = await server.timed(server.ask("DELETE", PLACE));
  refused(failed, 502, /^iam:DeleteAccessKey: /);
  assert.match(await identity(server, await current(server)), /:user\/app$/);
  control.faults.remove(id);
  done(await server.timed(server.ask("DELETE", PLACE)));
  assert.deepEqual(keys(server), []);
});

test("S14: with force the provider is not asked, and the key stays there", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server);
  control.forgetCalls();
  done(await server.ask("DELETE", `${PLACE}?force=true`));
  assert.deepEqual([control.actions(), keys(server).length], [[], 1]);
  absent(await server.ask("GET", PLACE));
});

test("S15: static roles are listed in order", async (t) => {
  const server = await cloudaServer(t);
  absent(await server.ask("LIST", "clouda/static-roles"));
  for (const name of ["b", "a"]) {
    server.fake.control.makeUser(name);
    const body = { username: name, rotation_period: 60 };
    await server.must("POST", `clouda/static-roles/${name}`, body);
  }
  assert.deepEqual(keysOf(await server.ask("LIST", "clouda/static-roles")), ["a", "b"]);
});

test("S16: a user is managed by one static role, and never the one of the root key", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server);
  const write = (username: string) =>
    server.ask("POST", "clouda/static-roles/second", { username, rotation_period: 60 });
  server.fake.control.forgetCalls();
  refused(await write("app"), 400, 'user app is already managed by static role "app"');
  assert.deepEqual(server.fake.control.actions(), []); // nobody need be asked for that
  refused(await write("holdfast"), 400, /^user holdfast is already managed by config\/root/);
  assert.equal(keys(server, "holdfast").length, 1);
  await server.crash();
  refused(await write("app"), 400, 'user app is already managed by static role "app"');
});

test("rotate makes a key at once and counts the period from now", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server);
  const first = await current(server);
  await server.time.passSlowly(HOUR, MINUTE);
  const role = dataOf(await server.must("POST", `${PLACE}/rotate`));
  assert.equal(role["next_rotation"], showTime(server.time.clock.now() + DAY));
  const second = await current(server);
  assert.notEqual(second.id, first.id);
  assert.deepEqual(keys(server).toSorted(), [first.id, second.id].toSorted());
  assert.deepEqual(server.storedKeys("/wal/"), []);
  absent(await server.ask("POST", "clouda/static-roles/none/rotate"));
});

test("without overlap a new key has the user to itself once it has been seen to work", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app", { keys: 1 });
  control.visibility({ authentication: 5 });
  await adopted(server, { overlap: "0s" });
  const { id } = await current(server);
  assert.equal(keys(server).length, 2);
  await server.passUntil(() => keys(server).length === 1, SECOND);
  assert.deepEqual(keys(server), [id]);
  const firstWorked = control.calls("GetCallerIdentity").find(({ outcome }) => outcome === "ok");
  const [deleted] = control.calls("DeleteAccessKey");
  assert.ok(firstWorked !== undefined && deleted !== undefined && firstWorked.at <= deleted.at);
  const second = String((await server.must("POST", `${PLACE}/rotate`)).status);
  assert.equal(second, "200");
  const rotated = await current(server);
  await server.passUntil(() => keys(server).length === 1, SECOND);
  assert.deepEqual(keys(server), [rotated.id]);
});

test("other keys end so long after a rotation as overlap says", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app");
  await adopted(server, { overlap: "10m" });
  await server.must("POST", `${PLACE}/rotate`);
  await server.time.passSlowly(9n * MINUTE, 10n * SECOND);
  assert.equal(keys(server).length, 2);
  await server.passUntil(() => keys(server).length === 1, 10n * SECOND);
  const tooLong = await server.ask("POST", PLACE, { overlap: "25h" });
  refused(tooLong, 400, "overlap must not be greater than rotation_period");
});

test("T-I16: a role whose rotation is due is rotated once, by hand or by itself", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  await adopted(server, { rotation_period: "1h" });
  control.forgetCalls();
  const held = control.fault({ kind: "hold", action: "GetUser" });
  await server.time.passSlowly(HOUR - MINUTE, MINUTE);
  await server.passUntil(() => control.held === 1, SECOND);
  const byHand = server.ask("POST", `${PLACE}/rotate`);
  control.faults.remove(held);
  control.release();
  assert.equal((await server.timed(byHand)).status, 200);
  // The one that was held, and the one by hand behind it: the timer adds none.
  await server.time.passSlowly(5n * MINUTE, 10n * SECOND);
  const made = control.calls("CreateAccessKey").filter(({ outcome }) => outcome === "ok");
  assert.equal(made.length, 2);
});
