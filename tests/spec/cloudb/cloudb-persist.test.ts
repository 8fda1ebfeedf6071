// Roles of cloudb that keep one application: cases B34 and B35 of docs/cases/cloud-engines.md.

import assert from "node:assert/strict";
import test from "node:test";
import type { LeasesOfMembers } from "../../../src/replication/sending/counting-leases.ts";
import { regionsAnswer } from "../../support/replication/leases-elsewhere.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { absent, dataOf, done, MINUTE, refused } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

function write(server: CloudBServer, body: object) {
  return server.timed(server.ask("POST", "cloudb/roles/r", body));
}

const read = async (server: CloudBServer) => dataOf(await server.ask("GET", "cloudb/roles/r"));
const applications = (server: CloudBServer) =>
  server.fake.control.state().applications.filter(({ displayName }) => displayName !== "root");
const ours = (server: CloudBServer) =>
  server.fake.control
    .inventory()
    .filter((line) => /service-|^assignment|^member/.test(line) && !line.startsWith("deleted"));
const assigned = (server: CloudBServer) =>
  server.fake.control
    .state()
    .roleAssignments.map(
      ({ roleDefinitionId, scope }) => `${roleDefinitionId.split("/").at(-1)} ${scope}`,
    )
    .toSorted();

const READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7";
const OWNER = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635";

test("B34: one application for the life of the role, whose passwords are given", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { scope } = server;
  const [a, b] = [control.makeGroup("a"), control.makeGroup("b")];
  await server.makeRole("r", { persist_app: true, cloudb_groups: [{ object_id: a }] });
  const [application, ...more] = applications(server);
  assert.deepEqual(more, []);
  assert.match(application?.displayName ?? "", /^service-r-\d{10}-[0-9a-f]{8}$/);
  const role = await read(server);
  assert.equal(role["application_object_id"], application?.id);
  assert.deepEqual([role["managed_application"], role["persist_app"]], [true, true]);

  const first = await server.creds("r");
  const second = await server.creds("r");
  assert.ok(first.clientId === application?.appId && second.clientId === first.clientId);
  assert.ok((await server.logsIn(first)) && (await server.logsIn(second)));
  await server.revokeNow(first.lease);
  assert.ok(!(await server.logsIn(first)) && (await server.logsIn(second)));

  // What is new is added before what is no more is taken away.
  control.clearCalls();
  const roles = [{ role_name: "Owner", scope }];
  done(await write(server, { cloudb_roles: roles, cloudb_groups: [{ object_id: b }] }));
  const steps = [
    "putRoleAssignment",
    "addGroupMember",
    "deleteRoleAssignment",
    "removeGroupMember",
  ];
  assert.deepEqual(
    control.actions().filter((action) => steps.includes(action)),
    steps,
  );
  assert.deepEqual(assigned(server), [`${OWNER} ${scope}`]);
  const members = control.state().groups.map(({ members }) => members.length);
  assert.deepEqual(members, [0, 1]);
  assert.equal(applications(server).length, 1);
  assert.ok(await server.logsIn(second));

  const gone = await server.timed(server.ask("DELETE", "cloudb/roles/r"));
  assert.match(
    String(at(gone, "warnings", 0)),
    /^1 lease of this role stay: their passwords have ended/,
  );
  assert.deepEqual(ours(server), []);
  absent(await server.ask("GET", "cloudb/roles/r"));
  assert.equal((await server.revokeNow(second.lease)).status, 204);
});

test("B34: what a read shows can be written back", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { persist_app: true, permanently_delete: true });
  const before = ours(server);
  const { managed_application: _, ...role } = await read(server);
  done(await write(server, role));
  assert.deepEqual(ours(server), before);
  done(await server.timed(server.ask("DELETE", "cloudb/roles/r")));
  assert.deepEqual(
    server.fake.control.inventory().filter((line) => line.includes("service-")),
    [],
  );
});

test("B34: an unchanged role changes nothing at the provider", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { persist_app: true });
  server.fake.control.clearCalls();
  done(await write(server, { ttl: "1h" }));
  assert.deepEqual(server.fake.control.actions(), []);
});

test("B34: the same role on the same scope, spelt otherwise, stays given", async (t) => {
  const server = await cloudbServer(t);
  const { scope } = server;
  await server.makeRole("r", { persist_app: true });
  const role_id = `/providers/Microsoft.Authorization/roleDefinitions/${READER}`;
  for (const same of [
    { role_name: "Reader", scope: `${scope.toUpperCase()}/` },
    { role_id, scope },
  ]) {
    done(await write(server, { cloudb_roles: [same] }));
    await server.pass(12n * MINUTE);
    assert.deepEqual(assigned(server), [`${READER} ${scope}`]);
  }
});

