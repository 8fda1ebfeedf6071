// What clients learn without a transaction: reads of durable state, watches, waits for an index. All
// that one turn reads must agree on one possible state, and nobody may be told too early or too late.

import { Failure } from "@holdfast/shared/failure";
import type { View } from "../src/barrier/view.ts";
import type { ClientOptions } from "./client.ts";
import { Watching } from "./history.ts";
import { plainCodec, type Running } from "./machine.ts";
import type { Prng } from "./prng.ts";
import { namesOf, pageOf, type State, Violation } from "./state.ts";

export const NAMES = [
  "a",
  "b",
  "b/c",
  "b/c/d",
  "bb",
  "é",
  "\u{1f600}",
  "kv/1",
  "kv/2",
  "kv/10",
] as const;
const PLACES = ["", "b/", "kv/", "a", "counter/", "object/"] as const;

/** Thrown by clients inside transactions; never by anybody else. */
export const SECOND_THOUGHTS: Error = new Error("the client has second thoughts");

export class Readings {
  readonly #options: ClientOptions;
  readonly #running: Running;
  readonly #prng: Prng;
  readonly #codec: ReturnType<typeof plainCodec>;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#running = options.running;
    this.#prng = options.prng;
    this.#codec = plainCodec(options.machine.history);
  }

  /** Several reads of one turn: they must agree on one durable state. */
  read(): void {
    const views = Object.values(this.#running.views);
    const seen: ((state: State) => boolean)[] = [];
    for (let left = 1 + this.#prng.int(5); left > 0; left--) {
      const view = this.#prng.pick(views);
      const name = this.#prng.chance(0.3) ? `counter/${this.#prng.int(3)}` : this.#prng.pick(NAMES);
      const found = view.get(name, this.#codec);
      seen.push((state) => state.plain(view.prefix + name) === found);
    }
    if (this.#prng.chance(0.5)) seen.push(this.#readMany(this.#prng.pick(views)));
    this.#checkCount();
    const { index } = this.#running.views.shared;
    seen.push((state) => state.index === index);
    this.#options.machine.history.observe("a read", (state) =>
      seen.every((agrees) => agrees(state)),
    );
  }

  /** The barrier must never think that a key was used less than it was. */
  #checkCount(): void {
    const { term, encryptions } = this.#running.barrier.keyStatus;
    const sealed = this.#options.machine.history.sealedUnder(term);
    if (encryptions < sealed) {
      throw new Violation(`key ${term} has sealed ${sealed} entries; ${encryptions} are counted`);
    }
  }

  #readMany(view: View): (state: State) => boolean {
    const below = this.#prng.pick(["", "b/", "kv/", "object/"]);
    const prefix = view.prefix + below;
    const page = somePage(this.#prng);
    const { after } = page;
    const absolute = after === undefined ? page : { ...page, after: view.prefix + after };
    if (this.#prng.chance(0.3)) {
      const limit = page.limit;
      const names = view.list(below, { limit }).join();
      return (state) => namesOf(state.keysBelow(prefix), prefix, { limit }).join() === names;
    }
    const show = (key: string, value: string | null) => `${key}=${value ?? ""}`;
    const records = view.records(below, this.#codec, page);
    const found = records.map(({ key, value }) => show(view.prefix + key, value)).join();
    return (state) => {
      const keys = pageOf(state.keysBelow(prefix), absolute);
      return keys.map((key) => show(key, state.plain(key))).join() === found;
    };
  }

  watch(): void {
    const { machine, report } = this.#options;
    const { history } = machine;
    const view = this.#prng.pick(Object.values(this.#running.views));
    const place = this.#prng.pick(PLACES);
    const watching = new Watching(view.prefix + place);
    const off = view.watch(place, ({ index, keys }) => {
      try {
        if (index !== view.index) throw new Violation("a watcher was told another index");
        watching.acknowledge(
          index,
          keys.map((key) => view.prefix + key),
        );
        history.acknowledgeIndex(index);
        if (this.#prng.chance(0.5) && !this.#running.barrier.sealed) this.read();
        if (!this.#prng.chance(0.2)) return;
        off();
        history.watches.delete(watching);
      } catch (error) {
        if (!isExpected(error, this.#options)) report(error);
      }
    });
    history.watch(watching);
  }

  wait(): void {
    const { machine, report } = this.#options;
    const { history } = machine;
    const { store } = this.#running;
    const waiter = { min: store.index + BigInt(1 + this.#prng.int(5)), called: false };
    const off = store.onIndex(waiter.min, () => {
      try {
        if (waiter.called) throw new Violation("a waiter was called twice");
        waiter.called = true;
        if (store.index < waiter.min) throw new Violation("a waiter was called early");
        history.acknowledgeIndex(store.index);
      } catch (error) {
        report(error);
      }
    });
    history.waiters.add(waiter);
    if (!this.#prng.chance(0.2)) return;
    off();
    history.waiters.delete(waiter);
  }
}

export function somePage(prng: Prng): { limit: number; reverse: boolean; after?: string } {
  const page = { limit: 1 + prng.int(12), reverse: prng.chance(0.3) };
  return prng.chance(0.3) ? { ...page, after: prng.pick(NAMES) } : page;
}

/** Whether a refusal was due is checked where transactions are observed; here, only its kind. */
export function isExpected(
  error: unknown,
  { machine, running }: Pick<ClientOptions, "machine" | "running">,
): boolean {
  if (error === SECOND_THOUGHTS) return true;
  if (!(error instanceof Failure)) return false;
  switch (error.code) {
    case "storage-failed":
      return machine.history.failure !== null;
    case "barrier-sealed":
    case "store-locked":
      return running.sealing;
    case "barrier-count-not-stored":
    case "storage-full":
    case "storage-entry-too-large":
    case "storage-transaction-too-large":
      return true;
    default:
      return false;
  }
}
