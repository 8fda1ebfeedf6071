// Threats I, as far as cloud B is concerned: whose credentials are used, what a failed revocation counts
// for, how long something lives and what is shared. Where secrets turn up: tests/spec/cloud-secrets.

import assert from "node:assert/strict";
import test from "node:test";
import { ALL_PERMISSIONS } from "../../fakes/cloudb/model.ts";
import type { Effect } from "../../fakes/cloudb/faults.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import { done, HOUR, MINUTE, SECOND } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

test("T-I02: two mounts with the same names never use each other's credentials", async (t) => {
  const server = await cloudbServer(t, { configured: false });
  const { control } = server.fake;
  const owners = new Map<string, string>();
  for (const mount of ["one", "two"]) {
    const made = control.makeApplication(mount, 1);
    control.permit(made.appId, ALL_PERMISSIONS);
    owners.set(mount, made.appId);
    await server.enable(mount, "cloudb");
    const secret = { client_id: made.appId, client_secret: made.passwords[0]?.secretText };
    await server.configure(secret, mount);
    const roles = JSON.stringify([{ role_name: "Reader", scope: server.scope }]);
    done(await server.timed(server.ask("POST", `${mount}/roles/r`, { cloudb_roles: roles })));
  }
  const mounts = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? "one" : "two"));
  const answers = mounts.map(async (mount) => {
    const answer = await server.ask("GET", `${mount}/creds/r`);
    assert.equal(answer.status, 200, answer.text);
    return [mount, String(at(answer, "data", "client_id"))] as const;
  });
  for (const [mount, clientId] of await server.timed(Promise.all(answers))) {
    const application = control.tenant.directory.applicationOf(clientId);
    assert.deepEqual([...(application?.owners ?? [])], [owners.get(mount)]);
  }
});

test("T-I07: a revocation that failed does not count, in whatever way it failed", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  const ways: Readonly<Record<string, Effect>> = {
    "400": { kind: "refuse", status: 400, code: "Request_BadRequest" },
    "403": { kind: "refuse", status: 403, code: "Authorization_RequestDenied" },
    "409": { kind: "refuse", status: 409, code: "Directory_ConcurrencyViolation" },
    "429": { kind: "throttle", retryAfter: 1 },
    "500": { kind: "refuse", status: 500, code: "InternalServerError" },
    redirected: { kind: "redirect", location: "http://127.0.0.1:9/" },
    closed: { kind: "reset" },
    hanging: { kind: "hold", when: "before" },
    "200 with an error in it": { kind: "lie" },
    "200 without JSON": { kind: "garbage" },
  };
  for (const [way, effect] of Object.entries(ways)) {
    const credentials = await server.creds("r");
    control.fault({ action: "deleteApplication", effect, times: 0 });
    const answer = await server.revokeNow(credentials.lease);
    assert.ok([400, 502].includes(answer.status), `${way}: ${answer.status} ${answer.text}`);
    assert.ok(await server.isThere(credentials.lease), way);
    control.clearFaults();
    done(await server.revokeNow(credentials.lease));
    assert.equal(await server.logsIn(credentials), false, way);
    assert.equal(await server.isThere(credentials.lease), false, way);
  }
});

test("T-I07: a queued revocation is tried again until it has worked", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r");
  const { control } = server.fake;
  const credentials = await server.creds("r");
  control.fault({
    action: "deleteApplication",
    effect: { kind: "refuse", status: 403, code: "Authorization_RequestDenied" },
    times: 2,
  });
  await server.revoke(credentials.lease);
  await server.pass(5n * MINUTE);
  assert.equal(await server.isThere(credentials.lease), false);
  assert.equal(await server.logsIn(credentials), false);
});

test("T-I08: nothing lives longer than its role, its mount or its password", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("short", { ttl: "30m" });
  await server.makeRole("bound", { explicit_max_ttl: "1h" });
  await server.makeRole("most", { max_ttl: "40m" });
  await server.makeRole("none");
  assert.equal((await server.creds("short")).seconds, 1800);
  assert.ok((await server.creds("bound")).seconds <= 3600);
  assert.ok((await server.creds("most")).seconds <= 2400);
  done(await server.ask("POST", "sys/mounts/cloudb/tune", { max_lease_ttl: "20m" }));
  for (const role of ["short", "bound", "most", "none"]) {
    assert.ok((await server.creds(role)).seconds <= 1200, role);
  }
  const ends = server.fake.control
    .state()
    .servicePrincipals.flatMap(({ passwords }) => passwords)
    .map(({ end }) => end - Number(server.time.clock.now() / 1_000_000n));
  assert.ok(ends.every((left) => left <= 3650.5 * 86_400_000));
  assert.equal(ends.filter((left) => left <= 3_600_000).length, 2);
});

test("T-I12: revoking one credential leaves what it shares with another alone", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const group = control.makeGroup("shared");
  const shared = { cloudb_groups: JSON.stringify([{ object_id: group }]) };
  await server.makeRole("one", shared);
  await server.makeRole("two", shared);
  const [one, two] = [await server.creds("one"), await server.creds("two")];
  const members = () => control.state().groups.find(({ id }) => id === group)?.members ?? [];
  assert.equal(members().length, 2);
  done(await server.revokeNow(one.lease));
  const principal = control.tenant.directory.principalOf(two.clientId);
  assert.deepEqual(members(), [principal?.id]);
  const { roleAssignments } = control.state();
  assert.deepEqual(
    roleAssignments.map(({ principalId }) => principalId),
    [principal?.id],
  );
  assert.ok(await server.logsIn(two));
  assert.ok(!control.actions().includes("deleteMemberObject"));
});

test("T-I03: a redirect is not followed, and an answer without end is not read", async (t) => {
  const server = await cloudbServer(t);
  const { control, endpoints } = server.fake;
  const group = control.makeGroup("people");
  const location = `${endpoints.graph}/v1.0/groups/${group}`;
  const strange: readonly Effect[] = [
    { kind: "redirect", location },
    { kind: "huge", bytes: 2 << 20 },
    { kind: "garbage" },
    { kind: "lie" },
  ];
  for (const action of ["token", "listRoleDefinitions"]) {
    for (const effect of strange) {
      control.expireTokens();
      control.clearCalls();
      control.fault({ action, effect, times: 0 });
      const answer = await server.writeRole("r");
      assert.ok([400, 502].includes(answer.status), `${effect.kind}: ${answer.text}`);
      assert.ok(!control.actions().includes("getGroup"), "it was followed");
      assert.equal((await server.ask("GET", "cloudb/roles/r")).status, 404);
      control.clearFaults();
    }
  }
  await server.makeRole("r");
});

test("X2: half of all answers are throttled, and every lease ends all the same", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("r", { permanently_delete: true });
  const { control } = server.fake;
  const before = control.inventory();
  for (let i = 0; i < 20; i++) await server.creds("r");
  for (const action of ["graph", "arm"]) {
    control.fault({ action, effect: { kind: "throttle", retryAfter: 2 }, every: 2, times: 0 });
  }
  await server.must("POST", "sys/leases/revoke-prefix/cloudb/creds/r", {});
  await server.pass(2n * HOUR, 30n * SECOND);
  assert.deepEqual(control.inventory(), before);
  const left = await server.ask("LIST", "sys/leases/lookup/cloudb/creds/r");
  assert.equal(left.status, 404, left.text);
});
