import assert from "node:assert/strict";
import test from "node:test";
import { type Answer, at } from "../../../support/http-client.ts";
import { graphCode, rawClient } from "../raw-client.ts";

const GONE = [404, "Request_ResourceNotFound"];

test("Graph's refusals carry a code, a message and the id of the request", async (t) => {
  const client = await rawClient(t);
  const answer = await client.graph("GET", "/applications/00000000-0000-0000-0000-000000000000");
  assert.deepEqual(graphCode(answer), GONE);
  assert.match(String(at(answer, "error", "message")), /does not exist/);
  const id = at(answer, "error", "innerError", "request-id");
  assert.equal(answer.headers["request-id"], id);
});

test("a new application is unknown to POST /servicePrincipals, in one of three ways", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  control.set({ lags: { applicationToPrincipals: { attempts: 3 } } });
  const { appId } = await client.made("/applications", { displayName: "new" });
  const ask = () => client.graph("POST", "/servicePrincipals", { appId });
  const first = await ask();
  assert.deepEqual(graphCode(first), [400, "Request_BadRequest"]);
  assert.equal(at(first, "error", "details", 0, "code"), "NoBackingApplicationObject");
  control.set({ hiddenApplication: "forbidden" });
  const second = await ask();
  assert.deepEqual(graphCode(second), [403, "Authorization_RequestDenied"]);
  assert.match(String(at(second, "error", "message")), /local tenant/);
  control.set({ hiddenApplication: "notFound" });
  assert.deepEqual(graphCode(await ask()), GONE);
  assert.equal((await ask()).status, 201);
  assert.deepEqual(graphCode(await ask()), [409, "Request_MultipleObjectsWithSameKeyValue"]);
});

test("a new principal is unknown to addPassword and to groups for a while", async (t) => {
  let now = 1_767_225_600_000;
  const client = await rawClient(t, { now: () => now });
  const { control, endpoints } = client.fake;
  control.set({
    lags: { principalToPasswords: { seconds: 5 }, principalToGroups: { seconds: 8 } },
  });
  const { id } = await client.principal();
  const group = control.makeGroup("people");
  const reference = { "@odata.id": `${endpoints.graph}/v1.0/directoryObjects/${id}` };
  const join = () => client.graph("POST", `/groups/${group}/members/$ref`, reference);
  const add = () => client.graph("POST", `/servicePrincipals/${id}/addPassword`, {});
  assert.deepEqual(graphCode(await add()), GONE);
  now += 5000;
  assert.equal((await add()).status, 200);
  assert.deepEqual(graphCode(await join()), GONE);
  now += 3000;
  assert.equal((await join()).status, 204);
  const again = await join();
  assert.deepEqual(graphCode(again), [400, "Request_BadRequest"]);
  assert.match(String(at(again, "error", "message")), /already exist/);
});

test("deleting an application deletes its principal, not its role assignments; both can be restored until purged", async (t) => {
  const client = await rawClient(t);
  const { control, subscriptionId } = client.fake;
  const { application, id } = await client.principal();
  control.tenant.subscriptions.assign({
    scope: `/subscriptions/${subscriptionId}`,
    name: "11111111-1111-4111-8111-111111111111",
    roleDefinitionId: control.makeRole("some"),
    principalId: id,
    principalType: "ServicePrincipal",
  });
  control.set({ lags: { deletedItems: { attempts: 1 } } });
  assert.equal((await client.graph("DELETE", `/applications/${application}`)).status, 204);
  assert.deepEqual(graphCode(await client.graph("DELETE", `/applications/${application}`)), GONE);
  assert.deepEqual(graphCode(await client.graph("GET", `/servicePrincipals/${id}`)), GONE);
  assert.equal(control.state().roleAssignments.length, 1);
  const purge = () => client.graph("DELETE", `/directory/deletedItems/${application}`);
  assert.deepEqual(graphCode(await purge()), GONE);
  assert.equal((await purge()).status, 204);
  assert.deepEqual(graphCode(await purge()), GONE);
  await client.graph("GET", `/directory/deletedItems/${id}`);
  const back = await client.graph("POST", `/directory/deletedItems/${id}/restore`);
  assert.equal(back.status, 200);
  assert.equal((await client.graph("GET", `/servicePrincipals/${id}`)).status, 200);
});

