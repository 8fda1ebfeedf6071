// A database as a program of its own: `serveDatabase(type)` at the end of its file, and whoever starts database plugins of the
// ecosystem can start it. One process serves any number of connections, each by the id that its calls bring.

import { describe } from "@holdfast/shared/failure";
import { type Call, type Served, serveUnary } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Log } from "@holdfast/shared/log";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Instant } from "@holdfast/shared/world";
import {
  type DatabaseReason,
  DatabaseError,
  type DatabaseUsers,
  type UserChange,
  type UserCredential,
  type UserOrder,
} from "../database.ts";
import {
  CredentialType,
  database,
  type NewUserRequest,
  type UpdateUserRequest,
} from "../wire/database.ts";
import { DATABASE_COOKIE, DATABASE_PROTOCOLS } from "../wire/handshake.ts";
import { NO_TIME } from "../wire/known-types.ts";
import { MULTIPLEX_ID } from "../wire/processes.ts";
import { clock, random } from "./own-world.ts";
import { type PluginWorld, runPlugin, type Serving } from "./plugin-process.ts";
import { processServices } from "./process-services.ts";

/** A kind of database. */
export interface DatabaseType {
  /** Such as "postgresql". */
  readonly name: string;
  /** Members of the configuration that nobody is shown, besides `password`. */
  readonly secretFields: readonly string[];
  /** Bytes of a user's name, at most. */
  readonly maxUsername: number;
  /** Refuses a configuration with a databaseRefusal that says what would be accepted. `verify`: it is logged in to. */
  readonly open: (config: JsonObject, how: OpeningHow) => Promise<Database>;
}

export interface OpeningHow {
  readonly verify: boolean;
  readonly signal: AbortSignal;
}

export interface Database extends DatabaseUsers {
  close(): Promise<void>;
}

const HINT = `This program is a database plugin: a server starts it, nobody runs it by hand.
Register it and use it in a connection:
  holdfast plugin register -command=FILE -sha256=SUM database NAME
  holdfast write database/config/CONNECTION plugin_name=NAME ...
`;

/** Resolves when it can be reached; the process then lives as long as its host wants it. */
export async function serveDatabase(type: DatabaseType): Promise<void> {
  await runPlugin({
    name: type.name,
    cookie: DATABASE_COOKIE,
    protocols: DATABASE_PROTOCOLS,
    hint: HINT,
    serve: (world) => new Instances(type, world),
  });
}

const CODES: Readonly<Record<DatabaseReason, number>> = {
  refused: Status.invalidArgument,
  exists: Status.alreadyExists,
  missing: Status.notFound,
  unsupported: Status.unimplemented,
  unreachable: Status.unavailable,
  unknown: Status.internal,
};

class Instances implements Serving {
  readonly services: readonly Served<null>[];
  readonly #type: DatabaseType;
  readonly #log: Log;
  readonly #open = new Map<string, Database>();

  constructor(type: DatabaseType, { log, leave }: PluginWorld) {
    this.#type = type;
    this.#log = log;
    this.services = [...processServices({ leave }), ...this.#ofDatabase()];
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map((one) => one.close()));
  }