test("B34: where what is new cannot be added, the role and what it has stay as they were", async (t) => {
  const server = await cloudbServer(t);
  const { scope } = server;
  await server.makeRole("r", { persist_app: true });
  const [before, role] = [ours(server), await read(server)];
  const refuse = { kind: "refuse", status: 403, code: "AuthorizationFailed" } as const;
  server.fake.control.fault({ action: "putRoleAssignment", effect: refuse, skip: 1 });
  const roles = ["Owner", "Contributor"].map((role_name) => ({ role_name, scope }));
  refused(await write(server, { cloudb_roles: roles }), 400, /AuthorizationFailed/);
  assert.deepEqual(ours(server), before);
  assert.deepEqual(await read(server), role);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

for (const how of ["by itself", "with the next write"]) {
  test(`B34: what cannot be taken away is a warning, and goes ${how}`, async (t) => {
    const server = await cloudbServer(t);
    const { scope, fake } = server;
    await server.makeRole("r", { persist_app: true });
    fake.control.set({ locks: [scope] });
    const changed = await write(server, { cloudb_roles: [{ role_name: "Owner", scope }] });
    assert.match(String(at(changed, "warnings", 0)), /ScopeLocked.*; it will be tried again$/);
    await server.pass(12n * MINUTE);
    assert.deepEqual(assigned(server), [`${OWNER} ${scope}`, `${READER} ${scope}`]);
    fake.control.set({ locks: [] });
    if (how === "by itself") await server.pass(5n * MINUTE);
    else done(await write(server, { ttl: "1h" }));
    assert.deepEqual(assigned(server), [`${OWNER} ${scope}`]);
    await server.pass(5n * MINUTE);
    assert.deepEqual(server.storedKeys("/wal/"), []);
  });
}

test("B34: an application that cannot be deleted keeps its role", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("r", { persist_app: true });
  const refuse = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  control.fault({ action: "deleteApplication", effect: refuse });
  refused(
    await server.timed(server.ask("DELETE", "cloudb/roles/r")),
    400,
    /^deleting application .*Authorization_RequestDenied/,
  );
  assert.equal((await read(server))["persist_app"], true);
  done(await server.timed(server.ask("DELETE", "cloudb/roles/r")));
  assert.deepEqual(ours(server), []);
});

for (const [action, when] of [
  ["createApplication", "after"],
  ["createServicePrincipal", "after"],
  ["putRoleAssignment", "before"],
  ["putRoleAssignment", "after"],
] as const) {
  test(`B34: a crash ${when} ${action} of a first write leaves no role and nothing behind`, async (t) => {
    const server = await cloudbServer(t);
    const { control } = server.fake;
    control.fault({ action, effect: { kind: "hold", when } });
    const roles = [{ role_name: "Reader", scope: server.scope }];
    const body = { persist_app: true, cloudb_roles: roles };
    const answering = server.ask("POST", "cloudb/roles/r", body).catch(() => null);
    await server.timed(control.held());
    await server.crash();
    await answering;
    await server.pass(12n * MINUTE);
    assert.deepEqual(ours(server), []);
    absent(await server.ask("GET", "cloudb/roles/r"));
  });
}

/** Dies while a role that gave Reader and the group "old" is changed to give Owner and the group "new". */
async function diesInChange(
  server: CloudBServer,
  { action, when }: { readonly action: string; readonly when: "before" | "after" },
) {
  const { control } = server.fake;
  const { scope } = server;
  const [old, fresh] = [control.makeGroup("old"), control.makeGroup("new")];
  const bodyOf = (role_name: string, object_id: string) => ({
    cloudb_roles: [{ role_name, scope }],
    cloudb_groups: [{ object_id }],
  });
  const before = bodyOf("Reader", old);
  const after = bodyOf("Owner", fresh);
  await server.makeRole("r", { persist_app: true, ...before });
  control.fault({ action, effect: { kind: "hold", when } });
  const answering = server.ask("POST", "cloudb/roles/r", after).catch(() => null);
  await server.timed(control.held());
  await server.crash();
  await answering;
  control.clearFaults();
  const has = () => [
    ...assigned(server),
    ...control.state().groups.map(({ members }) => members.length),
  ];
  const wanted = { before: [`${READER} ${scope}`, 1, 0], after: [`${OWNER} ${scope}`, 0, 1] };
  return { before, after, has, wanted };
}

const CHANGES = [
  "putRoleAssignment",
  "addGroupMember",
  "deleteRoleAssignment",
  "removeGroupMember",
].flatMap((action) => (["before", "after"] as const).map((when) => ({ action, when })));

for (const moment of CHANGES) {
  const name = `${moment.when} ${moment.action} of a change`;
  const stored = ["deleteRoleAssignment", "removeGroupMember"].includes(moment.action);

  test(`B34: a crash ${name} leaves what the stored role accounts for, and nobody has to write it again`, async (t) => {
    const server = await cloudbServer(t);
    const { after, has, wanted } = await diesInChange(server, moment);
    await server.pass(12n * MINUTE);
    const roles = (await read(server))["cloudb_roles"] as { readonly role_name: string }[];
    assert.equal(roles[0]?.role_name, stored ? "Owner" : "Reader");
    assert.deepEqual(has(), stored ? wanted.after : wanted.before);
    assert.deepEqual(server.storedKeys("/wal/"), []);
    done(await write(server, after));
    assert.deepEqual(has(), wanted.after);
  });

  test(`B34: a role that is written at once after a crash ${name} keeps what it was given`, async (t) => {
    for (const which of ["before", "after"] as const) {
      const server = await cloudbServer(t);
      const crashed = await diesInChange(server, moment);
      done(await write(server, crashed[which]));
      await server.pass(12n * MINUTE);
      assert.deepEqual(crashed.has(), crashed.wanted[which], which);
      assert.deepEqual(server.storedKeys("/wal/"), []);
      done(await server.timed(server.ask("DELETE", "cloudb/roles/r")));
      assert.deepEqual(ours(server), []);
    }
  });
}

test("B35: a role with leases keeps its application; without any, that is deleted", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { persist_app: true });
  const { lease } = await server.creds("r");
  refused(
    await write(server, { persist_app: false }),
    400,
    /^persist_app cannot be switched off while 1 leases/,
  );
  assert.equal(applications(server).length, 1);
  await server.revokeNow(lease);
  done(await write(server, { persist_app: false }));
  assert.deepEqual(ours(server), []);
  const role = await read(server);
  assert.deepEqual([role["application_object_id"], role["managed_application"]], ["", undefined]);
  assert.ok(await server.logsIn(await server.creds("r")));
});

