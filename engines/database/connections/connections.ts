// The connections of a mount: each one instance of its plugin, opened by whoever needs it first and kept. One whose process
// is gone is opened anew, once, for a call of which nothing was sent.

import { DatabaseError, type DatabaseInstance } from "@holdfast/plugin-sdk/database";
import type { EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos, Timer } from "@holdfast/shared/world";
import { withDeadline } from "../../cloud/deadline.ts";
import * as failures from "../failures.ts";
import { countCall } from "../metrics.ts";
import { configOf, type Connection, connectionCodec, connectionKey } from "./connection.ts";

const LOOKED_AT_EVERY: Nanos = MINUTE;
const OPENED_WITHIN: Nanos = 75n * SECOND;
const LEFT_WITHIN: Nanos = 10n * SECOND;
const NEVER = new AbortController().signal;

/** What an instance has said when it was opened, beside itself. */
export interface Opening {
  readonly instance: DatabaseInstance;
  readonly secretFields: readonly string[];
  readonly maxUsername: number;
  /** That it was opened with. */
  readonly password: string;
}

/** One that is used. */
class Kept {
  readonly opening: Opening;
  #users = 0;
  #isRetired = false;
  readonly #left = Promise.withResolvers<void>();

  constructor(opening: Opening) {
    this.opening = opening;
  }

  get isOver(): boolean {
    return this.#isRetired || this.opening.instance.isOver;
  }

  get users(): number {
    return this.#users;
  }

  async used<T>(work: (instance: DatabaseInstance) => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await work(this.opening.instance);
    } finally {
      this.#users--;
      this.#closeIfLeft();
    }
  }

  /** Nobody new uses it. Resolves when it is closed. */
  retire(): Promise<void> {
    this.#isRetired = true;
    this.#closeIfLeft();
    return this.#left.promise;
  }

  #closeIfLeft(): void {
    if (this.#isRetired && this.#users === 0) {
      void this.opening.instance.close().finally(() => this.#left.resolve());
    }
  }
}

export class Connections {
  readonly #needs: EngineNeeds;
  readonly #kept = new Map<string, Promise<Kept>>();
  /** Nobody begins to use one of them before that. */
  readonly #gates = new Map<string, Promise<void>>();
  readonly #timers = new Map<string, Timer>();

  constructor(needs: EngineNeeds) {
    this.#needs = needs;
  }

  find(name: string): Promise<Connection | null> {
    return this.#needs.storage.get(connectionKey(name), connectionCodec);
  }

  async read(name: string): Promise<Connection> {
    const found = await this.find(name);
    if (found === null) throw failures.noConnection(name);
    return found;
  }

  names(page: { readonly after?: string; readonly limit: number }): Promise<string[]> {
    return this.#needs.storage.list("config/", page);
  }

