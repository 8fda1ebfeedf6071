// rotate-root when things go wrong in the middle: at every moment a key that works is stored, and in the end
// the user has one key. Through a server: tests/spec.

import assert from "node:assert/strict";
import test from "node:test";
import { MINUTE } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { cloudaType } from "../clouda.ts";
import { type CloudAStage, cloudaStage } from "../../../tests/support/servers/clouda-stage.ts";

const ROTATING = [
  "GetUser",
  "ListAccessKeys",
  "CreateAccessKey",
  "GetCallerIdentity",
  "GetCallerIdentity",
  "GetCallerIdentity",
  "DeleteAccessKey",
];
const never = new AbortController().signal;

function keys({ fake }: CloudAStage): string[] {
  const [user] = fake.control.state().users.filter(({ name }) => name === "holdfast");
  return (user?.keys ?? []).map(({ id }) => id);
}

async function stored({ engine }: CloudAStage): Promise<string> {
  return (await engine.rootConfig.read())?.accessKey ?? "";
}

/** All that a server does by itself in the minutes afterwards. */
async function settled(stage: CloudAStage): Promise<void> {
  stage.fake.control.calm();
  stage.clock.pass(6n * MINUTE);
  const { engine } = await stage.reopened();
  await stage.timed(engine.rotation.finish(never));
  assert.deepEqual(await stage.rollBack(), []);
}

/** The stored key works, it is the only one, and nothing is left to do. */
async function whole(stage: CloudAStage): Promise<void> {
  await (await stage.engine.clients.provider(never)).callerIdentity();
  assert.deepEqual(keys(stage), [await stored(stage)]);
  assert.deepEqual(stage.records(), []);
}

test("a rotation proves the new key before the old one goes", async (t) => {
  const stage = await cloudaStage(t);
  const before = await stored(stage);
  const { data } = await stage.write("config/rotate-root");
  assert.deepEqual(data, { access_key: await stored(stage) });
  assert.notEqual(await stored(stage), before);
  assert.deepEqual(stage.fake.control.actions(), ROTATING);
  const [deleted] = stage.fake.control.calls("DeleteAccessKey");
  assert.equal(deleted?.accessKeyId, before); // with the one that is known to be live
  await whole(stage);
});

for (const [at, action] of ROTATING.entries()) {
  const skip = ROTATING.slice(0, at).filter((earlier) => earlier === action).length;
  for (const when of ["before", "after"] as const) {
    test(`T-I13: a server that dies ${when} call ${at + 1}, ${action}, loses no key`, async (t) => {
      const stage = await cloudaStage(t);
      stage.fake.control.fault({ kind: "hold", action, when, skip });
      const rotating = stage.write("config/rotate-root").catch((error: unknown) => error);
      await stage.fake.control.whenHeld();
      stage.fake.control.cut(true);
      await rotating;
      stage.fake.control.cut(false);
      await settled(stage);
      await whole(stage);
      await stage.write("config/rotate-root");
      await whole(stage);
    });
  }

  test(`a refusal of call ${at + 1}, ${action}, leaves the old key or the new one`, async (t) => {
    const stage = await cloudaStage(t);
    const refusal = { code: "AccessDenied", message: "", status: 403, skip };
    stage.fake.control.fault({ kind: "error", action, ...refusal });
    const answer = await stage.write("config/rotate-root").catch((error: unknown) => error);
    if (at < 3) {
      assert.ok(
        answer instanceof Failure && answer.message.startsWith(`iam:${action}: AccessDenied`),
      );
    }
    await settled(stage);
    await whole(stage);
  });
}

test("two keys are refused before anything is made, and so is a limit that shows only then", async (t) => {
  const stage = await cloudaStage(t);
  const { account } = stage.fake.control;
  account.users.get("holdfast")?.keys.push(account.newKey("AKIA"));
  const text = /already has two access keys/;
  await assert.rejects(stage.write("config/rotate-root"), text);
  assert.deepEqual(stage.fake.control.calls("CreateAccessKey"), []);
  account.users.get("holdfast")?.keys.pop();
  const limit = { code: "LimitExceeded", message: "", status: 409, times: null };
  stage.fake.control.fault({ kind: "error", action: "CreateAccessKey", ...limit });
  await assert.rejects(stage.write("config/rotate-root"), text);
  assert.equal(stage.fake.control.calls("CreateAccessKey").length, 1);
  assert.deepEqual(stage.records(), []);
});

test("a key that cannot be deleted is told of, deleted later, and in nobody's way", async (t) => {
  const stage = await cloudaStage(t);
  const refusal = { code: "AccessDenied", message: "", status: 403 };
  stage.fake.control.fault({ kind: "error", action: "DeleteAccessKey", ...refusal });
  const { warnings } = await stage.write("config/rotate-root");
  assert.match(warnings.join(), /is still there; it is deleted later by itself/);
  assert.deepEqual(stage.records(), ["oldRootKey"]);
  assert.equal(keys(stage).length, 2);
  await stage.write("config/rotate-root"); // deletes it first: the provider allows two
  await whole(stage);
});

