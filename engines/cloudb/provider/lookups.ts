// What a role names must exist: asked of the provider, a few at a
// time, and kept by the ids that it gives. The first of several mistakes is told.

import type { Effective } from "../rotation/config.ts";
import type { Connection, Connections } from "./connection.ts";
import * as failures from "../failures.ts";
import type { Application } from "./graph.ts";
import type { Patience } from "./patience.ts";
import type { Grant, GroupRef } from "../roles/role.ts";

const AT_ONCE = 4;

export class Lookups {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  async application(id: string, patience: Patience): Promise<Application> {
    const { graph } = await this.#connections.current();
    const found = await patience.step((signal) => graph.application(id, signal));
    if (found === null) throw failures.invalid(`application ${id} not found`);
    return found;
  }

  async grants(field: string, grants: readonly Grant[], patience: Patience): Promise<Grant[]> {
    const connection = await this.#connections.current();
    const found = await inParallel(grants, (grant) => this.#grant(connection, grant, patience));
    const seen = new Set<string>();
    for (const { roleId, scope } of found) {
      const both = `${roleId} ${scope}`.toLowerCase(); // the provider's ids have no case
      if (seen.has(both)) throw failures.invalid(`${field}: duplicate role_id and scope`);
      seen.add(both);
    }
    return found;
  }

  async groups(
    field: string,
    groups: readonly GroupRef[],
    patience: Patience,
  ): Promise<GroupRef[]> {
    const connection = await this.#connections.current();
    const found = await inParallel(groups, (group) => this.#group(connection, group, patience));
    const ids = new Set(found.map(({ objectId }) => objectId.toLowerCase()));
    if (ids.size < found.length) throw failures.invalid(`${field}: duplicate object_id`);
    return found;
  }

  async #grant(connection: Connection, grant: Grant, patience: Patience): Promise<Grant> {
    const found = await this.#role(connection, grant, patience);
    const { roleId, scope } = found;
    const { arm } = connection;
    const missing = await patience.step((signal) => arm.missingScope(scope, roleId, signal));
    if (missing === null) return found;
    throw failures.invalid(`scope ${quote(scope)} not found: ${missing}`);
  }

  async #role({ arm, effective }: Connection, grant: Grant, patience: Patience): Promise<Grant> {
    const { roleId, roleName, scope } = grant;
    if (roleId !== "") {
      const found = await patience.step((signal) => arm.roleDefinition(roleId, signal));
      if (found === null) throw failures.invalid(`no role found for role_id ${quote(roleId)}`);
      return { roleId: found.id, roleName: found.name, scope };
    }
    const [found, ...more] = await patience.step((signal) =>
      arm.roleDefinitionsNamed(effective.subscriptionId, roleName, signal),
    );
    if (found === undefined) {
      throw failures.invalid(`no role found for role_name ${quote(roleName)}`);
    }
    if (more.length > 0) {
      throw failures.invalid(`role_name is ambiguous, use role_id: ${quote(roleName)}`);
    }
    return { roleId: found.id, roleName: found.name, scope };
  }

  async #group({ groups }: Connection, group: GroupRef, patience: Patience): Promise<GroupRef> {
    const { objectId, groupName } = group;
    if (objectId !== "") {
      const found = await patience.step((signal) => groups.group(objectId, signal));
      if (found === null) throw failures.invalid(`no group found for object_id ${quote(objectId)}`);
      return { objectId: found.id, groupName: found.name };
    }
    const [found, ...more] = await patience.step((signal) => groups.named(groupName, signal));
    if (found === undefined) {
      throw failures.invalid(`no group found for group_name ${quote(groupName)}`);
    }
    if (more.length > 0) {
      throw failures.invalid(`group_name is ambiguous, use object_id: ${quote(groupName)}`);
    }
    return { objectId: found.id, groupName: found.name };
  }
}

/** Whoever may write roles could else make themselves secrets of the engine. */
export function refuseOwnApplication({ clientId }: Effective, appId: string): void {
  if (!isSameId(clientId, appId)) return;
  throw failures.invalid("application_object_id must not be the application of this engine itself");
}

/** However an operator has spelt it: the provider takes any case, with hyphens and braces or without. */
export function isSameId(a: string, b: string): boolean {
  const plain = (id: string) => id.replace(/[\s{}()-]/g, "").toLowerCase();
  return plain(a) === plain(b);
}

/** The results in order; of several failures the first in order. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: PromiseSettledResult<R>[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const some = items.slice(from, from + AT_ONCE);
    results.push(...(await Promise.allSettled(some.map(work))));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

function quote(text: string): string {
  return JSON.stringify(text);
}
