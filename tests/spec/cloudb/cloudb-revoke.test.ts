// What becomes of credentials of cloudb when their lease ends: cases B27 to B30 of docs/cases/cloud-engines.md.

import assert from "node:assert/strict";
import test from "node:test";
import type { Effect } from "../../fakes/cloudb/faults.ts";
import {
  type CloudBServer,
  cloudbServer,
  type Credentials,
} from "../../support/servers/cloudb-server.ts";
import { dataOf, HOUR, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

async function issued(server: CloudBServer, more: object = {}): Promise<Credentials> {
  const { scope, fake } = server;
  const group = fake.control.makeGroup("ops");
  const roles = ["Reader", "Owner"].map((role_name) => ({ role_name, scope }));
  await server.makeRole("r", {
    cloudb_roles: roles,
    cloudb_groups: [{ object_id: group }],
    ...more,
  });
  const credentials = await server.creds("r");
  fake.control.clearCalls();
  return credentials;
}

const actions = (server: CloudBServer) =>
  server.fake.control.actions().filter((action) => action !== "token");
const alive = (server: CloudBServer) =>
  server.fake.control
    .inventory()
    .filter((line) => /^(application|principal) .*service-|^assignment|^member/.test(line));
const deleted = (server: CloudBServer) =>
  server.fake.control.inventory().filter((line) => line.startsWith("deleted"));

test("B27: what a lease stands for is taken away in order, and could be restored", async (t) => {
  const server = await cloudbServer(t);
  const credentials = await issued(server);
  assert.equal((await server.revokeNow(credentials.lease)).status, 204);
  assert.deepEqual(actions(server), [
    "deleteRoleAssignment",
    "deleteRoleAssignment",
    "removeGroupMember",
    "deleteServicePrincipal",
    "deleteApplication",
  ]);
  assert.deepEqual(alive(server), []);
  assert.equal(deleted(server).length, 2);
  assert.equal(await server.logsIn(credentials), false);
});

test("B27: with permanently_delete nothing can be restored, also where it shows up late", async (t) => {
  const server = await cloudbServer(t);
  const credentials = await issued(server, { permanently_delete: true });
  server.fake.control.set({ lags: { deletedItems: { seconds: 10 } } });
  assert.equal((await server.revokeNow(credentials.lease)).status, 204);
  assert.deepEqual([...alive(server), ...deleted(server)], []);
  assert.ok(actions(server).filter((action) => action === "purgeDeletedItem").length > 2);
});

test("B27: a lease goes by what its role said when it was issued", async (t) => {
  const server = await cloudbServer(t);
  const { lease } = await issued(server, { permanently_delete: true });
  await server.makeRole("r", { permanently_delete: false, cloudb_groups: [] });
  await server.revokeNow(lease);
  assert.deepEqual([...alive(server), ...deleted(server)], []);
});

test("B28: what somebody has removed by hand is revoked already", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const application = ({ clientId }: Credentials) =>
    control.state().applications.find(({ appId }) => appId === clientId)?.id ?? "";
  for (const permanently_delete of [false, true]) {
    const credentials = await issued(server, { permanently_delete, cloudb_groups: [] });
    control.remove(application(credentials));
    assert.equal((await server.revokeNow(credentials.lease)).status, 204);
    assert.deepEqual(alive(server), []);
  }
  const made = control.makeApplication("theirs");
  await server.makeRole("app", { cloudb_roles: "[]", application_object_id: made.id });
  const first = await server.creds("app");
  const second = await server.creds("app");
  const passwords = control.tenant.directory.applications.get(made.id)?.passwords;
  passwords?.splice(0, 1);
  assert.equal((await server.revokeNow(first.lease)).status, 204);
  control.remove(made.id);
  assert.equal((await server.revokeNow(second.lease)).status, 204);
});

test("B29: an assignment under a lock does not keep the lease; it is an orphan at once", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const credentials = await issued(server);
  control.set({ locks: [server.scope] });
  assert.equal((await server.revokeNow(credentials.lease)).status, 204);
  assert.equal(await server.isThere(credentials.lease), false);
  assert.equal(await server.logsIn(credentials), false);
  assert.equal(control.state().roleAssignments.length, 2);
  const orphans = dataOf(await server.ask("LIST", "cloudb/orphans"));
  const [id = ""] = orphans["keys"] as string[];
  const info = (orphans["key_info"] as Record<string, Record<string, unknown>>)[id];
  assert.equal(info?.["kind"], "assign");
  assert.match(
    String(info?.["last_error"]),
    /^removing role assignment \/subscriptions.*ScopeLocked/,
  );
  control.set({ locks: [] });
  await server.pass(7n * HOUR, 5n * MINUTE);
  assert.deepEqual(control.state().roleAssignments, []);
  assert.equal((await server.ask("LIST", "cloudb/orphans")).status, 404);
});

