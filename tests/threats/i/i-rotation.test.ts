// Threats I13 to I17 through a whole server: root credentials that are rotated, credentials that nobody has
// recorded, answers in XML, static roles, and what cloud B must refuse. A process that dies at every single
// call: engines/clouda/root-rotation.test.ts, users.test.ts, tests/spec/cloudb/cloudb-crash.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { rootOf } from "../../../engines/clouda/provider/answer-xml.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import {
  dataOf,
  done,
  HOUR,
  MINUTE,
  refused,
  SECOND,
} from "../../support/servers/engine-server.ts";

for (const when of ["before", "after"] as const) {
  for (const action of ["CreateAccessKey", "DeleteAccessKey"]) {
    test(`T-I13: a server that dies ${when} ${action} of rotate-root has a root key that works`, async (t) => {
      const server = await cloudaServer(t);
      await server.makeRole("r");
      await server.dieAt(action, when, () => server.ask("POST", "clouda/config/rotate-root"));
      await server.creds("clouda/creds/r");
      await server.untilRolledBack(() => server.user("holdfast").keys.length === 1);
      const stored = dataOf(await server.ask("GET", "clouda/config/root"))["access_key"];
      assert.equal(server.user("holdfast").keys[0]?.id, stored);
      await server.creds("clouda/creds/r");
    });
  }
}

test("T-I13: with a second key at the provider nothing is rotated", async (t) => {
  const server = await cloudaServer(t);
  const { account } = server.fake.control;
  account.users.get("holdfast")?.keys.push(account.newKey("AKIA"));
  const before = server.user("holdfast").keys.map(({ id }) => id);
  const answer = await server.timed(server.ask("POST", "clouda/config/rotate-root"));
  refused(answer, 400, /already has two access keys/);
  assert.deepEqual(
    server.user("holdfast").keys.map(({ id }) => id),
    before,
  );
});

test("T-I14: what a server that dies has made at the provider is gone some minutes later", async (t) => {
  const server = await cloudaServer(t);
  await server.makeRole("r");
  for (const action of ["CreateUser", "AttachUserPolicy", "CreateAccessKey"]) {
    await server.dieAt(action, "after", () => server.ask("GET", "clouda/creds/r"));
    assert.equal(server.users().length, 1, action);
    await server.untilRolledBack(() => server.users().length === 0);
  }
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("T-I15: an answer with declarations, entities or prototypes in it is none", async (t) => {
  const server = await cloudaServer(t);
  await server.configure({ max_retries: 0 });
  await server.makeRole("r", { credential_type: "federation_token" });
  const user = (inside: string) =>
    `<GetFederationTokenResponse><GetFederationTokenResult>${inside}</GetFederationTokenResult></GetFederationTokenResponse>`;
  const bombs = [
    `<!DOCTYPE x [<!ENTITY a "b">]>${user("<Credentials>&a;</Credentials>")}`,
    user("<__proto__><polluted>1</polluted></__proto__>"),
    user(`<x ${'a="b" '.repeat(1000)}/>`),
    `${"<a>".repeat(10_000)}${"</a>".repeat(10_000)}`,
    "<GetUserResponse/>",
  ];
  for (const body of bombs) {
    server.fake.control.fault({ kind: "raw", action: "GetFederationToken", status: 200, body });
    const began = process.hrtime.bigint();
    refused(await server.askCreds("clouda/creds/r"), 502, /UnexpectedAnswer/);
    assert.ok(process.hrtime.bigint() - began < 15_000_000_000n); // not the minutes of a bomb
    if (body.length < 100) assert.equal(rootOf(body), "GetUserResponse"); // well-formed, and another's
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test("T-I16: a static role has a minute at least, and is rotated once in a period", async (t) => {
  const server = await cloudaServer(t);
  const { control } = server.fake;
  control.makeUser("app");
  const write = (rotation_period: unknown) =>
    server.timed(
      server.ask("POST", "clouda/static-roles/app", { username: "app", rotation_period }),
    );
  for (const short of [0, 1, 59, "59s", "-1h"]) {
    refused(await write(short), 400, /^rotation_period must be/);
  }
  assert.deepEqual(control.actions(), []);
  assert.equal((await write("1h")).status, 200);
  const current = async () =>
    String(dataOf(await server.ask("GET", "clouda/static-creds/app"))["access_key"]);
  const first = await current();
  await server.time.passSlowly(HOUR - MINUTE, MINUTE);
  await server.crash(); // whoever comes next knows when it is due
  await server.passUntil(async () => (await current()) !== first, SECOND);
  const second = await current();
  await server.crash();
  await server.time.passSlowly(50n * MINUTE, MINUTE);
  assert.equal(await current(), second);
  assert.equal(control.calls("CreateAccessKey").length, 2);
});

test("T-I17: cloud B shows no secret, and refuses what would delete or confuse", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { id } = control.makeApplication("theirs");
  const role = { application_object_id: id, permanently_delete: true };
  refused(
    await server.ask("POST", "cloudb/roles/r", role),
    400,
    /^permanently_delete must be false/,
  );
  done(await server.timed(server.ask("POST", "cloudb/roles/r", { application_object_id: id })));
  const later = { permanently_delete: true };
  refused(
    await server.ask("POST", "cloudb/roles/r", later),
    400,
    /^permanently_delete must be false/,
  );
  const read = await server.ask("GET", "cloudb/config");
  assert.ok(!read.text.includes("client_secret") && !read.text.includes(server.fake.clientSecret));
  const both = await server.ask("POST", "cloudb/config", { identity_token_audience: "x" });
  refused(both, 400, "client_secret and identity_token_audience exclude each other");
  assert.ok(!both.text.includes(server.fake.clientSecret));
});
