// A simulated client of one running process. What it does next is drawn from its own stream of the
// seed: mostly transactions through the views, whose effects the observed store checks.

import { Failure } from "@holdfast/shared/failure";
import type { Tx, View } from "../src/barrier/view.ts";
import { Ceremonies } from "./ceremonies.ts";
import { type Machine, plainCodec, type Running } from "./machine.ts";
import type { Prng } from "./prng.ts";
import { isExpected, NAMES, Readings, SECOND_THOUGHTS, somePage } from "./readings.ts";
import { Violation } from "./state.ts";
import type { Trace } from "./trace.ts";
import type { SimWorld } from "./world.ts";

export interface ClientOptions {
  readonly name: string;
  readonly machine: Machine;
  readonly running: Running;
  readonly prng: Prng;
  readonly trace: Trace;
  readonly world: SimWorld;
  readonly report: (violation: unknown) => void;
  /** What clients of this life are waiting for. */
  readonly underWay: Set<{ readonly name: string }>;
  /** Counts what was acknowledged of each counter, over all lives and clients. */
  readonly counters: Map<string, Set<number>>;
  /** Actions that are left out. */
  readonly without: readonly string[];
}

type Action = readonly [weight: number, name: string, act: () => Promise<void> | void];

export class Client {
  readonly #options: ClientOptions;
  readonly #running: Running;
  readonly #prng: Prng;
  readonly #codec: ReturnType<typeof plainCodec>;
  readonly #actions: readonly Action[];
  readonly #weight: number;
  #made = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#running = options.running;
    this.#prng = options.prng;
    this.#codec = plainCodec(options.machine.history);
    const readings = new Readings(options);
    const ceremonies = new Ceremonies(options);
    const actions: readonly Action[] = [
      [18, "put", () => this.#put()],
      [7, "delete", () => this.#delete()],
      [12, "object", () => this.#object()],
      [14, "count", () => this.#count()],
      [5, "throw", () => this.#throw()],
      [6, "read in a transaction", () => this.#readInside()],
      [22, "read", () => readings.read()],
      [4, "ignored", () => this.#ignored()],
      [4, "raw", () => this.#raw()],
      [2, "too large", () => this.#tooLarge()],
      [4, "watch", () => readings.watch()],
      [3, "wait", () => readings.wait()],
      [1.5, "rotate", () => ceremonies.rotate()],
      [0.7, "root key", () => ceremonies.replaceRootKey()],
      [1.2, "rotation settings", () => ceremonies.configure()],
      [1.5, "trim", () => ceremonies.trim()],
      [1, "seal", () => ceremonies.seal()],
      [0.3, "check", () => ceremonies.check()],
      [0.03, "reindex", () => ceremonies.reindex()],
      [0.6, "snapshot", () => ceremonies.snapshot()],
    ];
    this.#actions = actions.filter(([, name]) => !options.without.includes(name));
    this.#weight = this.#actions.reduce((sum, [weight]) => sum + weight, 0);
  }

  /** Does one thing, or several at once. Resolves with how many were not refused outright. */
  async act(): Promise<number> {
    const count = this.#prng.chance(0.25) ? 2 + this.#prng.int(6) : 1;
    const answers = await Promise.all(Array.from({ length: count }, () => this.#one()));
    return answers.filter((answered) => answered).length;
  }

  async #one(): Promise<boolean> {
    const [, name, act] = this.#pick();
    const { trace, report, underWay } = this.#options;
    const id = `${this.#options.name} ${++this.#made} ${name}`;
    trace.add(id);
    const pending = { name };
    underWay.add(pending);
    try {
      await act();
      trace.add(`${id}: done at ${this.#running.store.index}`);
      return true;
    } catch (error) {
      if (error instanceof Failure) trace.add(`${id}: ${error.code}`);
      if (!isExpected(error, this.#options)) report(error);
      // While sealed or failed nothing happens, however often one asks.
      return !(error instanceof Failure && ["sealed", "unavailable"].includes(error.kind));
    } finally {
      underWay.delete(pending);
    }
  }

  #pick(): Action {
    let left = this.#prng.next() * this.#weight;
    return this.#actions.find(([weight]) => (left -= weight) < 0) ?? this.#actions[0]!;
  }

  #view(): View {
    const { shared, local, ignored } = this.#running.views;
    return this.#prng.pick([shared, shared, shared, local, local, ignored]);
  }

  /** A value that nobody else writes: what is read tells who wrote it. */
  #value(): string {
    const length = this.#prng.pick([0, 10, 100, 700, 3000]);
    return `${this.#options.name}.${this.#made}.${this.#prng.int(1e9)}`.padEnd(length, "x");
  }

  #some(tx: Tx): void {
    const { shared, local } = this.#running.views;
    for (let left = 1 + this.#prng.int(3); left > 0; left--) {
      const on = tx.on(this.#prng.pick([shared, local]));
      const name = this.#prng.pick(NAMES);
      if (this.#prng.chance(0.3)) on.delete(name);
      else on.put(name, this.#value(), this.#codec);
    }
  }

  async #put(): Promise<void> {
    await this.#view().write((tx) => this.#some(tx));
  }

  async #delete(): Promise<void> {
    const name = this.#prng.pick(NAMES);
    const own = this.#view();
    // Another view of the same records: the deletion still goes where the record went.
    const { barrier } = this.#running;
    const view = this.#prng.chance(0.3) ? barrier.view(own.prefix) : own;
    await view.write((tx) => tx.delete(name), { essential: this.#prng.chance(0.2) });
  }

  /** A record and its index rows in other trees: all of them or none. */
  async #object(): Promise<void> {
    const { shared, local, ignored } = this.#running.views;
    const id = `object/${this.#prng.int(6)}`;
    const accessor = `accessor/${this.#prng.int(1e6)}`;
    const removes = this.#prng.chance(0.35);
    await shared.write((tx) => {
      const before = tx.get(id, this.#codec);
      if (before !== null) {
        const [old] = before.split(" ");
        tx.on(local).delete(old!);
        tx.on(ignored).delete(old!);
      }
      if (removes) return tx.delete(id);
      const value = `${accessor} ${this.#value()}`;
      if (before === null) tx.add(id, value, this.#codec);
      else tx.put(id, value, this.#codec);
      tx.on(local).put(accessor, `${id} ${this.#value()}`, this.#codec);
      tx.on(ignored).put(accessor, `${id} ${this.#value()}`, this.#codec);
    });
  }

  async #count(): Promise<void> {
    const { shared, local } = this.#running.views;
    const view = this.#prng.pick([shared, local]);
    const name = `counter/${this.#prng.int(3)}`;
    const value = await view.write((tx) => {
      const next = Number(tx.get(name, this.#codec) ?? "0") + 1;
      tx.put(name, String(next), this.#codec);
      return next;
    });
    const place = view.prefix + name;
    const { counters } = this.#options;
    const acknowledged = counters.get(place) ?? new Set();
    if (acknowledged.has(value)) throw new Violation(`${place} was counted to ${value} twice`);
    counters.set(place, acknowledged.add(value));
  }

  async #throw(): Promise<void> {
    const view = this.#view();
    const large = this.#prng.chance(0.2);
    await view.write((tx) => {
      this.#some(tx);
      if (large) tx.put("large", "x".repeat(5000), this.#codec);
      throw SECOND_THOUGHTS;
    });
  }

  async #readInside(): Promise<void> {
    const view = this.#view();
    await view.write((tx) => {
      tx.get(this.#prng.pick(NAMES), this.#codec);
      tx.records("", this.#codec, somePage(this.#prng));
      const own = this.#prng.pick(NAMES);
      tx.put(own, this.#value(), this.#codec);
      tx.keys(this.#prng.pick(["", "b", "kv/"]), somePage(this.#prng));
      tx.list(this.#prng.pick(["", "b/"]), { limit: 1 + this.#prng.int(9) });
      if (this.#prng.chance(0.5)) throw SECOND_THOUGHTS; // it has read, and changes nothing
    });
  }

  async #ignored(): Promise<void> {
    const { ignored } = this.#running.views;
    await ignored.write((tx) => tx.put(this.#prng.pick(NAMES), this.#value(), this.#codec));
  }

  /** Below the barrier, as replicated rows are written: only the store can refuse it. */
  async #raw(): Promise<void> {
    const { store } = this.#running;
    const key = `${this.#prng.pick(["shared", "local"])}/raw/${this.#prng.int(5)}`;
    const value = this.#prng.bytes(20 + this.#prng.int(400));
    await store.write((tx) => tx.put(key, value, value.subarray(0, 16)));
  }

  async #tooLarge(): Promise<void> {
    const { shared } = this.#running.views;
    const { operations } = this.#options.machine.settings.limits;
    if (operations > 100) return;
    await shared.write((tx) => {
      for (let i = 0; i <= operations; i++) tx.put(`many/${i}`, this.#value(), this.#codec);
    });
  }
}
