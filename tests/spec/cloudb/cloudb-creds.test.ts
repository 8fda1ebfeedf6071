// Credentials of cloudb: cases B18 to B26, B31 to B33, B36 to B38 of docs/cases/cloud-engines.md.

import assert from "node:assert/strict";
import test from "node:test";
import { ALL_PERMISSIONS } from "../../fakes/cloudb/model.ts";
import {
  type CloudBServer,
  cloudbServer,
  credentialsIn,
} from "../../support/servers/cloudb-server.ts";
import { dataOf, done, MINUTE, refused, SECOND } from "../../support/servers/engine-server.ts";
import { at } from "../../support/http-client.ts";

const text = (value: unknown) => JSON.stringify(value);
const MILLIS = 1_000_000n;
const TEN_YEARS = 10 * 365 * 86_400_000;

/** A role with two roles of the provider and a group, whose id is given. */
async function fullRole(server: CloudBServer, more: object = {}): Promise<string> {
  const { scope, fake } = server;
  const group = fake.control.makeGroup("ops");
  const roles = ["Reader", "Owner"].map((role_name) => ({ role_name, scope }));
  await server.makeRole("r", {
    cloudb_roles: roles,
    cloudb_groups: [{ object_id: group }],
    ...more,
  });
  fake.control.clearCalls();
  return group;
}

const now = (server: CloudBServer) => Number(server.time.clock.now() / MILLIS);
/** What is there of what the engine has made, deleted or not. */
const ours = (server: CloudBServer) =>
  server.fake.control
    .inventory()
    .filter((line) => line.includes("service-") || line.startsWith("assignment"));
const actions = (server: CloudBServer) =>
  server.fake.control.actions().filter((action) => action !== "token");
const times = (server: CloudBServer, action: string) =>
  server.fake.control.calls().flatMap((call) => (call.action === action ? [call.at] : []));

test("B18: a principal is made step by step, has what the role grants, and its secret works", async (t) => {
  const server = await cloudbServer(t);
  const { control, tenantId, subscriptionId } = server.fake;
  const group = await fullRole(server);
  const answer = await server.askCreds("r");
  const { client_id, client_secret, ...rest } = dataOf(answer);
  assert.deepEqual(rest, { tenant_id: tenantId, subscription_id: subscriptionId });
  assert.match(String(at(answer, "lease_id")), /^cloudb\/creds\/r\/[A-Za-z0-9]{24}$/); // M11
  assert.equal(at(answer, "mount_type"), "cloudb");
  assert.deepEqual(actions(server), [
    "createApplication",
    "createServicePrincipal",
    "addServicePrincipalPassword",
    "putRoleAssignment",
    "putRoleAssignment",
    "addGroupMember",
  ]);
  const { applications, servicePrincipals, roleAssignments, groups } = control.state();
  const application = applications.find(({ appId }) => appId === client_id);
  const principal = servicePrincipals.find(({ appId }) => appId === client_id);
  assert.match(application?.displayName ?? "", /^service-[0-9a-f-]{36}$/);
  assert.equal(roleAssignments.length, 2);
  for (const { action, params } of control.calls()) {
    if (action !== "putRoleAssignment") continue;
    const { properties } = params as { properties: Record<string, unknown> };
    const { principalId, principalType } = properties;
    assert.deepEqual([principalId, principalType], [principal?.id, "ServicePrincipal"]);
  }
  assert.deepEqual(groups.find(({ id }) => id === group)?.members, [principal?.id]);
  const issued = { clientId: String(client_id), clientSecret: String(client_secret) };
  assert.ok(
    await server.logsIn({ ...issued, lease: "", seconds: 0, renewable: true, warnings: [] }),
  );
});

test("B19: every step waits on its own for what the step before it has made", async (t) => {
  for (const hiddenApplication of ["badRequest", "forbidden", "notFound"] as const) {
    const server = await cloudbServer(t);
    await fullRole(server);
    const lag = { seconds: 5 };
    server.fake.control.set({
      hiddenApplication,
      lags: {
        applicationToPrincipals: lag,
        principalToPasswords: lag,
        principalToGroups: { seconds: 20 },
        principalToArm: lag,
      },
    });
    assert.ok(await server.logsIn(await server.creds("r")));
    const calls = actions(server);
    const count = (action: string) => calls.filter((one) => one === action).length;
    assert.equal(count("createApplication"), 1);
    assert.ok(count("createServicePrincipal") > 1 && count("addGroupMember") > 1, calls.join(" "));
    assert.equal(
      server.fake.control.state().servicePrincipals.length,
      2,
      "the root's and this one",
    );
  }
});

