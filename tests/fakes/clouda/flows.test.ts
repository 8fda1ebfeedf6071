// What the engine does with the provider, call by call, by hand. Also run against an emulator that is
// not ours: with FAKE_TARGET=http://127.0.0.1:5000 (moto_server with MOTO_IAM_LOAD_MANAGED_POLICIES=true,
// 5.2.5 passes) the fake is not started. What moto is known to do otherwise is not asked here: it deletes
// users that still have keys, and lets roles that do not exist be assumed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { keysIn, RawClient, textOf, textsOf } from "./raw-client.ts";
import { POLICY, refused, started, succeeded } from "./started.ts";

interface After {
  after(call: () => Promise<void>): void;
}

async function target(t: After): Promise<RawClient> {
  const { FAKE_TARGET: url = "" } = process.env;
  if (url === "") return (await started(t)).root;
  const keys = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "x".repeat(40) };
  return new RawClient(url, keys);
}

const READ_ONLY = { PolicyArn: "arn:aws:iam::aws:policy/ReadOnlyAccess" };

test("a user is made with all that belongs to it, and taken down again", async (t) => {
  const client = await target(t);
  const send = async (action: string, fields: Record<string, string>) =>
    succeeded(await client.send(action, fields));
  const user = { UserName: `service-${Date.now()}` };
  const group = { GroupName: `flow-${Date.now()}` };
  await send("CreateGroup", group);
  const tag = { "Tags.member.1.Key": "team", "Tags.member.1.Value": "a b" };
  const made = await send("CreateUser", { ...user, Path: "/team/", ...tag });
  assert.match(textOf(made, "Arn"), /^arn:aws:iam::123456789012:user\/team\/service-\d+$/);
  refused(await client.send("CreateUser", user), 409, "EntityAlreadyExists");
  await send("AttachUserPolicy", { ...user, ...READ_ONLY });
  const inline = { PolicyName: "deploy", PolicyDocument: POLICY };
  await send("PutUserPolicy", { ...user, ...inline });
  await send("AddUserToGroup", { ...user, ...group });
  const key = keysIn(await send("CreateAccessKey", user));
  assert.match(key.accessKeyId, /^AKIA[A-Z0-9]{16}$/);
  assert.equal(key.secretAccessKey.length, 40);
  assert.deepEqual(textsOf(await send("ListGroupsForUser", user), "GroupName"), [group.GroupName]);
  assert.deepEqual(textsOf(await send("ListUserPolicies", user), "member"), ["deploy"]);
  const attached = await send("ListAttachedUserPolicies", user);
  assert.deepEqual(textsOf(attached, "PolicyArn"), [READ_ONLY.PolicyArn]);
  const keys = await send("ListAccessKeys", user);
  assert.deepEqual(textsOf(keys, "AccessKeyId"), [key.accessKeyId]);
  await send("DeleteAccessKey", { ...user, AccessKeyId: key.accessKeyId });
  await send("DetachUserPolicy", { ...user, ...READ_ONLY });
  await send("DeleteUserPolicy", { ...user, PolicyName: "deploy" });
  await send("RemoveUserFromGroup", { ...user, ...group });
  await send("DeleteUser", user);
  for (const action of ["GetUser", "ListGroupsForUser", "DeleteUser"]) {
    refused(await client.send(action, user), 404, "NoSuchEntity");
  }
  await send("DeleteGroup", group);
});

test("a third key is refused", async (t) => {
  const client = await target(t);
  const user = { UserName: `keys-${Date.now()}` };
  succeeded(await client.send("CreateUser", user));
  for (let i = 0; i < 2; i++) succeeded(await client.send("CreateAccessKey", user));
  refused(await client.send("CreateAccessKey", user), 409, "LimitExceeded");
});

test("the documents of a group are read percent-encoded", async (t) => {
  const client = await target(t);
  const group = { GroupName: `documents-${Date.now()}` };
  const inline = { PolicyName: "p", PolicyDocument: POLICY };
  succeeded(await client.send("CreateGroup", group));
  succeeded(await client.send("PutGroupPolicy", { ...group, ...inline }));
  succeeded(await client.send("AttachGroupPolicy", { ...group, ...READ_ONLY }));
  const listed = succeeded(await client.send("ListGroupPolicies", group));
  assert.deepEqual(textsOf(listed, "member"), ["p"]);
  const read = succeeded(await client.send("GetGroupPolicy", { ...group, PolicyName: "p" }));
  assert.equal(decodeURIComponent(textOf(read, "PolicyDocument")), POLICY);
});

test("sessions are given for a role and for a federated user", async (t) => {
  const client = await target(t);
  const name = `role${Date.now()}`;
  const trust = {
    Effect: "Allow",
    Principal: { AWS: "arn:aws:iam::123456789012:root" },
    Action: "sts:AssumeRole",
  };
  const AssumeRolePolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: [trust] });
  const role = await client.send("CreateRole", { RoleName: name, AssumeRolePolicyDocument });
  const RoleArn = textOf(succeeded(role), "Arn");
  const session = { RoleArn, RoleSessionName: "anna", DurationSeconds: "900" };
  const assumed = succeeded(await client.send("AssumeRole", session));
  assert.equal(textOf(assumed, "Arn"), `arn:aws:sts::123456789012:assumed-role/${name}/anna`);
  assert.match(textOf(assumed, "AccessKeyId"), /^ASIA/);
  const federated = succeeded(
    await client.send("GetFederationToken", { Name: "anna", Policy: POLICY }),
  );
  assert.equal(textOf(federated, "Arn"), "arn:aws:sts::123456789012:federated-user/anna");
  assert.ok(Date.parse(textOf(federated, "Expiration")) > 0);
});
