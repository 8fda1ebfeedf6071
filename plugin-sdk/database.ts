// What a database plugin does, as the engine that uses it asks for it and as an author writes it: users that are made,
// changed and deleted on one connection. How that goes over the wire is in wire/database.ts.

import { OwnError } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";

export const CREDENTIAL_TYPES = ["password", "rsa_private_key", "client_certificate"] as const;
export type CredentialKind = (typeof CREDENTIAL_TYPES)[number];

/** What a user proves itself with. The plugin never makes one. */
export type UserCredential =
  | { readonly kind: "password"; readonly password: string }
  /** As PEM. */
  | { readonly kind: "rsa_private_key"; readonly publicKey: Uint8Array }
  | { readonly kind: "client_certificate"; readonly subject: string };

export interface UserOrder {
  /** The whole name. */
  readonly username: string;
  /** Of whoever asks, and of the role. */
  readonly displayName: string;
  readonly roleName: string;
  readonly credential: UserCredential;
  /** From when on the database itself is to refuse it; null: it does not end by itself. */
  readonly expiration: Instant | null;
  readonly statements: readonly string[];
  readonly rollbackStatements: readonly string[];
}

export interface UserChange {
  readonly username: string;
  /** Default: it stays. */
  readonly credential?: Exclude<UserCredential, { readonly kind: "client_certificate" }>;
  /** Default: it stays. */
  readonly expiration?: Instant;
  readonly statements: readonly string[];
  /** The user's own: it is changed by the user itself, and not by the one that the connection is made with. */
  readonly selfManagedPassword?: string;
}

export interface UserEnd {
  readonly username: string;
  readonly statements: readonly string[];
}

/** What a plugin says of the connection that it has been given. */
export interface ConnectionFacts {
  /** Fields of the configuration that nobody is shown. */
  readonly secretFields: readonly string[];
  /** Bytes of a name, at most; 0: it does not say. */
  readonly maxUsername: number;
}

/** One connection, which may be several at the database. All of it throws a DatabaseError or what has nothing to do with
 *  the database. */
export interface DatabaseUsers {
  /** Gives the name that the user has. When it throws a refusal nothing of the user is left. */
  newUser(order: UserOrder, signal: AbortSignal): Promise<string>;
  updateUser(change: UserChange, signal: AbortSignal): Promise<void>;
  deleteUser(end: UserEnd, signal: AbortSignal): Promise<void>;
}

/**
 * `refused`: what was asked for is wrong, or the database does not allow it; `exists`: there is one of the name; `missing`:
 * there is none; `unsupported`: the database has no such thing; `unreachable`: the database gave no answer;
 * `unknown`: the plugin does not say which of these.
 */
export const DATABASE_REASONS = [
  "refused",
  "exists",
  "missing",
  "unsupported",
  "unreachable",
  "unknown",
] as const;
export type DatabaseReason = (typeof DATABASE_REASONS)[number];

/** How far a call came: nothing of it was sent; the plugin has answered that it did not succeed; nobody knows. */
export type DatabaseFate = "unsent" | "answered" | "lost";

const SUMMARY: Readonly<Record<DatabaseFate, string>> = {
  unsent: "the database plugin was not reached",
  answered: "the database plugin has answered with an error",
  lost: "the database plugin gave no answer",
};

export class DatabaseError extends OwnError {
  readonly fate: DatabaseFate;
  readonly reason: DatabaseReason;
  /** In the plugin's and the database's own words: for the caller alone, neither logged nor audited. */
  readonly words: string;

  constructor(fate: DatabaseFate, reason: DatabaseReason, words: string, options?: ErrorOptions) {
    super(SUMMARY[fate], options);
    this.name = "DatabaseError";
    this.fate = fate;
    this.reason = reason;
    this.words = words;
  }
}

/** For plugins: it did not succeed, and why. */
export function databaseRefusal(reason: DatabaseReason, words: string): DatabaseError {
  return new DatabaseError("answered", reason, words);
}

// ── for whoever uses plugins ──

export interface ChosenDatabase {
  readonly name: string;
  /** That is meant now, in its one form; empty: the one without a version. */
  readonly version: string;
}

/** An instance of a plugin: one connection, from its opening until it is closed. */
export interface DatabaseInstance extends DatabaseUsers {
  /** That is served: settled at the opening. */
  readonly plugin: ChosenDatabase;
  /** Before anything else. `verify`: the database itself is asked. */
  initialize(config: JsonObject, verify: boolean, signal: AbortSignal): Promise<ConnectionFacts>;
  type(signal: AbortSignal): Promise<string>;
  /** Never throws, and may be called again. */
  close(): Promise<void>;
  /** Its process is gone: nothing can be sent any more. */
  readonly isOver: boolean;
}

export interface DatabasePlugins {
  /** Null: there is none of the name, or none of that version. `version` empty: whichever would be taken. Throws a Failure for
   *  what is no version. */
  choose(
    name: string,
    version: string,
  ):
    | (ChosenDatabase & { /** For all, whatever is asked for. */ readonly isPinned: boolean })
    | null;
  /** Throws a Failure where it cannot be started. */
  open(name: string, version: string, signal: AbortSignal): Promise<DatabaseInstance>;
}
