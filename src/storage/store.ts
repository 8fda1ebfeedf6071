// The store: durable reads, watches, and the one way anything is ever written (writing.ts does it).
// Values are opaque bytes here; barrier/ seals them. Until the key of the trees is handed over the
// store is locked: it reads, and writes rows of class ignored only.

import type { KeyObject } from "node:crypto";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Log } from "@holdfast/shared/log";
import type { Clock, Timers } from "@holdfast/shared/world";
import { type CheckOptions, type CheckReport, checkStore } from "./repair/check.ts";
import type { ControlReader } from "./following/control-records.ts";
import {
  type StorageEngine,
  EngineError,
  type Limits,
  type LogRow,
  type ReadView,
  type Row,
} from "./engines/engine.ts";
import { anchorRefused, storageFailed, storeUninitialised } from "./failures.ts";
import type { AdoptedRow, Totals } from "./following/adopting.ts";
import { findSurplus, type Surplus } from "./following/surplus.ts";
import type { CommittedEntry } from "./following/foreign-entries.ts";
import { readUnhashed, type Unhashed } from "./generations/unhashed.ts";
import { listNames, type Page, rangeOf } from "./key.ts";
import { isInitialised, isLocked, Life } from "./life.ts";
import { hasBegun, type Identity, readHead } from "./opening.ts";
import { type Anchor, type Sync, SYNC_ROW } from "./rows/sync.ts";
import { Slices } from "./commit/slices.ts";
import { trimLog } from "./trimming.ts";
import * as heads from "./rows/head.ts";
import type { Forest } from "./rows/merkle.ts";
import { Snapshot, SnapshotApart, type SnapshotSource } from "./snapshot.ts";
import type { StoreReads, StoreTx } from "./transaction.ts";
import { FailStop } from "./commit/fail-stop.ts";
import { type Change, Watchers } from "./watch.ts";
import type { Changed, Held } from "./commit/acceptance.ts";
import type { Accepted } from "./commit/committer.ts";
import type { LeafChange } from "./commit/tip.ts";
import { type Mending, type MendedRows, type WriteOptions, Writing } from "./writing.ts";

export type { AdoptedRow } from "./following/adopting.ts";
export type { Surplus } from "./following/surplus.ts";
export type { ControlReader } from "./following/control-records.ts";
export type { CommittedEntry } from "./following/foreign-entries.ts";
export type { Identity } from "./opening.ts";
export type { Changed } from "./commit/acceptance.ts";
export type { Mending, WriteOptions } from "./writing.ts";

const MIB = 1024 * 1024;

/** Of one transaction. */
export interface ChangedLeaves {
  readonly leaves: readonly LeafChange[];
  /** After it. */
  readonly index: bigint;
}

export interface StoreOptions {
  readonly engine: StorageEngine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** Largest stored value, sealing included. Default 1 MiB; at most 8 MiB. */
  readonly maxEntryBytes?: number;
  /** Free space below which only deletions and essential writes are taken. Default 64 MiB. */
  readonly reserveBytes?: number;
}

export class Store implements StoreReads {
  readonly #engine: StorageEngine;
  readonly #world: { readonly clock: Clock; readonly timers: Timers };
  readonly #life: Life<Held>;
  readonly #failStop: FailStop;
  readonly #writing: Writing;
  readonly #watchers: Watchers;
  readonly #commitListeners = new Set<(changed: Changed) => void>();
  readonly #logListeners = new Set<(rows: readonly LogRow[]) => void>();
  readonly #leafListeners = new Set<(changes: readonly ChangedLeaves[]) => void>();
  readonly #foreignListeners = new Set<(keys: readonly string[]) => void>();
  readonly #reserveBytes: number;
  #closing: Promise<void> | null = null;