test("passwords are listed without their text, and one that is unknown cannot be removed", async (t) => {
  const client = await rawClient(t);
  const { id } = await client.made("/applications", { displayName: "new" });
  const passwordCredential = { displayName: "one", endDateTime: "2099-01-01T00:00:00Z" };
  const added = await client.graph("POST", `/applications/${id}/addPassword`, {
    passwordCredential,
  });
  const [text, keyId] = [String(at(added, "secretText")), at(added, "keyId")];
  const read = await client.graph("GET", `/applications/${id}`);
  assert.ok(!read.text.includes(text));
  assert.deepEqual(at(read, "passwordCredentials", 0, "hint"), text.slice(0, 3));
  assert.deepEqual(at(read, "passwordCredentials", 0, "displayName"), "one");
  assert.deepEqual(at(read, "passwordCredentials", 0, "endDateTime"), "2099-01-01T00:00:00.000Z");
  const remove = () => client.graph("POST", `/applications/${id}/removePassword`, { keyId });
  assert.equal((await remove()).status, 204);
  const again = await remove();
  assert.deepEqual(graphCode(again), [400, "Request_BadRequest"]);
  assert.match(String(at(again, "error", "message")), /No password credential/);
});

test("passwords are limited in number, by audience, and in length by the tenant's policy", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  const full = async (id: string, before: number): Promise<Answer> => {
    const add = () => client.graph("POST", `/applications/${id}/addPassword`, {});
    for (let i = 0; i < before; i++) assert.equal((await add()).status, 200);
    return add();
  };
  const body = {
    displayName: "new",
    signInAudience: "PersonalMicrosoftAccount",
    api: { requestedAccessTokenVersion: 2 },
  };
  const { id: personal } = await client.made("/applications", body);
  assert.deepEqual(graphCode(await full(personal, 2)), [400, "Directory_ResourceSizeExceeded"]);
  const { id } = await client.made("/applications", { displayName: "new" });
  control.set({ passwordLimit: 3 });
  assert.deepEqual(graphCode(await full(id, 3)), [400, "Directory_ResourceSizeExceeded"]);
  control.set({ passwordSeconds: 3600 });
  const passwordCredential = { endDateTime: new Date(Date.now() + 7_200_000).toISOString() };
  const { id: other } = await client.made("/applications", { displayName: "other" });
  const long = await client.graph("POST", `/applications/${other}/addPassword`, {
    passwordCredential,
  });
  assert.deepEqual(graphCode(long), [400, "CredentialInvalidLifetimeAsPerAppPolicy"]);
});

test("two changes of one application's passwords at once: one of them is a conflict", async (t) => {
  const client = await rawClient(t);
  client.fake.control.set({ busyMilliseconds: 200 });
  const { id } = await client.made("/applications", { displayName: "new" });
  const add = () => client.graph("POST", `/applications/${id}/addPassword`, {});
  const answers = await Promise.all([add(), add()]);
  const codes = answers.map((answer) => graphCode(answer).join(" ")).toSorted();
  assert.deepEqual(codes, ["200 ", "409 Directory_ConcurrencyViolation"]);
});

test("a filter knows doubled quotes, lists come in pages, and $select gives what was asked for", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  control.set({ pageSize: 2 });
  const ids = ["it's", "IT'S", "it's", "its"].map((name) => control.makeGroup(name));
  const ask = (filter: string, more = "") =>
    client.graph("GET", `/groups?$filter=${encodeURIComponent(filter)}${more}`);
  const first = await ask("displayName eq 'it''s'", "&$select=id");
  assert.deepEqual(at(first, "value"), [{ id: ids[0] }, { id: ids[1] }]);
  const link = new URL(String(at(first, "@odata.nextLink")));
  const second = await client.graph("GET", `${link.pathname.slice(5)}${link.search}`);
  assert.deepEqual(at(second, "value"), [{ id: ids[2] }]);
  assert.equal(at(second, "@odata.nextLink"), undefined);
  assert.deepEqual(graphCode(await ask("displayName eq 'it's'")), [400, "BadRequest"]);
  assert.deepEqual(graphCode(await ask("owner eq 'me'")), [400, "Request_UnsupportedQuery"]);
  assert.deepEqual(graphCode(await ask("displayName eq 'x'", "&$select=nose")).length, 2);
});

