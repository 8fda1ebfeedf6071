// Users of a PostgreSQL database. What is done for one is done in one transaction: a statement that fails leaves nothing of
// those before it.

import {
  databaseRefusal,
  type DatabaseError,
  type DatabaseReason,
  type UserChange,
  type UserEnd,
  type UserOrder,
} from "@holdfast/plugin-sdk/database";
import type { Database, DatabaseType } from "@holdfast/plugin-sdk/serve-database";
import type { Instant } from "@holdfast/shared/world";
import { Pool, Session } from "./pool.ts";
import { verifierOf } from "./scram.ts";
import { refuse } from "./refusal.ts";
import { readSettings, type Settings } from "./settings.ts";
import { filled, quotedName, quotedText, type Values } from "./statements.ts";
import { unlessRefused } from "./words.ts";

const SHORTEST_NAME = 1;
/** NAMEDATALEN, less its end. */
const LONGEST_NAME = 63;

const RENEW = ["ALTER ROLE {{name}} VALID UNTIL {{expiration}}"];
const ROTATE = ["ALTER ROLE {{name}} WITH PASSWORD {{password}}"];

export const postgresql: DatabaseType = {
  name: "postgresql",
  secretFields: ["private_key"],
  maxUsername: LONGEST_NAME,
  open: async (config, { verify, signal }) => {
    const settings = readSettings(config);
    const pool = new Pool(settings);
    try {
      if (verify)
        await unlessRefused(
          [],
          pool.with(signal, (session) => session.run("SELECT 1", signal)),
        );
    } catch (error) {
      await pool.close();
      throw error;
    }
    return new PostgreSql(settings, pool);
  },
};

class PostgreSql implements Database {
  readonly #settings: Settings;
  readonly #pool: Pool;

  constructor(settings: Settings, pool: Pool) {
    this.#settings = settings;
    this.#pool = pool;
  }

  async newUser(order: UserOrder, signal: AbortSignal): Promise<string> {
    const { username, credential, expiration, statements, rollbackStatements } = order;
    if (credential.kind !== "password") throw onlyPasswords(credential.kind);
    if (statements.length === 0)
      throw refuse("creation_statements are required: the plugin has none of its own");
    checkName(username);
    const { password } = credential;
    const values = await this.#values(username, { password, expiration });
    const texts = statements.map((one) => filled(one, values));
    const rollback = rollbackStatements.map((one) => filled(one, values));
    await this.#pool.with(signal, async (session) => {
      const wasThere = await unlessRefused([], isThere(session, username, signal));
      if (wasThere) throw databaseRefusal("exists", `role ${quotedName(username)} already exists`);
      try {
        await unlessRefused([password], session.together(texts, signal));
      } catch (error) {
        await rolledBack(session, rollback, error);
        throw error;
      }
    });
    return username;
  }

  async updateUser(change: UserChange, signal: AbortSignal): Promise<void> {
    const { username, credential, expiration, statements, selfManagedPassword } = change;
    if (credential !== undefined && credential.kind !== "password") {
      throw onlyPasswords(credential.kind);
    }
    checkName(username);
    const password = credential?.password;
    const values = await this.#values(username, { password, expiration: expiration ?? null });
    const usual = password === undefined ? RENEW : ROTATE;
    const chosen = statements.length === 0 ? usual : statements;
    const texts = chosen.map((one) => filled(one, values));
    const secrets = [password, selfManagedPassword].filter((one) => one !== undefined);
    if (selfManagedPassword === undefined) {
      const work = (session: Session) => session.together(texts, signal);
      return await this.#changed(username, secrets, signal, work);
    }
    const own = new Session({ ...this.#settings, username, password: selfManagedPassword });
    try {
      await unlessRefused(secrets, own.together(texts, signal));
    } finally {
      await own.end();
    }
  }

  async deleteUser({ username, statements }: UserEnd, signal: AbortSignal): Promise<void> {
    checkName(username);
    if (statements.length > 0) {
      const values = await this.#values(username, { expiration: null });
      const texts = statements.map((one) => filled(one, values));
      const work = (session: Session) => session.together(texts, signal);
      return await this.#changed(username, [], signal, work);
    }
    await this.#changed(username, [], signal, (session) => ended(session, username, signal));
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** That there is no such user is told apart from everything else that may be wrong. */
  async #changed(
    username: string,
    secrets: readonly string[],
    signal: AbortSignal,
    work: (session: Session) => Promise<void>,
  ): Promise<void> {
    await this.#pool.with(signal, async (session) => {
      try {
        await unlessRefused(secrets, work(session));
      } catch (error) {
        const isRefusal = isA(error, "refused");
        if (!isRefusal || (await unlessRefused([], isThere(session, username, signal))))
          throw error;
        throw databaseRefusal("missing", `role ${quotedName(username)} does not exist`);
      }
    });
  }

  async #values(
    username: string,
    {
      password,
      expiration,
    }: { readonly password?: string | undefined; readonly expiration: Instant | null },
  ): Promise<Values> {
    const name = { text: username, isIdentifier: true };
    const { authentication } = this.#settings;
    const kept =
      password === undefined || authentication === "password"
        ? password
        : await verifierOf(password);
    return {
      name,
      username: name,
      ...(kept === undefined ? {} : { password: { text: kept, isIdentifier: false } }),
      expiration: {
        text: expiration === null ? "infinity" : timeOf(expiration),
        isIdentifier: false,
      },
    };
  }
}