  constructor(options: StoreOptions) {
    const { engine, clock, timers, log } = options;
    this.#engine = engine;
    this.#reserveBytes = options.reserveBytes ?? 64 * MIB;
    this.#world = { clock, timers };
    const half = engine.meta(SYNC_ROW) !== null; // what is missing only others have
    this.#life = new Life(hasBegun(engine), half ? "following" : "leading");
    this.#failStop = new FailStop(this.#life, log);
    engine.onFailure?.((error) => this.#failStop.fail(error));
    this.#watchers = new Watchers((error) => {
      // Only a Failure is known to hold no secret: a parser's error quotes what it read.
      const cause = error instanceof Failure ? describe(error) : "unexpected error";
      log.error("a watcher failed", { cause });
    });
    this.#writing = new Writing({
      engine,
      clock,
      timers,
      log,
      life: this.#life,
      failStop: this.#failStop,
      maxEntryBytes: options.maxEntryBytes ?? MIB,
      reserveBytes: this.#reserveBytes,
      durable: (changed, foreign, group) => {
        if (this.#logListeners.size > 0) this.#tellLog(group);
        for (const call of this.#commitListeners) call(changed);
        this.#tellLeaves(group);
        if (foreign.length > 0) for (const call of this.#foreignListeners) call(foreign);
        this.#watchers.publish(this.index, changed.keys());
      },
    });
  }

  // --- state ---

  get kind(): string {
    return this.#engine.kind;
  }