test("B19: tries are 2 to 7 s apart at first, then 1 to 2 s", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  server.fake.control.set({ lags: { applicationToPrincipals: { attempts: 5 } } });
  await server.creds("r");
  const tries = times(server, "createServicePrincipal");
  const gaps = tries.slice(1).map((time, i) => (time - tries[i]!) / 1000);
  assert.equal(gaps.length, 5);
  for (const gap of gaps.slice(0, 2)) assert.ok(gap >= 2 && gap <= 8, gaps.join(" "));
  for (const gap of gaps.slice(2)) assert.ok(gap >= 1 && gap <= 3, gaps.join(" "));
});

test("B19: a step that nobody ever sees is given up within the time, told, and undone", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  server.fake.control.set({ lags: { principalToGroups: { seconds: 100_000 } } });
  const began = now(server);
  const answer = await server.askCreds("r");
  refused(
    answer,
    502,
    /^adding the principal to group .*Request_ResourceNotFound.*gave up after 2m30s$/,
  );
  assert.ok(now(server) - began <= 181_000);
  assert.deepEqual(ours(server), []);
});

test("B20: a plain refusal of rights is no matter of waiting", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const refuse = {
    kind: "refuse",
    status: 403,
    code: "Authorization_RequestDenied",
    message: "Insufficient privileges to complete the operation.",
  } as const;
  server.fake.control.fault({ action: "createServicePrincipal", effect: refuse });
  const began = now(server);
  refused(
    await server.askCreds("r"),
    400,
    /^creating the service principal: Authorization_RequestDenied: Insufficient/,
  );
  assert.ok(now(server) - began < 2000);
  assert.deepEqual(ours(server), []);
});

test("B21: where one of two roles cannot be assigned, nothing remains, also nothing to restore", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const refuse = { kind: "refuse", status: 403, code: "AuthorizationFailed" } as const;
  server.fake.control.fault({ action: "putRoleAssignment", effect: refuse, skip: 1 });
  refused(await server.askCreds("r"), 400, /^assigning role .*: AuthorizationFailed/);
  assert.deepEqual(ours(server), []);
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("B21: what cannot be undone at once is undone later", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const refuse = { kind: "refuse", status: 403, code: "AuthorizationFailed" } as const;
  server.fake.control.fault({ action: "putRoleAssignment", effect: refuse, skip: 1 });
  server.fake.control.fault({
    action: "deleteApplication",
    effect: { kind: "unavailable" },
    times: 0,
  });
  refused(await server.askCreds("r"), 400, /AuthorizationFailed/);
  assert.ok(ours(server).length > 0);
  server.fake.control.clearFaults();
  await server.pass(12n * MINUTE);
  assert.deepEqual(ours(server), []);
});

const STEPS = [
  "createApplication",
  "createServicePrincipal",
  "addServicePrincipalPassword",
  "putRoleAssignment",
  "addGroupMember",
];

for (const action of STEPS) {
  for (const when of ["before", "after"] as const) {
    test(`B22: a crash ${when} ${action} leaves nothing behind (T-I14)`, async (t) => {
      const server = await cloudbServer(t);
      const { control } = server.fake;
      await fullRole(server);
      control.fault({ action, effect: { kind: "hold", when } });
      const answering = server.ask("GET", "cloudb/creds/r").catch(() => null);
      await server.timed(control.held());
      await server.crash();
      await answering;
      await server.pass(12n * MINUTE);
      assert.deepEqual(ours(server), []);
      assert.deepEqual(server.storedKeys("/wal/"), []);
      assert.equal((await server.askCreds("r")).status, 200);
    });
  }
}

