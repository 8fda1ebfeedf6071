// The static roles of a mount: made, changed, read, rotated by hand and when it is time. What is next to be done is derived
// from storage when the mount opens, and kept in step with it.

import type { EngineNeeds, Leading } from "@holdfast/plugin-sdk/engine";
import { Failure } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { OWN_WORK, type Waiting } from "@holdfast/shared/waiting";
import type { Nanos } from "@holdfast/shared/world";
import { withDeadline } from "../../cloud/deadline.ts";
import type { KeyedMutex } from "../../cloud/keyed-mutex.ts";
import type { RotationConcerns } from "../../cloud/rotation-concerns.ts";
import { RotationSchedule } from "../../cloud/rotation-schedule.ts";
import { isMissed, retryTime, sameTerms } from "../../cloud/rotation-terms.ts";
import { allows, usernameOf } from "../connections/connection.ts";
import type { Connections } from "../connections/connections.ts";
import * as failures from "../failures.ts";
import { newPassword } from "../roles/passwords.ts";
import { changeCreds, freshCreds, replacePassword } from "./static-passwords.ts";
import {
  changedStaticRole,
  dueOf,
  expirationOf,
  newStaticRole,
  STATIC_CREDS,
  STATIC_ROLES,
  type StaticCreds,
  staticCredsCodec,
  staticCredsKey,
  type StaticRole,
  type StaticRoleChange,
  staticRoleCodec,
  staticRoleKey,
} from "./static-role.ts";

export interface StaticState {
  readonly role: StaticRole;
  readonly creds: StaticCreds;
}

export interface StaticParts {
  readonly needs: EngineNeeds;
  readonly locks: KeyedMutex;
  readonly connections: Connections;
  readonly concerns: RotationConcerns;
}

const DEADLINE: Nanos = 75n * SECOND;
/** After its cluster took the place of another, which may have rotated a moment before. */
const REST_AT_FIRST: Nanos = 60n * SECOND;
const FIRST_WAIT = 10; // seconds, doubled by every failure
const LONGEST_WAIT = 15 * 60;
const MAX_ERROR = 512; // characters
const PAGE = 500;

export class StaticRoles {
  readonly #parts: StaticParts;
  readonly #needs: EngineNeeds;
  readonly #schedule: RotationSchedule;
  /** Which role manages which user of which connection. */
  readonly #managers = new Map<string, string>();
  #resting = new AbortController();

  constructor(parts: StaticParts) {
    this.#parts = parts;
    this.#needs = parts.needs;
    const { clock, timers } = parts.needs;
    this.#schedule = new RotationSchedule({ clock, timers, run: (name) => this.#due(name) });
  }

  async open(): Promise<void> {
    const { storage } = this.#needs;
    for (let after: string | undefined; ;) {
      const page = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const roles = await storage.records(STATIC_ROLES, staticRoleCodec, page);
      for (const { value } of roles) await this.#know(value.name);
      after = roles.at(-1)?.key;
      if (roles.length < PAGE || after === undefined) return;
    }
  }

  lead({ tookOverAt }: Leading): void {
    this.#resting = new AbortController();
    const end = tookOverAt === null ? 0n : tookOverAt + REST_AT_FIRST;
    const rest = end - this.#needs.clock.now();
    this.#schedule.open(rest > REST_AT_FIRST ? REST_AT_FIRST : rest > 0n ? rest : 0n);
  }

  async rest(): Promise<void> {
    this.#resting.abort();
    await this.#schedule.rest();
  }

  close(): void {
    void this.rest();
    this.#schedule.close();
    this.#managers.clear();
  }

