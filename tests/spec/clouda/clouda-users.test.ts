// Users that clouda makes: cases C13 to C26, C36 and C38 of docs/cases/cloud-engines.md, through HTTP and before the
// fake provider.

import assert from "node:assert/strict";
import test from "node:test";
import { type CloudAServer, cloudaServer, READ_ONLY } from "../../support/servers/cloud-server.ts";
import { at } from "../../support/http-client.ts";
import { done, grants, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import { until } from "../../support/until.ts";

const AUDIT = "arn:aws:iam::aws:policy/SecurityAudit";
const DOCUMENT = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "iam:ListUsers", Resource: "*" }],
});
const CREDS = "clouda/creds/r";

/** A fixed name, so that a test knows it before it is made. */
const FIXED = '{{ if eq .Type "STS" }}s{{ else }}fixed-{{ .PolicyName }}{{ end }}';

function actionsOf(server: CloudAServer): string[] {
  return server.fake.control.calls().map(({ action }) => action);
}

test("C13: a user is made in the order that leaves it without a key until it is bounded", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeGroup("auditors");
  await server.makeRole("r", {
    policy_arns: [READ_ONLY, AUDIT],
    policy_document: DOCUMENT,
    iam_groups: ["developers", "auditors"],
    iam_tags: { team: "a b&c=d" },
    permissions_boundary_arn: READ_ONLY,
    user_path: "/made/here/",
  });
  const { username } = await server.creds(CREDS);
  assert.deepEqual(actionsOf(server), [
    "CreateUser",
    "AttachUserPolicy",
    "AttachUserPolicy",
    "PutUserPolicy",
    "AddUserToGroup",
    "AddUserToGroup",
    "CreateAccessKey",
  ]);
  const attached = server.fake.control
    .calls("AttachUserPolicy")
    .map(({ params }) => params["PolicyArn"]);
  assert.deepEqual(attached, [READ_ONLY, AUDIT]);
  const user = server.user(username);
  assert.deepEqual(user.inline, { r: DOCUMENT });
  assert.deepEqual(user.groups, ["auditors", "developers"]);
  assert.deepEqual(user.tags, { team: "a b&c=d" });
  assert.deepEqual([user.boundary, user.path], [READ_ONLY, "/made/here/"]);
  assert.equal(user.keys.length, 1);
});

test("C14: a user's name tells who asked and for which role", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const rules = grants("clouda/*", "read");
  const named = await server.client(rules, { display_name: "ann b/ü" });
  const { username } = await server.creds(CREDS, { token: named });
  assert.match(username, /^service-[A-Za-z0-9+=,.@_-]*ann_b__-r-\d{10}-[A-Za-z0-9]+$/);
  assert.ok(username.length <= 64);
});

test("C15: long names are cut to 64 letters, and 200 of one second do not collide", async (t) => {
  const server = await cloudaServer(t);
  const role = "r".repeat(60);
  await server.makeRole(role);
  const token = await server.client(grants("clouda/*", "read"), { display_name: "a".repeat(60) });
  for (let i = 0; i < 10; i++) {
    const answers = Array.from({ length: 20 }, () =>
      server.ask("GET", `clouda/creds/${role}`, undefined, { token }),
    );
    for (const { status, text } of await Promise.all(answers)) assert.equal(status, 200, text);
  }
  const users = server.users();
  assert.equal(users.length, 200);
  for (const name of users) {
    assert.equal(name.length, 64);
    assert.match(name, /-\d{10}-[A-Za-z0-9]{8}$/);
  }
  assert.equal(server.fake.control.calls("CreateUser").length, 200);
});

test("C16, C17: a template that makes too long a name is a fault of ours, and nobody is asked", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({
    username_template: `${"x".repeat(60)}-{{ .PolicyName }}-{{ random 9 }}`,
  });
  await server.makeRole("r");
  refused(await server.ask("GET", CREDS), 500, "generated IAM name has 72 bytes, limit 64");
  await server.configure({ username_template: "{{ random 40 }}" });
  await server.makeRole("f", { credential_type: "federation_token" });
  refused(
    await server.ask("GET", "clouda/creds/f"),
    500,
    "generated STS name has 40 bytes, limit 32",
  );
  assert.deepEqual(actionsOf(server), []);
});

test("C18: a user's name is what the template says", async (t) => {
  const server = await cloudaServer(t);
  const alphabet = "abcdefghijklmnopqrstuvwxyz";
  await server.configure({
    username_template:
      `{{ truncate_sha256 20 "${alphabet}" }}-{{ .PolicyName | uppercase | replace "R" "z" }}` +
      '-{{ timestamp "20060102" }}-{{ unix_time }}-{{ random 5 }}',
  });
  await server.makeRole("r");
  const { username } = await server.creds(CREDS);
  assert.match(username, /^abcdefghijkl[0-9a-f]{8}-z-20260101-\d{10}-[A-Za-z0-9]{5}$/);
});