test("B23: a request goes on when its client is gone, and ends in a lease or in nothing", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.fault({ action: "putRoleAssignment", effect: { kind: "hold", when: "before" } });
  const gone = new AbortController();
  const headers = { "x-vault-token": server.root };
  const answering = fetch(`${server.test.url}/v1/cloudb/creds/r`, { headers, signal: gone.signal });
  await server.timed(control.held());
  gone.abort();
  await assert.rejects(answering);
  control.release();
  const leases = async () => {
    const answer = await server.ask("LIST", "sys/leases/lookup/cloudb/creds/r");
    return answer.status === 200 ? (dataOf(answer)["keys"] as string[]) : [];
  };
  const alive = () => ours(server).filter((line) => !line.startsWith("deleted"));
  await server.passUntil(async () => (await leases()).length === 1 || alive().length === 0, SECOND);
  const [lease] = await leases();
  assert.equal(alive().length > 0, lease !== undefined);
  if (lease === undefined) return;
  assert.equal((await server.revokeNow(`cloudb/creds/r/${lease}`)).status, 204);
  assert.deepEqual(alive(), []);
});

test("what is made by a role that is deleted meanwhile is given to nobody, and goes at the provider", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.fault({ action: "putRoleAssignment", effect: { kind: "hold", when: "after" } });
  const made = server.timed(server.ask("GET", "cloudb/creds/r"));
  await server.timed(control.held());
  done(await server.ask("DELETE", "cloudb/roles/r"));
  control.release();
  refused(await made, 400, "the role was deleted while the secret was made: nothing was given");
  assert.deepEqual(
    ours(server).filter((line) => !line.startsWith("deleted")),
    [],
  );
});

test("B24: explicit_max_ttl ends the password, and no renewal passes it", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server, { explicit_max_ttl: "1h", ttl: "20m" });
  const began = now(server);
  const issued = await server.creds("r");
  assert.equal(issued.seconds, 1200);
  const [password] =
    control.state().servicePrincipals.find(({ appId }) => appId === issued.clientId)?.passwords ??
    [];
  assert.ok(password !== undefined && Math.abs(password.end - (began + 3_600_000)) <= 2000);
  await server.time.passSlowly(15n * MINUTE, MINUTE);
  const first = await server.renew(issued.lease, { increment: 1200 });
  assert.deepEqual([at(first, "lease_duration"), at(first, "renewable")], [1200, true], first.text);
  await server.time.passSlowly(18n * MINUTE, MINUTE);
  await server.renew(issued.lease, { increment: 1200 });
  await server.time.passSlowly(15n * MINUTE, MINUTE);
  const late = await server.renew(issued.lease, { increment: 7200 });
  assert.equal(at(late, "renewable"), false, late.text);
  const left = (password.end - now(server)) / 1000;
  assert.ok(Number(at(late, "lease_duration")) <= left, late.text);
});

test("B25: without it a password lasts ten years, and the lease as long as the mount says (T-I08)", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const began = now(server);
  const issued = await server.creds("r");
  const { servicePrincipals } = server.fake.control.state();
  const [password] =
    servicePrincipals.find(({ appId }) => appId === issued.clientId)?.passwords ?? [];
  assert.ok(Math.abs((password?.end ?? 0) - (began + TEN_YEARS)) <= 2000);
  assert.equal(issued.seconds, 2_764_800);
  assert.deepEqual(issued.warnings, []);
});

test("T-I08: the shortest of role, maximum and password holds", async (t) => {
  const server = await cloudbServer(t);
  const rows: readonly [object, number][] = [
    [{ ttl: 600, max_ttl: 0, explicit_max_ttl: 0 }, 600],
    [{ ttl: 0, max_ttl: 900, explicit_max_ttl: 0 }, 900],
    [{ ttl: 0, max_ttl: 0, explicit_max_ttl: 1800 }, 1800],
    [{ ttl: 0, max_ttl: 1200, explicit_max_ttl: 1800 }, 1200],
  ];
  for (const [times, seconds] of rows) {
    await server.makeRole("r", times);
    const issued = await server.creds("r");
    assert.ok(Math.abs(issued.seconds - seconds) <= 2, `${text(times)}: ${issued.seconds}`);
  }
});

test("B26: a tenant that wants shorter passwords is told of with its remedy", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  server.fake.control.set({ passwordSeconds: 180 * 86_400 });
  refused(
    await server.askCreds("r"),
    400,
    /CredentialInvalidLifetimeAsPerAppPolicy.*explicit_max_ttl/,
  );
  assert.deepEqual(ours(server), []);
  await server.makeRole("r", { explicit_max_ttl: "90d" });
  assert.ok(await server.logsIn(await server.creds("r")));
});

