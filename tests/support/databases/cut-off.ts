// A server that is gone at one of its steps: from some call to a plugin on, or just after it, nothing of it runs any more. What
// it has stored, and what the database has done, stays.

import type { DatabaseInstance, DatabasePlugins } from "@holdfast/plugin-sdk/database";

export interface Cut {
  /** Which of the calls, from 1; those that open, ask and change are counted together. */
  readonly at: number;
  /** Whether the database still does what it was asked. */
  readonly done: boolean;
}

/** A promise that nobody ends: the process that waited for it is not there. */
const GONE = new Promise<never>(() => {});

export class CutOff implements DatabasePlugins {
  readonly #inner: DatabasePlugins;
  readonly #cut: Cut;
  readonly #reached = Promise.withResolvers<void>();
  #calls = 0;

  constructor(inner: DatabasePlugins, cut: Cut) {
    this.#inner = inner;
    this.#cut = cut;
  }

  /** Resolves when it is gone. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  choose(name: string, version: string) {
    return this.#inner.choose(name, version);
  }

  async open(name: string, version: string, signal: AbortSignal): Promise<DatabaseInstance> {
    const instance = await this.#inner.open(name, version, signal);
    return {
      plugin: instance.plugin,
      get isOver() {
        return instance.isOver;
      },
      initialize: (config, verify, stop) =>
        this.#step(() => instance.initialize(config, verify, stop)),
      newUser: (order, stop) => this.#step(() => instance.newUser(order, stop)),
      updateUser: (change, stop) => this.#step(() => instance.updateUser(change, stop)),
      deleteUser: (end, stop) => this.#step(() => instance.deleteUser(end, stop)),
      type: (stop) => instance.type(stop),
      close: () => instance.close(),
    };
  }

  async #step<T>(call: () => Promise<T>): Promise<T> {
    const number = ++this.#calls;
    const { at, done } = this.#cut;
    if (number < at) return await call();
    if (number === at && done) await call();
    this.#reached.resolve();
    return await GONE;
  }
}
