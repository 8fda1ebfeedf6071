// A mount of databases: what its parts have in common, and the parts. Endpoints are in api/.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import { Failure } from "@holdfast/shared/failure";
import { OWN_WORK } from "@holdfast/shared/waiting";
import { KeyedMutex } from "../cloud/keyed-mutex.ts";
import { RotationConcerns } from "../cloud/rotation-concerns.ts";
import { Configuration } from "./connections/configuration.ts";
import { connectionCodec, CONNECTIONS } from "./connections/connection.ts";
import { Connections } from "./connections/connections.ts";
import { deleteConnection } from "./connections/deletion.ts";
import { connectionLock, RootRotation } from "./connections/root-rotation.ts";
import { Roles } from "./roles/roles.ts";
import { Users } from "./roles/users.ts";
import { StaticRoles } from "./statics/static-roles.ts";
import { staticRoleKey } from "./statics/static-role.ts";

const PAGE = 500;

export class DatabaseEngine {
  readonly needs: EngineNeeds;
  /** By "config/<connection>", "role/<name>" and "static/<name>". */
  readonly locks = new KeyedMutex();
  readonly connections: Connections;
  readonly configuration: Configuration;
  readonly rotation: RootRotation;
  readonly roles: Roles;
  readonly users: Users;
  readonly staticRoles: StaticRoles;
  readonly concerns: RotationConcerns;

  constructor(needs: EngineNeeds) {
    this.needs = needs;
    const { locks } = this;
    const connections = new Connections(needs);
    const concerns = new RotationConcerns(needs.clock);
    const roles = new Roles(needs, locks);
    this.connections = connections;
    this.concerns = concerns;
    this.roles = roles;
    this.configuration = new Configuration({ needs, locks, connections });
    this.rotation = new RootRotation({ needs, locks, connections });
    this.users = new Users({ needs, connections, roles });
    this.staticRoles = new StaticRoles({ needs, locks, connections, concerns });
  }

  async open(): Promise<void> {
    await this.staticRoles.open();
  }

  async deleteConnection(
    name: string,
    how: { readonly force: boolean; readonly request: EngineRequest },
  ): Promise<string[]> {
    const { needs, locks, connections } = this;
    const before = this.staticRoles.namesOf(name);
    const warnings = await deleteConnection({ needs, locks, connections }, name, how);
    this.staticRoles.invalidate(before.map(staticRoleKey));
    return warnings;
  }

  /** A rotation that was cut off is brought to its end. */
  async settle(): Promise<void> {
    const { storage, log } = this.needs;
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const found = await storage.records(CONNECTIONS, connectionCodec, page);
      for (const { key, value } of found) {
        if (value.nextPassword === null) continue;
        const name = key.slice(CONNECTIONS.length);
        try {
          await this.locks.run(connectionLock(name), OWN_WORK, () => this.rotation.settle(name));
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          log.warn("a rotation of a root password is not settled", { name, why: error.message });
        }
      }
      after = found.at(-1)?.key;
      if (found.length < PAGE || after === undefined) return;
    }
  }

  /** Another cluster has written. */
  invalidate(keys: readonly string[]): void {
    for (const key of keys) {
      if (key.startsWith(CONNECTIONS)) this.connections.drop(key.slice(CONNECTIONS.length));
    }
    this.staticRoles.invalidate(keys);
  }

  async close(): Promise<void> {
    this.staticRoles.close();
    this.concerns.clear();
    await this.connections.close();
  }
}
