// The static roles of a mount: made, changed, read, rotated and deleted. What is next
// to be done is derived from storage when the mount opens and kept in step with it (static-rotation.ts).

import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import type { EngineNeeds, Leading, WriteAheadRecord } from "@holdfast/plugin-sdk/engine";
import { NO_TERMS, sameTerms } from "../../cloud/rotation-terms.ts";
import { accountOf, checkAccount } from "../provider/account.ts";
import { notFound } from "../failures.ts";
import { type StaticParts, StaticRotation } from "./static-rotation.ts";
import * as failures from "./static-failures.ts";
import { removeOne, replaceKey, undoKey } from "./static-keys.ts";
import { adoptableUser, rootUser, userLock, userOf } from "./static-users.ts";
import {
  checkUsername,
  expirationOf,
  freshCreds,
  keyMakingKey,
  retirement,
  STATIC_CREDS,
  STATIC_ROLES,
  type StaticCreds,
  staticCredsCodec,
  staticCredsKey,
  type StaticRole,
  type StaticRoleChange,
  staticRoleCodec,
  staticRoleKey,
  termsOf,
} from "./static-role.ts";

export interface StaticState {
  readonly role: StaticRole;
  readonly creds: StaticCreds;
}

const PAGE = 500;

/** Who waits for its turn, and how long what it has begun may take. */
export interface Asking {
  readonly request: Waiting;
  readonly signal: AbortSignal;
}

export class StaticRoles {
  readonly #parts: StaticParts;
  readonly #needs: EngineNeeds;
  readonly #rotation: StaticRotation;
  /** Who manages which user: role by user. */
  readonly #managers = new Map<string, string>();

  constructor(parts: StaticParts) {
    this.#parts = parts;
    this.#needs = parts.needs;
    this.#rotation = new StaticRotation(parts, (name) => this.find(name));
  }