test("B30: a membership goes, never the member", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { lease } = await issued(server);
  const [group] = control.state().groups;
  const user = control.makeUser("somebody");
  control.tenant.directory.groups.get(group?.id ?? "")?.members.add(user);
  control.fault({ action: "deleteServicePrincipal", effect: { kind: "hold", when: "before" } });
  const answering = server.revoke(lease, { sync: true });
  await server.timed(control.held());
  const removals = control.calls().filter(({ path }) => path.includes("/members/"));
  const { servicePrincipals, groups } = control.state();
  control.release();
  assert.equal((await server.timed(answering)).status, 204);
  assert.ok(removals.length === 1 && removals.every(({ path }) => path.endsWith("/$ref")));
  assert.equal(servicePrincipals.length, 2, "the root's and this one");
  assert.deepEqual(groups[0]?.members, [user]);
  assert.deepEqual(
    control.state().users.map(({ id }) => id),
    [user],
  );
});

test("T-I12: two roles that share a group: one lease ends, the other is as it was", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const group = control.makeGroup("shared");
  for (const name of ["a", "b"])
    await server.makeRole(name, { cloudb_groups: [{ object_id: group }] });
  const [a, b] = [await server.creds("a"), await server.creds("b")];
  await server.revokeNow(a.lease);
  const principal = control.state().servicePrincipals.find(({ appId }) => appId === b.clientId);
  assert.deepEqual(control.state().groups[0]?.members, [principal?.id]);
  assert.deepEqual(
    control.state().roleAssignments.map(({ principalId }) => principalId),
    [principal?.id],
  );
  assert.ok(await server.logsIn(b));
});

test("where the resource manager is down the application goes first, and the rest later", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const scopes = ["a", "b", "c", "d"].map((name) => `${server.scope}/resourceGroups/${name}`);
  for (const name of ["a", "b", "c", "d"]) control.makeResourceGroup(name);
  const cloudb_roles = scopes.map((scope) => ({ role_name: "Reader", scope }));
  await server.makeRole("r", { cloudb_roles });
  const credentials = await server.creds("r");
  control.clearCalls();
  control.fault({ action: "deleteRoleAssignment", effect: { kind: "unavailable" }, times: 0 });
  assert.equal((await server.revokeNow(credentials.lease)).status, 204);
  assert.equal(await server.logsIn(credentials), false);
  assert.deepEqual(actions(server), [
    "deleteRoleAssignment",
    "deleteRoleAssignment",
    "deleteServicePrincipal",
    "deleteApplication",
    "deleteRoleAssignment",
  ]);
  assert.equal(control.state().roleAssignments.length, 4);
  control.clearFaults();
  await server.pass(15n * MINUTE);
  assert.deepEqual(alive(server), []);
});

const TROUBLE: Readonly<Record<string, Effect>> = {
  "400": { kind: "refuse", status: 400, code: "Request_BadRequest" },
  "403": { kind: "refuse", status: 403, code: "Authorization_RequestDenied" },
  "409": { kind: "refuse", status: 409, code: "Conflict" },
  "429": { kind: "throttle" },
  "500": { kind: "refuse", status: 500, code: "InternalServerError" },
  close: { kind: "reset" },
  lie: { kind: "lie" },
  garbage: { kind: "garbage" },
  redirect: { kind: "redirect", location: "http://127.0.0.1:9/" },
};

for (const [name, effect] of Object.entries(TROUBLE)) {
  test(`T-I07: an application or a password that cannot be removed (${name}) keeps its lease, and is tried again`, async (t) => {
    const server = await cloudbServer(t);
    const { control } = server.fake;
    const principal = await issued(server);
    const theirs = control.makeApplication("theirs");
    await server.makeRole("app", { cloudb_roles: "[]", application_object_id: theirs.id });
    const password = await server.creds("app");
    for (const action of ["deleteApplication", "removeApplicationPassword"]) {
      control.fault({ action, effect, times: 0 });
    }
    for (const { lease } of [principal, password]) {
      const answer = await server.revokeNow(lease);
      assert.ok([400, 502].includes(answer.status), `${answer.status} ${answer.text}`);
      assert.ok(await server.isThere(lease));
    }
    control.clearFaults();
    await server.passUntil(async () => {
      const there = [await server.isThere(principal.lease), await server.isThere(password.lease)];
      return !there.includes(true);
    });
    assert.deepEqual(alive(server), []);
    assert.equal(await server.logsIn(password), false);
  });
}

