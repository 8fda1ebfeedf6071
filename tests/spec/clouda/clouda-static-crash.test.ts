// The process dies before and after every call that static roles of clouda make: whatever is at the
// provider afterwards is accounted for, and a stored key works.

import assert from "node:assert/strict";
import test from "node:test";
import { type CloudAServer, cloudaServer } from "../../support/servers/cloud-server.ts";
import { absent, dataOf, done, MINUTE, SECOND } from "../../support/servers/engine-server.ts";

const PLACE = "clouda/static-roles/app";
const BODY = { username: "app", rotation_period: "24h" };

function keys(server: CloudAServer): string[] {
  return server.user("app").keys.map(({ id }) => id);
}

/** The stored key, which the provider must know. */
async function worksStill(server: CloudAServer): Promise<string> {
  const data = dataOf(await server.ask("GET", "clouda/static-creds/app"));
  const [accessKey, secretKey] = [String(data["access_key"]), String(data["secret_key"])];
  const none = { lease: "", seconds: 0, renewable: false, username: "", warnings: [] };
  const holder = { ...none, accessKey, secretKey, sessionToken: null };
  assert.match(await server.identity(holder), /:user\/app$/);
  return accessKey;
}

async function rolledBack(server: CloudAServer): Promise<void> {
  await server.untilRolledBack(() => server.storedKeys("/wal/").length === 0);
}

/** With two keys the first CreateAccessKey only finds out whether there may be another. */
const calls = [
  { action: "GetUser", skip: 0 },
  { action: "ListAccessKeys", skip: 0 },
  { action: "DeleteAccessKey", skip: 0 },
  { action: "CreateAccessKey", skip: 1 },
];

for (const when of ["before", "after"] as const) {
  for (const { action, skip } of calls) {
    test(`${when} ${action} of adopting a user: no key of ours is left`, async (t) => {
      const server = await cloudaServer(t);
      server.fake.control.makeUser("app", { keys: 2 });
      const foreign = keys(server);
      await server.dieAt(action, when, () => server.ask("POST", PLACE, BODY), { skip });
      await rolledBack(server);
      assert.ok(
        keys(server).every((id) => foreign.includes(id)),
        keys(server).join(),
      );
      assert.ok(keys(server).length >= 1);
      absent(await server.ask("GET", PLACE));
      const again = await server.timed(server.ask("POST", PLACE, BODY));
      assert.equal(again.status, 200, again.text);
      await worksStill(server);
    });

    test(`${when} ${action} of a rotation: the stored key works, and none is left over`, async (t) => {
      const server = await cloudaServer(t);
      server.fake.control.makeUser("app");
      await server.must("POST", PLACE, BODY);
      await server.must("POST", `${PLACE}/rotate`);
      const before = keys(server);
      const stored = await worksStill(server);
      await server.dieAt(action, when, () => server.ask("POST", `${PLACE}/rotate`), { skip });
      assert.equal(await worksStill(server), stored);
      await rolledBack(server);
      assert.equal(await worksStill(server), stored);
      assert.ok(
        keys(server).every((id) => before.includes(id)),
        keys(server).join(),
      );
      const again = await server.timed(server.ask("POST", `${PLACE}/rotate`));
      assert.equal(again.status, 200, again.text);
      const next = await worksStill(server);
      assert.deepEqual(keys(server).toSorted(), [stored, next].toSorted());
    });
  }

  test(`${when} DeleteAccessKey of deleting a static role: it can be deleted again`, async (t) => {
    const server = await cloudaServer(t);
    server.fake.control.makeUser("app");
    await server.must("POST", PLACE, BODY);
    await server.must("POST", `${PLACE}/rotate`);
    await server.dieAt("DeleteAccessKey", when, () => server.ask("DELETE", PLACE));
    await worksStill(server); // the one before goes first
    done(await server.timed(server.ask("DELETE", PLACE)));
    assert.deepEqual(keys(server), []);
  });

  test(`${when} DeleteAccessKey of the end of other keys: they end after all`, async (t) => {
    const server = await cloudaServer(t);
    server.fake.control.makeUser("app", { keys: 1 });
    const body = { ...BODY, overlap: "0s" };
    await server.dieAt("DeleteAccessKey", when, () => server.ask("POST", PLACE, body));
    const stored = await worksStill(server);
    await server.passUntil(() => keys(server).length === 1, SECOND);
    assert.deepEqual(keys(server), [stored]);
  });

  for (const { action, skip } of calls.slice(2)) {
    test(`${when} ${action} where the stored key is the oldest: another is made at once`, async (t) => {
      const server = await cloudaServer(t);
      const { control } = server.fake;
      control.makeUser("app");
      await server.must("POST", PLACE, BODY);
      const first = await worksStill(server);
      await server.time.pass(MINUTE);
      const own = control.account.newKey("AKIA"); // an operator's, newer than ours
      control.account.users.get("app")?.keys.push(own);
      await server.dieAt(action, when, () => server.ask("POST", `${PLACE}/rotate`), { skip });
      let second = first;
      await server.passUntil(async () => {
        const data = dataOf(await server.ask("GET", "clouda/static-creds/app"));
        second = String(data["access_key"]);
        return second !== first;
      }, SECOND);
      assert.equal(await worksStill(server), second);
      assert.deepEqual(keys(server).toSorted(), [own.id, second].toSorted());
      await rolledBack(server);
      assert.deepEqual(keys(server).toSorted(), [own.id, second].toSorted());
    });
  }
}

test("before anything is deleted the provider has been asked whether another key may be made", async (t) => {
  const server = await cloudaServer(t);
  server.fake.control.makeUser("app", { keys: 2 });
  const before = keys(server);
  await server.dieAt("CreateAccessKey", "before", () => server.ask("POST", PLACE, BODY));
  await rolledBack(server);
  assert.deepEqual(keys(server), before);
});