test("removing a member without $ref deletes the member itself", async (t) => {
  const client = await rawClient(t);
  const { control, endpoints } = client.fake;
  const group = control.makeGroup("people");
  const { id } = await client.principal();
  const reference = { "@odata.id": `${endpoints.graph}/v1.0/directoryObjects/${id}` };
  const join = () => client.graph("POST", `/groups/${group}/members/$ref`, reference);
  assert.equal((await join()).status, 204);
  const leave = (tail: string) => client.graph("DELETE", `/groups/${group}/members/${id}${tail}`);
  assert.equal((await leave("/$ref")).status, 204);
  assert.deepEqual(graphCode(await leave("/$ref")), GONE);
  assert.equal((await client.graph("GET", `/servicePrincipals/${id}`)).status, 200);
  await join();
  assert.equal((await leave("")).status, 204);
  assert.deepEqual(graphCode(await client.graph("GET", `/servicePrincipals/${id}`)), GONE);
});

test("a reference to another cloud's Graph is refused", async (t) => {
  const client = await rawClient(t);
  const group = client.fake.control.makeGroup("people");
  const { id } = await client.principal();
  const reference = { "@odata.id": `https://graph.microsoft.com/v1.0/directoryObjects/${id}` };
  const answer = await client.graph("POST", `/groups/${group}/members/$ref`, reference);
  assert.deepEqual(graphCode(answer), [400, "Request_BadRequest"]);
});

test("who may change only what it owns cannot change the rest, and without permission nothing", async (t) => {
  const client = await rawClient(t);
  const { control, clientId } = client.fake;
  const { id } = control.makeApplication("foreign");
  control.permit(clientId, ["Application.ReadWrite.OwnedBy"]);
  const { id: own } = await client.made("/applications", { displayName: "own" });
  assert.equal((await client.graph("POST", `/applications/${own}/addPassword`, {})).status, 200);
  const denied = [403, "Authorization_RequestDenied"];
  const foreign = await client.graph("POST", `/applications/${id}/addPassword`, {});
  assert.deepEqual(graphCode(foreign), denied);
  assert.deepEqual(graphCode(await client.graph("GET", "/groups")), denied);
});

test("what the provider does not know in a body is refused", async (t) => {
  const client = await rawClient(t);
  const ask = (body: unknown) => client.graph("POST", "/applications", body);
  const refused = [400, "Request_BadRequest"];
  assert.deepEqual(graphCode(await ask({ displayName: "x", colour: "red" })), refused);
  assert.deepEqual(graphCode(await ask({})), refused);
  assert.deepEqual(graphCode(await ask({ displayName: "x", signInAudience: "All" })), refused);
  assert.deepEqual(graphCode(await ask({ displayName: "x", tags: ["a b"] })), refused);
  assert.deepEqual(graphCode(await ask({ displayName: "x", tags: ["a", "a"] })), refused);
  assert.deepEqual(graphCode(await ask("{no JSON")), refused);
});

test("what personal accounts may sign in to must ask for tokens of version 2", async (t) => {
  const client = await rawClient(t);
  const create = (signInAudience: string, api?: object) =>
    client.graph("POST", "/applications", { displayName: "new", signInAudience, api });
  for (const audience of ["AzureADandPersonalMicrosoftAccount", "PersonalMicrosoftAccount"]) {
    assert.equal((await create(audience)).status, 400);
    assert.equal((await create(audience, { requestedAccessTokenVersion: 1 })).status, 400);
    assert.equal((await create(audience, { requestedAccessTokenVersion: 2 })).status, 201);
  }
  assert.equal((await create("AzureADMyOrg")).status, 201);
});

test("who may change only what it owns cannot purge or restore what others have deleted", async (t) => {
  const client = await rawClient(t);
  const { control, clientId } = client.fake;
  const { id } = control.makeApplication("foreign");
  control.remove(id);
  control.permit(clientId, ["Application.ReadWrite.OwnedBy"]);
  const denied = [403, "Authorization_RequestDenied"];
  const item = `/directory/deletedItems/${id}`;
  assert.deepEqual(graphCode(await client.graph("DELETE", item)), denied);
  assert.deepEqual(graphCode(await client.graph("POST", `${item}/restore`)), denied);
  const { id: own } = await client.made("/applications", { displayName: "own" });
  assert.equal((await client.graph("DELETE", `/applications/${own}`)).status, 204);
  assert.equal((await client.graph("DELETE", `/directory/deletedItems/${own}`)).status, 204);
});