test("an operator's own new key survives, whatever is rolled back", async (t) => {
  const stage = await cloudaStage(t);
  const data = { username: "holdfast", keysBefore: keys(stage) };
  await stage.kept.writeAhead.begin("rootKey", data);
  stage.clock.pass(6n * MINUTE);
  const { account } = stage.fake.control;
  const own = account.newKey("AKIA");
  account.users.get("holdfast")?.keys.push(own);
  assert.deepEqual(await stage.rollBack(), []);
  assert.ok(keys(stage).includes(own.id));
});

test("an old key that an operator has put back is not deleted", async (t) => {
  const stage = await cloudaStage(t);
  const { accessKeyId, secretAccessKey } = stage.fake;
  const refusal = { code: "AccessDenied", message: "", status: 403 };
  stage.fake.control.fault({ kind: "error", action: "DeleteAccessKey", ...refusal });
  await stage.write("config/rotate-root");
  await stage.write("config/root", { access_key: accessKeyId, secret_key: secretAccessKey });
  await settled(stage);
  assert.ok(keys(stage).includes(accessKeyId));
  await (await stage.engine.clients.provider(never)).callerIdentity();
});

test("without stored keys there is nothing to rotate", async (t) => {
  const stage = await cloudaStage(t, { root: null });
  await assert.rejects(stage.write("config/rotate-root"), /needs access_key and secret_key/);
});

test("a period rotates by itself when it is due, once, and a failure is tried again later", async (t) => {
  const stage = await cloudaStage(t, { root: { rotation_period: "24h" } });
  const tick = () => stage.timed(cloudaType.periodic!(stage.engine, never));
  const first = await stored(stage);
  await tick();
  assert.equal(await stored(stage), first);
  stage.clock.pass(25n * 60n * MINUTE);
  const refusal = { code: "AccessDenied", message: "", status: 403 };
  stage.fake.control.fault({ kind: "error", action: "GetUser", ...refusal });
  await tick();
  await tick();
  assert.equal(await stored(stage), first);
  assert.ok(stage.lines.some((line) => line.includes("could not be rotated")));
  stage.clock.pass(61n * MINUTE);
  await tick();
  const second = await stored(stage);
  assert.notEqual(second, first);
  await tick();
  assert.equal(await stored(stage), second);
  await whole(stage);
  await stage.write("config/root", { disable_automated_rotation: true });
  stage.clock.pass(25n * 60n * MINUTE);
  await tick();
  assert.equal(await stored(stage), second);
});

test("a period needs keys to rotate and a minute at least", async (t) => {
  const stage = await cloudaStage(t);
  await assert.rejects(stage.write("config/root", { rotation_period: 59 }), /at least 60 seconds/);
  const none = await cloudaStage(t, { root: null });
  await assert.rejects(
    none.write("config/root", { rotation_period: "1h" }),
    /rotation_period needs access_key and secret_key/,
  );
});

for (const durable of [true, false]) {
  const what = durable ? "durable" : "lost";
  test(`T-I13: a rotation whose store failed is judged by what was stored: ${what}`, async (t) => {
    const stage = await cloudaStage(t);
    const before = await stored(stage);
    const { storage } = stage.kept;
    const write = storage.write.bind(storage);
    storage.write = async (fn) => {
      const undo = () => {
        throw new Error("not kept");
      };
      if (durable) await write(fn);
      else await write((tx) => [fn(tx)].map(undo)).catch(() => {});
      throw new Error("the writer died");
    };
    await assert.rejects(stage.write("config/rotate-root"), { code: "rotation-not-stored" });
    storage.write = write;
    assert.equal(keys(stage).length, 2);
    assert.deepEqual(stage.records(), [durable ? "oldRootKey" : "rootKey"]);
    await settled(stage);
    await whole(stage);
    assert.equal((await stored(stage)) === before, !durable);
  });
}

test("a rotation that was overtaken deletes its key at once", async (t) => {
  const stage = await cloudaStage(t);
  const { storage } = stage.kept;
  const write = storage.write.bind(storage);
  const change = { access_key: "AKIAOTHER", secret_key: "other-secret-key" };
  storage.write = async (fn) => {
    storage.write = write;
    const { access_key: accessKey, secret_key: secretKey } = change;
    await stage.engine.rootConfig.write({ accessKey, secretKey });
    return write(fn);
  };
  await assert.rejects(stage.write("config/rotate-root"), { code: "rotation-overtaken" });
  assert.deepEqual([keys(stage), stage.records()], [[stage.fake.accessKeyId], []]);
});
