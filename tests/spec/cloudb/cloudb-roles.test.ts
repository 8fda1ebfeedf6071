// Roles of cloudb: cases B7 to B17 of docs/cases/cloud-engines.md, and what the seed says of them.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { type CloudBServer, cloudbServer } from "../../support/servers/cloudb-server.ts";
import { absent, dataOf, done, keysOf, refused } from "../../support/servers/engine-server.ts";
import { type Answer, at } from "../../support/http-client.ts";

function write(server: CloudBServer, name: string, body: object): Promise<Answer> {
  return server.timed(server.ask("POST", `cloudb/roles/${name}`, body));
}

async function read(server: CloudBServer, name: string) {
  return dataOf(await server.ask("GET", `cloudb/roles/${name}`));
}

function warningsOf(answer: Answer): string {
  assert.equal(answer.status, 200, answer.text);
  return (at(answer, "warnings") as string[]).join("\n");
}

const text = (value: unknown) => JSON.stringify(value);

test("B7: a role by its name is stored with its id, and reads show both", async (t) => {
  const server = await cloudbServer(t);
  const { scope } = server;
  const roleId = server.fake.control.makeRole("Deployer");
  done(
    await write(server, "r", { cloudb_roles: text([{ role_name: "Deployer", scope }]), ttl: "2h" }),
  );
  assert.deepEqual(await read(server, "r"), {
    cloudb_roles: [{ role_name: "Deployer", role_id: roleId, scope }],
    cloudb_groups: [],
    azure_roles: [{ role_name: "Deployer", role_id: roleId, scope }],
    azure_groups: [],
    application_object_id: "",
    persist_app: false,
    ttl: 7200,
    max_ttl: 0,
    explicit_max_ttl: 0,
    permanently_delete: false,
    sign_in_audience: "",
    tags: [],
  });
});

test("B8: a name that nobody has, that several have, and one with a quote in it", async (t) => {
  const server = await cloudbServer(t);
  const { scope, fake } = server;
  const role = (role_name: string) => ({ cloudb_roles: text([{ role_name, scope }]) });
  refused(await write(server, "r", role("None")), 400, /^no role found for role_name "None"$/);
  fake.control.makeRole("Twice");
  fake.control.makeRole("Twice");
  refused(await write(server, "r", role("Twice")), 400, /^role_name is ambiguous, use role_id/);
  absent(await server.ask("GET", "cloudb/roles/r"));
  const quoted = fake.control.makeRole("Bob's & 100%=x*)");
  done(await write(server, "r", role("Bob's & 100%=x*)")));
  assert.deepEqual((await read(server, "r"))["cloudb_roles"], [
    { role_name: "Bob's & 100%=x*)", role_id: quoted, scope },
  ]);
});

test("B8: a name is found on whatever page of a list it is", async (t) => {
  const server = await cloudbServer(t);
  server.fake.control.set({ pageSize: 1 });
  const body = { cloudb_roles: text([{ role_name: "Reader", scope: server.scope }]) };
  done(await write(server, "r", body));
});

test("B9: an id that nobody has is refused, and a wrong name beside an id is corrected", async (t) => {
  const server = await cloudbServer(t);
  const { scope, fake } = server;
  const id = fake.control.makeRole("Deployer");
  const unknown = id.replace(/[^/]+$/, "00000000-0000-4000-8000-000000000000");
  const role = (role_id: string) => ({
    cloudb_roles: text([{ role_id, role_name: "Wrong", scope }]),
  });
  refused(await write(server, "r", role(unknown)), 400, /^no role found for role_id/);
  done(await write(server, "r", role(id)));
  assert.deepEqual((await read(server, "r"))["cloudb_roles"], [
    { role_name: "Deployer", role_id: id, scope },
  ]);
});

