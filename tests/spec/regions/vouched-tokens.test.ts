// A token that a region alone knows ends while what it asks for is on its way to the primary: T-B05 of docs/threats.md.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { STRAIGHT, type Way } from "../../../src/cluster/memory-carrier.ts";
import { type Answer, at } from "../../support/http-client.ts";
import { twoRegions } from "../../support/replication/regions/two-regions.ts";
import { until } from "../../support/until.ts";

const WRITER = 'path "kv/*" { capabilities = ["create", "read", "update"] }';

async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

/** A write by a token of the second region that is on its way to the first, and does not arrive before it is let. */
async function onItsWay(t: TestContext) {
  const arrive = Promise.withResolvers<void>();
  t.after(() => arrive.resolve());
  let isHeld = false;
  let held = 0;
  const way: Way = {
    ...STRAIGHT,
    pass: async (to) => {
      if (!isHeld || to === "client") return;
      held++;
      await arrive.promise;
    },
  };
  const regions = await twoRegions(t, { way });
  const { a, b, root } = regions;
  const mount = { type: "kv", options: { version: "1" } };
  await done(a.call("POST", "/v1/sys/mounts/kv", { token: root, body: mount }));
  for (const name of ["p", "q"]) {
    const body = { policy: WRITER };
    await done(a.call("POST", `/v1/sys/policies/acl/${name}`, { token: root, body }));
  }
  await regions.apply();
  const body = { Type: "client", Policies: ["p", "q"] };
  const made = await done(b.call("POST", "/v1/acl/token", { token: root, body }));
  const id = String(at(made, "AccessorID"));
  isHeld = true;
  const token = String(at(made, "SecretID"));
  let answer: Answer | null = null;
  void b
    .call("POST", "/v1/kv/s", { token, body: { x: 1 } })
    .then((one) => (answer = one))
    .catch(() => {}); // the server has stopped
  const writing = async (): Promise<Answer> => {
    await until(() => answer !== null);
    assert.ok(answer !== null);
    return answer;
  };
  await until(() => held === 1);
  isHeld = false;
  const written = async () => {
    arrive.resolve();
    // What is sent later has been answered: so has whatever came before it.
    await done(b.call("POST", "/v1/kv/later", { token: root, body: { x: 2 } }));
    return (await a.call("GET", "/v1/kv/s", { token: root })).status === 200;
  };
  return { a, b, root, id, writing, written };
}

test("T-B05 what a region has vouched for is refused as soon as the token is deleted there, and is not done", async (t) => {
  const { b, root, id, writing, written } = await onItsWay(t);
  await done(b.call("DELETE", `/v1/acl/token/${id}`, { token: root }));
  const refused = await writing();
  assert.equal(refused.status, 403, refused.text);
  assert.equal(await written(), false);
});

test("T-B05 one whose policies have changed meanwhile is not done by those of before", async (t) => {
  const { b, root, id, writing, written } = await onItsWay(t);
  const body = { AccessorID: id, Type: "client", Policies: ["p"] };
  await done(b.call("POST", `/v1/acl/token/${id}`, { token: root, body }));
  const refused = await writing();
  assert.equal(refused.status, 409, refused.text);
  assert.equal(refused.headers["x-service-error"], "vouched_rights_changed");
  assert.equal(await written(), false);
});

test("T-B05 a change that is not about its rights lets it go on", async (t) => {
  const { b, root, id, writing, written } = await onItsWay(t);
  const body = { AccessorID: id, Name: "other", Type: "client", Policies: ["p", "q"] };
  await done(b.call("POST", `/v1/acl/token/${id}`, { token: root, body }));
  assert.equal(await written(), true);
  await done(writing());
});
