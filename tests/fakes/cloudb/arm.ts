// ARM, as the fake of cloud B speaks it: role definitions and role assignments, one version of the API.

import type { RoleAssignment, RoleDefinition } from "./model.ts";
import { filterTerms, fits, nextLink, pageOf } from "./graph/odata.ts";
import { Refusal } from "./refusal.ts";
import { type CloudRequest, membersOf, NO_CONTENT, type Reply, type Route } from "./route.ts";

const RIGHTS = "Microsoft.Authorization";
const VERSION = "2022-04-01";

function at(rest: string): RegExp {
  return new RegExp(`^(?<scope>(?:/.*)?)/providers/Microsoft\\.Authorization/${rest}$`, "i");
}

/** The id of what the path names, decoded. */
function idOf({ parts }: CloudRequest, kind: "roleAssignments" | "roleDefinitions"): string {
  return `${parts["scope"] ?? ""}/providers/${RIGHTS}/${kind}/${parts["name"] ?? ""}`;
}

/** What every call there is checked for, before anything else. */
function begin({ tenant, caller, query, parts, path }: CloudRequest, right: string): string {
  const version = query.get("api-version");
  if (version === null) {
    const text = "The api-version query parameter (?api-version=) is required for all requests.";
    throw new Refusal(400, "MissingApiVersionParameter", text);
  }
  if (version !== VERSION) {
    const text = `The resource type could not be found in the namespace '${RIGHTS}' for api version '${version}'. The supported api-versions are '${VERSION}'.`;
    throw new Refusal(400, "InvalidResourceType", text);
  }
  if (!caller.permissions.has(`${RIGHTS}/${right}`)) {
    const text = `The client '${caller.appId}' with object id '${caller.appId}' does not have authorization to perform action '${RIGHTS}/${right}' over scope '${path}' or the scope is invalid.`;
    throw new Refusal(403, "AuthorizationFailed", text);
  }
  const { scope = "" } = parts;
  tenant.subscriptions.checkScope(scope);
  return scope;
}

function showDefinition(scope: string, { name, roleName, scope: own }: RoleDefinition): object {
  const type = own === null ? "BuiltInRole" : "CustomRole";
  const properties = { roleName, type, description: roleName, assignableScopes: [own ?? "/"] };
  const id = `${scope}/providers/${RIGHTS}/roleDefinitions/${name}`;
  return { properties, id, type: `${RIGHTS}/roleDefinitions`, name };
}

function showAssignment(assignment: RoleAssignment): object {
  const { id, name, scope, roleDefinitionId, principalId, principalType, created } = assignment;
  const createdOn = new Date(created).toISOString();
  const properties = { roleDefinitionId, principalId, principalType, scope, createdOn };
  return { properties, id, type: `${RIGHTS}/roleAssignments`, name };
}

function listed({ tenant, path, query }: CloudRequest, all: readonly object[]): Reply {
  const { knownAs, pageSize } = tenant.settings;
  const { items, next } = pageOf(all, query, pageSize);
  const more = next === null ? {} : { nextLink: nextLink(knownAs.arm, path, query, next) };
  return { status: 200, body: { value: items, ...more } };
}

function checkPrincipal({ tenant }: CloudRequest, id: string, type: string | null): void {
  const { directory, replicas } = tenant;
  const principal = directory.principals.get(id);
  const user = directory.users.has(id);
  const group = directory.groups.has(id);
  if (type === null) {
    const seen = principal && replicas.sees("principalToArm", id, principal.created);
    if (seen === true || user || group) return;
    const text = `Principal ${id} does not exist in the directory ${tenant.id}. Check that you have the correct principal ID.`;
    throw new Refusal(400, "PrincipalNotFound", text);
  }
  // With a type nothing is looked up; only what is known to be something else is refused.
  const other = type === "ServicePrincipal" ? user || group : principal !== undefined;
  if (!other) return;
  const text = `The PrincipalId '${id}' has type other than '${type}'.`;
  throw new Refusal(400, "UnmatchedPrincipalType", text);
}

