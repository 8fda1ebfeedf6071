// Keys of static roles where something comes in between: a root key among them, a store that fails, somebody
// who changes the role. Through a server: tests/spec/clouda/.

import assert from "node:assert/strict";
import test from "node:test";
import { HOUR, MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { type CloudAStage, cloudaStage } from "../../../tests/support/servers/clouda-stage.ts";
import { retireOthers } from "./static-keys.ts";

const PLACE = "static-roles/app";
const never = new AbortController().signal;

function keys({ fake }: CloudAStage): string[] {
  const [user] = fake.control.state().users.filter(({ name }) => name === "app");
  return (user?.keys ?? []).map(({ id }) => id);
}

async function current({ engine }: CloudAStage) {
  const { creds } = await engine.staticRoles.read("app");
  return { access_key: creds.accessKey, secret_key: creds.secretKey };
}

/** An adopted user, who may do everything and has a key of its own besides. */
async function adopted(t: Parameters<typeof cloudaStage>[0]) {
  const stage = await cloudaStage(t);
  const own = stage.fake.control.makeUser("app", { allow: ["*"], keys: 1 });
  await stage.write(PLACE, { username: "app", rotation_period: "24h" });
  const root = { access_key: own.accessKeyId, secret_key: own.secretAccessKey };
  return { stage, root };
}

test("T-I13: a rotation does not delete the key that this service calls with", async (t) => {
  const { stage, root } = await adopted(t);
  await stage.write("config/root", root);
  const before = keys(stage);
  await assert.rejects(stage.write(`${PLACE}/rotate`), /that this service itself calls with/);
  assert.deepEqual([keys(stage), stage.records()], [before, []]);
  await (await stage.engine.clients.provider(never)).callerIdentity();
});

test("T-I13: nor does it where that key comes from the environment", async (t) => {
  const found: Record<string, string> = {};
  const stage = await cloudaStage(t, {
    around: { environment: (name: string) => found[name] ?? null },
  });
  const own = stage.fake.control.makeUser("app", { allow: ["*"], keys: 1 });
  await stage.write(PLACE, { username: "app", rotation_period: "24h" });
  found["CLOUDA_ACCESS_KEY"] = own.accessKeyId;
  found["CLOUDA_SECRET_KEY"] = own.secretAccessKey;
  await stage.write("config/root", { access_key: "", secret_key: "" });
  await assert.rejects(stage.write(`${PLACE}/rotate`), /that this service itself calls with/);
  assert.ok(keys(stage).includes(own.accessKeyId));
});

test("T-I13: nor does the end of other keys, which then ends none", async (t) => {
  const { stage, root } = await adopted(t);
  await stage.write("config/root", root);
  const before = keys(stage);
  const state = await stage.engine.staticRoles.read("app");
  const forget = () => assert.fail("nothing is gone");
  const retiring = stage.timed(retireOthers(stage.engine, state, never, forget));
  await assert.rejects(retiring, /that this service itself calls with/);
  assert.deepEqual(keys(stage), before);
});

test("T-I13: nor does deleting the static role whose key it is", async (t) => {
  const { stage } = await adopted(t);
  await stage.write("config/root", await current(stage));
  const remove = stage.timed(stage.tested.ask("DELETE", PLACE));
  await assert.rejects(remove, /that this service itself calls with/);
  await (await stage.engine.clients.provider(never)).callerIdentity();
});

for (const durable of [true, false]) {
  const what = durable ? "durable" : "lost";
  test(`T-I13: a key whose store failed is judged by what was stored: ${what}`, async (t) => {
    const { stage } = await adopted(t);
    const { storage } = stage.kept;
    const write = storage.write.bind(storage);
    let writes = 0;
    storage.write = async (fn) => {
      if (++writes === 1) return write(fn); // the note
      if (durable) await write(fn);
      else await write((tx: EngineTx) => [fn(tx)].map(() => undo())).catch(() => {});
      throw new Error("the writer died");
    };
    await assert.rejects(stage.write(`${PLACE}/rotate`), /the writer died/);
    storage.write = write;
    assert.deepEqual(stage.records(), durable ? [] : ["staticKey"]);
    stage.clock.pass(6n * MINUTE);
    assert.deepEqual(await stage.rollBack(), []);
    const { access_key } = await current(stage);
    assert.ok(keys(stage).includes(access_key));
    assert.equal(keys(stage).length, durable ? 2 : 1); // the foreign one made way for the new one
  });
}

function undo(): never {
  throw new Error("not kept");
}

test("S6: a period that is written while a key is made counts for that key", async (t) => {
  const { stage } = await adopted(t);
  const { control } = stage.fake;
  const id = control.fault({ kind: "hold", action: "CreateAccessKey", when: "before" });
  const rotating = stage.tested.ask("POST", `${PLACE}/rotate`);
  await control.whenHeld();
  await stage.tested.ask("POST", PLACE, { body: { rotation_period: "1h" } });
  control.faults.remove(id);
  control.release();
  await stage.timed(rotating);
  const { role, creds } = await stage.engine.staticRoles.read("app");
  assert.equal(role.rotationPeriod, 3600);
  assert.equal((creds.expiration - creds.createdAt) / SECOND, 3600n);
});

/** Time passes, and what is due is done. */
function pass(stage: CloudAStage, length: bigint): Promise<void> {
  const { timers } = stage.engine.needs;
  return stage.timed(new Promise((resolve) => void timers.after(length, resolve)));
}

test("who takes the place of another cluster rotates a minute later, and only where the stored key is at the provider", async (t) => {
  const { stage } = await adopted(t);
  const { staticRoles } = stage.engine;
  const takeOver = async () => {
    await staticRoles.rest();
    stage.clock.pass(25n * HOUR);
    staticRoles.lead({ tookOverAt: stage.clock.now() });
  };
  const first = await current(stage);
  await takeOver();
  await pass(stage, 59n * SECOND);
  assert.deepEqual(await current(stage), first);
  await pass(stage, 5n * SECOND);
  const second = await current(stage);
  assert.notEqual(second.access_key, first.access_key);

  stage.fake.control.removeKey("app", second.access_key);
  const before = keys(stage);
  await takeOver();
  await pass(stage, 70n * SECOND);
  assert.deepEqual([keys(stage), await current(stage)], [before, second]);
  const { creds } = await staticRoles.read("app");
  assert.match(creds.lastError, /is not at the provider: another cluster/);
  await stage.write(`${PLACE}/rotate`);
  const third = await current(stage);
  assert.ok(keys(stage).includes(third.access_key));

  // A key that was made since is this cluster's own: where somebody has removed it, another is made.
  stage.fake.control.removeKey("app", third.access_key);
  stage.clock.pass(25n * HOUR);
  await pass(stage, 11n * MINUTE);
  assert.notEqual((await current(stage)).access_key, third.access_key);
});
