// The roles of a mount: written, read and deleted. What a role has given lives on when it goes.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import type { Waiting } from "@holdfast/shared/waiting";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import { connectionKey } from "../connections/connection.ts";
import { leasesAt, placeOf, remember } from "../connections/uses.ts";
import { bytesCodec } from "@holdfast/shared/codec";
import { invalid, notFound } from "../failures.ts";
import {
  changedRole,
  type Role,
  type RoleChange,
  roleCodec,
  roleKey,
  ROLES,
  warningsOn,
} from "./role.ts";

export class Roles {
  readonly #needs: EngineNeeds;
  readonly #locks: KeyedMutex;

  constructor(needs: EngineNeeds, locks: KeyedMutex) {
    this.#needs = needs;
    this.#locks = locks;
  }

  find(name: string): Promise<Role | null> {
    return this.#needs.storage.get(roleKey(name), roleCodec);
  }

  names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    return this.#needs.storage.list(ROLES, page);
  }

  /** Gives warnings. */
  write(name: string, change: RoleChange, request: Waiting): Promise<string[]> {
    const { storage } = this.#needs;
    return this.#locks.run(`role/${name}`, request, async () => {
      const stored = await this.find(name);
      const wanted = changedRole(name, stored, change);
      if (wanted.dbName !== stored?.dbName) await this.#checkLeft(name, wanted.dbName);
      return storage.write((tx) => {
        const role = changedRole(name, tx.get(roleKey(name), roleCodec), change);
        tx.put(roleKey(name), role, roleCodec);
        const isThere = tx.get(connectionKey(role.dbName), bytesCodec) !== null;
        const missing = `db_name: there is no connection ${JSON.stringify(role.dbName)} yet`;
        return [...(isThere ? [] : [missing]), ...warningsOn(role)];
      });
    });
  }

  /** What lives of it was made with another connection, where this would not find it. */
  async #checkLeft(name: string, dbName: string): Promise<void> {
    const { count, silent } = await leasesAt(this.#needs, [placeOf(name)]);
    if (count === 0 && silent === 0) return;
    if (await this.#isOnlyOf(name, dbName)) return;
    const what =
      count > 0
        ? `${count} live leases of the role`
        : "a region that has not answered and may have leases of the role";
    throw invalid(
      "role-invalid-database",
      `db_name cannot be another one while there are ${what}: revoke them first (sys/leases/revoke-prefix), or use another name`,
    );
  }

  /** Whether a role of the name that is gone was of the same connection. */
  async #isOnlyOf(name: string, dbName: string): Promise<boolean> {
    const { storage } = this.#needs;
    if ((await this.find(name)) !== null) return false;
    return (await storage.get(`left/${dbName}/${name}`, bytesCodec)) !== null;
  }

  /** Gives warnings. */
  delete(name: string, request: Waiting): Promise<string[]> {
    const { storage } = this.#needs;
    return this.#locks.run(`role/${name}`, request, async () => {
      await storage.write((tx) => {
        const role = tx.get(roleKey(name), roleCodec);
        if (role === null) throw notFound();
        remember(tx, role);
        tx.delete(roleKey(name));
      });
      const { count } = await leasesAt(this.#needs, [placeOf(name)]);
      if (count === 0) return [];
      return [`${count} leases of the role live on until they end; revoke-prefix revokes them`];
    });
  }
}