test("B10: what cloudb_roles may be: JSON as text or as it is, every element whole, none twice", async (t) => {
  const server = await cloudbServer(t);
  const { scope } = server;
  const reader = { role_name: "Reader", scope };
  const twice = [reader, { role_name: "Reader", scope: scope.toUpperCase() }];
  refused(
    await write(server, "r", { cloudb_roles: text(twice) }),
    400,
    /duplicate role_id and scope$/,
  );
  refused(
    await write(server, "r", { cloudb_roles: text([{ role_name: "Reader" }]) }),
    400,
    /scope must begin with \/$/,
  );
  refused(
    await write(server, "r", { cloudb_roles: text([{ ...reader, scope: "x" }]) }),
    400,
    /scope must begin/,
  );
  refused(
    await write(server, "r", { cloudb_roles: text([{ scope }]) }),
    400,
    /needs a role_id or a role_name$/,
  );
  refused(await write(server, "r", { cloudb_roles: "[{" }), 400, /^cloudb_roles: /);
  refused(
    await write(server, "r", { cloudb_roles: text(reader) }),
    400,
    "cloudb_roles must be a JSON array",
  );
  refused(
    await write(server, "r", { cloudb_roles: [1] }),
    400,
    /^cloudb_roles: element 1 must be an object$/,
  );
  absent(await server.ask("GET", "cloudb/roles/r"));
  done(await write(server, "r", { cloudb_roles: [reader] }));
  done(await write(server, "r", { azure_roles: text([{ role_name: "Owner", scope }]) }));
  assert.equal(
    at(await server.ask("GET", "cloudb/roles/r"), "data", "cloudb_roles", 0, "role_name"),
    "Owner",
  );
});

test("T-I11: a scope or an id is part of one address, and never a step out of it", async (t) => {
  const server = await cloudbServer(t);
  const { scope, fake } = server;
  fake.control.clearCalls();
  for (const odd of ["/..", "/a/../b", "//a", "/a/./b", "/subscriptions/.."]) {
    const roles = text([{ role_name: "Reader", scope: odd }]);
    refused(await write(server, "r", { cloudb_roles: roles }), 400, /scope must be a path without/);
  }
  const ids = text([{ role_id: `${scope}/../x`, scope }]);
  refused(await write(server, "r", { cloudb_roles: ids }), 400, /role_id must be a path without/);
  const groups = text([{ object_id: ".." }]);
  refused(await server.writeRole("r", { cloudb_groups: groups }), 400, /object_id is no id/);
  assert.deepEqual(
    fake.control.actions().filter((action) => action !== "token"),
    [],
  );
  for (const id of ["..", ".", "a/../../groups", "a?b=c", "a#b", "a\r\nb"]) {
    const answer = await write(server, "r", { application_object_id: id });
    refused(answer, 400, /not found$|must not be empty/);
  }
  const paths = fake.control.calls().map(({ path }) => path);
  assert.ok(
    paths.every((path) => path.startsWith("/v1.0/applications/") || path.includes("/oauth2/")),
    paths.join(" "),
  );
});

test("T-I11: any name reaches the provider's filter as it was written", async (t) => {
  const server = await cloudbServer(t);
  const names = fc.string({ minLength: 1, maxLength: 40, unit: "grapheme-ascii" });
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.constantFrom("'", "''", "&", "=", "%27", "\r\n", "*)", " or 1 eq 1"),
      async (name, odd) => {
        const role_name = `${name}${odd}x`;
        const answer = await write(server, "r", {
          cloudb_roles: [{ role_name, scope: server.scope }],
        });
        refused(answer, 400, `no role found for role_name ${text(role_name)}`);
      },
    ),
    { numRuns: 40 },
  );
});

test("B11: groups by id and by name; unknown, ambiguous and doubled ones are refused", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const ops = control.makeGroup("ops");
  const quoted = control.makeGroup("it's");
  control.makeGroup("same");
  control.makeGroup("same");
  const groups = (...list: object[]) => server.writeRole("r", { cloudb_groups: text(list) });
  refused(await groups({ object_id: "nobody" }), 400, /^no group found for object_id "nobody"$/);
  refused(await groups({ group_name: "nobody" }), 400, /^no group found for group_name "nobody"$/);
  refused(await groups({ group_name: "same" }), 400, /^group_name is ambiguous, use object_id/);
  refused(await groups({ group_name: "ops" }, { object_id: ops }), 400, /duplicate object_id$/);
  refused(await groups({}), 400, /needs an object_id or a group_name$/);
  done(await groups({ group_name: "it's" }, { object_id: ops, group_name: "wrong" }));
  assert.deepEqual((await read(server, "r"))["cloudb_groups"], [
    { group_name: "it's", object_id: quoted },
    { group_name: "ops", object_id: ops },
  ]);
});