/** Nobody logs in as it any more, its sessions end, what it owns goes to whom the connection logs in as, and its rights in this
 *  database go with it. */
async function ended(session: Session, username: string, signal: AbortSignal): Promise<void> {
  const name = quotedName(username);
  await session.run(`ALTER ROLE ${name} WITH NOLOGIN`, signal);
  await session.together(
    [
      // Only a member may end its sessions and hand on what it owns; a superuser is one of all.
      `DO $do$ BEGIN IF NOT pg_has_role(current_user, ${quotedText(username)}, 'MEMBER') THEN GRANT ${name} TO CURRENT_USER; END IF; END $do$`,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = ${quotedText(username)} AND pid <> pg_backend_pid()`,
      `REASSIGN OWNED BY ${name} TO CURRENT_USER`,
      `DROP OWNED BY ${name}`,
      `DROP ROLE ${name}`,
    ],
    signal,
  );
}

async function isThere(session: Session, username: string, signal: AbortSignal): Promise<boolean> {
  const text = `SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = ${quotedText(username)}`;
  return (await session.run(text, signal)).length > 0;
}

/** Nothing is left of the transaction: this is for what statements do beside it. */
async function rolledBack(
  session: Session,
  statements: readonly string[],
  error: unknown,
): Promise<void> {
  if (statements.length === 0 || isA(error, "unreachable")) return;
  const signal = new AbortController().signal;
  await session.together(statements, signal).catch(() => {});
}

function isA(error: unknown, reason: DatabaseReason): boolean {
  return error instanceof Error && (error as Partial<DatabaseError>).reason === reason;
}

function onlyPasswords(kind: string): DatabaseError {
  const what =
    kind === "rsa_private_key" ? "key pairs" : "certificates that it is given the names of";
  const words = `PostgreSQL has no users with ${what}: use credential_type password`;
  return databaseRefusal("unsupported", words);
}

function checkName(username: string): void {
  const size = Buffer.byteLength(username);
  if (size >= SHORTEST_NAME && size <= LONGEST_NAME && !username.includes("\0")) return;
  throw refuse(
    `the name of a role has ${SHORTEST_NAME} to ${LONGEST_NAME} bytes; this one has ${size}`,
  );
}

/** In seconds, which is what the database is told of it. */
function timeOf(at: Instant): string {
  const text = new Date(Number(at / 1_000_000n)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)}+0000`;
}
