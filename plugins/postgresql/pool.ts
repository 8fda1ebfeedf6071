// Connections to one database: so many at most, each used by one piece of work at a time. Whoever finds none waits.

import postgres, { type Sql } from "postgres";
import { databaseRefusal } from "@holdfast/plugin-sdk/database";
import type { Settings } from "./settings.ts";

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
  readonly #began = process.hrtime.bigint();

  constructor(settings: Settings) {
    const { hosts, ports, parameters, session } = settings;
    const [first = ""] = hosts;
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
    const place = { host: [...hosts], port: [...ports] };
    const file = { path: `${first}/.s.PGSQL.${ports[0] ?? 5432}` };
    this.#sql = postgres(Object.assign(options, first.startsWith("/") ? file : place));
  }

  /** In seconds. */
  get age(): number {
    return Number((process.hrtime.bigint() - this.#began) / 1_000_000_000n);
  }

  /** One statement, or several. The signal has the database stop. */
  async run(text: string, signal: AbortSignal): Promise<readonly Record<string, unknown>[]> {
    signal.throwIfAborted();
    const query = this.#sql.unsafe(text).simple();
    const stop = () => query.cancel();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await query;
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

  async end(): Promise<void> {
    await this.#sql.end({ timeout: APPLICATION_CLOSES_WITHIN }).catch(() => {});
  }
}

export class Pool {
  readonly #settings: Settings;
  readonly #idle: Session[] = [];
  readonly #waiting: ((session: Session | null) => void)[] = [];
  #open = 0;
  #isClosed = false;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async with<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#take(signal);
    let isGood = false;
    try {
      const result = await work(session);
      isGood = true;
      return result;
    } catch (error) {
      isGood = saysSomething(error);
      throw error;
    } finally {
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

/** The database has answered, though with an error: its session is as good as before. */
function saysSomething(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity_local !== "FATAL";
}

function closed() {
  return databaseRefusal("unreachable", "the connection was closed");
}
