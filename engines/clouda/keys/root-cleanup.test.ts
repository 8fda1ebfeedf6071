// Rotations of the root key and what else is under way: undoing waits for them, requests go on with the new
// key.

import { OWN_WORK } from "@holdfast/shared/waiting";
import assert from "node:assert/strict";
import test from "node:test";
import { cloudaStage } from "../../../tests/support/servers/clouda-stage.ts";
import { cloudaType } from "../clouda.ts";

const never = new AbortController().signal;

test("a key that came to nothing goes with its user", async (t) => {
  const stage = await cloudaStage(t);
  await stage.kept.writeAhead.begin("rootKey", { username: "gone", keysBefore: [] });
  assert.deepEqual(await stage.rollBack(), []);
  assert.deepEqual(stage.records(), []);
});

for (const kind of ["rootKey", "oldRootKey"] as const) {
  test(`a record "${kind}" is not undone while the key is being rotated`, async (t) => {
    const stage = await cloudaStage(t);
    const data = { username: "holdfast", keysBefore: [], accessKeyId: "AKIAOLD" };
    const id = await stage.kept.writeAhead.begin(kind, data);
    const record = stage.kept.writeAhead.page(undefined).find((one) => one.id === id);
    assert.ok(record !== undefined);
    let free: () => void = () => {};
    const held = stage.engine.locks.run(
      "root",
      OWN_WORK,
      () => new Promise<void>((go) => (free = go)),
    );
    let over = false;
    const undoing = cloudaType.undo?.[kind]?.(stage.engine, record, never).then(() => {
      over = true;
    });
    await (await stage.engine.clients.provider(never)).callerIdentity();
    await (await stage.engine.clients.provider(never)).callerIdentity();
    assert.deepEqual(stage.fake.control.actions(), ["GetCallerIdentity", "GetCallerIdentity"]);
    assert.equal(over, false);
    free();
    await held;
    await stage.timed(Promise.resolve(undoing));
    assert.equal(over, true);
  });
}

test("a request under way goes on with the new key when its old one is gone", async (t) => {
  const stage = await cloudaStage(t);
  const policy_arns = ["arn:aws:iam::aws:policy/ReadOnlyAccess"];
  await stage.write("roles/app", { credential_type: "iam_user", policy_arns });
  const { control } = stage.fake;
  control.fault({ kind: "throttle", action: "AttachUserPolicy", retryAfter: 5, times: 2 });
  const asking = stage.tested.ask("GET", "creds/app");
  const rotating = stage.tested.ask("POST", "config/rotate-root");
  await stage.timed(Promise.all([asking, rotating]));
  const now = (await stage.engine.rootConfig.read())?.accessKey;
  const signers = control.calls("AttachUserPolicy").map(({ accessKeyId }) => accessKeyId);
  assert.deepEqual([signers.at(0), signers.at(-1)], [stage.fake.accessKeyId, now]);
  const [last] = control.calls("CreateAccessKey").slice(-1);
  assert.equal(last?.accessKeyId, now); // and stays with it
});
