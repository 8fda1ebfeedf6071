import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { graphCode, rawClient, type RawClient, VERSION } from "./raw-client.ts";

const NAMES = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const RIGHTS = "providers/Microsoft.Authorization";

function scopeOf(client: RawClient, rest = ""): string {
  return `/subscriptions/${client.fake.subscriptionId}${rest}`;
}

function roleOf(client: RawClient, name = "acdd72a7-3385-48ef-bd42-f606fba81ae7"): string {
  return `${scopeOf(client)}/${RIGHTS}/roleDefinitions/${name}`;
}

function put(client: RawClient, properties: object, name = NAMES[0], scope = scopeOf(client)) {
  const path = `${scope}/${RIGHTS}/roleAssignments/${name}?${VERSION}`;
  return client.arm("PUT", path, { properties });
}

test("a role is assigned once, whatever the name of the assignment", async (t) => {
  const client = await rawClient(t);
  const { id: principalId } = await client.principal();
  const properties = { roleDefinitionId: roleOf(client), principalId };
  const made = await put(client, properties);
  assert.equal(made.status, 201);
  assert.equal(at(made, "properties", "principalId"), principalId);
  assert.deepEqual(graphCode(await put(client, properties)), [409, "RoleAssignmentExists"]);
  assert.deepEqual(graphCode(await put(client, properties, NAMES[1])), [
    409,
    "RoleAssignmentExists",
  ]);
  const remove = () => client.arm("DELETE", `${String(at(made, "id"))}?${VERSION}`);
  assert.equal((await remove()).status, 200);
  assert.equal((await remove()).status, 204);
});

test("a new principal is unknown, unless its type came along", async (t) => {
  const client = await rawClient(t);
  client.fake.control.set({ lags: { principalToArm: { attempts: 2 } } });
  const { id: principalId } = await client.principal();
  const properties = { roleDefinitionId: roleOf(client), principalId };
  assert.deepEqual(graphCode(await put(client, properties)), [400, "PrincipalNotFound"]);
  const typed = { ...properties, principalType: "ServicePrincipal" };
  assert.equal((await put(client, typed)).status, 201);
});

test("ARM refuses unknown roles, names, subscriptions, versions, and whoever may not", async (t) => {
  const client = await rawClient(t);
  const { control, clientId } = client.fake;
  const { id: principalId } = await client.principal();
  const properties = { roleDefinitionId: roleOf(client), principalId };
  const unknown = { roleDefinitionId: roleOf(client, NAMES[0]), principalId };
  assert.deepEqual(graphCode(await put(client, unknown)), [404, "RoleDefinitionDoesNotExist"]);
  assert.deepEqual(graphCode(await put(client, properties, "x")), [400, "InvalidRoleAssignmentId"]);
  const elsewhere = `/subscriptions/${NAMES[0]}`;
  assert.deepEqual(graphCode(await put(client, properties, NAMES[0], elsewhere)), [
    404,
    "SubscriptionNotFound",
  ]);
  const list = `${scopeOf(client)}/${RIGHTS}/roleDefinitions`;
  assert.deepEqual(graphCode(await client.arm("GET", list)), [400, "MissingApiVersionParameter"]);
  const old = await client.arm("GET", `${list}?api-version=2015-07-01`);
  assert.deepEqual(graphCode(old), [400, "InvalidResourceType"]);
  control.permit(clientId, ["Microsoft.Authorization/roleDefinitions/read"]);
  assert.deepEqual(graphCode(await put(client, properties)), [403, "AuthorizationFailed"]);
});

test("roles are found by id below any scope, and by name, which need not be the only one", async (t) => {
  const client = await rawClient(t);
  const { control } = client.fake;
  control.makeRole("Bob's");
  control.makeRole("Bob's");
  const one = await client.arm("GET", `${roleOf(client)}?${VERSION}`);
  assert.equal(at(one, "properties", "roleName"), "Reader");
  const none = await client.arm("GET", `${roleOf(client, NAMES[0])}?${VERSION}`);
  assert.deepEqual(graphCode(none), [404, "RoleDefinitionDoesNotExist"]);
  control.set({ pageSize: 1 });
  const filter = encodeURIComponent("roleName eq 'Bob''s'");
  const list = `${scopeOf(client)}/${RIGHTS}/roleDefinitions?$filter=${filter}&${VERSION}`;
  const first = await client.arm("GET", list);
  assert.equal((at(first, "value") as unknown[]).length, 1);
  const { pathname, search } = new URL(String(at(first, "nextLink")));
  const second = await client.arm("GET", `${pathname}${search}`);
  assert.equal((at(second, "value") as unknown[]).length, 1);
  assert.notDeepEqual(at(first, "value"), at(second, "value"));
});

test("nothing below a lock can be deleted", async (t) => {
  const client = await rawClient(t);
  const scope = scopeOf(client, "/resourceGroups/locked");
  client.fake.control.makeResourceGroup("locked");
  client.fake.control.set({ locks: [scope] });
  const { id: principalId } = await client.principal();
  const properties = { roleDefinitionId: roleOf(client), principalId };
  const made = await put(client, properties, NAMES[0], scope);
  assert.equal(made.status, 201);
  const answer = await client.arm("DELETE", `${String(at(made, "id"))}?${VERSION}`);
  assert.deepEqual(graphCode(answer), [409, "ScopeLocked"]);
});

test("a scope whose group is not there is refused", async (t) => {
  const client = await rawClient(t);
  const { id: principalId } = await client.principal();
  const properties = { roleDefinitionId: roleOf(client), principalId };
  const resources = scopeOf(client, "/resourceGroups/none");
  const management = "/providers/Microsoft.Management/managementGroups/none";
  const assigned = async (scope: string) =>
    graphCode(await put(client, properties, NAMES[0], scope));
  assert.deepEqual(await assigned(resources), [404, "ResourceGroupNotFound"]);
  assert.deepEqual(await assigned(`${resources}/providers/x/y/z`), [404, "ResourceGroupNotFound"]);
  assert.deepEqual(await assigned(management), [404, "NotFound"]);
  client.fake.control.makeManagementGroup("none");
  assert.equal((await put(client, properties, NAMES[0], management)).status, 201);
});
