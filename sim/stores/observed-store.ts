// The production store with an observer at its doors: each transaction goes into the history in the
// instant the store accepts it, and its answer is checked when it leaves. Nothing is changed on the
// way. Whether a transaction must be refused is predicted here, from the rules alone.

import type { KeyObject } from "node:crypto";
import { Failure } from "@holdfast/shared/failure";
import type { Tail } from "../../src/storage/rows/head.ts";
import type { Change as WatchedChange } from "../../src/storage/watch.ts";
import {
  type Changed,
  type Identity,
  Store,
  type StoreOptions,
  type WriteOptions,
} from "../../src/storage/store.ts";
import type { StoreTx } from "../../src/storage/transaction.ts";
import { firstChain } from "../../src/storage/rows/log-entry.ts";
import { EngineBehind } from "./engine-behind.ts";
import type { History } from "../history.ts";
import type { StorePlant } from "../plants.ts";
import { Recording } from "../recording.ts";
import { isIgnored, Violation } from "../state.ts";

export interface ObservedOptions extends StoreOptions {
  readonly history: History;
  /** Called with a violation found in a callback, where throwing would reach production code. */
  readonly report: (violation: unknown) => void;
  readonly reserveBytes: number;
  readonly plant: StorePlant;
}

/** Remembers what the store was last told of the space left: it asks only now and then. */
class SpaceSpy extends EngineBehind {
  lastFree = Infinity;

  override freeBytes(): number | null {
    const free = super.freeBytes();
    this.lastFree = free ?? Infinity;
    return free;
  }
}

/** What must become of a transaction. */
type Fate = "accepted" | "read-only" | "thrown" | "not-run" | { readonly refused: string };

export class ObservedStore extends Store {
  readonly #options: ObservedOptions;
  readonly #engine: SpaceSpy;

  constructor(options: ObservedOptions) {
    const engine = new SpaceSpy(options.engine);
    super({ ...options, engine });
    this.#options = options;
    this.#engine = engine;
  }

  override create<T>(treeKey: KeyObject, identity: Identity, fn: (tx: StoreTx) => T): Promise<T> {
    const chainBefore = firstChain(identity.lineage);
    const tail = { first: 1n, chainBefore, logBytesBefore: 0n };
    return this.#observe(fn, (run) => super.create(treeKey, identity, run), { tail });
  }

  override write<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    return this.#observe(fn, (run) => super.write(run, options), options);
  }

  override trim(tail: Tail): Promise<void> {
    const { history } = this.#options;
    const promise = super.trim(tail);
    if (history.failure === null) {
      const nothing = { changes: [], control: null, time: 0n, rootKey: null };
      const { position } = history.accept({ ...nothing, tail });
      this.#check(promise, "accepted", null, position);
    }
    return promise;
  }

  override watch(place: string, call: (change: WatchedChange) => void): () => void {
    const { plant } = this.#options;
    return super.watch(place, plant.watch === undefined ? call : plant.watch(call));
  }

  override onCommit(call: (changed: Changed) => void): () => void {
    const { plant } = this.#options;
    return super.onCommit(plant.onCommit === undefined ? call : plant.onCommit(call));
  }

  #observe<T>(
    fn: (tx: StoreTx) => T,
    begin: (run: (raw: StoreTx) => T) => Promise<T>,
    how: { readonly tail?: Tail; readonly essential?: boolean },
  ): Promise<T> {
    const { history } = this.#options;
    const wasLocked = this.locked;
    history.plain = null;
    let recording: Recording | null = null;
    let decided = false;
    let thrown: { error: unknown } | null = null;
    const promise = begin((raw) => {
      if (decided) this.#options.report(new Violation("a transaction ran late"));
      try {
        recording = new Recording(raw, history);
        return fn(recording);
      } catch (error) {
        if (error instanceof Violation) this.#options.report(error);
        thrown = { error };
        throw error;
      }
    });
    decided = true;
    const ran = recording as Recording | null; // assigned in the callback
    const failed = thrown as { error: unknown } | null;
    let fate: Fate;
    let position = history.position;
    if (ran === null) fate = "not-run";
    else if (failed !== null) fate = "thrown";
    else {
      fate = this.#fateOf(ran, wasLocked, how);
      if (fate === "accepted") {
        const { changes, recordedControl: control, time } = ran;
        const { rootKey } = history;
        const tail = how.tail ?? null;
        const entry = history.accept({ changes, control, time, rootKey, tail });
        position = entry.position;
        if (entry.index !== null && ran.index !== entry.index) {
          const said = `a transaction was told index ${ran.index}`;
          this.#options.report(new Violation(`${said}; it has ${entry.index}`));
        }
      }
    }
    history.rootKey = null;
    this.#check(promise, fate, failed, position);
    return promise;
  }

  #fateOf(
    ran: Recording,
    wasLocked: boolean,
    how: { readonly tail?: Tail; readonly essential?: boolean },
  ): Fate {
    const { changes, recordedControl: control } = ran;
    if (changes.length === 0 && control === null && how.tail === undefined) return "read-only";
    if (changes.length > this.#engine.limits.operations) {
      return { refused: "storage-transaction-too-large" };
    }
    const puts = changes.some(({ value }) => value !== null);
    const mayWait = how.tail === undefined && !how.essential;
    if (puts && mayWait && this.#engine.lastFree < this.#options.reserveBytes) {
      return { refused: "storage-full" };
    }
    const logged = control !== null || changes.some(({ key }) => !isIgnored(key));
    if (logged && wasLocked && how.tail === undefined) return { refused: "store-locked" };
    return "accepted";
  }

  #check(
    promise: Promise<unknown>,
    fate: Fate,
    thrown: { error: unknown } | null,
    position: number,
  ): void {
    const { history, report } = this.#options;
    const settled = (check: () => void) => {
      try {
        check();
      } catch (error) {
        report(error);
      }
    };
    const answered = () =>
      settled(() => {
        if (fate !== "accepted" && fate !== "read-only") {
          throw new Violation(`a transaction that must be refused was answered (${name(fate)})`);
        }
        history.answered(position);
      });
    const rejected = (error: unknown) =>
      settled(() => {
        if (codeOf(error) === "storage-failed") {
          if (history.failure === null)
            throw new Violation("the store failed by itself", { cause: error });
          return;
        }
        const code = codeOf(error);
        if (fate === "thrown" && error === thrown?.error) return history.answered(position);
        if (typeof fate === "object" && code === fate.refused) return history.answered(position);
        const early = ["store-locked", "store-uninitialised", "store-closed"];
        if (fate === "not-run" && code !== null && early.includes(code)) return;
        throw new Violation(`a transaction (${name(fate)}) was refused: ${String(error)}`);
      });
    promise.then(answered, rejected);
  }
}

function name(fate: Fate): string {
  return typeof fate === "object" ? fate.refused : fate;
}

export function codeOf(error: unknown): string | null {
  return error instanceof Failure ? error.code : null;
}