  /** Users and their roles, by user. */
  managed(): (readonly [user: string, role: string])[] {
    return [...this.#managers].map(([key, role]) => [userIn(key), role]);
  }

  /** Of those that use a connection. */
  namesOf(connection: string): string[] {
    return [...this.#managers].flatMap(([key, role]) =>
      connectionIn(key) === connection ? [role] : [],
    );
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
    if (state === null) throw failures.notFound();
    return state;
  }

  /** The same for whoever wants its password. */
  async issue(name: string): Promise<StaticState> {
    const state = await this.find(name);
    if (state === null) throw failures.noRole(name);
    const connection = await this.#parts.connections.read(state.role.dbName);
    if (!allows(connection, name)) throw failures.roleNotAllowed(name, state.role.dbName);
    if (state.creds.password === "") throw failures.passwordUnknown(name);
    return state;
  }

  /** `skip`: a new one is not rotated at once. */
  write(
    name: string,
    change: StaticRoleChange,
    how: { readonly skip: boolean; readonly request: Waiting },
  ): Promise<void> {
    return this.#parts.locks.run(lockOf(name), how.request, async () => {
      const before = await this.find(name);
      if (before === null) await this.#create(name, change, how.skip);
      else await this.#update(before, change);
      await this.#know(name);
    });
  }

  async #create(name: string, change: StaticRoleChange, skip: boolean): Promise<void> {
    const { storage, clock } = this.#needs;
    const now = clock.now();
    const role = newStaticRole(name, change, now);
    await this.#checkUser(role);
    const known = freshCreds(change.selfManagedPassword ?? "", null, expirationOf(role, now));
    // One that is cut off before its first rotation is brought to its end as any other.
    const nextPassword = skip ? null : newPassword(this.#needs.random);
    const creds = { ...known, nextPassword };
    await storage.write((tx) => {
      tx.put(staticRoleKey(name), role, staticRoleCodec);
      tx.put(staticCredsKey(name), creds, staticCredsCodec);
    });
    if (skip) return;
    try {
      await this.#replaced(name, true);
    } catch (error) {
      // Where the password may be another one by now, the role is what knows it.
      const state = await this.find(name);
      if (state?.creds.nextPassword === null) await this.#remove(name);
      else await this.#failed(role, error);
      throw error;
    }
  }

  async #update({ role, creds }: StaticState, change: StaticRoleChange): Promise<void> {
    const { storage, clock } = this.#needs;
    const now = clock.now();
    const after = changedStaticRole(role, change, now);
    const own = change.selfManagedPassword ?? "";
    await storage.write((tx) => {
      const current = tx.get(staticCredsKey(role.name), staticCredsCodec) ?? creds;
      const isSame = sameTerms(role, after);
      const timed = isSame
        ? current
        : { ...current, expiration: expirationOf(after, now), retryAt: null, attempts: 0 };
      const known = own === "" ? timed : { ...timed, password: own };
      tx.put(staticRoleKey(role.name), after, staticRoleCodec);
      tx.put(staticCredsKey(role.name), known, staticCredsCodec);
    });
  }

  async #checkUser(role: StaticRole): Promise<void> {
    const connection = await this.#parts.connections.read(role.dbName);
    if (!allows(connection, role.name)) throw failures.roleNotAllowed(role.name, role.dbName);
    if (connection.isEnding) throw failures.connectionEnding(role.dbName);
    if (usernameOf(connection) === role.username) {
      throw failures.userManaged(role.username, "the connection itself: use rotate-root");
    }
    const manager = this.#managers.get(userKey(role));
    if (manager !== undefined && manager !== role.name) {
      throw failures.userManaged(role.username, `static role ${JSON.stringify(manager)}`);
    }
  }

  /** A new password now; the next one a whole period later. */
  async rotate(name: string, request: Waiting): Promise<void> {
    await this.read(name);
    await this.#parts.locks.run(lockOf(name), request, async () => {
      const { role } = await this.read(name);
      try {
        await this.#replaced(name);
      } catch (error) {
        const { creds } = await this.read(name);
        if (creds.nextPassword !== null) await this.#failed(role, error);
        throw error;
      } finally {
        await this.#know(name);
      }
    });
  }

  /** The user stays as it is. */
  async delete(name: string, request: Waiting): Promise<void> {
    await this.#parts.locks.run(lockOf(name), request, async () => {
      await this.read(name);
      await this.#remove(name);
    });
  }

  async #remove(name: string): Promise<void> {
    await this.#needs.storage.write((tx) => {
      tx.delete(staticRoleKey(name));
      tx.delete(staticCredsKey(name));
    });
    this.#forget(name);
  }

  /** Somebody else has written. */
  invalidate(keys: readonly string[]): void {
    const names = keys.flatMap((key) => {
      const place = [STATIC_ROLES, STATIC_CREDS].find((prefix) => key.startsWith(prefix));
      return place === undefined ? [] : [key.slice(place.length)];
    });
    for (const name of new Set(names)) {
      this.#know(name).catch(() =>
        this.#needs.log.error("a static role could not be read", { role: name }),
      );
    }
  }

  /** What storage says of it, which alone is true. */
  async #know(name: string): Promise<void> {
    const state = await this.find(name);
    this.#forget(name);
    if (state === null) return;
    const { role, creds } = state;
    this.#managers.set(userKey(role), name);
    this.#schedule.set(name, dueOf(creds));
    const { expiration: due, attempts, lastError: error } = creds;
    this.#parts.concerns.know(placeOf(name), { due, attempts, error });
  }

  #forget(name: string): void {
    for (const [user, manager] of this.#managers) {
      if (manager === name) this.#managers.delete(user);
    }
    this.#schedule.remove(name);
    this.#parts.concerns.forget(placeOf(name));
  }

  async #replaced(name: string, isFirst = false): Promise<void> {
    const { role, creds } = await this.read(name);
    await withDeadline(this.#needs.timers, DEADLINE, (signal) =>
      replacePassword(this.#parts, role, creds, { isFirst, signal }),
    );
  }

  async #due(name: string): Promise<void> {
    const { clock, log } = this.#needs;
    try {
      await this.#parts.locks.run(lockOf(name), OWN_WORK, () => this.#doDue(name));
      await this.#know(name);
    } catch (error) {
      // Nothing could be read or kept: it stays in the list, and the log is not filled with it.
      this.#schedule.set(name, clock.now() + BigInt(LONGEST_WAIT) * SECOND);
      log.warn("a static role was not looked after", { role: name, error: loggedOf(error) });
    }
  }

  async #doDue(name: string): Promise<void> {
    const state = await this.find(name);
    if (state === null || this.#resting.signal.aborted) return;
    const { role, creds } = state;
    const now = this.#needs.clock.now();
    if (dueOf(creds) > now) return; // done by hand meanwhile
    // What was cut off is brought to its end at any time.
    if (creds.nextPassword === null && isMissed(role, creds.expiration, now)) {
      return this.#missed(role, creds);
    }
    try {
      await this.#replaced(name);
    } catch (error) {
      await this.#failed(role, error);
    }
  }

  async #missed(role: StaticRole, { expiration: due }: StaticCreds): Promise<void> {
    const lastError = `the window of ${showTime(due)} was over before it could be rotated`;
    this.#needs.log.warn("a static role was not rotated", { role: role.name, lastError });
    const expiration = expirationOf(role, this.#needs.clock.now());
    const idle = { attempts: 0, lastError, retryAt: null, expiration };
    await changeCreds(this.#parts, role.name, (now) => ({ ...now, ...idle }));
  }

  async #failed(role: StaticRole, error: unknown): Promise<void> {
    const { log, clock } = this.#needs;
    log.warn("a static role could not be rotated", { role: role.name, error: loggedOf(error) });
    const lastError = readableOf(error).slice(0, MAX_ERROR);
    await changeCreds(this.#parts, role.name, (current) => {
      const now = clock.now();
      const attempts = current.attempts + 1;
      const isLasting = error instanceof Failure && error.kind === "invalid";
      const wait = isLasting
        ? LONGEST_WAIT
        : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** Math.min(attempts, 10));
      const retryAt =
        current.nextPassword === null
          ? retryTime(role, current.expiration, { now, wait })
          : now + BigInt(wait) * SECOND;
      if (retryAt !== null) return { ...current, attempts, lastError, retryAt };
      const expiration = expirationOf(role, now);
      return { ...current, attempts: 0, lastError, retryAt, expiration };
    });
  }
}

const lockOf = (name: string) => `static/${name}`;
const userKey = ({ dbName, username }: StaticRole) => JSON.stringify([dbName, username]);

function userIn(key: string): string {
  const [, user] = JSON.parse(key) as [string, string];
  return user;
}

function connectionIn(key: string): string {
  const [connection] = JSON.parse(key) as [string, string];
  return connection;
}

/** The path that shows how its rotation stands. */
function placeOf(name: string): string {
  return `static-roles/${name}`;
}

/** For whoever may read the role: with the words of the database. */
function readableOf(error: unknown): string {
  return error instanceof Failure ? (error.texts[0] ?? error.message) : "internal error";
}

function loggedOf(error: unknown): string {
  return error instanceof Failure ? error.message : "internal error";
}
