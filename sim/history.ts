// The history of one store under simulation: every transaction in the order of acceptance, how much
// of it somebody was told of, and therefore which states the store may show and may have after a
// crash. Everything told must survive; of the rest, a prefix.

import type { Tail } from "../src/storage/rows/head.ts";
import { type Entry, isIgnored, State, Violation } from "./state.ts";

type Draft = Pick<Entry, "changes" | "control" | "time" | "rootKey"> & {
  readonly tail?: Tail | null;
};

interface Debt {
  readonly entry: Entry;
  readonly key: string;
  readonly promised: boolean;
}

/** A client that asked to be told of changes below a place. */
export class Watching {
  readonly place: string; // one key, or a folder ending in "/"
  #owed: Debt[] = [];
  /** Keys whose change has no index: whether it was the one told of, or comes next, is not known. */
  readonly #perhaps = new Set<string>();

  constructor(place: string) {
    this.place = place;
  }

  owe(entry: Entry, promised: boolean): void {
    for (const { key } of entry.changes) {
      const covered = this.place.endsWith("/") ? key.startsWith(this.place) : key === this.place;
      if (covered) this.#owed.push({ entry, key, promised });
    }
  }

  acknowledge(index: bigint, keys: readonly string[]): void {
    for (const key of keys) {
      const isPaid = (debt: Debt) =>
        debt.key === key && (debt.entry.index === null || debt.entry.index <= index);
      if (!this.#owed.some(isPaid) && !this.#perhaps.has(key)) {
        throw new Violation(`a watcher of ${this.place} was told of a change that did not happen`);
      }
      if (this.#owed.some((debt) => isPaid(debt) && debt.entry.index === null)) {
        this.#perhaps.add(key);
      }
      this.#owed = this.#owed.filter((debt) => !isPaid(debt));
    }
  }

  /** Whoever watches must hear of a change before the writer hears that it is done. */
  checkAnswered(position: number): void {
    const debt = this.#owed.find((owed) => owed.promised && owed.entry.position <= position);
    if (debt === undefined) return;
    throw new Violation(`a watcher of ${this.place} was not told of a change to ${debt.key}`);
  }
}

export interface Waiting {
  readonly min: bigint;
  called: boolean;
}

export class History {
  readonly watches = new Set<Watching>();
  readonly waiters = new Set<Waiting>();
  /** Told by the disk: a sync or a write has failed. */
  failure: string | null = null;
  /** From now on nothing may be acknowledged. */
  silent = false;
  /** What the codec of the clients has just encoded: the plaintext of the next put. */
  plain: string | null = null;
  /** The root key that the transaction under way installs. */
  rootKey: Entry["rootKey"] = null;
  #base = new State(); // everything that somebody was told of
  #ahead: Entry[] = []; // accepted since, in order
  #tip = new State();
  #position = 0;
  readonly #nonces = new Set<string>();
  readonly #sealed = new Map<number, number>();

  /** The state after everything accepted: what the next transaction must see. */
  get tip(): State {
    return this.#tip;
  }

  /** The least state that must survive a crash. */
  get acknowledged(): State {
    return this.#base;
  }

  get position(): number {
    return this.#position;
  }

  /** How many entries of clients were sealed under a term; what a crash has taken back is gone. */
  sealedUnder(term: number): number {
    return this.#sealed.get(term) ?? 0;
  }

  get waitingForDisk(): number {
    return this.#ahead.length;
  }

  accept(draft: Draft): Entry {
    const indexed = draft.control !== null || draft.changes.some(({ key }) => !isIgnored(key));
    const entry: Entry = {
      ...draft,
      tail: draft.tail ?? null,
      position: ++this.#position,
      index: indexed ? this.#tip.index + 1n : null,
    };
    this.#checkNonces(entry);
    this.#countSealed(entry, 1);
    this.#ahead.push(entry);
    this.#tip.apply(entry);
    for (const watching of this.watches) watching.owe(entry, true);
    return entry;
  }

  watch(watching: Watching): void {
    // What is on its way to the disk now may be told or not.
    for (const entry of this.#ahead) watching.owe(entry, false);
    this.watches.add(watching);
  }

  /** Somebody has learned that everything up to this position is done. */
  answered(position: number): void {
    if (this.silent) {
      throw new Violation(`something was acknowledged after a ${this.failure} had failed`);
    }
    for (const watching of this.watches) watching.checkAnswered(position);
    this.#tell(position);
    for (const waiter of this.waiters) {
      if (!waiter.called && this.#base.index >= waiter.min) {
        throw new Violation(`a waiter for index ${waiter.min} was not called`);
      }
    }
  }

  /** Somebody has learned that this index is durable. */
  acknowledgeIndex(index: bigint): void {
    if (index > this.#tip.index) throw new Violation(`index ${index} was told before it existed`);
    const last = this.#ahead.findLast((entry) => entry.index !== null && entry.index <= index);
    if (last !== undefined) this.#tell(last.position);
  }

  /** A read outside a transaction: one of the possible states must explain all of it. */
  observe(what: string, explains: (state: State) => boolean): void {
    const found = this.#find(explains);
    if (found === null) {
      const states = `${this.#ahead.length + 1} possible states`;
      throw new Violation(`${what} agrees with none of ${states}`);
    }
    this.#tell(found);
  }

  /** After a crash: the state found is the one from here on; what came after it is lost for good. */
  recover(explains: (state: State) => boolean): boolean {
    const found = this.#find(explains);
    if (found === null) return false;
    this.#tell(found);
    for (const lost of this.#ahead.splice(0)) this.#countSealed(lost, -1);
    this.#tip = new State(this.#base);
    return true;
  }

  /** The process is gone, and with it whoever waited. */
  crashed(): void {
    this.watches.clear();
    this.waiters.clear();
    this.failure = null;
    this.silent = false;
    this.plain = null;
    this.rootKey = null;
  }

  /** The least possible position whose state explains what was seen. */
  #find(explains: (state: State) => boolean): number | null {
    if (explains(this.#base)) return this.#position - this.#ahead.length;
    if (this.#ahead.length === 0) return null;
    const state = new State(this.#base);
    for (const entry of this.#ahead) {
      state.apply(entry);
      if (explains(state)) return entry.position;
    }
    return null;
  }

  #tell(position: number): void {
    while (this.#ahead.length > 0 && this.#ahead[0]!.position <= position) {
      this.#base.apply(this.#ahead.shift()!);
    }
  }

  #countSealed(entry: Entry, step: 1 | -1): void {
    for (const { value, plain } of entry.changes) {
      if (value === null || plain === null) continue;
      const term = Buffer.from(value.subarray(0, 4)).readUInt32BE();
      this.#sealed.set(term, this.sealedUnder(term) + step);
    }
  }

  #checkNonces(entry: Entry): void {
    for (const { key, value } of entry.changes) {
      if (value !== null) this.#checkNonce(keyDomain(key), value);
    }
    if (entry.control !== null) this.#checkNonce("control", entry.control.body);
  }

  /** Layout of an entry: term (4) | version (1) | nonce (12) | … */
  #checkNonce(domain: string, sealed: Uint8Array): void {
    const header = Buffer.from(sealed.subarray(0, 17)).toString("latin1");
    const use = `${domain} ${header}`;
    if (this.#nonces.has(use))
      throw new Violation("two stored entries share a nonce under one key");
    this.#nonces.add(use);
  }
}

/** Rows that the root key seals carry the term 1 of no data key. */
function keyDomain(key: string): string {
  return key === "core/keyring" || key === "core/tree-key" ? "root" : "data";
}
