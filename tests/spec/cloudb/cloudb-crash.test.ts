import assert from "node:assert/strict";
import { request } from "node:http";
import test from "node:test";
import type { FakeCloudB } from "../../fakes/cloudb/fake.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { done, HOUR, MINUTE, SECOND } from "../../support/servers/engine-server.ts";

/** Two roles and a group: every kind of call of an issue. */
async function wholeRole(server: CloudBServer, more: object = {}): Promise<void> {
  server.fake.control.makeGroup("people");
  server.fake.control.makeResourceGroup("web");
  await server.makeRole("r", {
    cloudb_roles: JSON.stringify([
      { role_name: "Reader", scope: server.scope },
      { role_name: "Contributor", scope: `${server.scope}/resourceGroups/web` },
    ]),
    cloudb_groups: JSON.stringify([{ group_name: "people" }]),
    ...more,
  });
}

/** The calls of a piece of work that change something, by their actions, in order. */
async function changesOf(server: CloudBServer, work: () => Promise<unknown>): Promise<string[]> {
  const { control } = server.fake;
  const before = control.calls().length;
  await work();
  return control
    .calls()
    .slice(before)
    .filter(({ action, method }) => method !== "GET" && action !== "token")
    .map(({ action }) => action);
}

/** How many of the same action come before each. */
function skips(actions: readonly string[]): readonly (readonly [string, number])[] {
  return actions.map((action, i) => {
    return [action, actions.slice(0, i).filter((other) => other === action).length];
  });
}

/** The process dies right before or after this call has its effect, and another one takes over. */
async function dieAt(
  server: CloudBServer,
  [action, skip]: readonly [string, number],
  when: "before" | "after",
  work: () => Promise<unknown>,
): Promise<void> {
  const { control } = server.fake;
  const last = control.calls().at(-1)?.number ?? 0;
  control.fault({ action, skip, effect: { kind: "hold", when } });
  const working = work().catch(() => null);
  await server.timed(control.held(last));
  await server.crash();
  await working;
  control.clearFaults();
}

/** Long enough for what is rolled back, and what is tried again. */
function rollback(server: CloudBServer): Promise<void> {
  return server.pass(13n * MINUTE, 30n * SECOND);
}

function added(fake: FakeCloudB, before: readonly string[]): readonly string[] {
  return fake.control.inventory().filter((line) => !before.includes(line));
}

test("B22, T-I14: a crash before or after any call of an issue leaves nothing behind", async (t) => {
  const server = await cloudbServer(t);
  await wholeRole(server);
  const before = server.fake.control.inventory();
  const actions = await changesOf(server, async () => {
    const { lease } = await server.creds("r");
    done(await server.revokeNow(lease));
    for (const { id } of server.fake.control.state().deletedItems) server.fake.control.remove(id);
  });
  const issue = actions.slice(0, 6);
  assert.deepEqual(issue, [
    "createApplication",
    "createServicePrincipal",
    "addServicePrincipalPassword",
    "putRoleAssignment",
    "putRoleAssignment",
    "addGroupMember",
  ]);
  assert.deepEqual(server.fake.control.inventory(), before);
  for (const call of skips(issue)) {
    for (const when of ["before", "after"] as const) {
      await dieAt(server, call, when, () => server.ask("GET", "cloudb/creds/r"));
      await rollback(server);
      assert.deepEqual(added(server.fake, before), [], `${when} ${call.join(" ")}`);
    }
  }
  assert.ok(await server.logsIn(await server.creds("r")));
});

test("B22: a crash in the middle of a revocation does not end it", async (t) => {
  const server = await cloudbServer(t);
  await wholeRole(server, { permanently_delete: true });
  const before = server.fake.control.inventory();
  const actions = await changesOf(server, async () => {
    const { lease } = await server.creds("r");
    done(await server.revokeNow(lease));
  });
  const revocation = actions.slice(6);
  assert.ok(revocation.length >= 6, revocation.join(" "));
  assert.deepEqual(added(server.fake, before), []);
  for (const call of skips(revocation)) {
    for (const when of ["before", "after"] as const) {
      const { lease } = await server.creds("r");
      await dieAt(server, call, when, () => server.revoke(lease));
      await rollback(server);
      assert.deepEqual(added(server.fake, before), [], `${when} ${call.join(" ")}`);
      assert.equal(await server.isThere(lease), false);
    }
  }
});

