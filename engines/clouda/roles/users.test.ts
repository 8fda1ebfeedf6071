// What becomes of a user when a call fails, its answer is lost, or the server dies in between: one by one,
// for every call of the way there and back.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { type CloudAStage, cloudaStage } from "../../../tests/support/servers/clouda-stage.ts";

const ROLE = {
  credential_type: "iam_user",
  policy_arns: ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
  policy_document: JSON.stringify({
    Version: "2012-10-17",
    Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: "*" }],
  }),
  iam_groups: ["developers"],
  iam_tags: { team: "core" },
};
const ISSUING = [
  "CreateUser",
  "AttachUserPolicy",
  "PutUserPolicy",
  "AddUserToGroup",
  "CreateAccessKey",
];
const ENDING = [
  "ListGroupsForUser",
  "ListUserPolicies",
  "ListAttachedUserPolicies",
  "ListAccessKeys",
  "DeleteAccessKey",
  "DetachUserPolicy",
  "DeleteUserPolicy",
  "RemoveUserFromGroup",
  "DeleteUser",
];

async function staged(t: Parameters<typeof cloudaStage>[0]): Promise<CloudAStage> {
  const stage = await cloudaStage(t);
  await stage.write("roles/app", ROLE);
  stage.fake.control.forgetCalls();
  return stage;
}

function names({ fake }: CloudAStage): string[] {
  return fake.control
    .state()
    .users.map(({ name }) => name)
    .filter((name) => name !== "holdfast");
}

async function revoke(stage: CloudAStage, username: string, age = 10n * MINUTE): Promise<void> {
  const lease = {
    leaseId: "l",
    internal: { type: "iam_user", username, role: "app" },
    issued: stage.clock.now() - age,
    expires: stage.clock.now(),
  };
  const { signal } = new AbortController();
  const { revoke: end } = stage.tested.type.secrets?.["iam_user"] ?? {};
  assert.ok(end !== undefined);
  await stage.timed(end(stage.engine, lease, signal));
}

async function issued(stage: CloudAStage): Promise<string> {
  const { data } = await stage.read("creds/app");
  assert.ok(data !== undefined && "username" in data && typeof data["username"] === "string");
  return data["username"];
}

test("a user is made in the order that leaves nothing behind, and unmade with its keys first", async (t) => {
  const stage = await staged(t);
  const username = await issued(stage);
  assert.deepEqual(stage.fake.control.actions(), ISSUING);
  const [user] = stage.fake.control.state().users.filter(({ name }) => name === username);
  assert.deepEqual(user?.tags, { team: "core" });
  stage.fake.control.forgetCalls();
  await revoke(stage, username);
  assert.deepEqual(stage.fake.control.actions(), ENDING);
  assert.deepEqual(names(stage), []);
});

for (const action of ISSUING) {
  test(`a refusal of ${action} leaves neither a user nor a record`, async (t) => {
    const stage = await staged(t);
    const refusal = { code: "AccessDenied", message: "no", status: 403 };
    stage.fake.control.fault({ kind: "error", action, ...refusal });
    await assert.rejects(stage.read("creds/app"), (error: Failure) => {
      assert.equal(error.kind, "invalid");
      assert.match(error.message, new RegExp(`^iam:${action}: AccessDenied: no`));
      return true;
    });
    assert.deepEqual([names(stage), stage.records()], [[], []]);
  });

  test(`every answer to ${action} lost leaves nothing that a rollback does not remove`, async (t) => {
    const stage = await staged(t);
    stage.fake.control.fault({ kind: "lost", action });
    stage.fake.control.fault({ kind: "lost", action, when: "before", times: null });
    await assert.rejects(stage.read("creds/app"), { kind: "upstream" });
    stage.fake.control.calm();
    stage.clock.pass(6n * MINUTE);
    assert.deepEqual(await stage.rollBack(), []);
    assert.deepEqual([names(stage), stage.records()], [[], []]);
  });

  for (const when of ["before", "after"] as const) {
    test(`T-I14: a server that dies ${when} ${action} leaves nothing after a rollback`, async (t) => {
      const stage = await staged(t);
      stage.fake.control.fault({ kind: "hold", action, when });
      const asking = stage.read("creds/app").catch((error: unknown) => error);
      await stage.fake.control.whenHeld();
      stage.fake.control.cut(true); // from here on the provider hears nothing of it
      assert.ok((await asking) instanceof Failure);
      stage.fake.control.cut(false);
      stage.fake.control.calm();
      assert.deepEqual(stage.records(), ["user"]);
      stage.clock.pass(6n * MINUTE);
      assert.deepEqual(await stage.rollBack(), []);
      assert.deepEqual([names(stage), stage.records()], [[], []]);
    });
  }
}

