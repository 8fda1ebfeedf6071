import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../../support/http-client.ts";
import { keysIn, RawClient, textOf } from "./raw-client.ts";
import { refused, started, succeeded } from "./started.ts";

test("a rightly signed request is answered in XML of the service's namespace", async (t) => {
  const { must } = await started(t);
  const iam = await must("GetUser");
  assert.match(
    iam.text,
    /^<GetUserResponse xmlns="https:\/\/iam\.amazonaws\.com\/doc\/2010-05-08\/"><GetUserResult><User>/,
  );
  assert.match(iam.text, /<ResponseMetadata><RequestId>[0-9a-f-]{36}<\/RequestId>/);
  const sts = await must("GetCallerIdentity");
  assert.match(sts.text, /xmlns="https:\/\/sts\.amazonaws\.com\/doc\/2011-06-15\/"/);
  assert.equal(textOf(sts, "Arn"), "arn:aws:iam::123456789012:user/holdfast");
});

test("a key that does not exist is refused", async (t) => {
  const { root, keys } = await started(t);
  const other = root.as({ ...keys, accessKeyId: "AKIAAAAAAAAAAAAAAAAA" });
  refused(await other.send("GetUser"), 403, "InvalidClientTokenId");
});

test("another secret, another body, another service and another region are refused", async (t) => {
  const { fake, root, keys } = await started(t);
  const wrong = root.as({ ...keys, secretAccessKey: keys.secretAccessKey.slice(1) });
  refused(await wrong.send("GetUser"), 403, "SignatureDoesNotMatch");
  const tamper = (body: string) => body.replace("GetUser", "ListUsers");
  refused(await root.as(keys, { tamper }).send("GetUser"), 403, "SignatureDoesNotMatch");
  refused(await root.as(keys, { service: "sts" }).send("GetUser"), 403, "SignatureDoesNotMatch");
  refused(await root.as(keys, { region: "x" }).send("GetUser"), 403, "SignatureDoesNotMatch");
  succeeded(await root.as(keys, { region: "cn-north-1" }).send("GetUser"));
  assert.equal(fake.control.calls().at(-1)?.region, "cn-north-1");
});

test("a signature is good for five minutes around the fake's time", async (t) => {
  const { root, keys } = await started(t);
  for (const minutes of [-4, 4]) {
    succeeded(await root.as(keys, { at: Date.now() + minutes * 60_000 }).send("GetUser"));
  }
  for (const minutes of [-6, 6]) {
    const late = root.as(keys, { at: Date.now() + minutes * 60_000 });
    refused(await late.send("GetUser"), 403, "SignatureDoesNotMatch");
  }
});

test("a request without a signature, and one that is no form, are refused", async (t) => {
  const { fake } = await started(t);
  const body = "Action=GetUser&Version=2010-05-08";
  const type = "application/x-www-form-urlencoded";
  const bare = await call(fake.url, "POST", "/", { body, headers: { "Content-Type": type } });
  assert.equal(bare.status, 403);
  assert.match(bare.text, /<Code>MissingAuthenticationToken<\/Code>/);
  assert.match(bare.text, /<Type>Sender<\/Type>/);
  const json = await call(fake.url, "POST", "/", { body: {} });
  assert.equal(json.status, 404);
});

test("an inactive key and a deleted key are refused", async (t) => {
  const { root, must } = await started(t);
  await must("CreateUser", { UserName: "anna" });
  const keys = keysIn(await must("CreateAccessKey", { UserName: "anna" }));
  const anna = root.as(keys);
  succeeded(await anna.send("GetCallerIdentity"));
  const named = { UserName: "anna", AccessKeyId: keys.accessKeyId };
  await must("UpdateAccessKey", { ...named, Status: "Inactive" });
  refused(await anna.send("GetCallerIdentity"), 403, "InvalidClientTokenId");
  await must("UpdateAccessKey", { ...named, Status: "Active" });
  succeeded(await anna.send("GetCallerIdentity"));
  await must("DeleteAccessKey", named);
  refused(await anna.send("GetCallerIdentity"), 403, "InvalidClientTokenId");
});

test("an unknown action or version is refused", async (t) => {
  const { root } = await started(t);
  refused(await root.send("BuyLunch"), 400, "InvalidAction");
  refused(await root.send("GetUser", { Version: "2011-06-15" }), 400, "InvalidAction");
});

test("a user that no policy allows anything may only ask who it is", async (t) => {
  const { root, must } = await started(t);
  await must("CreateUser", { UserName: "anna" });
  const anna = root.as(keysIn(await must("CreateAccessKey", { UserName: "anna" })));
  succeeded(await anna.send("GetCallerIdentity"));
  const denied = await anna.send("GetUser");
  refused(denied, 403, "AccessDenied");
  assert.match(denied.text, /user\/anna is not authorized to perform: iam:GetUser/);
  const PolicyArn = "arn:aws:iam::aws:policy/IAMReadOnlyAccess";
  await must("AttachUserPolicy", { UserName: "anna", PolicyArn });
  succeeded(await anna.send("GetUser"));
  refused(await anna.send("DeleteUser", { UserName: "anna" }), 403, "AccessDenied");
  const deny = { Effect: "Deny", Action: "iam:Get*", Resource: "*" };
  const PolicyDocument = JSON.stringify({ Version: "2012-10-17", Statement: deny });
  await must("PutUserPolicy", { UserName: "anna", PolicyName: "no", PolicyDocument });
  refused(await anna.send("GetUser"), 403, "AccessDenied");
});

test("single actions are denied to a caller by the control", async (t) => {
  const { fake, root, must } = await started(t);
  fake.control.permissions("holdfast", { deny: ["iam:GetUser"] });
  refused(await root.send("GetUser"), 403, "AccessDenied");
  await must("ListAccessKeys");
});

test("once its clock is moved, the fake also takes what is signed by the machine's", async (t) => {
  const now = () => Date.UTC(2026, 0, 1);
  const { fake, root, keys, must } = await started(t, { now });
  assert.equal(textOf(await must("GetUser"), "CreateDate"), "2026-01-01T00:00:00Z");
  succeeded(await root.as(keys, { at: now() }).send("GetUser"));
  const other = new RawClient(fake.url, keys, { at: Date.UTC(2025, 0, 1) });
  refused(await other.send("GetUser"), 403, "SignatureDoesNotMatch");
});
