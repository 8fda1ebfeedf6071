// People with a name and a password. Answers who somebody is; the server makes the token.

import type { Secret } from "@holdfast/shared/secret";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import type { EngineNeeds, EngineType } from "@holdfast/plugin-sdk/engine";
import type { Concern } from "@holdfast/plugin-sdk/concern";
import { DEFAULT_LOCKOUT } from "@holdfast/plugin-sdk/lockout";
import {
  changedTerms,
  checkGlobal,
  checkLoginOptions,
  isFrom,
  isGlobal,
  type LoginChange,
  isLoginName,
  offerOf,
  DEFAULT_TERMS,
} from "@holdfast/plugin-sdk/login-terms";
import { userpassApi } from "./api.ts";
import * as failures from "./failures.ts";
import { Lockout } from "./lockout.ts";
import {
  type PasswordCost,
  type PasswordHash,
  Passwords,
  type Setter,
  type Waiter,
} from "./passwords.ts";
import { type User, userCodec, userKey, USERS } from "./user.ts";

export interface UserChange extends LoginChange {
  readonly password?: Secret<string> | undefined;
}

export interface Login {
  readonly password: Secret<string>;
  /** Of the caller. */
  readonly address: string;
  readonly request: Waiter;
}

export class Userpass {
  readonly #needs: EngineNeeds;
  readonly #passwords: Passwords;
  readonly #lockout: Lockout;

  constructor(needs: EngineNeeds, passwords: Passwords) {
    const { clock, mount } = needs;
    this.#needs = needs;
    this.#passwords = passwords;
    this.#lockout = new Lockout({ clock, config: () => mount.lockout?.() ?? DEFAULT_LOCKOUT });
  }

  /** Whether the tokens of its logins are good in all clusters. */
  get global(): boolean {
    return isGlobal(this.#needs.options);
  }

  /** How many, and not who: anybody can have any name locked, also those that nobody has. */
  get concerns(): readonly Concern[] {
    const count = this.#lockout.locked;
    return count === 0 ? [] : [{ kind: "origin-locked", place: "", count }];
  }

  async login(username: string, login: Login): Promise<LoginOffer> {
    const { storage, log } = this.#needs;
    const name = username;
    if (!isLoginName(name)) throw failures.loginRefused(); // nobody can have it
    this.#passwords.checkLine(login.address); // a flood costs no look at the store
    const user = await this.#lockout.attempt(login.request, name, async () => {
      const found = await storage.get(userKey(name), userCodec);
      const { password, request, address } = login;
      const asking = { address, request };
      if (!(await this.#passwords.matches(password, found?.password ?? null, asking))) return null;
      // It may have been changed while its password was checked.
      const now = await storage.get(userKey(name), userCodec);
      if (now === null || now.password.key !== found?.password.key) return null;
      if (isFrom(now.terms.boundTo, address)) return now;
      // Not told to the caller, who would learn that the password is right.
      log.warn("a login was refused for its address", { user: name, address });
      return null;
    });
    if (user === null) throw failures.loginRefused();
    const metadata = { username: name };
    const owner = user.id === null ? metadata : { ...metadata, id: user.id };
    return offerOf(user.terms, { displayName: name, metadata, owner, global: this.global });
  }

  async read(username: string): Promise<User> {
    const user = await this.#needs.storage.get(userKey(nameOf(username)), userCodec);
    if (user === null) throw failures.noUser();
    return user;
  }

  async has(username: string): Promise<boolean> {
    if (!isLoginName(username)) return false;
    return (await this.#needs.storage.get(userKey(username), userCodec)) !== null;
  }

  /** Without an id it is a login of before there were any: then the name counts. */
  async stillKnows(username: string, id: string | undefined): Promise<boolean> {
    if (!isLoginName(username)) return false;
    const user = await this.#needs.storage.get(userKey(username), userCodec);
    return user !== null && (id === undefined || user.id === id);
  }

  names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    return this.#needs.storage.list(USERS, page);
  }

  /** Makes the user where there is none. A new password ends a lock. */
  async write(
    username: string,
    change: UserChange,
    context: Setter & Pick<EngineRequest, "confirmExists">,
  ): Promise<void> {
    const name = nameOf(username);
    const hash = await this.#hashOf(change, context);
    await this.#change(name, change, hash, (exists) => context.confirmExists(exists));
  }

  /** Of one who is there. */
  async change(username: string, change: UserChange, request: Setter): Promise<void> {
    const name = nameOf(username);
    if (!(await this.has(name))) throw failures.noUser(); // before the work of a password
    await this.#change(name, change, await this.#hashOf(change, request), (exists) => {
      if (!exists) throw failures.noUser();
    });
  }

  async delete(username: string): Promise<void> {
    const key = userKey(nameOf(username));
    await this.#needs.storage.write((tx) => tx.delete(key));
  }

  async #hashOf({ password }: UserChange, request: Setter): Promise<PasswordHash | null> {
    const { random, mount } = this.#needs;
    if (password === undefined) return null;
    return this.#passwords.hash(password, random, { request, namespace: mount.namespace.path });
  }

  async #change(
    name: string,
    terms: LoginChange,
    hash: PasswordHash | null,
    check: (exists: boolean) => void,
  ): Promise<void> {
    const { storage, random } = this.#needs;
    await storage.write((tx) => {
      const before = tx.get(userKey(name), userCodec);
      check(before !== null);
      const id = before === null ? random.uuid() : before.id;
      const after = changed(before, hash, terms);
      if (isGlobal(this.#needs.options)) checkGlobal(after.terms);
      tx.put(userKey(name), { id, ...after }, userCodec);
    });
    if (hash !== null) this.#lockout.forget(name);
  }
}

function changed(
  before: User | null,
  hash: PasswordHash | null,
  terms: LoginChange,
): Omit<User, "id"> {
  const password = hash ?? before?.password;
  if (password === undefined) throw failures.passwordMissing();
  return { password, terms: changedTerms(before?.terms ?? DEFAULT_TERMS, terms) };
}

function nameOf(username: string): string {
  if (!isLoginName(username)) throw failures.userNameInvalid();
  return username;
}

/** The type; its mounts share the threads that passwords are checked with. */
export function userpassType(cost?: PasswordCost): EngineType<Userpass> {
  const passwords = new Passwords(cost);
  return {
    type: "userpass",
    kind: "auth",
    summary: "People log in with a name and a password.",
    version: "v1.0.0+builtin",
    paths: () => userpassApi,
    checkOptions: checkLoginOptions,
    open: (needs) => new Userpass(needs, passwords),
    concerns: (engine) => engine.concerns,
    renewLogin: async (engine, { username = "", id }) =>
      (await engine.stillKnows(username, id)) ? {} : null,
  };
}
