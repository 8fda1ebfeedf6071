// The store: durable reads, transactions, watches, and the one way anything is ever written. Values
// are opaque bytes here (barrier/ seals them). Until the key of the trees is handed over the store is
// locked: it reads, and writes rows of class ignored only.
//
// On the first storage error of any kind it fails for good: nothing is acknowledged any more,
// whatever was waiting is refused, and `failed` resolves so that the process can seal and exit.

import type { KeyObject } from "node:crypto";
import { describe, Failure } from "../base/failure.ts";
import { invariant } from "../base/invariant.ts";
import type { Log } from "../base/log.ts";
import type { Clock, Timers } from "../base/world.ts";
import { AcceptedState } from "./accepted-state.ts";
import { type CheckOptions, type CheckReport, checkStore } from "./check.ts";
import { type Accepted, Committer } from "./committer.ts";
import type { Engine, Leaf, LogRow, Range, ReadView, Row } from "./engines/engine.ts";
import { EngineError } from "./engines/engine.ts";
import * as failures from "./failures.ts";
import * as heads from "./rows/head.ts";
import { classOf, hasClass, listNames, type Page, rangeOf } from "./key.ts";
import { Forest, slotOf } from "./rows/merkle.ts";
import { creation, type Identity, isInitialised, openTip, readHead } from "./opening.ts";
import { Pending } from "./pending.ts";
import { Snapshot } from "./snapshot.ts";
import { Line } from "./line.ts";
import { Settling } from "./settling.ts";
import type { SlotLeaves } from "./slot-leaves.ts";
import { SpaceGuard } from "./space.ts";
import type { Tip } from "./tip.ts";
import { type Below, type StoreReads, type StoreTx, Transaction } from "./transaction.ts";
import { type Change, Watchers } from "./watch.ts";

const MIB = 1024 * 1024;
/** The ceiling of core contract 14.3; an engine may take less. */
const CEILING = { operations: 8192, bytes: 64 * MIB };
/** What may be accepted and not durable yet: beyond it, writers wait their turn. */
const PENDING_BYTES = 64 * MIB;
const PENDING_TRANSACTIONS = 16_384;

export interface StoreOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Largest stored value, sealing included. Default 1 MiB; at most 8 MiB. */
  readonly maxEntryBytes?: number;
  /** Free space below which only deletions and essential writes are taken. Default 64 MiB. */
  readonly reserveBytes?: number;
}

export interface WriteOptions {
  /** Takes from the reserve of a nearly full disk: revocations, seals. Default false. */
  readonly essential?: boolean;
  /** Called at once when the transaction is refused: undoes what its function did outside of it. */
  readonly undo?: () => void;
}

export type { Identity } from "./opening.ts";

/** The state that a repair may compare and mend: everything accepted, leaves included. */
export interface Mending {
  readonly tip: Tip;
  readonly treeKey: KeyObject;
  value(key: string): Uint8Array | null;
  has(key: string): boolean;
  leaf(slot: number, key: string): Leaf | null;
  keys(range: Range): string[];
  leavesFrom(first: number): SlotLeaves;
}

type Rows = Pick<Accepted, "data" | "leaves" | "sums" | "log" | "head">;
const NOTHING: Omit<Accepted, "sequence"> = {
  data: new Map(),
  leaves: [],
  sums: new Map(),
  log: null,
  head: null,
  meta: new Map(),
  trimLogBelow: null,
  bytes: 0,
  onConflict: null,
};