test("B33: a crash around the password of an existing application leaves only those of leases", async (t) => {
  const server = await cloudbServer(t);
  const { id } = server.fake.control.makeApplication("existing", 1);
  await server.makeRole("r", { application_object_id: id, cloudb_roles: "" });
  const kept = await server.creds("r");
  const before = server.fake.control.inventory();
  for (const when of ["before", "after"] as const) {
    const add = ["addApplicationPassword", 0] as const;
    await dieAt(server, add, when, () => server.ask("GET", "cloudb/creds/r"));
    await rollback(server);
    assert.deepEqual(server.fake.control.inventory(), before, `${when} adding`);
    const { lease } = await server.creds("r");
    const remove = ["removeApplicationPassword", 0] as const;
    await dieAt(server, remove, when, () => server.revoke(lease));
    await rollback(server);
    assert.deepEqual(server.fake.control.inventory(), before, `${when} removing`);
  }
  assert.ok(await server.logsIn(kept));
});

test("B34: a crash while a role makes its application leaves the role with it, or neither", async (t) => {
  const server = await cloudbServer(t);
  await wholeRole(server);
  const before = server.fake.control.inventory();
  const write = () => server.writeRole("kept", { persist_app: true });
  const actions = await changesOf(server, write);
  assert.ok(actions.length >= 3, actions.join(" "));
  const gone = async () => {
    const answer = await server.timed(server.ask("DELETE", "cloudb/roles/kept"));
    assert.ok(answer.status < 300 || answer.status === 404, answer.text);
    for (const { id } of server.fake.control.state().deletedItems) server.fake.control.remove(id);
  };
  await gone();
  assert.deepEqual(added(server.fake, before), []);
  for (const call of skips(actions)) {
    for (const when of ["before", "after"] as const) {
      await dieAt(server, call, when, write);
      await rollback(server);
      const read = await server.ask("GET", "cloudb/roles/kept");
      assert.ok(read.status === 200 || read.status === 404);
      const applications = added(server.fake, before).filter((line) =>
        line.startsWith("application"),
      );
      assert.equal(applications.length, read.status === 200 ? 1 : 0);
      await gone();
      assert.deepEqual(added(server.fake, before), [], `${when} ${call.join(" ")}`);
    }
  }
});

test("B23: a client that goes away in mid-issue leaves a lease or nothing", async (t) => {
  const server = await cloudbServer(t);
  await wholeRole(server);
  const { control } = server.fake;
  const before = control.inventory();
  control.fault({ action: "putRoleAssignment", effect: { kind: "hold", when: "before" } });
  const { hostname, port } = new URL(server.test.url);
  const headers = { "X-Service-Token": server.root };
  const sent = request({ host: hostname, port, path: "/v1/cloudb/creds/r", headers, agent: false });
  sent.on("error", () => {});
  sent.end();
  await control.held();
  sent.destroy();
  await server.pass(MINUTE);
  control.release();
  await server.pass(30n * MINUTE, 30n * SECOND);
  const listed = await server.ask("LIST", "sys/leases/lookup/cloudb/creds/r");
  // What was issued and then revoked can be restored, as the role allows; it is of no use to anybody.
  const left = () => added(server.fake, before).filter((line) => !line.startsWith("deleted"));
  if (listed.status === 404) {
    assert.deepEqual(left(), []);
  } else {
    const keys = listed.json as { data: { keys: string[] } };
    assert.equal(keys.data.keys.length, 1);
    const lines = left().map((line) => line.slice(0, line.indexOf(" ")));
    const whole = ["application", "assignment", "assignment", "member", "password", "principal"];
    assert.deepEqual(lines.toSorted(), whole);
    done(await server.revokeNow(`cloudb/creds/r/${keys.data.keys[0]}`));
    assert.deepEqual(left(), []);
  }
});

test("an answer that is lost after its effect makes nothing twice, and leaves nothing behind", async (t) => {
  const server = await cloudbServer(t);
  await wholeRole(server, { permanently_delete: true });
  const { control } = server.fake;
  const before = control.inventory();
  for (const action of [
    "createApplication",
    "createServicePrincipal",
    "addServicePrincipalPassword",
    "putRoleAssignment",
    "addGroupMember",
    "deleteRoleAssignment",
    "removeGroupMember",
    "deleteServicePrincipal",
    "deleteApplication",
    "purgeDeletedItem",
  ]) {
    control.fault({ action, effect: { kind: "lost" } });
    const answer = await server.askCreds("r");
    if (answer.status === 200) {
      const lines = added(server.fake, before).filter((line) => !line.startsWith("password"));
      assert.equal(lines.length, 5, `${action}: ${lines.join(", ")}`);
      const { lease_id: lease } = answer.json as { lease_id: string };
      await server.timed(server.revoke(lease, { sync: true }));
    } else {
      assert.equal(answer.status, 502, answer.text);
    }
    await server.pass(HOUR, MINUTE);
    assert.deepEqual(added(server.fake, before), [], action);
    control.clearFaults();
  }
});