test("T-I07: a provider that never answers does not hold a revocation for ever", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { lease } = await issued(server);
  control.fault({ action: "deleteApplication", effect: { kind: "hang" } });
  await server.timed(server.revoke(lease));
  await server.passUntil(async () => !(await server.isThere(lease)));
  assert.deepEqual(alive(server), []);
});

test("a provider that throttles is left alone, and the lease is revoked in the end", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("r");
  const leases = [];
  for (let i = 0; i < 8; i++) leases.push((await server.creds("r")).lease);
  control.fault({ action: "*", effect: { kind: "throttle", retryAfter: 2 }, every: 2, times: 0 });
  await server.timed(server.ask("POST", "sys/leases/revoke-prefix/cloudb/creds/r", {}));
  for (const lease of leases) {
    await server.passUntil(async () => !(await server.isThere(lease)), SECOND);
  }
  assert.deepEqual(alive(server), []);
  const stuck = await server.ask("GET", "sys/leases?type=irrevocable");
  assert.equal(at(stuck, "data", "lease_count") ?? 0, 0, stuck.text);
});

const STEPS = [
  "deleteRoleAssignment",
  "removeGroupMember",
  "deleteServicePrincipal",
  "deleteApplication",
  "purgeDeletedItem",
];

for (const action of STEPS) {
  for (const when of ["before", "after"] as const) {
    test(`a crash ${when} ${action} in a revocation leaves nothing behind`, async (t) => {
      const server = await cloudbServer(t);
      const { control } = server.fake;
      const { lease } = await issued(server, { permanently_delete: true });
      control.fault({ action, effect: { kind: "hold", when } });
      const answering = server.revoke(lease, { sync: true }).catch(() => null);
      await server.timed(control.held());
      await server.crash();
      await answering;
      await server.revokeNow(lease);
      await server.passUntil(async () => !(await server.isThere(lease)));
      assert.deepEqual([...alive(server), ...deleted(server)], []);
    });
  }
}

test("a mount that is disabled takes all that it has made with it", async (t) => {
  const server = await cloudbServer(t);
  await issued(server);
  await server.creds("r");
  const disabled = await server.timed(server.ask("DELETE", "sys/mounts/cloudb"));
  assert.equal(disabled.status, 204, disabled.text);
  assert.deepEqual(alive(server), []);
});

test("a mount whose assignments cannot be removed is not disabled: nothing would tell of them any more", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await issued(server);
  control.set({ locks: [server.scope] });
  const stopped = await server.timed(server.ask("DELETE", "sys/mounts/cloudb"));
  assert.ok(stopped.status >= 400, stopped.text);
  assert.match(stopped.text, /ScopeLocked/);
  control.set({ locks: [] });
  const disabled = await server.timed(server.ask("DELETE", "sys/mounts/cloudb"));
  assert.equal(disabled.status, 204, disabled.text);
  assert.deepEqual(alive(server), []);
});

test("a lease of a mount that has lost its configuration stays, and is revoked once there is one", async (t) => {
  const server = await cloudbServer(t);
  const { lease } = await issued(server);
  const gone = await server.ask("DELETE", "cloudb/config");
  assert.match(String(at(gone, "warnings", 0)), /^1 leases remain/);
  refused(await server.revokeNow(lease), 400, /engine is not configured$/);
  await server.configure();
  await server.passUntil(async () => !(await server.isThere(lease)));
  assert.deepEqual(alive(server), []);
});

test("T-I07: a lease of one tenant is not looked for in another", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { lease } = await issued(server);
  const theirs = control.makeApplication("theirs");
  await server.makeRole("app", { cloudb_roles: "[]", application_object_id: theirs.id });
  const password = await server.creds("app");
  await server.configure({ tenant_id: "00000000-0000-4000-8000-00000000000a" });
  control.clearCalls();
  for (const id of [lease, password.lease]) {
    refused(
      await server.revokeNow(id),
      502,
      /made in tenant .*, and the configuration is of another$/,
    );
  }
  assert.deepEqual(control.actions(), []);
  await server.configure();
  for (const id of [lease, password.lease]) {
    await server.passUntil(async () => !(await server.isThere(id)));
  }
  assert.deepEqual(alive(server), []);
});
