// Users that are made for one lease each: noted before, made, leased; ended by what the lease keeps of their role. What is
// left by neither is ended by its note.

import { DatabaseError, type UserCredential } from "@holdfast/plugin-sdk/database";
import type {
  EngineNeeds,
  LeaseFacts,
  Renewal,
  WriteAheadRecord,
} from "@holdfast/plugin-sdk/engine";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { Caller } from "@holdfast/shared/endpoint/request";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant, Nanos } from "@holdfast/shared/world";
import { withDeadline } from "../../cloud/deadline.ts";
import { countIssued } from "../../cloud/metrics.ts";
import { allows, type Connection, secretsOf } from "../connections/connection.ts";
import type { Connections } from "../connections/connections.ts";
import * as failures from "../failures.ts";
import { callerName, newName } from "./names.ts";
import { newKeyPair, newPassword } from "./passwords.ts";
import { keyBitsOf, type Role, roleKey, termsOf } from "./role.ts";
import type { Roles } from "./roles.ts";

const DEADLINE: Nanos = 75n * SECOND;
const NAMES_TRIED = 3;
/** The database refuses the user that much after its lease has ended. */
const BEYOND: Nanos = 5n * SECOND;

export const USER = "user";

export interface UsersParts {
  readonly needs: EngineNeeds;
  readonly connections: Connections;
  readonly roles: Roles;
}

interface Made {
  readonly username: string;
  readonly record: string;
}

interface Identity {
  readonly credential: UserCredential;
  /** What the caller is given of it. */
  readonly shown: { readonly password?: string; readonly rsa_private_key?: string };
  readonly secrets: readonly string[];
}

export class Users {
  readonly #parts: UsersParts;

  constructor(parts: UsersParts) {
    this.#parts = parts;
  }

