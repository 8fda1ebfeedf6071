// One transaction as the simulator sees it: what it read is compared at once with the state that
// all transactions accepted before it have left, what it changed is kept for the history.

import { equalBytes } from "@holdfast/shared/bytes";
import type { Instant } from "@holdfast/shared/world";
import type { Row } from "../src/storage/engines/engine.ts";
import type { Page } from "../src/storage/key.ts";
import { type ControlRecord, CORE_SCOPE } from "../src/storage/rows/log-entry.ts";
import type { StoreTx } from "../src/storage/transaction.ts";
import type { History } from "./history.ts";
import { type Change, namesOf, pageOf, State, Violation } from "./state.ts";

export class Recording implements StoreTx {
  readonly #raw: StoreTx;
  readonly #history: History;
  readonly #changes = new Map<string, Change>();
  #control: ControlRecord | null = null;

  constructor(raw: StoreTx, history: History) {
    this.#raw = raw;
    this.#history = history;
  }

  get index(): bigint {
    return this.#raw.index;
  }

  get time(): Instant {
    return this.#raw.time;
  }

  get changes(): readonly Change[] {
    return [...this.#changes.values()];
  }

  get recordedControl(): ControlRecord | null {
    return this.#control;
  }

  get(key: string): Uint8Array | null {
    const found = this.#raw.get(key);
    const own = this.#changes.get(key);
    const expected =
      own === undefined ? (this.#history.tip.rows.get(key)?.value ?? null) : own.value;
    if (!same(found, expected)) throw new Violation(`a transaction read a wrong value of ${key}`);
    return found;
  }

  isDurable(key: string): boolean {
    const durable = this.#raw.isDurable(key);
    const changed = this.#changes.has(key);
    if (durable && changed)
      throw new Violation(`a transaction took its own change of ${key} for durable`);
    return durable;
  }

  rows(prefix: string, page: Page): Row[] {
    const found = this.#raw.rows(prefix, page);
    const state = this.#state();
    const expected = pageOf(state.keysBelow(prefix), page);
    const agrees =
      found.length === expected.length &&
      found.every(
        ({ key, value }, i) => key === expected[i] && same(value, state.rows.get(key)!.value),
      );
    if (!agrees) throw new Violation(`a transaction read wrong rows below ${prefix}`);
    return found;
  }

  keys(prefix: string, page: Page): string[] {
    const found = this.#raw.keys(prefix, page);
    const expected = pageOf(this.#state().keysBelow(prefix), page);
    if (found.join() !== expected.join()) {
      throw new Violation(`a transaction read wrong keys below ${prefix}`);
    }
    return found;
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    const found = this.#raw.list(prefix, page);
    const expected = namesOf(this.#state().keysBelow(prefix), prefix, page);
    if (found.join() !== expected.join()) {
      throw new Violation(`a transaction listed wrong names below ${prefix}`);
    }
    return found;
  }

  put(key: string, value: Uint8Array, scope: Uint8Array = CORE_SCOPE): void {
    const plain = this.#history.plain;
    this.#history.plain = null;
    this.#raw.put(key, value, scope);
    this.#set({ key, value: Uint8Array.from(value), scope: Uint8Array.from(scope), plain });
  }

  add(key: string, value: Uint8Array, scope: Uint8Array = CORE_SCOPE): void {
    const plain = this.#history.plain;
    this.#history.plain = null;
    this.#raw.add(key, value, scope);
    this.#set({ key, value: Uint8Array.from(value), scope: Uint8Array.from(scope), plain });
  }

  delete(key: string, scope: Uint8Array = CORE_SCOPE): void {
    this.#raw.delete(key, scope);
    const before = this.#history.tip.rows.get(key);
    // Deleting what is not there is no change; the deletion of what is goes where it went.
    if (before === undefined) this.#changes.delete(key);
    else this.#set({ key, value: null, scope: before.scope, plain: null });
  }

  discard(key: string): void {
    this.#raw.discard(key);
    if (this.#history.tip.rows.has(key)) {
      this.#set({ key, value: null, scope: CORE_SCOPE, plain: null });
    } else this.#changes.delete(key);
  }

  control(record: ControlRecord): void {
    this.#raw.control(record);
    this.#control = record;
  }

  #set(change: Change): void {
    this.#changes.delete(change.key); // so that it moves to the end
    this.#changes.set(change.key, change);
  }

  #state(): State {
    if (this.#changes.size === 0) return this.#history.tip;
    const state = new State(this.#history.tip);
    for (const { key, value, scope, plain } of this.#changes.values()) {
      if (value === null) state.rows.delete(key);
      else state.rows.set(key, { value, scope, plain });
    }
    return state;
  }
}

function same(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : equalBytes(a, b);
}