test("B12: a role needs roles of the provider or an application; groups alone are not enough", async (t) => {
  const server = await cloudbServer(t);
  const ops = server.fake.control.makeGroup("ops");
  const wanted = "either application_object_id or cloudb_roles must be given";
  refused(await write(server, "r", {}), 400, wanted);
  refused(await write(server, "r", { cloudb_roles: "[]" }), 400, wanted);
  refused(await write(server, "r", { cloudb_groups: text([{ object_id: ops }]) }), 400, wanted);
});

test("B13: an application must exist, must not be the engine's own, and is never deleted", async (t) => {
  const server = await cloudbServer(t);
  const { control, objectId } = server.fake;
  const { id } = control.makeApplication("theirs");
  refused(
    await write(server, "r", { application_object_id: "none" }),
    400,
    "application none not found",
  );
  const own = await write(server, "r", { application_object_id: objectId });
  refused(own, 400, /must not be the application of this engine itself$/);
  const both = { application_object_id: id, permanently_delete: true };
  refused(await write(server, "r", both), 400, /^permanently_delete must be false/); // T-I17
  absent(await server.ask("GET", "cloudb/roles/r"));
  done(await write(server, "r", { application_object_id: id }));
  refused(
    await write(server, "r", { permanently_delete: true }),
    400,
    /^permanently_delete must be false/,
  );
});

test("a role whose application becomes the engine's own gives nothing any more", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const made = control.makeApplication("theirs", 1);
  done(await write(server, "r", { application_object_id: made.id }));
  const client_secret = made.passwords[0]?.secretText;
  await server.configure({ client_id: made.appId, client_secret });
  refused(await server.askCreds("r"), 400, /must not be the application of this engine itself$/);
});

test("the engine's own application is known however its id is spelt", async (t) => {
  const server = await cloudbServer(t);
  const { control, objectId, clientId } = server.fake;
  const made = control.makeApplication("theirs", 1);
  done(await write(server, "r", { application_object_id: made.id }));
  await server.configure({ client_id: clientId.toUpperCase() });
  const own = await write(server, "own", { application_object_id: objectId });
  refused(own, 400, /must not be the application of this engine itself$/);
  const client_secret = made.passwords[0]?.secretText;
  for (const client_id of [made.appId.toUpperCase(), ` {${made.appId}} `]) {
    await server.configure({ client_id, client_secret });
    refused(await server.askCreds("r"), 400, /must not be the application of this engine itself$/);
  }
});

test("B14: with an application, cloudb_roles are kept and not looked at", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { id } = control.makeApplication("theirs");
  control.clearCalls();
  const body = { application_object_id: id, cloudb_roles: text([{ role_name: "Nonsense" }, 7]) };
  assert.match(
    warningsOf(await write(server, "r", body)),
    /cloudb_roles and cloudb_groups are ignored/,
  );
  assert.deepEqual(
    control.actions().filter((action) => action !== "token"),
    ["getApplication"],
  );
  refused(await write(server, "r", { cloudb_roles: "no JSON" }), 400, /^cloudb_roles: /);
  // They count again as soon as no application is named any more.
  refused(
    await write(server, "r", { application_object_id: "" }),
    400,
    /scope must begin with \/$/,
  );
  const grants = text([{ role_name: "Reader", scope: server.scope }]);
  done(await write(server, "r", { application_object_id: "", cloudb_roles: grants }));
  assert.equal((await read(server, "r"))["application_object_id"], "");
});