  /** The stored connection, opened where it is not. */
  async use<T>(
    name: string,
    action: string,
    work: (instance: DatabaseInstance) => Promise<T>,
  ): Promise<T> {
    for (let tried = 0; ; tried++) {
      await this.#gates.get(name);
      const kept = await this.#opened(name);
      try {
        return await countCall(this.#needs, action, () => kept.used(work));
      } catch (error) {
        if (kept.isOver) this.#forget(name, kept);
        if (!(error instanceof DatabaseError) || error.fate !== "unsent" || tried > 0) throw error;
      }
    }
  }

  /** Opens one that nobody uses yet. The passwords are tried in their order, where there are several; the last is the one
   *  whose failure is thrown. */
  async open(
    connection: Connection,
    { verify, passwords }: { readonly verify: boolean; readonly passwords?: readonly string[] },
  ): Promise<Opening> {
    const { nextPassword, password } = connection;
    const usual = nextPassword === null ? [password] : [nextPassword, password];
    const all = passwords ?? usual;
    let last: unknown;
    for (const one of all) {
      try {
        return await this.#openWith(connection, one, verify || all.length > 1);
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  async #openWith(connection: Connection, password: string, verify: boolean): Promise<Opening> {
    const { databases, timers } = this.#needs;
    return withDeadline(timers, OPENED_WITHIN, async (signal) => {
      const instance = await databases.open(connection.plugin, connection.pluginVersion, signal);
      try {
        const config = configOf(connection, password);
        const said = await countCall(this.#needs, "Initialize", () =>
          instance.initialize(config, verify, signal),
        );
        return { instance, password, ...said };
      } catch (error) {
        await instance.close();
        throw error;
      }
    });
  }

  /** It is the one that is used from now on; what used the old one ends with it first. */
  put(name: string, opening: Opening): void {
    const before = this.#kept.get(name);
    this.#keep(name, Promise.resolve(new Kept(opening)));
    retired(before);
  }

  /** Whoever needs it next opens it anew. */
  drop(name: string): void {
    const before = this.#kept.get(name);
    this.#kept.delete(name);
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
    retired(before);
  }

  /** Nobody else begins to use it until `fn` has ended, and who does has ended before, unless that takes long. */
  async alone<T>(name: string, fn: () => Promise<T>): Promise<T> {
    const gate = Promise.withResolvers<void>();
    this.#gates.set(name, gate.promise);
    try {
      await this.#left(name);
      return await fn();
    } finally {
      this.#gates.delete(name);
      gate.resolve();
    }
  }

  /** As used by whoever is alone with it. */
  async useAlone<T>(
    name: string,
    action: string,
    work: (instance: DatabaseInstance) => Promise<T>,
  ): Promise<T> {
    const kept = await this.#opened(name);
    try {
      return await countCall(this.#needs, action, () => kept.used(work));
    } finally {
      if (kept.isOver) this.#forget(name, kept);
    }
  }

  /** Names of those that are open now. */
  get opened(): string[] {
    return [...this.#kept.keys()];
  }

  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    for (const name of this.#kept.keys()) this.drop(name);
    await Promise.allSettled(all.map(async (kept) => await (await kept).retire()));
  }

  async #left(name: string): Promise<void> {
    const { clock, timers } = this.#needs;
    const kept = await this.#kept.get(name)?.catch(() => null);
    const until = clock.elapsed() + LEFT_WITHIN;
    while (kept !== undefined && kept !== null && kept.users > 0 && clock.elapsed() < until) {
      await new Promise<void>((resolve) => void timers.after(SECOND / 50n, resolve));
    }
  }

  #opened(name: string): Promise<Kept> {
    return this.#kept.get(name) ?? this.#openKept(name);
  }

  #openKept(name: string): Promise<Kept> {
    const opening = this.read(name)
      .then((connection) => this.open(connection, { verify: false }))
      .then((opened) => new Kept(opened));
    this.#keep(name, opening);
    return opening;
  }

  #keep(name: string, opening: Promise<Kept>): void {
    this.#kept.set(name, opening);
    opening.then(
      () => this.#look(name, opening),
      () => {
        if (this.#kept.get(name) === opening) this.#kept.delete(name);
      },
    );
  }

  #forget(name: string, kept: Kept): void {
    const known = this.#kept.get(name);
    void known?.then((now) => {
      if (now === kept && this.#kept.get(name) === known) this.drop(name);
    });
  }

  /** Once a minute, so that it is known here that it is gone before somebody needs it. */
  #look(name: string, opening: Promise<Kept>): void {
    if (this.#kept.get(name) !== opening) return;
    this.#timers.get(name)?.cancel();
    const timer = this.#needs.timers.after(LOOKED_AT_EVERY, () => {
      void this.#lookNow(name, opening);
    });
    this.#timers.set(name, timer);
  }

  async #lookNow(name: string, opening: Promise<Kept>): Promise<void> {
    const kept = await opening;
    if (this.#kept.get(name) !== opening) return;
    try {
      await countCall(this.#needs, "Type", () => kept.opening.instance.type(NEVER));
      this.#look(name, opening);
    } catch {
      if (this.#kept.get(name) !== opening) return;
      this.#needs.log.warn("a database connection does not answer and is opened anew", { name });
      this.drop(name);
    }
  }
}

function retired(before: Promise<Kept> | undefined): void {
  before?.then(
    (kept) => kept.retire(),
    () => {},
  );
}