test("C19: a name that is taken is left alone, and another one is tried", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const taken = { status: 409, code: "EntityAlreadyExists", message: "taken" };
  server.fake.control.fault({ kind: "error", action: "CreateUser", ...taken });
  const { username } = await server.creds(CREDS);
  const tried = server.fake.control.calls("CreateUser").map(({ params }) => params["UserName"]);
  assert.equal(tried.length, 2);
  assert.notEqual(tried[0], tried[1]);
  assert.deepEqual([tried[1], server.users()], [username, [username]]);
});

test("C19: somebody else's user of that name stays as it is, also after a crash", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  await server.configure({ username_template: FIXED });
  await server.makeRole("r");
  control.makeUser("fixed-r", { keys: 1 });
  await server.time.passSlowly(10n * MINUTE, MINUTE);
  const foreign = server.user("fixed-r");
  refused(await server.askCreds(CREDS), 400, /^iam:CreateUser: EntityAlreadyExists/);
  await server.dieAt("CreateUser", "before", () => server.ask("GET", CREDS));
  const settled = () => server.storedKeys("/wal/").length === 0;
  assert.equal(settled(), false);
  await server.untilRolledBack(settled);
  assert.deepEqual(server.user("fixed-r"), foreign);
});

test("C20: what fails on the way is undone at once", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const denied = { status: 403, code: "AccessDenied", message: "no" };
  server.fake.control.fault({ kind: "error", action: "AttachUserPolicy", ...denied });
  refused(await server.askCreds(CREDS), 400, /^iam:AttachUserPolicy: AccessDenied: no/);
  assert.deepEqual(server.users(), []);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

for (const [action, when] of [
  ["CreateUser", "after"],
  ["AttachUserPolicy", "before"],
  ["CreateAccessKey", "after"],
] as const) {
  test(`C21: a user whose process died ${when} ${action} is gone after five minutes`, async (t) => {
    const server = await cloudaServer(t);
    await server.makeRole("r");
    await server.dieAt(action, when, () => server.ask("GET", CREDS));
    assert.equal(server.users().length, 1);
    await server.untilRolledBack(() => server.users().length === 0);
    await until(() => server.storedKeys("/wal/").length === 0);
  });
}

test("C22: a provider that shows a new user late is waited for", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", { policy_document: DOCUMENT, iam_groups: ["developers"] });
  server.fake.control.visibility({ newUsers: 3 });
  const { username } = await server.creds(CREDS);
  assert.deepEqual(server.users(), [username]);
  assert.equal(server.user(username).keys.length, 1);
});

test("C22: where the answer to CreateUser is lost once there is one user, and it is given", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  server.fake.control.fault({ kind: "lost", action: "CreateUser" });
  const { username } = await server.creds(CREDS);
  assert.deepEqual(server.users(), [username]);
});

test("C22: where it is lost every time nobody is left after five minutes", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  control.fault({ kind: "lost", action: "CreateUser" });
  // The next ones find the name taken, and that answer is lost as well.
  control.fault({ kind: "lost", action: "CreateUser", when: "before", times: null });
  const answer = await server.askCreds(CREDS);
  assert.equal(answer.status, 502, answer.text);
  assert.equal(control.calls("CreateUser").length, 3);
  assert.equal(server.users().length, 1);
  await server.untilRolledBack(() => server.users().length === 0);
});

test("C23: a user that the provider does not show yet is not taken for gone", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { lease, username } = await server.creds(CREDS);
  await server.time.pass(10n * SECOND);
  server.fake.control.visibility({ newUsers: 120 });
  const early = await server.revokeNow(lease);
  assert.ok(early.status === 400 || early.status === 502, early.text);
  assert.equal(await server.isThere(lease), true);
  assert.deepEqual(server.users(), [username]);
  assert.equal((await server.revoke(lease)).status, 202);
  await server.passUntil(() => server.users().length === 0);
  await server.passUntil(async () => !(await server.isThere(lease)));
});

test("C24: a user that somebody has deleted long ago is revoked", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { lease, username } = await server.creds(CREDS);
  await server.time.passSlowly(10n * MINUTE, MINUTE);
  server.fake.control.removeUser(username);
  done(await server.revokeNow(lease));
  assert.equal(await server.isThere(lease), false);
});