  get initialised(): boolean {
    return isInitialised(this.#life.state);
  }

  get locked(): boolean {
    return isLocked(this.#life.state);
  }

  /** What is free where it lies, and what of it is kept in reserve; null where that is not known. */
  get room(): { readonly free: number; readonly reserve: number } | null {
    const free = this.#engine.freeBytes();
    return free === null ? null : { free, reserve: this.#reserveBytes };
  }

  /** How often a row was found to have vanished since the start. */
  get damageFound(): number {
    return this.#writing.state.damageFound;
  }

  /** The index of the last durable transaction: what readers may rely on. */
  get index(): bigint {
    return this.#writing.head?.index ?? 0n;
  }

  /** The durable head; null before creation. Authentic once the store is unlocked. */
  get head(): heads.Head | null {
    return this.#writing.head;
  }

  /** The same as stored, with its MAC: what another cluster compares, or begins from. */
  get headBytes(): Uint8Array | null {
    return this.#writing.headBytes;
  }

  /** What one transaction may have here. */
  get limits(): Limits {
    return this.#writing.limits;
  }

  get tail(): heads.Tail | null {
    const bytes = this.#failStop.read(() => this.#engine.meta(heads.TAIL_ROW));
    return bytes === null ? null : heads.decodeTail(bytes);
  }

  /** Which form its leaves have; see repair/raise.ts. */
  get leafForm(): number {
    return this.#failStop.read(() => this.#engine.meta(heads.LEAF_FORM_ROW))?.[0] ?? 1;
  }

  get timeline(): heads.Timeline | null {
    const bytes = this.#failStop.read(() => this.#engine.meta(heads.TIMELINE_ROW));
    return bytes === null ? null : heads.decodeTimeline(bytes);
  }

  /** The trees over the durable state; empty while locked. */
  get trees(): Forest {
    return this.#writing.trees;
  }

  // --- reads outside a transaction: durable state only ---

  get(key: string): Uint8Array | null {
    return this.#failStop.read(() => this.#writing.state.getDurable(key));
  }

  rows(prefix: string, page: Page): Row[] {
    return this.#failStop.read(() => this.#engine.rows(rangeOf(prefix, page)));
  }

  keys(prefix: string, page: Page): string[] {
    return this.#failStop.read(() => this.#engine.keys(rangeOf(prefix, page)));
  }

  list(prefix: string, page: { readonly after?: string; readonly limit: number }): string[] {
    return this.#failStop.read(() => listNames((range) => this.#engine.keys(range), prefix, page));
  }

  logs(from: bigint, limit: number): LogRow[] {
    return this.#failStop.read(() => this.#engine.logs(from, limit));
  }

  /** A consistent durable view for long reads; close it soon. */
  view(): ReadView {
    return this.#failStop.read(() => this.#engine.snapshot());
  }

  /** Everything stored, as of one index. The caller closes it. */
  snapshot(): Snapshot {
    this.#writing.adopting.assertWhole(); // it would be of no index
    const view = this.view();
    try {
      return new Snapshot(view, this.#world);
    } catch (error) {
      view.close(); // an open view keeps the engine from reusing space
      throw error;
    }
  }

  /** The same, read where that holds up nobody, if the engine has such a place. */
  async snapshotApart(): Promise<SnapshotSource> {
    this.#writing.adopting.assertWhole();
    const view = await this.#engine.viewApart([heads.HEAD_ROW, heads.TIMELINE_ROW]);
    if (view === null) return this.snapshot();
    try {
      this.#writing.adopting.assertWhole(); // it may have begun meanwhile
      return new SnapshotApart(view);
    } catch (error) {
      await view.close();
      throw error;
    }
  }

  /** Does everything stored still add up? Runs beside other work; needs the store unlocked. */
  async check(options: CheckOptions = {}): Promise<CheckReport> {
    this.#writing.requireTip();
    const world = { treeKey: this.#writing.keyOfTrees(), ...this.#world };
    return this.viewing((view) => checkStore({ ...world, view }, options));
  }

  /** Runs over one consistent durable view, which is closed afterwards. */
  async viewing<T>(run: (view: ReadView) => Promise<T>): Promise<T> {
    const view = this.view();
    try {
      return await run(view);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      this.#failStop.assert(); // a check that outlives the store is no failure of the storage
      this.#failStop.fail(error);
      throw storageFailed(error);
    } finally {
      view.close();
    }
  }

  // --- watches ---

  /** Calls after each commit that changes `place`: one key, or all below it if it ends in "/". */
  watch(place: string, call: (change: Change) => void): () => void {
    return this.#watchers.onKeys(place, call);
  }

  /** Calls once, when `index`, or one above it, is durable; at once if it is already. */
  onIndex(index: bigint, call: () => void): () => void {
    if (this.index >= index) {
      call();
      return () => {};
    }
    return this.#watchers.onIndex(index, call);
  }

  /** For caches: called with what each commit has changed before anybody else is woken. */
  onCommit(call: (changed: Changed) => void): () => void {
    this.#commitListeners.add(call);
    return () => this.#commitListeners.delete(call);
  }

  /** Called with the entries of each commit, in order, before those who listen to commits. */
  onLog(call: (rows: readonly LogRow[]) => void): () => void {
    this.#logListeners.add(call);
    return () => this.#logListeners.delete(call);
  }

  /** Called once for each commit with the leaves that its transactions have changed, in order, each with the index after it; after those who
   *  listen to commits. */
  onLeaves(call: (changes: readonly ChangedLeaves[]) => void): () => void {
    this.#leafListeners.add(call);
    return () => this.#leafListeners.delete(call);
  }

  #tellLeaves(group: readonly Accepted[]): void {
    if (this.#leafListeners.size === 0) return;
    const changes = group.map(({ leaves, head }) => ({
      leaves,
      index: (head ?? this.head!).index,
    }));
    for (const call of this.#leafListeners) call(changes);
  }

  #tellLog(group: readonly Accepted[]): void {
    const rows = group.length === 1 ? group[0]!.log : group.flatMap(({ log }) => log);
    if (rows.length > 0) for (const call of this.#logListeners) call(rows);
  }

  /** For caches above this one: called with the keys that somebody else has changed, after those who
   *  listen to commits and before anybody is woken. */
  onForeign(call: (keys: readonly string[]) => void): () => void {
    this.#foreignListeners.add(call);
    return () => this.#foreignListeners.delete(call);
  }

  // --- life and writing ---

  /** Resolves with the cause when the storage has failed. */
  get failed(): Promise<unknown> {
    return this.#failStop.failed;
  }

  /** Whether a head was written under the keys of this store, which is unlocked. */
  isOwnHead(head: Uint8Array): boolean {
    return heads.headIsAuthentic(head, this.#writing.keyOfTrees());
  }

  /** The first transaction of a new store: identity, head and whatever `fn` writes, all or nothing. */
  create<T>(treeKey: KeyObject, identity: Identity, fn: (tx: StoreTx) => T): Promise<T> {
    return this.#writing.create(treeKey, identity, fn);
  }

  /** Checks the head and loads the sums; see Writing.unlock for what `repair` may do. */
  unlock(treeKey: KeyObject, options: { readonly repair?: boolean } = {}): void {
    this.#writing.unlock(treeKey, options);
  }

  /** Before unlocking a large store: its sums are read in slices. */
  readSums(): Promise<void> {
    return this.#writing.readSums();
  }

  /** There where it was filled without its keys and cannot be unlocked yet: see complete. */
  get unhashed(): Unhashed | null {
    return this.#failStop.read(() => readUnhashed(this.#engine));
  }

  /** Has the leaves hashed and the head made; then it can be unlocked. */
  complete(treeKey: KeyObject): Promise<void> {
    return this.#writing.complete(treeKey);
  }

  /** Takes nothing more that needs the key of the trees, waits for what was accepted, forgets it. */
  lock(): Promise<void> {
    return this.#writing.lock();
  }

  /** Resolves when everything accepted so far is durable or refused. */
  settled(): Promise<void> {
    return this.#writing.settled();
  }

  /** Refuses from now on, waits for what was accepted, closes the engine. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#life.step({ do: "close" });
    await this.#writing.close();
    await this.#engine.close();
  }

  /**
   * Runs `fn` at once (or when there is room) without anything interleaving; resolves with its
   * result when all it wrote, and all it may have seen, is durable. A throw undoes it; it is told
   * only when what it may have seen is durable.
   */
  write<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    return this.#writing.write(fn, options);
  }

  /** From now on another cluster writes what is shared: nobody here does, whatever it thinks. Or no longer. */
  leaveShared(left: boolean): void {
    this.#writing.leaveShared(left);
  }

  /** Whether another cluster writes what is shared. */
  get leavesShared(): boolean {
    return this.#life.leavesShared;
  }

  /** Like write, for whoever applies what that cluster has written. */
  writeApplied<T>(fn: (tx: StoreTx) => T, options: WriteOptions = {}): Promise<T> {
    return this.#writing.writeApplied(fn, options);
  }

  /** Transactions of our own have no more bytes than this from now on, where others must be able to apply them. */
  takeAtMost(bytes: () => number | null): void {
    this.#writing.takeAtMost(bytes);
  }

  /** Whether somebody else writes the log: a role beside locked and unlocked. */
  get following(): boolean {
    return this.#life.following;
  }

  /**
   * From now on others write the log, and of our own writes only rows of class ignored are taken. What
   * others commit comes by `apply`, or is found in the storage if that is theirs too. Resolves when
   * what was accepted before is durable. `refused` says why nothing else is taken.
   */
  async follow(refused?: () => Failure): Promise<void> {
    await this.#writing.follow(refused);
  }

  /** Ends following; see Writing.lead for what must be true of the others. */
  async lead(): Promise<void> {
    await this.#writing.lead();
  }

  /**
   * Log entries that somebody else has committed, in order, all of them or none. Refused unless they
   * continue the log here. `head` is the head after the last one, as stored there: it is compared, and a
   * locked store needs it. Resolves when they are durable and everybody here has been told.
   */
  apply(entries: readonly CommittedEntry[], head: Uint8Array | null = null): Promise<void> {
    return this.#writing.apply(entries, head);
  }

  /** What is half taken over from another cluster, and how far; null where the store is whole. */
  get adopting(): Sync | null {
    return this.#writing.adopting.sync;
  }

  /**
   * From here to finishAdopting the rows of another cluster take the places of those here. Only a store that
   * follows and is unlocked does that. Meanwhile it does not lead and applies nothing, also after a crash;
   * then whoever fetches the rows goes on after the cursor. Another anchor begins anew.
   */
  beginAdopting(anchor: Anchor): Promise<void> {
    return this.#writing.adopt((adopting) => adopting.begin(anchor));
  }

  /** The rows of one chunk, each as it is there now, and the cursor after them: one transaction. */
  adopt(rows: readonly AdoptedRow[], cursor: string): Promise<void> {
    return this.#writing.adopt((adopting) => adopting.take(rows, cursor));
  }

  /**
   * All rows are here: the log goes on after the anchor, and the own one is given up. Rows that were read later
   * than the anchor are right when the entries up to that moment have been applied. `expected` are the totals
   * that the trees must have now, where they are known.
   */
  async finishAdopting(expected: Totals | null = null): Promise<void> {
    this.#writing.adopting.assertEnds(expected);
    // A large log goes first, in small parts: what is removed is overwritten.
    const isLarge = () => this.head!.logBytes - this.tail!.logBytesBefore > MIB;
    const giveUp = (tail: heads.Tail) => this.#writing.trim(tail, true);
    await trimLog(this, this.#world, { minEntries: 0n }, isLarge, giveUp);
    await this.#writing.adopt((adopting) => adopting.finish(expected));
  }

  /**
   * What this log has above the last index that it has in common with another one: the keys whose present
   * values a rewind needs. The entries are read by logs(), and kept by whoever wants them.
   */
  surplus(fork: bigint): Promise<Surplus> {
    return this.viewing((view) => findSurplus(view, fork, new Slices(this.#world)));
  }

  /**
   * Gives up the entries above the fork. `rows` are those of the next of the surplus keys, in their order, as the
   * other cluster has them now; with the last of them the log is cut, in the same transaction. Until then the
   * log is whole, and the store between two states.
   */
  rewind(surplus: Surplus, rows: readonly AdoptedRow[]): Promise<void> {
    return this.#writing.adopt((adopting) => adopting.rewind(surplus, rows));
  }

  /** In what the durable head differs from another one of the same log, as stored there; empty: both hold the same. */
  differsFrom(head: Uint8Array): heads.HeadPart[] {
    const own = this.head;
    const other = readHead(head);
    if (own === null) throw storeUninitialised();
    if (other === null) throw anchorRefused("it makes no sense");
    if (!this.locked && !heads.headIsAuthentic(head, this.#writing.keyOfTrees())) {
      throw anchorRefused("its MAC does not match");
    }
    return heads.differingParts(own, other);
  }

  /**
   * From here on the log is written by this cluster: an entry of the next epoch that says so. Only a store
   * that leads and is unlocked takes it; resolves when it is durable, together with the timeline.
   */
  startEpoch(cluster: string): Promise<void> {
    return this.#writing.startEpoch(cluster);
  }

  /**
   * The next entry has at least the index behind this one: whatever was counted by the indexes of another cluster comes before it. Where
   * that is further on, the log of before is given up, since it would have a hole.
   */
  async skipTo(index: bigint): Promise<void> {
    if (this.index >= index) return;
    const isLarge = () => this.head!.logBytes - this.tail!.logBytesBefore > MIB;
    await trimLog(this, this.#world, { minEntries: 0n }, isLarge);
    await this.#writing.skipTo(index);
  }

  /** Who reads control records of a type, when somebody else has made them. */
  onControl(type: number, reader: ControlReader): void {
    this.#writing.onControl(type, reader);
  }

  /**
   * For repairs of leaves and sums: `fn` compares and mends the tip; its rows are committed. `following`: also where
   * the store follows, because it finds that it does not hold what it should. Then nobody else writes its storage.
   */
  mend(
    fn: (mending: Mending) => MendedRows | null,
    options: { readonly following?: boolean } = {},
  ): Promise<void> {
    return this.#writing.mend(fn, options.following ?? false);
  }

  /** Removes log entries below `tail.first`, which becomes the tail, in one transaction. */
  trim(tail: heads.Tail): Promise<void> {
    return this.#writing.trim(tail);
  }

  /** What was removed is to lie nowhere any more. */
  async scrub(): Promise<void> {
    this.#engine.scrub();
    const { tail } = this;
    if (tail !== null) await this.trim(tail); // a commit
  }
}