export const armRoutes: readonly Route[] = [
  {
    action: "getRoleDefinition",
    method: "GET",
    pattern: at("roleDefinitions/(?<name>[^/]+)"),
    run: (request) => {
      const scope = begin(request, "roleDefinitions/read");
      const found = request.tenant.subscriptions.definition(idOf(request, "roleDefinitions"));
      if (found !== null) return { status: 200, body: showDefinition(scope, found) };
      const text = `The specified role definition with ID '${request.parts["name"] ?? ""}' does not exist.`;
      throw new Refusal(404, "RoleDefinitionDoesNotExist", text);
    },
  },
  {
    action: "listRoleDefinitions",
    method: "GET",
    pattern: at("roleDefinitions"),
    run: (request) => {
      const scope = begin(request, "roleDefinitions/read");
      const terms = filterTerms(request.query.get("$filter"), ["roleName", "type"]);
      const all = request.tenant.subscriptions
        .definitionsAt(scope)
        .map((definition) => showDefinition(scope, definition));
      return listed(
        request,
        all.filter((view) => fits(membersOf(membersOf(view)["properties"]), terms)),
      );
    },
  },
  {
    action: "putRoleAssignment",
    method: "PUT",
    pattern: at("roleAssignments/(?<name>[^/]+)"),
    run: (request) => {
      const scope = begin(request, "roleAssignments/write");
      const properties = membersOf(request.body["properties"]);
      const { roleDefinitionId, principalId, principalType = null } = properties;
      const texts =
        typeof roleDefinitionId === "string" &&
        typeof principalId === "string" &&
        (principalType === null || typeof principalType === "string");
      if (!texts) {
        const text = "The request to create role assignment is not valid: properties are missing.";
        throw new Refusal(400, "InvalidCreateRoleAssignmentRequest", text);
      }
      checkPrincipal(request, principalId, principalType);
      const made = request.tenant.subscriptions.assign({
        scope,
        name: request.parts["name"] ?? "",
        roleDefinitionId,
        principalId,
        principalType: principalType ?? "ServicePrincipal",
      });
      return { status: 201, body: showAssignment(made) };
    },
  },
  {
    action: "getRoleAssignment",
    method: "GET",
    pattern: at("roleAssignments/(?<name>[^/]+)"),
    run: (request) => {
      begin(request, "roleAssignments/read");
      const found = request.tenant.subscriptions.assignments.get(
        idOf(request, "roleAssignments").toLowerCase(),
      );
      if (found !== undefined) return { status: 200, body: showAssignment(found) };
      const text = `The role assignment '${request.parts["name"] ?? ""}' is not found.`;
      throw new Refusal(404, "RoleAssignmentNotFound", text);
    },
  },
  {
    action: "listRoleAssignments",
    method: "GET",
    pattern: at("roleAssignments"),
    run: (request) => {
      const scope = begin(request, "roleAssignments/read").toLowerCase();
      const terms = filterTerms(request.query.get("$filter"), ["principalId"]);
      const all = request.tenant.subscriptions.assignments
        .values()
        .filter((one) => one.scope.toLowerCase().startsWith(scope))
        .filter(({ principalId }) => fits({ principalId }, terms));
      return listed(request, [...all].map(showAssignment));
    },
  },
  {
    action: "deleteRoleAssignment",
    method: "DELETE",
    pattern: at("roleAssignments/(?<name>[^/]+)"),
    run: (request) => {
      const scope = begin(request, "roleAssignments/delete").toLowerCase();
      const { settings, subscriptions } = request.tenant;
      const found = subscriptions.assignments.get(idOf(request, "roleAssignments").toLowerCase());
      if (found === undefined) return NO_CONTENT;
      const lock = settings.locks.find((locked) => scope.startsWith(locked.toLowerCase()));
      if (lock !== undefined) {
        const text = `The scope '${request.path}' cannot perform delete operation because following scope(s) are locked: '${lock}'. Please remove the lock and try again.`;
        throw new Refusal(409, "ScopeLocked", text);
      }
      subscriptions.assignments.delete(found.id.toLowerCase());
      return { status: 200, body: showAssignment(found) };
    },
  },
];
