// The calls to the provider's resource manager that this engine makes: definitions of roles, and their
// assignments. Each is one request; what is tried again is decided by whoever asks.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { withoutLastSlashes } from "@holdfast/shared/text/slashes";
import { ProviderError } from "../../cloud/provider-error.ts";
import { neededText, textIn } from "./provider-answer.ts";
import type { Service } from "./bearer-calls.ts";
import { encodedPath, path, quoted } from "./url-path.ts";

export interface RoleDefinition {
  readonly id: string;
  readonly name: string;
}

export interface Assignment {
  readonly roleId: string;
  readonly principalId: string;
}

const VERSION = "api-version=2022-04-01";

export class Arm {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Null where there is none. */
  async roleDefinition(id: string, signal: AbortSignal): Promise<RoleDefinition | null> {
    const step = "reading a role definition";
    const where = `${encodedPath(`/${id.replace(/^\//, "")}`)}?${VERSION}`;
    try {
      const request = { step, action: "getRoleDefinition", path: where };
      return definitionIn(step, (await this.#service.call(request, signal)).body);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      if (error.gone || error.has("RoleDefinitionDoesNotExist")) return null;
      throw error;
    }
  }

  /** What the provider says of a scope that is not there; null where it is, or where we may not know. Asked
   *  by a role, which every scope can be asked for. */
  async missingScope(scope: string, roleId: string, signal: AbortSignal): Promise<string | null> {
    const name = roleId.replace(/^.*\//, "");
    const below = `${withoutLastSlashes(scope)}/providers/Microsoft.Authorization`;
    const where = `${encodedPath(`${below}/roleDefinitions/${name}`)}?${VERSION}`;
    const request = { step: "looking for a scope", action: "getRoleDefinition", path: where };
    try {
      await this.#service.call(request, signal);
      return null;
    } catch (error) {
      if (!(error instanceof ProviderError) || error.kind !== "refused") throw error;
      return error.gone && !error.has("RoleDefinitionDoesNotExist") ? error.said : null;
    }
  }

  async roleDefinitionsNamed(
    subscriptionId: string,
    name: string,
    signal: AbortSignal,
  ): Promise<RoleDefinition[]> {
    const step = "looking for a role definition";
    const below = path`/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions`;
    const filter = encodeURIComponent(`roleName eq ${quoted(name.toWellFormed())}`);
    const request = {
      step,
      action: "listRoleDefinitions",
      path: `${below}?$filter=${filter}&${VERSION}`,
    };
    const found = await this.#service.list(request, "nextLink", signal, 2);
    return found.map((one) => definitionIn(step, one));
  }

  /** By an id of ours, always the same for the same, for a principal that nobody else grants anything: one
   *  that is there already is this very assignment, from a try whose answer was lost. */
  async assign(id: string, assignment: Assignment, signal: AbortSignal): Promise<void> {
    const { roleId, principalId } = assignment;
    const request = {
      step: `assigning role ${roleId}`,
      action: "createRoleAssignment",
      method: "PUT",
      path: `${encodedPath(id)}?${VERSION}`,
      body: {
        properties: {
          roleDefinitionId: roleId,
          principalId,
          // Or else the directory is looked at, which does not know a fresh principal yet.
          principalType: "ServicePrincipal",
        },
      },
    } as const;
    try {
      await this.#service.call(request, signal);
    } catch (error) {
      if (!(error instanceof ProviderError) || !error.has("RoleAssignmentExists")) throw error;
    }
  }

  /** One that is not there is removed already. */
  async unassign(id: string, signal: AbortSignal): Promise<void> {
    const request = {
      step: `removing role assignment ${id}`,
      action: "deleteRoleAssignment",
      method: "DELETE",
      path: `${encodedPath(id)}?${VERSION}`,
    } as const;
    await this.#service.remove(request, signal);
  }
}

/** Where an assignment of ours lies. */
export function assignmentId(scope: string, uuid: string): string {
  const below = withoutLastSlashes(scope);
  return `${below}/providers/Microsoft.Authorization/roleAssignments/${uuid}`;
}

function definitionIn(step: string, body: JsonObject): RoleDefinition {
  const properties = isObject(body["properties"]) ? body["properties"] : {};
  return { id: neededText(step, body, "id"), name: textIn(properties, "roleName") };
}
