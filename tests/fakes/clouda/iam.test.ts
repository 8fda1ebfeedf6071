import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf, textsOf } from "./raw-client.ts";
import { POLICY, refused, started } from "./started.ts";

const READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
const ANNA = { UserName: "anna" };

test("a user has two access keys at most", async (t) => {
  const { root, must } = await started(t);
  await must("CreateUser", ANNA);
  const first = textOf(await must("CreateAccessKey", ANNA), "AccessKeyId");
  const second = textOf(await must("CreateAccessKey", ANNA), "AccessKeyId");
  refused(await root.send("CreateAccessKey", ANNA), 409, "LimitExceeded");
  const listed = await must("ListAccessKeys", ANNA);
  // Made in one second their dates are equal: the order of the list is that of their making.
  assert.deepEqual(textsOf(listed, "AccessKeyId"), [first, second]);
  assert.doesNotMatch(listed.text, /Secret/);
  await must("DeleteAccessKey", { ...ANNA, AccessKeyId: first });
  await must("CreateAccessKey", ANNA);
});

test("dates are whole seconds", async (t) => {
  const { must } = await started(t, { now: () => Date.UTC(2026, 0, 1, 0, 0, 0, 999) });
  const made = await must("CreateUser", ANNA);
  assert.equal(textOf(made, "CreateDate"), "2026-01-01T00:00:00Z");
});

const BELONGINGS: Readonly<Record<string, readonly [string, Record<string, string>, string]>> = {
  "an access key": ["CreateAccessKey", {}, "access keys"],
  "an inline policy": [
    "PutUserPolicy",
    { PolicyName: "p", PolicyDocument: POLICY },
    "delete policies",
  ],
  "an attached policy": ["AttachUserPolicy", { PolicyArn: READ_ONLY }, "detach all policies"],
  "a group": ["AddUserToGroup", { GroupName: "developers" }, "remove users from group"],
  "a login profile": ["CreateLoginProfile", { Password: "correct horse" }, "login profile"],
  "an MFA device": [
    "EnableMFADevice",
    { SerialNumber: "GAHT1", AuthenticationCode1: "123456", AuthenticationCode2: "234567" },
    "MFA device",
  ],
  "a certificate": ["UploadSigningCertificate", { CertificateBody: "PEM" }, "certificates"],
  "an SSH key": ["UploadSSHPublicKey", { SSHPublicKeyBody: "ssh-rsa A" }, "SSH public keys"],
  "a service credential": [
    "CreateServiceSpecificCredential",
    { ServiceName: "codecommit.amazonaws.com" },
    "service specific credentials",
  ],
};

for (const [what, [action, fields, word]] of Object.entries(BELONGINGS)) {
  test(`a user with ${what} cannot be deleted`, async (t) => {
    const { root, must, fake } = await started(t);
    await must("CreateUser", ANNA);
    await must(action, { ...ANNA, ...fields });
    const conflict = await root.send("DeleteUser", ANNA);
    refused(conflict, 409, "DeleteConflict");
    assert.match(conflict.text, new RegExp(word));
    assert.ok(fake.control.state().users.some(({ name }) => name === "anna"));
  });
}

test("all that a holder can add is listed, and can be taken off again", async (t) => {
  const { must, fake } = await started(t);
  await must("CreateUser", ANNA);
  for (const [action, fields] of Object.values(BELONGINGS)) {
    await must(action, { ...ANNA, ...fields });
  }
  const id = async (list: string, name: string) => textOf(await must(list, ANNA), name);
  const AccessKeyId = await id("ListAccessKeys", "AccessKeyId");
  await must("DeleteAccessKey", { ...ANNA, AccessKeyId });
  const PolicyName = await id("ListUserPolicies", "member");
  await must("DeleteUserPolicy", { ...ANNA, PolicyName });
  const PolicyArn = await id("ListAttachedUserPolicies", "PolicyArn");
  await must("DetachUserPolicy", { ...ANNA, PolicyArn });
  const GroupName = await id("ListGroupsForUser", "GroupName");
  await must("RemoveUserFromGroup", { ...ANNA, GroupName });
  await must("DeleteLoginProfile", ANNA);
  const SerialNumber = await id("ListMFADevices", "SerialNumber");
  await must("DeactivateMFADevice", { ...ANNA, SerialNumber });
  const CertificateId = await id("ListSigningCertificates", "CertificateId");
  await must("DeleteSigningCertificate", { ...ANNA, CertificateId });
  const SSHPublicKeyId = await id("ListSSHPublicKeys", "SSHPublicKeyId");
  await must("DeleteSSHPublicKey", { ...ANNA, SSHPublicKeyId });
  const credential = await id("ListServiceSpecificCredentials", "ServiceSpecificCredentialId");
  await must("DeleteServiceSpecificCredential", {
    ...ANNA,
    ServiceSpecificCredentialId: credential,
  });
  await must("DeleteUser", ANNA);
  assert.deepEqual(
    fake.control.state().users.map(({ name }) => name),
    ["holdfast"],
  );
});