async function onApplication(server: CloudBServer, more: object = {}) {
  const made = server.fake.control.makeApplication("theirs", 1);
  done(
    await server.timed(
      server.ask("POST", "cloudb/roles/app", { application_object_id: made.id, ...more }),
    ),
  );
  const passwords = () =>
    server.fake.control
      .state()
      .applications.find(({ id }) => id === made.id)
      ?.passwords.map(({ keyId }) => keyId) ?? [];
  return { ...made, theirs: made.passwords[0]?.keyId, passwordIds: passwords };
}

test("B31: five at once on one application have five passwords, and each takes only its own away (T-I12)", async (t) => {
  const server = await cloudbServer(t);
  const { appId, theirs, passwordIds } = await onApplication(server);
  server.fake.control.set({ busyMilliseconds: 5 });
  const answers = Array.from({ length: 5 }, () => server.creds("app"));
  const all = await server.timed(Promise.all(answers));
  assert.equal(passwordIds().length, 6);
  for (const issued of all) assert.ok(issued.clientId === appId && (await server.logsIn(issued)));
  for (const [i, issued] of all.entries()) {
    assert.equal((await server.revokeNow(issued.lease)).status, 204);
    assert.equal(passwordIds().length, 5 - i);
    assert.equal(await server.logsIn(issued), false);
    for (const other of all.slice(i + 1)) assert.ok(await server.logsIn(other));
  }
  assert.deepEqual(passwordIds(), [theirs]);
  const refusals = server.fake.control.calls().filter(({ status }) => status === 409);
  assert.deepEqual(refusals, []);
});

test("B32: an application that holds no more passwords is told of with its remedy", async (t) => {
  const server = await cloudbServer(t);
  await onApplication(server);
  server.fake.control.set({ passwordLimit: 2 });
  await server.creds("app");
  const answer = await server.askCreds("app");
  refused(
    answer,
    400,
    "the application cannot hold more passwords: shorten the role's ttl or use another application",
  );
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

for (const when of ["before", "after"] as const) {
  test(`B33: a crash ${when} a password is added leaves none that nobody knows`, async (t) => {
    const server = await cloudbServer(t);
    const { control } = server.fake;
    const { theirs, passwordIds } = await onApplication(server);
    control.fault({ action: "addApplicationPassword", effect: { kind: "hold", when } });
    const answering = server.ask("GET", "cloudb/creds/app").catch(() => null);
    await server.timed(control.held());
    await server.crash();
    await answering;
    await server.pass(12n * MINUTE);
    assert.deepEqual(passwordIds(), [theirs]);
    assert.deepEqual(server.storedKeys("/wal/"), []);
  });
}

test("an answer that is lost makes no second thing, or none that stays", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  for (const action of STEPS) {
    control.fault({ action, effect: { kind: "lost" } });
    const issued = await server.creds("r");
    assert.ok(await server.logsIn(issued), action);
    await server.pass(12n * MINUTE);
    assert.ok(await server.logsIn(issued), action);
    assert.equal(control.state().applications.length, 2, action);
    assert.equal((await server.revokeNow(issued.lease)).status, 204);
    assert.equal(control.state().applications.length, 1, action);
    assert.deepEqual(control.state().roleAssignments, [], action);
  }
  const { theirs, passwordIds } = await onApplication(server);
  control.fault({ action: "addApplicationPassword", effect: { kind: "lost" } });
  const issued = await server.creds("app");
  await server.pass(12n * MINUTE);
  assert.ok(await server.logsIn(issued));
  assert.equal(passwordIds().length, 2);
  await server.revokeNow(issued.lease);
  assert.deepEqual(passwordIds(), [theirs]);
});

test("a second application from a lost answer that was not seen in time goes later, and the lease stays", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.set({ lags: { applicationToReads: { seconds: 60 } } });
  control.fault({ action: "createApplication", effect: { kind: "lost" } });
  const issued = await server.creds("r");
  assert.equal(control.state().applications.length, 3, "the root's, the lease's and a twin");
  await server.pass(12n * MINUTE);
  assert.equal(control.state().applications.length, 2);
  assert.ok(await server.logsIn(issued));
  assert.deepEqual(server.storedKeys("/wal/"), []);
});