test("C25: what the holder has added to its user goes with it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { lease, username } = await server.creds(CREDS);
  const { account } = server.fake.control;
  const user = account.users.get(username);
  assert.ok(user !== undefined);
  const serial = `arn:aws:iam::123456789012:mfa/${username}`;
  user.extras.loginProfile = { createdAt: account.now() };
  user.extras.mfaDevices.set(serial, account.now());
  account.virtualMfa.add(serial);
  user.extras.sshKeys.set("APKA1", { at: account.now() });
  user.keys.push(account.newKey("AKIA"));
  user.inline.set("mine", DOCUMENT);
  done(await server.revokeNow(lease));
  assert.deepEqual(server.users(), []);
  assert.deepEqual(server.fake.control.state().virtualMfaDevices, []);
});

test("C26: keys are deleted before anything else, and nothing more is asked for than needed", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r", { policy_document: DOCUMENT, iam_groups: ["developers"] });
  const { lease } = await server.creds(CREDS);
  server.fake.control.forgetCalls();
  done(await server.revokeNow(lease));
  const changes = actionsOf(server).filter((action) => !action.startsWith("List"));
  assert.deepEqual(changes, [
    "DeleteAccessKey",
    "DetachUserPolicy",
    "DeleteUserPolicy",
    "RemoveUserFromGroup",
    "DeleteUser",
  ]);
});

test("C36: a provider that throttles is told of as such", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  server.fake.control.fault({ kind: "throttle", action: "CreateUser", times: null });
  const answer = await server.askCreds(CREDS);
  refused(answer, 502, /^iam:CreateUser: Throttling: /);
  assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/);
  assert.deepEqual([server.users(), server.storedKeys("/wal/")], [[], []]);
});

test("C38: a ttl for a user is ignored, with a word about it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { warnings, seconds } = await server.creds(`${CREDS}?ttl=20m`);
  assert.deepEqual(warnings, ["ttl is ignored: the lease of an iam_user follows config/lease"]);
  assert.equal(seconds, 2_764_800);
});

test("a user that is long in the making is proved all the same, and within the request", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({ max_retries: 20 });
  await server.makeRole("r");
  const { control } = server.fake;
  control.fault({ kind: "throttle", action: "AttachUserPolicy", retryAfter: 5, times: 13 });
  control.visibility({ authentication: 600 });
  const began = server.time.clock.now();
  const answer = await server.askCreds(`${CREDS}?verify=true`);
  const took = server.time.clock.now() - began;
  await server.time.passSlowly(MINUTE, SECOND); // whatever is still under way ends
  assert.equal(answer.status, 200, answer.text);
  assert.equal(at(answer, "data", "verified"), false);
  assert.ok(took > 90n * SECOND);
});

test("C38: what only sessions of a role have is ignored for a user, with a word about it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const query = "role_arn=arn:aws:iam::123456789012:role/deploy&role_session_name=x";
  const { warnings } = await server.creds(`${CREDS}?${query}`);
  assert.deepEqual(warnings, [
    "role_arn is ignored: it is for assumed_role only",
    "role_session_name is ignored: it is for assumed_role only",
  ]);
});

test("C25: what may not be looked at does not keep a user that can be deleted without it", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { lease, username } = await server.creds(CREDS);
  const { control } = server.fake;
  const user = control.account.users.get(username);
  assert.ok(user !== undefined);
  user.extras.loginProfile = { createdAt: control.account.now() };
  control.permissions("holdfast", { deny: ["iam:ListMFADevices", "iam:ListSSHPublicKeys"] });
  done(await server.revokeNow(lease));
  assert.deepEqual(server.users(), []);
});

test("C25: where a user cannot be deleted all the same, what was refused is told", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { lease, username } = await server.creds(CREDS);
  const { control } = server.fake;
  const user = control.account.users.get(username);
  assert.ok(user !== undefined);
  user.extras.sshKeys.set("APKA1", { at: control.account.now() });
  control.permissions("holdfast", { deny: ["iam:ListSSHPublicKeys"] });
  const answer = await server.revokeNow(lease);
  refused(
    answer,
    400,
    /iam:DeleteUser: DeleteConflict: .*before that: iam:ListSSHPublicKeys: AccessDenied/,
  );
  control.permissions("holdfast", { deny: [] });
  done(await server.revokeNow(lease));
  assert.deepEqual(server.users(), []);
});

test("verify wants three proofs in a row, and begins anew after each failure", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  control.fault({
    kind: "error",
    action: "GetCallerIdentity",
    status: 403,
    code: "InvalidClientTokenId",
    skip: 2,
  });
  control.forgetCalls();
  const answer = await server.askCreds(`${CREDS}?verify=true`);
  assert.equal(at(answer, "data", "verified"), true, answer.text);
  const outcomes = control.calls("GetCallerIdentity").map(({ outcome }) => outcome === "ok");
  assert.deepEqual(outcomes, [true, true, false, true, true, true]);
});