test("B15: no time exceeds the one above it, in any change", async (t) => {
  const server = await cloudbServer(t);
  refused(await server.writeRole("r", { ttl: "2h", max_ttl: "1h" }), 400, "ttl exceeds max_ttl");
  refused(
    await server.writeRole("r", { ttl: "2h", explicit_max_ttl: 3600 }),
    400,
    "ttl exceeds explicit_max_ttl",
  );
  refused(
    await server.writeRole("r", { max_ttl: "2h", explicit_max_ttl: "1h" }),
    400,
    "max_ttl exceeds explicit_max_ttl",
  );
  done(await server.writeRole("r", { ttl: "1h", max_ttl: "2h", explicit_max_ttl: "1d" }));
  refused(await write(server, "r", { max_ttl: "30m" }), 400, "ttl exceeds max_ttl");
  done(await write(server, "r", { max_ttl: 0 }));
  const { ttl, max_ttl, explicit_max_ttl } = await read(server, "r");
  assert.deepEqual([ttl, max_ttl, explicit_max_ttl], [3600, 0, 86_400]);
  refused(await write(server, "r", { ttl: "-1h" }), 400, /^ttl must be/);
  // 0 would be no bound at all.
  for (const field of ["ttl", "max_ttl", "explicit_max_ttl"]) {
    const answer = await write(server, "r", { [field]: "500ms" });
    refused(answer, 400, new RegExp(`^${field} must be .* in whole seconds`));
  }
});

test("B16: who may sign in is said in the provider's words, or not at all", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const words = {
    CloudBADMyOrg: "AzureADMyOrg",
    CloudBADMultipleOrgs: "AzureADMultipleOrgs",
    CloudBADandPersonalCloudBAccount: "AzureADandPersonalMicrosoftAccount",
    PersonalCloudBAccount: "PersonalMicrosoftAccount",
    AzureADMultipleOrgs: "AzureADMultipleOrgs",
  };
  for (const [ours, theirs] of Object.entries(words)) {
    done(await server.writeRole("r", { sign_in_audience: ours }));
    assert.equal((await read(server, "r"))["sign_in_audience"], ours);
    control.clearCalls();
    await server.creds("r");
    const sent = sentToCreate(server);
    assert.equal(sent["signInAudience"], theirs);
    const api = theirs.includes("Personal") ? { requestedAccessTokenVersion: 2 } : undefined;
    assert.deepEqual(sent["api"], api);
  }
  done(await server.writeRole("r", { sign_in_audience: "" }));
  control.clearCalls();
  await server.creds("r");
  assert.ok(!("signInAudience" in sentToCreate(server)));
  for (const wrong of ["cloudbadmyorg", "Everybody"]) {
    const answer = await server.writeRole("r", { sign_in_audience: wrong });
    refused(answer, 400, /^sign_in_audience must be one of CloudBADMyOrg, /);
  }
});

function sentToCreate(server: CloudBServer): Readonly<Record<string, unknown>> {
  const call = server.fake.control.calls().find(({ action }) => action === "createApplication");
  assert.ok(call !== undefined);
  return call.params;
}

test("B17: tags have no space and 256 characters at most, and each is there once", async (t) => {
  const server = await cloudbServer(t);
  refused(await server.writeRole("r", { tags: ["two words"] }), 400, /^tags must have 1 to 256/);
  refused(
    await server.writeRole("r", { tags: ["x".repeat(257)] }),
    400,
    /^tags must have 1 to 256/,
  );
  done(await server.writeRole("r", { tags: "a, b,a,,b" }));
  assert.deepEqual((await read(server, "r"))["tags"], ["a", "b"]);
  await server.creds("r");
  assert.deepEqual(sentToCreate(server)["tags"], ["a", "b"]);
});

test("a role is written, changed in part, listed and deleted; the case of its name is the same", async (t) => {
  const server = await cloudbServer(t);
  absent(await server.ask("LIST", "cloudb/roles"));
  await server.makeRole("MyRole", { ttl: "1h" });
  await server.makeRole("a.b-c_d");
  done(await write(server, "myrole", { max_ttl: "2h" }));
  const role = await read(server, "MYROLE");
  assert.deepEqual([role["ttl"], role["max_ttl"]], [3600, 7200]); // M10
  assert.deepEqual(keysOf(await server.ask("LIST", "cloudb/roles")), ["a.b-c_d", "myrole"]);
  assert.equal((await server.askCreds("MYROLE")).status, 200);
  for (const odd of ["-x", "x@y", "x-"]) {
    refused(await server.ask("GET", `cloudb/roles/${odd}`), 404, "unsupported path"); // M9
  }
  done(await server.ask("DELETE", "cloudb/roles/a.b-c_d"));
  absent(await server.ask("DELETE", "cloudb/roles/a.b-c_d")); // M7
  assert.match(warningsOf(await write(server, "myrole", { nonsense: 1 })), /nonsense/); // M4
});