test("an answer that is lost every time is a failure, after which nothing remains", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.set({ lags: { applicationToReads: { seconds: 200 } } });
  control.fault({ action: "createApplication", effect: { kind: "lost" }, times: 0 });
  refused(await server.askCreds("r"), 502, /^creating the application: lost: /);
  assert.ok(ours(server).length > 0, "not seen yet");
  control.clearFaults();
  await server.pass(12n * MINUTE);
  assert.deepEqual(ours(server), []);
});

test("B36: a lease whose role is gone cannot be renewed, and lives on", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const { lease } = await server.creds("r");
  const gone = await server.ask("DELETE", "cloudb/roles/r");
  assert.equal(gone.status, 200, gone.text);
  assert.match(String(at(gone, "warnings", 0)), /^1 lease of this role stay/);
  refused(await server.renew(lease), 400, 'role "r" no longer exists; lease cannot be renewed');
  assert.ok(await server.isThere(lease));
});

test("the leases of a role can be revoked with it", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const { lease } = await server.creds("r");
  done(await server.ask("DELETE", "cloudb/roles/r?revoke_leases=true"));
  await server.passUntil(async () => !(await server.isThere(lease)), SECOND);
  assert.deepEqual(
    ours(server).filter((line) => !line.startsWith("deleted")),
    [],
  );
});

test("renewal goes by the role as it is now", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server, { ttl: "10m" });
  const { lease, seconds } = await server.creds("r");
  assert.equal(seconds, 600);
  await server.makeRole("r", { ttl: "30m", max_ttl: "40m" });
  assert.equal(at(await server.renew(lease), "lease_duration"), 1800);
  await server.time.passSlowly(20n * MINUTE, MINUTE);
  const cut = Number(at(await server.renew(lease), "lease_duration"));
  assert.ok(cut > 1100 && cut <= 1200, String(cut));
});

test("B37: a provider that throttles is not asked again before it said so", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.fault({
    action: "createApplication",
    effect: { kind: "throttle", retryAfter: 3 },
    times: 2,
  });
  await server.creds("r");
  const tries = times(server, "createApplication");
  assert.equal(tries.length, 3);
  for (const [i, time] of tries.slice(1).entries()) assert.ok(time - tries[i]! >= 3000);
  control.fault({ action: "createApplication", effect: { kind: "throttle", retryAfter: 600 } });
  const answer = await server.askCreds("r");
  refused(answer, 502, /^creating the application: .*gave up/);
  assert.equal(answer.headers["retry-after"], "600");
});

test("B38: credentials of a role that nobody has written", async (t) => {
  const server = await cloudbServer(t);
  refused(await server.askCreds("none"), 400, 'unknown role "none"');
  const post = await server.ask("POST", "cloudb/creds/none", {});
  assert.equal(post.status, 405); // M8
  assert.deepEqual(actions(server), []);
});

test("verify waits until the provider takes the secret three times in a row, or says that it did not", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  control.set({ lags: { passwordToTokens: { seconds: 20 } }, flapping: true });
  const answer = await server.timed(server.ask("GET", "cloudb/creds/r?verify=true"));
  assert.equal(dataOf(answer)["verified"], true);
  const clientId = dataOf(answer)["client_id"];
  const proofs = control
    .calls()
    .filter((call) => call.action === "token" && call.clientId === clientId);
  assert.deepEqual(
    proofs.slice(-3).map(({ status }) => status),
    [200, 200, 200],
  );
  control.set({ lags: { passwordToTokens: { seconds: 100_000 } } });
  const late = await server.timed(server.ask("GET", "cloudb/creds/r?verify=true"));
  assert.equal(dataOf(late)["verified"], false);
  assert.match(String(at(late, "warnings", 0)), /could not be proved in time/);
  assert.ok(await server.isThere(String(at(late, "lease_id"))));
});

