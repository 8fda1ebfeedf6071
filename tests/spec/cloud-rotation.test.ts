// What the cloud engines rotate by themselves at times of a schedule: rotation_schedule and
// rotation_window, of static roles and of both root credentials. Periods: clouda-static.test.ts,
// engines/clouda/root-rotation.test.ts. Time begins at midnight, UTC.

import assert from "node:assert/strict";
import test from "node:test";
import { passwords } from "../support/servers/cloudb-root.ts";
import { type CloudAServer, cloudaServer } from "../support/servers/cloud-server.ts";
import { cloudbServer } from "../support/servers/cloudb-server.ts";
import {
  dataOf,
  done,
  type EngineServer,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../support/servers/engine-server.ts";

const STATIC = "clouda/static-roles/app";
const NIGHTLY = { rotation_schedule: "0 3 * * *", rotation_window: "1h" };
const REFUSAL = {
  kind: "error",
  action: "CreateAccessKey",
  status: 403,
  code: "AccessDenied",
} as const;

/** Adopted, with this schedule. */
async function adopted(server: CloudAServer, terms: object = NIGHTLY): Promise<void> {
  server.fake.control.makeUser("app");
  await server.must("POST", STATIC, { username: "app", ...terms });
}

async function current(server: EngineServer): Promise<string> {
  return String(dataOf(await server.ask("GET", "clouda/static-creds/app"))["access_key"]);
}

async function rootKey(server: EngineServer): Promise<string> {
  return String(dataOf(await server.ask("GET", "clouda/config/root"))["access_key"]);
}

/** Time passes until it is another; gives when that was. */
async function changed(server: EngineServer, read: () => Promise<string>): Promise<string> {
  const before = await read();
  await server.passUntil(async () => (await read()) !== before, SECOND);
  return new Date(Number(server.time.clock.now() / 1_000_000n)).toISOString().slice(0, 15);
}

for (const [what, place, more] of [
  ["a static role", STATIC, { username: "app" }],
  ["the root of cloud A", "clouda/config/root", { access_key: "AKIA", secret_key: "secret" }],
  [
    "the root of cloud B",
    "cloudb/config",
    { tenant_id: "t", subscription_id: "s", client_id: "c", client_secret: "s" },
  ],
] as const) {
  test(`terms of ${what} that cannot be kept are refused, and say what could`, async (t) => {
    const server = await cloudaServer(t, { configured: false });
    const rows: readonly (readonly [object, RegExp])[] = [
      [{ rotation_schedule: "0 3 * *" }, /^rotation_schedule: it has 4 fields; accepted are five/],
      [{ rotation_schedule: "0 25 * * *" }, /^rotation_schedule: hour cannot be "25"; accepted/],
      [{ rotation_schedule: "@daily" }, /^rotation_schedule: it has 1 fields/],
      [{ rotation_schedule: "0 0 30 2 *" }, /^rotation_schedule: no such time ever comes/],
      [{ rotation_schedule: "0 3 * * *", rotation_period: "24h" }, /exclude each other/],
      [
        { rotation_schedule: "0 3 * * *", rotation_window: "59m" },
        /^rotation_window must be 0 or at least 3600/,
      ],
      [
        { rotation_period: "24h", rotation_window: "2h" },
        /^rotation_window needs rotation_schedule/,
      ],
      [{ rotation_period: 59 }, /^rotation_period must be/],
    ];
    for (const [terms, why] of rows) {
      refused(await server.ask("POST", place, { ...more, ...terms }), 400, why);
    }
    assert.deepEqual(server.fake.control.actions(), []);
  });
}

test("a static role is rotated at the times of its schedule", async (t) => {
  const server = await cloudaServer(t);
  await adopted(server);
  const role = dataOf(await server.ask("GET", STATIC));
  assert.deepEqual(
    [role["rotation_period"], role["rotation_schedule"], role["rotation_window"], role["overlap"]],
    [0, "0 3 * * *", 3600, null],
  );
  assert.equal(role["next_rotation"], "2026-01-01T03:00:00Z");
  const creds = dataOf(await server.ask("GET", "clouda/static-creds/app"));
  assert.deepEqual([creds["expiration"], creds["ttl"]], ["2026-01-01T03:00:00Z", 3 * 3600]);
  await server.time.passSlowly(2n * HOUR + 58n * MINUTE, 2n * MINUTE);
  assert.equal(await changed(server, () => current(server)), "2026-01-01T03:0");
  assert.equal(dataOf(await server.ask("GET", STATIC))["next_rotation"], "2026-01-02T03:00:00Z");
});

test("what failed is tried again within the window, and then only at the next time", async (t) => {
  const server = await cloudaServer(t);
  await adopted(server);
  const { control } = server.fake;
  const first = await current(server);
  const fault = control.fault({ ...REFUSAL, times: null });
  await server.time.passSlowly(3n * HOUR + 58n * MINUTE, MINUTE);
  const failing = dataOf(await server.ask("GET", STATIC));
  assert.match(String(failing["last_error"]), /^iam:CreateAccessKey: AccessDenied/);
  assert.ok(control.calls("CreateAccessKey").length > 4);
  await server.time.passSlowly(HOUR, MINUTE);
  const missed = dataOf(await server.ask("GET", STATIC));
  assert.equal(missed["next_rotation"], "2026-01-02T03:00:00Z");
  assert.notEqual(missed["last_error"], "");
  control.faults.remove(fault);
  await server.time.passSlowly(22n * HOUR, 10n * MINUTE);
  assert.equal(await current(server), first);
  assert.equal(await changed(server, () => current(server)), "2026-01-02T03:0");
  assert.equal(dataOf(await server.ask("GET", STATIC))["last_error"], "");
});

for (const [window, rotated] of [
  ["1h", false],
  ["8h", true],
  [0, true],
] as const) {
  const what = rotated ? "is made up for" : "is waited for until the next";
  test(`a time that was missed by a server that was down ${what}, window ${window}`, async (t) => {
    const server = await cloudaServer(t);
    await server.configure({ ...NIGHTLY, rotation_window: window });
    await adopted(server, { ...NIGHTLY, rotation_window: window });
    const before = [await current(server), await rootKey(server)];
    await server.die();
    server.time.clock.pass(6n * HOUR);
    await server.restart();
    await server.time.passSlowly(5n * MINUTE, 5n * SECOND);
    await server.passUntil(async () => {
      const now = [await current(server), await rootKey(server)];
      return rotated ? now.every((key, i) => key !== before[i]) : true;
    }, 5n * SECOND);
    assert.equal((await current(server)) === before[0], !rotated);
    assert.equal((await rootKey(server)) === before[1], !rotated);
    for (const place of [STATIC, "clouda/config/root"]) {
      const config = dataOf(await server.ask("GET", place));
      assert.equal(config["next_rotation"], "2026-01-02T03:00:00Z", place);
      const error = String(config["last_error"] ?? config["rotation_error"]);
      assert.match(error, rotated ? /^$/ : /^the window of 2026-01-01T03:00:00Z was over/);
    }
  });
}

test("a period gives way to a schedule that is given, and the other way round", async (t) => {
  const server = await cloudaServer(t);
  await adopted(server, { rotation_period: "24h" });
  const terms = async (body: object) => {
    const role = dataOf(await server.must("POST", STATIC, body));
    return [role["rotation_period"], role["rotation_schedule"], role["rotation_window"]];
  };
  assert.deepEqual(await terms(NIGHTLY), [0, "0 3 * * *", 3600]);
  assert.deepEqual(await terms({ rotation_window: "2h" }), [0, "0 3 * * *", 7200]);
  assert.deepEqual(await terms({ rotation_period: "1h" }), [3600, "", 0]);
  refused(await server.ask("POST", STATIC, { rotation_period: 0 }), 400, /^rotation_period must/);
});

test("the root key of cloud A is rotated by schedule; a failure is told, and tried again", async (t) => {
  const server = await cloudaServer(t);
  await server.configure(NIGHTLY);
  const read = async () => dataOf(await server.ask("GET", "clouda/config/root"));
  assert.equal((await read())["next_rotation"], "2026-01-01T03:00:00Z");
  const first = await rootKey(server);
  server.fake.control.fault({ ...REFUSAL, times: 2 });
  await server.crash(); // when it is due is stored
  await server.time.passSlowly(3n * HOUR + 3n * MINUTE, MINUTE);
  const failing = await read();
  assert.equal(failing["access_key"], first);
  assert.match(String(failing["rotation_error"]), /^iam:CreateAccessKey: AccessDenied/);
  assert.match(String(failing["next_rotation"]), /^2026-01-01T03:0/);
  await changed(server, () => rootKey(server));
  const rotated = await read();
  assert.deepEqual(
    [rotated["rotation_error"], rotated["next_rotation"]],
    ["", "2026-01-02T03:00:00Z"],
  );
  // Writing the same again puts nothing off; switching it off does.
  done(await server.timed(server.ask("POST", "clouda/config/root", NIGHTLY)));
  assert.equal((await read())["next_rotation"], "2026-01-02T03:00:00Z");
  const off = { disable_automated_rotation: true };
  done(await server.timed(server.ask("POST", "clouda/config/root", off)));
  assert.equal((await read())["next_rotation"], null);
});

for (const [what, terms, due, next] of [
  ["schedule", NIGHTLY, "2026-01-01T03:00:00Z", /^2026-01-02T03:00:00Z$/],
  ["period", { rotation_period: "2h" }, "2026-01-01T02:00:00Z", /^2026-01-01T04:0/],
] as const) {
  test(`the root secret of cloud B is rotated by ${what}; a failure is told, and tried again`, async (t) => {
    const server = await cloudbServer(t);
    await server.configure(terms);
    const read = async () => dataOf(await server.ask("GET", "cloudb/config"));
    const before = await read();
    assert.equal(before["next_rotation"], due);
    const [old] = passwords(server);
    const { control } = server.fake;
    const denied = { status: 403, code: "Authorization_RequestDenied" };
    control.fault({ action: "addApplicationPassword", effect: { kind: "refuse", ...denied } });
    await server.crash();
    await server.pass(BigInt(Date.parse(due)) * 1_000_000n - server.time.clock.now(), 5n * MINUTE);
    await server.passUntil(async () => (await read())["rotation_error"] !== "", 20n * SECOND);
    const failing = await read();
    assert.match(String(failing["rotation_error"]), /Authorization_RequestDenied/);
    assert.deepEqual(passwords(server), [old]);
    await server.passUntil(async () => (await read())["root_rotation"] === "pending", 20n * SECOND);
    const pending = await read();
    assert.equal(pending["rotation_error"], "");
    assert.match(String(pending["next_rotation"]), next);
    await server.passUntil(async () => (await read())["root_rotation"] === "none", 20n * SECOND);
    await server.passUntil(() => !passwords(server).includes(old ?? ""), 20n * SECOND);
    assert.equal(passwords(server).length, 1);
  });
}

test("a schedule of a root needs a secret of its own to rotate", async (t) => {
  const server = await cloudaServer(t, { configured: false });
  const a = await server.ask("POST", "clouda/config/root", NIGHTLY);
  refused(a, 400, "rotation_schedule needs access_key and secret_key");
  const account = { tenant_id: "t", subscription_id: "s", ...NIGHTLY };
  refused(
    await server.ask("POST", "cloudb/config", account),
    400,
    "rotation_schedule needs client_secret",
  );
});