  #ofDatabase(): Served<null>[] {
    const { name, secretFields, maxUsername } = this.#type;
    return [
      serveUnary(database.initialize, async ({ configData, verifyConnection }, call) => {
        const config = configData ?? {};
        await this.#withReason(() =>
          this.#initialize(idOf(call), config, verifyConnection, call.signal),
        );
        return { configData: config, secretFields, maxUsername };
      }),
      serveUnary(database.newUser, async (request, call) => ({
        username: await this.#withReason(() =>
          this.#of(call).newUser(orderOf(request, maxUsername), call.signal),
        ),
      })),
      serveUnary(database.updateUser, async (request, call) => {
        await this.#withReason(async () => {
          for (const change of changesOf(request)) {
            await this.#of(call).updateUser(change, call.signal);
          }
        });
        return {};
      }),
      serveUnary(database.deleteUser, async ({ username, statements }, call) => {
        const end = { username, statements: statements?.commands ?? [] };
        await this.#withReason(() => this.#of(call).deleteUser(end, call.signal));
        return {};
      }),
      serveUnary(database.type, async () => ({ type: name })),
      serveUnary(database.close, async (_, call) => {
        const id = idOf(call);
        const open = this.#open.get(id);
        this.#open.delete(id);
        await open?.close();
        return {};
      }),
    ];
  }

  /** A connection that is initialized again takes the place of the one before. */
  async #initialize(
    id: string,
    config: JsonObject,
    verify: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const next = await this.#type.open(config, { verify, signal });
    const before = this.#open.get(id);
    this.#open.set(id, next);
    await before?.close();
  }

  #of(call: Call<null>): Database {
    const open = this.#open.get(idOf(call));
    if (open !== undefined) return open;
    throw new StatusError(Status.failedPrecondition, "the connection was not initialized");
  }

  async #withReason<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StatusError) throw error;
      if (error instanceof DatabaseError) throw new StatusError(CODES[error.reason], error.words);
      this.#log.error("the plugin failed", { cause: describe(error) });
      throw new StatusError(Status.internal, "the plugin failed; its log says why");
    }
  }
}

/** Empty where the process has one user alone. */
function idOf(call: Call<null>): string {
  return call.metadata(MULTIPLEX_ID) ?? "";
}

function orderOf(request: NewUserRequest, maxUsername: number): UserOrder {
  const { displayName = "", roleName = "" } = request.usernameConfig ?? {};
  return {
    username:
      request.username === "" ? madeName(displayName, roleName, maxUsername) : request.username,
    displayName,
    roleName,
    credential: credentialOf(request),
    expiration: timeOf(request.expiration),
    statements: request.statements?.commands ?? [],
    rollbackStatements: request.rollbackStatements?.commands ?? [],
  };
}

/** For hosts that leave names to their plugins. */
function madeName(displayName: string, roleName: string, max: number): string {
  const plain = (text: string) => text.replace(/[^A-Za-z0-9_-]/g, "").slice(0, 8);
  const name = `v-${plain(displayName)}-${plain(roleName)}-${random.bytes(10).toString("hex")}-${clock.now() / SECOND}`;
  return name.slice(0, max);
}

function credentialOf({
  credentialType,
  password,
  publicKey,
  subject,
}: NewUserRequest): UserCredential {
  switch (credentialType) {
    case CredentialType.password:
      return { kind: "password", password };
    case CredentialType.rsaPrivateKey:
      return { kind: "rsa_private_key", publicKey };
    case CredentialType.clientCertificate:
      return { kind: "client_certificate", subject };
    default:
      throw new StatusError(Status.unimplemented, `there is no credential type ${credentialType}`);
  }
}

/** What is asked for in one call, each with its own statements. */
function changesOf(request: UpdateUserRequest): UserChange[] {
  const { username, password, expiration, publicKey, selfManagedPassword } = request;
  const own = selfManagedPassword === "" ? {} : { selfManagedPassword };
  const changes: UserChange[] = [];
  if (password !== null) {
    const credential = { kind: "password", password: password.newPassword } as const;
    changes.push({ username, credential, statements: password.statements?.commands ?? [], ...own });
  }
  if (publicKey !== null) {
    const credential = { kind: "rsa_private_key", publicKey: publicKey.newPublicKey } as const;
    changes.push({ username, credential, statements: publicKey.statements?.commands ?? [] });
  }
  const until = timeOf(expiration?.newExpiration ?? null);
  if (until !== null) {
    changes.push({
      username,
      expiration: until,
      statements: expiration?.statements?.commands ?? [],
    });
  }
  if (changes.length > 0) return changes;
  throw new StatusError(Status.invalidArgument, "it is not said what of the user is to change");
}

function timeOf(at: Instant | null): Instant | null {
  return at === null || at === NO_TIME ? null : at;
}
