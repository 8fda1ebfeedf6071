// What a failure, a rotation or a mount that goes could leave behind at cloud B.
// Crashes are in cloudb-crash.test.ts.

import assert from "node:assert/strict";
import test from "node:test";
import { keyInUse, passwords, rotate } from "../../support/servers/cloudb-root.ts";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { done, HOUR, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";

function added(server: CloudBServer, before: readonly string[]): readonly string[] {
  return server.fake.control.inventory().filter((line) => !before.includes(line));
}

test("T-I14: what may have had its effect keeps its records, whatever a later try was told", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("r");
  const before = control.inventory();
  const action = "putRoleAssignment";
  const refuse = { kind: "refuse", status: 403, code: "AuthorizationFailed" } as const;
  control.fault({ action, effect: { kind: "lost" } });
  control.fault({ action, effect: refuse, times: 0 });
  refused(await server.askCreds("r"), 400, /AuthorizationFailed/);
  assert.equal(server.storedKeys("/wal/").length, 2, "the application and its assignments");
  control.clearFaults();
  await server.pass(13n * MINUTE);
  assert.deepEqual([added(server, before), server.storedKeys("/wal/")], [[], []]);
});

test("T-I14: so does what was under way when the time was over", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.makeRole("r");
  const before = control.inventory();
  const action = "putRoleAssignment";
  const hidden = {
    kind: "refuse",
    status: 400,
    code: "PrincipalNotFound",
    retryAfter: 140,
  } as const;
  control.fault({ action, effect: hidden });
  control.fault({ action, effect: { kind: "hang" } });
  refused(await server.askCreds("r"), 502, /PrincipalNotFound.*gave up/);
  assert.equal(server.storedKeys("/wal/").length, 2);
  await server.pass(13n * MINUTE);
  assert.deepEqual([added(server, before), server.storedKeys("/wal/")], [[], []]);
});

test("T-I14: a membership that may have been added is looked for later, and one that a later write has made stays", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const group = control.makeGroup("a");
  await server.makeRole("r", { persist_app: true });
  const before = control.inventory();
  const groups = { cloudb_groups: [{ object_id: group }] };
  const refuse = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  const fail = async () => {
    control.fault({ action: "addGroupMember", effect: { kind: "lost" } });
    control.fault({ action: "addGroupMember", effect: refuse });
    refused(await server.writeRole("r", groups), 400, /Authorization_RequestDenied/);
    assert.equal(server.storedKeys("/wal/").length, 1);
  };
  await fail();
  await server.pass(13n * MINUTE);
  assert.deepEqual([added(server, before), server.storedKeys("/wal/")], [[], []]);
  await fail();
  done(await server.writeRole("r", groups));
  await server.pass(13n * MINUTE);
  assert.match(added(server, before).join(), /^member [^,]*$/);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("a mount that goes waits for a request as long as one may take, and nothing stays behind", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  const before = control.inventory();
  const action = "createApplication";
  // Made late, with no answer; whoever has looked for it shortly before is told that there is none.
  control.fault({ action, effect: { kind: "throttle", retryAfter: 95 } });
  control.fault({ action, effect: { kind: "hang" } });
  control.fault({ action: "listApplications", effect: { kind: "hold", when: "after" } });
  const answering = server.ask("GET", "cloudb/creds/r");
  await server.passUntil(() => control.actions().includes(action), SECOND);
  const gone = server.ask("DELETE", "sys/mounts/cloudb");
  await server.pass(97n * SECOND, SECOND);
  assert.equal(control.actions().filter((one) => one === action).length, 2);
  control.release();
  const answers = await server.timed(Promise.all([answering, gone]));
  assert.ok(answers[0].status >= 400, answers[0].text);
  assert.ok(answers[1].status < 300, answers[1].text);
  await server.pass(5n * MINUTE);
  const mounts = await server.ask("GET", "sys/mounts");
  assert.ok(!mounts.text.includes('"cloudb/"'));
  assert.deepEqual(added(server, before), []);
});

test("T-I13: an old secret that an operator has put back is not removed by what was left of its rotation", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const [old] = passwords(server);
  control.fault({ action: "removeApplicationPassword", effect: { kind: "unavailable" }, times: 0 });
  done(await rotate(server));
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.equal(passwords(server).length, 2);
  assert.equal(server.storedKeys("/wal/").length, 1);
  await server.configure();
  control.clearFaults();
  await server.pass(HOUR, MINUTE);
  assert.ok(passwords(server).includes(String(old)));
  assert.equal(await keyInUse(server), old);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("T-I13: one that was replaced by yet another secret is removed all the same", async (t) => {
  const server = await cloudbServer(t);
  const { control, objectId } = server.fake;
  const [old] = passwords(server);
  control.fault({ action: "removeApplicationPassword", effect: { kind: "unavailable" }, times: 0 });
  done(await rotate(server));
  await server.pass(6n * MINUTE, 20n * SECOND);
  const root = control.tenant.directory.applications.get(objectId);
  assert.ok(root !== undefined);
  const life = { start: 0, end: 4_000_000_000_000 };
  const other = control.tenant.directory.addPassword(root, { displayName: "by hand", ...life });
  await server.configure({ client_secret: other.secretText });
  control.clearFaults();
  await server.pass(HOUR, MINUTE);
  assert.ok(!passwords(server).includes(String(old)));
  assert.equal(await keyInUse(server), other.keyId);
});

test("a mount that goes takes a secret with it that is still being proved", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const [old] = passwords(server);
  done(await rotate(server));
  assert.equal(passwords(server).length, 2);
  const effect = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  control.fault({ action: "removeApplicationPassword", effect });
  const disable = () => server.timed(server.ask("DELETE", "sys/mounts/cloudb"));
  const failed = await disable();
  assert.ok(failed.status >= 400 && failed.text.includes(effect.code), failed.text);
  assert.equal(passwords(server).length, 2);
  done(await disable());
  assert.deepEqual(passwords(server), [old]);
});

test("with abandon a secret that cannot be removed stays, and is told of", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  done(await rotate(server));
  const effect = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  control.fault({ action: "removeApplicationPassword", effect, times: 0 });
  done(await server.timed(server.ask("DELETE", "sys/mounts/cloudb?abandon=true")));
  assert.equal(passwords(server).length, 2);
  assert.ok(server.test.lines.some((line) => /left behind.*abandon/.test(line)));
});
