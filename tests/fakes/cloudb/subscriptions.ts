// Role definitions and role assignments of the fake of cloud B. Ids compare without regard to case.
// A scope exists with its subscription, resource group or management group; what lies in a group is not kept.

import type { RoleAssignment, RoleDefinition } from "./model.ts";
import { Refusal } from "./refusal.ts";

const BUILT_IN: Readonly<Record<string, string>> = {
  Owner: "8e3af657-a8ff-443c-a75c-2fe8c4bcb635",
  Contributor: "b24988ac-6180-42a0-ab88-20f7382dd24c",
  Reader: "acdd72a7-3385-48ef-bd42-f606fba81ae7",
  "User Access Administrator": "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
  "Storage Blob Data Reader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
};

const SCOPE = /^\/subscriptions\/([^/]+)(?:\/resourceGroups\/([^/]+))?(?:\/.*)?$/i;
const MANAGEMENT_GROUP = /^\/providers\/Microsoft\.Management\/managementGroups\/([^/]+)$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DEFINITION = /^(.*)\/providers\/Microsoft\.Authorization\/roleDefinitions\/([^/]+)$/i;

export interface AssignmentOptions {
  readonly scope: string;
  readonly name: string;
  readonly roleDefinitionId: string;
  readonly principalId: string;
  readonly principalType: string;
}

export class Subscriptions {
  readonly known = new Set<string>();
  /** Names in lower case, of all subscriptions. */
  readonly resourceGroups = new Set<string>();
  readonly managementGroups = new Set<string>();
  readonly definitions: RoleDefinition[] = Object.entries(BUILT_IN).map(([roleName, name]) => {
    return { name, roleName, scope: null };
  });
  /** By id in lower case. */
  readonly assignments = new Map<string, RoleAssignment>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  checkScope(scope: string): void {
    if (scope === "") return;
    const management = MANAGEMENT_GROUP.exec(scope)?.[1];
    if (management !== undefined) {
      if (this.managementGroups.has(management.toLowerCase())) return;
      const text = `The management group '${management}' cannot be found.`;
      throw new Refusal(404, "NotFound", text);
    }
    const [, subscription, group] = SCOPE.exec(scope) ?? [];
    if (subscription !== undefined && this.known.has(subscription.toLowerCase())) {
      if (group === undefined || this.resourceGroups.has(group.toLowerCase())) return;
      const text = `Resource group '${group}' could not be found.`;
      throw new Refusal(404, "ResourceGroupNotFound", text);
    }
    const text = `The subscription '${subscription ?? scope}' could not be found.`;
    throw new Refusal(404, "SubscriptionNotFound", text);
  }

  /** Those that can be assigned in a scope. */
  definitionsAt(scope: string): readonly RoleDefinition[] {
    const at = scope.toLowerCase();
    return this.definitions.filter(
      ({ scope: own }) => own === null || at.startsWith(own.toLowerCase()),
    );
  }

  definition(id: string): RoleDefinition | null {
    const [, scope = "", name = ""] = DEFINITION.exec(id) ?? [];
    const fits = (definition: RoleDefinition) => definition.name === name.toLowerCase();
    return this.definitionsAt(scope).find(fits) ?? null;
  }

  assign(options: AssignmentOptions): RoleAssignment {
    const { scope, name, roleDefinitionId, principalId } = options;
    this.checkScope(scope);
    if (!UUID.test(name)) {
      const text = `The role assignment ID '${name}' is not valid. The role assignment ID must be a GUID.`;
      throw new Refusal(400, "InvalidRoleAssignmentId", text);
    }
    const role = this.definition(roleDefinitionId);
    if (role === null) {
      const text = `The specified role definition with ID '${roleDefinitionId}' does not exist.`;
      throw new Refusal(404, "RoleDefinitionDoesNotExist", text);
    }
    const id = `${scope}/providers/Microsoft.Authorization/roleAssignments/${name}`;
    const same = (other: RoleAssignment) =>
      other.principalId === principalId &&
      other.scope.toLowerCase() === scope.toLowerCase() &&
      this.definition(other.roleDefinitionId)?.name === role.name;
    const existing = this.assignments.values().find(same);
    if (existing !== undefined) {
      const text = `The role assignment already exists. The ID of the existing role assignment is ${existing.name.replaceAll("-", "")}.`;
      throw new Refusal(409, "RoleAssignmentExists", text);
    }
    if (this.assignments.has(id.toLowerCase())) {
      const text =
        "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.";
      throw new Refusal(400, "RoleAssignmentUpdateNotPermitted", text);
    }
    const made = { ...options, id, created: this.#now() };
    this.assignments.set(id.toLowerCase(), made);
    return made;
  }
}
