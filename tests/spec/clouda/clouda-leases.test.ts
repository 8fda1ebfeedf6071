// Leases of clouda through HTTP, with what becomes of the users at the provider:
// rows L1 to L17 of 7.2.

import assert from "node:assert/strict";
import test from "node:test";
import { EngineError } from "../../../src/storage/engines/engine.ts";
import { MemoryDisk } from "../../../src/storage/engines/memory.ts";
import {
  type CloudAServer,
  cloudaServer,
  DEPLOY_ROLE,
} from "../../support/servers/cloud-server.ts";
import {
  dataOf,
  DAY,
  done,
  grants,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";
import { at, call } from "../../support/http-client.ts";

async function withRole(server: CloudAServer, lease?: string, max?: string): Promise<void> {
  await server.makeRole("r");
  if (lease === undefined) return;
  await server.must("POST", "clouda/config/lease", { lease, lease_max: max ?? lease });
}

/** Of the provider's refusals: nobody may do this. */
function deny(server: CloudAServer, ...actions: readonly string[]): void {
  server.fake.control.permissions("holdfast", { deny: actions });
}

async function stuck(server: CloudAServer): Promise<number> {
  const answer = await server.ask("GET", "sys/leases/count?type=irrevocable");
  return Number(dataOf(answer)["lease_count"]);
}

test("L1: without a configuration leases are as long as the system's", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const { seconds, renewable, warnings } = await server.creds("clouda/creds/r");
  assert.deepEqual([seconds, renewable, warnings], [2_764_800, true, []]);
});

test("L2: config/lease says how long, and how long at most", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "30m", "12h");
  const { lease, seconds } = await server.creds("clouda/creds/r");
  assert.equal(seconds, 1800);
  const long = await server.renew(lease, { increment: 86_400 });
  assert.equal(at(long, "lease_duration"), 43_200, long.text);
  assert.equal((at(long, "warnings") as unknown[]).length, 1);
  await server.time.passSlowly(HOUR, 10n * MINUTE);
  const later = await server.renew(lease, { increment: 86_400 });
  assert.equal(at(later, "lease_duration"), 39_600);
  const usual = await server.renew(lease);
  assert.equal(at(usual, "lease_duration"), 1800);
  assert.equal(at(usual, "warnings"), null);
});

test("L3: a mount that allows less cuts it, and says so", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "30m", "12h");
  await server.must("POST", "sys/mounts/clouda/tune", { max_lease_ttl: "10m" });
  const { seconds, warnings } = await server.creds("clouda/creds/r");
  assert.equal(seconds, 600);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /30m|1800/);
});

test("L4: at its maximum a lease cannot be renewed, and its user goes", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "30m", "12h");
  const { lease } = await server.creds("clouda/creds/r");
  const renewed = await server.renew(lease, { increment: 43_200 });
  assert.equal(at(renewed, "lease_duration"), 43_200);
  await server.time.passSlowly(12n * HOUR, 30n * MINUTE);
  const refusal = await server.renew(lease);
  assert.equal(refusal.status, 400, refusal.text);
  assert.match(refusal.text, /lease expired|lease not found|maximum lifetime reached/);
  await server.passUntil(() => server.users().length === 0, SECOND);
});

test("L5: credentials of STS cannot be renewed", async (t) => {
  const server = await cloudaServer(t);
  const role = { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE], policy_arns: [] };
  await server.makeRole("s", role);
  const { lease, renewable, seconds } = await server.creds("clouda/creds/s");
  assert.equal(renewable, false);
  assert.ok(seconds > 3590 && seconds <= 3600, `${seconds}`);
  refused(await server.renew(lease), 400, "lease is not renewable");
  server.fake.control.forgetCalls();
  done(await server.revokeNow(lease));
  assert.equal(await server.isThere(lease), false);
  assert.deepEqual(server.fake.control.calls(), [], "there is nothing to call");
});

test("L6: a lease that is not known cannot be renewed", async (t) => {
  const server = await cloudaServer(t);
  refused(await server.renew("clouda/creds/r/none"), 400, "lease not found");
});

test("L7: revoked by hand, the user goes at once", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const { lease } = await server.creds("clouda/creds/r");
  const began = server.time.clock.elapsed();
  assert.equal((await server.revoke(lease)).status, 202);
  await server.passUntil(() => server.users().length === 0, SECOND / 10n);
  assert.ok(server.time.clock.elapsed() - began <= SECOND);
  await server.passUntil(async () => !(await server.isThere(lease)), SECOND / 10n);
});