test("T-I06: what the provider repeats of secrets in a refusal reaches neither caller nor log", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await fullRole(server);
  const texts: string[] = [];
  for (const action of STEPS) {
    control.fault({ action, effect: { kind: "echo", status: 400 } });
    const answer = await server.askCreds("r");
    assert.equal(answer.status, 400, answer.text);
    texts.push(answer.text);
  }
  for (const secret of control.secrets()) {
    for (const line of [...texts, ...server.test.lines]) assert.ok(!line.includes(secret));
  }
  assert.ok(!texts.some((line) => /Bearer [^[]/.test(line)), texts.join("\n"));
});

test("what a lease needs to end is kept behind the barrier, and never answered", async (t) => {
  const server = await cloudbServer(t);
  await fullRole(server);
  const { lease } = await server.creds("r");
  const answer = await server.lookup(lease);
  assert.ok(!answer.text.includes("app_object_id"));
});

test("T-I02: two mounts of two accounts never work with the other's credentials", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const other = control.makeApplication("other root", 1);
  control.permit(other.appId, ALL_PERMISSIONS);
  await server.enable("second", "cloudb");
  const client_secret = other.passwords[0]?.secretText;
  await server.configure({ client_id: other.appId, client_secret }, "second");
  const roles = [{ role_name: "Reader", scope: server.scope }];
  for (const mount of ["cloudb", "second"]) {
    await server.timed(server.must("POST", `${mount}/roles/r`, { cloudb_roles: roles }));
  }
  for (const [mount, clientId] of [
    ["cloudb", server.fake.clientId],
    ["second", other.appId],
    ["cloudb", server.fake.clientId],
    ["second", other.appId],
  ] as const) {
    control.clearCalls();
    const answer = await server.timed(server.ask("GET", `${mount}/creds/r`));
    assert.equal(answer.status, 200, answer.text);
    const callers = new Set(control.calls().map((call) => call.clientId));
    assert.deepEqual([...callers], [clientId], mount);
  }
});

test("T-I02: credentials are made in the tenant that their lease names, whatever is configured meanwhile", async (t) => {
  const server = await cloudbServer(t);
  const { control, tenantId } = server.fake;
  const { id } = control.makeApplication("theirs");
  await server.makeRole("p", { application_object_id: id, cloudb_roles: "" });
  control.fault({ action: "addApplicationPassword", effect: { kind: "hold", when: "before" } });
  const first = server.ask("GET", "cloudb/creds/p");
  await control.held();
  const second = server.ask("GET", "cloudb/creds/p"); // waits for the first
  await server.pass(2n * SECOND, SECOND);
  await server.configure({ tenant_id: "00000000-0000-4000-8000-000000000000" });
  control.release();
  for (const answer of await server.timed(Promise.all([first, second]))) {
    assert.equal(at(answer, "data", "tenant_id"), tenantId, answer.text);
    const { lease, ...issued } = credentialsIn(answer);
    assert.ok(await server.logsIn({ lease, ...issued }));
    refused(await server.revokeNow(lease), 502, /made in tenant/);
  }
});

test("a lease asked for by another spelling of its role is one of its leases", async (t) => {
  const server = await cloudbServer(t);
  await server.makeRole("deploy", { persist_app: true });
  const { lease } = await server.creds("DePloy");
  assert.match(lease, /^cloudb\/creds\/deploy\//);
  const off = await server.timed(server.ask("POST", "cloudb/roles/deploy", { persist_app: false }));
  refused(off, 400, /while 1 leases of the role are live$/);
  done(await server.timed(server.ask("DELETE", "cloudb/roles/deploy?revoke_leases=true")));
  await server.passUntil(async () => !(await server.isThere(lease)), SECOND);
});

for (const [milliseconds, seconds] of [
  [300n, 3600],
  [4000n, 3596],
] as const) {
  test(`B24: ${milliseconds} ms in the making leave ${seconds} s of an hour, and are no cut to be told of`, async (t) => {
    const server = await cloudbServer(t);
    const { control } = server.fake;
    await server.makeRole("r", { explicit_max_ttl: "1h", ttl: "1h" });
    control.fault({ action: "putRoleAssignment", effect: { kind: "hold", when: "before" } });
    const asking = server.ask("GET", "cloudb/creds/r");
    await control.held(); // the password is made by then
    await server.time.pass(milliseconds * 1_000_000n);
    control.release();
    const answer = await asking;
    assert.equal(at(answer, "lease_duration"), seconds, answer.text);
    assert.equal(at(answer, "warnings"), null);
  });
}