test("leases in other regions keep the application of a role, and so does a region that is not reached, unless that is forced", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { persist_app: true });
  let answer: LeasesOfMembers = { count: 1, missing: [] };
  regionsAnswer(t, server.test.server, () => answer);
  const off = { persist_app: false };
  refused(await write(server, off), 400, /^persist_app cannot be switched off while 1 leases/);
  answer = { count: 0, missing: ["c", "d"] };
  refused(await write(server, off), 503, /^2 regions that share this mount are not reached/);
  refused(await server.ask("DELETE", "cloudb/roles/r"), 503, /not reached/);
  assert.equal(applications(server).length, 1);
  done(await write(server, { ...off, force: true }));
  assert.deepEqual(ours(server), []);
  answer = { count: 3, missing: ["c"] };
  const deleted = await server.timed(server.ask("DELETE", "cloudb/roles/r?force=true"));
  assert.match(deleted.text, /3 leases of this role stay/);
  const config = await server.ask("DELETE", "cloudb/config");
  assert.match(config.text, /3 leases remain/);
  assert.match(config.text, /a region that shares this mount has not answered/);
});

test("an application of an operator cannot be one that a role keeps", async (t) => {
  const server = await cloudbServer(t);
  const { id } = server.fake.control.makeApplication("theirs");
  const both = { persist_app: true, application_object_id: id };
  refused(await write(server, both), 400, "persist_app must be false with application_object_id");
});

test("a mount that keeps applications is disabled only with abandon", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { persist_app: true });
  const refusedAnswer = await server.ask("DELETE", "sys/mounts/cloudb");
  refused(refusedAnswer, 400, /1 persisted application \(of roles r\)/);
  const done2 = await server.timed(server.ask("DELETE", "sys/mounts/cloudb?abandon=true"));
  assert.ok(done2.status < 300, done2.text);
  assert.equal(applications(server).length, 1);
});

test("an application that was just made gives passwords as soon as it is seen", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  control.set({ lags: { applicationToReads: { seconds: 20 } } });
  await server.makeRole("r", { persist_app: true });
  assert.ok(await server.logsIn(await server.creds("r")));
  // One that somebody has removed by hand is told at once.
  await server.pass(6n * MINUTE);
  control.remove(applications(server)[0]?.id ?? "");
  const began = server.time.clock.now();
  refused(await server.askCreds("r"), 400, /^adding the password: Request_ResourceNotFound/);
  assert.ok(server.time.clock.now() - began < 2_000_000_000n);
});
