// The roles of a mount, by name and by role id. One transaction for each change.

import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { checkGlobal, isGlobal, isLoginName } from "@holdfast/plugin-sdk/login-terms";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import * as failures from "./failures.ts";
import { goneKey, type Hashes, roleIdKey, roleKey, ROLES, textCodec } from "./keys.ts";
import { changedRole, newRole, type Role, type RoleChange, roleCodec, roleName } from "./role.ts";

export class Roles {
  readonly #needs: Pick<EngineNeeds, "storage" | "random" | "options">;
  readonly #hashes: Hashes;

  constructor(needs: Pick<EngineNeeds, "storage" | "random" | "options">, hashes: Hashes) {
    this.#needs = needs;
    this.#hashes = hashes;
  }

  /** With an id: this very one. */
  async has(name: string, id?: string): Promise<boolean> {
    if (!isLoginName(name)) return false;
    const role = await this.#needs.storage.get(roleKey(name), roleCodec);
    return role !== null && (id === undefined || role.id === id);
  }

  async read(name: string): Promise<Role> {
    const role = await this.#needs.storage.get(roleKey(roleName(name)), roleCodec);
    if (role === null) throw failures.noRole();
    return role;
  }

  names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    return this.#needs.storage.list(ROLES, page);
  }

  /** Null for one that nobody has. */
  async byRoleId(roleId: string): Promise<Role | null> {
    const { storage } = this.#needs;
    const hash = await this.#hashes.known();
    if (hash === null) return null;
    const name = await storage.get(roleIdKey(hash(roleId)), textCodec);
    const role = name === null ? null : await storage.get(roleKey(name), roleCodec);
    return role?.roleId === roleId ? role : null;
  }

  /** Makes the role where there is none, unless `check`, which is told so, refuses. */
  async write(text: string, change: RoleChange, check: (exists: boolean) => void): Promise<void> {
    const name = roleName(text);
    const { storage, random } = this.#needs;
    const hash = await this.#hashes.made();
    const ids = { id: random.uuid(), roleId: random.uuid() };
    await storage.write((tx) => {
      const before = tx.get(roleKey(name), roleCodec);
      check(before !== null);
      const role = changedRole(before ?? newRole(name, ids), change);
      if (isGlobal(this.#needs.options)) checkGlobal(role.terms);
      if (role.roleId !== before?.roleId) {
        const key = roleIdKey(hash(role.roleId));
        if (tx.get(key, textCodec) !== null) throw failures.roleIdTaken();
        tx.put(key, name, textCodec);
        if (before !== null) tx.delete(roleIdKey(hash(before.roleId)));
      }
      tx.put(roleKey(name), role, roleCodec);
    });
  }

  /** None of its secret ids is good for anything from here on; they are removed bit by bit. */
  async delete(text: string): Promise<void> {
    const name = roleName(text);
    const hash = await this.#hashes.known();
    if (hash === null) return;
    const remove = (tx: EngineTx) => {
      const role = tx.get(roleKey(name), roleCodec);
      if (role === null) return;
      tx.delete(roleKey(name));
      tx.delete(roleIdKey(hash(role.roleId)));
      tx.put(goneKey(role.id), name, textCodec);
    };
    await this.#needs.storage.write(remove, { deletion: true });
  }
}

/** For changes of a role that is there. */
export function mustExist(exists: boolean): void {
  if (!exists) throw failures.noRole();
}

/** The same role, if it is still there. */
export function current(tx: EngineTx, { name, id }: Pick<Role, "name" | "id">): Role | null {
  const role = tx.get(roleKey(name), roleCodec);
  return role?.id === id ? role : null;
}
