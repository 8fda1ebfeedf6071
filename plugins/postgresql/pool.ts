// Connections to one database: so many at most, each used by one piece of work at a time. Whoever finds none waits.

import postgres, { type Sql } from "postgres";
import { type DatabaseError, databaseRefusal } from "@holdfast/plugin-sdk/database";
import { Logins } from "./logins.ts";
import type { Settings } from "./settings.ts";
import { Sockets } from "./sockets.ts";
import { errorOf } from "./words.ts";

const APPLICATION_CLOSES_WITHIN = 1; // seconds

/** Of the database, until the end of the transaction. */
const LOCK = "1752132708, 1"; // "hold"
const BESIDE_OTHERS = `SELECT pg_advisory_xact_lock_shared(${LOCK})`;
const ALONE = `SELECT pg_advisory_xact_lock(${LOCK})`;
/** Against those who do not keep to it. */
const TRIES_ALONE = 5;

/** One session, made when it is first used. */
export class Session {
  readonly #sql: Sql;
  readonly #sockets: Sockets;
  readonly #began = process.hrtime.bigint();
  #isIn = false;
  #refusal: DatabaseError | null = null;

  constructor(settings: Settings) {
    const { hosts, ports, parameters, session } = settings;
    const sockets = new Sockets(settings);
    this.#sockets = sockets;
    const options: postgres.Options<Record<string, never>> = {
      database: settings.database,
      user: settings.username,
      password: settings.password,
      ssl: settings.ssl,
      max: 1,
      prepare: false,
      fetch_types: false,
      connect_timeout: settings.connectsWithin,
      max_lifetime: null,
      onnotice: () => {},
      ...(session === null ? {} : { target_session_attrs: session }),
      connection: { ...parameters, standard_conforming_strings: "on" },
    };
    // Lists, which the types do not know: a text would be cut at the colons of an address.
    const place = { host: [...hosts], port: [...ports], socket: () => sockets.open() };
    this.#sql = postgres(Object.assign(options, place));
  }

  /** It was logged in. */
  get isIn(): boolean {
    return this.#isIn;
  }

  /** What the login was refused for; null: it was not. */
  get refusal(): DatabaseError | null {
    return this.#refusal;
  }

  /** In seconds. */
  get age(): number {
    return Number((process.hrtime.bigint() - this.#began) / 1_000_000_000n);
  }

  /** One statement, or several. The signal has the database stop. */
  async run(text: string, signal: AbortSignal): Promise<readonly Record<string, unknown>[]> {
    signal.throwIfAborted();
    const query = this.#sql.unsafe(text).simple();
    const stop = () => {
      this.#sockets.beside();
      query.cancel();
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      const rows = await Promise.race([query, this.#sockets.failed]);
      this.#entered();
      return rows;
    } catch (error) {
      if (saysSomething(error)) this.#entered();
      else if (!this.#isIn) this.#refusal = refusalOf(error);
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * All of them, or none: what comes in one message is one transaction, and no part of it runs on another session after the
   * first has broken. Two that grant rights on the same thing at once stand in each other's way: the database refuses one of
   * them, which then has its turn alone. Whoever else does so by this plugin, on whichever server, keeps to the same lock.
   */
  async together(texts: readonly string[], signal: AbortSignal): Promise<void> {
    for (let tried = 0; ; tried++) {
      try {
        await this.run([tried === 0 ? BESIDE_OTHERS : ALONE, ...texts].join("\n;\n"), signal);
        return;
      } catch (error) {
        if (tried >= TRIES_ALONE || !isConflict(error)) throw error;
      }
    }
  }

  #entered(): void {
    this.#isIn = true;
    this.#sockets.reached();
  }

  async end(): Promise<void> {
    this.#sockets.end();
    await this.#sql.end({ timeout: APPLICATION_CLOSES_WITHIN }).catch(() => {});
  }
}

export class Pool {
  readonly #settings: Settings;
  readonly #idle: Session[] = [];
  readonly #waiting: ((session: Session | null) => void)[] = [];
  readonly #logins = new Logins();
  #open = 0;
  #isClosed = false;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async with<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#take(signal);
    let isGood = false;
    try {
      if (!session.isIn) this.#logins.check();
      const result = await work(session);
      isGood = true;
      return result;
    } finally {
      if (session.isIn) this.#logins.succeeded();
      else if (session.refusal !== null) this.#logins.refused(session.refusal);
      this.#give(session, isGood);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const waiter of this.#waiting.splice(0)) waiter(null);
    await Promise.all(this.#idle.splice(0).map((session) => session.end()));
  }

  async #take(signal: AbortSignal): Promise<Session> {
    signal.throwIfAborted();
    if (this.#isClosed) throw closed();
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#open < this.#settings.maxOpen) {
      this.#open++;
      return new Session(this.#settings);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Session | null>();
    const give = () => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", give, { once: true });
    this.#waiting.push(resolve);
    const session = await promise.finally(() => signal.removeEventListener("abort", give));
    if (session === null) throw closed();
    return session;
  }

  /** One that broke, or is old, makes room for a new one. */
  #give(session: Session, isGood: boolean): void {
    const { maxLifetime, maxIdle } = this.#settings;
    const isOld = maxLifetime > 0 && session.age >= maxLifetime;
    const isKept = isGood && !isOld && !this.#isClosed;
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) {
      if (!isKept) void session.end();
      return waiter(isKept ? session : new Session(this.#settings));
    }
    if (isKept && this.#idle.length < maxIdle) return void this.#idle.push(session);
    this.#open--;
    void session.end();
  }
}

/** Nothing was done: another transaction was faster. */
function isConflict(error: unknown): boolean {
  return error instanceof postgres.PostgresError && /^(?:XX000|40001|40P01)$/.test(error.code);
}

/** The database has answered, though with an error. */
function saysSomething(error: unknown): boolean {
  return error instanceof postgres.PostgresError && !isFatal(error);
}

/** Whoever logs in so is refused again. */
function refusalOf(error: unknown): DatabaseError | null {
  if (!(error instanceof postgres.PostgresError) || !isFatal(error)) return null;
  const refusal = errorOf(error, []);
  return refusal.reason === "refused" ? refusal : null;
}

/** In the language of the database only where it says nothing else, as before version 9.6. */
function isFatal({ severity, severity_local: local }: postgres.PostgresError): boolean {
  return (severity ?? local) === "FATAL";
}

function closed() {
  return databaseRefusal("unreachable", "the connection was closed");
}
