// One connection in a plugin process, by the protocol that the ecosystem has for databases. What came of a call is told
// exactly: that nothing was sent, what the plugin said, or that nobody knows.

import {
  type ChosenDatabase,
  type ConnectionFacts,
  type CredentialKind,
  type DatabaseInstance,
  type DatabaseReason,
  DatabaseError,
  type UserChange,
  type UserEnd,
  type UserOrder,
} from "@holdfast/plugin-sdk/database";
import { CredentialType, database, NAME_AS_GIVEN } from "@holdfast/plugin-sdk/wire/database";
import { NOTHING } from "@holdfast/plugin-sdk/wire/known-types";
import { callUnary, type Method } from "@holdfast/shared/grpc/method";
import { Status, StatusError } from "@holdfast/shared/grpc/status";
import type { JsonObject } from "@holdfast/shared/json/json";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { type HeldProcess, UnsentCall } from "../ports.ts";

const WITHIN: Nanos = MINUTE;
const OPENS_WITHIN: Nanos = 30n * SECOND;
/** To say what it is, and to close a connection, takes no time. */
const AT_ONCE: Nanos = SECOND;

const TYPES: Readonly<Record<CredentialKind, number>> = {
  password: CredentialType.password,
  rsa_private_key: CredentialType.rsaPrivateKey,
  client_certificate: CredentialType.clientCertificate,
};

const REASONS: ReadonlyMap<number, DatabaseReason> = new Map([
  [Status.invalidArgument, "refused"],
  [Status.failedPrecondition, "refused"],
  [Status.permissionDenied, "refused"],
  [Status.unauthenticated, "refused"],
  [Status.alreadyExists, "exists"],
  [Status.notFound, "missing"],
  [Status.unimplemented, "unsupported"],
  [Status.unavailable, "unreachable"],
  [Status.deadlineExceeded, "unreachable"],
]);

export class ProcessDatabase implements DatabaseInstance {
  readonly plugin: ChosenDatabase;
  readonly #held: HeldProcess;
  readonly #atOnce: Nanos;
  #closed: Promise<void> | null = null;

  constructor(plugin: ChosenDatabase, held: HeldProcess, atOnce: Nanos = AT_ONCE) {
    this.plugin = plugin;
    this.#held = held;
    this.#atOnce = atOnce;
  }

  get isOver(): boolean {
    return this.#held.end !== null || this.#closed !== null;
  }

  async initialize(
    config: JsonObject,
    verify: boolean,
    signal: AbortSignal,
  ): Promise<ConnectionFacts> {
    // Names are made here: plugins of others have them from a template, which takes ours as it is.
    const configData = { ...config, username_template: NAME_AS_GIVEN };
    const message = { configData, verifyConnection: verify };
    const { secretFields, maxUsername } = await this.#call(
      database.initialize,
      message,
      signal,
      OPENS_WITHIN,
    );
    return { secretFields, maxUsername };
  }

  async newUser(order: UserOrder, signal: AbortSignal): Promise<string> {
    const { credential, statements, rollbackStatements } = order;
    const message = {
      usernameConfig: { displayName: order.username, roleName: order.roleName },
      password: credential.kind === "password" ? credential.password : "",
      expiration: order.expiration,
      statements: { commands: statements },
      rollbackStatements: { commands: rollbackStatements },
      credentialType: TYPES[credential.kind],
      publicKey: credential.kind === "rsa_private_key" ? credential.publicKey : new Uint8Array(),
      subject: credential.kind === "client_certificate" ? credential.subject : "",
      username: order.username,
    };
    const { username } = await this.#call(database.newUser, message, signal);
    return username === "" ? order.username : username;
  }

  async updateUser(change: UserChange, signal: AbortSignal): Promise<void> {
    const { credential, expiration, selfManagedPassword = "" } = change;
    const statements = { commands: change.statements };
    const message = {
      username: change.username,
      password:
        credential?.kind === "password" ? { newPassword: credential.password, statements } : null,
      expiration: expiration === undefined ? null : { newExpiration: expiration, statements },
      publicKey:
        credential?.kind === "rsa_private_key"
          ? { newPublicKey: credential.publicKey, statements }
          : null,
      credentialType: TYPES[credential?.kind ?? "password"],
      selfManagedPassword,
    };
    await this.#call(database.updateUser, message, signal);
  }

  async deleteUser({ username, statements }: UserEnd, signal: AbortSignal): Promise<void> {
    const message = { username, statements: { commands: statements } };
    await this.#call(database.deleteUser, message, signal);
  }

  async type(signal: AbortSignal): Promise<string> {
    return (await this.#call(database.type, NOTHING, signal, this.#atOnce)).type;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { channel } = this.#held;
    try {
      await callUnary(channel, database.close, NOTHING, { timeout: this.#atOnce });
    } catch {
      // It goes with its process, or has gone.
    }
    await this.#held.release();
  }

  async #call<Q, A>(
    method: Method<"unary", Q, A>,
    request: Q,
    signal: AbortSignal,
    timeout: Nanos = WITHIN,
  ): Promise<A> {
    if (this.#closed !== null) {
      throw new DatabaseError("unsent", "unreachable", "the connection was closed");
    }
    try {
      return await callUnary(this.#held.channel, method, request, { signal, timeout });
    } catch (error) {
      throw this.#errorOf(error);
    }
  }

  #errorOf(error: unknown): unknown {
    if (!(error instanceof StatusError)) return error;
    if (error instanceof UnsentCall) {
      return new DatabaseError("unsent", "unreachable", error.message, { cause: error });
    }
    if (error.isSaid) {
      const reason = REASONS.get(error.status) ?? "unknown";
      return new DatabaseError("answered", reason, error.message); // without its words as a cause
    }
    const why = this.#held.end?.cause ?? error.message;
    return new DatabaseError("lost", "unreachable", why, { cause: error });
  }
}