export class Store implements StoreReads {
  /** Resolves with the cause when the storage has failed. */
  readonly failed: Promise<unknown>;

  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #limits: { operations: number; bytes: number; valueBytes: number };
  readonly #space: SpaceGuard;
  readonly #committer: Committer;
  readonly #pending = new Pending();
  readonly #watchers: Watchers;
  readonly #commitListeners = new Set<(keys: readonly string[]) => void>();
  readonly #state: AcceptedState;
  readonly #below: Below;
  readonly #settling = new Settling();
  readonly #line: Line; // writers that wait for room
  readonly #unwatch: () => void;
  #announceFailure: (cause: unknown) => void = () => {};
  #tip: Tip | null = null;
  #treeKey: KeyObject | null = null;
  #durable = new Forest();
  #head: heads.Head | null; // durable; null before creation, or when it cannot be read
  #initialised: boolean;
  #pendingBytes = 0;
  #creating: Tip | null = null;
  #locking: Promise<void> | null = null;
  #inside = false;
  #failure: { cause: unknown } | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: StoreOptions) {
    this.#engine = options.engine;
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#log = options.log;
    const valueBytes = options.maxEntryBytes ?? MIB;
    invariant(valueBytes <= 8 * MIB, "a stored value has at most 8 MiB");
    const { operations, bytes } = options.engine.limits;
    this.#limits = {
      operations: Math.min(operations, CEILING.operations),
      bytes: Math.min(bytes, CEILING.bytes),
      valueBytes,
    };
    this.#space = new SpaceGuard(options.engine, options.clock, options.reserveBytes ?? 64 * MIB);
    this.failed = new Promise((resolve) => (this.#announceFailure = resolve));
    this.#watchers = new Watchers((error) => {
      // Only a Failure is known to hold no secret: a parser's error quotes what it read.
      const cause = error instanceof Failure ? describe(error) : "unexpected error";
      this.#log.error("a watcher failed", { cause });
    });
    const headBytes = this.#engine.meta(heads.HEAD_ROW);
    this.#initialised = isInitialised(this.#engine);
    this.#head = readHead(headBytes);
    this.#committer = new Committer(this.#engine, this.#clock, headBytes, {
      encodeHead: (head) => heads.encodeHead(head, this.#keyOfTrees()),
      durable: (group) => this.#onDurable(group),
      failed: (cause) => this.#fail(cause),
    });
    const state = new AcceptedState(this.#engine, this.#pending, this.#log);
    this.#state = state;
    this.#below = {
      // A failed read stops the store even if the transaction's function catches the error.
      get: (key) => this.#orFail(() => state.get(key), EngineError),
      has: (key) => this.#orFail(() => state.has(key), EngineError),
      rows: (range) => this.#orFail(() => state.rows(range), EngineError),
      keys: (range) => this.#orFail(() => state.keys(range), EngineError),
    };
    this.#line = new Line(this.#timers, () => this.#hasRoom());
    // This node is the only writer for as long as it holds the storage: whoever else writes has
    // taken it over, and what we would write next no longer follows.
    this.#unwatch = this.#engine.watch(() => this.#onForeignCommit());
  }

  // --- state ---

  get kind(): string {
    return this.#engine.kind;
  }

  get initialised(): boolean {
    return this.#initialised;
  }

  get locked(): boolean {
    return this.#tip === null || this.#locking !== null;
  }

  /** How often a row was found to have vanished since the start. */
  get damageFound(): number {
    return this.#state.damageFound;
  }

  /** The index of the last durable transaction: what readers may rely on. */
  get index(): bigint {
    return this.#head?.index ?? 0n;
  }

  /** The durable head; null before creation. Authentic once the store is unlocked. */
  get head(): heads.Head | null {
    return this.#head;
  }

  get tail(): heads.Tail | null {
    const bytes = this.#read(() => this.#engine.meta(heads.TAIL_ROW));
    return bytes === null ? null : heads.decodeTail(bytes);
  }

  get timeline(): heads.Timeline | null {
    const bytes = this.#read(() => this.#engine.meta(heads.TIMELINE_ROW));
    return bytes === null ? null : heads.decodeTimeline(bytes);
  }

  /** The trees over the durable state; empty while locked. */
  get trees(): Forest {
    return this.#durable;
  }

  // --- reads outside a transaction: durable state only ---

  get(key: string): Uint8Array | null {
    return this.#read(() => this.#state.getDurable(key));
  }

  rows(prefix: string, page: Page): Row[] {
    return this.#read(() => this.#engine.rows(rangeOf(prefix, page)));
  }

  keys(prefix: string, page: Page): string[] {
    return this.#read(() => this.#engine.keys(rangeOf(prefix, page)));
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    return this.#read(() => listNames((range) => this.#engine.keys(range), prefix, page));
  }

  logs(from: bigint, limit: number): LogRow[] {
    return this.#read(() => this.#engine.logs(from, limit));
  }

  /** A consistent durable view for long reads; close it soon. */
  view(): ReadView {
    return this.#read(() => this.#engine.snapshot());
  }

  /** Everything stored, as of one index. The caller closes it. */
  snapshot(): Snapshot {
    const view = this.view();
    try {
      return new Snapshot(view, { clock: this.#clock, timers: this.#timers });
    } catch (error) {
      view.close(); // an open view keeps the engine from reusing space
      throw error;
    }
  }

  /** Does everything stored still add up? Runs beside other work; needs the store unlocked. */
  async check(options: CheckOptions = {}): Promise<CheckReport> {
    this.#requireTip();
    const world = { treeKey: this.#keyOfTrees(), clock: this.#clock, timers: this.#timers };
    return this.viewing((view) => checkStore({ ...world, view }, options));
  }

  /** Runs over one consistent durable view, which is closed afterwards. */
  async viewing<T>(run: (view: ReadView) => Promise<T>): Promise<T> {
    const view = this.view();
    try {
      return await run(view);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#assertUsable(); // a check that outlives the store is no failure of the storage
      this.#fail(error);
      throw failures.storageFailed(error);
    } finally {
      view.close();
    }
  }

  // --- watches ---

  /** Calls after each commit that changes `place`: one key, or all below it if it ends in "/". */
  watch(place: string, call: (change: Change) => void): () => void {
    return this.#watchers.onKeys(place, call);
  }

  /** Calls once, when an index of at least `least` is durable; at once if it is already. */
  onIndex(least: bigint, call: () => void): () => void {
    if (this.index >= least) {
      call();
      return () => {};
    }
    return this.#watchers.onIndex(least, call);
  }

  /** For caches: called with the changed keys of each commit before anybody else is woken. */
  onCommit(call: (keys: readonly string[]) => void): () => void {
    this.#commitListeners.add(call);
    return () => this.#commitListeners.delete(call);
  }

  // --- life ---

  /** The first transaction of a new store: identity, head and whatever `fn` writes, all or nothing. */
  create<T>(treeKey: KeyObject, identity: Identity, fn: (tx: StoreTx) => T): Promise<T> {
    if (this.initialised || this.#creating !== null) {
      return Promise.reject(failures.alreadyInitialised());
    }
    const { tip, meta } = creation(treeKey, identity);
    this.#creating = tip;
    this.#treeKey = treeKey;
    return this.#attempt(fn, { tip, meta, essential: true, undo: () => this.#uncreate() });
  }

  #uncreate(): void {
    this.#creating = null;
    this.#treeKey = null;
  }

  /**
   * Checks the head and loads the sums. Sums that no longer add up are recomputed from the leaves
   * if those do. With `repair`, a head that is not authentic is rebuilt from the log's last entry, and
   * a log that does not end at the head is given up: an operator's decision, to be followed by a
   * reindex.
   */
  unlock(treeKey: KeyObject, options: { readonly repair?: boolean } = {}): void {
    this.#assertUsable();
    if (!this.#initialised) throw failures.storeUninitialised();
    invariant(this.#tip === null, "the store is unlocked already");
    const repair = options.repair ?? false;
    const opened = this.#read(() => openTip(this.#engine, treeKey, repair));
    for (const mended of opened.mended) this.#log.error("damage in storage", { mended });
    this.#tip = opened.tip;
    this.#treeKey = treeKey;
    this.#head = opened.tip.head;
    this.#durable = opened.durable;
    if (opened.mendedSums.length > 0 || opened.mended.length > 0) {
      const sums = new Map(opened.mendedSums.map((row) => [row.slot, row]));
      const sequence = this.#settling.next();
      const mended = { ...NOTHING, sums, head: opened.tip.head, sequence };
      if (opened.givenUp === null) this.#push(mended);
      else {
        const { below, tail } = opened.givenUp;
        const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(tail)]]);
        this.#push({ ...mended, meta, trimLogBelow: below });
      }
    }
  }

  /** Takes nothing more that needs the key of the trees, waits for what was accepted, forgets it. */
  lock(): Promise<void> {
    return (this.#locking ??= this.#lock());
  }

  async #lock(): Promise<void> {
    await this.#committer.settled();
    this.#tip = null;
    this.#treeKey = null;
    this.#durable = new Forest();
    this.#locking = null;
  }

  /** Resolves when everything accepted so far is durable or refused. */
  settled(): Promise<void> {
    return this.#committer.settled();
  }

  /** Refuses from now on, waits for what was accepted, closes the engine. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#unwatch();
    await this.#committer.settled();
    await this.#engine.close();
  }

  // --- writing ---

  /**
   * Runs `fn` at once (or when there is room) without anything interleaving; resolves with its
   * result when all it wrote, and all it may have seen, is durable. A throw undoes it; it is told
   * only when what it may have seen is durable.
   */
  write<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    const attempt = () => this.#attempt(fn, options);
    // One inside another is refused at once, not when there is room.
    if (this.#inside || (this.#line.isEmpty && this.#hasRoom())) return attempt();
    return this.#line.wait(attempt);
  }

  /** For repairs of leaves and sums: `fn` compares and mends the tip; its rows are committed. */
  mend(fn: (mending: Mending) => Pick<Rows, "leaves" | "sums"> | null): Promise<void> {
    return this.#settleAfter(this.#settling.last, () => {
      const mending = this.#mending(this.#requireTip());
      // A throw in between would leave the tip half mended.
      const rows = this.#orFail(() => fn(mending));
      if (rows === null) return this.#whenDurable(this.#settling.last);
      const sequence = this.#settling.next();
      let bytes = 0;
      for (const { slot, key, leaf } of rows.leaves) {
        bytes += 2 * Buffer.byteLength(key) + 128;
        // A leaf that lies where its key does not belong says nothing about the key.
        if (!belongs(slot, key)) continue;
        this.#pending.put(key, { value: mending.value(key), leaf, sequence });
      }
      this.#push({ ...NOTHING, ...rows, head: mending.tip.head, bytes, sequence });
      return this.#whenDurable(sequence);
    });
  }

  #mending(tip: Tip): Mending {
    const state = this.#state;
    return {
      tip,
      treeKey: this.#keyOfTrees(),
      value: (key) => state.value(key),
      has: (key) => state.hasValue(key),
      leaf: (slot, key) => state.leaf(slot, key),
      keys: (range) => state.keys(range),
      leavesFrom: (first) => state.leavesFrom(first),
    };
  }

  /** Removes log entries below `tail.first`, which becomes the tail, in one transaction. */
  trim(tail: heads.Tail): Promise<void> {
    return this.#settleAfter(this.#settling.last, () => {
      this.#assertUsable();
      invariant(tail.first >= (this.tail?.first ?? 0n), "the tail of the log never goes back");
      const sequence = this.#settling.next();
      const meta = new Map([[heads.TAIL_ROW, heads.encodeTail(tail)]]);
      this.#push({ ...NOTHING, meta, trimLogBelow: tail.first, sequence });
      return this.#whenDurable(sequence);
    });
  }

  #attempt<T>(fn: (tx: StoreTx) => T, how: How): Promise<T> {
    return this.#settleAfter(this.#settling.last, () => {
      let accepted: { result: T; sequence: number };
      try {
        accepted = this.#accept(fn, how);
      } catch (error) {
        how.undo?.();
        throw error;
      }
      return this.#whenDurable(accepted.sequence).then(() => accepted.result);
    });
  }

  /** Runs the function and takes over what it wrote; a throw anywhere in here changes nothing. */
  #accept<T>(fn: (tx: StoreTx) => T, how: How): { result: T; sequence: number } {
    this.#assertUsable();
    invariant(!this.#inside, "a transaction cannot begin inside another");
    if (this.#creating !== null && how.tip === undefined) throw failures.storeUninitialised();
    const tip = how.tip ?? (this.#locking === null ? this.#tip : null);
    const index = (tip?.head.index ?? this.index) + 1n;
    const tx = new Transaction(this.#below, index, this.#clock.now(), this.#limits);
    const result = this.#run(fn, tx);
    this.#assertUsable(); // a read inside may have failed
    const { changes, control, bytes } = tx.finish();
    if (changes.size === 0 && control === null && how.meta === undefined) {
      return { result, sequence: this.#settling.last };
    }
    if (!how.essential) this.#space.check(changes.values(), bytes, this.#pendingBytes);
    const data = new Map(Array.from(changes, ([key, { value }]) => [key, value]));
    let rows: Rows;
    if (tip === null) {
      const ignored = [...data.keys()].every((key) => classOf(key) === "ignored");
      if (!ignored || control !== null) throw failures.storeLocked();
      rows = { ...NOTHING, data };
    } else {
      const leafBefore = (slot: number, key: string) => this.#state.leaf(slot, key);
      const made = this.#orFail(() => tip.accept(changes, control, tx.time, leafBefore));
      const moves = made.log !== null || how.meta !== undefined;
      rows = { ...made, data, head: moves ? made.head : null };
    }
    const sequence = this.#settling.next();
    const leaves = new Map(rows.leaves.map(({ key, leaf }) => [key, leaf]));
    for (const [key, value] of data) {
      this.#pending.put(key, { value, leaf: leaves.get(key) ?? null, sequence });
    }
    const accepted = { ...NOTHING, ...rows, meta: how.meta ?? NOTHING.meta, bytes, sequence };
    const onConflict = how.meta === undefined ? null : () => this.#onTaken(accepted);
    this.#push({ ...accepted, onConflict });
    return { result, sequence };
  }

  #run<T>(fn: (tx: StoreTx) => T, tx: Transaction): T {
    this.#inside = true;
    try {
      const result = fn(tx);
      const thenable = typeof result === "object" && result !== null && "then" in result;
      invariant(!thenable, "a transaction's function is synchronous");
      return result;
    } catch (error) {
      tx.abandon();
      throw error;
    } finally {
      this.#inside = false;
    }
  }

  /** Runs now; a throw is told only after what was seen is durable, since it may tell of it. */
  async #settleAfter<T>(seen: number, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof EngineError) this.#fail(error);
      await this.#whenDurable(seen);
      throw error;
    }
  }

  #push(accepted: Accepted): void {
    this.#pendingBytes += accepted.bytes;
    this.#committer.push(accepted);
  }

  #hasRoom(): boolean {
    if (this.#failure !== null || this.#closing !== null) return true; // to be refused
    return this.#pendingBytes < PENDING_BYTES && this.#settling.pending < PENDING_TRANSACTIONS;
  }

  #onDurable(group: readonly Accepted[]): void {
    const keys = new Set<string>();
    for (const accepted of group) {
      this.#pendingBytes -= accepted.bytes;
      for (const key of accepted.data.keys()) {
        keys.add(key);
        this.#pending.settle(key, accepted.sequence);
      }
      for (const { key } of accepted.leaves) this.#pending.settle(key, accepted.sequence);
      for (const row of accepted.sums.values()) this.#durable.of(row.slot).set(row);
      if (accepted.head !== null) {
        this.#head = accepted.head;
        this.#initialised = true;
      }
      if (accepted.onConflict !== null) {
        this.#tip = this.#creating;
        this.#creating = null;
      }
    }
    this.#settling.reach(group.at(-1)!.sequence);
    // Caches first, then whoever waits for a change, then the answers.
    const changed = [...keys];
    for (const call of this.#commitListeners) call(changed);
    this.#watchers.publish(this.index, changed);
    for (const { sequence } of group) this.#settling.tell(sequence);
    this.#line.drain();
  }

  /** Another node has created the store first. */
  #onTaken({ sequence, data, bytes }: Pick<Accepted, "sequence" | "data" | "bytes">): void {
    this.#pendingBytes -= bytes;
    for (const key of data.keys()) this.#pending.settle(key, sequence);
    this.#settling.reach(sequence);
    this.#uncreate();
    this.#adoptHead();
    this.#settling.refuse(sequence, failures.alreadyInitialised());
    this.#line.drain();
  }

  #onForeignCommit(): void {
    if (this.#failure !== null || this.#creating !== null) return; // a conflict tells creation
    if (this.#tip !== null || this.#settling.pending > 0) {
      this.#fail(new EngineError("another writer has changed the storage"));
    } else this.#committer.follow(this.#adoptHead());
  }

  /** Another node has created or moved the head while we wrote nothing. */
  #adoptHead(): Uint8Array | null {
    const bytes = this.#read(() => this.#engine.meta(heads.HEAD_ROW));
    this.#initialised = this.#read(() => isInitialised(this.#engine));
    this.#head = readHead(bytes);
    return bytes;
  }

  #whenDurable(sequence: number): Promise<void> {
    if (this.#failure !== null) return Promise.reject(failures.storageFailed(this.#failure.cause));
    return this.#settling.when(sequence);
  }

  #fail(cause: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { cause };
    this.#committer.stop();
    this.#log.error("the storage failed; stopping", { cause: describe(cause) });
    const refusal = failures.storageFailed(cause);
    this.#settling.refuseAll(refusal);
    this.#line.dissolve();
    this.#announceFailure(cause);
  }

  // --- reading helpers ---

  #read<T>(read: () => T): T {
    this.#assertUsable();
    return this.#orFail(read, EngineError);
  }

  /** An error of the given kind (default: any) means that the store can no longer be trusted. */
  #orFail<T>(run: () => T, kind: new (...args: never[]) => Error = Error): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof kind)) throw error;
      this.#fail(error);
      throw failures.storageFailed(error);
    }
  }

  #keyOfTrees(): KeyObject {
    invariant(this.#treeKey !== null, "the head moves only while the key of the trees is there");
    return this.#treeKey;
  }

  #requireTip(): Tip {
    this.#assertUsable();
    if (!this.#initialised) throw failures.storeUninitialised();
    if (this.#tip === null || this.#locking !== null) throw failures.storeLocked();
    return this.#tip;
  }

  #assertUsable(): void {
    if (this.#failure !== null) throw failures.storageFailed(this.#failure.cause);
    if (this.#closing !== null) throw failures.storeClosed();
  }
}

/** How a transaction is taken; those with rows of their own (`tip`, `meta`) create the store. */
interface How extends WriteOptions {
  readonly tip?: Tip;
  readonly meta?: ReadonlyMap<string, Uint8Array>;
}

function belongs(slot: number, key: string): boolean {
  return hasClass(key) && slotOf(classOf(key), key) === slot;
}