for (const action of ENDING) {
  test(`T-I07: a revocation that fails at ${action} is not done, and the next one does it`, async (t) => {
    const stage = await staged(t);
    const username = await issued(stage);
    const { control } = stage.fake;
    control.fault({ kind: "error", action, code: "AccessDenied", message: "", status: 403 });
    await assert.rejects(revoke(stage, username), (error: Failure) => {
      assert.equal(error.kind, "invalid");
      assert.ok(error.message.endsWith(`; user ${username} remains`));
      return true;
    });
    assert.deepEqual(names(stage), [username]);
    const lie = { status: 200, body: "<ErrorResponse></ErrorResponse>" };
    control.fault({ kind: "raw", action, times: 3, ...lie });
    await assert.rejects(revoke(stage, username), { kind: "upstream" });
    assert.deepEqual(names(stage), [username]);
    control.fault({ kind: "lost", action });
    await revoke(stage, username);
    assert.deepEqual(names(stage), []);
  });
}

test("an answer to CreateUser that was lost once is found again: one user, and a success", async (t) => {
  const stage = await staged(t);
  stage.fake.control.fault({ kind: "lost", action: "CreateUser" });
  const username = await issued(stage);
  assert.deepEqual(names(stage), [username]);
  assert.deepEqual(stage.records(), ["user"]);
});

test("a provider that never answers is given up on, and what it may have made goes later", async (t) => {
  const stage = await staged(t);
  stage.fake.control.fault({ kind: "hold", action: "CreateUser", when: "after" });
  await assert.rejects(stage.read("creds/app"), /^Failure: iam:CreateUser: TimedOut/);
  stage.fake.control.calm();
  assert.deepEqual(stage.records(), ["user"]);
  stage.clock.pass(6n * MINUTE);
  assert.deepEqual(await stage.rollBack(), []);
  assert.deepEqual([names(stage), stage.records()], [[], []]);
});

test("a name that somebody else has is not taken, and theirs stays, also after a rollback", async (t) => {
  const stage = await staged(t);
  stage.fake.control.makeUser("taken");
  stage.clock.pass(20n * MINUTE);
  const template = '{{ if (eq .Type "STS") }}s{{ else }}taken{{ end }}';
  await stage.write("config/root", { username_template: template });
  await assert.rejects(stage.read("creds/app"), /EntityAlreadyExists/);
  assert.deepEqual(stage.records(), []);
  assert.equal(stage.fake.control.calls("CreateUser").length, 3);
  // As if the server had died right after writing it.
  await stage.kept.writeAhead.begin("user", { username: "taken", path: "/" });
  stage.clock.pass(6n * MINUTE);
  assert.deepEqual(await stage.rollBack(), []);
  assert.deepEqual([names(stage), stage.records()], [["taken"], []]);
});

test("tags that may not be set with the user are set by themselves", async (t) => {
  const stage = await staged(t);
  const text = "User is not authorized to perform: iam:TagUser on resource: user x";
  const refusal = { code: "AccessDenied", message: text, status: 403 };
  stage.fake.control.fault({ kind: "error", action: "CreateUser", ...refusal });
  await issued(stage);
  const expected = ["CreateUser", ...ISSUING.slice(0, 4), "TagUser", "CreateAccessKey"];
  assert.deepEqual(stage.fake.control.actions(), expected);
});

test("a user that the provider shows late is waited for", async (t) => {
  const stage = await staged(t);
  stage.fake.control.visibility({ newUsers: 3 });
  assert.deepEqual(names(stage), [] as string[]);
  const username = await issued(stage);
  assert.deepEqual(names(stage), [username]);
});

test("a fresh user that is not shown yet is not taken for one that is gone", async (t) => {
  const stage = await staged(t);
  await assert.rejects(revoke(stage, "service-young", 10n), /may not show it yet/);
  await revoke(stage, "service-old", 6n * MINUTE);
});

test("what a holder has added to its user goes with it", async (t) => {
  const stage = await staged(t);
  const username = await issued(stage);
  const user = stage.fake.control.account.users.get(username);
  assert.ok(user !== undefined);
  const { extras } = user;
  const serial = "arn:aws:iam::123456789012:mfa/phone";
  extras.loginProfile = { createdAt: 0 };
  extras.mfaDevices.set(serial, 0);
  stage.fake.control.account.virtualMfa.add(serial);
  extras.certificates.set("CERT", { body: "", at: 0 });
  extras.sshKeys.set("APKA", { at: 0 });
  await revoke(stage, username);
  assert.deepEqual(names(stage), []);
  assert.deepEqual(stage.fake.control.state().virtualMfaDevices, []);
});