test("L8: revoked at once while the provider refuses: the cause is told and the lease stays", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const { lease, username } = await server.creds("clouda/creds/r");
  deny(server, "iam:DeleteUser");
  refused(await server.revokeNow(lease), 400, /iam:DeleteUser: AccessDenied: .* \(provider/);
  assert.equal(await server.isThere(lease), true);
  assert.deepEqual(server.user(username).keys, [], "access ends first");
  deny(server);
  server.fake.control.cut(true);
  const away = await server.revokeNow(lease);
  assert.equal(away.status, 502, away.text);
  assert.equal(await server.isThere(lease), true);
  server.fake.control.cut(false);
  done(await server.revokeNow(lease));
  assert.deepEqual(server.users(), []);
});

test("L9: what fails six times is tried after 20, 40, 80, 160 and 320 s and is then irrevocable", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "60s");
  const { lease } = await server.creds("clouda/creds/r");
  deny(server, "iam:ListGroupsForUser");
  const { control } = server.fake;
  for (let second = 0; second < 900; second++) {
    await server.time.passSlowly(SECOND, SECOND);
    // A call that this second has set off is there before one that is made now has its answer.
    await call(server.fake.url, "GET", "/_fake/held");
  }
  const times = control.calls("ListGroupsForUser").map((call) => call.at / 1000);
  assert.equal(times.length, 6);
  for (const [n, wait] of [20, 40, 80, 160, 320].entries()) {
    const waited = (times[n + 1] ?? 0) - (times[n] ?? 0);
    assert.ok(waited >= wait * 0.75 && waited <= wait * 1.25 + 2, `${waited} s for ${wait} s`);
  }
  const listed = dataOf(await server.ask("GET", "sys/leases?type=irrevocable"));
  const [row] = listed["leases"] as Record<string, string>[];
  assert.equal(row?.["lease_id"], lease);
  const error = row["error"] ?? "";
  assert.ok(error.length <= 240, error);
  assert.match(error, /ListGroupsForUser/);
  assert.equal(server.users().length, 1);
});

test("L10: an irrevocable lease is revoked by hand once the cause is gone", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "60s");
  const { lease } = await server.creds("clouda/creds/r");
  deny(server, "iam:DeleteUser");
  await server.passUntil(async () => (await stuck(server)) === 1);
  deny(server);
  assert.equal((await server.revoke(lease)).status, 202);
  await server.passUntil(() => server.users().length === 0, SECOND);
  await server.passUntil(async () => (await stuck(server)) === 0, SECOND);
});

test("L10: a new root configuration sets off another try by itself", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "60s");
  await server.creds("clouda/creds/r");
  deny(server, "iam:DeleteUser");
  await server.passUntil(async () => (await stuck(server)) === 1);
  const other = server.fake.control.makeUser("other-root", { allow: ["*"], keys: 1 });
  await server.configure({ access_key: other.accessKeyId, secret_key: other.secretAccessKey });
  await server.passUntil(() => !server.users().some((name) => name.startsWith("service-")), SECOND);
});

test("L11: throttling makes nothing irrevocable", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "60s");
  await server.configure({ max_retries: 0 });
  for (let i = 0; i < 4; i++) await server.creds("clouda/creds/r");
  server.fake.control.throttle({ fraction: 1 });
  const tries = () => server.fake.control.calls("ListGroupsForUser").length;
  await server.passUntil(() => tries() > 4 * 8);
  assert.equal(await stuck(server), 0);
  assert.equal(server.users().length, 4);
  server.fake.control.calm();
  await server.passUntil(() => server.users().length === 0);
});

test("L11: after throttling less is revoked at once", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "10m");
  await server.configure({ max_retries: 0 });
  for (let i = 0; i < 30; i++) await server.creds("clouda/creds/r");
  const { control } = server.fake;
  control.fault({ kind: "throttle", action: "ListGroupsForUser", times: 8 });
  // How many are under way at once: held where each of them begins.
  control.fault({ kind: "hold", action: "ListGroupsForUser", times: null });
  assert.equal((await server.ask("POST", "sys/leases/revoke-prefix/clouda", {})).status, 202);
  await server.passUntil(() => control.held > 0, SECOND);
  await server.time.passSlowly(5n * SECOND, SECOND);
  assert.ok(control.held <= 4, `${control.held} at once`);
  control.calm();
  await server.passUntil(() => server.users().length === 0);
  assert.equal(await stuck(server), 0);
});

test("L12: a lease of forty days does not end early", async (t) => {
  const server = await cloudaServer(t, { settings: { max_lease_ttl: "2000h" } });
  await withRole(server, "960h");
  const { seconds, username } = await server.creds("clouda/creds/r");
  assert.equal(seconds, 40 * 86_400);
  await server.time.passSlowly(39n * DAY, 6n * HOUR);
  assert.deepEqual(server.users(), [username]);
  await server.passUntil(() => server.users().length === 0, HOUR);
  assert.ok(server.time.clock.elapsed() >= 40n * DAY);
});

