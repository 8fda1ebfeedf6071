// After config/root has moved to another account nothing of the first one is taken for gone.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { type CloudAStage, cloudaStage } from "../../../tests/support/servers/clouda-stage.ts";
import { accountOf } from "./account.ts";

const ACCOUNT = "123456789012"; // of the fake
const OTHER = "999999999999";
const never = new AbortController().signal;

async function staged(t: Parameters<typeof cloudaStage>[0]): Promise<CloudAStage> {
  const stage = await cloudaStage(t);
  const policy_arns = ["arn:aws:iam::aws:policy/ReadOnlyAccess"];
  await stage.write("roles/app", { credential_type: "iam_user", policy_arns });
  stage.fake.control.forgetCalls();
  return stage;
}

function revoke(stage: CloudAStage, internal: JsonObject): Promise<unknown> {
  const now = stage.clock.now();
  const lease = { leaseId: "l", internal, issued: now - 10n * MINUTE, expires: now };
  const end = stage.tested.type.secrets?.["iam_user"]?.revoke;
  assert.ok(end !== undefined);
  return stage.timed(end(stage.engine, lease, never));
}

function isOtherAccount(error: unknown): boolean {
  assert.ok(error instanceof Failure, String(error));
  assert.deepEqual([error.kind, error.code], ["upstream", "other-account"]);
  assert.match(error.message, new RegExp(`${OTHER}.*${ACCOUNT}`));
  return true;
}

test("leases and records tell the account in which a user was made", async (t) => {
  const stage = await staged(t);
  const [first, second] = [await stage.read("creds/app"), await stage.read("creds/app")];
  assert.equal(first.lease?.internal["account"], ACCOUNT);
  assert.equal(second.lease?.internal["account"], ACCOUNT);
  const noted = stage.kept.writeAhead.page(undefined).map(({ data }) => data["account"]);
  assert.deepEqual(noted, [ACCOUNT, ACCOUNT]);
  assert.deepEqual(stage.fake.control.calls("GetCallerIdentity"), []); // the answers tell it
});

test("T-I02, T-I07: a user of another account is not taken for gone", async (t) => {
  const stage = await staged(t);
  const lease = { type: "iam_user", username: "service-x", role: "app" };
  await assert.rejects(revoke(stage, { ...lease, account: OTHER }), isOtherAccount);
  await revoke(stage, { ...lease, account: ACCOUNT });
  await revoke(stage, lease); // of an earlier version, which did not tell
});

test("T-I02: a user of the same name in this account is left alone", async (t) => {
  const stage = await staged(t);
  stage.fake.control.makeUser("service-x");
  await stage.read("creds/app"); // which tells what this account is
  const lease = { type: "iam_user", username: "service-x", role: "app", account: OTHER };
  await assert.rejects(revoke(stage, lease), isOtherAccount);
  assert.ok(stage.fake.control.state().users.some(({ name }) => name === "service-x"));
});

for (const [kind, data] of [
  ["user", { username: "service-x", path: "/" }],
  ["user", { username: "older", path: "/" }],
  ["rootKey", { username: "nobody", keysBefore: [] }],
  ["oldRootKey", { username: "nobody", accessKeyId: "AKIAOLD" }],
  ["staticKey", { role: "r", username: "nobody", keysBefore: [] }],
] as const) {
  const what = "username" in data ? data.username : "";
  test(`T-I07: a record "${kind}" of ${what} of another account is kept`, async (t) => {
    const stage = await staged(t);
    stage.fake.control.makeUser("older");
    stage.clock.pass(20n * MINUTE);
    await stage.kept.writeAhead.begin(kind, { ...data, keysBefore: [], account: OTHER });
    stage.clock.pass(6n * MINUTE);
    const [failed, ...more] = await stage.rollBack();
    assert.deepEqual(more, []);
    isOtherAccount(failed);
    assert.deepEqual(stage.records(), [kind]);
  });

  test(`a record "${kind}" of ${what} of this account, in which it is gone, goes`, async (t) => {
    const stage = await staged(t);
    stage.fake.control.makeUser("older");
    stage.clock.pass(20n * MINUTE);
    await stage.kept.writeAhead.begin(kind, { ...data, keysBefore: [], account: ACCOUNT });
    stage.clock.pass(6n * MINUTE);
    assert.deepEqual(await stage.rollBack(), []);
    assert.deepEqual(stage.records(), []);
  });
}

test("an old root key of another account keeps nobody from rotating the one of now", async (t) => {
  const stage = await staged(t);
  await stage.kept.storage.write((tx) => {
    const replacedKey = { id: "AKIAOLD", username: "nobody", account: OTHER, record: "r" };
    const { accessKeyId } = stage.fake;
    assert.ok(stage.engine.rootConfig.change(tx, accessKeyId, () => ({ replacedKey })));
  });
  await stage.timed(stage.engine.rotation.finish(never));
  assert.equal((await stage.engine.rootConfig.read())?.replacedKey?.id, "AKIAOLD");
  await stage.write("config/rotate-root");
});

test("a static role of another account is not deleted as if its keys were gone", async (t) => {
  const stage = await staged(t);
  stage.fake.control.makeUser("app");
  await stage.write("static-roles/app", { username: "app", rotation_period: "24h" });
  const { storage } = stage.kept;
  const codec = {
    encode: (role: JsonObject) => Buffer.from(JSON.stringify(role)),
    decode: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as JsonObject,
  };
  await storage.write((tx) => {
    const role = tx.get("static-roles/app", codec);
    assert.equal(role?.["account"], ACCOUNT);
    tx.put("static-roles/app", { ...role, account: OTHER }, codec);
  });
  const remove = (query: Record<string, string>) =>
    stage.timed(stage.tested.ask("DELETE", "static-roles/app", { query }));
  await assert.rejects(remove({}), isOtherAccount);
  await stage.read("static-creds/app");
  await remove({ force: "true" });
});

test("an ARN tells its account, or none", () => {
  assert.equal(accountOf(`arn:aws:iam::${ACCOUNT}:user/a/b`), ACCOUNT);
  assert.equal(accountOf("arn:aws:iam::aws:policy/x"), null);
  assert.equal(accountOf(""), null);
});