test("a virtual MFA device is made, enabled, deactivated and deleted", async (t) => {
  const { root, must } = await started(t);
  await must("CreateUser", ANNA);
  const made = await must("CreateVirtualMFADevice", { VirtualMFADeviceName: "phone" });
  const device = { SerialNumber: textOf(made, "SerialNumber") };
  const codes = { AuthenticationCode1: "123456", AuthenticationCode2: "234567" };
  await must("EnableMFADevice", { ...ANNA, ...device, ...codes });
  refused(await root.send("DeleteVirtualMFADevice", device), 409, "DeleteConflict");
  await must("DeactivateMFADevice", { ...ANNA, ...device });
  await must("DeleteVirtualMFADevice", device);
  refused(await root.send("DeleteVirtualMFADevice", device), 404, "NoSuchEntity");
});

test("what does not exist is not found, and what exists is not made again", async (t) => {
  const { root, must } = await started(t);
  for (const action of ["GetUser", "DeleteUser", "ListAccessKeys", "ListGroupsForUser"]) {
    refused(await root.send(action, { UserName: "nobody" }), 404, "NoSuchEntity");
  }
  await must("CreateUser", ANNA);
  refused(await root.send("CreateUser", { UserName: "Anna" }), 409, "EntityAlreadyExists");
  const none = "arn:aws:iam::aws:policy/None";
  refused(await root.send("AttachUserPolicy", { ...ANNA, PolicyArn: none }), 404, "NoSuchEntity");
  refused(
    await root.send("CreateUser", { UserName: "b", PermissionsBoundary: none }),
    404,
    "NoSuchEntity",
  );
  refused(await root.send("AddUserToGroup", { ...ANNA, GroupName: "none" }), 404, "NoSuchEntity");
  refused(
    await root.send("DeleteAccessKey", { ...ANNA, AccessKeyId: "AKIAAAAAAAAAAAAAAAAA" }),
    404,
    "NoSuchEntity",
  );
});

test("names, paths and tags are checked", async (t) => {
  const { root, must } = await started(t);
  const bad = ["", "a".repeat(65), "a b", "ä", "a/b"];
  for (const UserName of bad) {
    refused(await root.send("CreateUser", { UserName }), 400, "ValidationError");
  }
  for (const Path of ["x", "/x", "x/", "/a b/"]) {
    refused(await root.send("CreateUser", { ...ANNA, Path }), 400, "ValidationError");
  }
  const tags = (key: string, value: string) => ({
    "Tags.member.1.Key": key,
    "Tags.member.1.Value": value,
  });
  refused(await root.send("CreateUser", { ...ANNA, ...tags("", "v") }), 400, "ValidationError");
  refused(
    await root.send("CreateUser", { ...ANNA, ...tags("k", "v".repeat(257)) }),
    400,
    "ValidationError",
  );
  const made = await must("CreateUser", { ...ANNA, ...tags("k", "v"), Path: "/team/" });
  assert.equal(textOf(made, "Arn"), "arn:aws:iam::123456789012:user/team/anna");
  await must("TagUser", { ...ANNA, ...tags("k2", "") });
  assert.deepEqual(textsOf(await must("ListUserTags", ANNA), "Key"), ["k", "k2"]);
});

test("policy documents are checked, and read percent-encoded", async (t) => {
  const { root, must, fake } = await started(t);
  await must("CreateUser", ANNA);
  const put = (PolicyDocument: string) =>
    root.send("PutUserPolicy", { ...ANNA, PolicyName: "p", PolicyDocument });
  const bad = ["x", "[]", "{}", '{"Version":"1","Statement":{}}', '{"Statement":[]}'];
  for (const document of bad) refused(await put(document), 400, "MalformedPolicyDocument");
  refused(await put(POLICY.replace("s3", "s".repeat(2048))), 409, "LimitExceeded");
  const document = POLICY.replace("*", "a b/'ü*");
  fake.control.makeGroup("readers", { inline: { all: document } });
  const read = await must("GetGroupPolicy", { GroupName: "readers", PolicyName: "all" });
  const text = textOf(read, "PolicyDocument");
  assert.match(text, /^%7B%22Version%22.*%27/);
  assert.equal(decodeURIComponent(text), document);
});

test("lists are cut into pages, as small as the control wants them", async (t) => {
  const { root, must, fake } = await started(t);
  const names = ["a", "b", "c", "d", "e"];
  for (const UserName of names) await must("CreateUser", { UserName });
  fake.control.pageSize(2);
  const seen: string[] = [];
  let marker: string | null = null;
  let pages = 0;
  do {
    const answer = await must("ListUsers", marker === null ? {} : { Marker: marker });
    seen.push(...textsOf(answer, "UserName"));
    const isTruncated = textOf(answer, "IsTruncated") === "true";
    marker = isTruncated ? textOf(answer, "Marker") : null;
    pages++;
  } while (marker !== null);
  assert.equal(pages, 3);
  assert.deepEqual(seen, [...names, "holdfast"]);
  refused(await root.send("ListUsers", { Marker: "x" }), 400, "ValidationError");
  fake.control.pageSize(null);
  const page = await must("ListUsers", { MaxItems: "4" });
  assert.equal(textsOf(page, "UserName").length, 4);
});