  async issue(name: string, caller: Caller | null) {
    const { needs, connections, roles } = this.#parts;
    const role = await roles.find(name);
    if (role === null) throw failures.noRole(name);
    const connection = await connections.read(role.dbName);
    if (!allows(connection, name)) throw failures.roleNotAllowed(name, role.dbName);
    if (connection.isEnding) throw failures.connectionEnding(role.dbName);
    const terms = termsOf(role);
    const expiration = needs.clock.now() + this.#granted(terms) + BEYOND;
    const identity = await this.#identity(role);
    const { username, record } = await this.#make(connection, role, {
      caller,
      identity,
      expiration,
    });
    countIssued(needs.metrics, role.credentialType);
    const internal: JsonObject = {
      ...ending(role, username),
      expiration: String(expiration),
    };
    return reply(
      { username, ...identity.shown },
      {
        lease: {
          secretType: USER,
          internal,
          ...terms,
          needsOneOf: [roleKey(name)],
          settles: [record],
        },
      },
    );
  }

  #granted({ ttl, maxTtl }: ReturnType<typeof termsOf>): Nanos {
    const { mount } = this.#parts.needs;
    const max = mount.maxTtl();
    const longest = maxTtl !== null && maxTtl < max ? maxTtl : max;
    const wanted = ttl ?? mount.defaultTtl();
    return wanted < longest ? wanted : longest;
  }

  async #identity(role: Role): Promise<Identity> {
    if (role.credentialType === "password") {
      const password = newPassword(this.#parts.needs.random);
      return {
        credential: { kind: "password", password },
        shown: { password },
        secrets: [password],
      };
    }
    const { privateKey, publicKey } = await newKeyPair(keyBitsOf(role));
    return {
      credential: { kind: "rsa_private_key", publicKey: Buffer.from(publicKey) },
      shown: { rsa_private_key: privateKey },
      secrets: [],
    };
  }

  /** Not cut off where the client hangs up: what was begun is brought to its end. */
  async #make(
    connection: Connection,
    role: Role,
    about: {
      readonly caller: Caller | null;
      readonly identity: Identity;
      readonly expiration: Instant;
    },
  ): Promise<Made> {
    const { needs, connections } = this.#parts;
    const { identity, expiration } = about;
    const displayName = callerName(about.caller);
    const { usernameTemplate: template, maxUsername } = connection;
    for (let tried = 1; ; tried++) {
      const wanted = newName(
        needs,
        { template, maxUsername },
        { displayName, roleName: role.name },
      );
      const record = await needs.writeAhead.begin(USER, ending(role, wanted));
      try {
        const order = {
          username: wanted,
          displayName,
          roleName: role.name,
          credential: identity.credential,
          expiration,
          statements: role.creationStatements,
          rollbackStatements: role.rollbackStatements,
        };
        const username = await withDeadline(needs.timers, DEADLINE, (signal) =>
          connections.use(role.dbName, "NewUser", (instance) => instance.newUser(order, signal)),
        );
        if (username !== wanted) await needs.writeAhead.note(record, ending(role, username));
        return { username, record };
      } catch (error) {
        const isTaken = saysExists(error);
        // After anything uncertain there may be one: the note stays, and leads to it.
        if (isTaken || failures.isHarmless(error)) await needs.writeAhead.drop(record);
        if (isTaken && tried < NAMES_TRIED) continue;
        const secrets = [...secretsOf(connection), ...identity.secrets];
        throw failures.errorForCaller(error, "making the user", secrets);
      }
    }
  }

  async renew({ internal, issued }: LeaseFacts, increment: Nanos | null): Promise<Renewal> {
    const { needs, connections, roles } = this.#parts;
    const { connection: dbName, username, role: name } = endingOf(internal);
    const role = await roles.find(name);
    if (role === null) {
      const message = `role ${JSON.stringify(name)} no longer exists; lease cannot be renewed`;
      throw failures.invalid("role-invalid-database", message);
    }
    const terms = termsOf(role);
    const now = needs.clock.now();
    const max = needs.mount.maxTtl();
    const longest = terms.maxTtl !== null && terms.maxTtl < max ? terms.maxTtl : max;
    const wanted = now + (increment ?? terms.ttl ?? needs.mount.defaultTtl());
    const last = issued + longest;
    const expiration = (wanted < last ? wanted : last) + BEYOND;
    const { expiration: kept } = internal;
    const before = typeof kept === "string" ? BigInt(kept) : issued;
    const connection = await connections.read(dbName);
    try {
      const change = { username, expiration, statements: role.renewStatements };
      await withDeadline(needs.timers, DEADLINE, (signal) =>
        connections.use(dbName, "UpdateUser", (instance) => instance.updateUser(change, signal)),
      );
    } catch (error) {
      if (error instanceof DatabaseError && error.reason === "unsupported") {
        // The user ends when it was to end: the lease does not outlast it, and says so.
        return { ...terms, maxTtl: before - BEYOND - issued, renewable: false };
      }
      throw failures.errorForCaller(error, "prolonging the user", secretsOf(connection));
    }
    return { ...terms, internal: { ...internal, expiration: String(expiration) } };
  }

  async revoke({ internal }: LeaseFacts, signal: AbortSignal): Promise<void> {
    await this.#end(internal, signal);
  }

  async undo({ data }: WriteAheadRecord, signal: AbortSignal): Promise<void> {
    await this.#end(data, signal);
  }

  /** One that the plugin does not know is gone. */
  async #end(data: JsonObject, signal: AbortSignal): Promise<void> {
    const { connections } = this.#parts;
    const { connection: name, username, statements } = endingOf(data);
    const connection = await connections.find(name);
    if (connection === null) throw failures.connectionGone(name);
    try {
      await connections.use(name, "DeleteUser", (instance) =>
        instance.deleteUser({ username, statements }, signal),
      );
    } catch (error) {
      if (error instanceof DatabaseError && error.fate === "answered" && error.reason === "missing")
        return;
      const step = `removing user ${username}`;
      throw failures.errorForCaller(error, step, secretsOf(connection));
    }
  }
}

/** What it takes to end a user, whatever becomes of the role. */
function ending(role: Role, username: string): JsonObject {
  const { dbName, name, revocationStatements } = role;
  return { connection: dbName, role: name, username, statements: revocationStatements };
}

function endingOf(data: JsonObject) {
  const { connection, role, username, statements } = data;
  if (typeof connection !== "string" || typeof username !== "string" || username === "") {
    throw new PermanentFailure("it is not kept which user it is about");
  }
  const texts = Array.isArray(statements)
    ? statements.filter((one) => typeof one === "string")
    : [];
  return { connection, username, role: typeof role === "string" ? role : "", statements: texts };
}

/** Plugins of others have no word for it but their database's. */
function saysExists(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.fate !== "answered") return false;
  if (error.reason === "exists") return true;
  return error.reason === "unknown" && /\balready exists\b/i.test(error.words);
}