test("a role that is not there is created, one that is there is updated", async (t) => {
  const server = await cloudbServer(t);
  const creates = await server.client('path "cloudb/roles/*" { capabilities = ["create"] }');
  const body = { cloudb_roles: text([{ role_name: "Reader", scope: server.scope }]) };
  done(await server.timed(server.ask("POST", "cloudb/roles/r", body, { token: creates })));
  const again = await server.ask("POST", "cloudb/roles/R", body, { token: creates });
  assert.equal(again.status, 403);
});

test("a role needs a configuration, which may be the environment's alone", async (t) => {
  const without = await cloudbServer(t, { configured: false });
  refused(await without.writeRole("r"), 400, "engine is not configured");
  const server = await cloudbServer(t, {
    configured: false,
    environment: ({ tenantId, subscriptionId, clientId, clientSecret }) => ({
      CLOUDB_TENANT_ID: tenantId,
      CLOUDB_SUBSCRIPTION_ID: subscriptionId,
      CLOUDB_CLIENT_ID: clientId,
      AZURE_CLIENT_SECRET: clientSecret,
    }),
  });
  done(await server.writeRole("r"));
  assert.ok(await server.logsIn(await server.creds("r")));
});

test("what the provider refuses or cannot answer while a role is written is told, and nothing is stored", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const forbidden = { kind: "refuse", status: 403, code: "AuthorizationFailed" } as const;
  control.fault({ action: "listRoleDefinitions", effect: forbidden });
  refused(
    await server.writeRole("r"),
    400,
    /^looking for a role definition: AuthorizationFailed: .*\(provider request id /,
  );
  control.fault({ action: "listRoleDefinitions", effect: { kind: "unavailable" }, times: 0 });
  refused(await server.writeRole("r"), 502, /^looking for a role definition: /);
  control.clearFaults();
  control.fault({ action: "listRoleDefinitions", effect: { kind: "garbage" }, times: 0 });
  refused(await server.writeRole("r"), 502, /^looking for a role definition: unreadable answer/);
  absent(await server.ask("GET", "cloudb/roles/r"));
});

test("what is plainly wrong is told without asking the provider for anything", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { id } = control.makeApplication("existing");
  const grant = { role_name: "Reader", scope: server.scope };
  const rows: [object, RegExp][] = [
    [{ application_object_id: id, permanently_delete: true }, /^permanently_delete must be false/],
    [{ application_object_id: id, persist_app: true }, /^persist_app must be false/],
    [{ application_object_id: id, cloudb_roles: "nope" }, /^cloudb_roles: /],
    [{ application_object_id: id, cloudb_groups: "nope" }, /^cloudb_groups: /],
    [{ cloudb_groups: '[{"group_name":"g"}]' }, /^either application_object_id or cloudb_roles/],
    [{}, /^either application_object_id or cloudb_roles/],
    [{ cloudb_roles: text([grant, grant]) }, /^cloudb_roles: duplicate role_id and scope$/],
    [
      { cloudb_roles: text([grant]), cloudb_groups: '[{"group_name":"g"},{"group_name":"g"}]' },
      /^cloudb_groups: duplicate object_id$/,
    ],
  ];
  control.clearCalls();
  control.cut(true);
  for (const [body, why] of rows) {
    refused(await server.ask("POST", "cloudb/roles/r", body), 400, why);
  }
  control.cut(false);
  assert.deepEqual(control.actions(), []);
});

test("B10: a scope must exist", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const role = (scope: string) => ({ cloudb_roles: [{ role_name: "Reader", scope }] });
  const web = `${server.scope}/resourceGroups/web`;
  const none = await write(server, "r", role(web));
  refused(none, 400, /^scope ".*\/resourceGroups\/web" not found: Resource group 'web' could not/);
  const strange = "/subscriptions/00000000-0000-0000-0000-000000000000";
  refused(await write(server, "r", role(strange)), 400, /^scope ".*" not found: The subscription/);
  absent(await server.ask("GET", "cloudb/roles/r"));
  control.makeResourceGroup("web");
  done(await write(server, "r", role(web)));
  assert.equal((await server.askCreds("r")).status, 200);
});
