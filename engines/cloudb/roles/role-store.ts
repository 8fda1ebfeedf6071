// The roles of a mount as they are stored, by name.

import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { isRoleName, roleName } from "../api/fields.ts";
import * as failures from "../failures.ts";
import { type Role, roleCodec, roleKey, ROLES } from "./role.ts";

const PAGE = 1000;

export class RoleStore {
  readonly #storage: EngineStorage;

  constructor(storage: EngineStorage) {
    this.#storage = storage;
  }

  /** Null where there is none of this name, as it is kept. */
  find(name: string): Promise<Role | null> {
    return this.#storage.get(roleKey(name), roleCodec);
  }

  async has(name: string): Promise<boolean> {
    return isRoleName(name) && (await this.find(name)) !== null;
  }

  async read(name: string): Promise<Role> {
    const role = await this.find(roleName(name));
    if (role === null) throw failures.noRole();
    return role;
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    for (let page: string[] | null = null; page === null || page.length === PAGE;) {
      const after = names.at(-1);
      const from = after === undefined ? {} : { after };
      page = await this.#storage.list(ROLES, { limit: PAGE, ...from });
      names.push(...page);
    }
    return names;
  }

  /** Those that keep an application, by name. */
  async managing(): Promise<string[]> {
    const found: string[] = [];
    for (const name of await this.names()) {
      const role = await this.find(name);
      if (role !== null && role.managed !== null) found.push(name);
    }
    return found;
  }
}
