// The provider's own clients get along with the fake.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AttachUserPolicyCommand,
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteUserCommand,
  GetGroupPolicyCommand,
  IAMClient,
  ListAccessKeysCommand,
  paginateListUsers,
} from "@aws-sdk/client-iam";
import { AssumeRoleCommand, GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { started } from "./started.ts";

test("a user is made, listed over pages, refused and signed for by the provider's clients", async (t) => {
  const { fake, keys } = await started(t);
  const settings = { region: "eu-central-1", endpoint: fake.url, maxAttempts: 1 };
  const iam = new IAMClient({ ...settings, credentials: keys });
  t.after(() => iam.destroy());
  const Tags = [{ Key: "a", Value: "<&>" }];
  const { User } = await iam.send(new CreateUserCommand({ UserName: "anna", Tags }));
  assert.deepEqual(User?.Tags, Tags);
  assert.ok(User.CreateDate instanceof Date);
  const PolicyArn = "arn:aws:iam::aws:policy/ReadOnlyAccess";
  await iam.send(new AttachUserPolicyCommand({ UserName: "anna", PolicyArn }));
  const { AccessKey } = await iam.send(new CreateAccessKeyCommand({ UserName: "anna" }));
  const listed = await iam.send(new ListAccessKeysCommand({ UserName: "anna" }));
  assert.equal(listed.AccessKeyMetadata?.[0]?.AccessKeyId, AccessKey?.AccessKeyId);
  fake.control.pageSize(1);
  const seen: (string | undefined)[] = [];
  for await (const { Users = [] } of paginateListUsers({ client: iam }, {})) {
    seen.push(...Users.map(({ UserName }) => UserName));
  }
  assert.deepEqual(seen, ["anna", "holdfast"]);
  await assert.rejects(iam.send(new DeleteUserCommand({ UserName: "anna" })), {
    name: "DeleteConflictException",
  });
  fake.control.makeGroup("g", { inline: { p: '{"a":"b c"}' } });
  const read = await iam.send(new GetGroupPolicyCommand({ GroupName: "g", PolicyName: "p" }));
  assert.equal(decodeURIComponent(read.PolicyDocument ?? ""), '{"a":"b c"}');
  assert.ok(fake.control.calls().every(({ region }) => region === "eu-central-1"));
});

test("sessions of a role are opened and used by the provider's clients", async (t) => {
  const { fake, keys } = await started(t);
  const settings = { region: "us-east-1", endpoint: fake.url, maxAttempts: 1 };
  const sts = new STSClient({ ...settings, credentials: keys });
  t.after(() => sts.destroy());
  const RoleArn = "arn:aws:iam::123456789012:role/deploy";
  const { Credentials } = await sts.send(
    new AssumeRoleCommand({ RoleArn, RoleSessionName: "anna" }),
  );
  const own = new STSClient({
    ...settings,
    credentials: {
      accessKeyId: Credentials?.AccessKeyId ?? "",
      secretAccessKey: Credentials?.SecretAccessKey ?? "",
      sessionToken: Credentials?.SessionToken ?? "",
    },
  });
  t.after(() => own.destroy());
  const { Arn } = await own.send(new GetCallerIdentityCommand({}));
  assert.equal(Arn, "arn:aws:sts::123456789012:assumed-role/deploy/anna");
});