test("L13: what fell due while the server was away is revoked oldest first; the rest lives on", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server, "10m", "24h");
  const issue = (count: number) =>
    Promise.all(Array.from({ length: count }, () => server.creds("clouda/creds/r")));
  const old: string[] = [];
  for (let i = 0; i < 10; i++) {
    old.push(...(await issue(5)).map(({ username }) => username));
    await server.time.pass(SECOND);
  }
  await server.must("POST", "clouda/config/lease", { lease: "12h", lease_max: "24h" });
  const live = await issue(50);
  const [first] = live;
  assert.ok(first !== undefined);
  const expiry = dataOf(await server.lookup(first.lease))["expire_time"];
  await server.die();
  server.time.clock.pass(2n * HOUR);
  server.fake.control.forgetCalls();
  await server.restart();
  await server.passUntil(() => server.users().length === 50, SECOND);
  assert.deepEqual(server.users(), live.map(({ username }) => username).toSorted());
  const begun = server.fake.control
    .calls("ListGroupsForUser")
    .map(({ params }) => params["UserName"] ?? "");
  assert.equal(begun.length, 50);
  // Five of an age, and eight go on at once: nobody is overtaken by more than those.
  for (const [i, name] of begun.entries()) {
    assert.ok(Math.abs(old.indexOf(name) - i) <= 13, `${i}: ${old.indexOf(name)}`);
  }
  assert.equal(dataOf(await server.lookup(first.lease))["expire_time"], expiry);
});

test("L14: a token takes its users with it", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const { secret, accessor } = await server.clientToken(grants("clouda/creds/r", "read"));
  const kept = await server.creds("clouda/creds/r");
  await server.creds("clouda/creds/r", { token: secret });
  await server.creds("clouda/creds/r", { token: secret });
  await server.must("POST", "auth/token/revoke-accessor", { accessor });
  await server.passUntil(() => server.users().length === 1, SECOND);
  assert.deepEqual(server.users(), [kept.username]);
});

test("L15: by prefix: those of one role, not of another whose name begins the same", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("a");
  await server.makeRole("ab");
  for (let i = 0; i < 3; i++) await server.creds("clouda/creds/a");
  const kept = await server.creds("clouda/creds/ab");
  const revoking = server.ask("POST", "sys/leases/revoke-prefix/clouda/creds/a", { sync: true });
  done(await server.timed(revoking));
  assert.deepEqual(server.users(), [kept.username]);
});

test("L16: by force while the provider is away: forgotten, and every user that remains is named", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const [one, two] = [await server.creds("clouda/creds/r"), await server.creds("clouda/creds/r")];
  server.fake.control.cut(true);
  const forced = await server.timed(server.ask("POST", "sys/leases/revoke-force/clouda", {}));
  assert.equal(forced.status, 200, forced.text);
  const warnings = at(forced, "warnings") as string[];
  assert.equal(warnings.length, 2);
  for (const { lease, username } of [one, two]) {
    assert.ok(
      warnings.some((warning) => warning.includes(username)),
      warnings.join("\n"),
    );
    assert.equal(await server.isThere(lease), false);
  }
});

/** Fails to write leases when told so. */
class LeaselessDisk extends MemoryDisk {
  failing = false;

  override write(...[writer, batch]: Parameters<MemoryDisk["write"]>): void {
    const isLease = batch.data.some(({ key }) => key.includes("leases/"));
    if (this.failing && isLease) throw new EngineError("the disk is full");
    super.write(writer, batch);
  }
}

test("L17: a lease that storage does not take leaves no user behind", async (t) => {
  const disk = new LeaselessDisk();
  const server = await cloudaServer(t, { disk });
  await withRole(server);
  disk.failing = true;
  const answer = await server.askCreds("clouda/creds/r");
  // A server whose storage has failed stops: nothing that it says would be kept.
  assert.equal(answer.status, 503, answer.text);
  assert.ok(!answer.text.includes("secret_key"));
  assert.equal(server.fake.control.calls("CreateAccessKey").length, 1);
  disk.failing = false;
  await server.crash();
  await server.untilRolledBack(() => server.users().length === 0);
});

test("L17: a lease whose owner has gone meanwhile leaves no user behind", async (t) => {
  const server = await cloudaServer(t);
  await withRole(server);
  const { secret, accessor } = await server.clientToken(grants("clouda/creds/r", "read"));
  const { control } = server.fake;
  control.fault({ kind: "hold", action: "CreateAccessKey", when: "after" });
  const asking = server.ask("GET", "clouda/creds/r", undefined, { token: secret });
  await server.timed(control.whenHeld());
  await server.must("POST", "auth/token/revoke-accessor", { accessor });
  control.release();
  const answer = await server.timed(asking);
  assert.ok(answer.status >= 400, answer.text);
  assert.ok(!answer.text.includes("secret_key"));
  await server.passUntil(() => server.users().length === 0, SECOND);
});