  /** From storage, which alone is true. */
  async open(): Promise<void> {
    const { storage } = this.#needs;
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const roles = await storage.records(STATIC_ROLES, staticRoleCodec, page);
      for (const { value } of roles) await this.#remember(value);
      after = roles.at(-1)?.key;
      if (roles.length < PAGE || after === undefined) break;
    }
  }

  /** Keys are replaced when they are due. */
  lead(leading: Leading): void {
    this.#rotation.lead(leading);
  }

  rest(): Promise<void> {
    return this.#rotation.rest();
  }

  close(): void {
    this.#rotation.close();
    this.#managers.clear();
  }

  /** Users and their roles, by user. */
  managed(): (readonly [user: string, role: string])[] {
    return [...this.#managers].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async managesUser(username: string): Promise<boolean> {
    return this.#managers.has(username);
  }

  names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    return this.#needs.storage.list(STATIC_ROLES, page);
  }

  async find(name: string): Promise<StaticState | null> {
    const { storage } = this.#needs;
    const role = await storage.get(staticRoleKey(name), staticRoleCodec);
    const creds = await storage.get(staticCredsKey(name), staticCredsCodec);
    return role === null || creds === null ? null : { role, creds };
  }

  async read(name: string): Promise<StaticState> {
    const state = await this.find(name);
    if (state === null) throw notFound();
    return state;
  }

  /** Adopts a user, whose key it makes, or changes when that happens. */
  write(name: string, change: StaticRoleChange, by: Asking): Promise<StaticState> {
    const { request, signal } = by;
    checkUsername(change.username ?? "");
    return this.#parts.locks.run(`static/${name}`, request, async () => {
      const before = await this.find(name);
      if (before !== null) return this.#update(before, change, signal);
      const { username, rotationPeriod, rotationSchedule = "", overlap = null } = change;
      const now = this.#needs.clock.now();
      if (rotationPeriod !== undefined || rotationSchedule !== "") {
        termsOf(NO_TERMS, change, { overlap, now });
      }
      if (username === undefined || username === "") throw failures.required("username");
      if (rotationPeriod === undefined && rotationSchedule === "") {
        throw failures.required("rotation_period");
      }
      const role = { name, username, ...termsOf(NO_TERMS, change, { overlap, now }), overlap };
      return this.#parts.locks.run(userLock(username), request, () => this.#create(role, signal));
    });
  }

  /** A new key now; the next one a whole period later. */
  async rotate(name: string, { request, signal }: Asking): Promise<StaticState> {
    const { role } = await this.read(name);
    await this.#parts.locks.run(userLock(role.username), request, async () => {
      const state = await this.read(name);
      await this.#rotation.rotate(state, signal);
    });
    return this.read(name);
  }

  /** Ends the keys that we have made; the user and its other keys stay. With `force` the provider is not
   *  asked, and they stay as well. */
  async delete(name: string, { force }: { force: boolean }, by: Asking): Promise<void> {
    const { request, signal } = by;
    await this.#parts.locks.run(`static/${name}`, request, async () => {
      const { role } = await this.read(name);
      await this.#parts.locks.run(userLock(role.username), request, async () => {
        const { creds } = await this.read(name);
        if (!force) await this.#removeKeys(role, creds, signal);
        await this.#needs.storage.write((tx) => {
          tx.delete(staticRoleKey(name));
          tx.delete(staticCredsKey(name));
          tx.delete(keyMakingKey(name));
        });
        this.#managers.delete(role.username);
        this.#rotation.remove(name);
      });
    });
  }

  /** What a crash may have left of making a key. */
  async undoKey(record: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    const username = userOf(record);
    await this.#parts.locks.run(userLock(username), OWN_WORK, async () => {
      const manager = this.#managers.get(username);
      const creds = manager === undefined ? null : (await this.find(manager))?.creds;
      await undoKey(this.#parts, await this.#parts.clients.provider(signal), record, creds ?? null);
    });
  }

  /** Somebody else has written. */
  invalidate(keys: readonly string[]): void {
    const names = keys.flatMap((key) => {
      const place = [STATIC_ROLES, STATIC_CREDS].find((prefix) => key.startsWith(prefix));
      return place === undefined ? [] : [key.slice(place.length)];
    });
    const { log } = this.#needs;
    for (const name of new Set(names)) {
      this.#reload(name).catch(() => log.error("a static role could not be read"));
    }
  }

  async #reload(name: string): Promise<void> {
    const state = await this.find(name);
    for (const [user, manager] of this.#managers) {
      if (manager === name) this.#managers.delete(user);
    }
    if (state === null) this.#rotation.remove(name);
    else await this.#remember(state.role);
  }

  async #remember(role: StaticRole): Promise<void> {
    this.#managers.set(role.username, role.name);
    const creds = await this.#needs.storage.get(staticCredsKey(role.name), staticCredsCodec);
    if (creds !== null) this.#rotation.know(role.name, creds);
  }

  async #create(wanted: Omit<StaticRole, "id">, signal: AbortSignal): Promise<StaticState> {
    const { name, username } = wanted;
    this.#checkUnmanaged(username);
    const provider = await this.#parts.clients.provider(signal);
    const user = await adoptableUser(provider, username, null);
    if ((await rootUser(provider)) === username) {
      throw failures.userManaged(username, "config/root: its key is the one of this service");
    }
    const account = accountOf(user.arn);
    const role = { ...wanted, id: user.id, ...(account === null ? {} : { account }) };
    await replaceKey(this.#parts, provider, {
      role: name,
      user,
      creds: null,
      store: (tx, key) => {
        const now = this.#needs.clock.now();
        const creds = freshCreds(role, key, { previousKey: null, now });
        tx.put(staticRoleKey(name), role, staticRoleCodec);
        tx.put(staticCredsKey(name), creds, staticCredsCodec);
      },
    });
    const state = await this.read(name);
    await this.#remember(state.role);
    return state;
  }

  /** One user, one who changes its keys. */
  #checkUnmanaged(username: string): void {
    const manager = this.#managers.get(username);
    if (manager === undefined) return;
    throw failures.userManaged(username, `static role ${JSON.stringify(manager)}`);
  }

  async #update(
    { role, creds }: StaticState,
    change: StaticRoleChange,
    signal: AbortSignal,
  ): Promise<StaticState> {
    const { name, username } = role;
    const { overlap = role.overlap } = change;
    const terms = termsOf(role, change, { overlap, now: this.#needs.clock.now() });
    if (change.username !== undefined) {
      if (change.username !== username) throw failures.userChanged(name, username);
      await adoptableUser(await this.#parts.clients.provider(signal), username, role.id);
    }
    const changed: StaticRole = { ...role, ...terms, overlap };
    // Only where it differs: whoever writes the same role again and again would else put it off for ever.
    const moved = !sameTerms(terms, role);
    await this.#needs.storage.write((tx) => {
      const now = this.#needs.clock.now();
      const current = tx.get(staticCredsKey(name), staticCredsCodec) ?? creds;
      const expiration = moved ? expirationOf(changed, now) : current.expiration;
      const retireAt = overlap === role.overlap ? current.retireAt : retirement(changed, now);
      const retryAt = moved && !current.ended ? null : current.retryAt;
      tx.put(staticRoleKey(name), changed, staticRoleCodec);
      tx.put(staticCredsKey(name), { ...current, expiration, retireAt, retryAt }, staticCredsCodec);
    });
    const state = await this.read(name);
    this.#rotation.know(name, state.creds);
    return state;
  }

  async #removeKeys(role: StaticRole, creds: StaticCreds, signal: AbortSignal): Promise<void> {
    const provider = await this.#parts.clients.provider(signal);
    await checkAccount(provider, role.account ?? null);
    const { accessKey, previousKey } = creds;
    for (const id of previousKey === null ? [accessKey] : [previousKey, accessKey]) {
      await removeOne(this.#parts, provider, role.username, id);
    }
  }
}
